//! `deskhand doctor`

use std::time::Instant;

use deskhand_contract::error::Exit;
use serde_json::json;

use super::Surroundings;

/// Say what is missing on this machine, and the command that mends it.
#[derive(Debug, clap::Args)]
pub(super) struct Doctor {}

pub(super) fn run(surroundings: &Surroundings) -> Exit {
    let begun = Instant::now();
    surroundings.output.command("doctor", begun.elapsed(), Ok(json!({ "checks": [] })))
}
