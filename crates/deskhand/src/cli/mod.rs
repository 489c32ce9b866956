//! The command line. One file a command; its doc comment is its help.
//!
//! Everything that reaches a terminal or a pipe is written in [`output`]; nothing else prints.

mod action;
mod completions;
mod control;
mod desktop;
mod doctor;
mod mcp;
mod observe;
mod output;
mod runner;
mod stop;
mod table;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use deskhand_contract::error::{CallError, ErrorCode, Exit, IsEffect};
use deskhand_contract::wire::Mode;

use self::output::{Format, Output};
use crate::config::Environment;
use crate::control::desktop::Choice;
use crate::control::gateway::Control;
use crate::control::start::Local;

/// The session that all calls of the command line share on one desktop.
const SESSION: &str = "cli";

/// Heads what every command takes.
const COMMON: &str = "Options of every command";

/// A careful hand on real computers, for agents and people.
///
/// Observe a desktop's windows as semantic trees, act on exactly what was observed, and read afterwards what is
/// proven about it.
#[derive(Debug, Parser)]
#[command(name = "deskhand", version, arg_required_else_help = true, propagate_version = false)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
struct Common {
    /// Form of the answer: a table on a terminal and JSON in a pipe, unless this says otherwise.
    #[arg(short, long, global = true, value_enum, value_name = "FORM", help_heading = COMMON)]
    format: Option<Format>,
    /// Which desktop: a private one by its name, or `current` for your own. Default: the only private one that
    /// runs, else your own.
    #[arg(long, global = true, value_name = "NAME|current", help_heading = COMMON)]
    desktop: Option<String>,
    /// Whose ids: a session by name. Default: one session for all calls from the command line.
    #[arg(long, global = true, value_name = "NAME", help_heading = COMMON)]
    session: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Observe(observe::Observe),
    Control(control::Control),
    Desktop(desktop::Desktop),
    Mcp(mcp::Mcp),
    Stop(stop::Stop),
    Doctor(doctor::Doctor),
    Runner(runner::Runner),
    Completions(completions::Completions),
}

/// What a command works with.
struct Surroundings {
    environment: Environment,
    common: Common,
    output: Output,
}

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    let arguments: Vec<OsString> = action::join_text(std::env::args_os().collect());
    let parsed = Cli::command().try_get_matches_from(&arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &arguments),
    };
    let output = Output::new(cli.common.format);
    let surroundings = Surroundings { environment: Environment::read(), common: cli.common, output };
    let exit = match cli.command {
        Command::Observe(observe::Observe(call)) | Command::Control(control::Control(call)) => {
            action::run(&surroundings, call)
        }
        Command::Desktop(desktop) => return desktop::run(&surroundings, desktop),
        Command::Mcp(mcp) => mcp::run(&surroundings, mcp),
        Command::Stop(_) => stop::run(&surroundings),
        Command::Doctor(_) => doctor::run(&surroundings),
        Command::Runner(runner) => runner::run(&surroundings, &runner),
        Command::Completions(completions) => completions::run(&surroundings, &completions),
    };
    ExitCode::from(exit as u8)
}

impl Surroundings {
    /// Which desktop is meant.
    fn choice(&self) -> Choice {
        Choice::of(self.common.desktop.as_deref().or(self.environment.desktop.as_deref()))
    }

    /// The way to that desktop's Runner, for this command line's session.
    fn control(&self) -> Control {
        let session =
            self.common.session.clone().or_else(|| self.environment.session.clone()).unwrap_or_else(|| SESSION.into());
        let (choice, environment) = (self.choice(), self.environment.clone());
        Control::new(Box::new(Local {
            environment: self.environment.clone(),
            find: Box::new(move || choice.find(&environment)),
            session: Some(session),
            mode: Mode::default(),
        }))
    }
}

/// Help and version are answers; all else is a wrong call.
fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    use clap::error::ErrorKind as Kind;
    let output = Output::new(Format::asked_for(arguments));
    let text = error.render().to_string();
    match error.kind() {
        Kind::DisplayHelp | Kind::DisplayVersion => {
            output.text(&text);
            ExitCode::SUCCESS
        }
        _ if output.is_for_people() || error.kind() == Kind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output.complaint(&text);
            ExitCode::from(Exit::Usage as u8)
        }
        _ => {
            let error = CallError::rejected(ErrorCode::InvalidRequest, text.trim_end(), IsEffect::No);
            output.command("deskhand", std::time::Duration::ZERO, Err(error));
            ExitCode::from(Exit::Usage as u8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }
}
