//! Trees as the engine asks for them: one ask for every reader, so that the provider answers the same one from
//! memory while nothing changed, and an answer whose shape is proven before anyone walks it.

use std::sync::Arc;

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Fault, NativeKey, NativeTree, TreeAsk, TreeNote};

use crate::call::Call;

/// Nodes that are read of a window at most. What is shown is far less.
pub(crate) const MAX_READ: u32 = 20_000;
/// Levels that are read at most; wrappers included, so more than are shown.
pub(crate) const MAX_LEVELS: u32 = 200;

/// What an outline needs.
pub(crate) fn outline_ask(root: Option<&NativeKey>) -> TreeAsk {
    TreeAsk {
        root: root.cloned(),
        max_nodes: MAX_READ,
        max_depth: MAX_LEVELS,
        bounds: false,
        affordances: false,
        values: true,
    }
}

/// What structured nodes need. Bounds and affordances cost a question a node, so no more are read than could be shown.
pub(crate) fn structured_ask(root: Option<&NativeKey>, max_nodes: u32) -> TreeAsk {
    let read = max_nodes.saturating_mul(3).min(MAX_READ);
    TreeAsk { max_nodes: read, bounds: true, affordances: true, ..outline_ask(root) }
}

/// Reads a tree within the call's limit.
///
/// # Errors
/// What the provider says; [`Fault::Unsupported`] where its answer is not a tree.
pub(crate) fn read(call: &Call<'_>, window: &NativeKey, ask: &TreeAsk) -> Result<Arc<NativeTree>, Fault> {
    read_within(call, window, ask, &call.limit)
}

/// The tree, where parents come before their children and nothing is deeper than can be followed; the part of
/// it for which that holds, else.
pub(crate) fn sound(tree: Arc<NativeTree>) -> Result<Arc<NativeTree>, Fault> {
    if tree.nodes.first().is_none_or(|root| root.parent.is_some()) {
        return Err(Fault::Unsupported("the application's answer holds no root".to_owned()));
    }
    let mut depths: Vec<u32> = Vec::with_capacity(tree.nodes.len());
    for (index, node) in tree.nodes.iter().enumerate() {
        let depth = match node.parent {
            None if index == 0 => 0,
            Some(parent) if (parent as usize) < index && depths[parent as usize] < MAX_LEVELS => {
                depths[parent as usize] + 1
            }
            // A second root, a parent that comes later, or too deep: it and all below it are left out.
            _ => u32::MAX,
        };
        depths.push(depth);
    }
    let broken = depths.contains(&u32::MAX) || depths.len() > MAX_READ as usize;
    if !broken {
        return Ok(tree);
    }
    let mut places: Vec<Option<u32>> = Vec::with_capacity(depths.len());
    let mut nodes = Vec::new();
    for (node, depth) in tree.nodes.iter().zip(&depths) {
        let parent = node.parent.map(|parent| places.get(parent as usize).copied().flatten());
        let kept = *depth != u32::MAX && parent != Some(None) && nodes.len() < MAX_READ as usize;
        places.push(kept.then_some(nodes.len() as u32));
        if kept {
            let mut node = node.clone();
            node.parent = parent.flatten();
            nodes.push(node);
        }
    }
    let mut whole = NativeTree::clone(&tree);
    whole.nodes = nodes;
    whole.notes.push(TreeNote::Cut);
    Ok(Arc::new(whole))
}

/// Notes of a tree in sentences.
pub(crate) fn notes(tree: &NativeTree) -> Vec<String> {
    let mut notes: Vec<String> = tree
        .notes
        .iter()
        .map(|note| match note {
            TreeNote::Settling => "The application is still building its tree: look again.".to_owned(),
            TreeNote::Partial => "The time was over before all was read: this is a part.".to_owned(),
            TreeNote::Cut => "Not all nodes were read: ask for a part with root.".to_owned(),
            TreeNote::Advice(advice) => advice.clone(),
        })
        .collect();
    notes.dedup();
    notes
}

/// Reads a tree within a tighter limit.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_within(
    call: &Call<'_>,
    window: &NativeKey,
    ask: &TreeAsk,
    limit: &Limit,
) -> Result<Arc<NativeTree>, Fault> {
    let (window, ask) = (window.clone(), ask.clone());
    sound(call.read_within(limit, move |provider, limit| provider.tree(&window, &ask, limit))?)
}
