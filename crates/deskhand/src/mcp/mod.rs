//! MCP over standard input and output. One file a tool.
//!
//! [`stdio`] owns the two streams and the rules of the wire, [`server`] answers the protocol through the official
//! SDK, [`schema`] makes schemas from the contract's tables, [`answer`] turns an envelope into a result. The
//! judgement is elsewhere: every call goes through [`crate::control::gateway`].

mod answer;
mod computer_control;
mod computer_observe;
mod desktop;
mod host;
mod schema;
mod server;
mod stdio;

pub(crate) use host::{Host, serve};
