//! A desktop that does as it is told.
//!
//! Windows and elements are put on it and taken off at any time, from any thread; every change moves the change
//! mark. It obeys effects as a good application would, unless [`FakeDesktop::react`] says otherwise for an element.
//! [`FakeDesktop::before`] runs something just before a step, [`FakeDesktop::fail`] makes one fail,
//! [`FakeDesktop::delay`] makes one slow, [`FakeDesktop::hang`] stops an application. What was performed is kept:
//! [`FakeDesktop::performed`] is the oracle.

mod provider;
mod state;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskhand_contract::element::ElementFacts;
use deskhand_contract::geometry::DesktopRect;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{
    DisplayFacts, Effect, Fault, NativeKey, NativeTree, NativeValue, Profile, TreeNote, WindowFacts,
};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::scope::{Capability, CapabilitySet};

use crate::element::Element;
use crate::script::{Action, Reaction, Rule, Step};
use state::{Desktop, Node};

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
            acting: 0,
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

    /// How many effects reached an application that has not answered them yet.
    #[must_use]
    pub fn acting(&self) -> u32 {
        self.lock().acting
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
