//! An application's objects, read in bulk where its toolkit can and pipelined where not.
//!
//! | toolkit | how |
//! | --- | --- |
//! | ATK (GTK 3, Firefox, Chromium, LibreOffice) | `Cache.GetItems`, then only what its child counts say is missing |
//! | GTK 4 | `GetChildren` walk, pipelined, which fills its cache; then `GetItems` |
//! | Qt and all others | pipelined walk |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deskhand_contract::element::MAX_TEXT;
use deskhand_contract::limit::Limit;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::interface::{ACCESSIBLE, CACHE, CACHE_PATH, Interfaces, TABLE};
use super::object::{Object, Reference, object};
use crate::map::state::{Raw, RawStates};
use crate::sys::bus::{Bus, BusFault, Call};

/// Objects of one application that are read at most.
pub(crate) const MAX_OBJECTS: usize = 60_000;
/// Levels of a tree that are followed at most. A chain beyond it is broken, not deep.
const MAX_LEVELS: u32 = 200;
/// Children that are believed. Spreadsheets claim 2³¹.
const MAX_CHILDREN: i32 = 20_000;
/// Children that are asked for also of a container that makes them on demand.
const FEW: i32 = 200;
/// Cells of a lazy container that are read.
const MAX_CELLS: usize = 400;
/// Calls under way at once while walking.
const IN_FLIGHT: usize = 128;

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) interfaces: Interfaces,
    pub(crate) role: u32,
    pub(crate) name: Box<str>,
    pub(crate) description: Box<str>,
    pub(crate) states: RawStates,
    /// Its children, in order, as far as they were read.
    pub(crate) children: Vec<Arc<str>>,
    /// Children that it claims to have.
    pub(crate) claimed: i32,
    /// Why some were not read.
    pub(crate) unread: Option<Missing>,
}

/// Why an object's children were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Lazy,
    Time,
    Depth,
    Broken,
}

/// The objects of an application, by path.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub(crate) by_path: HashMap<Arc<str>, Node>,
    /// Whether the time ended before all was read.
    pub(crate) partial: bool,
    /// Null references that were passed over.
    pub(crate) nulls: u32,
}

type Item = (Reference, Reference, Reference, i32, i32, Vec<String>, String, u32, String, Vec<u32>);
type LegacyItem = (Reference, Reference, Reference, Vec<Reference>, Vec<String>, String, u32, String, Vec<u32>);

/// Reads everything below `tops` of the application `name`.
///
/// # Errors
/// [`BusFault::Silent`] where nothing at all came back in time.
pub(crate) async fn read(
    bus: &Bus,
    name: &Arc<str>,
    toolkit: &str,
    version: &str,
    tops: &[Object],
    limit: &Limit,
) -> Result<Nodes, BusFault> {
    let mut reading = Reading { bus, name, limit, nodes: Nodes::default(), shape: HashMap::new() };
    let gtk4 = toolkit.eq_ignore_ascii_case("gtk") && version.starts_with('4');
    let qt = toolkit.eq_ignore_ascii_case("qt");
    if gtk4 {
        reading.walk_shape(tops).await?;
        reading.take_items().await?;
    } else if !qt {
        match reading.take_items().await {
            Ok(()) | Err(BusFault::Absent | BusFault::Refused | BusFault::Malformed) => {}
            Err(fault) => return Err(fault),
        }
    }
    reading.complete(tops).await?;
    Ok(reading.nodes)
}

struct Reading<'a> {
    bus: &'a Bus,
    name: &'a Arc<str>,
    limit: &'a Limit,
    nodes: Nodes,
    /// Children lists that were asked for, of objects whose facts may still be missing.
    shape: HashMap<Arc<str>, Vec<Arc<str>>>,
}

impl Reading<'_> {
    /// Everything that the application's cache holds.
    async fn take_items(&mut self) -> Result<(), BusFault> {
        let call = Call { bus: self.name, path: CACHE_PATH, interface: CACHE, method: "GetItems" };
        let message = self.bus.call_raw(&call, &(), self.limit).await?;
        let body = message.body();
        let signature = body.signature().to_string();
        let mut by_parent: HashMap<Arc<str>, Vec<(i32, Arc<str>)>> = HashMap::new();
        if signature.contains("iiass") {
            let items: Vec<Item> = body.deserialize_ignore_signature().map_err(|_| BusFault::Malformed)?;
            for (own, _, parent, index, claimed, interfaces, name, role, description, states) in
                items.into_iter().take(MAX_OBJECTS)
            {
                let path: Arc<str> = own.1.as_str().into();
                if *parent.0 == **self.name {
                    by_parent.entry(parent.1.as_str().into()).or_default().push((index, Arc::clone(&path)));
                }
                self.nodes.by_path.insert(path, item(&interfaces, role, &name, &description, &states, claimed));
            }
        } else {
            let items: Vec<LegacyItem> = body.deserialize_ignore_signature().map_err(|_| BusFault::Malformed)?;
            for (own, _, _, children, interfaces, name, role, description, states) in
                items.into_iter().take(MAX_OBJECTS)
            {
                let path: Arc<str> = own.1.as_str().into();
                let claimed = i32::try_from(children.len()).unwrap_or(i32::MAX);
                let children: Vec<Arc<str>> = self.own_children(&children);
                let mut found = item(&interfaces, role, &name, &description, &states, claimed);
                found.children = children;
                self.nodes.by_path.insert(path, found);
            }
        }
        for (parent, mut children) in by_parent {
            // A cache may hold an object twice under one parent, or one at a place that another has taken.
            children.sort();
            children.dedup_by(|a, b| a.1 == b.1);
            if let Some(found) = self.nodes.by_path.get_mut(&parent) {
                found.children = children.into_iter().map(|(_, path)| path).collect();
            }
        }
        // Where the walk asked for the order itself, that order is the better one.
        for (parent, children) in std::mem::take(&mut self.shape) {
            if let Some(found) = self.nodes.by_path.get_mut(&parent) {
                found.children = children;
            }
        }
        Ok(())
    }

    /// Only the children lists, level beside level.
    async fn walk_shape(&mut self, tops: &[Object]) -> Result<(), BusFault> {
        let mut seen: HashSet<Arc<str>> = tops.iter().map(|top| Arc::clone(&top.path)).collect();
        let mut waiting: Vec<(Arc<str>, u32)> = tops.iter().rev().map(|top| (Arc::clone(&top.path), 0)).collect();
        let mut running = FuturesUnordered::new();
        let mut answered = false;
        let mut fault = None;
        loop {
            while running.len() < IN_FLIGHT {
                let Some((path, depth)) = waiting.pop() else { break };
                running.push(children_of(self.bus, self.name, path, depth, self.limit));
            }
            let Some((path, depth, children)) = running.next().await else { break };
            match children {
                Ok(children) => {
                    answered = true;
                    let paths = own_children(self.name, &children, &mut self.nodes.nulls);
                    if depth < MAX_LEVELS && seen.len() < MAX_OBJECTS {
                        for child in paths.iter().rev() {
                            if seen.insert(Arc::clone(child)) {
                                waiting.push((Arc::clone(child), depth + 1));
                            }
                        }
                    }
                    self.shape.insert(path, paths);
                }
                Err(BusFault::Silent | BusFault::NotSent) => self.nodes.partial = true,
                Err(other) => fault = Some(other),
            }
        }
        match (answered, fault) {
            (true, _) => Ok(()),
            (false, Some(fault)) => Err(fault),
            (false, None) => Err(BusFault::Silent),
        }
    }

    /// Reads what is missing below `tops`: unknown objects, and lists that are shorter than claimed.
    async fn complete(&mut self, tops: &[Object]) -> Result<(), BusFault> {
        let mut seen: HashSet<Arc<str>> = HashSet::new();
        let mut waiting: Vec<(Arc<str>, u32)> = tops.iter().rev().map(|top| (Arc::clone(&top.path), 0)).collect();
        let mut running = FuturesUnordered::new();
        let mut asked = 0_usize;
        loop {
            while running.len() < IN_FLIGHT {
                let Some((path, depth)) = waiting.pop() else { break };
                if !seen.insert(Arc::clone(&path)) {
                    continue;
                }
                match self.nodes.by_path.get_mut(&path) {
                    Some(known) if is_whole(known) => push_children(known, depth, &mut waiting),
                    _ if seen.len() >= MAX_OBJECTS => self.nodes.partial = true,
                    known => {
                        asked += 1;
                        let facts = known.map(|known| known.clone());
                        running.push(read_one(self.bus, self.name, path, depth, facts, self.limit));
                    }
                }
            }
            let Some((path, depth, answer)) = running.next().await else { break };
            match answer {
                Ok((mut found, nulls)) => {
                    self.nodes.nulls += nulls;
                    push_children(&mut found, depth, &mut waiting);
                    self.nodes.by_path.insert(path, found);
                }
                Err(BusFault::Silent | BusFault::NotSent | BusFault::Cancelled) => self.nodes.partial = true,
                // It died while its parent still names it.
                Err(_) => {
                    self.nodes.by_path.remove(&path);
                }
            }
        }
        if self.nodes.by_path.is_empty() && asked > 0 && self.nodes.partial {
            return Err(BusFault::Silent);
        }
        Ok(())
    }

    fn own_children(&mut self, references: &[Reference]) -> Vec<Arc<str>> {
        own_children(self.name, references, &mut self.nodes.nulls)
    }
}

async fn children_of(
    bus: &Bus,
    name: &str,
    path: Arc<str>,
    depth: u32,
    limit: &Limit,
) -> (Arc<str>, u32, Result<Vec<Reference>, BusFault>) {
    let children = {
        let call = Call { bus: name, path: &path, interface: ACCESSIBLE, method: "GetChildren" };
        bus.call(&call, &(), limit).await
    };
    (path, depth, children)
}

/// Whether everything that the object claims was read, or must not be asked for.
fn is_whole(known: &Node) -> bool {
    // ATK's cache says 0 for what makes its children on demand: the object itself must be asked.
    let unsaid = known.states.has(Raw::ManagesDescendants) && known.claimed <= 0;
    known.unread.is_some()
        || (!unsaid && !is_lazy(known) && known.claimed >= 0 && known.children.len() == known.claimed as usize)
}

/// Whether its children must not be asked for: it makes them on demand and there are many. A combo box's list
/// says that it makes them on demand too, and has three.
fn is_lazy(known: &Node) -> bool {
    let few = (0..=FEW).contains(&known.claimed);
    (known.states.has(Raw::ManagesDescendants) && !few) || known.claimed > MAX_CHILDREN
}

fn push_children(known: &mut Node, depth: u32, waiting: &mut Vec<(Arc<str>, u32)>) {
    if depth >= MAX_LEVELS {
        if !known.children.is_empty() {
            known.unread = Some(Missing::Depth);
            known.children.clear();
        }
        return;
    }
    waiting.extend(known.children.iter().rev().map(|child| (Arc::clone(child), depth + 1)));
}

/// Reads one object's facts (unless `known`) and its children.
async fn read_one(
    bus: &Bus,
    name: &Arc<str>,
    path: Arc<str>,
    depth: u32,
    known: Option<Node>,
    limit: &Limit,
) -> (Arc<str>, u32, Result<(Node, u32), BusFault>) {
    let answer = async {
        let mut found = match known {
            Some(known) => known,
            None => facts(bus, name, &path, limit).await?,
        };
        let mut nulls = 0;
        if found.states.has(Raw::ManagesDescendants) && found.claimed <= 0 {
            found.claimed = bus.property::<i32>((name, &path), ACCESSIBLE, "ChildCount", limit).await.unwrap_or(0);
        }
        if is_lazy(&found) {
            found.unread = Some(Missing::Lazy);
            found.children = cells_in_view(bus, name, &path, &found, limit).await;
            return Ok((found, nulls));
        }
        let call = Call { bus: name, path: &path, interface: ACCESSIBLE, method: "GetChildren" };
        match bus.call::<_, Vec<Reference>>(&call, &(), limit).await {
            Ok(children) => {
                let paths = own_children(name, &children, &mut nulls);
                // A count that does not come true is wrong, and what came is what there is.
                found.claimed = i32::try_from(paths.len()).unwrap_or(i32::MAX);
                found.children = paths;
            }
            Err(BusFault::Silent | BusFault::NotSent | BusFault::Cancelled) => found.unread = Some(Missing::Time),
            Err(_) => {
                found.claimed = i32::try_from(found.children.len()).unwrap_or(i32::MAX);
                found.unread = Some(Missing::Broken);
            }
        }
        Ok((found, nulls))
    }
    .await;
    (path, depth, answer)
}

/// An object's facts, all asked for at once.
pub(crate) async fn facts(bus: &Bus, name: &str, path: &str, limit: &Limit) -> Result<Node, BusFault> {
    let method = |method| Call { bus: name, path, interface: ACCESSIBLE, method };
    let (role_call, state_call, interface_call) = (method("GetRole"), method("GetState"), method("GetInterfaces"));
    let (role, states, interfaces, label, description, claimed) = tokio::join!(
        bus.call::<_, u32>(&role_call, &(), limit),
        bus.call::<_, Vec<u32>>(&state_call, &(), limit),
        bus.call::<_, Vec<String>>(&interface_call, &(), limit),
        bus.property::<String>((name, path), ACCESSIBLE, "Name", limit),
        bus.property::<String>((name, path), ACCESSIBLE, "Description", limit),
        bus.property::<i32>((name, path), ACCESSIBLE, "ChildCount", limit),
    );
    let states = states?;
    if RawStates::of_words(&states).has(Raw::Defunct) {
        return Err(BusFault::Absent);
    }
    Ok(item(
        &interfaces.unwrap_or_default(),
        role?,
        &label.unwrap_or_default(),
        &description.unwrap_or_default(),
        &states,
        claimed.unwrap_or(0),
    ))
}

fn item(interfaces: &[String], role: u32, name: &str, description: &str, states: &[u32], claimed: i32) -> Node {
    Node {
        interfaces: Interfaces::of_names(interfaces),
        role,
        name: shown_name(name),
        description: capped(description),
        states: RawStates::of_words(states),
        children: Vec::new(),
        claimed,
        unread: None,
    }
}

/// A name as it is shown and compared: GTK 4 puts the widget's type where there is no name, which is none.
pub(crate) fn shown_name(name: &str) -> Box<str> {
    let is_type = name.strip_prefix("Gtk").or_else(|| name.strip_prefix("Adw")).is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_uppercase())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    if is_type { "".into() } else { capped(name) }
}

/// The text, at most [`MAX_TEXT`] characters; object replacement characters are no text.
pub(crate) fn capped(text: &str) -> Box<str> {
    let mut kept: String = text.chars().filter(|character| *character != '\u{fffc}').take(MAX_TEXT).collect();
    if text.chars().count() > MAX_TEXT {
        kept.push('…');
    }
    kept.trim().into()
}

/// Children that belong to the application itself, nulls left out. A foreign reference (an embedded plug) is
/// not followed: it is another process's tree.
fn own_children(name: &str, references: &[Reference], nulls: &mut u32) -> Vec<Arc<str>> {
    let mut paths = Vec::with_capacity(references.len());
    let mut seen = HashSet::new();
    for reference in references {
        let child = object(reference);
        if child.is_null() {
            *nulls += 1;
        } else if *child.bus == *name && seen.insert(Arc::clone(&child.path)) {
            paths.push(child.path);
        }
    }
    paths
}

/// The cells of a table that are in view, by asking which cells stand at its corners.
async fn cells_in_view(bus: &Bus, name: &str, path: &str, found: &Node, limit: &Limit) -> Vec<Arc<str>> {
    use super::interface::{COMPONENT, Interface};
    if !found.interfaces.has(Interface::Component) {
        return Vec::new();
    }
    let component = |method| Call { bus: name, path, interface: COMPONENT, method };
    let Ok((x, y, width, height)) = bus.call::<_, (i32, i32, i32, i32)>(&component("GetExtents"), &0_u32, limit).await
    else {
        return Vec::new();
    };
    if width <= 2 || height <= 2 {
        return Vec::new();
    }
    let corner = async |dx: i32, dy: i32| {
        let call = component("GetAccessibleAtPoint");
        let reference = bus.call::<_, Reference>(&call, &(x + dx, y + dy, 0_u32), limit).await.ok()?;
        let child = object(&reference);
        (!child.is_null() && *child.bus == *name && *child.path != *path).then_some(child)
    };
    if found.interfaces.has(Interface::Table) {
        let first = corner(width.min(60) / 2, height.min(30) / 2).await;
        let last = corner(width - 4, height - 4).await;
        if let (Some(first), Some(last)) = (first, last) {
            let table = Call { bus: name, path, interface: TABLE, method: "" };
            let place = async |cell: &Object| {
                let call = Call { bus: name, path: &cell.path, interface: ACCESSIBLE, method: "GetIndexInParent" };
                let index: i32 = bus.call(&call, &(), limit).await.ok()?;
                let (row_call, column_call) =
                    (Call { method: "GetRowAtIndex", ..table }, Call { method: "GetColumnAtIndex", ..table });
                let (row, column) = tokio::join!(
                    bus.call::<_, i32>(&row_call, &index, limit),
                    bus.call::<_, i32>(&column_call, &index, limit),
                );
                Some((row.ok()?, column.ok()?))
            };
            if let (Some((top, left)), Some((bottom, right))) = (place(&first).await, place(&last).await) {
                return table_cells(bus, name, table, (top, left), (bottom, right), limit).await;
            }
        }
    }
    // Without a table: sample the area.
    let mut cells: Vec<Arc<str>> = Vec::new();
    let step = (height / 40).max(12);
    let points = (0..height / step).take(60).map(|row| (width / 2, row * step + step / 2));
    let mut running: FuturesUnordered<_> = points.map(|(dx, dy)| async move { (dy, corner(dx, dy).await) }).collect();
    let mut found_cells = Vec::new();
    while let Some((dy, cell)) = running.next().await {
        if let Some(cell) = cell {
            found_cells.push((dy, cell.path));
        }
    }
    found_cells.sort();
    for (_, path) in found_cells {
        if cells.last() != Some(&path) && !cells.contains(&path) {
            cells.push(path);
        }
    }
    cells
}

async fn table_cells(
    bus: &Bus,
    name: &str,
    table: Call<'_>,
    from: (i32, i32),
    to: (i32, i32),
    limit: &Limit,
) -> Vec<Arc<str>> {
    let (rows, columns) =
        (from.0.max(0)..=to.0.min(from.0.saturating_add(200)), from.1.max(0)..=to.1.min(from.1.saturating_add(60)));
    let places: Vec<(i32, i32)> =
        rows.flat_map(|row| columns.clone().map(move |column| (row, column))).take(MAX_CELLS).collect();
    let call = Call { method: "GetAccessibleAt", ..table };
    let answers = crate::sys::bus::all(places.iter().map(|place| bus.call::<_, Reference>(&call, place, limit))).await;
    answers
        .into_iter()
        .flatten()
        .map(|reference| object(&reference))
        .filter(|cell| !cell.is_null() && *cell.bus == *name)
        .map(|cell| cell.path)
        .collect()
}
