//! Running a program inside a desktop, from the caller's side.

use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use super::children::Exit;
use super::control::PASSED;
use super::error::{DesktopError, Fault};
use super::process::ProcessIdentity;
use super::record::DesktopRecord;
use super::wire::{self, ExecAnswer, ExecOrder};

/// What to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program, looked for in `PATH`, and its arguments. No shell reads them.
    pub argv: Vec<OsString>,
    /// The environment to start from; what points to another session is replaced. `PATH` is read from it.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory.
    pub directory: PathBuf,
}

/// A program that runs inside and ends with its caller.
#[derive(Debug)]
pub struct Attached {
    process: ProcessIdentity,
    socket: UnixStream,
}

/// Starts a program that outlives the caller and ends with the desktop. Its standard streams are empty.
///
/// # Errors
/// [`Fault::ExecFailed`], [`Fault::BadCommand`], or why the desktop is not ready.
pub fn exec_detached(record: &DesktopRecord, command: &Command) -> Result<ProcessIdentity, DesktopError> {
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(|error| DesktopError::io("/dev/null cannot be opened", &error))?;
    exec_detached_with(record, command, [null.as_fd(); 3])
}

/// As [`exec_detached`], with these standard streams (input, output, error).
///
/// # Errors
/// As [`exec_detached`].
pub fn exec_detached_with(
    record: &DesktopRecord,
    command: &Command,
    streams: [BorrowedFd<'_>; 3],
) -> Result<ProcessIdentity, DesktopError> {
    let (process, _) = order(record, command, streams, Lifetime::Desktop)?;
    Ok(process)
}

/// Starts a program with these standard streams (input, output, error). It is told to hang up when the returned value is
/// dropped or its holder ends.
///
/// # Errors
/// As [`exec_detached`].
pub fn exec_attached(
    record: &DesktopRecord,
    command: &Command,
    streams: [BorrowedFd<'_>; 3],
) -> Result<Attached, DesktopError> {
    let (process, socket) = order(record, command, streams, Lifetime::Caller)?;
    Ok(Attached { process, socket })
}

impl Attached {
    /// The program's process.
    #[must_use]
    pub fn process(&self) -> ProcessIdentity {
        self.process
    }

    /// Passes a signal on to the program's process group, if it is one that terminals send.
    pub fn signal(&self, number: i32) {
        if PASSED.iter().any(|signal| signal.as_raw() == number)
            && let Ok(number) = u8::try_from(number)
        {
            let _ = io::Write::write_all(&mut &self.socket, &[number]);
        }
    }

    /// Waits for its end, however long that takes.
    ///
    /// # Errors
    /// [`Fault::Ended`] where the desktop ended first.
    pub fn wait(&self) -> Result<Exit, DesktopError> {
        match wire::receive(&self.socket) {
            Ok(ExecAnswer::Ended(exit)) => Ok(exit),
            _ => Err(DesktopError::new(Fault::Ended, "The desktop ended, and the program with it.")),
        }
    }
}

enum Lifetime {
    Desktop,
    Caller,
}

fn order(
    record: &DesktopRecord,
    command: &Command,
    streams: [BorrowedFd<'_>; 3],
    lifetime: Lifetime,
) -> Result<(ProcessIdentity, UnixStream), DesktopError> {
    let record = record.clone().ready()?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidInput => DesktopError::new(Fault::BadCommand, format!("{error}.")),
        _ => DesktopError::new(Fault::NotReady, format!("The desktop's supervisor cannot be reached: {error}."))
            .fix("deskhand desktop list"),
    };
    let order = ExecOrder {
        argv: command.argv.clone(),
        environment: command.environment.clone(),
        directory: command.directory.clone(),
        attached: matches!(lifetime, Lifetime::Caller),
    };
    let frame = wire::encode(&order).map_err(failed)?;
    let socket = UnixStream::connect(record.control_socket()).map_err(failed)?;
    socket.set_read_timeout(Some(ANSWER_PATIENCE)).map_err(failed)?;
    socket.set_write_timeout(Some(ANSWER_PATIENCE)).map_err(failed)?;
    send_with(&socket, &frame, streams).map_err(failed)?;
    match wire::receive(&socket).map_err(failed)? {
        ExecAnswer::Started(process) => {
            socket.set_read_timeout(None).map_err(failed)?;
            Ok((process, socket))
        }
        ExecAnswer::Failed(failure) => Err(failure.into()),
        ExecAnswer::Ended(_) => Err(DesktopError::new(Fault::System, "The supervisor answered out of turn.")),
    }
}

fn send_with(socket: &UnixStream, frame: &[u8], streams: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&streams)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(frame)], &mut control, SendFlags::NOSIGNAL)?;
    io::Write::write_all(&mut &*socket, &frame[sent..])
}

const ANSWER_PATIENCE: Duration = Duration::from_secs(15);
