//! From the start of the process to its end.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Fault, Provider};
use rustix::event::{PollFd, PollFlags, Timespec};

use super::connection::{self, Shared};
use super::engine::engine;
use super::life::Life;
use super::socket::{Address, Taken, is_same_user};
use crate::config::RunnerFiles;

/// How often the process looks whether it is still needed and its display is there.
const LOOK: Duration = Duration::from_secs(2);
/// How long the display may take to answer that look.
const DISPLAY: Duration = Duration::from_secs(2);
/// Pause after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(50);
/// So many looks in a row without a display end the process.
const MISSES: u32 = 2;
/// How long running calls have to end once the process does.
const LEAVING: Duration = Duration::from_millis(500);

/// Longest log, in bytes.
const MAX_LOG: u64 = 1 << 20;

/// What a Runner is started with.
#[derive(Debug)]
pub(crate) struct Start {
    /// Where it listens.
    pub(crate) files: RunnerFiles,
    /// Whether its desktop is one that Deskhand started.
    pub(crate) private: bool,
    /// Where its audit is kept, or why it cannot be.
    pub(crate) audit: Result<PathBuf, String>,
    /// How long it stays without anything to do.
    pub(crate) idle: Duration,
    /// Whether another command started it, with a log in place of standard error.
    pub(crate) detached: bool,
}

/// How a Runner ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nobody needed it any more, or it was asked to end.
    Unneeded,
    /// Its display is gone.
    DisplayGone,
    /// Another one serves the desktop already.
    Busy,
    /// It could not begin; the text says why and the fix.
    Failed(String),
}

/// Serves until nobody needs it. `ready` is called once it listens.
pub(crate) fn run(start: &Start, ready: impl FnOnce()) -> Ended {
    // The address first: whoever loses this race does nothing to the desktop.
    let address = match Address::take(&start.files) {
        Ok(address) => address,
        Err(Taken::Busy) => return Ended::Busy,
        Err(Taken::Io(error)) => return Ended::Failed(format!("The Runner's socket cannot be made: {error}.")),
    };
    let provider = match crate::providers::provider(start.private) {
        Ok(provider) => provider,
        Err(why) => return Ended::Failed(why),
    };
    let engine = engine(Arc::clone(&provider), start.private, start.audit.clone());
    let shared = Arc::new(Shared { engine, life: Life::new() });
    ready();
    let ended = accept(&address, &shared, provider.as_ref(), start);
    drop(address);
    shared.engine.stop();
    let end = Instant::now() + LEAVING;
    while shared.engine.live_calls() > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    ended
}

fn accept(address: &Address, shared: &Arc<Shared>, provider: &dyn Provider, start: &Start) -> Ended {
    let mut looked = Instant::now();
    let mut misses = 0;
    let look = LOOK.min(start.idle);
    loop {
        if shared.life.is_ending() {
            return Ended::Unneeded;
        }
        wait(address, look);
        loop {
            match address.listener().accept() {
                Ok((stream, _)) => welcome(stream, shared),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A front door that is gone again, or no descriptor left: another try, and not at full speed.
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    break;
                }
            }
        }
        if looked.elapsed() < look {
            continue;
        }
        looked = Instant::now();
        if start.detached {
            bound_log();
        }
        if shared.life.is_idle_for(start.idle) {
            return Ended::Unneeded;
        }
        match provider.displays(&Limit::after(DISPLAY)) {
            Err(Fault::Backend(_)) => misses += 1,
            _ => misses = 0,
        }
        if misses >= MISSES {
            return Ended::DisplayGone;
        }
    }
}

fn welcome(stream: UnixStream, shared: &Arc<Shared>) {
    if !is_same_user(&stream) {
        return;
    }
    let Some(place) = shared.life.begin_connection() else {
        return connection::turn_away(stream, "this Runner has as many connections as it can carry");
    };
    let shared = Arc::clone(shared);
    // Without a thread the connection is dropped, which the front door sees and tries again.
    let _ = std::thread::Builder::new().name("connection".into()).spawn(move || {
        connection::serve(stream, &shared);
        shared.life.touch();
        drop(place);
    });
}

/// Empties the log that a front door made of standard error, once it has grown too long.
fn bound_log() {
    let Ok(log) = rustix::io::dup(io::stderr()).map(File::from) else { return };
    if log.metadata().is_ok_and(|found| found.is_file() && found.len() > MAX_LOG) {
        // It is appended to, so that what is written next stands at its beginning.
        let _ = log.set_len(0);
    }
}

fn wait(address: &Address, time: Duration) {
    let mut polled = [PollFd::new(address.listener(), PollFlags::IN)];
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    // A signal that breaks the wait only makes the look come early.
    let _ = rustix::event::poll(&mut polled, Some(&time));
}

/// What a Runner that a front door started says on its standard output, once; then that is closed.
pub(crate) fn say(word: &str) {
    let mut output = io::stdout().lock();
    // Nobody may be listening any more.
    let _ = output.write_all(word.as_bytes());
    let _ = output.write_all(b"\n");
    let _ = output.flush();
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
