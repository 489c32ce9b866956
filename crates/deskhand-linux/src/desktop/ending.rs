//! How a desktop ends: every process of it, then the files that are provably its own. The supervisor does it, the
//! keeper where the supervisor was killed, and whoever lists desktops where both were.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions};

use super::environment::MARKER_VARIABLE;
use super::process::{ProcessIdentity, descendants, marked};
use super::record::{DesktopRecord, DesktopState, PartRole};

/// Who ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// An ancestor to which orphans fall: its descendants are the desktop's, and it reaps them.
    Reaper,
    /// Another process: it knows the desktop's processes by their marker and by the record only.
    Visitor,
}

/// Whether applications are asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grace {
    /// They may close by themselves for this long.
    Asked(Duration),
    /// They are killed at once.
    None,
}

/// Ends the processes and removes the files. Afterwards nothing of the desktop is left.
pub(super) fn clear(record: &DesktopRecord, standing: Standing, grace: Grace) {
    let ending = DesktopRecord { state: DesktopState::Ending, ..record.clone() };
    let _ = ending.write();
    let company = Company { record, standing };
    if let Grace::Asked(patience) = grace {
        company.ask(patience);
    }
    company.end_display();
    company.kill();
    remove_display_files(record);
    remove_tree(&record.home);
    let gone = record.directory.with_file_name(format!(".{}.{}.gone", record.name, record.id));
    match std::fs::rename(&record.directory, &gone) {
        Ok(()) => remove_tree(&gone),
        Err(_) => remove_tree(&record.directory),
    }
}

/// The processes of one desktop.
struct Company<'a> {
    record: &'a DesktopRecord,
    standing: Standing,
}

impl Company<'_> {
    fn members(&self) -> Vec<ProcessIdentity> {
        let mut all = match self.standing {
            Standing::Reaper => descendants(std::process::id()),
            Standing::Visitor => Vec::new(),
        };
        all.extend(marked(MARKER_VARIABLE, &self.record.id));
        all.extend(self.record.parts.iter().map(|part| part.process).filter(|process| process.alive()));
        all.sort_by_key(|process| process.pid);
        all.dedup();
        let spared = [self.record.keeper, self.record.supervisor];
        all.retain(|process| process.pid != std::process::id() && !spared.contains(&Some(*process)));
        all
    }

    /// Applications may save and close; the parts stay until they have.
    fn ask(&self, patience: Duration) {
        let is_part = |process: &ProcessIdentity| self.record.parts.iter().any(|part| part.process == *process);
        let applications: Vec<_> = self.members().into_iter().filter(|process| !is_part(process)).collect();
        for process in &applications {
            process.signal(Signal::TERM);
        }
        self.await_end(&applications, patience);
    }

    /// The X server removes its own lock and socket when it is asked to end.
    fn end_display(&self) {
        let servers = self.record.parts.iter().filter(|part| part.role == PartRole::DisplayServer);
        let servers: Vec<_> = servers.map(|part| part.process).collect();
        for server in &servers {
            server.signal(Signal::TERM);
        }
        self.await_end(&servers, DISPLAY_PATIENCE);
    }

    /// Kills until nothing is left: a process that was just starting others is met in the next round.
    fn kill(&self) {
        let deadline = Instant::now() + KILL_DEADLINE;
        loop {
            let left = self.members();
            for process in &left {
                process.signal(Signal::KILL);
            }
            let children = self.reap();
            if (left.is_empty() && !children) || Instant::now() > deadline {
                return;
            }
            std::thread::sleep(ROUND);
        }
    }

    fn await_end(&self, processes: &[ProcessIdentity], patience: Duration) {
        let deadline = Instant::now() + patience;
        while processes.iter().any(|process| process.alive()) && Instant::now() < deadline {
            self.reap();
            std::thread::sleep(ROUND);
        }
        self.reap();
    }

    /// Collects the dead. Says whether any child is left.
    fn reap(&self) -> bool {
        if self.standing == Standing::Visitor {
            return false;
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }
}

/// Removes the X server's lock and socket if a killed server of ours left them. Another server's are never touched: the
/// lock must hold our server's pid and the socket must be the very file that ours made.
fn remove_display_files(record: &DesktopRecord) {
    // The socket first: while the lock stands, no other server takes the number.
    if let Some(socket) = &record.display_socket {
        socket.remove();
    }
    let servers = record.parts.iter().filter(|part| part.role == PartRole::DisplayServer);
    for server in servers.map(|part| part.process) {
        // A living process of that pid is either our server, which still needs its lock, or somebody else's.
        if ProcessIdentity::of(server.pid).is_some() {
            continue;
        }
        for lock in locks_of(server.pid) {
            let _ = std::fs::remove_file(lock);
        }
    }
}

fn locks_of(pid: u32) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(LOCK_FOLDER).into_iter().flatten().flatten();
    let is_lock = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(".X") && name.ends_with("-lock")
    };
    let holds_pid = |path: &PathBuf| {
        std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= 32)
            && std::fs::read_to_string(path).is_ok_and(|text| text.trim().parse() == Ok(pid))
    };
    entries.map(|entry| entry.path()).filter(is_lock).filter(holds_pid).collect()
}

fn remove_tree(folder: &Path) {
    for _ in 0..REMOVE_ATTEMPTS {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            // Something was made in it meanwhile, by a process that is just dying.
            Err(_) => std::thread::sleep(ROUND),
        }
    }
}

const LOCK_FOLDER: &str = "/tmp";
const DISPLAY_PATIENCE: Duration = Duration::from_millis(500);
const KILL_DEADLINE: Duration = Duration::from_secs(5);
const ROUND: Duration = Duration::from_millis(5);
const REMOVE_ATTEMPTS: u32 = 50;
