//! Linux as a provider: windows and pixels from X11, trees and actions from AT-SPI, and the private desktop.
//!
//! Knows nothing of grants, tools or the Runner. Start reading at `provider.rs`; `map/` holds the pure
//! translation of native words, `sys/` the native calls.

mod accessibility;
mod applications;
mod capture;
pub mod desktop;
mod map;
mod provider;
mod sys;
pub mod toolkits;
mod windows;
mod x_server;

pub use provider::{LinuxOptions, LinuxProvider};
