//! The process behind a window: identity that survives the reuse of its pid, its program, and whose it is.

use std::os::unix::fs::MetadataExt as _;

/// A process, told apart from a later one with the same pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessFacts {
    /// Its pid in this namespace.
    pub(crate) pid: u32,
    /// When it started, in clock ticks since boot.
    pub(crate) started: u64,
    /// Its parent's pid.
    pub(crate) parent: u32,
    /// The short name that the kernel keeps.
    pub(crate) name: String,
    /// The program file, where this user may know it: path, device, inode.
    pub(crate) program: Option<Program>,
    /// Real and effective user.
    pub(crate) users: (u32, u32),
    /// Whether it holds capabilities that this process lacks.
    pub(crate) extra_capabilities: bool,
}

/// The file that a process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its path as the kernel gives it; ` (deleted)` is cut off.
    pub(crate) path: String,
    /// Device and inode of the file.
    pub(crate) file: Option<(u64, u64)>,
}

/// Whose a window is, as far as the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The same user, with no more privilege than this process.
    SameUser,
    /// Another user.
    OtherUser,
    /// A process with more privilege than this one.
    Elevated,
}

impl ProcessFacts {
    /// What `/proc` says of `pid`; nothing if there is no such process.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (name, parent, started) = parse_stat(&stat)?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let users = parse_users(&status)?;
        let own = std::fs::read_to_string("/proc/self/status").ok();
        let extra = match (effective_capabilities(&status), own.as_deref().and_then(effective_capabilities)) {
            // Chromium's helpers and bubblewrap hold capabilities over a user namespace of their own; those
            // count for nothing here.
            (Some(theirs), Some(ours)) => theirs & !ours != 0 && same_user_namespace(pid),
            _ => false,
        };
        // Read last: a process that ended meanwhile has no link, and a reused pid fails the start time below.
        let program = program(pid);
        let again = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        (parse_stat(&again)?.2 == started).then_some(Self {
            pid,
            started,
            parent,
            name,
            program,
            users,
            extra_capabilities: extra,
        })
    }

    /// Whose it is, seen from this process.
    pub(crate) fn owner(&self) -> Owner {
        let us = rustix::process::geteuid().as_raw();
        let (real, effective) = self.users;
        if effective == 0 && us != 0 {
            Owner::Elevated
        } else if real != us && effective != us {
            Owner::OtherUser
        } else if real != effective || self.extra_capabilities {
            Owner::Elevated
        } else {
            Owner::SameUser
        }
    }
}

/// Whether `pid` is `ancestor` or descends from it.
pub(crate) fn descends_from(pid: u32, ancestor: u32) -> bool {
    let mut current = pid;
    for _ in 0..MAX_ANCESTORS {
        if current == ancestor {
            return true;
        }
        let parent = std::fs::read_to_string(format!("/proc/{current}/stat"))
            .ok()
            .and_then(|stat| parse_stat(&stat))
            .map_or(0, |(_, parent, _)| parent);
        if parent == 0 {
            return false;
        }
        current = parent;
    }
    false
}

/// Longest chain of parents that is followed.
const MAX_ANCESTORS: usize = 64;

/// Name, parent and start time. The name may hold spaces and brackets: it ends at the last bracket.
fn parse_stat(stat: &str) -> Option<(String, u32, u64)> {
    let open = stat.find('(')?;
    let close = stat.rfind(')')?;
    let name = stat.get(open + 1..close)?.to_owned();
    let mut rest = stat.get(close + 1..)?.split_ascii_whitespace();
    let parent = rest.nth(1)?.parse().ok()?;
    let started = rest.nth(17)?.parse().ok()?;
    Some((name, parent, started))
}

fn parse_users(status: &str) -> Option<(u32, u32)> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut ids = line.split_ascii_whitespace().map(str::parse);
    Some((ids.next()?.ok()?, ids.next()?.ok()?))
}

fn effective_capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn same_user_namespace(pid: u32) -> bool {
    let theirs = std::fs::metadata(format!("/proc/{pid}/ns/user")).map(|file| (file.dev(), file.ino()));
    let ours = std::fs::metadata("/proc/self/ns/user").map(|file| (file.dev(), file.ino()));
    // Not allowed to look means that it has something that we have not.
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => theirs == ours,
        _ => true,
    }
}

fn program(pid: u32) -> Option<Program> {
    let link = format!("/proc/{pid}/exe");
    let path = std::fs::read_link(&link).ok()?;
    let path = path.to_string_lossy();
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned();
    let file = std::fs::metadata(&link).ok().map(|file| (file.dev(), file.ino()));
    Some(Program { path, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat = "77 (a) b (c)) S 5 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 20";
        assert_eq!(parse_stat(stat), Some(("a) b (c)".to_owned(), 5, 4242)));
    }

    #[test]
    fn this_process_is_known_and_the_same_user() {
        let facts = ProcessFacts::read(std::process::id()).expect("this process runs");
        assert_eq!(facts.owner(), Owner::SameUser);
        let program = facts.program.expect("one may know one's own program");
        assert_eq!(Some(program.path), std::env::current_exe().ok().map(|path| path.display().to_string()));
        assert!(descends_from(facts.pid, facts.parent));
        assert!(!descends_from(facts.parent, facts.pid));
    }

    #[test]
    fn an_ended_process_is_not_alive() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let facts = ProcessFacts::read(child.id()).expect("the child runs");
        assert!(descends_from(child.id(), std::process::id()));
        child.kill().expect("own child");
        child.wait().expect("own child");
        assert_eq!(ProcessFacts::read(facts.pid).filter(|again| again.started == facts.started), None);
    }

    #[test]
    fn users_and_capabilities_decide_the_owner() {
        let us = rustix::process::geteuid().as_raw();
        let facts = |users, extra_capabilities| ProcessFacts {
            pid: 1,
            started: 1,
            parent: 0,
            name: String::new(),
            program: None,
            users,
            extra_capabilities,
        };
        assert_eq!(facts((us, us), false).owner(), Owner::SameUser);
        assert_eq!(facts((us + 7, us + 7), false).owner(), Owner::OtherUser);
        assert_eq!(facts((us, us), true).owner(), Owner::Elevated);
        assert_eq!(facts((us, us + 7), false).owner(), Owner::Elevated);
    }
}
