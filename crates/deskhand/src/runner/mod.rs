//! The Runner's process: a socket in front of `deskhand_runtime::Runner`.
//!
//! One process serves one desktop. [`socket`] holds its address by a lock, so that there are never two and a
//! stale socket is known to be stale. [`connection`] speaks the frames: a reader that serves Cancel and Stop
//! at once, and one thread a call, bounded. [`life`] ends the process when nobody needs it, or its display is gone.

mod connection;
mod engine;
mod life;
mod process;
mod socket;

pub(crate) use process::{Ended, Start, run, say};
