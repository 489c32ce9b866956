//! Processes as `/proc` shows them: identities that survive the reuse of a pid, descendants, and the desktop's
//! marker in an environment.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// One process: its pid and its start time in clock ticks since boot, so that a reused pid is never taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`.
    pub start_time: u64,
}

impl ProcessIdentity {
    /// The process that has this pid now, zombies included.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Stat::read(pid).map(|stat| Self { pid, start_time: stat.start_time })
    }

    /// This process.
    #[must_use]
    pub fn own() -> Self {
        Self::of(std::process::id()).expect("a process sees its own /proc entry")
    }

    /// Whether this very process still runs; a zombie does not.
    #[must_use]
    pub fn alive(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.zombie)
    }

    /// Sends a signal if the pid still means this process.
    pub fn signal(self, signal: Signal) {
        if self.alive()
            && let Some(pid) = raw(self.pid)
        {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// All living descendants of `root`, nearest first, without `root` itself and without zombies.
#[must_use]
pub(super) fn descendants(root: u32) -> Vec<ProcessIdentity> {
    let mut children: HashMap<u32, Vec<(ProcessIdentity, bool)>> = HashMap::new();
    for pid in pids() {
        if let Some(stat) = Stat::read(pid) {
            let identity = ProcessIdentity { pid, start_time: stat.start_time };
            children.entry(stat.parent).or_default().push((identity, stat.zombie));
        }
    }
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        for (identity, zombie) in children.get(&parent).into_iter().flatten() {
            if seen.insert(identity.pid) {
                next.push(identity.pid);
                if !zombie {
                    found.push(*identity);
                }
            }
        }
    }
    found
}

/// Every process of ours whose environment holds `name=value`, this process left out.
#[must_use]
pub(super) fn marked(name: &str, value: &str) -> Vec<ProcessIdentity> {
    let wanted = format!("{name}={value}");
    let own = std::process::id();
    pids()
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        })
        .filter_map(ProcessIdentity::of)
        .filter(|process| process.alive())
        .collect()
}

/// An executable file of that name in a search path.
#[must_use]
pub(super) fn program_in(path: &OsStr, name: &str) -> Option<std::path::PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| executable(file))
}

/// Whether the file is there and may be executed by us.
#[must_use]
pub(super) fn executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The kernel's type for a pid.
pub(super) fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn pids() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| std::str::from_utf8(entry.file_name().as_bytes()).ok().and_then(|name| name.parse().ok()))
}

struct Stat {
    parent: u32,
    start_time: u64,
    zombie: bool,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The command's name may hold spaces, parentheses and bytes that are no UTF-8: fields count from the last `)`.
    fn parse(line: &[u8]) -> Option<Self> {
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let start_time = fields.nth(17)?.parse().ok()?;
        Some(Self { parent, start_time, zombie: matches!(state, "Z" | "X") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_with_an_odd_name_is_read() {
        let line = b"12 (a) b (\xff) S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.start_time, stat.zombie), (7, 987_654, false));
        assert!(Stat::parse(b"12 (x) Z 7 1").is_none());
        assert!(Stat::parse(b"").is_none());
    }

    #[test]
    fn a_child_is_found_and_its_end_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("60").env("DESKHAND_TEST_MARK", "m1").spawn().unwrap();
        let identity = ProcessIdentity::of(child.id()).unwrap();
        assert!(descendants(std::process::id()).contains(&identity));
        let reused = ProcessIdentity { start_time: identity.start_time + 1, ..identity };
        assert!(identity.alive() && !reused.alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!identity.alive());
    }
}
