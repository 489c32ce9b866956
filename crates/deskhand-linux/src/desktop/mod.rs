//! The private desktop: a virtual display with a window manager, a D-Bus session and an accessibility bus, in which
//! nothing of the user's runs and of which nothing is left when it ends.
//!
//! It owns the start ([`start()`]), the registry ([`list`], [`find`]), running programs inside ([`exec_attached`],
//! [`exec_detached`]) and the end ([`stop()`]). It knows nothing of Runners, tools or grants.
//!
//! A desktop is two processes of this program and their descendants. The keeper starts the supervisor,
//! which starts the parts; each of the two is a process to which orphans fall, and each
//! watches the other, so that the kill of any one process ends the desktop whole. `ending.rs` says how.
//!
//! Begin with `supervisor.rs`.

mod children;
mod control;
mod ending;
mod environment;
mod error;
mod exec;
mod home;
mod keeper;
mod live;
mod log;
mod option;
mod part;
mod places;
mod process;
mod record;
mod registry;
mod requirement;
mod screen;
mod start;
mod stop;
mod supervisor;
mod sys;
#[cfg(test)]
mod testing;
mod wire;
mod xauthority;

pub use children::Exit;
pub use environment::{environment, whole as whole_environment};
pub use error::{DesktopError, Fault};
pub use exec::{Attached, Command, exec_attached, exec_detached, exec_detached_with};
pub use keeper::run_supervisor;
pub use live::LiveView;
pub use option::{DesktopName, Entry, Owner, Size, StartOptions};
pub use places::Places;
pub use process::ProcessIdentity;
pub use record::{DesktopRecord, DesktopState, Part, PartRole, SocketFile};
pub use registry::{find, list};
pub use requirement::{Requirement, requirements};
pub use screen::{Camera, Picture};
pub use start::{Lease, Started, start};
pub use stop::stop;
