//! One element and its ancestors, read live.

use std::sync::Arc;

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{LineageStep, Resolved};
use deskhand_contract::role::Role;

use super::facts::{Surroundings, Wanted, Window, extras, facts};
use super::interface::{ACCESSIBLE, Interface, Interfaces};
use super::nodes::{self, Node};
use super::object::{Object, Reference, object};
use super::tree::identity_persists;
use crate::map::geometry::Realm;
use crate::map::role::{PASSWORD, native_name, refined};
use crate::map::state::{Raw, RawStates};
use crate::sys::bus::{Bus, BusFault, Call, all};

/// Ancestors that are followed.
const MAX_LEVELS: usize = 200;
/// Children that are looked through for one.
const MAX_CHILDREN: i32 = 2_000;

/// An element as it is now, with its node.
pub(crate) struct Live {
    pub(crate) resolved: Resolved,
    pub(crate) node: Node,
}

/// What an effect is chosen by: the element and, for a selection, its place in its parent.
pub(crate) struct Subject {
    pub(crate) node: Node,
    pub(crate) parent: Option<(Object, Node)>,
    pub(crate) index: Option<i32>,
}

/// Reads `element`, and its parent where `with_parent`.
///
/// # Errors
/// [`BusFault::Absent`] where the element is gone.
pub(crate) async fn subject(
    bus: &Bus,
    element: &Object,
    with_parent: bool,
    limit: &Limit,
) -> Result<Subject, BusFault> {
    if !with_parent {
        let node = nodes::facts(bus, &element.bus, &element.path, limit).await?;
        return Ok(Subject { node, parent: None, index: None });
    }
    let call = Call { bus: &element.bus, path: &element.path, interface: ACCESSIBLE, method: "GetIndexInParent" };
    let (node, above, index) = tokio::join!(
        nodes::facts(bus, &element.bus, &element.path, limit),
        parent(bus, &element.bus, &element.path, limit),
        bus.call::<_, i32>(&call, &(), limit),
    );
    let parent = match above? {
        Some(path) => {
            let above = nodes::facts(bus, &element.bus, &path, limit).await?;
            Some((Object { bus: Arc::clone(&element.bus), path }, above))
        }
        None => None,
    };
    Ok(Subject { node: node?, parent, index: index.ok().filter(|index| *index >= 0) })
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
    let identity_persists = identity_persists(toolkit);
    let way = way_up(bus, top, element, expected, limit).await?;
    let (own, above, own_index) = tokio::join!(
        nodes::facts(bus, &top.bus, &element.path, limit),
        all(way[1..].iter().map(|path| ancestor(bus, &top.bus, path, !identity_persists, limit))),
        index(bus, &top.bus, &element.path, limit),
    );
    let node = own?;
    let mut ancestors = Vec::with_capacity(above.len());
    for read in above {
        ancestors.push(read?);
    }
    let around = Surroundings {
        protected: ancestors.iter().any(|ancestor| ancestor.role == PASSWORD),
        selectable: ancestors.first().is_some_and(|parent| parent.selects),
        top: way.len() == 1,
        realm: ancestors.iter().rev().fold(Realm::default(), |realm, ancestor| realm.below(native_name(ancestor.role))),
    };
    let wanted = Wanted { bounds: true, affordances: true, values: true };
    let extras = extras(bus, element.at(), &node, window, wanted, limit).await?;
    let facts = facts(&node, &extras, window, wanted, around);
    let key = |path: &Arc<str>| Object { bus: Arc::clone(&top.bus), path: Arc::clone(path) }.to_native();
    let mut lineage: Vec<LineageStep> = way[1..]
        .iter()
        .zip(&ancestors)
        .rev()
        .map(|(path, ancestor)| LineageStep {
            key: key(path),
            role: ancestor.shown_role(*path == top.path),
            identifier: "".into(),
            name: ancestor.name.clone(),
            index: ancestor.index,
        })
        .collect();
    lineage.push(LineageStep {
        key: key(&element.path),
        role: facts.role,
        identifier: "".into(),
        name: facts.name.clone(),
        index: own_index,
    });
    Ok(Live { resolved: Resolved { lineage, facts, identity_persists }, node })
}

/// What a lineage needs of an ancestor.
struct Ancestor {
    role: u32,
    name: Box<str>,
    index: Option<u32>,
    selects: bool,
    node_role: Role,
}

impl Ancestor {
    fn shown_role(&self, top: bool) -> Role {
        if top && self.node_role.is_structural() { Role::Window } else { self.node_role }
    }
}

async fn ancestor(bus: &Bus, name: &str, path: &str, with_index: bool, limit: &Limit) -> Result<Ancestor, BusFault> {
    let method = |method| Call { bus: name, path, interface: ACCESSIBLE, method };
    let (role_call, state_call, interface_call) = (method("GetRole"), method("GetState"), method("GetInterfaces"));
    let (number, states, interfaces, label, place) = tokio::join!(
        bus.call::<_, u32>(&role_call, &(), limit),
        bus.call::<_, Vec<u32>>(&state_call, &(), limit),
        bus.call::<_, Vec<String>>(&interface_call, &(), limit),
        bus.property::<String>((name, path), ACCESSIBLE, "Name", limit),
        async { if with_index { index(bus, name, path, limit).await } else { None } },
    );
    let number = number?;
    let states = RawStates::of_words(&states?);
    let interfaces = Interfaces::of_names(&interfaces?);
    let editable = states.has(Raw::Editable) || interfaces.has(Interface::EditableText);
    Ok(Ancestor {
        role: number,
        name: nodes::shown_name(&label?),
        index: place,
        selects: interfaces.has(Interface::Selection),
        node_role: refined(number, editable, states.has(Raw::Checkable)),
    })
}

async fn index(bus: &Bus, name: &str, path: &str, limit: &Limit) -> Option<u32> {
    let call = Call { bus: name, path, interface: ACCESSIBLE, method: "GetIndexInParent" };
    u32::try_from(bus.call::<_, i32>(&call, &(), limit).await.ok()?).ok()
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
        for (index, parent) in parents.into_iter().enumerate() {
            // Some objects name no parent, or another one than names them (LibreOffice's menus): then the parent
            // must name the child.
            let (child, next) = (&expected[index], &expected[index + 1]);
            holds = parent?.as_ref() == Some(next) || names_child(bus, &top.bus, next, child, limit).await;
            if !holds {
                break;
            }
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

async fn names_child(bus: &Bus, name: &str, parent: &str, child: &str, limit: &Limit) -> bool {
    let call = Call { bus: name, path: parent, interface: ACCESSIBLE, method: "GetChildren" };
    let count = bus.property::<i32>((name, parent), ACCESSIBLE, "ChildCount", limit).await;
    if !count.is_ok_and(|count| (0..MAX_CHILDREN).contains(&count)) {
        return false;
    }
    let children: Result<Vec<Reference>, BusFault> = bus.call(&call, &(), limit).await;
    children.is_ok_and(|children| children.iter().any(|reference| object(reference).path.as_ref() == child))
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
