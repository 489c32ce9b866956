//! `deskhand stop`

use std::sync::mpsc;
use std::time::{Duration, Instant};

use deskhand_contract::error::{CallError, ErrorCode, Exit, IsEffect};
use deskhand_contract::wire::Mode;
use serde_json::{Value, json};

use super::Surroundings;
use crate::control::desktop::{Choice, Desktop, all};
use crate::control::link::{Link as _, Unreachable};
use crate::control::socket::{Missed, SocketLink};

/// How long a Runner may take to say that it stopped.
const STOPPING: Duration = Duration::from_secs(3);

/// Stop everything that agents do, now: on the desktop that --desktop names, else on every desktop of yours.
#[derive(Debug, clap::Args)]
pub(super) struct Stop {}

pub(super) fn run(surroundings: &Surroundings) -> Exit {
    let begun = Instant::now();
    let end = stop(surroundings)
        .map_err(|unreachable| CallError::rejected(unreachable.code, unreachable.message, IsEffect::Yes));
    surroundings.output.effect("stop", begun.elapsed(), end)
}

fn stop(surroundings: &Surroundings) -> Result<Value, Unreachable> {
    let environment = &surroundings.environment;
    let desktops = match surroundings.choice() {
        Choice::Default => all(environment)?,
        choice => vec![choice.find(environment)?],
    };
    let mut stopped = Vec::new();
    let mut failed = Vec::new();
    for desktop in &desktops {
        match stop_one(surroundings, desktop) {
            Ok(true) => stopped.push(desktop.selector()),
            // Without a Runner nothing is done there.
            Ok(false) => {}
            Err(unreachable) => failed.push(format!("{}: {}", desktop.selector(), unreachable.message)),
        }
    }
    if failed.is_empty() {
        Ok(json!({ "stopped": stopped }))
    } else {
        Err(Unreachable::new(ErrorCode::ClientOffline, format!("Not stopped: {}", failed.join("; "))))
    }
}

/// Stops a desktop's Runner; says whether there is one. None is started for it.
fn stop_one(surroundings: &Surroundings, desktop: &Desktop) -> Result<bool, Unreachable> {
    let files = desktop.runner_files(&surroundings.environment)?;
    let offline = |why: String| Unreachable::new(ErrorCode::ClientOffline, why);
    let link = match SocketLink::connect(&files.socket, None, Mode::default()) {
        Ok(link) => link,
        Err(Missed::Nobody) => return Ok(false),
        Err(Missed::Foreign(why)) => return Err(offline(why)),
        Err(Missed::Io(error)) => return Err(offline(error.to_string())),
    };
    let (sender, answers) = mpsc::sync_channel(1);
    link.stop(Box::new(move |answer| {
        // The waiter may have given up.
        let _ = sender.send(answer);
    }));
    match answers.recv_timeout(STOPPING) {
        Ok(answer) if answer.ending.error.is_none() => Ok(true),
        _ => Err(offline("its Runner does not answer".into())),
    }
}
