//! `deskhand stop`

use std::time::Instant;

use deskhand_contract::error::{CallError, Exit, IsEffect};
use serde_json::json;

use super::Surroundings;

/// Stop everything that agents do on a desktop, now.
#[derive(Debug, clap::Args)]
pub(super) struct Stop {}

pub(super) fn run(surroundings: &Surroundings) -> Exit {
    let begun = Instant::now();
    let end = surroundings
        .control()
        .stop()
        .map(|_| json!({ "stopped": true }))
        .map_err(|unreachable| CallError::rejected(unreachable.code, unreachable.message, IsEffect::Yes));
    surroundings.output.command("stop", begun.elapsed(), end)
}
