//! The binary: front doors (command line, MCP), Control, the Runner's process, and the choice of a platform.
//!
//! Owns everything that knows a protocol, a terminal, an environment variable or a socket. Judges nothing:
//! what may happen on a desktop is `deskhand-runtime`'s.
//!
//! Start reading at [`cli`] for commands, [`mcp`] for tools, [`control`] for the way of a call from a front
//! door to a Runner, and [`runner`] for the process at the other end.

mod cli;
mod config;
mod control;
mod mcp;
mod providers;
mod runner;
mod sys;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
