//! Installed applications: desktop entries, read by the freedesktop.org rules, and launched exactly as they
//! were listed.
//!
//! [`entry`] reads one file (pure), [`scan`] finds the files, [`launch`] proves that an entry and its
//! executable are still what was listed, and starts it once.

mod entry;
mod launch;
mod scan;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{ApplicationFacts, ApplicationList, Dispatch, Fault, NativeKey};

use launch::NotLaunched;
use scan::{Application, Sources};

/// The applications of one desktop, with what the last listings proved of them.
pub(crate) struct Installed {
    environment: Vec<(String, String)>,
    listed: Mutex<HashMap<NativeKey, Application>>,
}

/// Listed applications that are remembered.
const MAX_LISTED: usize = 4 * scan::MAX_SCANNED;

impl Installed {
    /// Applications that are found by, and started with, `environment`.
    pub(crate) fn new(environment: Vec<(String, String)>) -> Self {
        Self { environment, listed: Mutex::default() }
    }

    /// What can be launched, by name.
    pub(crate) fn list(&self, limit: &Limit) -> Result<ApplicationList, Fault> {
        if limit.is_over() {
            return Err(Fault::Cancelled);
        }
        let found = scan::scan(&Sources::of_environment(&self.environment));
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if listed.len() > MAX_LISTED {
            listed.clear();
        }
        let facts = found.applications.into_iter().map(|application| {
            let key = application.key();
            let name = application.entry.name.clone();
            listed.insert(key.clone(), application);
            ApplicationFacts { key, name }
        });
        Ok(ApplicationList { applications: facts.collect(), truncated: found.truncated })
    }

    /// Starts a listed application, once.
    pub(crate) fn launch(&self, key: &NativeKey, limit: &Limit) -> Dispatch {
        let application = self.listed.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        let Some(application) = application else { return Dispatch::NotStarted(Fault::Gone) };
        if limit.is_over() {
            return Dispatch::NotStarted(Fault::Cancelled);
        }
        match launch::launch(&application, &Sources::of_environment(&self.environment), &self.environment) {
            Ok(()) => Dispatch::Sent,
            Err(NotLaunched::Stale) => Dispatch::NotStarted(Fault::Gone),
            Err(NotLaunched::NoTerminal) => Dispatch::NotStarted(Fault::Unsupported(
                "it runs in a terminal and none is installed; install xterm".to_owned(),
            )),
            Err(NotLaunched::Refused(kind)) => {
                Dispatch::NotStarted(Fault::Unsupported(format!("the system refused to start it: {kind}")))
            }
        }
    }
}
