//! The desktop of one agent host: a running one, the user's own, or a private one that is started for it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskhand_contract::error::ErrorCode;

use crate::config::Environment;
use crate::control::desktop::{Choice, Desktop, has_display};
use crate::control::link::Unreachable;
use crate::providers::{self, Hold, PrivateDesktop};

/// How long a private desktop may take to start.
const STARTING: Duration = Duration::from_secs(20);

/// Finds the host's desktop, and holds the one that was started for it.
pub(super) struct HostDesktop {
    environment: Environment,
    choice: Choice,
    size: String,
    started: Mutex<Option<(String, Hold)>>,
}

impl HostDesktop {
    pub(super) fn new(environment: Environment, choice: Choice, size: String) -> Self {
        Self { environment, choice, size, started: Mutex::new(None) }
    }

    /// Whether it is there without starting one.
    pub(super) fn is_there(&self) -> bool {
        // One that is being started holds the lock, and is not there yet.
        let Ok(started) = self.started.try_lock() else { return false };
        matches!(self.running(started.as_ref().map(|(name, _)| name.as_str())), Ok(Some(_)))
    }

    /// The desktop, started where there is none.
    ///
    /// # Errors
    /// Says what is missing, and the fix.
    pub(super) fn find(&self) -> Result<Desktop, Unreachable> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(desktop) = self.running(started.as_ref().map(|(name, _)| name.as_str()))? {
            return Ok(desktop);
        }
        // One that was started and is gone again is let go first, so that its name is free.
        *started = None;
        let name = match &self.choice {
            Choice::Named(name) => Some(name.as_str()),
            Choice::Default | Choice::Current => None,
        };
        let (desktop, hold) = providers::start_private(name, &self.size, STARTING)?;
        *started = Some((desktop.name().to_owned(), hold));
        Ok(Desktop::Private(desktop))
    }

    /// The desktop where it runs; nothing where one is to be started.
    fn running(&self, mine: Option<&str>) -> Result<Option<Desktop>, Unreachable> {
        let mut ready = providers::private_desktops()?;
        ready.retain(PrivateDesktop::is_ready);
        let mut named = |name: &str| ready.iter().position(|desktop| desktop.name() == name).map(|at| ready.remove(at));
        match &self.choice {
            Choice::Current if has_display(&self.environment) => Ok(Some(Desktop::Own)),
            Choice::Current => Err(Unreachable::new(
                ErrorCode::Unavailable,
                "There is no display here. Leave --desktop out: a private desktop is started then.",
            )),
            Choice::Named(name) => Ok(named(name).map(Desktop::Private)),
            Choice::Default => {
                if let Some(mine) = mine.and_then(&mut named) {
                    return Ok(Some(Desktop::Private(mine)));
                }
                // Another host's own desktop ends with that host, and its agent is at work there.
                ready.retain(|desktop| !desktop.is_owned());
                if ready.len() == 1 {
                    return Ok(ready.pop().map(Desktop::Private));
                }
                Ok(has_display(&self.environment).then_some(Desktop::Own))
            }
        }
    }
}
