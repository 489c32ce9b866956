//! Scopes (what a caller may) and capabilities (what a Runner can). Both are closed sets.

use std::fmt;

macro_rules! closed_set {
    ($(#[$doc:meta])* $name:ident, $(#[$set_doc:meta])* $set:ident { $($(#[$variant_doc:meta])* $variant:ident => $wire:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// Every member, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The wire name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $wire,)+ }
            }

            /// The member of that wire name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($wire => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }

        $(#[$set_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Default)]
        pub struct $set(u64);

        impl $set {
            /// No member.
            pub const NONE: Self = Self(0);

            /// The set of `members`.
            #[must_use]
            pub const fn of(members: &[$name]) -> Self {
                let (mut bits, mut index) = (0, 0);
                while index < members.len() {
                    bits |= 1 << members[index] as u8;
                    index += 1;
                }
                Self(bits)
            }

            /// Every member.
            #[must_use]
            pub const fn all() -> Self { Self::of($name::ALL) }

            /// Whether `member` is in it.
            #[must_use]
            pub const fn has(self, member: $name) -> bool { self.0 & (1 << member as u8) != 0 }

            /// This set and `member`.
            #[must_use]
            pub const fn with(self, member: $name) -> Self { Self(self.0 | 1 << member as u8) }

            /// This set without `member`.
            #[must_use]
            pub const fn without(self, member: $name) -> Self { Self(self.0 & !(1 << member as u8)) }

            /// The members of `needed` that are not in it.
            pub fn missing(self, needed: Self) -> impl Iterator<Item = $name> {
                Self(needed.0 & !self.0).iter()
            }

            /// Whether it has every member of `needed`.
            #[must_use]
            pub const fn covers(self, needed: Self) -> bool { needed.0 & !self.0 == 0 }

            /// Its members, in declaration order.
            pub fn iter(self) -> impl Iterator<Item = $name> {
                $name::ALL.iter().copied().filter(move |member| self.has(*member))
            }
        }

        impl fmt::Debug for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set().entries(self.iter().map($name::name)).finish()
            }
        }

        impl serde::Serialize for $set {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter().map($name::name))
            }
        }

        impl<'de> serde::Deserialize<'de> for $set {
            /// A name that this build does not know is dropped: what is not known is not held.
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let names = Vec::<String>::deserialize(deserializer)?;
                Ok(names.iter().filter_map(|name| $name::named(name)).fold(Self::NONE, Self::with))
            }
        }
    };
}

closed_set! {
    /// What a caller may do.
    Scope,
    /// A set of scopes.
    ScopeSet {
        /// Read windows, trees and window snapshots.
        ComputerRead => "computer:read",
        /// Effects on surfaces.
        ComputerControl => "computer:control",
        /// List and capture whole displays.
        ComputerDisplayRead => "computer:display_read",
        /// Move and click the shared pointer.
        ComputerPointerControl => "computer:pointer_control",
        /// Read the clipboard.
        ComputerClipboardRead => "computer:clipboard_read",
        /// Replace the clipboard.
        ComputerClipboardWrite => "computer:clipboard_write",
        /// Run the bounded loop.
        ComputerDelegate => "computer:delegate",
        /// Read a project's artifacts.
        ProjectRead => "project:read",
        /// Create artifacts in a project.
        ProjectWrite => "project:write",
        /// Search and describe operations, plan routes.
        OperationRead => "operation:read",
        /// Run operations.
        OperationRun => "operation:run",
        /// Run operations whose effect is not `read`.
        OperationWrite => "operation:write",
        /// Evaluate JavaScript in a page.
        BrowserEvaluate => "browser:evaluate",
    }
}

closed_set! {
    /// What a Runner declares that it can do. What it does not declare is false.
    Capability,
    /// A set of capabilities.
    CapabilitySet {
        /// List windows and capture whole ones.
        ComputerObserve => "computer_observe",
        /// Capture a region of a window, or scale it.
        ComputerSnapshotRegion => "computer_snapshot_region",
        /// Read accessibility trees.
        ComputerAccessibilityObserve => "computer_accessibility_observe",
        /// List installed applications.
        ComputerApplicationDiscovery => "computer_application_discovery",
        /// Launch an installed application.
        ComputerApplicationLaunch => "computer_application_launch",
        /// List and capture displays.
        ComputerDisplayObserve => "computer_display_observe",
        /// Activate a window.
        ComputerWindowActivate => "computer_window_activate",
        /// Semantic effects on elements.
        ComputerControl => "computer_control",
        /// Input events aimed at one element.
        ComputerTargetedInput => "computer_targeted_input",
        /// Scroll an element into view.
        ComputerScrollToElement => "computer_scroll_to_element",
        /// Key chords to the focused window.
        ComputerKeyInput => "computer_key_input",
        /// Put text into an element.
        ComputerTextInput => "computer_text_input",
        /// Move and click the shared pointer.
        ComputerPointerControl => "computer_pointer_control",
        /// Read the clipboard.
        ComputerClipboardRead => "computer_clipboard_read",
        /// Replace the clipboard.
        ComputerClipboardWrite => "computer_clipboard_write",
        /// Hold a grant for the bounded loop.
        ComputerGrant => "computer_grant",
        /// Create files in a project.
        FileWrite => "file_write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_unknown_ones_are_dropped() {
        for scope in Scope::ALL {
            assert_eq!(Scope::named(scope.name()), Some(*scope));
        }
        let read: ScopeSet = serde_json::from_str(r#"["computer:read","computer:everything"]"#).unwrap();
        assert_eq!(read, ScopeSet::of(&[Scope::ComputerRead]));
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"["computer:read"]"#);
    }

    #[test]
    fn missing_names_each_absent_member() {
        let held = ScopeSet::of(&[Scope::ComputerRead]);
        let needed = ScopeSet::of(&[Scope::ComputerRead, Scope::ComputerControl]);
        assert!(!held.covers(needed));
        assert_eq!(held.missing(needed).collect::<Vec<_>>(), [Scope::ComputerControl]);
        assert!(needed.covers(held));
    }
}
