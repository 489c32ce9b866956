//! What can be asked for. One closed enum; command line help, MCP schema, scopes, capabilities, audit names
//! and docs derive from it, by exhaustive matches.
//!
//! [`ActionKind`] names an action and holds its tables; [`Action`] is one call with its arguments read.

mod field;
mod kind;
mod parse;

pub use field::{Field, FieldKind, Use};
pub use kind::{ActionKind, Effectiveness, Tool};

use crate::geometry::{Size, WindowRect};
use crate::id::{ApplicationId, DisplayId, ElementId, ObservationRef, SurfaceId};
use crate::redacted::Redacted;
use crate::role::Role;
use crate::scope::{Capability, CapabilitySet};

/// One call, its arguments read and within their bounds.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "fields are named as the contract names the arguments")]
pub enum Action {
    /// Known Runners and what they can do.
    Targets,
    /// Windows of the desktop.
    Windows { limit: u32 },
    /// Displays of the desktop.
    Displays { limit: u32 },
    /// Installed applications.
    Applications { limit: u32 },
    /// Whether accessibility can be read here.
    AccessibilityStatus,
    /// The semantic tree of a window.
    AccessibilityTree {
        surface: SurfaceId,
        root: Option<ElementId>,
        max_depth: u32,
        max_nodes: u32,
        since_generation: Option<u64>,
        format: TreeFormat,
    },
    /// Elements that match a filter.
    FindElements { surface: SurfaceId, filter: Filter, limit: u32 },
    /// One element as it is now.
    ElementState { surface: SurfaceId, element: ElementId, include_value: bool },
    /// Waits for a window or an element.
    WaitFor { condition: Condition, timeout_ms: u32 },
    /// A picture of a window.
    SnapshotWindow { surface: SurfaceId, region: Option<WindowRect>, bounds: ImageBounds },
    /// A picture of a display.
    SnapshotDisplay { display: DisplayId, bounds: ImageBounds },
    /// Text of a document, page or terminal.
    ReadText { surface: SurfaceId, element: ElementId, start: u32, length: u32 },
    /// The clipboard's text.
    ReadClipboard,
    /// What an artifact of a project is.
    ArtifactMetadata { project: String, path: String },
    /// Starts an installed application.
    LaunchApplication { application: ApplicationId },
    /// Brings a window to the front.
    ActivateWindow { surface: SurfaceId },
    /// Presses an element.
    Press { surface: SurfaceId, at: PressTarget, gesture: Gesture, means: Means },
    /// Gives an element the keyboard focus.
    Focus { surface: SurfaceId, element: ElementId },
    /// Selects an item.
    Select { surface: SurfaceId, element: ElementId },
    /// Sets a number or a toggle.
    SetValue { surface: SurfaceId, element: ElementId, value: Value },
    /// Scrolls a container.
    Scroll { surface: SurfaceId, element: ElementId, direction: Direction, pages: u32, means: Means },
    /// Scrolls an element into view.
    ScrollToElement { surface: SurfaceId, element: ElementId },
    /// Presses a key chord.
    Key { surface: SurfaceId, key: Key, modifiers: Modifiers },
    /// Puts text into an element.
    InputText { surface: SurfaceId, element: ElementId, text: Redacted, mode: TextMode, means: Means },
    /// Moves the shared pointer.
    PointerMove { display: DisplayId, snapshot_generation: u64, x: i32, y: i32 },
    /// Clicks with the shared pointer.
    PointerClick { display: DisplayId, snapshot_generation: u64, x: i32, y: i32 },
    /// Replaces the clipboard's text.
    WriteClipboard { text: Redacted },
    /// Captures a window into a project.
    SaveSnapshot { project: String, path: String, surface: SurfaceId, region: Option<WindowRect>, bounds: ImageBounds },
}

impl Action {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> ActionKind {
        match self {
            Self::Targets => ActionKind::Targets,
            Self::Windows { .. } => ActionKind::Windows,
            Self::Displays { .. } => ActionKind::Displays,
            Self::Applications { .. } => ActionKind::Applications,
            Self::AccessibilityStatus => ActionKind::AccessibilityStatus,
            Self::AccessibilityTree { .. } => ActionKind::AccessibilityTree,
            Self::FindElements { .. } => ActionKind::FindElements,
            Self::ElementState { .. } => ActionKind::ElementState,
            Self::WaitFor { .. } => ActionKind::WaitFor,
            Self::SnapshotWindow { .. } => ActionKind::SnapshotWindow,
            Self::SnapshotDisplay { .. } => ActionKind::SnapshotDisplay,
            Self::ReadText { .. } => ActionKind::ReadText,
            Self::ReadClipboard => ActionKind::ReadClipboard,
            Self::ArtifactMetadata { .. } => ActionKind::ArtifactMetadata,
            Self::LaunchApplication { .. } => ActionKind::LaunchApplication,
            Self::ActivateWindow { .. } => ActionKind::ActivateWindow,
            Self::Press { .. } => ActionKind::Press,
            Self::Focus { .. } => ActionKind::Focus,
            Self::Select { .. } => ActionKind::Select,
            Self::SetValue { .. } => ActionKind::SetValue,
            Self::Scroll { .. } => ActionKind::Scroll,
            Self::ScrollToElement { .. } => ActionKind::ScrollToElement,
            Self::Key { .. } => ActionKind::Key,
            Self::InputText { .. } => ActionKind::InputText,
            Self::PointerMove { .. } => ActionKind::PointerMove,
            Self::PointerClick { .. } => ActionKind::PointerClick,
            Self::WriteClipboard { .. } => ActionKind::WriteClipboard,
            Self::SaveSnapshot { .. } => ActionKind::SaveSnapshot,
        }
    }

    /// The capabilities that this very call needs: its kind's, and those that its arguments add.
    #[must_use]
    pub fn capabilities(&self) -> CapabilitySet {
        let base = self.kind().capabilities();
        match self {
            Self::SnapshotWindow { region, bounds, .. } | Self::SaveSnapshot { region, bounds, .. }
                if region.is_some() || bounds.is_given() =>
            {
                base.with(Capability::ComputerSnapshotRegion)
            }
            Self::Press { means: Means::TargetedInput, .. }
            | Self::Scroll { means: Means::TargetedInput, .. }
            | Self::InputText { means: Means::TargetedInput, .. } => base.with(Capability::ComputerTargetedInput),
            _ => base,
        }
    }

    /// The surface that it names.
    #[must_use]
    pub const fn surface(&self) -> Option<&SurfaceId> {
        match self {
            Self::AccessibilityTree { surface, .. }
            | Self::FindElements { surface, .. }
            | Self::ElementState { surface, .. }
            | Self::SnapshotWindow { surface, .. }
            | Self::ReadText { surface, .. }
            | Self::ActivateWindow { surface }
            | Self::Press { surface, .. }
            | Self::Focus { surface, .. }
            | Self::Select { surface, .. }
            | Self::SetValue { surface, .. }
            | Self::Scroll { surface, .. }
            | Self::ScrollToElement { surface, .. }
            | Self::Key { surface, .. }
            | Self::InputText { surface, .. }
            | Self::SaveSnapshot { surface, .. } => Some(surface),
            Self::WaitFor { condition, .. } => condition.surface(),
            Self::Targets
            | Self::Windows { .. }
            | Self::Displays { .. }
            | Self::Applications { .. }
            | Self::AccessibilityStatus
            | Self::SnapshotDisplay { .. }
            | Self::ReadClipboard
            | Self::ArtifactMetadata { .. }
            | Self::LaunchApplication { .. }
            | Self::PointerMove { .. }
            | Self::PointerClick { .. }
            | Self::WriteClipboard { .. } => None,
        }
    }

    /// The element that it names.
    #[must_use]
    pub const fn element(&self) -> Option<&ElementId> {
        match self {
            Self::ElementState { element, .. }
            | Self::ReadText { element, .. }
            | Self::Focus { element, .. }
            | Self::Select { element, .. }
            | Self::SetValue { element, .. }
            | Self::Scroll { element, .. }
            | Self::ScrollToElement { element, .. }
            | Self::InputText { element, .. }
            | Self::Press { at: PressTarget::Element(element), .. } => Some(element),
            _ => None,
        }
    }
}

/// How a tree is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TreeFormat {
    /// One line a node.
    #[default]
    Outline,
    /// Structured nodes.
    Json,
}

/// Which elements are meant. Every given part must match; texts are literal, case-sensitive parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The role.
    pub role: Option<Role>,
    /// The finer kind.
    pub subrole: Option<String>,
    /// A part of name, description or placeholder. Never of a value.
    pub label: Option<String>,
    /// Whether it has the focus.
    pub focused: Option<bool>,
    /// Whether it can be operated.
    pub enabled: Option<bool>,
}

impl Filter {
    /// Whether it names nothing, and so would match everything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.role.is_none()
            && self.subrole.is_none()
            && self.label.is_none()
            && self.focused.is_none()
            && self.enabled.is_none()
    }
}

/// What `wait_for` waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// An element of `surface` matches.
    Element {
        /// The surface to look in.
        surface: SurfaceId,
        /// What must match.
        filter: Filter,
    },
    /// No element of `surface` matches.
    ElementGone {
        /// The surface to look in.
        surface: SurfaceId,
        /// What must not match.
        filter: Filter,
    },
    /// A window whose title contains the text exists.
    Window {
        /// A literal, case-sensitive part of its title.
        title: String,
    },
    /// No such window exists.
    WindowGone {
        /// A literal, case-sensitive part of its title.
        title: String,
    },
    /// The surface itself is gone.
    SurfaceGone {
        /// The surface.
        surface: SurfaceId,
    },
}

impl Condition {
    /// The surface that it names.
    #[must_use]
    pub const fn surface(&self) -> Option<&SurfaceId> {
        match self {
            Self::Element { surface, .. } | Self::ElementGone { surface, .. } | Self::SurfaceGone { surface } => {
                Some(surface)
            }
            Self::Window { .. } | Self::WindowGone { .. } => None,
        }
    }
}

/// Bounds of a returned image. An image is scaled down to fit, keeping its aspect, and never up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageBounds {
    /// Most pixels across, at most 4,096.
    pub max_width: Option<u32>,
    /// Most pixels down, at most 4,096.
    pub max_height: Option<u32>,
}

impl ImageBounds {
    /// Whether either was given.
    #[must_use]
    pub const fn is_given(self) -> bool {
        self.max_width.is_some() || self.max_height.is_some()
    }

    /// The size that `source` is scaled to: never larger, each side at least one pixel.
    #[must_use]
    pub fn fit(self, source: Size) -> Size {
        let limit = |given: Option<u32>| u64::from(given.unwrap_or(MAX_IMAGE_SIDE).min(MAX_IMAGE_SIDE));
        let (width, height) = (u64::from(source.width.max(1)), u64::from(source.height.max(1)));
        let (max_width, max_height) = (limit(self.max_width), limit(self.max_height));
        if width <= max_width && height <= max_height {
            return source;
        }
        // The tighter side decides; whole-number arithmetic keeps the other within its bound too.
        let (fit_width, fit_height) = if max_width * height <= max_height * width {
            (max_width, height * max_width / width)
        } else {
            (width * max_height / height, max_height)
        };
        // Both are at most 4,096.
        Size::new(fit_width.max(1) as u32, fit_height.max(1) as u32)
    }
}

/// Longest side of a returned image, in pixels.
pub const MAX_IMAGE_SIDE: u32 = 4_096;

/// What `press` is aimed at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PressTarget {
    /// An element.
    Element(ElementId),
    /// A point of a captured window.
    Basis {
        /// The capture that the point was read from.
        basis: ObservationRef,
        /// Pixels to the right, in the returned image.
        x: i32,
        /// Pixels down, in the returned image.
        y: i32,
    },
}

/// How an element is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gesture {
    /// Its main action.
    #[default]
    Activate,
    /// Twice.
    Double,
    /// For its context menu.
    ContextMenu,
}

/// The physical means. One never stands in for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Means {
    /// The element's own accessibility interface.
    #[default]
    Accessibility,
    /// An input event aimed at the element.
    TargetedInput,
}

/// How text is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextMode {
    /// The field is focused and empty.
    #[default]
    FillEmpty,
    /// Whatever it holds is replaced.
    Replace,
}

/// A number or a truth value for `set_value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// For sliders and spin buttons.
    Number(f64),
    /// For toggles: the state that it shall have.
    Boolean(bool),
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Direction {
    Up,
    Down,
    Left,
    Right,
}

/// A key of the closed vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Key {
    Enter,
    Escape,
    Tab,
    Backspace,
    Delete,
    Space,
    ArrowUp,
    ArrowDown,
    ArrowLeft,
    ArrowRight,
    PageUp,
    PageDown,
    Home,
    End,
    /// F1 to F12.
    Function(u8),
    /// A printable ASCII letter (lower case) or digit, only with control or command.
    Character(char),
}

/// The modifiers of a chord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Modifiers {
    pub shift: bool,
    pub control: bool,
    pub option: bool,
    pub command: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_never_scaled_up_and_keeps_within_both_bounds() {
        let bounds = |width, height| ImageBounds { max_width: width, max_height: height };
        assert_eq!(bounds(Some(800), None).fit(Size::new(1_600, 1_200)), Size::new(800, 600));
        assert_eq!(bounds(Some(800), Some(300)).fit(Size::new(1_600, 1_200)), Size::new(400, 300));
        assert_eq!(bounds(Some(4_000), None).fit(Size::new(100, 50)), Size::new(100, 50));
        assert_eq!(bounds(Some(1), Some(1)).fit(Size::new(9_000, 2)), Size::new(1, 1));
        assert_eq!(bounds(None, None).fit(Size::new(8_192, 100)), Size::new(4_096, 50));
    }
}
