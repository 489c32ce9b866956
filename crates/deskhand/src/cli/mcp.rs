//! `deskhand mcp`

use deskhand_contract::error::Exit;
use deskhand_contract::wire::Mode;

use super::Surroundings;
use crate::{mcp, providers};

/// Speak MCP over standard input and output with one agent host.
///
/// Where there is no display, a private desktop is started at the first call, and ends with this process.
#[derive(Debug, clap::Args)]
pub(super) struct Mcp {
    /// What the agent may do: plan and goal refuse every effect.
    #[arg(long, value_enum, default_value = "auto")]
    mode: ModeName,
    /// Size of the private desktop that is started, in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1920x1080")]
    size: String,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ModeName {
    Auto,
    Ask,
    AcceptEdits,
    Plan,
    Goal,
}

pub(super) fn run(surroundings: &Surroundings, command: Mcp) -> Exit {
    // A wrong size is told at the start, not at the first call.
    if let Err(error) = providers::check_size(&command.size) {
        surroundings.output.complaint(&format!("{}\n", error.message));
        return error.code.exit();
    }
    let mode = match command.mode {
        ModeName::Auto => Mode::Auto,
        ModeName::Ask => Mode::Ask,
        ModeName::AcceptEdits => Mode::AcceptEdits,
        ModeName::Plan => Mode::Plan,
        ModeName::Goal => Mode::Goal,
    };
    mcp::serve(mcp::Host {
        environment: surroundings.environment.clone(),
        choice: surroundings.choice(),
        session: surroundings.common.session.clone(),
        mode,
        size: command.size,
    })
}
