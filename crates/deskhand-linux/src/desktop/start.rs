//! Starting a desktop, from the caller's side.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::ending::{self, Grace, Standing};
use super::error::{DesktopError, Fault};
use super::keeper::KEEPER;
use super::log;
use super::option::{Owner, StartOptions};
use super::places::Places;
use super::process::ProcessIdentity;
use super::record::DesktopRecord;
use super::registry;
use super::requirement::Programs;
use super::wire::{self, Orders, OwnerWire, StartAnswer};

/// A desktop that was started.
#[derive(Debug)]
pub struct Started {
    /// What is known about it.
    pub record: DesktopRecord,
    /// With [`Owner::Caller`]: what keeps it alive.
    pub lease: Option<Lease>,
}

/// Keeps a desktop alive: it ends when this is dropped, or when the process that holds it ends, however that happens.
#[derive(Debug)]
pub struct Lease(#[expect(dead_code, reason = "its being open is the point")] UnixStream);

/// Starts a desktop and returns when it is usable: display, window manager, session bus and accessibility bus.
///
/// # Errors
/// Each with what is wrong and what mends it; nothing of the attempt is left then.
pub fn start(places: &Places, options: &StartOptions) -> Result<Started, DesktopError> {
    let begun = Instant::now();
    Programs::find(places)?;
    places.check_x11_sockets()?;
    let owner = owner(options.owner)?;
    if let Some(number) = options.display {
        check_display(places, number)?;
    }
    let record = registry::claim(places, options.name.as_ref(), options.size)?;
    let started = launch(places, options, owner, &record, begun);
    started.inspect_err(|_| {
        // The keeper has cleared up where it ran; this covers a keeper that never did.
        if let Some(left) = DesktopRecord::read(&record.directory).filter(|left| left.id == record.id)
            && left.keeper.is_none_or(|keeper| !keeper.alive())
        {
            ending::clear(&left, Standing::Visitor, Grace::None);
        }
    })
}

fn launch(
    places: &Places,
    options: &StartOptions,
    owner: OwnerWire,
    record: &DesktopRecord,
    begun: Instant,
) -> Result<Started, DesktopError> {
    let system = |error: std::io::Error| DesktopError::io("The desktop's supervisor cannot be started", &error);
    let (ours, theirs) = UnixStream::pair().map_err(system)?;
    let mut command = Command::new(&options.entry.program);
    command.args(&options.entry.leading).arg(KEEPER).arg(&record.directory);
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
    let mut keeper = command.spawn().map_err(system)?;
    // It holds the other end: while it did, the keeper's death would not be noticed.
    drop(command);
    let orders = Orders {
        owner,
        display: options.display,
        environment: places.environment.clone(),
        x11_sockets: places.x11_sockets.clone(),
        scratch: places.scratch.clone(),
        deadline_ms: u64::try_from(options.deadline.as_millis()).unwrap_or(u64::MAX),
    };
    let answer = exchange(&ours, &orders, options, begun);
    match answer {
        Ok(StartAnswer::Ready(record)) => {
            reap_later(keeper);
            let lease = (options.owner == Owner::Caller).then_some(Lease(ours));
            Ok(Started { record: *record, lease })
        }
        Ok(StartAnswer::Failed(failure)) => {
            reap_later(keeper);
            Err(failure.into())
        }
        Err(error) => {
            // The keeper's death makes the supervisor end everything, if there is one.
            let _ = keeper.kill();
            let _ = keeper.wait();
            let timed_out = matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
            Err(lost(record, timed_out))
        }
    }
}

fn exchange(
    socket: &UnixStream,
    orders: &Orders,
    options: &StartOptions,
    begun: Instant,
) -> std::io::Result<StartAnswer> {
    // The supervisor keeps the deadline itself; this one is for a supervisor that hangs.
    let left = (options.deadline + SLACK).saturating_sub(begun.elapsed());
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))?;
    wire::send(socket, orders)?;
    wire::receive(socket)
}

fn lost(record: &DesktopRecord, timed_out: bool) -> DesktopError {
    let tail = log::tail(&record.log());
    let log = if tail.is_empty() { String::new() } else { format!(" The log ends: {tail}") };
    if timed_out {
        return DesktopError::new(Fault::TimedOut, format!("The desktop's supervisor did not answer in time.{log}"));
    }
    DesktopError::new(Fault::StartFailed, format!("The desktop's supervisor ended while it was starting.{log}"))
}

fn owner(owner: Owner) -> Result<OwnerWire, DesktopError> {
    match owner {
        Owner::Nobody => Ok(OwnerWire::Nobody),
        Owner::Caller => Ok(OwnerWire::Caller),
        Owner::Process(pid) => {
            ProcessIdentity::of(pid).filter(|process| process.alive()).map(OwnerWire::Process).ok_or(
                DesktopError::new(Fault::BadCommand, format!("There is no process {pid} that could own the desktop."))
                    .fix("give the id of a running process, or leave the owner out"),
            )
        }
    }
}

fn check_display(places: &Places, number: u16) -> Result<(), DesktopError> {
    let socket = places.x11_sockets.join(format!("X{number}"));
    let lock = std::path::PathBuf::from(format!("/tmp/.X{number}-lock"));
    let holder = std::fs::read_to_string(&lock).ok().and_then(|text| text.trim().parse().ok());
    let held = holder.and_then(ProcessIdentity::of).is_some_and(ProcessIdentity::alive);
    if held || UnixStream::connect(&socket).is_ok() {
        return Err(DesktopError::new(Fault::DisplayTaken, format!("The X display :{number} is taken."))
            .fix("leave the display number out: a free one is chosen"));
    }
    Ok(())
}

/// A caller that lives on must not keep a zombie of the keeper.
fn reap_later(mut keeper: std::process::Child) {
    std::thread::spawn(move || {
        let _ = keeper.wait();
    });
}

const SLACK: std::time::Duration = std::time::Duration::from_secs(3);
