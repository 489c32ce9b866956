//! What applications announce: enough to know whose objects must be read again, and to wake those who wait.
//!
//! Deskhand does not patch its picture from events: an announcement only ends the trust in what was read. A
//! reading that was overtaken by an event is read again the next time, so a lost order or a lost detail of
//! events cannot show something that is not there.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use zbus::{MatchRule, MessageStream};

use crate::sys::bus::Bus;

/// Applications that are remembered one by one.
const MAX_APPLICATIONS: usize = 1_024;
/// Events that may wait to be counted.
const QUEUED: NonZeroUsize = NonZeroUsize::new(8_192).expect("the bound is not zero");

/// What is announced that changes what a tree shows.
pub(crate) const CLASSES: &[&str] = &[
    "object:children-changed",
    "object:state-changed",
    "object:property-change",
    "object:text-changed",
    "object:selection-changed",
    "object:visible-data-changed",
    "object:model-changed",
    "object:active-descendant-changed",
    "object:row-inserted",
    "object:row-deleted",
    "object:column-inserted",
    "object:column-deleted",
    "document:load-complete",
    "document:reload",
    "window:create",
    "window:destroy",
    "window:activate",
    "window:deactivate",
];

/// Counts what every application announced.
#[derive(Clone)]
pub(crate) struct Events(Arc<Shared>);

struct Shared {
    seen: Mutex<HashMap<Arc<str>, u64>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Events {
    /// Nothing seen yet; `wake` is called after each count.
    pub(crate) fn new(wake: Box<dyn Fn() + Send + Sync>) -> Self {
        Self(Arc::new(Shared { seen: Mutex::new(HashMap::new()), wake }))
    }

    /// How much `bus` has announced so far.
    pub(crate) fn of(&self, bus: &str) -> u64 {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).get(bus).copied().unwrap_or(0)
    }

    /// Counts one announcement of `bus`.
    pub(crate) fn count(&self, bus: &str) {
        {
            let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = seen.get_mut(bus) {
                *count += 1;
            } else {
                if seen.len() >= MAX_APPLICATIONS {
                    // Forgetting a count would make it start anew and hide a change; a huge start does not.
                    let most = seen.values().copied().max().unwrap_or(0);
                    seen.clear();
                    seen.insert(bus.into(), most + 1);
                } else {
                    let next = seen.values().copied().max().unwrap_or(0) + 1;
                    seen.insert(bus.into(), next);
                }
            }
        }
        (self.0.wake)();
    }

    /// Begins to listen. Returns once the bus has taken the match rules.
    ///
    /// # Errors
    /// A sentence that says what failed.
    pub(crate) fn listen(&self, bus: &Bus) -> Result<(), String> {
        for interface in [
            "org.a11y.atspi.Event.Object",
            "org.a11y.atspi.Event.Window",
            "org.a11y.atspi.Event.Document",
            "org.a11y.atspi.Cache",
        ] {
            let rule = MatchRule::builder()
                .msg_type(zbus::message::Type::Signal)
                .interface(interface)
                .build()
                .map_err(|error| format!("events cannot be asked for: {error}"))?;
            let stream = bus.wait(MessageStream::for_match_rule(rule, bus.connection(), Some(QUEUED)));
            let mut stream = stream.map_err(|error| format!("events cannot be asked for: {error}"))?;
            let events = self.clone();
            bus.spawn(async move {
                while let Some(Ok(message)) = stream.next().await {
                    if let Some(sender) = message.header().sender() {
                        events.count(sender.as_str());
                    }
                }
            });
        }
        Ok(())
    }
}
