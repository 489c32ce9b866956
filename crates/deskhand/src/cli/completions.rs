//! `deskhand completions`

use clap::CommandFactory as _;
use deskhand_contract::error::Exit;

use super::{Cli, Surroundings};

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
}

pub(super) fn run(surroundings: &Surroundings, completions: &Completions) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Cli::command(), "deskhand", &mut script);
    surroundings.output.text(&String::from_utf8_lossy(&script));
    Exit::Ok
}
