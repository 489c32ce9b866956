//! Native words to the contract's words. Pure: builds and is tested on every system.

pub(crate) mod action;
pub(crate) mod geometry;
pub(crate) mod role;
pub(crate) mod state;
pub(crate) mod window;
