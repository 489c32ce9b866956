//! The windows of a display: which there are, whose they are, how to bring one to the front.

pub(crate) mod activate;
pub(crate) mod enumerate;
pub(crate) mod facts;
pub(crate) mod join;
pub(crate) mod key;
pub(crate) mod process;
mod property;
pub(crate) mod trees;
pub(crate) mod watch;
