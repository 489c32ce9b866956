//! `deskhand runner`

use deskhand_contract::error::{CallError, ErrorCode, Exit, IsEffect};
use serde_json::json;

use super::Surroundings;
use crate::config::audit_directory;
use crate::control::link::Unreachable;
use crate::runner::{self, Ended, Start};

/// Serve a desktop in the foreground. Other commands start a Runner by themselves; this is for services.
#[derive(Debug, clap::Args)]
pub(super) struct Runner {
    /// Started by another command: leave its terminal and its descriptors.
    #[arg(long, hide = true)]
    detached: bool,
}

pub(super) fn run(surroundings: &Surroundings, runner: &Runner) -> Exit {
    if runner.detached {
        crate::sys::descriptor::close_inherited();
        // Fails only for a process that leads a group already, which a started one does not.
        let _ = rustix::process::setsid();
    }
    let environment = &surroundings.environment;
    let end = (|| {
        let desktop = surroundings.choice().find(environment).map_err(untold)?;
        let start = Start {
            files: desktop.runner_files(environment).map_err(untold)?,
            private: desktop.is_private(),
            audit: audit_directory(environment),
            idle: environment.idle,
            detached: runner.detached,
        };
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

fn untold(unreachable: Unreachable) -> (ErrorCode, String) {
    (unreachable.code, unreachable.message)
}
