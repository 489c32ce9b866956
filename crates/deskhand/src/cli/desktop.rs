//! `deskhand desktop`

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deskhand_contract::error::{CallError, ErrorCode, Exit, IsEffect};
use deskhand_linux::desktop::{
    self as private, Attached, DesktopName, DesktopRecord, DesktopState, Exit as ProgramExit, Owner, Size, StartOptions,
};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Surroundings, view};
use crate::providers::{desktop_places, supervisor_entry};

/// Start, list, watch and end private desktops: displays of their own, on which nothing of yours runs.
#[derive(Debug, clap::Args)]
pub(super) struct Desktop {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Start a private desktop.
    Start {
        /// Its size in pixels, 320x200 to 7680x4320.
        #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1920x1080")]
        size: String,
        /// Its name: a-z, 0-9 and -, at most 32; a free one by default.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// The X display's number; a free one by default.
        #[arg(long, value_name = "NUMBER")]
        display: Option<u16>,
        /// End the desktop when this process ends. Default: it lives until it is stopped.
        #[arg(long, value_name = "PID")]
        owner_pid: Option<u32>,
    },
    /// List the private desktops that run, and for an hour those that ended by themselves, with the reason.
    List,
    /// See a private desktop: in a browser, or as a PNG file.
    View {
        /// Its name.
        name: String,
        /// Write what it shows to this file, and end.
        #[arg(long, value_name = "FILE")]
        png: Option<PathBuf>,
    },
    /// Run a program on a private desktop, with this terminal's input and output, and end with its status.
    Exec {
        /// Its name.
        name: String,
        /// Do not wait: the program runs until it ends or the desktop does.
        #[arg(long)]
        detach: bool,
        /// The program and its arguments, after --. No shell reads them.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// End a private desktop and everything on it.
    Stop {
        /// Its name.
        name: String,
    },
    /// Be one of a private desktop's own processes. Started by `desktop start`.
    #[command(hide = true)]
    Supervise {
        /// Which one.
        role: OsString,
        /// The desktop's directory.
        directory: PathBuf,
    },
}

pub(super) fn run(surroundings: &Surroundings, desktop: Desktop) -> ExitCode {
    let begun = Instant::now();
    let (name, end) = match desktop.verb {
        Verb::Start { size, name, display, owner_pid } => {
            ("desktop.start", start(&size, name.as_deref(), display, owner_pid))
        }
        Verb::List => ("desktop.list", list()),
        Verb::View { name, png: Some(file) } => {
            ("desktop.view", ready(&name).and_then(|record| view::picture(&record, &file)))
        }
        Verb::View { name, png: None } => match ready(&name).and_then(|record| view::live(surroundings, &record)) {
            // It has said where to look already.
            Ok(exit) => return ExitCode::from(exit as u8),
            Err(error) => ("desktop.view", Err(error)),
        },
        Verb::Exec { name, detach: true, command } => ("desktop.exec", exec_detached(&name, command)),
        Verb::Exec { name, detach: false, command } => match exec_attached(&name, command) {
            // The program's output is the answer, its status the command's.
            Ok(status) => return status,
            Err(error) => ("desktop.exec", Err(error)),
        },
        Verb::Stop { name } => ("desktop.stop", stop(&name)),
        Verb::Supervise { role, directory } => {
            return private::run_supervisor(&supervisor_entry(), &role, &directory);
        }
    };
    let output = surroundings.output;
    let exit = match name {
        "desktop.list" | "desktop.view" => output.command(name, begun.elapsed(), end),
        _ => output.effect(name, begun.elapsed(), end),
    };
    ExitCode::from(exit as u8)
}

fn start(size: &str, name: Option<&str>, display: Option<u16>, owner_pid: Option<u32>) -> Result<Value, CallError> {
    let options = StartOptions {
        name: name.map(DesktopName::parse).transpose()?,
        size: Size::parse(size)?,
        display,
        owner: owner_pid.map_or(Owner::Nobody, Owner::Process),
        ..StartOptions::new(supervisor_entry())
    };
    Ok(shown(&private::start(&desktop_places(), &options)?.record))
}

fn list() -> Result<Value, CallError> {
    let records = private::list(&desktop_places())?;
    Ok(json!({ "desktops": records.iter().map(shown).collect::<Vec<_>>() }))
}

fn stop(name: &str) -> Result<Value, CallError> {
    let record = private::stop(&desktop_places(), &DesktopName::parse(name)?, STOPPING)?;
    let mut answer = json!({ "name": record.name.as_str(), "state": "stopped" });
    if record.state == DesktopState::Ended {
        answer["ended"] = json!(record.ended);
    }
    Ok(answer)
}

/// The desktop of that name, if it can be used.
fn ready(name: &str) -> Result<DesktopRecord, CallError> {
    Ok(private::find(&desktop_places(), &DesktopName::parse(name)?)?.ready()?)
}

fn exec_detached(name: &str, command: Vec<OsString>) -> Result<Value, CallError> {
    let record = ready(name)?;
    let process = private::exec_detached(&record, &program(command)?)?;
    Ok(json!({ "name": record.name.as_str(), "pid": process.pid }))
}

fn exec_attached(name: &str, command: Vec<OsString>) -> Result<ExitCode, CallError> {
    let record = ready(name)?;
    let streams = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let streams = [streams.0.as_fd(), streams.1.as_fd(), streams.2.as_fd()];
    let signals = Signals::catch().map_err(|error| {
        CallError::rejected(ErrorCode::Internal, format!("Signals cannot be caught: {error}."), IsEffect::No)
    })?;
    let attached = Arc::new(private::exec_attached(&record, &program(command)?, streams)?);
    signals.pass_to(Arc::clone(&attached));
    let status = match attached.wait()? {
        ProgramExit::Code(code) => code,
        // As shells say it.
        ProgramExit::Signal(signal) => 128 + signal,
    };
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(Exit::Internal as u8)))
}

fn program(argv: Vec<OsString>) -> Result<private::Command, CallError> {
    let directory = std::env::current_dir().map_err(|error| {
        let message = format!("The working directory cannot be used: {error}.");
        CallError::rejected(ErrorCode::InvalidRequest, message, IsEffect::No)
    })?;
    Ok(private::Command { argv, environment: std::env::vars_os().collect(), directory })
}

/// What a terminal sends to this process, caught for the program, which is in a session of its own.
struct Signals {
    runtime: tokio::runtime::Runtime,
    arrivals: Vec<(SignalKind, Signal)>,
}

impl Signals {
    /// From now on signals are kept.
    fn catch() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()];
        let catch = |kind| Ok::<_, std::io::Error>((kind, signal(kind)?));
        let entered = runtime.enter();
        let arrivals = kinds.into_iter().map(catch).collect::<Result<_, _>>()?;
        drop(entered);
        Ok(Self { runtime, arrivals })
    }

    /// Passes on those that came, and those that come.
    fn pass_to(self, attached: Arc<Attached>) {
        let passing = move || {
            self.runtime.block_on(async {
                let mut passing = tokio::task::JoinSet::new();
                for (kind, mut arrivals) in self.arrivals {
                    let attached = Arc::clone(&attached);
                    passing.spawn(async move {
                        while arrivals.recv().await.is_some() {
                            attached.signal(kind.as_raw_value());
                        }
                    });
                }
                passing.join_all().await;
            });
        };
        // Without the thread the program hears nothing, and ends when this process is killed.
        let _ = std::thread::Builder::new().name("signals".into()).spawn(passing);
    }
}

/// What is told of a desktop.
fn shown(record: &DesktopRecord) -> Value {
    let mut all = json!({
        "name": record.name.as_str(),
        "state": record.state.name(),
        "size": record.size.to_string(),
        "display": record.display_name(),
        "window_manager": record.window_manager,
        "started_at": started_at(record),
        "ready_ms": record.ready_ms,
        "owned": record.owner.is_some(),
    });
    if record.state == DesktopState::Ended {
        all["ended"] = json!(record.ended);
    }
    all
}

/// To the second, as RFC 3339 writes it.
fn started_at(record: &DesktopRecord) -> Option<String> {
    let seconds = i64::try_from(record.started_at / 1000).ok()?;
    jiff::Timestamp::from_second(seconds).ok().map(|time| time.to_string())
}

/// How long a desktop may take to end before it is killed.
const STOPPING: Duration = Duration::from_secs(10);
