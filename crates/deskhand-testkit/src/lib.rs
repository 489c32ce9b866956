//! What tests of the engine stand on: a desktop that does as it is told, time that passes when told, randomness that
//! can be repeated.
//!
//! Start reading at `desktop.rs`: how to fake a desktop.

#![forbid(unsafe_code)]

pub mod conformance;
mod desktop;
mod element;
mod recorded;
mod rows;
mod script;
mod world;

pub use desktop::{FakeDesktop, Performed};
pub use element::Element;
pub use recorded::{RECORDINGS, plant, recorded};
pub use rows::check;
pub use script::{Reaction, Step};
pub use world::{FakeClock, SeededEntropy};
