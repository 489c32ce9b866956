//! One element and its ancestors, read live.

use std::sync::Arc;

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{LineageStep, Resolved};

use super::facts::{Surroundings, Wanted, Window, extras, facts, is_protected, role};
use super::interface::{ACCESSIBLE, Interface};
use super::nodes::{self, Node};
use super::object::{Object, Reference, object};
use super::tree::identity_persists;
use crate::map::geometry::Realm;
use crate::map::role::native_name;
use crate::sys::bus::{Bus, BusFault, Call, all};

/// Ancestors that are followed.
const MAX_LEVELS: usize = 200;

/// An element as it is now, with its node.
pub(crate) struct Live {
    pub(crate) resolved: Resolved,
    pub(crate) node: Node,
    pub(crate) parent: Option<(Object, Node)>,
    pub(crate) index: Option<i32>,
}

/// Reads `element` and everything up to `top`. `expected` is the way up as it was last seen (the element
/// first): where it still holds, the whole of it is read at once.
///
/// # Errors
/// [`BusFault::Absent`] where the element is gone or no longer hangs below `top`.
pub(crate) async fn resolve(
    bus: &Bus,
    toolkit: &str,
    top: &Object,
    element: &Object,
    expected: &[Arc<str>],
    window: Window,
    limit: &Limit,
) -> Result<Live, BusFault> {
    let way = way_up(bus, top, element, expected, limit).await?;
    let reads = all(way.iter().map(|path| step(bus, &top.bus, path, limit))).await;
    let mut steps = Vec::with_capacity(reads.len());
    for read in reads {
        steps.push(read?);
    }
    let protected = steps[1..].iter().any(|(node, _)| is_protected(node));
    let selectable = steps.get(1).is_some_and(|(parent, _)| parent.interfaces.has(Interface::Selection));
    let realm = steps[1..].iter().rev().fold(Realm::default(), |realm, (node, _)| realm.below(native_name(node.role)));
    let (node, index) = steps[0].clone();
    let wanted = Wanted { bounds: true, affordances: true, values: true };
    let extras = extras(bus, element.at(), &node, window, wanted, limit).await?;
    let facts = facts(&node, &extras, window, wanted, Surroundings { protected, selectable, realm });
    let lineage = way
        .iter()
        .zip(&steps)
        .rev()
        .map(|(path, (node, index))| LineageStep {
            key: Object { bus: Arc::clone(&top.bus), path: Arc::clone(path) }.to_native(),
            role: role(node),
            identifier: "".into(),
            name: node.name.clone(),
            index: index.and_then(|index| u32::try_from(index).ok()),
        })
        .collect();
    let parent = way
        .get(1)
        .zip(steps.get(1))
        .map(|(path, (node, _))| (Object { bus: Arc::clone(&top.bus), path: Arc::clone(path) }, node.clone()));
    Ok(Live {
        resolved: Resolved { lineage, facts, identity_persists: identity_persists(toolkit) },
        node,
        parent,
        index,
    })
}

async fn step(bus: &Bus, name: &str, path: &str, limit: &Limit) -> Result<(Node, Option<i32>), BusFault> {
    let call = Call { bus: name, path, interface: ACCESSIBLE, method: "GetIndexInParent" };
    let (node, index) = tokio::join!(nodes::facts(bus, name, path, limit), bus.call::<_, i32>(&call, &(), limit));
    Ok((node?, index.ok().filter(|index| *index >= 0)))
}

/// The paths from the element (first) to the top (last), every link proven now.
async fn way_up(
    bus: &Bus,
    top: &Object,
    element: &Object,
    expected: &[Arc<str>],
    limit: &Limit,
) -> Result<Vec<Arc<str>>, BusFault> {
    if element.bus != top.bus {
        return Err(BusFault::Absent);
    }
    if expected.first() == Some(&element.path) && expected.last() == Some(&top.path) {
        let parents = all(expected[..expected.len() - 1].iter().map(|path| parent(bus, &top.bus, path, limit))).await;
        let mut holds = true;
        for (parent, next) in parents.into_iter().zip(&expected[1..]) {
            holds &= matches(parent?, next);
        }
        if holds {
            return Ok(expected.to_vec());
        }
    }
    let mut way = vec![Arc::clone(&element.path)];
    while way.last() != Some(&top.path) {
        let path = way.last().expect("the way has a first step");
        let next = parent(bus, &top.bus, path, limit).await?.ok_or(BusFault::Absent)?;
        if way.len() >= MAX_LEVELS || way.contains(&next) {
            return Err(BusFault::Absent);
        }
        way.push(next);
    }
    Ok(way)
}

fn matches(parent: Option<Arc<str>>, next: &Arc<str>) -> bool {
    parent.as_ref() == Some(next)
}

async fn parent(bus: &Bus, name: &str, path: &str, limit: &Limit) -> Result<Option<Arc<str>>, BusFault> {
    let value: zbus::OwnedVariant = {
        let call = Call { bus: name, path, interface: "org.freedesktop.DBus.Properties", method: "Get" };
        bus.call(&call, &(ACCESSIBLE, "Parent"), limit).await?
    };
    let reference = Reference::try_from(value).map_err(|_| BusFault::Malformed)?;
    let parent = object(&reference);
    Ok((!parent.is_null() && *parent.bus == *name).then_some(parent.path))
}
