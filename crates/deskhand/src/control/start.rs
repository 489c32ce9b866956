//! Reaching the Runner of a desktop, and starting it where none runs.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use deskhand_contract::error::ErrorCode;
use deskhand_contract::wire::{self, FromRunner, Mode, PROTOCOL, ToRunner};

use super::desktop::Desktop;
use super::link::{Connect, Link, Unreachable};
use super::socket::{Missed, SocketLink};
use crate::config::{Environment, RunnerFiles, STATE_DIR};

/// How long a Runner may take to start.
const STARTING: Duration = Duration::from_secs(15);
/// How long a Runner that was asked to end may take.
const ENDING: Duration = Duration::from_secs(3);
/// Pause between two looks at a socket that is about to appear or to go.
const PAUSE: Duration = Duration::from_millis(5);
/// Longest line that a starting Runner says.
const MAX_LINE: u64 = 4_096;
/// A log that has grown beyond this is emptied before the next Runner writes to it.
const MAX_LOG: u64 = 256 << 10;

/// Finds the desktop that is meant, at each connection anew.
pub(crate) type Find = Box<dyn Fn() -> Result<Desktop, Unreachable> + Send + Sync>;

/// Connects to the Runner of one of this machine's desktops.
pub(crate) struct Local {
    /// The environment.
    pub(crate) environment: Environment,
    /// Which desktop.
    pub(crate) find: Find,
    /// The session's name; none for one that ends with the connection.
    pub(crate) session: Option<String>,
    /// The session's permission mode.
    pub(crate) mode: Mode,
}

impl Connect for Local {
    fn connect(&self) -> Result<Arc<dyn Link>, Unreachable> {
        let desktop = (self.find)()?;
        let files = desktop.runner_files(&self.environment)?;
        let end = Instant::now() + STARTING;
        loop {
            match SocketLink::connect(&files.socket, self.session.as_deref(), self.mode) {
                Ok(link) => return Ok(Arc::new(link)),
                Err(Missed::Nobody) if Instant::now() < end => start(&desktop, &files, &self.environment)?,
                Err(Missed::Nobody) => {
                    return Err(offline(format!(
                        "The Runner of this desktop starts and ends again. Its log: {}",
                        files.log.display()
                    )));
                }
                Err(Missed::Foreign(why)) => retire(&files.socket, &why)?,
                Err(Missed::Io(error)) => return Err(offline(format!("The Runner cannot be reached: {error}."))),
            }
        }
    }
}

/// Starts the Runner and waits until it listens, or until another start of it does.
fn start(desktop: &Desktop, files: &RunnerFiles, environment: &Environment) -> Result<(), Unreachable> {
    let failed = |what: &str, error: &io::Error| {
        Unreachable::new(ErrorCode::Unavailable, format!("The Runner cannot be started: {what}: {error}."))
    };
    let log = open_log(&files.log).map_err(|error| failed("its log", &error))?;
    let program = own_program().map_err(|error| failed("this program", &error))?;
    let argv = [program.as_os_str(), "runner".as_ref(), "--detached".as_ref(), "--desktop".as_ref()];
    let argv: Vec<OsString> = argv.into_iter().chain([desktop.selector().as_ref()]).map(OsString::from).collect();
    let (said, mut child) = match desktop {
        // It is one of the desktop's own processes: it ends with the desktop, and so does what it starts.
        Desktop::Private(private) => {
            let (said, output) = io::pipe().map_err(|error| failed("a pipe", &error))?;
            // Its home ends with the desktop; what was done on it must not.
            let state = environment.state_dir.iter().map(|state| (STATE_DIR.into(), state.into())).collect();
            private.run(argv, state, output.into(), log)?;
            (File::from(OwnedFd::from(said)), None)
        }
        Desktop::Own => {
            let mut command = Command::new(&argv[0]);
            command.args(&argv[1..]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
            let mut child = command.spawn().map_err(|error| failed("this program", &error))?;
            let said = child.stdout.take().expect("standard output was piped");
            (File::from(OwnedFd::from(said)), Some(child))
        }
    };
    let (sender, line) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("runner-start".into())
        .spawn(move || {
            let mut first = String::new();
            // A Runner that says nothing has ended; its status is not needed, only that it is reaped.
            let _ = BufReader::new(said.take(MAX_LINE)).read_line(&mut first);
            let _ = sender.send(first);
            if let Some(child) = &mut child {
                let _ = child.wait();
            }
        })
        .map_err(|error| failed("a thread", &error))?;
    match line.recv_timeout(STARTING).as_deref().map(str::trim_end) {
        Ok("ready") => Ok(()),
        // Another one is at it: its socket is about to appear, or it is about to end.
        Ok("busy") => {
            std::thread::sleep(PAUSE);
            Ok(())
        }
        Ok("") => Err(offline(format!("The Runner ended while it started. Its log: {}", files.log.display()))),
        Ok(why) => Err(Unreachable::new(ErrorCode::Unavailable, why)),
        Err(_) => Err(offline("The Runner did not start in time.".into())),
    }
}

/// Asks a Runner of another version to end. It does where nothing is under way.
fn retire(socket: &Path, why: &str) -> Result<(), Unreachable> {
    let ended = || -> io::Result<bool> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ENDING))?;
        stream.set_write_timeout(Some(ENDING))?;
        wire::write_frame(
            &mut stream,
            &ToRunner::Hello { protocol: PROTOCOL, session: None, mode: Mode::default() },
            &[],
        )?;
        wire::read_frame::<serde_json::Value>(&mut stream)?;
        wire::write_frame(&mut stream, &ToRunner::Quit { call: 1 }, &[])?;
        Ok(match wire::read_frame::<FromRunner>(&mut stream)? {
            Some((FromRunner::Reply { ending, .. }, _)) => ending.error.is_none(),
            _ => false,
        })
    };
    if ended().unwrap_or(false) {
        let end = Instant::now() + ENDING;
        while Instant::now() < end {
            if UnixStream::connect(socket).is_err() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    }
    Err(offline(format!(
        "A Runner of another version serves this desktop and is in use ({why}). End the sessions that use it, then try again."
    )))
}

fn open_log(path: &Path) -> io::Result<File> {
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    if log.metadata()?.len() > MAX_LOG {
        log.set_len(0)?;
    }
    Ok(log)
}

/// This program's file, also where it was replaced since it started.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { PathBuf::from("/proc/self/exe") })
}

fn offline(message: String) -> Unreachable {
    Unreachable::new(ErrorCode::ClientOffline, message)
}
