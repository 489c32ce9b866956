//! Text that must not be seen: typed text, values, clipboard contents.

use std::fmt;

/// A secret. `Debug` and `Serialize` show its length in bytes, never the text; the memory is
/// overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted(String);

impl Redacted {
    /// Takes `text` in.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the one place that must have it. Every call of this is a place to review.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

impl serde::Serialize for Redacted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{self:?}"))
    }
}

impl Drop for Redacted {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Keeps the fill from being optimised away as a dead store.
        std::hint::black_box(&bytes);
    }
}

impl From<String> for Redacted {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// A value that the caller asked for by name. It is shown in the reply, and nowhere else: `Debug` prints
/// its length.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Disclosed(pub String);

impl fmt::Debug for Disclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_json_shows_the_text() {
        let secret = Redacted::new("hunter2".into());
        assert_eq!(format!("{secret:?}"), "[7 bytes]");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"[7 bytes]\"");
        assert_eq!(secret.expose(), "hunter2");
    }
}
