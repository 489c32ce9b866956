//! The actions by name, and the tables of the contract over them.

use super::field::{Field, FieldKind, Use};
use crate::scope::{Capability, CapabilitySet, Scope, ScopeSet};

/// A model-facing tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Reads.
    ComputerObserve,
    /// Effects.
    ComputerControl,
    /// Captures into a project.
    ComputerSaveSnapshot,
}

impl Tool {
    /// Every tool.
    pub const ALL: &'static [Self] = &[Self::ComputerObserve, Self::ComputerControl, Self::ComputerSaveSnapshot];

    /// Its name in MCP.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ComputerObserve => "computer_observe",
            Self::ComputerControl => "computer_control",
            Self::ComputerSaveSnapshot => "computer_save_snapshot",
        }
    }

    /// Its actions, in the order of the contract.
    pub fn actions(self) -> impl Iterator<Item = ActionKind> {
        ActionKind::ALL.iter().copied().filter(move |kind| kind.tool() == self)
    }
}

/// Whether an action changes the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effectiveness {
    /// A read: it may be repeated.
    Read,
    /// An effect: it is never retried.
    Effect,
}

macro_rules! kinds {
    ($($variant:ident => $name:literal in $tool:ident, $effectiveness:ident, [$($scope:ident)*], [$($capability:ident)*], $doc:literal;)+) => {
        /// An action by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ActionKind { $(#[doc = $doc] $variant,)+ }

        impl ActionKind {
            /// Every action.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Its wire name.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $(Self::$variant => $name,)+ } }
            /// The action of that wire name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> { match name { $($name => Some(Self::$variant),)+ _ => None } }
            /// The tool that it belongs to.
            #[must_use]
            pub const fn tool(self) -> Tool { match self { $(Self::$variant => Tool::$tool,)+ } }
            /// Whether it changes the world.
            #[must_use]
            pub const fn effectiveness(self) -> Effectiveness { match self { $(Self::$variant => Effectiveness::$effectiveness,)+ } }
            /// The scopes that every call of it needs.
            #[must_use]
            pub const fn scopes(self) -> ScopeSet { match self { $(Self::$variant => ScopeSet::of(&[$(Scope::$scope),*]),)+ } }
            /// The capabilities that every call of it needs. Arguments may add to them.
            #[must_use]
            pub const fn capabilities(self) -> CapabilitySet { match self { $(Self::$variant => CapabilitySet::of(&[$(Capability::$capability),*]),)+ } }
            /// What it does, in one line.
            #[must_use]
            pub const fn doc(self) -> &'static str { match self { $(Self::$variant => $doc,)+ } }
        }
    };
}

kinds! {
    Targets => "targets" in ComputerObserve, Read, [ComputerRead], [],
        "Known Runners, what each can do, and how faithfully.";
    Windows => "windows" in ComputerObserve, Read, [ComputerRead], [ComputerObserve],
        "Windows with their surface_id; refused ones say why.";
    Displays => "displays" in ComputerObserve, Read, [ComputerRead ComputerDisplayRead], [ComputerDisplayObserve],
        "Displays with their display_id and source pixels.";
    Applications => "applications" in ComputerObserve, Read, [ComputerRead], [ComputerApplicationDiscovery],
        "Installed applications that can be launched.";
    AccessibilityStatus => "accessibility_status" in ComputerObserve, Read, [ComputerRead], [ComputerAccessibilityObserve],
        "Whether semantic trees can be read here, and what hinders.";
    AccessibilityTree => "accessibility_tree" in ComputerObserve, Read, [ComputerRead], [ComputerAccessibilityObserve],
        "A window's semantic tree, one line a node, with element_ids.";
    FindElements => "find_elements" in ComputerObserve, Read, [ComputerRead], [ComputerAccessibilityObserve],
        "Elements that match role, label or state, in document order.";
    ElementState => "element_state" in ComputerObserve, Read, [ComputerRead], [ComputerAccessibilityObserve],
        "One element as it is now: states, affordances, optionally its value.";
    WaitFor => "wait_for" in ComputerObserve, Read, [ComputerRead], [ComputerAccessibilityObserve],
        "Waits until an element or window appears, or is gone.";
    SnapshotWindow => "snapshot_window" in ComputerObserve, Read, [ComputerRead], [ComputerObserve],
        "A JPEG of one window, even when it is covered.";
    SnapshotDisplay => "snapshot_display" in ComputerObserve, Read, [ComputerRead ComputerDisplayRead], [ComputerDisplayObserve],
        "A JPEG of one display, with a snapshot_generation.";
    ReadText => "read_text" in ComputerObserve, Read, [ComputerRead], [ComputerAccessibilityObserve],
        "Text of a document, page or terminal element.";
    ReadClipboard => "read_clipboard" in ComputerObserve, Read, [ComputerRead ComputerClipboardRead], [ComputerClipboardRead],
        "The clipboard's plain text.";
    ArtifactMetadata => "artifact_metadata" in ComputerObserve, Read, [ProjectRead], [],
        "Digest, bytes and type of a project's artifact.";
    LaunchApplication => "launch_application" in ComputerControl, Effect, [ComputerControl], [ComputerApplicationLaunch],
        "Launches an application that `applications` listed.";
    ActivateWindow => "activate_window" in ComputerControl, Effect, [ComputerControl], [ComputerWindowActivate],
        "Brings a window to the front.";
    Press => "press" in ComputerControl, Effect, [ComputerControl], [ComputerControl],
        "Presses an element by its own action.";
    Focus => "focus" in ComputerControl, Effect, [ComputerControl], [ComputerControl],
        "Gives an element the keyboard focus.";
    Select => "select" in ComputerControl, Effect, [ComputerControl], [ComputerControl],
        "Selects an item, tab, radio button or option.";
    SetValue => "set_value" in ComputerControl, Effect, [ComputerControl], [ComputerControl],
        "Sets a slider or spin button to a number, or a toggle to a state.";
    Scroll => "scroll" in ComputerControl, Effect, [ComputerControl], [ComputerControl],
        "Scrolls an element by pages.";
    ScrollToElement => "scroll_to_element" in ComputerControl, Effect, [ComputerControl], [ComputerScrollToElement],
        "Scrolls until an element is in view.";
    Key => "key" in ComputerControl, Effect, [ComputerControl], [ComputerKeyInput],
        "Presses a key, with modifiers, in a window that is in front.";
    InputText => "input_text" in ComputerControl, Effect, [ComputerControl], [ComputerTextInput],
        "Puts text into an element: an empty focused one, or with mode replace.";
    PointerMove => "pointer_move" in ComputerControl, Effect,
        [ComputerRead ComputerDisplayRead ComputerControl ComputerPointerControl], [ComputerPointerControl],
        "Moves the shared pointer, from a display snapshot.";
    PointerClick => "pointer_click" in ComputerControl, Effect,
        [ComputerRead ComputerDisplayRead ComputerControl ComputerPointerControl], [ComputerPointerControl],
        "Clicks with the shared pointer, from a display snapshot.";
    WriteClipboard => "write_clipboard" in ComputerControl, Effect, [ComputerControl ComputerClipboardWrite], [ComputerClipboardWrite],
        "Replaces the clipboard with plain text.";
    SaveSnapshot => "save_snapshot" in ComputerSaveSnapshot, Effect, [ComputerRead ProjectWrite], [ComputerObserve FileWrite],
        "Captures a window straight into a project, create-only.";
}

const SURFACE: Field = Field::new("surface_id", FieldKind::Surface, "From windows.");
const ELEMENT: Field = Field::new("element_id", FieldKind::Element, "From accessibility_tree or find_elements.");
const DISPLAY: Field = Field::new("display_id", FieldKind::Display, "From displays.");
const APPLICATION: Field = Field::new("application_id", FieldKind::Application, "From applications.");
const CLIENT: Field = Field::new("client_id", FieldKind::Client, "Which Runner; needed only where there are several.");
const REGION: Field = Field::new("region", FieldKind::Region, "Part of the window, in its pixels.");
const MAX_WIDTH: Field =
    Field::new("max_width", FieldKind::Integer { min: 1, max: 4_096 }, "Scale down to at most this; never up.");
const MAX_HEIGHT: Field =
    Field::new("max_height", FieldKind::Integer { min: 1, max: 4_096 }, "Scale down to at most this; never up.");
const MEANS: Field = Field::new(
    "means",
    FieldKind::Choice(&["accessibility", "targeted_input"]),
    "accessibility (default), or targeted_input: an input event to that element.",
);
const ROLE: Field = Field::new("role", FieldKind::Role, "Role, as the outline shows it.");
const SUBROLE: Field = Field::new("subrole", FieldKind::Text { min: 1, max: 128 }, "Finer kind.");
const LABEL: Field = Field::new(
    "label",
    FieldKind::Text { min: 1, max: 256 },
    "Literal part of name, description or placeholder; case-sensitive.",
);
const FOCUSED: Field = Field::new("focused", FieldKind::Boolean, "Has the focus.");
const ENABLED: Field = Field::new("enabled", FieldKind::Boolean, "Can be operated.");
const PROJECT: Field = Field::new("project", FieldKind::Text { min: 1, max: 128 }, "Project name.");
const PATH: Field = Field::new("path", FieldKind::Text { min: 1, max: 1_024 }, "Path inside the project.");
const X: Field = Field::new("x", FieldKind::Integer { min: 0, max: 65_535 }, "Pixels from the left.");
const Y: Field = Field::new("y", FieldKind::Integer { min: 0, max: 65_535 }, "Pixels from the top.");
const GENERATION: Field = Field::new(
    "snapshot_generation",
    FieldKind::Integer { min: 1, max: i64::MAX },
    "From snapshot_display; spent by one effect.",
);

/// The list limit of an action, with its own bound.
const fn limit(max: i64) -> Field {
    Field::new("limit", FieldKind::Integer { min: 1, max }, "Most entries.")
}

impl ActionKind {
    /// The arguments that it takes, required ones first.
    #[must_use]
    pub const fn fields(self) -> &'static [Use] {
        use Use as U;
        match self {
            Self::Targets => &[],
            Self::AccessibilityStatus | Self::ReadClipboard => const { &[U::optional(CLIENT)] },
            Self::Windows | Self::Applications => const { &[U::optional(limit(64)), U::optional(CLIENT)] },
            Self::Displays => const { &[U::optional(limit(16)), U::optional(CLIENT)] },
            Self::AccessibilityTree => {
                const {
                    &[
                        U::required(SURFACE),
                        U::optional(Field::new("root", FieldKind::Element, "Only below this element.")),
                        U::optional(Field::new(
                            "max_depth",
                            FieldKind::Integer { min: 1, max: 64 },
                            "Levels; default 24.",
                        )),
                        U::optional(Field::new(
                            "max_nodes",
                            FieldKind::Integer { min: 1, max: 5_000 },
                            "Nodes; default 400.",
                        )),
                        U::optional(Field::new(
                            "since_generation",
                            FieldKind::Integer { min: 1, max: i64::MAX },
                            "Only what changed since that generation.",
                        )),
                        U::optional(Field::new(
                            "format",
                            FieldKind::Choice(&["outline", "json"]),
                            "outline (default), or json: structured nodes with bounds and affordances.",
                        )),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::FindElements => {
                const {
                    &[
                        U::required(SURFACE),
                        U::optional(ROLE),
                        U::optional(SUBROLE),
                        U::optional(LABEL),
                        U::optional(FOCUSED),
                        U::optional(ENABLED),
                        U::optional(limit(32)),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::ElementState => {
                const {
                    &[
                        U::required(SURFACE),
                        U::required(ELEMENT),
                        U::optional(Field::new(
                            "include_value",
                            FieldKind::Boolean,
                            "Return the value, at most 16 KiB.",
                        )),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::WaitFor => {
                const {
                    &[
                        U::optional(SURFACE),
                        U::optional(ROLE),
                        U::optional(SUBROLE),
                        U::optional(LABEL),
                        U::optional(FOCUSED),
                        U::optional(ENABLED),
                        U::optional(Field::new(
                            "window",
                            FieldKind::Text { min: 1, max: 256 },
                            "Literal part of a window title to wait for.",
                        )),
                        U::optional(Field::new("gone", FieldKind::Boolean, "Wait until it is gone.")),
                        U::optional(Field::new(
                            "timeout_ms",
                            FieldKind::Integer { min: 1, max: 30_000 },
                            "Longest wait; default 10000.",
                        )),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::SnapshotWindow => {
                const {
                    &[
                        U::required(SURFACE),
                        U::optional(REGION),
                        U::optional(MAX_WIDTH),
                        U::optional(MAX_HEIGHT),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::SnapshotDisplay => {
                const { &[U::required(DISPLAY), U::optional(MAX_WIDTH), U::optional(MAX_HEIGHT), U::optional(CLIENT)] }
            }
            Self::ReadText => {
                const {
                    &[
                        U::required(SURFACE),
                        U::required(ELEMENT),
                        U::optional(Field::new(
                            "start",
                            FieldKind::Integer { min: 0, max: u32::MAX as i64 },
                            "First character; default 0.",
                        )),
                        U::optional(Field::new(
                            "length",
                            FieldKind::Integer { min: 1, max: 16_384 },
                            "Most characters; at most 16 KiB come back.",
                        )),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::ArtifactMetadata => const { &[U::required(PROJECT), U::required(PATH), U::optional(CLIENT)] },
            Self::LaunchApplication => const { &[U::required(APPLICATION), U::optional(CLIENT)] },
            Self::ActivateWindow => const { &[U::required(SURFACE), U::optional(CLIENT)] },
            Self::Press => {
                const {
                    &[
                        U::required(SURFACE),
                        U::optional(ELEMENT),
                        U::optional(Field::new(
                            "basis",
                            FieldKind::Observation,
                            "From snapshot_window; with x, y, targeted_input.",
                        )),
                        U::optional(X),
                        U::optional(Y),
                        U::optional(Field::new(
                            "gesture",
                            FieldKind::Choice(&["activate", "double", "context_menu"]),
                            "activate (default), double (needs targeted_input), context_menu.",
                        )),
                        U::optional(MEANS),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::Focus | Self::Select | Self::ScrollToElement => {
                const { &[U::required(SURFACE), U::required(ELEMENT), U::optional(CLIENT)] }
            }
            Self::SetValue => {
                const {
                    &[
                        U::required(SURFACE),
                        U::required(ELEMENT),
                        U::required(Field::new("value", FieldKind::NumberOrBoolean, "A number, or true or false.")),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::Scroll => {
                const {
                    &[
                        U::required(SURFACE),
                        U::required(ELEMENT),
                        U::required(Field::new(
                            "direction",
                            FieldKind::Choice(&["up", "down", "left", "right"]),
                            "Where to.",
                        )),
                        U::required(Field::new("pages", FieldKind::Integer { min: 1, max: 10 }, "How many pages.")),
                        U::optional(MEANS),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::Key => {
                const {
                    &[
                        U::required(SURFACE),
                        U::required(Field::new(
                            "key",
                            FieldKind::Key,
                            "enter, escape, tab, arrow_down, f5, … or with control a letter.",
                        )),
                        U::optional(Field::new(
                            "modifiers",
                            FieldKind::Words(&["shift", "control", "option", "command"]),
                            "Held with it.",
                        )),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::InputText => {
                const {
                    &[
                        U::required(SURFACE),
                        U::required(ELEMENT),
                        U::required(Field::new(
                            "text",
                            FieldKind::Text { min: 0, max: 2_048 },
                            "At most 2048 bytes; no NUL.",
                        )),
                        U::optional(Field::new(
                            "mode",
                            FieldKind::Choice(&["fill_empty", "replace"]),
                            "fill_empty (default): focused and empty; replace: whatever it holds.",
                        )),
                        U::optional(MEANS),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::PointerMove | Self::PointerClick => {
                const {
                    &[
                        U::required(DISPLAY),
                        U::required(GENERATION),
                        U::required(X),
                        U::required(Y),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::WriteClipboard => {
                const {
                    &[
                        U::required(Field::new(
                            "text",
                            FieldKind::Text { min: 1, max: 16_384 },
                            "At most 16 KiB; no NUL.",
                        )),
                        U::optional(CLIENT),
                    ]
                }
            }
            Self::SaveSnapshot => {
                const {
                    &[
                        U::required(PROJECT),
                        U::required(PATH),
                        U::required(SURFACE),
                        U::optional(REGION),
                        U::optional(MAX_WIDTH),
                        U::optional(MAX_HEIGHT),
                        U::optional(CLIENT),
                    ]
                }
            }
        }
    }

    /// Whether it is an effect.
    #[must_use]
    pub const fn is_effect(self) -> bool {
        matches!(self.effectiveness(), Effectiveness::Effect)
    }

    /// Its name in audit rows and envelopes: `computer_observe.windows`.
    #[must_use]
    pub fn qualified_name(self) -> String {
        format!("{}.{}", self.tool().name(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_fields_are_unique_and_required_fields_come_first() {
        for kind in ActionKind::ALL {
            assert_eq!(ActionKind::named(kind.name()), Some(*kind));
            let fields = kind.fields();
            let firsts = fields.iter().take_while(|field| field.required).count();
            assert!(fields[firsts..].iter().all(|field| !field.required), "{kind:?}");
            let mut names: Vec<_> = fields.iter().map(|field| field.field.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), fields.len(), "{kind:?}");
        }
    }

    #[test]
    fn every_effect_needs_a_scope_that_a_reader_lacks() {
        let reader = ScopeSet::of(&[
            Scope::ComputerRead,
            Scope::ComputerDisplayRead,
            Scope::ProjectRead,
            Scope::ComputerClipboardRead,
        ]);
        for kind in ActionKind::ALL {
            assert_eq!(kind.is_effect(), !reader.covers(kind.scopes()), "{kind:?}");
        }
    }
}
