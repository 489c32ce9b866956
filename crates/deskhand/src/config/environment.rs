//! The environment, read once at the start. Nothing below a front door reads it again.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long a Runner stays without a connection, a call or an effect.
const IDLE: Duration = Duration::from_secs(600);

/// Names the directory of the state for a Runner whose home is a private desktop's.
pub(crate) const STATE_DIR: &str = "DESKHAND_STATE_DIR";

/// What the environment says.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// The user.
    pub(crate) uid: u32,
    /// `XDG_RUNTIME_DIR`, where it is an absolute path.
    pub(crate) runtime_dir: Option<PathBuf>,
    /// `DESKHAND_RUNTIME_DIR`, where it is an absolute path: what a private desktop sets for what runs on it.
    pub(crate) deskhand_runtime_dir: Option<PathBuf>,
    /// Where state is kept: `DESKHAND_STATE_DIR`, else `deskhand` below `XDG_STATE_HOME`, else below
    /// `~/.local/state`.
    pub(crate) state_dir: Option<PathBuf>,
    /// `DISPLAY`, where it is not empty.
    pub(crate) display: Option<String>,
    /// `WAYLAND_DISPLAY`, where it is not empty.
    pub(crate) wayland_display: Option<String>,
    /// `DESKHAND_DESKTOP`: the desktop that is meant where no `--desktop` says otherwise.
    pub(crate) desktop: Option<String>,
    /// `DESKHAND_SESSION`: the session that is meant where no `--session` says otherwise.
    pub(crate) session: Option<String>,
    /// `DESKHAND_IDLE_SECONDS`: how long a Runner stays without anything to do.
    pub(crate) idle: Duration,
}

impl Environment {
    /// Reads it.
    pub(crate) fn read() -> Self {
        let words = |name| std::env::var_os(name).and_then(|value: OsString| value.into_string().ok());
        let given = |name| words(name).filter(|value| !value.is_empty());
        let directory = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Self {
            uid: rustix::process::getuid().as_raw(),
            runtime_dir: directory("XDG_RUNTIME_DIR"),
            deskhand_runtime_dir: directory("DESKHAND_RUNTIME_DIR"),
            state_dir: directory(STATE_DIR)
                .or_else(|| directory("XDG_STATE_HOME").map(|base| base.join("deskhand")))
                .or_else(|| directory("HOME").map(|home| home.join(".local/state/deskhand"))),
            display: given("DISPLAY"),
            wayland_display: given("WAYLAND_DISPLAY"),
            desktop: given("DESKHAND_DESKTOP"),
            session: given("DESKHAND_SESSION"),
            idle: given("DESKHAND_IDLE_SECONDS")
                .and_then(|seconds| seconds.parse().ok())
                .map_or(IDLE, |seconds: u64| Duration::from_secs(seconds.clamp(1, 86_400))),
        }
    }
}
