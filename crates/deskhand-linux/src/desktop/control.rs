//! The supervisor's socket: through it programs are started inside, as descendants of the supervisor, so that they end
//! with the desktop whatever they do.

use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_local;

use super::children::{Child, Children, Exit, Spawn};
use super::error::{DesktopError, Fault};
use super::process::{ProcessIdentity, program_in, raw};
use super::record::DesktopRecord;
use super::wire::{self, ExecAnswer, ExecOrder};
use super::{environment, home};

/// Listens from now on.
pub(super) fn serve(record: &DesktopRecord, children: &Children) -> Result<(), DesktopError> {
    let listener = UnixListener::bind(record.control_socket())
        .map_err(|error| DesktopError::io("The supervisor's socket cannot be made", &error))?;
    let (record, children) = (record.clone(), children.clone());
    spawn_local(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) if ours(&stream) => {
                    let (record, children) = (record.clone(), children.clone());
                    spawn_local(async move { drop(answer(stream, &record, &children).await) });
                }
                Ok(_) => {}
                // Out of descriptors: try again when some are free.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    });
    Ok(())
}

/// The directory is closed to others already; this holds also where it was opened by mistake.
fn ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

async fn answer(mut stream: UnixStream, record: &DesktopRecord, children: &Children) -> io::Result<()> {
    let (order, streams) = tokio::time::timeout(ORDER_PATIENCE, receive(&mut stream)).await??;
    let attached = order.attached;
    let child = match start(order, streams, record, children) {
        Ok(child) => child,
        Err(error) => return stream.write_all(&wire::encode(&ExecAnswer::Failed(error.into()))?).await,
    };
    let process = ProcessIdentity::of(child.pid).unwrap_or(ProcessIdentity { pid: child.pid, start_time: 0 });
    stream.write_all(&wire::encode(&ExecAnswer::Started(process))?).await?;
    if !attached {
        return Ok(());
    }
    attend(stream, child).await
}

/// Passes signals on until the program ends; one whose caller is gone is told that its terminal is gone.
async fn attend(mut stream: UnixStream, mut child: Child) -> io::Result<()> {
    let group = raw(child.pid);
    let signal = |signal: Signal| {
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    };
    loop {
        tokio::select! {
            exit = &mut child.end => {
                let exit = exit.unwrap_or(Exit::Signal(Signal::KILL.as_raw()));
                return stream.write_all(&wire::encode(&ExecAnswer::Ended(exit))?).await;
            }
            number = stream.read_u8() => match number {
                Ok(number) => {
                    if let Some(passed) = PASSED.iter().find(|signal| signal.as_raw() == i32::from(number)) {
                        signal(*passed);
                    }
                }
                Err(_) => {
                    signal(Signal::HUP);
                    if tokio::time::timeout(HANGUP_PATIENCE, &mut child.end).await.is_err() {
                        signal(Signal::KILL);
                    }
                    return Ok(());
                }
            }
        }
    }
}

fn start(
    order: ExecOrder,
    streams: Vec<OwnedFd>,
    record: &DesktopRecord,
    children: &Children,
) -> Result<Child, DesktopError> {
    let bad = |why: &str| DesktopError::new(Fault::BadCommand, why.to_owned());
    let streams: [OwnedFd; 3] = streams.try_into().map_err(|_| bad("Three standard streams are needed."))?;
    let mut argv = order.argv.into_iter();
    let name = argv.next().filter(|name| !name.is_empty()).ok_or_else(|| bad("No program was given."))?;
    if !order.directory.is_dir() {
        return Err(bad(&format!("The directory {} is not there.", order.directory.display())));
    }
    let environment = environment::whole(record, &order.environment);
    let path = environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let program = home::starter(&record.home, &name).or_else(|| find(&name, &path.unwrap_or_default()));
    let program = program.ok_or_else(|| {
        DesktopError::new(Fault::ExecFailed, format!("There is no program {} in PATH.", name.to_string_lossy()))
            .fix("install it, or give its whole path")
    })?;
    let spawned = children.spawn(Spawn {
        program: &program,
        called: &name,
        arguments: argv.collect(),
        environment: &environment,
        directory: &order.directory,
        stdio: streams.map(Stdio::from),
    });
    spawned.map_err(|error| DesktopError {
        fault: Fault::ExecFailed,
        ..DesktopError::io(&format!("{} cannot be started", program.to_string_lossy()), &error)
    })
}

fn find(name: &OsString, path: &OsString) -> Option<OsString> {
    if name.to_string_lossy().contains('/') {
        return Some(name.clone());
    }
    program_in(path, name.to_str()?).map(Into::into)
}

/// One order and the descriptors that came with its first byte.
async fn receive(stream: &mut UnixStream) -> io::Result<(ExecOrder, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let mut streams = Vec::new();
    let first = loop {
        stream.readable().await?;
        let received =
            stream.try_io(Interest::READABLE, || receive_with_descriptors(stream, &mut length, &mut streams));
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    stream.read_exact(&mut length[first..]).await?;
    let mut body = vec![0; wire::bounded(length)?];
    stream.read_exact(&mut body).await?;
    Ok((serde_json::from_slice(&body)?, streams))
}

fn receive_with_descriptors(stream: &UnixStream, bytes: &mut [u8], into: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(stream, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            into.extend(descriptors);
        }
    }
    Ok(received.bytes)
}

/// The signals that a caller's terminal may pass on.
pub(super) const PASSED: &[Signal] =
    &[Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];
const ORDER_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
const HANGUP_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
