//! The choice of a platform. The only file that knows which operating system this is.

use std::sync::Arc;

use deskhand_contract::provider::Provider;
use deskhand_contract::scope::{Capability, CapabilitySet};

use crate::config::Environment;

/// A private desktop that runs.
#[derive(Debug, Clone)]
pub(crate) struct PrivateDesktop {
    /// Its name.
    pub(crate) name: String,
    /// Whether it ends with the process that started it (an agent host's own).
    pub(crate) owned: bool,
    /// What a process needs in its environment to be on it.
    pub(crate) variables: Vec<(String, String)>,
}

/// The private desktops of this user that run now.
///
/// # Errors
/// Says what cannot be read.
pub(crate) fn private_desktops(_environment: &Environment) -> Result<Vec<PrivateDesktop>, String> {
    Ok(Vec::new())
}

/// The provider of the desktop that this process is on.
///
/// # Errors
/// Says what cannot be reached and the fix.
pub(crate) fn provider(_private: bool) -> Result<Arc<dyn Provider>, String> {
    Err("this build has no provider".into())
}

/// What a Runner of this platform can do on a desktop where nothing is missing.
pub(crate) const fn capabilities() -> CapabilitySet {
    CapabilitySet::of(&[
        Capability::ComputerObserve,
        Capability::ComputerSnapshotRegion,
        Capability::ComputerAccessibilityObserve,
        Capability::ComputerDisplayObserve,
        Capability::ComputerWindowActivate,
        Capability::ComputerControl,
        Capability::ComputerScrollToElement,
        Capability::ComputerTextInput,
    ])
}
