//! The front doors as their users meet them: the built binary, real displays, real sockets.
//!
//! What is right is told by the protocol's own rules, the process table, the file system and the applications,
//! never by Deskhand.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails where it must")]

mod cli;
mod desk;
mod desktop;
mod ending;
mod runner;
mod schema;
mod shown;
mod support;
mod tools;
mod wire;
