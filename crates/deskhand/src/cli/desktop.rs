//! `deskhand desktop`

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use deskhand_contract::error::{CallError, ErrorCode, IsEffect};

use super::Surroundings;
use crate::providers;

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
        /// Its size in pixels.
        #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1920x1080")]
        size: String,
        /// Its name; a free one by default.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// List the private desktops that run.
    List,
    /// See a private desktop: in a browser, or as a PNG file.
    View {
        /// Its name.
        name: String,
        /// Write what it shows to this file, and end.
        #[arg(long, value_name = "FILE")]
        png: Option<PathBuf>,
    },
    /// Run a program on a private desktop.
    Exec {
        /// Its name.
        name: String,
        /// The program and its arguments, after --.
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
    let name = match desktop.verb {
        Verb::Start { .. } => "desktop.start",
        Verb::List => "desktop.list",
        Verb::View { .. } => "desktop.view",
        Verb::Exec { .. } => "desktop.exec",
        Verb::Stop { .. } => "desktop.stop",
        Verb::Supervise { role, directory } => {
            return deskhand_linux::desktop::run_supervisor(&providers::supervisor_entry(), &role, &directory);
        }
    };
    let error = CallError::rejected(ErrorCode::ComputerPlatformUnsupported, "Not laid yet.", IsEffect::No);
    ExitCode::from(surroundings.output.command(name, std::time::Duration::ZERO, Err(error)) as u8)
}
