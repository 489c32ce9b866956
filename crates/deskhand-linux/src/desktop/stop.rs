//! Stopping a desktop, from the caller's side.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{PidfdFlags, Signal};

use super::ending::{self, Grace, Standing};
use super::error::{DesktopError, Fault};
use super::option::DesktopName;
use super::places::Places;
use super::process::{ProcessIdentity, raw};
use super::record::{DesktopRecord, DesktopState};
use super::registry;

/// Ends a desktop and returns when nothing of it is left. Applications may close by themselves for a moment first. One
/// that has ended by itself is only forgotten; the record says why it ended.
///
/// # Errors
/// [`Fault::NoSuchDesktop`]; [`Fault::TimedOut`] where a process could not be ended within the deadline.
pub fn stop(places: &Places, name: &DesktopName, deadline: Duration) -> Result<DesktopRecord, DesktopError> {
    let record = registry::find(places, name)?;
    if record.state == DesktopState::Ended {
        registry::forget(places, name);
        return Ok(record);
    }
    let until = Instant::now() + deadline;
    let ends = |record: &DesktopRecord| [record.supervisor, record.keeper].into_iter().flatten().collect::<Vec<_>>();
    for process in ends(&record).first().into_iter() {
        process.signal(Signal::TERM);
    }
    for process in ends(&record) {
        await_end(process, until);
    }
    if gone(&record) {
        return Ok(record);
    }
    // A supervisor that hangs is killed: its keeper ends everything, and if that is gone too, we do.
    for process in ends(&record) {
        process.signal(Signal::KILL);
        await_end(process, Instant::now() + LAST_PATIENCE);
    }
    if !gone(&record) {
        ending::clear(&record, Standing::Visitor, Grace::None);
    }
    if gone(&record) {
        Ok(record)
    } else {
        Err(DesktopError::new(Fault::TimedOut, format!("{name} could not be ended.")))
    }
}

fn gone(record: &DesktopRecord) -> bool {
    DesktopRecord::read(&record.directory).is_none_or(|left| left.id != record.id)
}

fn await_end(process: ProcessIdentity, until: Instant) {
    let Some(handle) = raw(process.pid).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok())
    else {
        return;
    };
    while process.alive() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let wait = Timespec { tv_sec: left.as_secs().try_into().unwrap_or(60), tv_nsec: left.subsec_nanos().into() };
        let _ = rustix::event::poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&wait));
    }
}

const LAST_PATIENCE: Duration = Duration::from_secs(5);
