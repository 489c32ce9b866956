//! What an element is and shows: the facts that every provider answers in the same words.

use crate::geometry::WindowRect;
use crate::role::Role;

/// Longest name, description or placeholder that is kept, in characters. Longer ones are cut and end in `…`.
pub const MAX_TEXT: usize = 1_000;

macro_rules! flags {
    ($(#[$doc:meta])* $set:ident of $flag:ident : $repr:ty { $($(#[$variant_doc:meta])* $variant:ident => $wire:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $flag { $($(#[$variant_doc])* $variant,)+ }

        impl $flag {
            /// Every member, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// The wire name.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $(Self::$variant => $wire,)+ } }
            /// The member of that wire name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> { match name { $($wire => Some(Self::$variant),)+ _ => None } }
        }

        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $set($repr);

        impl $set {
            /// No member.
            pub const NONE: Self = Self(0);
            /// The set of `members`.
            #[must_use]
            pub const fn of(members: &[$flag]) -> Self {
                let (mut bits, mut index) = (0, 0);
                while index < members.len() { bits |= 1 << members[index] as u8; index += 1; }
                Self(bits)
            }
            /// Whether `member` is in it.
            #[must_use]
            pub const fn has(self, member: $flag) -> bool { self.0 & (1 << member as u8) != 0 }
            /// Adds `member` where `present`.
            pub fn set(&mut self, member: $flag, present: bool) {
                if present { self.0 |= 1 << member as u8; } else { self.0 &= !(1 << member as u8); }
            }
            /// This set and `member`.
            #[must_use]
            pub const fn with(self, member: $flag) -> Self { Self(self.0 | 1 << member as u8) }
            /// Its members, in the order in which they are shown.
            pub fn iter(self) -> impl Iterator<Item = $flag> {
                $flag::ALL.iter().copied().filter(move |member| self.has(*member))
            }
            /// Whether it has none.
            #[must_use]
            pub const fn is_empty(self) -> bool { self.0 == 0 }
        }

        impl std::fmt::Debug for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_set().entries(self.iter().map($flag::name)).finish()
            }
        }

        impl serde::Serialize for $set {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter().map($flag::name))
            }
        }

        impl<'de> serde::Deserialize<'de> for $set {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut set = Self::NONE;
                for name in Vec::<String>::deserialize(deserializer)? {
                    set.set($flag::named(&name).ok_or_else(|| serde::de::Error::custom("not a member"))?, true);
                }
                Ok(set)
            }
        }
    };
}

flags! {
    /// What is true of an element now.
    States of State: u32 {
        /// Has the keyboard focus.
        Focused => "focused",
        /// Cannot be operated (the platform says insensitive).
        Disabled => "disabled",
        /// Checked, on, or toggled.
        Checked => "checked",
        /// Checkable and neither checked nor unchecked.
        Mixed => "mixed",
        /// Checkable and not checked. Told apart from an element that cannot be checked.
        Unchecked => "unchecked",
        /// Held down, as a toggle button is.
        Pressed => "pressed",
        /// Chosen among its siblings.
        Selected => "selected",
        /// Its contents are shown.
        Expanded => "expanded",
        /// It can expand and its contents are not shown.
        Collapsed => "collapsed",
        /// Takes text.
        Editable => "editable",
        /// Shows text that cannot be changed, where an editable one is expected.
        ReadOnly => "readonly",
        /// Takes several lines.
        Multiline => "multiline",
        /// Must be filled in.
        Required => "required",
        /// Its value is refused by the application.
        Invalid => "invalid",
        /// Blocks its owner until it is closed.
        Modal => "modal",
        /// Not finished loading or working.
        Busy => "busy",
        /// Reacts to Enter in its dialog.
        Default => "default",
        /// A link that was followed.
        Visited => "visited",
        /// Present, but outside what its window shows now: scroll to it first.
        Offscreen => "offscreen",
        /// Present, but not shown at all (an inner page of a notebook, a closed menu).
        Hidden => "hidden",
        /// Several items can be selected.
        Multiselectable => "multiselectable",
        /// Opens something.
        HasPopup => "haspopup",
        /// Takes the keyboard focus. Not shown in outlines.
        Focusable => "focusable",
        /// The window that is in front, as the application says. Not shown in outlines.
        Active => "active",
    }
}

flags! {
    /// What Deskhand can do with an element by the element's own means.
    Affordances of Affordance: u16 {
        /// `press` works.
        CanPress => "can_press",
        /// `focus` works.
        CanFocus => "can_focus",
        /// `input_text` works.
        CanInputText => "can_input_text",
        /// `select` works.
        CanSelect => "can_select",
        /// `set_value` works.
        CanSetValue => "can_set_value",
        /// `scroll_to_element` works.
        CanScrollTo => "can_scroll_to",
        /// `scroll` works.
        CanScroll => "can_scroll",
        /// `press` with gesture `context_menu` works.
        CanContextMenu => "can_context_menu",
    }
}

/// Whether an element holds a value. The value itself is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ValuePresence {
    /// The element is of a kind that has no value.
    #[default]
    None,
    /// It has a value and it is empty.
    Empty,
    /// It has a value that is not empty.
    Present,
    /// It has one, and whether it is empty was not read or must not be (a protected element).
    Unknown,
}

/// Where an element lies in its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Pixels of the window as `snapshot_window` captures it.
    pub rect: WindowRect,
    /// Whether the toolkit's answer could be tied to the window's pixels. Unproven bounds are shown as
    /// such and never carry an input event.
    pub proven: bool,
}

/// Everything that is said of one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementFacts {
    /// The role in the common vocabulary.
    pub role: Role,
    /// The platform's own word for the role.
    pub native_role: std::sync::Arc<str>,
    /// A finer kind (`xml-roles`, a level), where the platform has one.
    pub subrole: Option<Box<str>>,
    /// Its name, at most [`MAX_TEXT`] characters.
    pub name: Box<str>,
    /// Its description.
    pub description: Box<str>,
    /// Its placeholder.
    pub placeholder: Box<str>,
    /// An identifier that its developer gave it.
    pub identifier: Box<str>,
    /// What is true of it.
    pub states: States,
    /// Whether it has a value.
    pub value: ValuePresence,
    /// What can be done with it, or `None` where that was not asked for.
    pub affordances: Option<Affordances>,
    /// Whether it or an ancestor is a password field or otherwise protected: its value is never read.
    pub protected: bool,
    /// Where it lies, or `None` where it has no place or was not asked for.
    pub bounds: Option<Bounds>,
}

impl ElementFacts {
    /// Facts of `role` named `name`, with nothing else known.
    #[must_use]
    pub fn new(role: Role, name: &str) -> Self {
        Self {
            role,
            native_role: role.name().into(),
            subrole: None,
            name: name.into(),
            description: "".into(),
            placeholder: "".into(),
            identifier: "".into(),
            states: States::NONE,
            value: ValuePresence::None,
            affordances: None,
            protected: false,
            bounds: None,
        }
    }
}
