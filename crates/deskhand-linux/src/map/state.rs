//! AT-SPI state numbers as one set, and in the contract's words. Pure.

use deskhand_contract::element::{State, States};
use deskhand_contract::role::Role;

/// The states of an object, as AT-SPI numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RawStates(pub(crate) u64);

/// States by their AT-SPI number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Raw {
    Active = 1,
    Busy = 3,
    Checked = 4,
    Defunct = 6,
    Editable = 7,
    Enabled = 8,
    Expandable = 9,
    Expanded = 10,
    Focusable = 11,
    Focused = 12,
    Modal = 16,
    Multiline = 17,
    Multiselectable = 18,
    Pressed = 20,
    Selectable = 22,
    Selected = 23,
    Sensitive = 24,
    Showing = 25,
    Visible = 30,
    ManagesDescendants = 31,
    Indeterminate = 32,
    Required = 33,
    InvalidEntry = 36,
    Default = 39,
    Visited = 40,
    Checkable = 41,
    HasPopup = 42,
    ReadOnly = 43,
}

impl RawStates {
    /// From the words of `GetState`.
    pub(crate) fn of_words(words: &[u32]) -> Self {
        let low = words.first().copied().unwrap_or(0);
        let high = words.get(1).copied().unwrap_or(0);
        Self(u64::from(low) | u64::from(high) << 32)
    }

    pub(crate) const fn has(self, state: Raw) -> bool {
        self.0 & (1 << state as u8) != 0
    }
}

/// What is known around an object that its own states do not say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    /// Whether the toolkit's SHOWING means something in this window now: a covered Firefox and GTK 4 do not say it.
    pub(crate) showing_means: bool,
    /// Whether it takes text.
    pub(crate) takes_text: bool,
}

/// The states in the contract's words.
pub(crate) fn states(raw: RawStates, role: Role, around: Around) -> States {
    let checkable = raw.has(Raw::Checkable) || role.is_checkable();
    let checked = raw.has(Raw::Checked) || (role == Role::ToggleButton && raw.has(Raw::Pressed));
    let mixed = checkable && raw.has(Raw::Indeterminate);
    let expandable = raw.has(Raw::Expandable);
    let editable = raw.has(Raw::Editable) && !raw.has(Raw::ReadOnly);
    let textual = matches!(role, Role::Textbox | Role::Searchbox | Role::PasswordTextbox);
    let hidden = !raw.has(Raw::Visible) && around.showing_means;
    let table = [
        (State::Focused, raw.has(Raw::Focused)),
        // Of its paragraphs LibreOffice says only that they are enabled.
        (State::Disabled, !(raw.has(Raw::Sensitive) || (role == Role::Paragraph && raw.has(Raw::Enabled)))),
        (State::Checked, checkable && checked && !mixed),
        (State::Mixed, mixed),
        (State::Unchecked, checkable && !checked && !mixed),
        (State::Pressed, raw.has(Raw::Pressed) && role != Role::ToggleButton),
        (State::Selected, raw.has(Raw::Selected)),
        (State::Expanded, raw.has(Raw::Expanded)),
        (State::Collapsed, expandable && !raw.has(Raw::Expanded)),
        (State::Editable, editable),
        (State::ReadOnly, raw.has(Raw::ReadOnly) || (textual && around.takes_text && !editable)),
        (State::Multiline, raw.has(Raw::Multiline)),
        (State::Required, raw.has(Raw::Required)),
        (State::Invalid, raw.has(Raw::InvalidEntry)),
        (State::Modal, raw.has(Raw::Modal)),
        (State::Busy, raw.has(Raw::Busy)),
        (State::Default, raw.has(Raw::Default)),
        (State::Visited, raw.has(Raw::Visited)),
        (State::Offscreen, around.showing_means && raw.has(Raw::Visible) && !raw.has(Raw::Showing)),
        (State::Hidden, hidden),
        (State::Multiselectable, raw.has(Raw::Multiselectable)),
        (State::HasPopup, raw.has(Raw::HasPopup)),
        (State::Focusable, raw.has(Raw::Focusable)),
        (State::Active, raw.has(Raw::Active)),
    ];
    let mut states = States::NONE;
    for (state, holds) in table {
        states.set(state, holds);
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    const AROUND: Around = Around { showing_means: true, takes_text: false };

    fn raw(states: &[Raw]) -> RawStates {
        RawStates(states.iter().fold(0, |bits, state| bits | 1 << *state as u8))
    }

    #[test]
    fn checkables_say_one_of_three() {
        let shown = [Raw::Sensitive, Raw::Visible, Raw::Showing];
        let of = |more: &[Raw], role| states(raw(&[&shown[..], more].concat()), role, AROUND);
        assert!(of(&[], Role::Checkbox).has(State::Unchecked));
        assert!(of(&[Raw::Checked], Role::Checkbox).has(State::Checked));
        assert!(of(&[Raw::Checked, Raw::Indeterminate], Role::Checkbox).has(State::Mixed));
        assert!(of(&[Raw::Pressed], Role::ToggleButton).has(State::Checked));
        assert!(of(&[Raw::Checkable], Role::MenuItem).has(State::Unchecked));
        assert!(!of(&[], Role::Button).has(State::Unchecked));
    }

    #[test]
    fn showing_is_believed_only_where_it_means_something() {
        let hidden = raw(&[Raw::Sensitive, Raw::Visible]);
        assert!(states(hidden, Role::Button, AROUND).has(State::Offscreen));
        let covered = Around { showing_means: false, takes_text: false };
        assert!(!states(hidden, Role::Button, covered).has(State::Offscreen));
        assert!(states(raw(&[Raw::Sensitive]), Role::Button, AROUND).has(State::Hidden));
    }

    #[test]
    fn an_insensitive_element_is_disabled() {
        assert!(states(raw(&[Raw::Visible, Raw::Showing]), Role::Button, AROUND).has(State::Disabled));
        let enabled = raw(&[Raw::Enabled, Raw::Visible, Raw::Showing]);
        assert!(states(enabled, Role::Button, AROUND).has(State::Disabled));
        assert!(!states(enabled, Role::Paragraph, AROUND).has(State::Disabled));
    }

    #[test]
    fn words_become_numbers() {
        let both = RawStates::of_words(&[1 << 24, 1 << (41 - 32)]);
        assert!(both.has(Raw::Sensitive) && both.has(Raw::Checkable));
        assert_eq!(RawStates::of_words(&[]), RawStates(0));
    }
}
