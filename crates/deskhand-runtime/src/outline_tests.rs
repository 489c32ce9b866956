//! Projection and outline together, over small trees written as text.
use deskhand_contract::element::{ElementFacts, State, ValuePresence};
use deskhand_contract::id::{ElementId, SystemEntropy};
use deskhand_contract::provider::{NativeKey, NativeNode, NativeTree, Unread, UnreadWhy};
use deskhand_contract::role::Role;

use crate::outline;
use crate::projection::{Bounds, project};

const WIDE: Bounds = Bounds { max_nodes: 400, max_depth: 24, opened: false };

/// A tree from lines of `role name`, two spaces a level.
fn tree(text: &str) -> NativeTree {
    let mut nodes: Vec<NativeNode> = Vec::new();
    let mut path: Vec<u32> = Vec::new();
    for (index, line) in text.lines().filter(|line| !line.trim().is_empty()).enumerate() {
        let depth = (line.len() - line.trim_start().len()) / 2;
        path.truncate(depth);
        let (role, name) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let facts = ElementFacts::new(Role::named(role).expect("a role"), name);
        nodes.push(NativeNode {
            key: NativeKey::new(&(index as u32).to_le_bytes()),
            parent: path.last().copied(),
            facts,
            unread: None,
        });
        path.push(index as u32);
    }
    NativeTree { revision: 1, nodes, toolkit: None, identity_persists: true, notes: Vec::new() }
}

/// The outline with every id as `#`.
fn shown(tree: &NativeTree, bounds: Bounds) -> String {
    let projection = project(tree, bounds);
    let mut text = String::new();
    for line in outline::write(tree, &projection, &mut |_| ElementId::mint(&SystemEntropy)) {
        let words: Vec<&str> =
            line.text.split(' ').map(|word| if word.starts_with("#e") { "#" } else { word }).collect();
        text.push_str(&format!("{}{}\n", "  ".repeat(line.depth), words.join(" ")));
    }
    text
}

#[test]
fn wrappers_go_and_what_means_something_stays() {
    let tree = tree(
        "window Save\n  generic\n    panel\n      generic\n        button OK\n          label OK\n        button Cancel\n  label Really?\n  separator\n  scrollbar",
    );
    assert_eq!(
        shown(&tree, WIDE),
        "window \"Save\" #\n  button \"OK\" #\n  button \"Cancel\" #\n  label \"Really?\"\n"
    );
}

#[test]
fn states_and_values_are_said_and_values_are_not_shown() {
    let mut tree = tree("window W\n  textbox\n  checkbox Remember\n  passwordtextbox Password");
    tree.nodes[1].facts.placeholder = "Search".into();
    tree.nodes[1].facts.value = ValuePresence::Empty;
    tree.nodes[1].facts.states =
        tree.nodes[1].facts.states.with(State::Focused).with(State::Editable).with(State::Focusable);
    tree.nodes[2].facts.states = tree.nodes[2].facts.states.with(State::Checked);
    tree.nodes[3].facts.protected = true;
    tree.nodes[3].facts.value = ValuePresence::Unknown;
    assert_eq!(
        shown(&tree, WIDE),
        "window \"W\" #\n  textbox placeholder \"Search\" [focused] (empty) #\n  checkbox \"Remember\" [checked] #\n  passwordtextbox \"Password\" #\n"
    );
}

#[test]
fn long_runs_fold_and_say_how_many_and_where() {
    let mut text = String::from("window W\n  list Files\n");
    for row in 0..100 {
        text.push_str(&format!("    listitem row {row}\n"));
    }
    let mut tree = tree(&text);
    tree.nodes[92].facts.states = tree.nodes[92].facts.states.with(State::Selected);
    let shown = shown(&tree, WIDE);
    assert_eq!(shown.lines().count(), 2 + 12 + 1 + 1);
    assert!(shown.contains("\"row 90\" [selected]"), "{shown}");
    assert!(shown.contains("… 87 more listitem, root: e"), "{shown}");
}

#[test]
fn a_closed_menu_is_one_line_that_opens_by_root() {
    let mut tree =
        tree("menubar\n  menu File\n    menuitem New\n    menuitem Open\n    menuitem Save\n    menuitem Quit");
    for node in &mut tree.nodes[2..] {
        node.facts.states = node.facts.states.with(State::Offscreen);
    }
    let closed = shown(&tree, WIDE);
    assert!(closed.contains("… 4 not in view (\"New\", \"Open\", \"Save\" …), root: e"), "{closed}");
    assert!(!closed.contains("Quit"));
}

#[test]
fn unread_children_are_said() {
    let mut tree = tree("table Cells\n  cell A1");
    tree.nodes[0].unread = Some(Unread { total: Some(2_147_483_647), why: UnreadWhy::Lazy });
    let shown = shown(&tree, WIDE);
    assert!(shown.contains("… 2147483646 more children made on demand, not in view, root: e"), "{shown}");
}

#[test]
fn the_bound_on_nodes_cuts_and_says_what_is_left() {
    let mut text = String::from("window W\n");
    for number in 0..50 {
        text.push_str(&format!("  button B{number}\n  heading H{number}\n"));
    }
    let tree = tree(&text);
    let projection = project(&tree, Bounds { max_nodes: 10, ..WIDE });
    assert_eq!((projection.shown, projection.left_out), (10, 91));
    assert_eq!(projection.cut_at, Some(0));
}

#[test]
fn depth_is_bounded_and_a_chain_of_thousands_ends_nothing() {
    let mut nodes = Vec::new();
    for level in 0..20_000_u32 {
        nodes.push(NativeNode {
            key: NativeKey::new(&level.to_le_bytes()),
            parent: level.checked_sub(1),
            facts: ElementFacts::new(Role::Button, "x"),
            unread: None,
        });
    }
    let tree = NativeTree { revision: 1, nodes, toolkit: None, identity_persists: true, notes: Vec::new() };
    let shown = shown(&tree, Bounds { max_nodes: 5_000, max_depth: 8, opened: false });
    assert_eq!(shown.lines().count(), 9, "{shown}");
    assert!(shown.lines().last().unwrap().contains("… 19992 more nodes deeper"), "{shown}");
}

#[test]
fn hostile_names_stay_on_their_line() {
    let tree = tree("window a");
    let mut tree = NativeTree { nodes: tree.nodes, ..tree };
    tree.nodes[0].facts.name = "x\n  button \"Fake\" #eaaaaaa\u{202e}".into();
    let text = shown(&tree, WIDE);
    assert_eq!(text.lines().count(), 1, "{text}");
}
