//! The door to the accessibility bus: connects when first needed, again when it was lost, and keeps what
//! was read for as long as nothing was announced.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Dispatch, Effect, Fault, NativeTree, NativeValue, Resolved, TreeAsk, TreeNote};

use super::applications::{Application, Applications};
use super::events::{CLASSES, Events};
use super::facts::{Surroundings, Window, is_protected};
use super::interface::{COMPONENT, Interface, REGISTRY, REGISTRY_PATH};
use super::nodes::{self, Nodes};
use super::object::Object;
use super::perform;
use super::resolve::{Live, resolve, subject};
use super::tree::Source;
use super::value::{fault, value};
use crate::map::geometry::{Extents, Placement, Projection, Realm};
use crate::map::role::native_name;
use crate::map::state::Raw;
use crate::sys::bus::{Bus, BusFault, Call};

/// How long a reading is believed without an announcement, of toolkits that announce every change.
const BELIEVE: Duration = Duration::from_secs(10);
/// The same of toolkits that were seen to change in silence: GTK 4 and Qt.
const BELIEVE_LESS: Duration = Duration::from_secs(1);
/// How long a tree that is too thin is waited for.
const SETTLE: Duration = Duration::from_millis(1_200);
/// A tree of fewer nodes is thin.
const THIN: usize = 3;
/// Readings that are kept.
const MAX_READINGS: usize = 24;
/// Answers that are kept of one reading.
const MAX_TREES: usize = 4;
/// How long a failed connection rests before the next attempt.
const REST: Duration = Duration::from_millis(500);

/// The accessibility bus of one desktop.
pub(crate) struct Accessibility {
    session_bus: Option<String>,
    wake: Arc<dyn Fn() + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connected: Option<Arc<Connected>>,
    failed: Option<(Instant, String)>,
}

struct Connected {
    bus: Bus,
    events: Events,
    applications: Applications,
    readings: Mutex<HashMap<Object, Reading>>,
    revision: AtomicU64,
}

/// What was read below one top-level accessible, and the answers that were made of it.
#[derive(Clone)]
struct Reading {
    count: u64,
    at: Instant,
    nodes: Arc<Nodes>,
    parents: Arc<HashMap<Arc<str>, Arc<str>>>,
    settling: bool,
    overtaken: bool,
    trees: Vec<(TreeAsk, Option<Projection>, Arc<NativeTree>)>,
}

/// The window whose tree is meant.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Its top-level accessible.
    pub(crate) top: Object,
    /// The toolkit.
    pub(crate) toolkit: Arc<str>,
    /// The toolkit's version.
    pub(crate) version: Arc<str>,
    /// Where X11 has the window.
    pub(crate) placement: Placement,
}

impl Accessibility {
    /// The accessibility bus behind the session bus at `session_bus`. Nothing is connected yet. `wake` is called
    /// whenever an application announced a change.
    pub(crate) fn new(session_bus: Option<String>, wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { session_bus, wake, state: Mutex::default() }
    }

    /// Who is on the bus.
    ///
    /// # Errors
    /// [`Fault::Backend`] where the bus cannot be reached.
    pub(crate) fn applications(&self, limit: &Limit) -> Result<Vec<Application>, Fault> {
        self.with(|connected| connected.applications.list(&connected.bus, &connected.events, limit))
    }

    /// The tree of a window or of one element of it.
    ///
    /// # Errors
    /// As [`deskhand_contract::provider::Provider::tree`].
    pub(crate) fn tree(&self, target: &Target, ask: &TreeAsk, limit: &Limit) -> Result<Arc<NativeTree>, Fault> {
        let connected = self.connected()?;
        let reading = connected.reading(target, limit).map_err(fault)?;
        connected.tree(target, &reading, ask, limit)
    }

    /// One element read live.
    ///
    /// # Errors
    /// As [`deskhand_contract::provider::Provider::resolve`].
    pub(crate) fn resolve(&self, target: &Target, element: &Object, limit: &Limit) -> Result<Resolved, Fault> {
        let connected = self.connected()?;
        connected.live(target, element, limit).map(|live| live.resolved).map_err(fault)
    }

    /// An element's value, read live.
    ///
    /// # Errors
    /// As [`deskhand_contract::provider::Provider::value`].
    pub(crate) fn value(&self, target: &Target, element: &Object, limit: &Limit) -> Result<NativeValue, Fault> {
        let connected = self.connected()?;
        let live = connected.live(target, element, limit).map_err(fault)?;
        if live.resolved.facts.protected {
            return Err(Fault::Unsupported("the value of a protected element is never read".to_owned()));
        }
        connected.bus.wait(value(&connected.bus, element, &live.node, limit))
    }

    /// One effect, once.
    pub(crate) fn perform(&self, element: &Object, effect: &Effect, limit: &Limit) -> Dispatch {
        let connected = match self.connected() {
            Ok(connected) => connected,
            Err(fault) => return Dispatch::NotStarted(fault),
        };
        // Identity was proven just before, by `resolve`; here only what the effect itself is chosen by is read again.
        let done = connected.bus.wait(async {
            match subject(&connected.bus, element, matches!(effect, Effect::Select), limit).await {
                Ok(subject) => perform::perform(&connected.bus, element, &subject, effect, limit).await,
                Err(missing) => Dispatch::NotStarted(fault(missing)),
            }
        });
        // Whatever was read before the effect is overtaken, also where the toolkit announces nothing. Nobody is
        // woken: those who wait for the effect wait for the application's own word.
        for (_, reading) in connected.lock().iter_mut().filter(|(top, _)| top.bus == element.bus) {
            reading.overtaken = true;
        }
        done
    }

    fn with<T>(&self, question: impl Fn(&Connected) -> Result<T, BusFault>) -> Result<T, Fault> {
        let connected = self.connected()?;
        match question(&connected) {
            Err(BusFault::Lost) if connected.bus.is_closed() => {
                // Reads may be asked once more, of a new connection.
                self.lock().connected = None;
                question(&*self.connected()?).map_err(fault)
            }
            answer => answer.map_err(fault),
        }
    }

    fn connected(&self) -> Result<Arc<Connected>, Fault> {
        let mut state = self.lock();
        if let Some(connected) = state.connected.as_ref().filter(|connected| !connected.bus.is_closed()) {
            return Ok(Arc::clone(connected));
        }
        state.connected = None;
        if let Some((at, why)) = &state.failed
            && at.elapsed() < REST
        {
            return Err(unreachable(why));
        }
        match Connected::new(self.session_bus.as_deref(), &self.wake) {
            Ok(connected) => {
                let connected = Arc::new(connected);
                state.connected = Some(Arc::clone(&connected));
                state.failed = None;
                Ok(connected)
            }
            Err(why) => {
                let fault = unreachable(&why);
                state.failed = Some((Instant::now(), why));
                Err(fault)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreachable(why: &str) -> Fault {
    Fault::Backend(format!(
        "the accessibility bus cannot be reached: {why}; install at-spi2-core and log in again, or start a private \
         desktop: deskhand desktop start"
    ))
}

impl Connected {
    fn new(session_bus: Option<&str>, wake: &Arc<dyn Fn() + Send + Sync>) -> Result<Self, String> {
        let session = session_bus.ok_or_else(|| "DBUS_SESSION_BUS_ADDRESS is not set".to_owned())?;
        let limit = Limit::after(Duration::from_secs(5));
        let address: String = {
            let bus = Bus::connect(session)?;
            let call =
                Call { bus: "org.a11y.Bus", path: "/org/a11y/bus", interface: "org.a11y.Bus", method: "GetAddress" };
            bus.ask(&call, &(), &limit).map_err(|fault| format!("org.a11y.Bus does not answer ({fault:?})"))?
        };
        let bus = Bus::connect(&address)?;
        let wake = Arc::clone(wake);
        let events = Events::new(Box::new(move || wake()));
        events.listen(&bus)?;
        let call = Call { bus: REGISTRY, path: REGISTRY_PATH, interface: REGISTRY, method: "RegisterEvent" };
        for class in CLASSES {
            // Applications switch their caches on once somebody asks for events.
            let asked: Result<(), BusFault> = bus.ask(&call, &(*class, Vec::<String>::new(), ""), &limit);
            if asked.is_err() {
                bus.ask::<_, ()>(&call, class, &limit)
                    .map_err(|fault| format!("the registry refuses events ({fault:?})"))?;
            }
        }
        Ok(Self {
            bus,
            events,
            applications: Applications::default(),
            readings: Mutex::default(),
            revision: AtomicU64::new(1),
        })
    }

    /// What lies below the target's top, as fresh as what was announced.
    fn reading(&self, target: &Target, limit: &Limit) -> Result<Reading, BusFault> {
        let believed = if announces_all(&target.toolkit, &target.version) { BELIEVE } else { BELIEVE_LESS };
        let known = self.lock().get(&target.top).cloned();
        if let Some(known) = known {
            let whole = !known.nodes.partial && !known.settling && !known.overtaken;
            if whole && known.count == self.events.of(&target.top.bus) && known.at.elapsed() < believed {
                return Ok(known);
            }
        }
        let settled = Instant::now() + SETTLE;
        let (count, nodes, settling) = loop {
            let count = self.events.of(&target.top.bus);
            let read = nodes::read(
                &self.bus,
                &target.top.bus,
                &target.toolkit,
                &target.version,
                std::slice::from_ref(&target.top),
                limit,
            );
            let nodes = self.bus.wait(read).inspect_err(|fault| {
                if *fault == BusFault::Silent {
                    self.applications.note_silent(&target.top.bus);
                }
            })?;
            if !nodes.by_path.contains_key(&target.top.path) {
                return Err(if nodes.partial { BusFault::Silent } else { BusFault::Absent });
            }
            let thin = reachable(&nodes, &target.top.path) < THIN;
            if !thin || Instant::now() >= settled || limit.is_over() {
                break (count, nodes, thin);
            }
            std::thread::sleep(Duration::from_millis(60).min(limit.remaining()));
        };
        // Only what hangs below the top counts: GTK 4's cache knows pages of stacks that no list of children names.
        let mut parents: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        let mut waiting = vec![Arc::clone(&target.top.path)];
        while let Some(path) = waiting.pop() {
            let Some(node) = nodes.by_path.get(&path) else { continue };
            for child in node.children.iter().filter(|child| **child != target.top.path) {
                if let std::collections::hash_map::Entry::Vacant(place) = parents.entry(Arc::clone(child)) {
                    place.insert(Arc::clone(&path));
                    waiting.push(Arc::clone(child));
                }
            }
        }
        let reading = Reading {
            count,
            at: Instant::now(),
            nodes: Arc::new(nodes),
            parents: Arc::new(parents),
            settling,
            overtaken: false,
            trees: Vec::new(),
        };
        let mut readings = self.lock();
        if readings.len() >= MAX_READINGS
            && let Some(oldest) = readings.iter().min_by_key(|(_, reading)| reading.at).map(|(top, _)| top.clone())
        {
            readings.remove(&oldest);
        }
        readings.insert(target.top.clone(), reading.clone());
        Ok(reading)
    }

    fn tree(&self, target: &Target, reading: &Reading, ask: &TreeAsk, limit: &Limit) -> Result<Arc<NativeTree>, Fault> {
        let root = match &ask.root {
            Some(key) => Object::from_native(key).ok_or(Fault::Gone)?,
            None => target.top.clone(),
        };
        if root.bus != target.top.bus || !reading.nodes.by_path.contains_key(&root.path) {
            return Err(Fault::Gone);
        }
        let window = self.window(target, Some(reading), ask.bounds, limit);
        let kept = reading.trees.iter().find(|(kept, projection, _)| kept == ask && *projection == window.projection);
        if let Some((_, _, tree)) = kept {
            return Ok(Arc::clone(tree));
        }
        let source = Source {
            bus: &self.bus,
            name: &target.top.bus,
            toolkit: &target.toolkit,
            version: &target.version,
            nodes: &reading.nodes,
            window,
        };
        let revision = self.revision.fetch_add(1, Ordering::Relaxed);
        let mut tree = source.tree(&root, reading.surroundings(&root.path, &target.top.path), ask, revision, limit);
        if reading.settling {
            tree.notes.push(advice(target, reading));
        }
        let tree = Arc::new(tree);
        if !tree.notes.contains(&TreeNote::Partial)
            && let Some(kept) = self.lock().get_mut(&target.top).filter(|kept| Arc::ptr_eq(&kept.nodes, &reading.nodes))
        {
            if kept.trees.len() >= MAX_TREES {
                kept.trees.remove(0);
            }
            kept.trees.push((ask.clone(), window.projection, Arc::clone(&tree)));
        }
        Ok(tree)
    }

    fn live(&self, target: &Target, element: &Object, limit: &Limit) -> Result<Live, BusFault> {
        let reading = self.lock().get(&target.top).cloned();
        let expected =
            reading.as_ref().map(|reading| reading.way_up(&element.path, &target.top.path)).unwrap_or_default();
        let window = self.window(target, reading.as_ref(), true, limit);
        self.bus.wait(resolve(&self.bus, &target.toolkit, &target.top, element, &expected, window, limit))
    }

    /// What the top says now of showing and place.
    fn window(&self, target: &Target, reading: Option<&Reading>, bounds: bool, limit: &Limit) -> Window {
        let gtk4 = is_gtk4(&target.toolkit, &target.version);
        let top = reading.and_then(|reading| reading.nodes.by_path.get(&target.top.path));
        let showing_means = !gtk4 && top.is_some_and(|top| top.states.has(Raw::Showing));
        let projection = bounds.then(|| {
            let coordinates = Projection::coordinates_of(&target.toolkit, &target.version);
            let call =
                Call { bus: &target.top.bus, path: &target.top.path, interface: COMPONENT, method: "GetExtents" };
            let extents: Result<(i32, i32, i32, i32), BusFault> = self.bus.ask(&call, &(coordinates as u32), limit);
            let extents = extents.ok().map(|(x, y, width, height)| Extents { x, y, width, height });
            Projection::of(&target.toolkit, &target.version, extents, target.placement)
        });
        Window { showing_means, projection }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Object, Reading>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    /// The paths from an element up to the top, as they were read; empty where they were not.
    fn way_up(&self, element: &Arc<str>, top: &Arc<str>) -> Vec<Arc<str>> {
        let mut way = vec![Arc::clone(element)];
        while way.last() != Some(top) {
            let Some(parent) = way.last().and_then(|path| self.parents.get(path)) else { return Vec::new() };
            if way.len() > 200 {
                return Vec::new();
            }
            way.push(Arc::clone(parent));
        }
        way
    }

    fn surroundings(&self, path: &Arc<str>, top: &Arc<str>) -> Surroundings {
        let mut around = Surroundings { top: path == top, ..Surroundings::default() };
        let parent = self.parents.get(path).and_then(|parent| self.nodes.by_path.get(parent));
        around.selectable = parent.is_some_and(|parent| parent.interfaces.has(Interface::Selection));
        let mut current = self.parents.get(path);
        for _ in 0..200 {
            let Some(ancestor) = current else { break };
            let node = self.nodes.by_path.get(ancestor);
            around.protected |= node.is_some_and(is_protected);
            // The nearest ancestor that begins a realm of its own decides.
            if let Some(node) = node.filter(|_| around.realm == Realm::default()) {
                around.realm = Realm::default().below(native_name(node.role));
            }
            current = self.parents.get(ancestor);
        }
        around
    }
}

fn reachable(nodes: &Nodes, top: &Arc<str>) -> usize {
    let mut waiting = vec![top];
    let mut count = 0;
    while let Some(path) = waiting.pop() {
        count += 1;
        if count >= THIN {
            break;
        }
        if let Some(node) = nodes.by_path.get(path) {
            waiting.extend(&node.children);
        }
    }
    count
}

fn advice(target: &Target, reading: &Reading) -> TreeNote {
    if target.toolkit.eq_ignore_ascii_case("chromium") || reading.nodes.nulls > 0 {
        return TreeNote::Advice(
            "The page is not exposed: this browser's renderer accessibility is off. Start it with \
             --force-renderer-accessibility."
                .to_owned(),
        );
    }
    TreeNote::Settling
}

fn is_gtk4(toolkit: &str, version: &str) -> bool {
    toolkit.eq_ignore_ascii_case("gtk") && version.starts_with('4')
}

fn announces_all(toolkit: &str, version: &str) -> bool {
    !is_gtk4(toolkit, version) && !toolkit.eq_ignore_ascii_case("qt")
}
