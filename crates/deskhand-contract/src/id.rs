//! Opaque identities. Each is a newtype with its own wire prefix, so that one can never stand in for
//! another, and random, so that an invented one hits nothing.

use std::fmt;
use std::str::FromStr;

/// Crockford base 32, lower case: no `i`, `l`, `o`, `u`.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A source of random bytes. The engine takes it as an argument so that tests can repeat a run.
pub trait Entropy: Send + Sync {
    /// Fills the whole of `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        // A machine without a random source can make no identity that is worth anything.
        getrandom::fill(bytes).expect("the operating system's random source answers");
    }
}

/// Why a string is not an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    expected: &'static str,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The offending text is not repeated: it came from outside and may be anything.
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for BadId {}

macro_rules! wire_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $length:literal, $alphabet:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Makes a new one from `entropy`.
            #[must_use]
            pub fn mint(entropy: &dyn Entropy) -> Self {
                Self(mint($prefix, $length, $alphabet, entropy))
            }

            /// The wire form.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                if well_formed(text, $prefix, $length, $alphabet) {
                    Ok(Self(text.into()))
                } else {
                    Err(BadId { expected: $expected })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

wire_id!(
    /// A window, as one session observed it.
    SurfaceId, "s", 8, ALPHABET, "a surface_id: `s` and 8 characters, from computer_observe windows"
);
wire_id!(
    /// An element of a surface, as one session observed it.
    ElementId, "e", 6, ALPHABET,
    "an element_id: `e` and 6 characters, from accessibility_tree or find_elements"
);
wire_id!(
    /// A display, as the last display list of a session named it.
    DisplayId, "d", 8, ALPHABET, "a display_id: `d` and 8 characters, from computer_observe displays"
);
wire_id!(
    /// An installed application, as the last application list of a session named it.
    ApplicationId, "a", 8, ALPHABET,
    "an application_id: `a` and 8 characters, from computer_observe applications"
);
wire_id!(
    /// A one-use coordinate authority of the driver and visual routes.
    ObservationRef, "observation_", 64, HEX, "an observation ref: `observation_` and 64 hexadecimal digits"
);
wire_id!(
    /// A grant.
    GrantId, "grant_", 32, HEX, "a grant_id: `grant_` and 32 hexadecimal digits"
);

const HEX: &[u8] = b"0123456789abcdef";

fn mint(prefix: &str, length: usize, alphabet: &[u8], entropy: &dyn Entropy) -> Box<str> {
    // Both alphabets have a power-of-two size, so the low bits of each byte are unbiased.
    let mut bytes = [0_u8; 64];
    let bytes = &mut bytes[..length];
    entropy.fill(bytes);
    let mut text = String::with_capacity(prefix.len() + length);
    text.push_str(prefix);
    for byte in bytes {
        text.push(char::from(alphabet[usize::from(*byte) % alphabet.len()]));
    }
    text.into_boxed_str()
}

fn well_formed(text: &str, prefix: &str, length: usize, alphabet: &[u8]) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| rest.len() == length && rest.bytes().all(|byte| alphabet.contains(&byte)))
}

/// The name of a Runner: `[a-z0-9][a-z0-9._-]{0,127}`. [`ClientId::local`] is this machine's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct ClientId(Box<str>);

impl ClientId {
    /// This machine's Runner.
    #[must_use]
    pub fn local() -> Self {
        Self("local".into())
    }

    /// The wire form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ClientId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let good = (1..=128).contains(&text.len())
            && text.bytes().next().is_some_and(plain)
            && text.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'));
        if good {
            Ok(Self(text.into()))
        } else {
            Err(BadId { expected: "a client_id: 1 to 128 of `a-z 0-9 . _ -`, beginning with a letter or digit" })
        }
    }
}

impl<'de> serde::Deserialize<'de> for ClientId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_id_reads_back_and_no_other_kind_takes_it() {
        let surface = SurfaceId::mint(&SystemEntropy);
        assert_eq!(surface.as_str().parse::<SurfaceId>(), Ok(surface.clone()));
        assert!(surface.as_str().parse::<ElementId>().is_err());
        assert!(surface.as_str().parse::<DisplayId>().is_err());
        assert_eq!(ObservationRef::mint(&SystemEntropy).as_str().len(), "observation_".len() + 64);
    }

    #[test]
    fn malformed_ids_are_refused() {
        for bad in ["", "s", "s1234567", "s123456789", "S12345678", "s1234567i", "s1234567\u{e9}", " s12345678"] {
            assert!(bad.parse::<SurfaceId>().is_err(), "{bad:?}");
        }
        for bad in ["", "-x", ".x", "A", "a b", &"x".repeat(129)] {
            assert!(bad.parse::<ClientId>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(128).parse::<ClientId>().is_ok());
    }
}
