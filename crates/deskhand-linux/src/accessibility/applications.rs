//! Who is on the accessibility bus: applications, the processes behind them, their top-level accessibles.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deskhand_contract::limit::Limit;

use super::events::Events;
use super::interface::{ACCESSIBLE, APPLICATION, COMPONENT, REGISTRY, ROOT};
use super::object::{Object, Reference, object};
use crate::map::geometry::Extents;
use crate::map::state::RawStates;
use crate::sys::bus::{Bus, BusFault, Call, all};

/// Longest that one application may take to say who it is.
const WHO: Duration = Duration::from_millis(400);
/// How long a silent application is passed over before it is asked again.
const REST: Duration = Duration::from_secs(2);
/// Applications that are looked at.
const MAX_APPLICATIONS: usize = 256;
/// Top-level accessibles of one application that are looked at.
const MAX_TOPS: usize = 128;

/// An application.
#[derive(Debug, Clone)]
pub(crate) struct Application {
    /// The process, as the bus saw it.
    pub(crate) pid: Option<u32>,
    /// The toolkit's name: `gtk`, `Qt`, `Chromium`, `Gecko`.
    pub(crate) toolkit: Arc<str>,
    /// The toolkit's version.
    pub(crate) version: Arc<str>,
    /// Its top-level accessibles; none where it did not answer.
    pub(crate) tops: Vec<Top>,
    /// Whether it did not answer in time.
    pub(crate) silent: bool,
}

/// A top-level accessible.
#[derive(Debug, Clone)]
pub(crate) struct Top {
    pub(crate) object: Object,
    pub(crate) role: u32,
    pub(crate) name: String,
    pub(crate) states: RawStates,
    /// In pixels of the screen, as the toolkit says.
    pub(crate) screen: Option<Extents>,
}

/// What is known of applications, and for how long.
#[derive(Default)]
pub(crate) struct Applications {
    known: Mutex<HashMap<Arc<str>, Known>>,
}

#[derive(Clone)]
struct Known {
    pid: Option<u32>,
    toolkit: Arc<str>,
    version: Arc<str>,
    silent_until: Option<Instant>,
    /// The tops, and the announcement count when they were read.
    tops: Option<(u64, Instant, Vec<Top>)>,
}

/// How long tops are believed without an announcement: geometry changes of a window are not announced.
const BELIEVE: Duration = Duration::from_millis(250);

impl Applications {
    /// Everyone on the bus, each asked beside the others and under its own deadline.
    ///
    /// # Errors
    /// What the registry's answer was, where it has none.
    pub(crate) fn list(&self, bus: &Bus, events: &Events, limit: &Limit) -> Result<Vec<Application>, BusFault> {
        let call = Call { bus: REGISTRY, path: ROOT, interface: ACCESSIBLE, method: "GetChildren" };
        let roots: Vec<Reference> = bus.ask(&call, &(), &limit.tightened(Duration::from_secs(2)))?;
        let roots: Vec<Object> =
            roots.iter().map(object).filter(|root| !root.is_null()).take(MAX_APPLICATIONS).collect();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).retain(|name, _| {
            roots.iter().any(|root| root.bus == *name) || {
                bus.forget(name);
                false
            }
        });
        Ok(bus.wait(all(roots.iter().map(|root| self.one(bus, events, root, limit)))))
    }

    /// Counts `bus` as silent for a while.
    pub(crate) fn note_silent(&self, name: &str) {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get_mut(name) {
            known.silent_until = Some(Instant::now() + REST);
            known.tops = None;
        }
    }

    async fn one(&self, bus: &Bus, events: &Events, root: &Object, limit: &Limit) -> Application {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&root.bus).cloned();
        if let Some(known) = &known {
            if known.silent_until.is_some_and(|until| Instant::now() < until) {
                return application(known, Vec::new(), true);
            }
            if let Some((count, read, tops)) = &known.tops
                && *count == events.of(&root.bus)
                && read.elapsed() < BELIEVE
            {
                return application(known, tops.clone(), false);
            }
        }
        let limit = limit.tightened(WHO);
        let mut known = match known {
            Some(known) => known,
            None => who(bus, root, &limit).await,
        };
        let count = events.of(&root.bus);
        let tops = tops(bus, root, &limit).await;
        let silent = matches!(tops, Err(BusFault::Silent | BusFault::NotSent));
        let tops = tops.unwrap_or_default();
        if known.toolkit.is_empty() && !silent {
            known = Known { silent_until: None, tops: None, ..who(bus, root, &limit).await };
        }
        known.silent_until = silent.then(|| Instant::now() + REST);
        known.tops = (!silent).then(|| (count, Instant::now(), tops.clone()));
        let answer = application(&known, tops, silent);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(&root.bus), known);
        answer
    }
}

fn application(known: &Known, tops: Vec<Top>, silent: bool) -> Application {
    Application {
        pid: known.pid,
        toolkit: Arc::clone(&known.toolkit),
        version: Arc::clone(&known.version),
        tops,
        silent,
    }
}

/// The process by the bus's own word, and the toolkit by the application's.
async fn who(bus: &Bus, root: &Object, limit: &Limit) -> Known {
    let driver = Call {
        bus: "org.freedesktop.DBus",
        path: "/org/freedesktop/DBus",
        interface: "org.freedesktop.DBus",
        method: "GetConnectionUnixProcessID",
    };
    let name = &*root.bus;
    let (pid, toolkit, version) = tokio::join!(
        bus.call::<_, u32>(&driver, &name, limit),
        bus.property::<String>(root.at(), APPLICATION, "ToolkitName", limit),
        bus.property::<String>(root.at(), APPLICATION, "Version", limit),
    );
    Known {
        pid: pid.ok(),
        toolkit: toolkit.unwrap_or_default().into(),
        version: version.unwrap_or_default().into(),
        silent_until: None,
        tops: None,
    }
}

async fn tops(bus: &Bus, root: &Object, limit: &Limit) -> Result<Vec<Top>, BusFault> {
    let call = Call { bus: &root.bus, path: &root.path, interface: ACCESSIBLE, method: "GetChildren" };
    let children: Vec<Reference> = bus.call(&call, &(), limit).await?;
    let children: Vec<Object> = children.iter().map(object).filter(|top| !top.is_null()).take(MAX_TOPS).collect();
    let tops = all(children.iter().map(|top| one_top(bus, top, limit))).await;
    Ok(tops.into_iter().flatten().collect())
}

async fn one_top(bus: &Bus, top: &Object, limit: &Limit) -> Option<Top> {
    let method = |interface, method| Call { bus: &top.bus, path: &top.path, interface, method };
    let (role_call, state_call, extents_call) =
        (method(ACCESSIBLE, "GetRole"), method(ACCESSIBLE, "GetState"), method(COMPONENT, "GetExtents"));
    let (role, states, name, extents) = tokio::join!(
        bus.call::<_, u32>(&role_call, &(), limit),
        bus.call::<_, Vec<u32>>(&state_call, &(), limit),
        bus.property::<String>(top.at(), ACCESSIBLE, "Name", limit),
        bus.call::<_, (i32, i32, i32, i32)>(&extents_call, &0_u32, limit),
    );
    Some(Top {
        object: top.clone(),
        role: role.ok()?,
        name: name.unwrap_or_default(),
        states: RawStates::of_words(&states.ok()?),
        screen: extents.ok().map(|(x, y, width, height)| Extents { x, y, width, height }),
    })
}
