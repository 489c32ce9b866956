//! What the parts write to their standard error: kept while the desktop lives, within a bound, for the one who asks why
//! it did not come up.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::error::DesktopError;

/// Opens the log: the returned pipe end is for the parts. A task of the current runtime copies what comes out; the file
/// begins anew when it is full.
pub(super) fn open(file: &Path) -> Result<OwnedFd, DesktopError> {
    let failed = |error: std::io::Error| DesktopError::io("The desktop's log cannot be made", &error);
    let (read, write) = std::io::pipe().map_err(failed)?;
    let mut out = OpenOptions::new().create(true).append(true).mode(0o600).open(file).map_err(failed)?;
    let pipe = tokio::net::unix::pipe::Receiver::from_owned_fd(read.into()).map_err(failed)?;
    tokio::task::spawn_local(async move {
        let mut written = 0;
        let mut buffer = [0; 4096];
        loop {
            if pipe.readable().await.is_err() {
                return;
            }
            match pipe.try_read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    if written + count > MAX_LOG {
                        let _ = out.set_len(0);
                        written = 0;
                    }
                    written += count;
                    let _ = out.write_all(&buffer[..count]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    });
    Ok(write.into())
}

/// The last lines, at most 1 KiB, printable, on one line.
pub(super) fn tail(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap_or_default();
    let start = bytes.len().saturating_sub(MAX_TAIL);
    let text = String::from_utf8_lossy(&bytes[start..]);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" / ").chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

const MAX_LOG: usize = 256 * 1024;
const MAX_TAIL: usize = 1024;
