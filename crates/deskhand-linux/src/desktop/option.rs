//! What a caller may ask for when it starts a desktop, as narrow types.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::{DesktopError, Fault};

/// A desktop's name: `[a-z0-9][a-z0-9-]{0,31}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DesktopName(String);

impl DesktopName {
    /// Checks the form.
    ///
    /// # Errors
    /// [`Fault::BadName`].
    pub fn parse(text: &str) -> Result<Self, DesktopError> {
        let tail = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let good = (1..=32).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(tail);
        if good {
            return Ok(Self(text.to_owned()));
        }
        Err(DesktopError::new(
            Fault::BadName,
            "A desktop's name is 1 to 32 of a-z, 0-9 and -, and does not begin with -.",
        )
        .fix("choose a name such as desk-1, or leave it out"))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for DesktopName {
    type Error = DesktopError;
    fn try_from(text: String) -> Result<Self, DesktopError> {
        Self::parse(&text)
    }
}

impl From<DesktopName> for String {
    fn from(name: DesktopName) -> Self {
        name.0
    }
}

impl std::fmt::Display for DesktopName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A display's size in pixels, 320x200 … 7680x4320.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    width: u16,
    height: u16,
}

impl Size {
    /// The size when none is asked for.
    pub const DEFAULT: Self = Self { width: 1920, height: 1080 };

    /// Reads `1280x800`.
    ///
    /// # Errors
    /// [`Fault::BadSize`].
    pub fn parse(text: &str) -> Result<Self, DesktopError> {
        let digits = |part: &str| -> Option<u16> {
            (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok()).flatten()
        };
        let parsed = text.split_once('x').and_then(|(w, h)| Some((digits(w)?, digits(h)?)));
        match parsed {
            Some((width, height)) => Self::new(width, height),
            None => Err(Self::refused(text)),
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// [`Fault::BadSize`].
    pub fn new(width: u16, height: u16) -> Result<Self, DesktopError> {
        if (320..=7680).contains(&width) && (200..=4320).contains(&height) {
            return Ok(Self { width, height });
        }
        Err(Self::refused(&format!("{width}x{height}")))
    }

    /// Pixels across.
    #[must_use]
    pub const fn width(self) -> u16 {
        self.width
    }

    /// Pixels down.
    #[must_use]
    pub const fn height(self) -> u16 {
        self.height
    }

    fn refused(text: &str) -> DesktopError {
        let shown: String = text.chars().filter(|c| !c.is_control()).take(32).collect();
        DesktopError::new(
            Fault::BadSize,
            format!("The size `{shown}` is not WIDTHxHEIGHT within 320x200 and 7680x4320."),
        )
        .fix("--size 1920x1080")
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// How long the desktop lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Owner {
    /// Until it is stopped.
    #[default]
    Nobody,
    /// Until the process with this id ends.
    Process(u32),
    /// Until the [`Lease`](super::start::Lease) that `start` returns is dropped, or its holder ends.
    Caller,
}

/// How to execute this program again as a part of a desktop: it must hand the two last arguments to
/// [`run_supervisor`](super::run_supervisor).
#[derive(Debug, Clone)]
pub struct Entry {
    /// The program.
    pub program: PathBuf,
    /// Its arguments before the two that are added.
    pub leading: Vec<OsString>,
}

/// What `start` is asked for.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The name, or none for a generated one.
    pub name: Option<DesktopName>,
    /// The display's size.
    pub size: Size,
    /// The X display number, or none to let the server choose a free one.
    pub display: Option<u16>,
    /// How long it lives.
    pub owner: Owner,
    /// How to execute the supervisor.
    pub entry: Entry,
    /// How long the start may take altogether.
    pub deadline: Duration,
}

impl StartOptions {
    /// A desktop of the default size with a generated name that lives until it is stopped.
    #[must_use]
    pub fn new(entry: Entry) -> Self {
        Self {
            name: None,
            size: Size::DEFAULT,
            display: None,
            owner: Owner::Nobody,
            entry,
            deadline: Duration::from_secs(20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "0", "desk-1", "a-", &"x".repeat(32)] {
            assert!(DesktopName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "A", "a_b", "a/b", "..", "a b", "ä", "a\n", &"x".repeat(33)] {
            assert_eq!(DesktopName::parse(bad).unwrap_err().fault, Fault::BadName, "{bad}");
        }
    }

    #[test]
    fn sizes() {
        for good in ["320x200", "1920x1080", "7680x4320"] {
            assert_eq!(Size::parse(good).unwrap().to_string(), good);
        }
        let bad =
            ["", "x", "1920", "1920x", "x1080", "319x200", "320x199", "7681x4320", "7680x4321", "-1x5", "+800x600"];
        for bad in bad.into_iter().chain(["800X600", "800x600x24", "99999x99999", "8 00x600"]) {
            assert_eq!(Size::parse(bad).unwrap_err().fault, Fault::BadSize, "{bad}");
        }
    }
}
