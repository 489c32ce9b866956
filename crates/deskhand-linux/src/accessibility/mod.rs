//! What applications say of themselves over the accessibility bus.
//!
//! [`Accessibility`] is the door: [`applications`] finds who is there, [`nodes`] reads an application's objects by
//! the fastest way of its toolkit and [`events`] says when that must be done again, [`tree`] puts a window's
//! nodes together, [`resolve`] reads one element live, [`perform`] acts once, [`value`] reads a value.

pub(crate) mod applications;
mod door;
mod events;
mod facts;
mod interface;
mod nodes;
pub(crate) mod object;
mod perform;
mod resolve;
mod tree;
mod value;

pub(crate) use door::{Accessibility, Target};
