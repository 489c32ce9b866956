//! The supervisor: starts the parts of one desktop, owns them, runs what is to run inside, and ends everything when it is
//! told to, when its owner ends, or when a part dies.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::PidfdFlags;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};

use super::children::{Child, Children, Spawn, part_stdio};
use super::ending::{self, Grace, Standing};
use super::error::{DesktopError, Fault};
use super::places::{Places, private_directory};
use super::process::{ProcessIdentity, raw};
use super::record::{DesktopRecord, DesktopState, Part, PartRole, SocketFile};
use super::requirement::{Programs, data_folders};
use super::wire::{self, Orders, OwnerWire, StartAnswer};
use super::xauthority::Cookie;
use super::{control, environment, home, log, part, registry, sys};

/// Why a desktop ends.
#[derive(Debug)]
pub(super) enum End {
    /// It was told to.
    Asked,
    /// Its owner ended.
    Owner,
    /// By itself: what died, and the reason in words.
    Broken(Dead, String),
}

/// What a desktop cannot live without, causes before effects: the death of one ends those that stand on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dead {
    Keeper,
    Part(PartRole),
}

/// Runs the supervisor of the desktop in that directory until the desktop is over.
pub(super) fn supervise(directory: &Path) -> ExitCode {
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_child_subreaper(raw(std::process::id()));
    let Some(record) = DesktopRecord::read(directory) else { return ExitCode::FAILURE };
    let Ok(starter) = rustix::io::dup(io::stdin()).map(UnixStream::from) else { return ExitCode::FAILURE };
    let Ok(orders) = wire::receive::<Orders>(&starter) else { return ExitCode::FAILURE };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    LocalSet::new().block_on(&runtime, live(record, orders, starter))
}

async fn live(mut record: DesktopRecord, orders: Orders, starter: UnixStream) -> ExitCode {
    let (ends, mut ended) = unbounded_channel();
    let children = Children::default();
    record.supervisor = Some(ProcessIdentity::own());
    record.owner = match orders.owner {
        OwnerWire::Nobody => None,
        OwnerWire::Process(owner) => Some(owner),
        OwnerWire::Caller => Some(record.starter),
    };
    let watched = watch_signals(&children, &ends).and_then(|()| watch_others(&record, &orders, &starter, &ends));
    if watched.is_err() || record.write().is_err() {
        return ExitCode::FAILURE;
    }
    let mut desktop = Desktop { record, orders, children, ends };
    let started = tokio::select! {
        started = desktop.bring_up() => started,
        end = next(&mut ended) => Err(interrupted(end)),
    };
    if let Err(error) = started {
        let error = DesktopError { message: with_log(error.message, &desktop.record), ..error };
        ending::clear(&desktop.record, Standing::Reaper, Grace::None);
        let _ = wire::send(&starter, &StartAnswer::Failed(error.into()));
        return ExitCode::FAILURE;
    }
    let _ = wire::send(&starter, &StartAnswer::Ready(Box::new(desktop.record.clone())));
    let end = next(&mut ended).await;
    let end = cause(end, &mut ended, &desktop.record).await;
    let grace = match &end {
        End::Asked | End::Owner => Grace::Asked(CLOSING_PATIENCE),
        End::Broken(..) => Grace::None,
    };
    if let End::Broken(_, why) = &end {
        registry::remember(&desktop.record, why);
    }
    ending::clear(&desktop.record, Standing::Reaper, grace);
    ExitCode::SUCCESS
}

struct Desktop {
    record: DesktopRecord,
    orders: Orders,
    children: Children,
    ends: UnboundedSender<End>,
}

impl Desktop {
    /// Starts the parts, as much as possible at the same time, and returns when the desktop is usable.
    async fn bring_up(&mut self) -> Result<(), DesktopError> {
        let begun = Instant::now();
        let deadline = begun + Duration::from_millis(self.orders.deadline_ms);
        tokio::time::timeout_at(deadline.into(), self.bring_up_parts(deadline)).await.unwrap_or_else(|_| {
            Err(DesktopError::new(Fault::TimedOut, "The desktop did not come up in time; its parts were ended again."))
        })?;
        self.record.ready_ms = Some(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        self.record.state = DesktopState::Ready;
        self.record.write()
    }

    async fn bring_up_parts(&mut self, deadline: Instant) -> Result<(), DesktopError> {
        let places = Places {
            runtime: self.record.runtime.clone(),
            scratch: self.orders.scratch.clone(),
            x11_sockets: self.orders.x11_sockets.clone(),
            environment: std::mem::take(&mut self.orders.environment),
        };
        let programs = Programs::find(&places)?;
        private_directory(&self.record.runtime_directory())?;
        let log = log::open(&self.record.log())?;

        let cookie = Cookie::new()?;
        let display = self.start_display(&programs, &places, &cookie, &log)?;
        let session_bus = self.start_session_bus(&programs, &places, &log)?;
        // While those two start:
        home::prepare(&self.record.home, places.search_path(), &data_folders(&places))
            .map_err(|error| DesktopError::io("The desktop's home cannot be made", &error))?;

        let address = part::first_line(session_bus).await;
        self.record.session_bus = Some(address.map_err(|_| self.mute("The session bus"))?);
        let number = part::first_line(display).await.ok().and_then(|line| line.parse().ok());
        let number: u16 = number.ok_or_else(|| self.mute("The X server"))?;
        self.record.display = Some(number);
        self.record.display_socket = SocketFile::at(places.x11_sockets.join(format!("X{number}")));
        cookie.write(&self.record.xauthority(), Some(number))?;
        self.record.write()?;

        self.start_window_manager(&programs, &places, &log)?;
        self.start_accessibility(&programs, &places, &log)?;
        let (managed, accessibility) = tokio::join!(
            self.window_manager_ready(deadline),
            part::await_accessibility(self.record.session_bus.as_deref().unwrap_or_default()),
        );
        managed?;
        let accessibility = accessibility?;
        self.record.accessibility_bus = Some(accessibility.address);
        if let Some(process) = accessibility.pid.and_then(ProcessIdentity::of) {
            self.note(PartRole::AccessibilityBus, "the accessibility bus", process);
            let dead = Dead::Part(PartRole::AccessibilityBus);
            watch_process(process, &self.ends, move || End::Broken(dead, "the accessibility bus was ended".into()));
        }
        control::serve(&self.record, &self.children)
    }

    fn start_display(
        &mut self,
        programs: &Programs,
        places: &Places,
        cookie: &Cookie,
        log: &OwnedFd,
    ) -> Result<OwnedFd, DesktopError> {
        let xauthority = self.record.xauthority();
        cookie.write(&xauthority, None)?;
        let server = &programs.display_server;
        let arguments =
            part::display_arguments(server, self.record.size, self.orders.display, &xauthority, &self.record.directory);
        self.start_part(PartRole::DisplayServer, server.program(), arguments, places, Output::Read, log)
            .map(|output| output.expect("it was asked for"))
    }

    fn start_session_bus(
        &mut self,
        programs: &Programs,
        places: &Places,
        log: &OwnedFd,
    ) -> Result<OwnedFd, DesktopError> {
        let configuration = self.record.directory.join("bus.conf");
        let text = part::session_bus_configuration(&self.record.directory.join("bus"));
        std::fs::write(&configuration, text)
            .map_err(|error| DesktopError::io("The session bus cannot be configured", &error))?;
        let arguments = ["--config-file".into(), configuration.into(), "--nofork".into()];
        let arguments = arguments.into_iter().chain(["--nopidfile".into(), "--print-address=1".into()]).collect();
        self.start_part(PartRole::SessionBus, &programs.session_bus, arguments, places, Output::Read, log)
            .map(|output| output.expect("it was asked for"))
    }

    fn start_window_manager(
        &mut self,
        programs: &Programs,
        places: &Places,
        log: &OwnedFd,
    ) -> Result<(), DesktopError> {
        let Some(program) = &programs.window_manager else { return Ok(()) };
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let arguments = if name == "openbox" { vec!["--sm-disable".into()] } else { Vec::new() };
        self.record.window_manager = Some(name);
        self.start_part(PartRole::WindowManager, program, arguments, places, Output::Ignored, log).map(drop)
    }

    async fn window_manager_ready(&self, deadline: Instant) -> Result<(), DesktopError> {
        if self.record.window_manager.is_none() {
            return Ok(());
        }
        let display = self.record.display_name().unwrap_or_default();
        let cookie = self.record.xauthority();
        let wait = move || part::await_window_manager(&display, &cookie, deadline);
        let waited = tokio::task::spawn_blocking(wait).await;
        waited.unwrap_or_else(|_| Err(DesktopError::new(Fault::System, "The wait for the window manager broke off.")))
    }

    fn start_accessibility(&mut self, programs: &Programs, places: &Places, log: &OwnedFd) -> Result<(), DesktopError> {
        let arguments = vec!["--launch-immediately".into()];
        let program = &programs.accessibility_launcher;
        self.start_part(PartRole::AccessibilityLauncher, program, arguments, places, Output::Ignored, log).map(drop)
    }

    /// Starts a part and has the desktop end with it.
    fn start_part(
        &mut self,
        role: PartRole,
        program: &Path,
        arguments: Vec<std::ffi::OsString>,
        places: &Places,
        output: Output,
        log: &OwnedFd,
    ) -> Result<Option<OwnedFd>, DesktopError> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |error: io::Error| DesktopError::io(&format!("{name} cannot be started"), &error);
        let (reader, writer) = match output {
            Output::Read => {
                std::io::pipe().map(|(read, write)| (Some(read.into()), Some(write.into()))).map_err(failed)?
            }
            Output::Ignored => (None, None),
        };
        let child = self.children.spawn(Spawn {
            program: program.as_os_str(),
            called: program.as_os_str(),
            arguments,
            environment: &environment::for_parts(&self.record, &places.environment),
            directory: &PathBuf::from("/"),
            stdio: part_stdio(writer, log).map_err(failed)?,
        });
        let Child { pid, end } = child.map_err(failed)?;
        if let Some(process) = ProcessIdentity::of(pid) {
            self.note(role, &name, process);
        }
        let ends = self.ends.clone();
        spawn_local(async move {
            if let Ok(exit) = end.await {
                let _ = ends.send(End::Broken(Dead::Part(role), format!("{name} {exit}")));
            }
        });
        Ok(reader)
    }

    fn note(&mut self, role: PartRole, program: &str, process: ProcessIdentity) {
        self.record.parts.push(Part { role, program: program.to_owned(), process });
        // Before anything else happens: whoever has to clear up after us finds it by this line.
        let _ = self.record.write();
    }

    fn mute(&self, what: &str) -> DesktopError {
        let taken = self.orders.display.filter(|number| PathBuf::from(format!("/tmp/.X{number}-lock")).exists());
        match taken {
            Some(number) if what == "The X server" => {
                DesktopError::new(Fault::DisplayTaken, format!("The X display :{number} is taken."))
                    .fix("leave the display number out: a free one is chosen")
            }
            _ => DesktopError::new(Fault::StartFailed, format!("{what} ended before it was ready.")),
        }
    }
}

enum Output {
    Read,
    Ignored,
}

fn watch_signals(children: &Children, ends: &UnboundedSender<End>) -> io::Result<()> {
    let mut child = signal(SignalKind::child())?;
    let children = children.clone();
    spawn_local(async move {
        while child.recv().await.is_some() {
            children.reap();
        }
    });
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut asked = signal(kind)?;
        let ends = ends.clone();
        spawn_local(async move {
            while asked.recv().await.is_some() {
                let _ = ends.send(End::Asked);
            }
        });
    }
    Ok(())
}

fn watch_others(
    record: &DesktopRecord,
    orders: &Orders,
    starter: &UnixStream,
    ends: &UnboundedSender<End>,
) -> io::Result<()> {
    if let Some(keeper) = record.keeper {
        watch_process(keeper, ends, || End::Broken(Dead::Keeper, "its keeper was killed".into()));
    }
    match orders.owner {
        OwnerWire::Nobody => {}
        OwnerWire::Process(owner) => watch_process(owner, ends, || End::Owner),
        OwnerWire::Caller => {
            let socket = sys::readable(starter.try_clone()?.into())?;
            let ends = ends.clone();
            spawn_local(async move {
                // The caller says nothing more: readable means that its end is closed.
                let _ = socket.readable().await;
                let _ = ends.send(End::Owner);
            });
        }
    }
    Ok(())
}

/// Reports the end of a process that need not be a child.
fn watch_process(process: ProcessIdentity, ends: &UnboundedSender<End>, end: impl FnOnce() -> End + 'static) {
    let handle = raw(process.pid).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    let ends = ends.clone();
    spawn_local(async move {
        if let Some(handle) = handle.filter(|_| process.alive())
            && let Ok(handle) = sys::readable(handle)
        {
            let _ = handle.readable().await;
        }
        let _ = ends.send(end());
    });
}

async fn next(ended: &mut UnboundedReceiver<End>) -> End {
    ended.recv().await.unwrap_or(End::Asked)
}

/// Parts that stand on a dead one die with it, and may be noticed first: a killed process closes its sockets before it
/// counts as dead. The cause is the first dead in the order of [`Dead`]: this looks for a moment who is dead, and waits
/// longer for the word on one that is.
async fn cause(first: End, ended: &mut UnboundedReceiver<End>, record: &DesktopRecord) -> End {
    let End::Broken(mut known, mut why) = first else { return first };
    let begun = tokio::time::Instant::now();
    loop {
        let keeper_dead = record.keeper.is_some_and(|keeper| !keeper.alive());
        let parts = record.parts.iter().filter(|part| !part.process.alive()).map(|part| Dead::Part(part.role));
        let cause = keeper_dead.then_some(Dead::Keeper).into_iter().chain(parts).min();
        let until = begun + if cause.is_some_and(|cause| cause < known) { SETTLING } else { NOTICING };
        let step = until.min(tokio::time::Instant::now() + NOTICING / 4);
        match tokio::time::timeout_at(step, next(ended)).await {
            Ok(End::Broken(dead, words)) if dead < known => (known, why) = (dead, words),
            Ok(_) => {}
            Err(_) if tokio::time::Instant::now() >= until => return End::Broken(known, why),
            Err(_) => {}
        }
    }
}

fn interrupted(end: End) -> DesktopError {
    let why = match end {
        End::Asked => "it was told to stop".to_owned(),
        End::Owner => "its owner ended".to_owned(),
        End::Broken(_, why) => why,
    };
    DesktopError::new(Fault::StartFailed, format!("The desktop ended while it was starting: {why}."))
}

fn with_log(message: String, record: &DesktopRecord) -> String {
    match &*log::tail(&record.log()) {
        "" => message,
        tail => format!("{message} The log ends: {tail}"),
    }
}

/// How long it is looked who else is dead.
const NOTICING: Duration = Duration::from_millis(100);
/// How long the word on a cause that is known to be dead is waited for: a busy machine may take its time to collect it.
const SETTLING: Duration = Duration::from_secs(2);

/// How long applications may take to close when a desktop is stopped.
const CLOSING_PATIENCE: Duration = Duration::from_millis(700);
