//! The desktop's X display seen from outside: the connection with its own cookie, and its pixels.

use std::path::Path;

use x11rb::rust_connection::{DefaultStream, RustConnection};

use super::error::{DesktopError, Fault};

/// Connects to a display with the cookie in that file, whatever this process's own environment says.
pub(super) fn connect(display: &str, xauthority: &Path) -> Result<(RustConnection, usize), DesktopError> {
    let failed = |why: String| {
        DesktopError::new(Fault::CaptureFailed, format!("The display {display} cannot be connected to: {why}."))
    };
    let number: u16 =
        display.strip_prefix(':').and_then(|number| number.parse().ok()).ok_or_else(|| failed("bad name".into()))?;
    let cookie = cookie(xauthority).ok_or_else(|| failed("its cookie cannot be read".into()))?;
    let socket = std::os::unix::net::UnixStream::connect(format!("/tmp/.X11-unix/X{number}"))
        .map_err(|error| failed(error.to_string()))?;
    let (stream, _peer) = DefaultStream::from_unix_stream(socket).map_err(|error| failed(error.to_string()))?;
    RustConnection::connect_to_stream_with_auth_info(stream, 0, COOKIE_NAME.to_vec(), cookie)
        .map(|connection| (connection, 0))
        .map_err(|error| failed(error.to_string()))
}

/// The cookie in a file that holds one entry, as this module writes it.
fn cookie(xauthority: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(xauthority).ok()?;
    let mut rest = bytes.get(2..)?;
    let mut fields = Vec::new();
    for _ in 0..4 {
        let length = usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?));
        fields.push(rest.get(2..2 + length)?);
        rest = rest.get(2 + length..)?;
    }
    (fields[2] == COOKIE_NAME).then(|| fields[3].to_vec())
}

const COOKIE_NAME: &[u8] = b"MIT-MAGIC-COOKIE-1";
