//! Native words to the contract's words. Pure: builds and is tested on every system.

pub(crate) mod geometry;
pub(crate) mod window;
