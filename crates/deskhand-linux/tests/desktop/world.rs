//! A world of its own for each test, and what can be seen of it without Deskhand.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use deskhand_linux::desktop::{
    self, Command, DesktopError, DesktopName, DesktopRecord, Entry, Owner, Places, StartOptions,
};

pub(crate) struct World {
    pub(crate) places: Places,
    root: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let places = Places {
            runtime: root.path().join("deskhand"),
            scratch: root.path().to_owned(),
            ..Places::of_environment(std::env::vars_os().collect())
        };
        Self { places, root }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The same world with another value of a variable.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.places.environment.retain(|(key, _)| key != name);
        self.places.environment.push((name.into(), value.into()));
        self
    }

    pub(crate) fn start(&self) -> DesktopRecord {
        desktop::start(&self.places, &options()).unwrap().record
    }

    pub(crate) fn stop(&self, record: &DesktopRecord) {
        desktop::stop(&self.places, &record.name, PATIENCE).unwrap();
    }

    pub(crate) fn command(&self, argv: &[&str]) -> Command {
        Command {
            argv: argv.iter().map(OsString::from).collect(),
            environment: self.places.environment.clone(),
            directory: self.root().to_owned(),
        }
    }

    pub(crate) fn spawn(&self, record: &DesktopRecord, argv: &[&str]) -> u32 {
        desktop::exec_detached(record, &self.command(argv)).unwrap().pid
    }

    /// Runs a program inside to its end. This is the test's own child with the desktop's environment, so that its output
    /// is seen whatever Deskhand does with streams.
    pub(crate) fn run(&self, record: &DesktopRecord, argv: &[&str]) -> Output {
        let mut command = std::process::Command::new(argv[0]);
        command.args(&argv[1..]).env_clear();
        command.envs(desktop::whole_environment(record, &self.places.environment));
        command.output().unwrap()
    }

    pub(crate) fn says(&self, record: &DesktopRecord, argv: &[&str]) -> String {
        let output = self.run(record, argv);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{argv:?}: {error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for World {
    /// A test that fails leaves nothing running.
    fn drop(&mut self) {
        for record in desktop::list(&self.places).unwrap_or_default() {
            let _ = desktop::stop(&self.places, &record.name, Duration::from_secs(5));
        }
    }
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn options() -> StartOptions {
    // A test that is killed leaves nothing running either.
    let owner = Owner::Process(std::process::id());
    StartOptions { deadline: PATIENCE, owner, ..StartOptions::new(this_program()) }
}

pub(crate) fn named(name: &str) -> StartOptions {
    StartOptions { name: Some(DesktopName::parse(name).unwrap()), ..options() }
}

pub(crate) fn failure(result: Result<desktop::Started, DesktopError>) -> DesktopError {
    match result {
        Ok(started) => panic!("it started: {:?}", started.record),
        Err(error) => error,
    }
}

pub(crate) fn this_program() -> Entry {
    let leading = ["--exact", "entry", "--ignored", "--nocapture", "--test-threads=1"];
    Entry { program: std::env::current_exe().unwrap(), leading: leading.map(OsString::from).to_vec() }
}

/// In a process that a desktop started: is the keeper or the supervisor until the desktop is over.
pub(crate) fn become_what_is_asked() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let [.., role, directory] = &arguments[..] else { return };
    if role == "keeper" || role == "supervisor" {
        let _ = desktop::run_supervisor(&this_program(), role, Path::new(directory));
        std::process::exit(0);
    }
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn kill_9(pid: u32) {
    let status = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill -9 {pid}");
}

/// What `/proc` shows of a process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) parent: u32,
    pub(crate) state: String,
    pub(crate) start_time: u64,
    pub(crate) command: String,
}

/// Every process of the machine.
pub(crate) fn processes() -> BTreeMap<u32, Seen> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| {
        let stat = String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
        let rest: Vec<_> = stat[stat.rfind(')')? + 2..].split(' ').collect();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let seen =
            Seen { parent: rest[1].parse().ok()?, state: rest[0].into(), start_time: rest[19].parse().ok()?, command };
        Some((pid, seen))
    })
    .collect()
}

/// All that descends from a process, itself included.
pub(crate) fn family(root: u32) -> BTreeMap<u32, Seen> {
    let all = processes();
    let descends = |mut pid: u32| {
        for _ in 0..100 {
            if pid == root {
                return true;
            }
            match all.get(&pid) {
                Some(seen) if seen.parent != 0 => pid = seen.parent,
                _ => return false,
            }
        }
        false
    };
    all.iter().filter(|(pid, _)| descends(**pid)).map(|(pid, seen)| (*pid, seen.clone())).collect()
}

/// Those of a family that are still there, zombies included.
pub(crate) fn left_of(family: &BTreeMap<u32, Seen>) -> BTreeMap<u32, Seen> {
    let now = processes();
    let same = |pid: &u32, seen: &Seen| now.get(pid).is_some_and(|other| other.start_time == seen.start_time);
    family.iter().filter(|(pid, seen)| same(pid, seen)).map(|(pid, _)| (*pid, now[pid].clone())).collect()
}

/// Processes whose environment carries the desktop's mark.
pub(crate) fn marked(record: &DesktopRecord) -> Vec<String> {
    let mark = format!("DESKHAND_DESKTOP_ID={}", record.id);
    let carries = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    processes()
        .into_iter()
        .filter(|(pid, _)| carries(pid))
        .map(|(pid, seen)| format!("{pid} {}", seen.command))
        .collect()
}

/// The files that a desktop may have made.
pub(crate) fn files(record: &DesktopRecord) -> Vec<PathBuf> {
    let display = record.display.unwrap();
    let lock = PathBuf::from(format!("/tmp/.X{display}-lock"));
    let server = record.parts[0].process.pid.to_string();
    let mut all = vec![record.directory.clone(), record.home.clone()];
    // Another server may have taken the number meanwhile; its files are not ours.
    if std::fs::read_to_string(&lock).is_ok_and(|text| text.trim() == server) {
        all.push(lock.clone());
    }
    let socket = record.display_socket.clone().unwrap();
    let same = |meta: &std::fs::Metadata| (meta.ino(), meta.ctime_nsec()) == (socket.inode, socket.changed.1);
    if socket.path.symlink_metadata().is_ok_and(|meta| same(&meta)) {
        all.push(socket.path);
    }
    all.retain(|file| file.symlink_metadata().is_ok());
    all
}
