//! The supervisor's children: started here, reaped here, together with every orphan that falls to it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use rustix::process::WaitOptions;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::sys;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with status {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

/// What to start.
pub(super) struct Spawn<'a> {
    pub(super) program: &'a OsStr,
    /// What the program is told it was called as.
    pub(super) called: &'a OsStr,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) directory: &'a Path,
    pub(super) stdio: [Stdio; 3],
}

/// A child that was started. Its end comes once.
pub(super) struct Child {
    pub(super) pid: u32,
    pub(super) end: oneshot::Receiver<Exit>,
}

/// All of them. Lives on the supervisor's main thread: a child's parent-death signal follows the thread that started it.
#[derive(Clone, Default)]
pub(super) struct Children {
    watched: Rc<RefCell<HashMap<u32, oneshot::Sender<Exit>>>>,
}

impl Children {
    /// Starts a program that dies with the supervisor, in a process group of its own.
    pub(super) fn spawn(&self, spawn: Spawn<'_>) -> io::Result<Child> {
        use std::os::unix::process::CommandExt;
        let [stdin, stdout, stderr] = spawn.stdio;
        let mut command = Command::new(spawn.program);
        command
            .arg0(spawn.called)
            .args(spawn.arguments)
            .env_clear()
            .envs(spawn.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(spawn.directory).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        sys::die_with_parent(&mut command);
        let pid = command.spawn()?.id();
        let (sender, end) = oneshot::channel();
        // Nothing is reaped between the start and this line: both happen on this thread, without a pause.
        self.watched.borrow_mut().insert(pid, sender);
        Ok(Child { pid, end })
    }

    /// Collects the dead and tells who waits for them.
    pub(super) fn reap(&self) {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let pid = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or_default();
                    let exit = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => Exit::Code(code),
                        (None, Some(signal)) => Exit::Signal(signal),
                        (None, None) => continue,
                    };
                    if let Some(waiting) = self.watched.borrow_mut().remove(&pid) {
                        let _ = waiting.send(exit);
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

/// Standard input and output for a part: nothing, or one end of a pipe, and the log.
pub(super) fn part_stdio(output: Option<OwnedFd>, log: &OwnedFd) -> io::Result<[Stdio; 3]> {
    let output = output.map_or_else(Stdio::null, Stdio::from);
    Ok([Stdio::null(), output, Stdio::from(log.try_clone()?)])
}
