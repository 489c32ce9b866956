//! `deskhand runner`

use std::path::PathBuf;

use deskhand_contract::error::{CallError, ErrorCode, Exit, IsEffect};
use serde_json::json;

use super::Surroundings;
use crate::config::Places;
use crate::runner::{self, Ended, Start};

/// Serve a desktop in the foreground. Other commands start a Runner by themselves; this is for services.
#[derive(Debug, clap::Args)]
pub(super) struct Runner {
    /// Started by another command: leave its terminal and its descriptors.
    #[arg(long, hide = true, requires = "directory")]
    detached: bool,
    /// Where that command looks for the socket.
    #[arg(long, hide = true)]
    directory: Option<PathBuf>,
}

pub(super) fn run(surroundings: &Surroundings, runner: &Runner) -> Exit {
    if runner.detached {
        crate::sys::descriptor::close_inherited();
        // Fails only for a process that leads a group already, which a started one does not.
        let _ = rustix::process::setsid();
    }
    let environment = &surroundings.environment;
    let end = (|| {
        let places = match &runner.directory {
            Some(directory) => Places::at(directory.clone()),
            None => Places::prepare(environment).map_err(|why| (ErrorCode::Configuration, format!("{why}.")))?,
        };
        let desktop =
            surroundings.choice().find(environment).map_err(|unreachable| (unreachable.code, unreachable.message))?;
        let start =
            Start { places, key: desktop.key(environment), private: desktop.is_private(), idle: environment.idle };
        match runner::run(&start, || {
            if runner.detached {
                runner::say("ready")
            }
        }) {
            Ended::Unneeded => Ok("nobody needed it"),
            Ended::DisplayGone => Ok("its display is gone"),
            Ended::Busy if runner.detached => {
                runner::say("busy");
                Ok("busy")
            }
            Ended::Busy => Err((ErrorCode::ClientOffline, "Another Runner serves this desktop already.".into())),
            Ended::Failed(why) => Err((ErrorCode::Unavailable, why)),
        }
    })();
    match end {
        Ok(_) if runner.detached => Exit::Ok,
        Ok(why) => surroundings.output.command("runner", std::time::Duration::ZERO, Ok(json!({ "ended": why }))),
        Err((_, message)) if runner.detached => {
            runner::say(&message.replace('\n', " "));
            Exit::Unavailable
        }
        Err((code, message)) => surroundings.output.command(
            "runner",
            std::time::Duration::ZERO,
            Err(CallError::rejected(code, message, IsEffect::No)),
        ),
    }
}
