//! A window's tree: what is shown of it, in the caller's ids, and what changed since an earlier look.

use std::collections::HashSet;
use std::sync::Arc;

use deskhand_contract::action::TreeFormat;
use deskhand_contract::element::{ElementFacts, ValuePresence};
use deskhand_contract::error::CallError;
use deskhand_contract::id::{ElementId, SurfaceId};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Fault, NativeKey, NativeNode, NativeTree, TreeNote};
use deskhand_contract::reply::{Delta, Node, Tree};

use super::windows;
use crate::bind::{self, Target};
use crate::call::Call;
use crate::delta::{self, Seen};
use crate::element::Shown;
use crate::lineage::{Sighting, Sightings};
use crate::outline::{self, Written};
use crate::projection::{Bounds, Projection, What, project, shown_parents};
use crate::surface::{Observation, View};
use crate::trees;

/// What an effect's change is told of: as much as the default outline shows.
const DEFAULT_VIEW: View = View { root: None, max_depth: 24, max_nodes: 400 };

/// Reads the tree of a window, or what changed in it.
pub(crate) fn read(
    call: &Call<'_>,
    surface: &SurfaceId,
    view: View,
    since: Option<u64>,
    format: TreeFormat,
) -> Result<Tree, CallError> {
    let target = bind::target(call, surface, view.root.as_ref())?;
    windows::usable(call, &target)?;
    let root = bind::sight(call, &target)?;
    let ask = match format {
        TreeFormat::Outline => trees::outline_ask(target.element_key()),
        TreeFormat::Json => trees::structured_ask(target.element_key(), view.max_nodes),
    };
    let tree = trees::read(call, &target.window, &ask).map_err(|fault| tree_fault(call, &target, fault))?;
    // What a delta leaves out, the caller is not shown.
    let whole = is_whole(&tree);
    let earlier =
        since.filter(|_| whole).and_then(|since| call.session.held().surfaces.observation(surface, since, &view));
    let shown = if earlier.is_some() { Shown::Quietly } else { Shown::ToCaller };
    let shot = Shot::take(call, surface, &view, tree, root.as_ref(), shown).ok_or_else(|| gone(call))?;
    let delta = earlier.map(|earlier| shot.since(call, surface, &earlier, view.max_nodes as usize));
    let mut notes = trees::notes(&shot.tree);
    if since.is_some() && delta.is_none() {
        let why = if whole { "it is not kept any more, or was of another view" } else { "not all was read this time" };
        notes.push(format!("Changes since that generation cannot be told ({why}): this is all there is."));
    }
    let changed = delta.as_ref().map(|(_, changed)| changed);
    let nodes = (format == TreeFormat::Json).then(|| shot.nodes(changed));
    let outline = (format == TreeFormat::Outline && delta.is_none()).then(|| outline::join(&shot.written));
    let answer = Tree {
        surface_id: surface.clone(),
        generation: shot.generation,
        outline,
        nodes,
        shown: u32::try_from(shot.projection.shown).unwrap_or(u32::MAX),
        total: u32::try_from(shot.tree.nodes.len()).unwrap_or(u32::MAX),
        truncated: shot.truncated(),
        delta: delta.map(|(delta, _)| delta),
        notes,
    };
    // What was not read would look as if it had gone.
    if whole {
        shot.keep(call, surface, view);
    }
    Ok(answer)
}

/// What a window showed before an effect.
pub(crate) struct Baseline {
    generation: u64,
    lines: Arc<[Seen]>,
}

/// Looks at a window before an effect. Its caller is shown nothing.
pub(crate) fn baseline(call: &Call<'_>, target: &Target, limit: &Limit) -> Option<Baseline> {
    let tree = whole(call, target, limit)?;
    let shot = Shot::take(call, &target.surface, &DEFAULT_VIEW, tree, None, Shown::Quietly)?;
    Some(Baseline { generation: shot.generation, lines: shot.lines })
}

/// What changed since then, for the caller to see.
pub(crate) fn changes(
    call: &Call<'_>,
    target: &Target,
    baseline: &Baseline,
    max: usize,
    limit: &Limit,
) -> Option<Delta> {
    let tree = whole(call, target, limit)?;
    let shot = Shot::take(call, &target.surface, &DEFAULT_VIEW, tree, None, Shown::Quietly)?;
    let (delta, _) = shot.told(call, &target.surface, baseline.generation, &baseline.lines, max);
    Some(delta)
}

/// The tree of a window, if all of it could be read: what was not would look as if it had changed.
fn whole(call: &Call<'_>, target: &Target, limit: &Limit) -> Option<Arc<NativeTree>> {
    let tree = trees::read_within(call, &target.window, &trees::outline_ask(None), limit).ok()?;
    is_whole(&tree).then_some(tree)
}

fn is_whole(tree: &NativeTree) -> bool {
    !tree.notes.contains(&TreeNote::Partial)
}

/// One look at a tree: what it shows, and the ids of what it shows.
struct Shot {
    generation: u64,
    tree: Arc<NativeTree>,
    projection: Projection,
    written: Vec<Written>,
    lines: Arc<[Seen]>,
    ids: Ids,
    root: Option<Sighting>,
}

/// The ids of a tree's nodes that were given one.
type Ids = std::collections::HashMap<u32, ElementId>;

impl Shot {
    /// `None` where the surface ended meanwhile.
    fn take(
        call: &Call<'_>,
        surface: &SurfaceId,
        view: &View,
        tree: Arc<NativeTree>,
        root: Option<&Sighting>,
        shown: Shown,
    ) -> Option<Self> {
        let bounds = Bounds {
            max_nodes: view.max_nodes as usize,
            max_depth: view.max_depth as usize,
            opened: view.root.is_some(),
        };
        let projection = project(&tree, bounds);
        let mut held = call.session.held();
        let generation = held.surfaces.generation(surface, view, tree.revision)?;
        let mut sightings = Sightings::below_of(&tree, root);
        let mut ids = Ids::new();
        let written = outline::write(&tree, &projection, &mut |node| {
            let identify = || {
                let sighting = sightings.of(node);
                held.elements.identify(surface, sighting, generation, shown, &call.runner.identities)
            };
            ids.entry(node).or_insert_with(identify).clone()
        });
        for line in &projection.lines {
            // Structured nodes and deltas name every node, also those whose line carries no id.
            if let What::Node(node) = line.what {
                ids.entry(node).or_insert_with(|| {
                    let sighting = sightings.of(node);
                    held.elements.identify(surface, sighting, generation, shown, &call.runner.identities)
                });
            }
        }
        drop(held);
        let lines = written
            .iter()
            .filter_map(|line| {
                let key = tree.nodes[line.node? as usize].key.clone();
                Some(Seen { key, text: line.text.clone() })
            })
            .collect();
        Some(Self { generation, projection, written, lines, ids, root: root.cloned(), tree })
    }

    /// What changed since an observation, and which nodes those are.
    fn since(
        &self,
        call: &Call<'_>,
        surface: &SurfaceId,
        earlier: &Observation,
        max: usize,
    ) -> (Delta, HashSet<NativeKey>) {
        self.told(call, surface, earlier.generation, &earlier.lines, max)
    }

    /// The difference, and that the caller is shown the nodes in it.
    fn told(
        &self,
        call: &Call<'_>,
        surface: &SurfaceId,
        since: u64,
        before: &[Seen],
        max: usize,
    ) -> (Delta, HashSet<NativeKey>) {
        let delta = delta::between(since, before, &self.lines, max);
        // As many of the added and changed ones as there were lines for, after the removed ones.
        let room = max.saturating_sub(delta.removed as usize);
        let old: std::collections::HashMap<&NativeKey, &str> =
            before.iter().map(|line| (&line.key, line.text.as_str())).collect();
        let changed: HashSet<NativeKey> = self
            .lines
            .iter()
            .filter(|line| old.get(&line.key) != Some(&line.text.as_str()))
            .take(room)
            .map(|line| line.key.clone())
            .collect();
        let mut sightings = Sightings::below_of(&self.tree, self.root.as_ref());
        let mut held = call.session.held();
        for (index, node) in self.tree.nodes.iter().enumerate() {
            if changed.contains(&node.key) && self.ids.contains_key(&(index as u32)) {
                let sighting = sightings.of(index as u32);
                held.elements.identify(surface, sighting, self.generation, Shown::ToCaller, &call.runner.identities);
            }
        }
        (delta, changed)
    }

    /// The shown nodes in structure; of a delta, those that it holds.
    fn nodes(&self, only: Option<&HashSet<NativeKey>>) -> Vec<Node> {
        let parents = shown_parents(&self.tree, &self.projection.lines);
        let shown = self.projection.lines.iter().filter_map(|line| match line.what {
            What::Node(node) => Some(node),
            What::Folded { .. } => None,
        });
        shown
            .filter(|index| only.is_none_or(|only| only.contains(&self.tree.nodes[*index as usize].key)))
            .filter_map(|index| {
                let node = &self.tree.nodes[index as usize];
                let parent = parents.get(&index).and_then(|parent| self.ids.get(parent)).cloned();
                Some(structured(self.ids.get(&index)?.clone(), parent, node))
            })
            .collect()
    }

    /// What the bound on nodes left out, and how to get it.
    fn truncated(&self) -> Option<String> {
        let left_out = self.projection.left_out;
        if left_out == 0 {
            return None;
        }
        let at = self.projection.cut_at.and_then(|node| self.ids.get(&node));
        let part = at.map_or_else(String::new, |id| format!(" It continues below root: {id};"));
        Some(format!("{left_out} more nodes are not shown.{part} raise max_nodes, or ask for a part with root."))
    }

    fn keep(self, call: &Call<'_>, surface: &SurfaceId, view: View) {
        let observation =
            Observation { generation: self.generation, view, revision: self.tree.revision, lines: self.lines };
        call.session.held().surfaces.keep(surface, observation);
    }
}

/// A node in structure.
pub(crate) fn structured(element_id: ElementId, parent: Option<ElementId>, node: &NativeNode) -> Node {
    let unread = node.unread.map(|unread| unread.total.unwrap_or(0));
    Node { unread, ..described(element_id, parent, &node.facts) }
}

/// An element's facts in the caller's words.
pub(crate) fn described(element_id: ElementId, parent: Option<ElementId>, facts: &ElementFacts) -> Node {
    Node {
        element_id,
        parent,
        role: facts.role,
        native_role: facts.native_role.to_string(),
        subrole: facts.subrole.as_ref().map(ToString::to_string),
        name: facts.name.to_string(),
        description: facts.description.to_string(),
        placeholder: facts.placeholder.to_string(),
        states: facts.states,
        bounds: facts.bounds.map(|bounds| bounds.rect),
        bounds_proven: facts.bounds.map(|bounds| bounds.proven),
        has_value: facts.value != ValuePresence::None,
        value_empty: match facts.value {
            _ if facts.protected => None,
            ValuePresence::Empty => Some(true),
            ValuePresence::Present => Some(false),
            ValuePresence::None | ValuePresence::Unknown => None,
        },
        affordances: facts.affordances.unwrap_or_default(),
        protected: facts.protected,
        unread: None,
    }
}

/// A fault of a tree: of the root element, where one was named.
pub(crate) fn tree_fault(call: &Call<'_>, target: &Target, fault: Fault) -> CallError {
    match (&target.element, fault) {
        (Some(_), Fault::Gone) => call.stale_element("This element is gone.", &target.surface, target.known()),
        (_, fault) => call.window_fault(fault),
    }
}

fn gone(call: &Call<'_>) -> CallError {
    call.stale_surface("This window ended while it was read.")
}
