//! The Runner's address: one socket, held by a lock.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use rustix::fs::FlockOperation;

use crate::config::RunnerFiles;

/// A socket that only this process serves.
#[derive(Debug)]
pub(super) struct Address {
    listener: UnixListener,
    path: PathBuf,
    /// Held for as long as the address is; the kernel gives it up however this process ends.
    _lock: File,
}

/// Why an address could not be had.
#[derive(Debug)]
pub(super) enum Taken {
    /// Another process serves it.
    Busy,
    /// Something else is wrong.
    Io(io::Error),
}

impl From<io::Error> for Taken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Address {
    /// Takes the address. A socket that lies there without its lock held belongs to a dead process and
    /// is replaced.
    pub(super) fn take(files: &RunnerFiles) -> Result<Self, Taken> {
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&files.lock)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Taken::Busy),
            Err(error) => return Err(Taken::Io(error.into())),
        }
        let path = files.socket.clone();
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Taken::Io(error)),
        }
        let listener = UnixListener::bind(&path)?;
        // The directory is this user's alone already; this keeps it so if someone opens it.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path, _lock: lock })
    }

    /// The listener. It does not block.
    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        // Still under the lock: nobody else's socket can lie there.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the other end is a process of the same user.
pub(super) fn is_same_user(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::getuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_held_once_and_a_dead_socket_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let files = RunnerFiles::at(home.path().join("a.sock"));
        let first = Address::take(&files).unwrap();
        assert!(matches!(Address::take(&files), Err(Taken::Busy)));
        assert!(Address::take(&RunnerFiles::at(home.path().join("b.sock"))).is_ok());
        assert!(is_same_user(&UnixStream::connect(&files.socket).unwrap()));
        drop(first);
        assert!(!files.socket.exists());

        // What a killed Runner leaves: a socket without a listener, and a lock file that nobody holds.
        drop(UnixListener::bind(&files.socket).unwrap());
        assert!(files.socket.exists());
        let second = Address::take(&files).unwrap();
        assert!(UnixStream::connect(&files.socket).is_ok());
        drop(second);
    }
}
