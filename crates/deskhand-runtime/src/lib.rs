//! The judgement of Deskhand: what an id means now, whether an effect may happen, whether the thing is still the
//! thing that was observed, and what is proven afterwards.
//!
//! Owns: sessions and their identities, generations, refusals, grants, the call pipeline, postconditions, the
//! audit chain. Does not know: an operating system, MCP, a command line, the environment, a home directory. Its
//! world (provider, clock, randomness, record) is handed to it in [`World`].
//!
//! Start reading at `call.rs`: the order in which an action happens.
//!
//! | question | file |
//! | --- | --- |
//! | in what order does an action happen? | `call.rs` |
//! | where is it refused? | `admit.rs` |
//! | what may a grant limit? | `grant.rs` |
//! | when is an id stale? | `bind.rs` |
//! | which checks precede it? | `actionable.rs` |
//! | what makes a result `confirmed`? | `verify.rs` |
//! | what is written to audit? | `audit.rs` |

#![forbid(unsafe_code)]

mod actionable;
mod admit;
pub mod audit;
mod bind;
mod call;
pub mod clock;
mod delta;
mod digest;
mod element;
mod fault;
mod grant;
mod identity;
mod image;
mod lineage;
mod live;
mod observe;
mod outline;
mod projection;
mod runner;
mod seam;
mod session;
mod surface;
mod trees;
mod turn;
mod verify;

pub use runner::{Answer, CaptureMode, Policy, Runner, World};
pub use session::Session;

#[cfg(test)]
mod outline_tests;
#[cfg(test)]
mod registry_tests;
