//! An element to put on a fake desktop.

use deskhand_contract::element::{Affordance, Affordances, Bounds, ElementFacts, State, ValuePresence};
use deskhand_contract::geometry::WindowRect;
use deskhand_contract::provider::{NativeValue, Unread, UnreadWhy};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::role::Role;

/// An element, with the affordances that its role usually has.
#[derive(Debug, Clone)]
pub struct Element {
    pub(crate) facts: ElementFacts,
    pub(crate) value: Option<NativeValue>,
    pub(crate) unread: Option<Unread>,
    pub(crate) has_value_presence: bool,
}

impl Element {
    /// An element of `role` named `name`.
    #[must_use]
    pub fn new(role: Role, name: &str) -> Self {
        let mut facts = ElementFacts::new(role, name);
        facts.affordances = Some(usual(role));
        if role.is_interactive() {
            facts.states.set(State::Focusable, true);
        }
        let mut element = Self { facts, value: None, unread: None, has_value_presence: true };
        if matches!(role, Role::Checkbox | Role::Switch | Role::ToggleButton | Role::Radio) {
            element = element.state(State::Unchecked);
        }
        if matches!(role, Role::Textbox | Role::Searchbox | Role::PasswordTextbox) {
            element = element.state(State::Editable).text("");
        }
        if role == Role::PasswordTextbox {
            element.facts.protected = true;
        }
        element
    }

    /// The same in a state.
    #[must_use]
    pub fn state(mut self, state: State) -> Self {
        if matches!(state, State::Checked | State::Mixed) {
            self.facts.states.set(State::Unchecked, false);
        }
        self.facts.states.set(state, true);
        self
    }

    /// The same with another affordance.
    #[must_use]
    pub fn can(mut self, affordance: Affordance) -> Self {
        self.facts.affordances = Some(self.facts.affordances.unwrap_or_default().with(affordance));
        self
    }

    /// The same without one.
    #[must_use]
    pub fn cannot(mut self, affordance: Affordance) -> Self {
        let mut affordances = self.facts.affordances.unwrap_or_default();
        affordances.set(affordance, false);
        self.facts.affordances = Some(affordances);
        self
    }

    /// The same holding text.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.value = Some(NativeValue::Text(Redacted::new(text.to_owned())));
        self
    }

    /// The same holding a number.
    #[must_use]
    pub fn number(mut self, current: f64, minimum: f64, maximum: f64) -> Self {
        self.value = Some(NativeValue::Number { current, minimum, maximum });
        self
    }

    /// The same, a part of something protected.
    #[must_use]
    pub fn protected(mut self) -> Self {
        self.facts.protected = true;
        self
    }

    /// The same with a description.
    #[must_use]
    pub fn described(mut self, text: &str) -> Self {
        self.facts.description = text.into();
        self
    }

    /// The same with a placeholder.
    #[must_use]
    pub fn placeholder(mut self, text: &str) -> Self {
        self.facts.placeholder = text.into();
        self
    }

    /// The same with a developer's identifier.
    #[must_use]
    pub fn identifier(mut self, text: &str) -> Self {
        self.facts.identifier = text.into();
        self
    }

    /// The same at a place of its window.
    #[must_use]
    pub fn at(mut self, x: i32, y: i32, width: u32, height: u32) -> Self {
        self.facts.bounds = Some(Bounds { rect: WindowRect::new(x, y, width, height), proven: true });
        self
    }

    /// The same with children that were not read.
    #[must_use]
    pub fn unread(mut self, total: u64, why: UnreadWhy) -> Self {
        self.unread = Some(Unread { total: Some(total), why });
        self
    }

    /// The same, of which trees do not say whether its value is empty.
    #[must_use]
    pub fn value_unsaid(mut self) -> Self {
        self.has_value_presence = false;
        self
    }

    /// The facts as a provider says them.
    pub(crate) fn facts(&self) -> ElementFacts {
        let mut facts = self.facts.clone();
        facts.value = match &self.value {
            _ if facts.protected => ValuePresence::Unknown,
            None => ValuePresence::None,
            Some(_) if !self.has_value_presence => ValuePresence::Unknown,
            Some(NativeValue::Text(text)) if text.is_empty() => ValuePresence::Empty,
            Some(_) => ValuePresence::Present,
        };
        facts
    }
}

fn usual(role: Role) -> Affordances {
    use Affordance as A;
    let usual: &[Affordance] = match role {
        Role::Textbox | Role::Searchbox | Role::PasswordTextbox => &[A::CanInputText, A::CanFocus, A::CanScrollTo],
        Role::Slider | Role::SpinButton => &[A::CanSetValue, A::CanFocus, A::CanScrollTo],
        Role::Checkbox | Role::Switch | Role::ToggleButton => {
            &[A::CanPress, A::CanSetValue, A::CanFocus, A::CanScrollTo]
        }
        Role::Radio | Role::Tab | Role::Option | Role::ListItem | Role::TreeItem => {
            &[A::CanPress, A::CanSelect, A::CanFocus, A::CanScrollTo]
        }
        Role::ScrollPane => &[A::CanScroll],
        role if role.is_interactive() => &[A::CanPress, A::CanFocus, A::CanScrollTo],
        _ => &[A::CanScrollTo],
    };
    Affordances::of(usual)
}
