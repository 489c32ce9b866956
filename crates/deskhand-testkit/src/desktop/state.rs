//! What stands on a fake desktop, and what effects do to it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deskhand_contract::action::{Direction, TextMode};
use deskhand_contract::element::State;
use deskhand_contract::geometry::DesktopRect;
use deskhand_contract::provider::{
    Belonging, DisplayFacts, Effect, Fault, LineageStep, NativeKey, NativeNode, NativeTree, NativeValue, Profile,
    Resolved, TreeAsk, TreeNote, TreeSupport, Unread, UnreadWhy, WindowFacts, WindowKind,
};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::role::Role;

use super::Performed;
use crate::element::Element;
use crate::script::{Reaction, Rule, Step};

pub(super) struct Desktop {
    pub(super) mark: u64,
    pub(super) of_window: HashMap<NativeKey, u64>,
    pub(super) keys: u64,
    pub(super) windows: Vec<Window>,
    pub(super) nodes: HashMap<NativeKey, Node>,
    pub(super) displays: Vec<DisplayFacts>,
    pub(super) profile: Profile,
    pub(super) reactions: HashMap<NativeKey, Reaction>,
    pub(super) rules: Vec<Rule>,
    pub(super) hanging: HashSet<NativeKey>,
    pub(super) performed: Vec<Performed>,
    pub(super) acting: u32,
    pub(super) steps: HashMap<Step, u32>,
    pub(super) painted_out: Vec<NativeKey>,
}

pub(super) struct Window {
    pub(super) facts: WindowFacts,
    pub(super) root: NativeKey,
    pub(super) persists: bool,
    pub(super) revision: u64,
    pub(super) notes: Vec<TreeNote>,
    pub(super) broken: Option<Arc<NativeTree>>,
    pub(super) cached: Option<(TreeAsk, Arc<NativeTree>)>,
}

pub(super) struct Node {
    pub(super) element: Element,
    pub(super) parent: Option<NativeKey>,
    pub(super) children: Vec<NativeKey>,
}

impl Desktop {
    pub(super) fn key(&mut self) -> NativeKey {
        self.keys += 1;
        NativeKey::new(&self.keys.to_le_bytes())
    }

    pub(super) fn new_window(&mut self, title: &str) -> NativeKey {
        let (key, root) = (self.key(), self.key());
        for other in &mut self.windows {
            other.facts.foreground = false;
        }
        let facts = WindowFacts {
            key: key.clone(),
            title: title.to_owned(),
            application: "fake".to_owned(),
            class: None,
            executable: None,
            kind: WindowKind::Normal,
            geometry: DesktopRect::new(10, 10, 400, 300),
            foreground: true,
            minimised: false,
            other_workspace: false,
            modal: false,
            owner: None,
            belongs_to: Belonging::User,
            tree: TreeSupport::Yes,
        };
        let element = Element::new(Role::Window, title).at(0, 0, 400, 300);
        self.nodes.insert(root.clone(), Node { element, parent: None, children: Vec::new() });
        let revision = self.mark;
        let window = Window { facts, root, persists: true, revision, notes: Vec::new(), broken: None, cached: None };
        self.windows.insert(0, window);
        key
    }

    pub(super) fn close(&mut self, window: &NativeKey) {
        let Some(place) = self.windows.iter().position(|one| one.facts.key == *window) else { return };
        let closed = self.windows.remove(place);
        self.forget(&closed.root);
        if closed.facts.foreground
            && let Some(next) = self.windows.first_mut()
        {
            next.facts.foreground = true;
        }
    }

    pub(super) fn window(&self, key: &NativeKey) -> Option<&Window> {
        self.windows.iter().find(|window| window.facts.key == *key)
    }

    pub(super) fn window_mut(&mut self, key: &NativeKey) -> Option<&mut Window> {
        self.windows.iter_mut().find(|window| window.facts.key == *key)
    }

    /// From the root (first) to the element (last).
    pub(super) fn way(&self, element: &NativeKey) -> Option<Vec<NativeKey>> {
        let mut way = vec![element.clone()];
        while let Some(parent) = self.nodes.get(way.last()?)?.parent.clone() {
            way.push(parent);
        }
        way.reverse();
        Some(way)
    }

    pub(super) fn window_of(&self, element: &NativeKey) -> Option<NativeKey> {
        let root = self.way(element)?.into_iter().next()?;
        self.windows.iter().find(|window| window.root == root).map(|window| window.facts.key.clone())
    }

    pub(super) fn detach(&mut self, element: &NativeKey) {
        let parent = self.nodes.get(element).and_then(|node| node.parent.clone());
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.children.retain(|child| child != element);
        }
    }

    pub(super) fn forget(&mut self, element: &NativeKey) {
        let mut waiting = vec![element.clone()];
        while let Some(key) = waiting.pop() {
            if let Some(node) = self.nodes.remove(&key) {
                waiting.extend(node.children);
            }
        }
    }

    pub(super) fn tree(&mut self, key: &NativeKey, ask: &TreeAsk) -> Result<Arc<NativeTree>, Fault> {
        let window = self.window(key).ok_or(Fault::Gone)?;
        match &window.facts.tree {
            TreeSupport::Yes => {}
            TreeSupport::No(why) => return Err(Fault::Unsupported(why.clone())),
            TreeSupport::Unresponsive => return Err(Fault::Unresponsive),
        }
        if let Some(broken) = &window.broken {
            return Ok(Arc::clone(broken));
        }
        if let Some((asked, tree)) = &window.cached
            && asked == ask
        {
            return Ok(Arc::clone(tree));
        }
        let root = ask.root.clone().unwrap_or_else(|| window.root.clone());
        if self.way(&root).and_then(|way| way.into_iter().next()).as_ref() != Some(&window.root) {
            return Err(Fault::Gone);
        }
        let mut notes = window.notes.clone();
        let mut nodes: Vec<NativeNode> = Vec::new();
        let mut waiting = vec![(root, None, 1_u32)];
        while let Some((key, parent, depth)) = waiting.pop() {
            let Some(node) = self.nodes.get(&key) else { continue };
            if nodes.len() >= ask.max_nodes as usize {
                notes.push(TreeNote::Cut);
                break;
            }
            let index = nodes.len() as u32;
            let mut facts = node.element.facts();
            if !ask.affordances {
                facts.affordances = None;
            }
            if !ask.bounds {
                facts.bounds = None;
            }
            let cut = depth >= ask.max_depth && !node.children.is_empty();
            let unread = cut.then_some(Unread { total: Some(node.children.len() as u64), why: UnreadWhy::Depth });
            if !cut {
                waiting.extend(node.children.iter().rev().map(|child| (child.clone(), Some(index), depth + 1)));
            }
            nodes.push(NativeNode { key, parent, facts, unread: unread.or(node.element.unread) });
        }
        let window = self.window_mut(key).ok_or(Fault::Gone)?;
        let tree = Arc::new(NativeTree {
            revision: window.revision,
            nodes,
            toolkit: Some("fake 1.0".to_owned()),
            identity_persists: window.persists,
            notes,
        });
        window.cached = Some((ask.clone(), Arc::clone(&tree)));
        Ok(tree)
    }

    pub(super) fn resolve(&self, key: &NativeKey, element: &NativeKey) -> Result<Resolved, Fault> {
        let window = self.window(key).ok_or(Fault::Gone)?;
        let way = self.way(element).ok_or(Fault::Gone)?;
        if way.first() != Some(&window.root) {
            return Err(Fault::Gone);
        }
        let lineage = way
            .iter()
            .map(|step| {
                let node = &self.nodes[step];
                let siblings = node.parent.as_ref().map(|parent| &self.nodes[parent].children);
                let index = siblings.and_then(|siblings| siblings.iter().position(|sibling| sibling == step));
                LineageStep {
                    key: step.clone(),
                    role: node.element.facts.role,
                    identifier: node.element.facts.identifier.clone(),
                    name: node.element.facts.name.clone(),
                    index: index.map(|index| index as u32),
                }
            })
            .collect();
        let facts = self.nodes[element].element.facts();
        Ok(Resolved { lineage, facts, identity_persists: window.persists })
    }

    pub(super) fn obey(&mut self, window: &NativeKey, element: &NativeKey, effect: &Effect, text: Option<&str>) {
        match effect {
            Effect::Focus => {
                let root = self.window(window).map(|window| window.root.clone());
                let all: Vec<NativeKey> = root.map(|root| self.below(&root)).unwrap_or_default();
                for key in all {
                    if let Some(node) = self.nodes.get_mut(&key) {
                        node.element.facts.states.set(State::Focused, key == *element);
                    }
                }
            }
            Effect::Scroll { direction, pages } => {
                let step = 100 * i32::try_from(*pages).unwrap_or(10);
                let (dx, dy) = match direction {
                    Direction::Up => (0, step),
                    Direction::Down => (0, -step),
                    Direction::Left => (step, 0),
                    Direction::Right => (-step, 0),
                };
                for key in self.below(element).into_iter().skip(1) {
                    let bounds = self.nodes.get_mut(&key).and_then(|node| node.element.facts.bounds.as_mut());
                    if let Some(bounds) = bounds {
                        bounds.rect.x += dx;
                        bounds.rect.y += dy;
                    }
                }
            }
            Effect::Press | Effect::Select => self.press(element, matches!(effect, Effect::Select)),
            other => {
                let Some(node) = self.nodes.get_mut(element) else { return };
                one(&mut node.element, other, text);
            }
        }
    }

    pub(super) fn press(&mut self, element: &NativeKey, select: bool) {
        let Some(node) = self.nodes.get(element) else { return };
        let (role, parent) = (node.element.facts.role, node.parent.clone());
        let exclusive = matches!(role, Role::Radio | Role::Tab | Role::Option | Role::ListItem | Role::TreeItem);
        if exclusive && let Some(parent) = parent.and_then(|parent| self.nodes.get(&parent)) {
            for sibling in parent.children.clone() {
                if let Some(node) = self.nodes.get_mut(&sibling).filter(|node| node.element.facts.role == role) {
                    let on = sibling == *element;
                    let states = &mut node.element.facts.states;
                    if role == Role::Radio {
                        states.set(State::Checked, on);
                        states.set(State::Unchecked, !on);
                    } else {
                        states.set(State::Selected, on);
                    }
                }
            }
        }
        let Some(node) = self.nodes.get_mut(element) else { return };
        let states = &mut node.element.facts.states;
        if select {
            states.set(State::Selected, true);
            return;
        }
        if matches!(role, Role::Checkbox | Role::Switch | Role::ToggleButton | Role::MenuItemCheckbox) {
            let on = !states.has(State::Checked);
            states.set(State::Mixed, false);
            states.set(State::Checked, on);
            states.set(State::Unchecked, !on);
        }
        if states.has(State::Expanded) || states.has(State::Collapsed) {
            let expanded = states.has(State::Expanded);
            states.set(State::Expanded, !expanded);
            states.set(State::Collapsed, expanded);
        }
    }

    pub(super) fn below(&self, root: &NativeKey) -> Vec<NativeKey> {
        let (mut all, mut waiting) = (Vec::new(), vec![root.clone()]);
        while let Some(key) = waiting.pop() {
            if let Some(node) = self.nodes.get(&key) {
                waiting.extend(node.children.iter().cloned());
            }
            all.push(key);
        }
        all
    }
}

/// An effect on an element that concerns no other.
fn one(element: &mut Element, effect: &Effect, text: Option<&str>) {
    let states = &mut element.facts.states;
    match effect {
        Effect::SetNumber(number) => {
            if let Some(NativeValue::Number { current, .. }) = &mut element.value {
                *current = *number;
            }
        }
        Effect::SetChecked(on) => {
            states.set(State::Mixed, false);
            states.set(State::Checked, *on);
            states.set(State::Unchecked, !*on);
        }
        Effect::ScrollToElement => states.set(State::Offscreen, false),
        Effect::InputText { mode, .. } => {
            let put = text.unwrap_or_default();
            let whole = match (mode, &element.value) {
                (TextMode::FillEmpty, Some(NativeValue::Text(held))) => format!("{put}{}", held.expose()),
                _ => put.to_owned(),
            };
            element.value = Some(NativeValue::Text(Redacted::new(whole)));
        }
        Effect::Activate
        | Effect::Press
        | Effect::ContextMenu
        | Effect::Focus
        | Effect::Select
        | Effect::Scroll { .. } => {}
    }
}
