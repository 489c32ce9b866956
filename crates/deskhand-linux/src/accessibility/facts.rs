//! From what was read of an object to the contract's facts, with the extra questions that an answer needs.

use std::collections::HashMap;

use deskhand_contract::element::{Affordance, Affordances, ElementFacts, State, States, ValuePresence};
use deskhand_contract::limit::Limit;
use deskhand_contract::role::Role;

use super::interface::{ACCESSIBLE, ACTION, COMPONENT, Interface, TEXT};
use super::nodes::{Node, capped};
use crate::map::action::{main_action, menu_action};
use crate::map::geometry::{Extents, Projection, Realm};
use crate::map::role::{PASSWORD, native_name, refined};
use crate::map::state::{Around, Raw, states};
use crate::sys::bus::{Bus, BusFault, Call};

/// Action names of one object that are looked at.
const MAX_ACTIONS: i32 = 24;

/// What is known of the window around an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Whether SHOWING means something in it now.
    pub(crate) showing_means: bool,
    /// How extents become window pixels; nothing where the window is not known.
    pub(crate) projection: Option<Projection>,
}

/// Which extra questions are asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) bounds: bool,
    pub(crate) affordances: bool,
    pub(crate) values: bool,
}

/// Answers to the extra questions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extras {
    pub(crate) extents: Option<Extents>,
    pub(crate) actions: Vec<String>,
    pub(crate) characters: Option<i32>,
    pub(crate) attributes: HashMap<String, String>,
}

/// The role, its refinements applied.
pub(crate) fn role(node: &Node) -> Role {
    let editable = node.states.has(Raw::Editable) || node.interfaces.has(Interface::EditableText);
    refined(node.role, editable, node.states.has(Raw::Checkable))
}

/// The role of a top-level accessible: toolkits that call it a filler or nothing mean a window.
pub(crate) fn top_role(node: &Node) -> Role {
    match role(node) {
        role if role.is_structural() => Role::Window,
        role => role,
    }
}

/// Whether the object itself is a protected one.
pub(crate) fn is_protected(node: &Node) -> bool {
    node.role == PASSWORD
}

/// Asks what is `wanted` of an object, all at once. What has no answer stays unknown.
pub(crate) async fn extras(
    bus: &Bus,
    at: (&str, &str),
    node: &Node,
    window: Window,
    wanted: Wanted,
    limit: &Limit,
) -> Result<Extras, BusFault> {
    let (name, path) = at;
    let extents = async {
        if !wanted.bounds || !node.interfaces.has(Interface::Component) {
            return None;
        }
        let coordinates = window.projection?.coordinates as u32;
        let call = Call { bus: name, path, interface: COMPONENT, method: "GetExtents" };
        let (x, y, width, height) = bus.call::<_, (i32, i32, i32, i32)>(&call, &coordinates, limit).await.ok()?;
        Some(Extents { x, y, width, height })
    };
    let actions = async {
        if !wanted.affordances || !node.interfaces.has(Interface::Action) {
            return Vec::new();
        }
        action_names(bus, at, limit).await
    };
    let takes_text = takes_text(node);
    let characters = async {
        if !wanted.values || !takes_text || is_protected(node) {
            return None;
        }
        bus.property::<i32>(at, TEXT, "CharacterCount", limit).await.ok()
    };
    let attributes = async {
        if !wanted.values || !(takes_text || node.interfaces.has(Interface::Document)) {
            return HashMap::new();
        }
        let call = Call { bus: name, path, interface: ACCESSIBLE, method: "GetAttributes" };
        bus.call::<_, HashMap<String, String>>(&call, &(), limit).await.unwrap_or_default()
    };
    let (extents, actions, characters, attributes) = tokio::join!(extents, actions, characters, attributes);
    if limit.is_over() {
        return Err(BusFault::Silent);
    }
    Ok(Extras { extents, actions, characters, attributes })
}

/// The names of an object's actions as its programmer wrote them, in its order.
pub(crate) async fn action_names(bus: &Bus, at: (&str, &str), limit: &Limit) -> Vec<String> {
    let count = bus.property::<i32>(at, ACTION, "NActions", limit).await.unwrap_or(0).clamp(0, MAX_ACTIONS);
    let call = Call { bus: at.0, path: at.1, interface: ACTION, method: "GetName" };
    let indexes: Vec<i32> = (0..count).collect();
    let names = crate::sys::bus::all(indexes.iter().map(|index| bus.call::<_, String>(&call, index, limit))).await;
    names.into_iter().map(Result::unwrap_or_default).collect()
}

/// Whether the object holds text that a person edits or a program fills. Browsers give every paragraph the
/// interface for it, so the state or the role must say it too.
pub(crate) fn takes_text(node: &Node) -> bool {
    node.interfaces.has(Interface::Text)
        && (node.states.has(Raw::Editable)
            || matches!(role(node), Role::Textbox | Role::PasswordTextbox | Role::Searchbox | Role::SpinButton))
}

/// The contract's facts. `selectable` says whether its parent's selection can take it; `protected` whether an
/// ancestor is.
pub(crate) fn facts(
    node: &Node,
    extras: &Extras,
    window: Window,
    wanted: Wanted,
    around: Surroundings,
) -> ElementFacts {
    let role = if around.top { top_role(node) } else { role(node) };
    // What begins a realm is described as the rest of it.
    let realm = around.realm.below(native_name(node.role));
    let protected = around.protected || is_protected(node);
    let shown = states(node.states, role, Around { showing_means: window.showing_means, takes_text: takes_text(node) });
    let attribute = |name: &str| extras.attributes.get(name).map(String::as_str).unwrap_or_default();
    let subrole = Some(attribute("xml-roles")).filter(|roles| !roles.is_empty() && *roles != role.name());
    ElementFacts {
        role,
        native_role: native_name(node.role).into(),
        subrole: subrole.map(capped),
        name: node.name.clone(),
        description: node.description.clone(),
        placeholder: capped(match attribute("placeholder-text") {
            "" => attribute("placeholder"),
            text => text,
        }),
        identifier: "".into(),
        states: shown,
        value: presence(node, extras, wanted, protected, role),
        affordances: wanted.affordances.then(|| affordances(node, extras, role, shown, around)),
        protected,
        bounds: extras.extents.and_then(|extents| window.projection?.project(extents, realm)),
    }
}

/// What stands around an object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surroundings {
    /// An ancestor is protected.
    pub(crate) protected: bool,
    /// Its parent has a selection of its children.
    pub(crate) selectable: bool,
    /// Which part of the window it lies in, for its bounds.
    pub(crate) realm: Realm,
    /// It is the top-level accessible.
    pub(crate) top: bool,
}

fn presence(node: &Node, extras: &Extras, wanted: Wanted, protected: bool, role: Role) -> ValuePresence {
    if protected {
        return ValuePresence::Unknown;
    }
    if takes_text(node) {
        return match extras.characters {
            Some(0) => ValuePresence::Empty,
            Some(_) => ValuePresence::Present,
            None if wanted.values => ValuePresence::Unknown,
            None => ValuePresence::Unknown,
        };
    }
    let numeric = node.interfaces.has(Interface::Value)
        && matches!(
            role,
            Role::Slider | Role::SpinButton | Role::ProgressBar | Role::Meter | Role::Scrollbar | Role::SplitPane
        );
    if numeric { ValuePresence::Present } else { ValuePresence::None }
}

fn affordances(node: &Node, extras: &Extras, role: Role, shown: States, around: Surroundings) -> Affordances {
    let operable = !shown.has(State::Disabled);
    let numeric = node.interfaces.has(Interface::Value)
        && matches!(role, Role::Slider | Role::SpinButton | Role::Scrollbar | Role::SplitPane);
    let press = main_action(role, &extras.actions).is_some();
    let checkable = (role.is_checkable() || node.states.has(Raw::Checkable)) && press;
    let table = [
        (Affordance::CanPress, operable && press),
        (Affordance::CanFocus, operable && shown.has(State::Focusable) && node.interfaces.has(Interface::Component)),
        (
            Affordance::CanInputText,
            operable && node.interfaces.has(Interface::EditableText) && !shown.has(State::ReadOnly),
        ),
        (Affordance::CanSelect, operable && around.selectable && (node.states.has(Raw::Selectable) || is_item(role))),
        (Affordance::CanSetValue, operable && (numeric || checkable)),
        (Affordance::CanScrollTo, node.interfaces.has(Interface::Component)),
        (Affordance::CanContextMenu, operable && menu_action(&extras.actions).is_some()),
    ];
    let mut affordances = Affordances::NONE;
    for (affordance, holds) in table {
        affordances.set(affordance, holds);
    }
    affordances
}

/// Whether elements of this role are items of a selection.
pub(crate) fn is_item(role: Role) -> bool {
    matches!(
        role,
        Role::ListItem
            | Role::Option
            | Role::Tab
            | Role::TreeItem
            | Role::Cell
            | Role::GridCell
            | Role::Row
            | Role::Radio
            | Role::Image
            | Role::MenuItem
    )
}
