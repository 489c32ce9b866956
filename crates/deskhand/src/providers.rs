//! The choice of a platform. The only file that knows which operating system this is.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deskhand_contract::error::{CallError, ErrorCode, IsEffect};
use deskhand_contract::provider::Provider;
use deskhand_contract::scope::{Capability, CapabilitySet};
use deskhand_linux::desktop::{
    self, DesktopName, DesktopRecord, DesktopState, Entry, Lease, Owner, Places, Size, StartOptions,
};
use deskhand_linux::toolkits::{ToolkitState, toolkits};
use deskhand_linux::{LinuxOptions, LinuxProvider};

/// A private desktop that is there.
#[derive(Debug, Clone)]
pub(crate) struct PrivateDesktop {
    record: Box<DesktopRecord>,
}

/// Keeps a private desktop alive: it ends with this, and with this process.
#[derive(Debug)]
pub(crate) struct Hold {
    _lease: Option<Lease>,
}

impl PrivateDesktop {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.record.name.as_str()
    }

    /// Whether it can be used now.
    pub(crate) fn is_ready(&self) -> bool {
        self.record.state == DesktopState::Ready
    }

    /// Whether it ends with the process that started it (an agent host's own).
    pub(crate) fn is_owned(&self) -> bool {
        self.record.owner.is_some()
    }

    /// Where its Runner listens.
    pub(crate) fn runner_socket(&self) -> PathBuf {
        self.record.runner_socket()
    }

    /// Starts a program on it that ends with it, with that standard output and error, and with `variables` beside
    /// this process's own.
    ///
    /// # Errors
    /// Says why it cannot be started.
    pub(crate) fn run(
        &self,
        argv: Vec<OsString>,
        variables: Vec<(OsString, OsString)>,
        output: OwnedFd,
        error: File,
    ) -> Result<(), CallError> {
        let null = File::open("/dev/null").map_err(|error| {
            let message = format!("/dev/null cannot be opened: {error}.");
            CallError::rejected(ErrorCode::Unavailable, message, IsEffect::No)
        })?;
        let mut environment: Vec<_> = std::env::vars_os().collect();
        environment.retain(|(name, _)| variables.iter().all(|(other, _)| name != other));
        environment.extend(variables);
        let command = desktop::Command { argv, environment, directory: "/".into() };
        desktop::exec_detached_with(&self.record, &command, [null.as_fd(), output.as_fd(), error.as_fd()])?;
        Ok(())
    }
}

/// The private desktops of this user that run now.
///
/// # Errors
/// Says what cannot be read, and the fix.
pub(crate) fn private_desktops() -> Result<Vec<PrivateDesktop>, CallError> {
    let records = desktop::list(&desktop_places())?;
    let there = |record: &DesktopRecord| record.state != DesktopState::Ended;
    Ok(records.into_iter().filter(there).map(|record| PrivateDesktop { record: Box::new(record) }).collect())
}

/// Starts a private desktop that ends with what is returned beside it, and with this process however that ends.
///
/// # Errors
/// Says what is missing, and the fix.
pub(crate) fn start_private(
    name: Option<&str>,
    size: &str,
    within: Duration,
) -> Result<(PrivateDesktop, Hold), CallError> {
    let options = StartOptions {
        name: name.map(DesktopName::parse).transpose()?,
        size: Size::parse(size)?,
        owner: Owner::Caller,
        deadline: within,
        ..StartOptions::new(supervisor_entry())
    };
    let started = desktop::start(&desktop_places(), &options)?;
    Ok((PrivateDesktop { record: Box::new(started.record) }, Hold { _lease: started.lease }))
}

/// Whether a size reads as one.
///
/// # Errors
/// Says how a size is written.
pub(crate) fn check_size(size: &str) -> Result<(), CallError> {
    Size::parse(size)?;
    Ok(())
}

/// Where private desktops are kept.
pub(crate) fn desktop_places() -> Places {
    Places::of_environment(std::env::vars_os().collect())
}

/// How this program is executed again as a desktop's supervisor.
pub(crate) fn supervisor_entry() -> Entry {
    let program = crate::control::start::own_program().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    Entry { program, leading: vec!["desktop".into(), "supervise".into()] }
}

/// The provider of the desktop that this process is on.
///
/// # Errors
/// Says what cannot be reached and the fix.
pub(crate) fn provider(private: bool) -> Result<Arc<dyn Provider>, String> {
    let options = LinuxOptions { private, ..LinuxOptions::default() };
    match LinuxProvider::connect(options) {
        Ok(provider) => Ok(Arc::new(provider)),
        Err(fault) => Err(fault.to_string()),
    }
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

/// One thing that `doctor` looked at.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Check {
    /// What it is for: `private desktop`, `trees`.
    pub(crate) part: &'static str,
    /// What was looked for.
    pub(crate) what: String,
    /// `ready`, `missing`, `absent` (and not needed) or `recommended`.
    pub(crate) state: &'static str,
    /// What it is for, or what is wrong.
    pub(crate) why: String,
    /// The command or step that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

/// What this platform needs, and whether it is here.
pub(crate) fn checks() -> Vec<Check> {
    let parts = desktop::requirements(&desktop_places()).into_iter().map(|need| Check {
        part: "private desktop",
        what: need.what.to_owned(),
        state: match (&need.found, need.essential) {
            (Some(_), _) => "ready",
            (None, true) => "missing",
            (None, false) => "recommended",
        },
        why: need.why.to_owned(),
        fix: need.found.is_none().then(|| need.fix.to_owned()),
    });
    let trees = toolkits("/".as_ref()).into_iter().map(|toolkit| Check {
        part: "trees",
        what: toolkit.what.to_owned(),
        state: match toolkit.state {
            ToolkitState::Missing => "recommended",
            state => state.name(),
        },
        why: toolkit.why.to_owned(),
        fix: toolkit.fix.map(str::to_owned),
    });
    parts.chain(trees).collect()
}
