//! The native steps that have no safe name: what a child does between fork and exec, and waiting for a descriptor.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Makes the child die with the thread that starts it. The signal is set in the child itself, after any change of
/// user, because such a change clears it; a parent that ended in between is noticed by its pid.
pub(super) fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let before_exec = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::CHILD.into()) }
    };
    // SAFETY: the closure runs in the forked child before exec and makes two system calls. It allocates nothing, takes
    // no lock and touches no memory that another thread may have left in between.
    unsafe {
        command.pre_exec(before_exec);
    }
}

/// Closes every descriptor above standard error. Call it first of all in a process that is to outlive its parent: a
/// forgotten end of a pipe would keep a stranger waiting.
pub(super) fn close_inherited() {
    // Collected first and as numbers only: the listing's own descriptor is closed with it.
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<RawFd> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let open = std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok();
        if open {
            // SAFETY: this process has opened nothing yet, so nothing in it owns a descriptor above standard error.
            unsafe { rustix::io::close(number) };
        }
    }
}

/// Watches a descriptor for readability.
pub(super) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by the returned value, which closes it only after it has been deregistered; an
    // `OwnedFd` always names the same open descriptor.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?)
}
