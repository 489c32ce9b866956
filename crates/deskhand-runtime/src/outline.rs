//! A projection as text: one line a node, values never. Pure.
//!
//! `role "name" [states] (has value | empty) #element_id`, two spaces a level. Where the name is empty, a
//! placeholder or description stands in its place with its word before it. States that say nothing unusual
//! (`focusable`, `active`, `editable` of a textbox) are left out.

use deskhand_contract::element::{ElementFacts, State, ValuePresence};
use deskhand_contract::id::ElementId;
use deskhand_contract::provider::NativeTree;
use deskhand_contract::role::Role;
use deskhand_contract::text::escape;

use crate::projection::{Folded, Line, Projection, What, carries_id};

/// Longest text of a name on a line, in characters.
const MAX_NAME: usize = 120;
/// Longest text of a name quoted in a fold.
const MAX_QUOTED: usize = 24;

/// A line of text with the node that it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The node, or none for a fold.
    pub(crate) node: Option<u32>,
    pub(crate) depth: usize,
    pub(crate) text: String,
}

/// Writes every line of `projection`. `id` gives the identity of a node.
pub(crate) fn write(tree: &NativeTree, projection: &Projection, id: &mut dyn FnMut(u32) -> ElementId) -> Vec<Written> {
    projection.lines.iter().map(|line| written(tree, line, id)).collect()
}

/// The lines as one text.
pub(crate) fn join(lines: &[Written]) -> String {
    let mut text = String::with_capacity(lines.len() * 48);
    for line in lines {
        for _ in 0..line.depth.min(32) {
            text.push_str("  ");
        }
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

fn written(tree: &NativeTree, line: &Line, id: &mut dyn FnMut(u32) -> ElementId) -> Written {
    match &line.what {
        What::Node(index) => {
            let node = &tree.nodes[*index as usize];
            let mut text = describe(&node.facts);
            if carries_id(node) {
                text.push_str(" #");
                text.push_str(id(*index).as_str());
            }
            Written { node: Some(*index), depth: line.depth, text }
        }
        What::Folded { root, count, why, names } => {
            let quoted: Vec<String> = names
                .iter()
                .map(|name| format!("\"{}\"", escape(&tree.nodes[*name as usize].facts.name, MAX_QUOTED)))
                .collect();
            let quoted = if quoted.is_empty() { String::new() } else { format!(" ({} …)", quoted.join(", ")) };
            let number = |unit: &str| if *count == 0 { format!("more {unit}") } else { format!("{count} more {unit}") };
            let what = match why {
                Folded::Run(role) => number(role.name()),
                Folded::Closed => format!("{count} not in view{quoted}"),
                Folded::Lazy => format!("{} made on demand, not in view", number("children")),
                Folded::Depth => format!("{} deeper", number("nodes")),
                Folded::Time => "not all read in time".to_owned(),
                Folded::Broken => "the application's answer is broken here".to_owned(),
            };
            Written { node: None, depth: line.depth, text: format!("… {what}, root: {}", id(*root)) }
        }
    }
}

/// A node without its id.
pub(crate) fn describe(facts: &ElementFacts) -> String {
    let mut text = String::from(facts.role.name());
    let (word, name) = if !facts.name.is_empty() {
        ("", &facts.name)
    } else if !facts.placeholder.is_empty() {
        ("placeholder ", &facts.placeholder)
    } else if !facts.description.is_empty() {
        ("described ", &facts.description)
    } else {
        ("", &facts.name)
    };
    if !name.is_empty() {
        text.push_str(&format!(" {word}\"{}\"", escape(name, MAX_NAME)));
    }
    let states: Vec<&str> = facts.states.iter().filter(|state| is_shown(*state, facts)).map(State::name).collect();
    if !states.is_empty() {
        text.push_str(&format!(" [{}]", states.join(" ")));
    }
    match facts.value {
        ValuePresence::Present if facts.role != Role::Scrollbar => text.push_str(" (has value)"),
        ValuePresence::Empty => text.push_str(" (empty)"),
        _ => {}
    }
    if facts.protected && facts.role != Role::PasswordTextbox {
        text.push_str(" (protected)");
    }
    text
}

/// Whether a state says something that the role does not.
fn is_shown(state: State, facts: &ElementFacts) -> bool {
    match state {
        State::Focusable | State::Active | State::Visited | State::Multiselectable => false,
        State::Editable => {
            !matches!(facts.role, Role::Textbox | Role::PasswordTextbox | Role::Searchbox | Role::SpinButton)
        }
        State::Multiline => facts.role == Role::Textbox,
        // A radio button, tab or toggle says that it is on; that it is off is what the others are.
        State::Unchecked => matches!(facts.role, Role::Checkbox | Role::Switch),
        State::HasPopup => !matches!(facts.role, Role::Menu | Role::Combobox),
        State::Disabled => {
            facts.role.is_interactive() || facts.states.has(State::Focusable) || facts.role == Role::Menu
        }
        State::ReadOnly => facts.role.is_interactive(),
        _ => true,
    }
}
