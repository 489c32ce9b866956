//! The private desktop on this machine: real servers, real applications. The oracles are `/proc`, the file system,
//! `xdotool`, `xprop` and pyatspi.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails where it must, and says what it saw")]

mod applications;
mod faults;
mod life;
mod view;
mod world;

/// Not a test: the entry through which this very program becomes a keeper or a supervisor.
#[test]
#[ignore = "not a test: the desktops of the other tests run in it"]
fn entry() {
    world::become_what_is_asked();
}
