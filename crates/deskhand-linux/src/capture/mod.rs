//! Pixels of windows and displays, through shared memory, and never those of a window that was not asked for.

pub(crate) mod area;
pub(crate) mod display;
pub(crate) mod pixels;
pub(crate) mod window;
