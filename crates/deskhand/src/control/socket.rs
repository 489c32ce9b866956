//! A link over a Unix socket: one connection to the Runner of this machine's desktop.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskhand_contract::action::ActionKind;
use deskhand_contract::error::{CallError, ErrorCode, IsEffect};
use deskhand_contract::reply::Target;
use deskhand_contract::wire::{self, FromRunner, Mode, PROTOCOL, ToRunner};

use super::link::{Answer, Ask, CallNumber, Done, Link, lost};

/// How long the Runner may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long a frame may wait for a Runner that does not read.
const SENDING: Duration = Duration::from_secs(5);

/// A connection to a Runner.
pub(crate) struct SocketLink {
    shared: Arc<Shared>,
    target: Target,
}

struct Shared {
    writer: Mutex<UnixStream>,
    waiting: Mutex<Waiting>,
    next: AtomicU64,
    open: AtomicBool,
}

type Waiting = HashMap<u64, (Option<ActionKind>, Done)>;

/// Why a Runner was not reached.
#[derive(Debug)]
pub(crate) enum Missed {
    /// Nobody listens there, or it ended while it was greeted.
    Nobody,
    /// Another version listens there and does not speak with this one; the text is its own.
    Foreign(String),
    /// Something else is wrong.
    Io(io::Error),
}

impl SocketLink {
    /// Greets the Runner at `path`.
    ///
    /// # Errors
    /// As [`Missed`] says. Nothing but a greeting was sent.
    pub(crate) fn connect(path: &Path, session: Option<&str>, mode: Mode) -> Result<Self, Missed> {
        let stream = UnixStream::connect(path).map_err(missed)?;
        stream.set_read_timeout(Some(GREETING)).map_err(Missed::Io)?;
        stream.set_write_timeout(Some(SENDING)).map_err(Missed::Io)?;
        let hello = ToRunner::Hello { protocol: PROTOCOL, session: session.map(str::to_owned), mode };
        let mut writer = stream.try_clone().map_err(Missed::Io)?;
        wire::write_frame(&mut writer, &hello, &[]).map_err(missed)?;
        let mut reader = BufReader::new(stream);
        match wire::read_frame::<FromRunner>(&mut reader).map_err(missed)? {
            Some((FromRunner::Welcome { protocol: PROTOCOL, target, .. }, _)) => {
                reader.get_ref().set_read_timeout(None).map_err(Missed::Io)?;
                let shared = Arc::new(Shared {
                    writer: Mutex::new(writer),
                    waiting: Mutex::new(HashMap::new()),
                    next: AtomicU64::new(1),
                    open: AtomicBool::new(true),
                });
                let listener = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name("link".into())
                    .spawn(move || listener.listen(reader))
                    .map_err(Missed::Io)?;
                Ok(Self { shared, target })
            }
            Some((FromRunner::Welcome { version, .. }, _)) => {
                Err(Missed::Foreign(format!("the Runner is of version {version} and speaks another protocol")))
            }
            Some((FromRunner::Rejected { message }, _)) => Err(Missed::Foreign(message)),
            Some((FromRunner::Reply { .. }, _)) => Err(Missed::Foreign("the Runner answered out of turn".into())),
            None => Err(Missed::Nobody),
        }
    }
}

impl Link for SocketLink {
    fn target(&self) -> &Target {
        &self.target
    }

    fn call(&self, ask: Ask, done: Done) -> CallNumber {
        let time_ms = u32::try_from(ask.time.as_millis()).unwrap_or(u32::MAX);
        self.shared.send(Some(ask.kind), done, |call| ToRunner::Call {
            call,
            action: ask.kind.name().to_owned(),
            arguments: ask.arguments,
            time_ms,
        })
    }

    fn cancel(&self, call: CallNumber) {
        // A link that cannot carry this has broken, and then its end answers the call.
        let _ = self.shared.write(&ToRunner::Cancel { call: call.0 });
    }

    fn stop(&self, done: Done) {
        self.shared.send(None, done, |call| ToRunner::Stop { call });
    }

    fn is_open(&self) -> bool {
        self.shared.open.load(Ordering::Acquire)
    }
}

impl Drop for SocketLink {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    fn send(&self, kind: Option<ActionKind>, done: Done, frame: impl FnOnce(u64) -> ToRunner) -> CallNumber {
        let call = self.next.fetch_add(1, Ordering::Relaxed);
        self.waiting().insert(call, (kind, done));
        // Entered before the check: whoever closes the link after it finds the call and ends it.
        if !self.open.load(Ordering::Acquire) || self.write(&frame(call)).is_err() {
            self.close();
            self.end_all();
        }
        CallNumber(call)
    }

    fn write(&self, frame: &ToRunner) -> io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        wire::write_frame(&mut *writer, frame, &[])
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes answers until the connection ends, then ends every call that still waits.
    fn listen(&self, mut reader: BufReader<UnixStream>) {
        while let Ok(Some((FromRunner::Reply { call, ending }, image))) = wire::read_frame::<FromRunner>(&mut reader) {
            let waiting = self.waiting().remove(&call);
            if let Some((_, done)) = waiting {
                done(Answer { ending, image });
            }
        }
        self.close();
        self.end_all();
    }

    fn close(&self) {
        self.open.store(false, Ordering::Release);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Already shut is as good.
        let _ = writer.shutdown(Shutdown::Both);
    }

    fn end_all(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        for (_, (kind, done)) in waiting {
            done(match kind {
                Some(kind) => lost(kind, "The Runner ended before it answered"),
                None => {
                    CallError::rejected(ErrorCode::ClientOffline, "The Runner ended before it answered.", IsEffect::No)
                        .into()
                }
            });
        }
    }
}

fn missed(error: io::Error) -> Missed {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound | Kind::ConnectionRefused | Kind::ConnectionReset | Kind::BrokenPipe | Kind::UnexpectedEof => {
            Missed::Nobody
        }
        Kind::InvalidData => Missed::Foreign("the Runner's answer is not understood".into()),
        Kind::WouldBlock | Kind::TimedOut => Missed::Io(io::Error::new(Kind::TimedOut, "it does not answer")),
        _ => Missed::Io(error),
    }
}
