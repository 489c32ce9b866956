//! A desktop that does as it is told.
//!
//! Windows and elements are put on it and taken off at any time, from any thread; every change moves the change
//! mark. It obeys effects as a good application would, unless [`FakeDesktop::react`] says otherwise for an element.
//! [`FakeDesktop::before`] runs something just before a step, [`FakeDesktop::fail`] makes one fail,
//! [`FakeDesktop::delay`] makes one slow, [`FakeDesktop::hang`] stops an application. What was performed is kept:
//! [`FakeDesktop::performed`] is the oracle.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskhand_contract::action::{Direction, TextMode};
use deskhand_contract::element::{ElementFacts, State};
use deskhand_contract::geometry::{DesktopRect, Size};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{
    AccessibilityStatus, Belonging, Bitmap, CaptureTarget, ChangeMark, Dispatch, DisplayFacts, Effect, EffectTarget,
    Fault, LineageStep, NativeKey, NativeNode, NativeTree, NativeValue, Profile, Provider, Resolved, TreeAsk, TreeNote,
    TreeSupport, Unread, UnreadWhy, WindowFacts, WindowKind,
};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::role::Role;
use deskhand_contract::scope::{Capability, CapabilitySet};

use crate::element::Element;
use crate::script::{Action, Reaction, Rule, Step};

/// A scripted desktop.
pub struct FakeDesktop {
    state: Mutex<Desktop>,
    changed: Condvar,
}

/// An effect that reached an element, as the application would have logged it.
#[derive(Debug, Clone, PartialEq)]
pub struct Performed {
    /// The window.
    pub window: NativeKey,
    /// The element.
    pub element: Option<NativeKey>,
    /// `press`, `focus`, `input_text` …
    pub effect: &'static str,
    /// The text that arrived, of `input_text`.
    pub text: Option<String>,
}

struct Desktop {
    mark: u64,
    of_window: HashMap<NativeKey, u64>,
    keys: u64,
    windows: Vec<Window>,
    nodes: HashMap<NativeKey, Node>,
    displays: Vec<DisplayFacts>,
    profile: Profile,
    reactions: HashMap<NativeKey, Reaction>,
    rules: Vec<Rule>,
    hanging: HashSet<NativeKey>,
    performed: Vec<Performed>,
    steps: HashMap<Step, u32>,
    painted_out: Vec<NativeKey>,
}

struct Window {
    facts: WindowFacts,
    root: NativeKey,
    persists: bool,
    revision: u64,
    notes: Vec<TreeNote>,
    broken: Option<Arc<NativeTree>>,
    cached: Option<(TreeAsk, Arc<NativeTree>)>,
}

struct Node {
    element: Element,
    parent: Option<NativeKey>,
    children: Vec<NativeKey>,
}

impl Default for FakeDesktop {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeDesktop {
    /// A desktop of one display, 1,920 by 1,080, without a window, on which everything semantic can be done.
    #[must_use]
    pub fn new() -> Self {
        let display = DisplayFacts {
            key: NativeKey::new(b"display-1"),
            geometry: DesktopRect::new(0, 0, 1_920, 1_080),
            primary: true,
        };
        let profile = Profile {
            platform: "fake",
            provider: "fake",
            session_type: "fake",
            fidelity: "fake",
            private: true,
            capabilities: CapabilitySet::of(&[
                Capability::ComputerObserve,
                Capability::ComputerSnapshotRegion,
                Capability::ComputerAccessibilityObserve,
                Capability::ComputerDisplayObserve,
                Capability::ComputerWindowActivate,
                Capability::ComputerControl,
                Capability::ComputerScrollToElement,
                Capability::ComputerTextInput,
            ]),
        };
        let state = Desktop {
            mark: 1,
            of_window: HashMap::new(),
            keys: 0,
            windows: Vec::new(),
            nodes: HashMap::new(),
            displays: vec![display],
            profile,
            reactions: HashMap::new(),
            rules: Vec::new(),
            hanging: HashSet::new(),
            performed: Vec::new(),
            steps: HashMap::new(),
            painted_out: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Puts a window of that title in front.
    pub fn window(&self, title: &str) -> NativeKey {
        self.window_with(title, |_| {})
    }

    /// The same with facts that `adjust` changes.
    pub fn window_with(&self, title: &str, adjust: impl FnOnce(&mut WindowFacts)) -> NativeKey {
        let mut state = self.lock();
        let key = state.new_window(title);
        adjust(&mut state.windows[0].facts);
        self.bump(state, Some(key.clone()));
        key
    }

    /// The root element of a window.
    ///
    /// # Panics
    /// Where there is no such window.
    #[must_use]
    pub fn root(&self, window: &NativeKey) -> NativeKey {
        self.lock().window(window).expect("the window is there").root.clone()
    }

    /// Puts an element below `parent` (an element), after its other children.
    ///
    /// # Panics
    /// Where there is no such parent.
    pub fn add(&self, parent: &NativeKey, element: Element) -> NativeKey {
        self.insert(parent, usize::MAX, element)
    }

    /// Puts an element among the children of `parent`.
    ///
    /// # Panics
    /// Where there is no such parent.
    pub fn insert(&self, parent: &NativeKey, place: usize, element: Element) -> NativeKey {
        let mut state = self.lock();
        let key = state.key();
        state.nodes.insert(key.clone(), Node { element, parent: Some(parent.clone()), children: Vec::new() });
        let children = &mut state.nodes.get_mut(parent).expect("the parent is there").children;
        children.insert(place.min(children.len()), key.clone());
        self.touch(state, &key);
        key
    }

    /// Takes an element and all below it off.
    pub fn remove(&self, element: &NativeKey) {
        let mut state = self.lock();
        let window = state.window_of(element);
        state.detach(element);
        state.forget(element);
        self.bump(state, window);
    }

    /// Moves an element below another parent.
    ///
    /// # Panics
    /// Where there is no such parent.
    pub fn move_below(&self, element: &NativeKey, parent: &NativeKey) {
        let mut state = self.lock();
        state.detach(element);
        state.nodes.get_mut(parent).expect("the parent is there").children.push(element.clone());
        state.nodes.get_mut(element).expect("the element is there").parent = Some(parent.clone());
        self.touch(state, element);
    }

    /// Changes the facts of an element.
    ///
    /// # Panics
    /// Where there is no such element.
    pub fn change(&self, element: &NativeKey, change: impl FnOnce(&mut ElementFacts)) {
        let mut state = self.lock();
        change(&mut state.nodes.get_mut(element).expect("the element is there").element.facts);
        self.touch(state, element);
    }

    /// Changes the facts of a window.
    ///
    /// # Panics
    /// Where there is no such window.
    pub fn change_window(&self, window: &NativeKey, change: impl FnOnce(&mut WindowFacts)) {
        let mut state = self.lock();
        change(&mut state.window_mut(window).expect("the window is there").facts);
        self.bump(state, Some(window.clone()));
    }

    /// Whether identities of the window's application are never given to another element. They are, at first.
    ///
    /// # Panics
    /// Where there is no such window.
    pub fn persists(&self, window: &NativeKey, persists: bool) {
        let mut state = self.lock();
        state.window_mut(window).expect("the window is there").persists = persists;
        self.bump(state, Some(window.clone()));
    }

    /// What trees of the window say of themselves.
    ///
    /// # Panics
    /// Where there is no such window.
    pub fn notes(&self, window: &NativeKey, notes: Vec<TreeNote>) {
        let mut state = self.lock();
        state.window_mut(window).expect("the window is there").notes = notes;
        self.bump(state, Some(window.clone()));
    }

    /// Answers every ask for a tree of the window with `tree`, whatever it is.
    ///
    /// # Panics
    /// Where there is no such window.
    pub fn broken(&self, window: &NativeKey, tree: NativeTree) {
        let mut state = self.lock();
        state.window_mut(window).expect("the window is there").broken = Some(Arc::new(tree));
        self.bump(state, Some(window.clone()));
    }

    /// Gives the identity of `old` to a new element in its place: what a toolkit does that reuses its handles.
    ///
    /// # Panics
    /// Where there is no such element.
    pub fn replace(&self, old: &NativeKey, element: Element) {
        let mut state = self.lock();
        state.nodes.get_mut(old).expect("the element is there").element = element;
        self.touch(state, old);
    }

    /// Takes a window off.
    pub fn close(&self, window: &NativeKey) {
        let mut state = self.lock();
        state.close(window);
        self.bump(state, Some(window.clone()));
    }

    /// Sets the displays.
    pub fn set_displays(&self, displays: Vec<DisplayFacts>) {
        let mut state = self.lock();
        state.displays = displays;
        self.bump(state, None);
    }

    /// Changes what the desktop says of itself.
    pub fn profile_with(&self, change: impl FnOnce(&mut Profile)) {
        change(&mut self.lock().profile);
    }

    /// How an element answers effects from now on, or a window its activation.
    pub fn react(&self, thing: &NativeKey, reaction: Reaction) {
        self.lock().reactions.insert(thing.clone(), reaction);
    }

    /// Stops the application of a window: it answers nothing more. [`FakeDesktop::wake`] ends that.
    pub fn hang(&self, window: &NativeKey) {
        self.lock().hanging.insert(window.clone());
    }

    /// Lets the application of a window go on.
    pub fn wake(&self, window: &NativeKey) {
        let mut state = self.lock();
        state.hanging.remove(window);
        self.bump(state, Some(window.clone()));
    }

    /// Lets a step fail, `times` times, after it went well `skip` times.
    pub fn fail(&self, step: Step, skip: u32, times: u32, fault: Fault) {
        self.lock().rules.push(Rule { step, skip, times, action: Action::Fail(fault) });
    }

    /// Makes a step take `time`, from now on. It ends early when cancelled or over.
    pub fn delay(&self, step: Step, time: Duration) {
        self.lock().rules.push(Rule { step, skip: 0, times: u32::MAX, action: Action::Delay(time) });
    }

    /// Runs `happens` right before a step, once, after the step went by `skip` times.
    pub fn before(&self, step: Step, skip: u32, happens: impl FnMut(&Self) + Send + 'static) {
        self.lock().rules.push(Rule { step, skip, times: 1, action: Action::Run(Box::new(happens)) });
    }

    /// The effects that reached an application, in order.
    #[must_use]
    pub fn performed(&self) -> Vec<Performed> {
        self.lock().performed.clone()
    }

    /// How often a step was asked for.
    #[must_use]
    pub fn asked(&self, step: Step) -> u32 {
        self.lock().steps.get(&step).copied().unwrap_or(0)
    }

    /// The windows that the last picture of a display was to leave out.
    #[must_use]
    pub fn painted_out(&self) -> Vec<NativeKey> {
        self.lock().painted_out.clone()
    }

    /// The text that an element holds.
    #[must_use]
    pub fn text(&self, element: &NativeKey) -> Option<String> {
        match self.lock().nodes.get(element)?.element.value.as_ref()? {
            NativeValue::Text(text) => Some(text.expose().to_owned()),
            NativeValue::Number { .. } => None,
        }
    }

    /// Sets the text that an element holds, as the application itself or a person would.
    pub fn set_text(&self, element: &NativeKey, text: &str) {
        let mut state = self.lock();
        if let Some(node) = state.nodes.get_mut(element) {
            node.element.value = Some(NativeValue::Text(Redacted::new(text.to_owned())));
        }
        self.touch(state, element);
    }

    /// The number that an element holds.
    #[must_use]
    pub fn number(&self, element: &NativeKey) -> Option<f64> {
        match self.lock().nodes.get(element)?.element.value.as_ref()? {
            NativeValue::Number { current, .. } => Some(*current),
            NativeValue::Text(_) => None,
        }
    }

    /// The facts of an element as they are.
    #[must_use]
    pub fn facts(&self, element: &NativeKey) -> Option<ElementFacts> {
        self.lock().nodes.get(element).map(|node| node.element.facts())
    }

    fn lock(&self) -> MutexGuard<'_, Desktop> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self, state: MutexGuard<'_, Desktop>, element: &NativeKey) {
        let window = state.window_of(element);
        self.bump(state, window);
    }

    /// Something changed in `window`, or anywhere.
    fn bump(&self, mut state: MutexGuard<'_, Desktop>, window: Option<NativeKey>) {
        state.mark += 1;
        let mark = state.mark;
        if let Some(window) = window {
            if let Some(window) = state.window_mut(&window) {
                window.revision = mark;
                window.cached = None;
            }
            state.of_window.insert(window, mark);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Counts a step and lets its rules act.
    fn step(&self, step: Step, window: Option<&NativeKey>, limit: &Limit) -> Result<(), Fault> {
        let (mut delay, mut fault, mut runs) = (Duration::ZERO, None, Vec::new());
        {
            let mut state = self.lock();
            *state.steps.entry(step).or_default() += 1;
            for rule in state.rules.iter_mut().filter(|rule| rule.step == step && rule.times > 0) {
                if rule.skip > 0 {
                    rule.skip -= 1;
                    continue;
                }
                rule.times = rule.times.saturating_sub(u32::from(rule.times != u32::MAX));
                match &mut rule.action {
                    Action::Fail(with) => fault = Some(with.clone()),
                    Action::Delay(time) => delay += *time,
                    Action::Run(run) => runs.push(std::mem::replace(run, Box::new(|_| {}))),
                }
            }
        }
        for mut run in runs {
            run(self);
        }
        if delay > Duration::ZERO {
            let _ = limit.cancel.wait(delay.min(limit.remaining()));
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        let hangs = window.is_some_and(|window| self.lock().hanging.contains(window));
        if hangs {
            let _ = limit.cancel.wait(limit.remaining());
            return Err(if limit.cancel.is_cancelled() { Fault::Cancelled } else { Fault::Unresponsive });
        }
        if limit.cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        Ok(())
    }

    /// Does what an effect asks for, now, as a good application would.
    fn obey(&self, window: &NativeKey, element: Option<&NativeKey>, effect: &Effect, cut: Option<usize>) {
        let mut state = self.lock();
        let text = match effect {
            Effect::InputText { text, .. } => {
                let whole = text.expose();
                let mut end = cut.unwrap_or(whole.len()).min(whole.len());
                while !whole.is_char_boundary(end) {
                    end -= 1;
                }
                Some(whole[..end].to_owned())
            }
            _ => None,
        };
        match (element, effect) {
            (None, Effect::Activate) => {
                for other in &mut state.windows {
                    other.facts.foreground = other.facts.key == *window;
                    other.facts.minimised &= other.facts.key != *window;
                }
            }
            (Some(element), effect) => state.obey(window, element, effect, text.as_deref()),
            (None, _) => {}
        }
        state.performed.push(Performed {
            window: window.clone(),
            element: element.cloned(),
            effect: name(effect),
            text,
        });
        self.bump(state, Some(window.clone()));
    }
}

impl Desktop {
    fn key(&mut self) -> NativeKey {
        self.keys += 1;
        NativeKey::new(&self.keys.to_le_bytes())
    }

    fn new_window(&mut self, title: &str) -> NativeKey {
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

    fn close(&mut self, window: &NativeKey) {
        let Some(place) = self.windows.iter().position(|one| one.facts.key == *window) else { return };
        let closed = self.windows.remove(place);
        self.forget(&closed.root);
        if closed.facts.foreground
            && let Some(next) = self.windows.first_mut()
        {
            next.facts.foreground = true;
        }
    }

    fn window(&self, key: &NativeKey) -> Option<&Window> {
        self.windows.iter().find(|window| window.facts.key == *key)
    }

    fn window_mut(&mut self, key: &NativeKey) -> Option<&mut Window> {
        self.windows.iter_mut().find(|window| window.facts.key == *key)
    }

    /// From the root (first) to the element (last).
    fn way(&self, element: &NativeKey) -> Option<Vec<NativeKey>> {
        let mut way = vec![element.clone()];
        while let Some(parent) = self.nodes.get(way.last()?)?.parent.clone() {
            way.push(parent);
        }
        way.reverse();
        Some(way)
    }

    fn window_of(&self, element: &NativeKey) -> Option<NativeKey> {
        let root = self.way(element)?.into_iter().next()?;
        self.windows.iter().find(|window| window.root == root).map(|window| window.facts.key.clone())
    }

    fn detach(&mut self, element: &NativeKey) {
        let parent = self.nodes.get(element).and_then(|node| node.parent.clone());
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.children.retain(|child| child != element);
        }
    }

    fn forget(&mut self, element: &NativeKey) {
        let mut waiting = vec![element.clone()];
        while let Some(key) = waiting.pop() {
            if let Some(node) = self.nodes.remove(&key) {
                waiting.extend(node.children);
            }
        }
    }

    fn tree(&mut self, key: &NativeKey, ask: &TreeAsk) -> Result<Arc<NativeTree>, Fault> {
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

    fn resolve(&self, key: &NativeKey, element: &NativeKey) -> Result<Resolved, Fault> {
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

    fn obey(&mut self, window: &NativeKey, element: &NativeKey, effect: &Effect, text: Option<&str>) {
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

    fn press(&mut self, element: &NativeKey, select: bool) {
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

    fn below(&self, root: &NativeKey) -> Vec<NativeKey> {
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

const fn name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Activate => "activate",
        Effect::Press => "press",
        Effect::ContextMenu => "context_menu",
        Effect::Focus => "focus",
        Effect::Select => "select",
        Effect::SetNumber(_) => "set_number",
        Effect::SetChecked(_) => "set_checked",
        Effect::ScrollToElement => "scroll_to_element",
        Effect::Scroll { .. } => "scroll",
        Effect::InputText { .. } => "input_text",
    }
}

impl Provider for FakeDesktop {
    fn profile(&self) -> Profile {
        self.lock().profile.clone()
    }

    fn accessibility_status(&self, limit: &Limit) -> Result<AccessibilityStatus, Fault> {
        self.step(Step::Status, None, limit)?;
        let state = self.lock();
        Ok(AccessibilityStatus {
            available: true,
            applications: u32::try_from(state.windows.len()).unwrap_or(u32::MAX),
            unresponsive: u32::try_from(state.hanging.len()).unwrap_or(u32::MAX),
            notes: Vec::new(),
        })
    }

    fn windows(&self, limit: &Limit) -> Result<Vec<WindowFacts>, Fault> {
        self.step(Step::Windows, None, limit)?;
        Ok(self.lock().windows.iter().map(|window| window.facts.clone()).collect())
    }

    fn window(&self, window: &NativeKey, limit: &Limit) -> Result<WindowFacts, Fault> {
        self.step(Step::Window, None, limit)?;
        self.lock().window(window).map(|window| window.facts.clone()).ok_or(Fault::Gone)
    }

    fn displays(&self, limit: &Limit) -> Result<Vec<DisplayFacts>, Fault> {
        self.step(Step::Displays, None, limit)?;
        Ok(self.lock().displays.clone())
    }

    fn tree(&self, window: &NativeKey, ask: &TreeAsk, limit: &Limit) -> Result<Arc<NativeTree>, Fault> {
        self.step(Step::Tree, Some(window), limit)?;
        self.lock().tree(window, ask)
    }

    fn resolve(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<Resolved, Fault> {
        self.step(Step::Resolve, Some(window), limit)?;
        self.lock().resolve(window, element)
    }

    fn value(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<NativeValue, Fault> {
        self.step(Step::Value, Some(window), limit)?;
        let state = self.lock();
        state.resolve(window, element)?;
        let value = state.nodes[element].element.value.clone();
        match value.ok_or_else(|| Fault::Unsupported("this element has no value".to_owned()))? {
            NativeValue::Text(text) if text.len() > 16 << 10 => Err(Fault::TooLarge),
            value => Ok(value),
        }
    }

    fn perform(&self, target: &EffectTarget<'_>, effect: &Effect, limit: &Limit) -> Dispatch {
        if let Err(fault) = self.step(Step::Perform, None, limit) {
            return Dispatch::NotStarted(fault);
        }
        let (window, element) = (target.window, target.element);
        let reaction = {
            let state = self.lock();
            if state.window(window).is_none() || element.is_some_and(|key| !state.nodes.contains_key(key)) {
                return Dispatch::NotStarted(Fault::Gone);
            }
            let hangs = state.hanging.contains(window);
            let reaction = state.reactions.get(element.unwrap_or(window)).cloned().unwrap_or(Reaction::Obey);
            if hangs { Reaction::Hang } else { reaction }
        };
        let until_over = || {
            let _ = limit.cancel.wait(limit.remaining());
            Dispatch::Unknown("the application did not answer in time".to_owned())
        };
        match reaction {
            Reaction::Obey => self.obey(window, element, effect, None),
            Reaction::Cut(bytes) => self.obey(window, element, effect, Some(bytes)),
            Reaction::Lie => {}
            Reaction::Later(time) => {
                // Its own moment comes when someone looks again after it: the wait for a change brings it.
                let (window, element, effect) = (window.clone(), element.cloned(), effect.clone());
                self.lock().rules.push(Rule {
                    step: Step::Resolve,
                    skip: 1,
                    times: 1,
                    action: Action::Run(Box::new(move |desktop| {
                        std::thread::sleep(time);
                        desktop.obey(&window, element.as_ref(), &effect, None);
                    })),
                });
            }
            Reaction::Noop => return Dispatch::Noop("the application answered that it did nothing".to_owned()),
            Reaction::NotStarted(fault) => return Dispatch::NotStarted(fault),
            Reaction::Stall => {
                self.obey(window, element, effect, None);
                return until_over();
            }
            Reaction::Hang => return until_over(),
            Reaction::Deaf(time) => {
                std::thread::sleep(time);
                return Dispatch::Unknown("the application did not answer in time".to_owned());
            }
            Reaction::Die => {
                self.close(window);
                return Dispatch::Unknown("the application ended during the call".to_owned());
            }
            Reaction::Close => {
                self.obey(window, element, effect, None);
                self.close(window);
            }
            Reaction::Open(title) => {
                self.obey(window, element, effect, None);
                self.window(&title);
            }
            Reaction::Vanish => {
                self.obey(window, element, effect, None);
                if let Some(element) = element {
                    self.remove(element);
                }
            }
            Reaction::Panic => panic!("the fake desktop was told to panic"),
        }
        Dispatch::Sent
    }

    fn capture(&self, target: &CaptureTarget<'_>, limit: &Limit) -> Result<Bitmap, Fault> {
        self.step(Step::Capture, None, limit)?;
        let mut state = self.lock();
        let (size, source) = match target {
            CaptureTarget::Window { window, region } => {
                let facts = &state.window(window).ok_or(Fault::Gone)?.facts;
                if facts.minimised {
                    return Err(Fault::NotCapturable("it is minimised".to_owned()));
                }
                let whole = facts.geometry.size();
                (region.map_or(whole, |region| region.size()), whole)
            }
            CaptureTarget::Display { display, without } => {
                let found = state.displays.iter().find(|facts| facts.key == **display).ok_or(Fault::Gone)?;
                let whole = found.geometry.size();
                state.painted_out = without.to_vec();
                (whole, whole)
            }
        };
        let bytes = usize::try_from(Size::area(size) * 4).unwrap_or(0);
        Ok(Bitmap { size, stride: size.width as usize * 4, pixels: vec![0x7f; bytes], source })
    }

    fn change_mark(&self) -> ChangeMark {
        ChangeMark(self.lock().mark)
    }

    fn await_change(&self, since: ChangeMark, window: Option<&NativeKey>, limit: &Limit) -> ChangeMark {
        /// A cancelled caller is let go within this time.
        const STEP: Duration = Duration::from_millis(5);
        let mut state = self.lock();
        loop {
            let seen = match window {
                Some(window) => state.of_window.get(window).copied().unwrap_or(0),
                None => state.mark,
            };
            if seen > since.0 || limit.is_over() {
                return ChangeMark(state.mark.max(since.0));
            }
            let step = limit.remaining().min(STEP);
            state = self.changed.wait_timeout(state, step).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
