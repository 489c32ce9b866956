//! The file that holds an X server's cookie.

use std::path::Path;

use super::error::DesktopError;
use super::record::write_whole;

/// The secret that a client shows to the X server.
pub(super) struct Cookie([u8; 16]);

impl Cookie {
    pub(super) fn new() -> Result<Self, DesktopError> {
        super::registry::random().map(Self)
    }

    /// Writes it for any host, and for one display number or, while the server has not chosen one, for any.
    pub(super) fn write(&self, file: &Path, display: Option<u16>) -> Result<(), DesktopError> {
        let number = display.map(|number| number.to_string()).unwrap_or_default();
        let mut bytes = FAMILY_WILD.to_be_bytes().to_vec();
        for field in [&b""[..], number.as_bytes(), b"MIT-MAGIC-COOKIE-1", &self.0] {
            let length = u16::try_from(field.len()).expect("every field is short");
            bytes.extend(length.to_be_bytes());
            bytes.extend(field);
        }
        write_whole(file, &bytes).map_err(|error| DesktopError::io("The X cookie cannot be written", &error))
    }
}

const FAMILY_WILD: u16 = 65535;
