//! Elements one by one: those that match a filter, and one as it is now.

use deskhand_contract::action::Filter;
use deskhand_contract::element::{ElementFacts, State};
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::id::{ElementId, SurfaceId};
use deskhand_contract::provider::{Fault, NativeTree, NativeValue};
use deskhand_contract::redacted::Disclosed;
use deskhand_contract::reply::{ElementState, Found, Node};

use super::tree::{described, structured};
use super::windows;
use crate::admit;
use crate::audit::{Entry, Happening};
use crate::bind::{self, Target};
use crate::call::Call;
use crate::element::Shown;
use crate::lineage::Sightings;
use crate::surface::View;
use crate::trees;

/// Finds elements, in document order.
pub(crate) fn find(call: &Call<'_>, surface: &SurfaceId, filter: &Filter, limit: u32) -> Result<Found, CallError> {
    let target = bind::target(call, surface, None)?;
    windows::usable(call, &target)?;
    let tree =
        trees::read(call, &target.window, &trees::outline_ask(None)).map_err(|fault| call.window_fault(fault))?;
    let matching = matching(&tree, filter);
    let count = u32::try_from(matching.len()).unwrap_or(u32::MAX);
    let shown = &matching[..matching.len().min(limit as usize)];
    let (generation, matches) = told(call, &target, &tree, shown)?;
    let mut notes = trees::notes(&tree);
    let unsearched = tree.nodes.iter().filter(|node| node.unread.is_some()).count();
    if unsearched > 0 {
        notes.push(format!("{unsearched} containers hold more than was read; what is in there was not searched."));
    }
    let truncated = count > limit || unsearched > 0 || !tree.notes.is_empty();
    Ok(Found { surface_id: surface.clone(), generation, matches, count, truncated, notes })
}

/// The nodes of a tree that match, by index.
pub(crate) fn matching(tree: &NativeTree, filter: &Filter) -> Vec<u32> {
    let matches = |facts: &ElementFacts| {
        let holds = |text: &str| filter.label.as_deref().is_none_or(|label| text.contains(label));
        filter.role.is_none_or(|role| role == facts.role)
            && filter.subrole.as_deref().is_none_or(|subrole| {
                facts.subrole.as_deref().is_some_and(|own| own == subrole || own.split(' ').any(|one| one == subrole))
            })
            && (holds(&facts.name) || holds(&facts.description) || holds(&facts.placeholder))
            && filter.focused.is_none_or(|focused| focused == facts.states.has(State::Focused))
            && filter.enabled.is_none_or(|enabled| enabled != facts.states.has(State::Disabled))
    };
    let found = tree.nodes.iter().enumerate().filter(|(_, node)| matches(&node.facts));
    found.map(|(index, _)| index as u32).collect()
}

/// Tells the caller of some nodes of a whole window's tree: each with its id, its affordances and its bounds, as far
/// as the application says them now. Also says the generation.
pub(crate) fn told(
    call: &Call<'_>,
    target: &Target,
    tree: &NativeTree,
    nodes: &[u32],
) -> Result<(u64, Vec<Node>), CallError> {
    // A search shows no view of its own: its generation is never a base for changes.
    let view = View { root: None, max_depth: 0, max_nodes: 0 };
    let mut sightings = Sightings::of_window(tree);
    let mut live = Vec::new();
    for index in nodes {
        let (window, key) = (target.window.clone(), tree.nodes[*index as usize].key.clone());
        match call.read(move |provider, limit| provider.resolve(&window, &key, limit)) {
            Ok(resolved) => live.push((*index, Some(resolved.facts))),
            // It went while it was told of.
            Err(Fault::Gone) => {}
            // What the tree said of it still stands; what can be done with it is not known.
            Err(_) => live.push((*index, None)),
        }
    }
    let mut held = call.session.held();
    let Some(generation) = held.surfaces.generation(&target.surface, &view, tree.revision) else {
        drop(held);
        return Err(call.stale_surface("This window ended while it was read."));
    };
    let told = live
        .into_iter()
        .map(|(index, facts)| {
            let sighting = sightings.of(index);
            let identities = &call.runner.identities;
            let id = held.elements.identify(&target.surface, sighting, generation, Shown::ToCaller, identities);
            let node = &tree.nodes[index as usize];
            match facts {
                Some(facts) => {
                    let unread = structured(id.clone(), None, node).unread;
                    Node { unread, ..described(id, None, &facts) }
                }
                None => structured(id, None, node),
            }
        })
        .collect();
    Ok((generation, told))
}

/// One element as it is now.
pub(crate) fn state(
    call: &Call<'_>,
    surface: &SurfaceId,
    element: &ElementId,
    include_value: bool,
) -> Result<ElementState, CallError> {
    let target = bind::target(call, surface, Some(element))?;
    let window = windows::usable(call, &target)?;
    let resolved = bind::live(call, &target)?;
    let value = if include_value {
        admit::content(call, &window, Some(&resolved.facts))?;
        Some(value(call, &target)?)
    } else {
        None
    };
    let generation = target.element.as_ref().map_or(1, |(_, known)| known.generation);
    // The caller now knows it by what it is now.
    if let Some(now) = bind::seen_now(&target, &resolved) {
        let identities = &call.runner.identities;
        call.session.held().elements.identify(surface, now, generation, Shown::ToCaller, identities);
    }
    let element = described(element.clone(), None, &resolved.facts);
    Ok(ElementState { surface_id: surface.clone(), generation, element, value })
}

/// An element's value, and the audit row of its reading.
fn value(call: &Call<'_>, target: &Target) -> Result<Disclosed, CallError> {
    let value = bind::value(call, target).map_err(|fault| match fault {
        Fault::Unsupported(why) => call.fail(ErrorCode::NotActionable, format!("It has no value to read: {why}.")),
        fault => call.element_fault(fault, &target.surface, target.known()),
    })?;
    let value = match value {
        NativeValue::Text(text) if text.len() > MAX_VALUE => return Err(call.fault(Fault::TooLarge)),
        NativeValue::Text(text) => text.expose().to_owned(),
        NativeValue::Number { current, .. } => current.to_string(),
    };
    let row = Entry {
        surface: Some(target.surface.clone()),
        element: target.element.as_ref().map(|(id, _)| id.clone()),
        role: target.known().map(|(role, _)| role),
        text_bytes: Some(value.len() as u64),
        ..call.entry(Happening::Read)
    };
    call.record(row)?;
    Ok(Disclosed(value))
}

/// Longest value that is returned, in bytes.
const MAX_VALUE: usize = 16 << 10;
