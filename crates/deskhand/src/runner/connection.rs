//! One front door's connection: a reader that never waits for a call, and a thread for each call.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deskhand_contract::action::{Action, ActionKind};
use deskhand_contract::argument::Arguments;
use deskhand_contract::error::{CallError, ErrorCode, IsEffect};
use deskhand_contract::limit::{Cancel, Limit};
use deskhand_contract::verdict::{Outcome, Proof, Verdict};
use deskhand_contract::wire::{self, Ending, FromRunner, PROTOCOL, ToRunner};
use deskhand_runtime::{Answer, Runner, Session};

use super::life::Life;

/// How long a new connection may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long an answer may wait for a front door that does not read.
const SENDING: Duration = Duration::from_secs(10);
/// Most calls of one connection at a time.
const MAX_CALLS: usize = 16;
/// Longest time that a call may ask for.
const MAX_TIME: Duration = Duration::from_secs(60);
/// Longest name of a session, in bytes.
const MAX_SESSION: usize = 128;

/// What all connections share.
pub(super) struct Shared {
    /// The judgement.
    pub(super) engine: Arc<Runner>,
    /// Who needs this process.
    pub(super) life: Life,
}

/// Serves one connection to its end.
pub(super) fn serve(stream: UnixStream, shared: &Arc<Shared>) {
    // Whatever ends a connection ends it for both sides; there is nobody to tell.
    let _ = greet_and_serve(stream, shared);
}

/// Says to a front door that there is no room for it.
pub(super) fn turn_away(mut stream: UnixStream, message: &str) {
    let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
    let _ = wire::write_frame(&mut stream, &FromRunner::Rejected { message: message.to_owned() }, &[]);
}

fn greet_and_serve(stream: UnixStream, shared: &Arc<Shared>) -> io::Result<()> {
    // An accepted socket takes nothing over from a listener that does not block, but that is Linux's word alone.
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(GREETING))?;
    stream.set_write_timeout(Some(SENDING))?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let (session, mode) = match wire::read_frame::<ToRunner>(&mut reader)? {
        Some((ToRunner::Hello { protocol: PROTOCOL, session, mode }, _)) => (session, mode),
        Some((ToRunner::Hello { .. }, _)) => {
            let message = format!("this Runner is of version {} and speaks protocol {PROTOCOL}", version());
            wire::write_frame(&mut writer, &FromRunner::Rejected { message }, &[])?;
            // A newer front door may ask this one to make room, and nothing else.
            if let Some((ToRunner::Quit { call }, _)) = wire::read_frame::<ToRunner>(&mut reader)? {
                let ending = quit(shared);
                wire::write_frame(&mut writer, &FromRunner::Reply { call, ending }, &[])?;
            }
            return Ok(());
        }
        Some(_) => return turn_back(&mut writer, "the first frame must be hello"),
        None => return Ok(()),
    };
    if session.as_ref().is_some_and(|name| name.is_empty() || name.len() > MAX_SESSION) {
        return turn_back(&mut writer, "a session's name has 1 to 128 bytes");
    }
    let welcome =
        FromRunner::Welcome { protocol: PROTOCOL, version: version().to_owned(), target: shared.engine.target() };
    wire::write_frame(&mut writer, &welcome, &[])?;
    reader.get_ref().set_read_timeout(None)?;
    let connection = Arc::new(Connection {
        shared: Arc::clone(shared),
        session: shared.engine.session(session.as_deref(), mode),
        writer: Mutex::new(writer),
        running: Mutex::new(HashMap::new()),
    });
    let end = connection.read(&mut reader);
    connection.cancel_all();
    end
}

fn turn_back(writer: &mut UnixStream, why: &str) -> io::Result<()> {
    wire::write_frame(writer, &FromRunner::Rejected { message: why.to_owned() }, &[])
}

struct Connection {
    shared: Arc<Shared>,
    session: Arc<Session>,
    writer: Mutex<UnixStream>,
    running: Mutex<HashMap<u64, Cancel>>,
}

impl Connection {
    /// Takes frames until the other side ends or breaks the rules.
    fn read(self: &Arc<Self>, reader: &mut BufReader<UnixStream>) -> io::Result<()> {
        while let Some((frame, _)) = wire::read_frame::<ToRunner>(reader)? {
            self.shared.life.touch();
            match frame {
                ToRunner::Call { call, action, arguments, time_ms } => self.begin(call, &action, arguments, time_ms),
                ToRunner::Cancel { call } => {
                    // One that ended already, or never was, needs nothing.
                    if let Some(cancel) = self.running().get(&call) {
                        cancel.cancel();
                    }
                }
                ToRunner::Stop { call } => {
                    self.shared.engine.stop();
                    self.answer(call, stopped(), &[]);
                }
                ToRunner::Quit { call } => {
                    let ending = quit(&self.shared);
                    self.answer(call, ending, &[]);
                }
                ToRunner::Hello { .. } => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
        Ok(())
    }

    fn begin(self: &Arc<Self>, call: u64, name: &str, arguments: Arguments, time_ms: u32) {
        let Some(kind) = ActionKind::named(name) else {
            let error = CallError::rejected(ErrorCode::InvalidRequest, "There is no such action.", IsEffect::No);
            return self.answer(call, error.into(), &[]);
        };
        let action = match Action::parse(kind, &arguments) {
            Ok(action) => action,
            Err(error) => return self.answer(call, rejected(kind, ErrorCode::InvalidRequest, &error.message), &[]),
        };
        let time = Duration::from_millis(u64::from(time_ms)).min(MAX_TIME);
        let limit = Limit { deadline: Instant::now() + time, cancel: Cancel::new() };
        {
            let mut running = self.running();
            if running.contains_key(&call) {
                drop(running);
                return self.answer(
                    call,
                    rejected(kind, ErrorCode::InvalidRequest, "That call number is in use."),
                    &[],
                );
            }
            if running.len() >= MAX_CALLS {
                drop(running);
                let message = format!("{MAX_CALLS} calls of this session are under way. Wait for one to end.");
                return self.answer(call, rejected(kind, ErrorCode::ClientOffline, &message), &[]);
            }
            running.insert(call, limit.cancel.clone());
        }
        let Some(place) = self.shared.life.begin_call() else {
            self.running().remove(&call);
            return self.answer(
                call,
                rejected(kind, ErrorCode::ClientOffline, "The Runner has as many calls as it can carry. Try again."),
                &[],
            );
        };
        let connection = Arc::clone(self);
        let started = std::thread::Builder::new().name(kind.name().to_owned()).spawn(move || {
            let _place = place;
            connection.run(call, kind, &action, &limit);
        });
        if started.is_err() {
            self.running().remove(&call);
            self.answer(
                call,
                rejected(kind, ErrorCode::ClientOffline, "The Runner has no thread left. Try again."),
                &[],
            );
        }
    }

    fn run(&self, call: u64, kind: ActionKind, action: &Action, limit: &Limit) {
        let ended = catch_unwind(AssertUnwindSafe(|| self.shared.engine.call(&self.session, action, limit)));
        let Answer { ending, image } = ended.unwrap_or_else(|_| Answer { ending: broken(kind), image: None });
        self.running().remove(&call);
        self.answer(call, ending, image.as_deref().unwrap_or_default());
    }

    fn answer(&self, call: u64, ending: Ending, image: &[u8]) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let frame = FromRunner::Reply { call, ending };
        if wire::write_frame(&mut *writer, &frame, image).is_err() {
            // Half a frame may be out: nothing that follows could be read. The reader sees the end.
            let _ = writer.shutdown(Shutdown::Both);
        }
    }

    fn cancel_all(&self) {
        for cancel in self.running().values() {
            cancel.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, Cancel>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rejected(kind: ActionKind, code: ErrorCode, message: &str) -> Ending {
    let is_effect = if kind.is_effect() { IsEffect::Yes } else { IsEffect::No };
    CallError::rejected(code, message, is_effect).into()
}

/// The end of a call whose thread panicked. The panic's own words are in the log.
fn broken(kind: ActionKind) -> Ending {
    if kind.is_effect() {
        let why = "The Runner failed while it acted";
        CallError::unknown(format!("{why}. Observe before anything is repeated."), Outcome::unknown(why, None)).into()
    } else {
        CallError::of_read(ErrorCode::Internal, "The Runner failed while it read. Its log says more.").into()
    }
}

fn stopped() -> Ending {
    let proof = Proof::AuthoritativeResponse("every running call was told to end".into());
    Ending { outcome: Outcome::completed(Verdict::confirmed(proof)), data: None, error: None, recovery_trace: None }
}

fn quit(shared: &Shared) -> Ending {
    if shared.life.quit() {
        let proof = Proof::AuthoritativeResponse("the Runner ends".into());
        Ending { outcome: Outcome::completed(Verdict::confirmed(proof)), data: None, error: None, recovery_trace: None }
    } else {
        CallError::rejected(ErrorCode::ClientOffline, "Other sessions use this Runner.", IsEffect::Yes).into()
    }
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
