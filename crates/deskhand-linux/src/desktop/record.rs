//! What is known about one desktop: a file that its supervisor writes and everyone else reads.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{DesktopError, Fault};
use super::option::{DesktopName, Size};
use super::process::ProcessIdentity;

/// One desktop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesktopRecord {
    /// Its name.
    pub name: DesktopName,
    /// 32 hexadecimal digits that no other desktop has; every process inside carries them in its environment.
    pub id: String,
    /// Where it is in its life.
    pub state: DesktopState,
    /// Why it ended, where it ended by itself.
    pub ended: Option<String>,
    /// The display's size.
    pub size: Size,
    /// Its directory, for sockets and records.
    pub directory: PathBuf,
    /// Its private home directory.
    pub home: PathBuf,
    /// Deskhand's runtime directory, for what runs inside.
    pub runtime: PathBuf,
    /// The process that asked for it.
    pub starter: ProcessIdentity,
    /// The process that ends everything when the supervisor dies.
    pub keeper: Option<ProcessIdentity>,
    /// The process that owns everything.
    pub supervisor: Option<ProcessIdentity>,
    /// The process with whose end the desktop ends.
    pub owner: Option<ProcessIdentity>,
    /// The X display's number.
    pub display: Option<u16>,
    /// The X server's socket, with its device and inode so that another server's is never removed.
    pub display_socket: Option<SocketFile>,
    /// The D-Bus session bus.
    pub session_bus: Option<String>,
    /// The accessibility bus.
    pub accessibility_bus: Option<String>,
    /// The window manager, or none where none is installed.
    pub window_manager: Option<String>,
    /// The processes that the desktop cannot live without.
    pub parts: Vec<Part>,
    /// When it was asked for, in milliseconds since 1970.
    pub started_at: u64,
    /// How long it took to be usable, in milliseconds.
    pub ready_ms: Option<u64>,
}

/// Where a desktop is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DesktopState {
    /// Its parts are coming up.
    Starting,
    /// Usable.
    Ready,
    /// Its parts are being ended.
    Ending,
    /// Over; only this record is left.
    Ended,
}

impl DesktopState {
    /// As a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Ending => "ending",
            Self::Ended => "ended",
        }
    }
}

/// A process that a desktop cannot live without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    pub role: PartRole,
    /// The program's name.
    pub program: String,
    /// The process.
    pub process: ProcessIdentity,
}

/// What a part is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartRole {
    /// The X server.
    DisplayServer,
    /// The D-Bus session bus.
    SessionBus,
    /// The window manager.
    WindowManager,
    /// What starts the accessibility bus.
    AccessibilityLauncher,
    /// The accessibility bus itself.
    AccessibilityBus,
}

/// A socket file by what the file system says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// When its inode changed last, in seconds and nanoseconds since 1970: inodes are used again at once.
    pub changed: (i64, i64),
}

impl SocketFile {
    /// The socket that is at that path now.
    pub(super) fn at(path: PathBuf) -> Option<Self> {
        let meta = std::fs::symlink_metadata(&path).ok()?;
        Some(Self { path, device: meta.dev(), inode: meta.ino(), changed: (meta.ctime(), meta.ctime_nsec()) })
    }

    /// Removes it if it is still the very same.
    pub(super) fn remove(&self) {
        if Self::at(self.path.clone()).as_ref() == Some(self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl DesktopRecord {
    /// `DISPLAY`'s value.
    #[must_use]
    pub fn display_name(&self) -> Option<String> {
        self.display.map(|number| format!(":{number}"))
    }

    /// The file that holds the X server's cookie.
    #[must_use]
    pub fn xauthority(&self) -> PathBuf {
        self.directory.join("xauthority")
    }

    /// The private `XDG_RUNTIME_DIR`.
    #[must_use]
    pub fn runtime_directory(&self) -> PathBuf {
        self.directory.join("run")
    }

    /// Where this desktop's Runner listens. The desktop does not make it; it removes it.
    #[must_use]
    pub fn runner_socket(&self) -> PathBuf {
        self.directory.join("runner")
    }

    /// The supervisor's own socket.
    #[must_use]
    pub(super) fn control_socket(&self) -> PathBuf {
        self.directory.join("control")
    }

    /// What the parts wrote to their standard error, bounded.
    #[must_use]
    pub(super) fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Whether any process still stands behind the record.
    #[must_use]
    pub(super) fn attended(&self) -> bool {
        let alive = |process: Option<ProcessIdentity>| process.is_some_and(ProcessIdentity::alive);
        let handed_over = self.keeper.is_some();
        alive(self.keeper) || alive(self.supervisor) || (!handed_over && self.starter.alive())
    }

    /// The record, if it is usable now.
    ///
    /// # Errors
    /// [`Fault::Ended`] with the reason, or [`Fault::NotReady`].
    pub fn ready(self) -> Result<Self, DesktopError> {
        let name = &self.name;
        match (self.state, &self.ended) {
            (DesktopState::Ready, _) => Ok(self),
            (DesktopState::Ended, why) => Err(DesktopError::new(
                Fault::Ended,
                format!("The desktop {name} has ended: {}.", why.as_deref().unwrap_or("it was stopped")),
            )
            .fix("deskhand desktop start")),
            (state, _) => {
                Err(DesktopError::new(Fault::NotReady, format!("The desktop {name} is {} now.", state.name()))
                    .fix("deskhand desktop list"))
            }
        }
    }

    /// Reads the record of the desktop in that directory; none where there is no readable one.
    #[must_use]
    pub(super) fn read(directory: &Path) -> Option<Self> {
        Self::read_file(&directory.join(STATE_FILE))
    }

    pub(super) fn read_file(file: &Path) -> Option<Self> {
        let bytes = std::fs::read(file).ok().filter(|bytes| bytes.len() <= MAX_RECORD_BYTES)?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes it whole or not at all.
    pub(super) fn write(&self) -> Result<(), DesktopError> {
        self.write_file(&self.directory.join(STATE_FILE))
    }

    pub(super) fn write_file(&self, file: &Path) -> Result<(), DesktopError> {
        let text = serde_json::to_vec_pretty(self).expect("a record has only string keys");
        write_whole(file, &text).map_err(|error| DesktopError::io("The desktop's record cannot be written", &error))
    }
}

/// Writes a private file so that a reader sees the old bytes or the new ones.
pub(super) fn write_whole(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let fresh = file.with_file_name(name);
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut open| open.write_all(bytes))
        .and_then(|()| std::fs::rename(&fresh, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

/// The record's file in a desktop's directory.
pub(super) const STATE_FILE: &str = "state.json";
const MAX_RECORD_BYTES: usize = 64 * 1024;
