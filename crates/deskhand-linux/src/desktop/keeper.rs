//! The keeper: parent of the supervisor and, like it, a process to which orphans fall. It does nothing but wait; when the
//! supervisor is killed, everything that it owned falls to the keeper, which ends it. When the keeper is killed, the
//! supervisor notices and ends the desktop. So no single kill leaves anything behind.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::WaitOptions;

use super::ending::{self, Grace, Standing};
use super::error::{DesktopError, Fault};
use super::option::Entry;
use super::process::{ProcessIdentity, raw};
use super::record::{DesktopRecord, DesktopState};
use super::wire::{self, StartAnswer};
use super::{log, registry, supervisor, sys};

/// Runs a process of a desktop: the last two arguments that [`start`](fn@super::start) added to `entry` are its role and its
/// directory. It returns when the desktop is over. Call it first thing in `main`, before any thread is started.
#[must_use]
pub fn run_supervisor(entry: &Entry, role: &OsString, directory: &Path) -> ExitCode {
    match role.to_str() {
        Some(KEEPER) => keep(entry, directory),
        Some(SUPERVISOR) => supervisor::supervise(directory),
        _ => ExitCode::from(2),
    }
}

pub(super) const KEEPER: &str = "keeper";
const SUPERVISOR: &str = "supervisor";

fn keep(entry: &Entry, directory: &Path) -> ExitCode {
    sys::close_inherited();
    // A session of its own, so that no signal to the starter's terminal or group ends it.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    let _ = rustix::process::set_child_subreaper(raw(std::process::id()));
    let Some(mut record) = DesktopRecord::read(directory) else { return ExitCode::FAILURE };
    let Ok(starter) = rustix::io::dup(std::io::stdin()).map(UnixStream::from) else { return ExitCode::FAILURE };
    record.keeper = Some(ProcessIdentity::own());
    if record.write().is_err() {
        return ExitCode::FAILURE;
    }
    let started = Command::new(&entry.program)
        .args(&entry.leading)
        .args([OsString::from(SUPERVISOR), directory.into()])
        .stdin(Stdio::inherit())
        .stdout(Stdio::null())
        .spawn();
    if let Ok(child) = started {
        wait_for(child.id());
    }
    end_what_is_left(directory, &record.id, starter);
    ExitCode::SUCCESS
}

/// The supervisor removes the desktop's directory last: if it is there, the supervisor did not end as it should.
fn end_what_is_left(directory: &Path, id: &str, starter: UnixStream) {
    let Some(record) = DesktopRecord::read(directory).filter(|record| record.id == id) else { return };
    let tail = log::tail(&record.log());
    if record.state == DesktopState::Ready {
        registry::remember(&record, "its supervisor was killed");
    }
    ending::clear(&record, Standing::Reaper, Grace::None);
    if record.state == DesktopState::Starting {
        let message = match &*tail {
            "" => "The desktop's supervisor ended while it was starting.".to_owned(),
            tail => format!("The desktop's supervisor ended while it was starting. Its log ends: {tail}"),
        };
        let _ = wire::send(starter, &StartAnswer::Failed(DesktopError::new(Fault::StartFailed, message).into()));
    }
}

fn wait_for(pid: u32) {
    loop {
        match rustix::process::waitpid(raw(pid), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}
