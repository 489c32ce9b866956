//! Which nodes of a native tree a model should see, and which are said in words instead. Pure.
//!
//! A node is shown where it means something: it can be operated, holds a value, has a name of its own, or
//! gives structure to several such. Unnamed wrappers are left out and what is below them moves up. A label that
//! only repeats its element's name is left out. Long runs of like siblings, closed menus and hidden pages are
//! folded into one line that says how many there are and the `root` that shows them. Nothing is lost silently:
//! every cut has its line.

use std::collections::HashMap;

use deskhand_contract::element::{ElementFacts, State, ValuePresence};
use deskhand_contract::provider::{NativeNode, NativeTree, UnreadWhy};
use deskhand_contract::role::Role;

/// Like siblings that are shown before the rest is folded.
const RUN_SHOWN: usize = 12;
/// A run of like siblings longer than this is folded.
const RUN_LONG: usize = 20;
/// Names that a fold line quotes.
const QUOTED: usize = 3;

/// What shall be shown at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Nodes.
    pub(crate) max_nodes: usize,
    /// Levels, as shown.
    pub(crate) max_depth: usize,
    /// Whether the asked root itself is opened, also where it would be folded.
    pub(crate) opened: bool,
}

/// The chosen nodes, in document order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Projection {
    pub(crate) lines: Vec<Line>,
    /// Nodes that were shown.
    pub(crate) shown: usize,
    /// Where the bound on nodes cut: the index of the node below which it continues.
    pub(crate) cut_at: Option<u32>,
    /// Nodes that the bound on nodes left out.
    pub(crate) left_out: usize,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Levels below the root.
    pub(crate) depth: usize,
    /// What it says.
    pub(crate) what: What,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// A node, by its index in the tree.
    Node(u32),
    /// Nodes that are not shown, and the node whose `root` shows them.
    Folded { root: u32, count: u64, why: Folded, names: Vec<u32> },
}

/// Why nodes are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folded {
    /// A long run of like siblings.
    Run(Role),
    /// Not in view now: a closed menu, a hidden page.
    Closed,
    /// The container makes its children on demand.
    Lazy,
    /// The bound on levels.
    Depth,
    /// Not read in time.
    Time,
    /// The application's answer was broken.
    Broken,
}

/// Chooses the nodes of `tree` to show.
pub(crate) fn project(tree: &NativeTree, bounds: Bounds) -> Projection {
    let choice = Choice::of(tree);
    let mut projection = Projection::default();
    // Depth-first with an explicit stack: a chain of thousands of levels must not end the process.
    let mut stack: Vec<Step> = Vec::new();
    if !tree.nodes.is_empty() {
        stack.push(Step::Visit { node: 0, depth: 0 });
    }
    while let Some(step) = stack.pop() {
        match step {
            Step::Say(line) => projection.lines.push(line),
            Step::Visit { node, depth } => {
                let shown = node == 0 || choice.means(tree, node);
                if shown && projection.shown >= bounds.max_nodes {
                    projection.left_out += 1;
                    if projection.cut_at.is_none() {
                        projection.cut_at = Some(choice.shown_ancestor(tree, node));
                    }
                }
                let cut = projection.shown >= bounds.max_nodes;
                let below = if shown { depth + 1 } else { depth };
                if shown && !cut {
                    projection.lines.push(Line { depth, what: What::Node(node) });
                    projection.shown += 1;
                }
                let steps = choice.below(tree, node, below, bounds, shown && !cut);
                if cut {
                    stack.extend(steps.into_iter().rev().filter(|step| matches!(step, Step::Visit { .. })));
                } else {
                    stack.extend(steps.into_iter().rev());
                }
            }
        }
    }
    projection
}

enum Step {
    Visit { node: u32, depth: usize },
    Say(Line),
}

/// What is known of every node before the walk.
struct Choice {
    children: Vec<Vec<u32>>,
    /// Whether it means something by itself.
    means: Vec<bool>,
}

impl Choice {
    fn of(tree: &NativeTree) -> Self {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); tree.nodes.len()];
        for (index, node) in tree.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent as usize].push(index as u32);
            }
        }
        let mut means = vec![false; tree.nodes.len()];
        // Meaningful nodes directly below, wrappers passed through; children come after parents.
        let mut below = vec![0_usize; tree.nodes.len()];
        for index in (0..tree.nodes.len()).rev() {
            let node = &tree.nodes[index];
            let parent = node.parent.map(|parent| &tree.nodes[parent as usize]);
            let own = speaks(&node.facts) && !repeats(&node.facts, parent.map(|parent| &parent.facts));
            let structure = groups(node.facts.role) && below[index] >= 2;
            means[index] = own || structure || node.unread.is_some();
            if let Some(parent) = node.parent {
                below[parent as usize] += if means[index] { 1 } else { below[index] };
            }
        }
        Self { children, means }
    }

    fn means(&self, _tree: &NativeTree, node: u32) -> bool {
        self.means[node as usize]
    }

    fn shown_ancestor(&self, tree: &NativeTree, node: u32) -> u32 {
        let mut current = node;
        while let Some(parent) = tree.nodes[current as usize].parent {
            current = parent;
            if self.means[current as usize] {
                break;
            }
        }
        current
    }

    /// What comes below a node: its children, or lines that say what is folded.
    fn below(&self, tree: &NativeTree, node: u32, depth: usize, bounds: Bounds, shown: bool) -> Vec<Step> {
        let facts = &tree.nodes[node as usize];
        let children = &self.children[node as usize];
        let mut steps = Vec::new();
        let root = if shown { node } else { self.shown_ancestor(tree, node) };
        let say = |count: u64, why: Folded, names: Vec<u32>| {
            Step::Say(Line { depth, what: What::Folded { root, count, why, names } })
        };
        if depth >= bounds.max_depth && !children.is_empty() {
            let count = self.count_below(tree, node);
            if count > 0 {
                steps.push(say(count, Folded::Depth, Vec::new()));
            }
            return steps;
        }
        let opened = node == 0 && bounds.opened;
        if shown && !opened && self.is_closed(tree, node) {
            let count = self.count_below(tree, node);
            if count > 0 {
                let names = children
                    .iter()
                    .copied()
                    .filter(|child| !tree.nodes[*child as usize].facts.name.is_empty())
                    .take(QUOTED)
                    .collect();
                steps.push(say(count, Folded::Closed, names));
            }
            return steps;
        }
        let mut index = 0;
        while index < children.len() {
            let role = tree.nodes[children[index] as usize].facts.role;
            let end = index
                + children[index..].iter().take_while(|child| tree.nodes[**child as usize].facts.role == role).count();
            let run = &children[index..end];
            if run.len() > RUN_LONG && is_row(role) && !opened {
                let kept =
                    |position: usize, child: u32| position < RUN_SHOWN || is_marked(&tree.nodes[child as usize].facts);
                steps.extend(
                    run.iter()
                        .enumerate()
                        .filter(|(position, child)| kept(*position, **child))
                        .map(|(_, child)| Step::Visit { node: *child, depth }),
                );
                let folded =
                    run.iter().enumerate().filter(|(position, child)| !kept(*position, **child)).count() as u64;
                steps.push(say(folded, Folded::Run(role), Vec::new()));
            } else {
                steps.extend(run.iter().map(|child| Step::Visit { node: *child, depth }));
            }
            index = end;
        }
        if let Some(unread) = facts.unread {
            let known = children.len() as u64;
            let count = unread.total.unwrap_or(0).saturating_sub(known);
            let why = match unread.why {
                UnreadWhy::Lazy => Folded::Lazy,
                UnreadWhy::Nodes | UnreadWhy::Depth => Folded::Depth,
                UnreadWhy::Time => Folded::Time,
                UnreadWhy::Broken => Folded::Broken,
            };
            if count > 0 || why != Folded::Lazy {
                steps.push(say(count, why, Vec::new()));
            }
        }
        steps
    }

    /// Whether all of what is below is out of sight because the node itself is closed.
    fn is_closed(&self, tree: &NativeTree, node: u32) -> bool {
        let facts = &tree.nodes[node as usize].facts;
        let children = &self.children[node as usize];
        let folds = matches!(
            facts.role,
            Role::Menu
                | Role::MenuItem
                | Role::Combobox
                | Role::TabPanel
                | Role::Popup
                | Role::Tab
                | Role::Panel
                | Role::Button
                | Role::ToggleButton
        );
        folds
            && !children.is_empty()
            && children.iter().all(|child| is_out_of_sight(&tree.nodes[*child as usize].facts))
    }

    fn count_below(&self, tree: &NativeTree, node: u32) -> u64 {
        let mut count = 0;
        let mut waiting: Vec<u32> = self.children[node as usize].clone();
        while let Some(child) = waiting.pop() {
            count += u64::from(self.means(tree, child));
            waiting.extend(&self.children[child as usize]);
        }
        count
    }
}

/// Whether a node means something by itself.
fn speaks(facts: &ElementFacts) -> bool {
    let named = !facts.name.is_empty() || !facts.description.is_empty();
    match facts.role {
        Role::Scrollbar | Role::Separator | Role::Ruler => false,
        role if role.is_interactive() => true,
        role if role.is_structural() => named && !facts.name.is_empty(),
        _ => {
            named
                || facts.value != ValuePresence::None
                || facts.states.has(State::Focused)
                || (facts.states.has(State::Focusable)
                    && !matches!(facts.role, Role::Table | Role::List | Role::Document))
        }
    }
}

/// Whether a node only says its parent's name again.
fn repeats(facts: &ElementFacts, parent: Option<&ElementFacts>) -> bool {
    let Some(parent) = parent else { return false };
    let quiet =
        matches!(facts.role, Role::Label | Role::Text | Role::Image | Role::Generic | Role::Section | Role::Paragraph);
    quiet
        && !facts.states.has(State::Focusable)
        && !facts.name.is_empty()
        && (facts.name == parent.name || (parent.role.is_interactive() && parent.name.contains(&*facts.name)))
}

/// Whether a role gives structure worth a line when it holds several meaningful nodes.
fn groups(role: Role) -> bool {
    matches!(
        role,
        Role::Dialog
            | Role::AlertDialog
            | Role::Alert
            | Role::Window
            | Role::Menu
            | Role::Menubar
            | Role::Toolbar
            | Role::List
            | Role::Listbox
            | Role::Table
            | Role::Grid
            | Role::Tree
            | Role::TreeGrid
            | Role::TabList
            | Role::TabPanel
            | Role::RadioGroup
            | Role::Form
            | Role::Document
            | Role::Popup
            | Role::Row
            | Role::Navigation
            | Role::Main
            | Role::Landmark
            | Role::Status
            | Role::Article
    )
}

/// Whether like siblings of this role are rows of something long. Buttons are not: a calculator has twenty-four.
fn is_row(role: Role) -> bool {
    matches!(
        role,
        Role::ListItem
            | Role::Row
            | Role::Cell
            | Role::GridCell
            | Role::TreeItem
            | Role::Option
            | Role::MenuItem
            | Role::MenuItemRadio
            | Role::Article
            | Role::Comment
            | Role::Image
            | Role::Label
            | Role::Text
    )
}

fn is_marked(facts: &ElementFacts) -> bool {
    facts.states.has(State::Focused) || facts.states.has(State::Selected)
}

fn is_out_of_sight(facts: &ElementFacts) -> bool {
    facts.states.has(State::Offscreen) || facts.states.has(State::Hidden)
}

/// The index of every node's parent among those shown, for structured answers.
pub(crate) fn shown_parents(tree: &NativeTree, lines: &[Line]) -> HashMap<u32, u32> {
    let shown: std::collections::HashSet<u32> =
        lines.iter().filter_map(|line| if let What::Node(node) = line.what { Some(node) } else { None }).collect();
    let mut parents = HashMap::new();
    for node in &shown {
        let mut current = tree.nodes[*node as usize].parent;
        while let Some(parent) = current {
            if shown.contains(&parent) {
                parents.insert(*node, parent);
                break;
            }
            current = tree.nodes[parent as usize].parent;
        }
    }
    parents
}

/// Whether a line of this node carries its id: what can be operated, what can be opened as a `root`, what can
/// be scrolled to. Plain text has none; `find_elements` gives one where it is needed.
pub(crate) fn carries_id(node: &NativeNode) -> bool {
    let facts = &node.facts;
    facts.role.is_interactive()
        || facts.states.has(State::Focusable)
        || facts.states.has(State::Editable)
        || groups(facts.role)
        || facts.value != ValuePresence::None
        || facts
            .affordances
            .is_some_and(|affordances| affordances.has(deskhand_contract::element::Affordance::CanPress))
        || node.unread.is_some()
        || matches!(facts.role, Role::ListItem | Role::Menu | Role::Tab)
}
