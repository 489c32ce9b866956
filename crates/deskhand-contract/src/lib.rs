//! The words of Deskhand: identities, actions, elements, verdicts, errors, scopes, capabilities, wire
//! frames and the [`provider::Provider`] seam.
//!
//! Owns: every type that crosses a crate boundary, and the tables that say what each action needs,
//! takes and may answer. Does not know: an operating system, an async runtime, grants, MCP.
//!
//! Start reading at [`action`] (what can be asked for), then [`verdict`] and [`error`] (what can be
//! said back), then [`provider`] (what a platform must do).

#![forbid(unsafe_code)]

pub mod action;
pub mod argument;
pub mod element;
pub mod error;
pub mod geometry;
pub mod id;
pub mod limit;
pub mod provider;
pub mod redacted;
pub mod reply;
pub mod role;
pub mod scope;
pub mod text;
pub mod verdict;
pub mod wire;
