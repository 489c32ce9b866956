//! The windows of a display: which there are, whose they are, how to bring one to the front.

pub(crate) mod enumerate;
pub(crate) mod process;
mod property;
