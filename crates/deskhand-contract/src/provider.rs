//! The seam: what a platform must do, and nothing more.
//!
//! A provider never sees a tool name, a schema, a grant, an opaque id or a retry. It speaks of native
//! things by [`NativeKey`], answers reads with facts or a [`Fault`], and performs exactly one native effect
//! per [`Provider::perform`]. What it cannot do it leaves out of [`Profile::capabilities`]. Waiting for a
//! postcondition, actionability, ambiguity, freshness, evidence and refusal are the runtime's.
//!
//! Every call is synchronous, may come from any thread, and ends by its [`Limit`].

use std::fmt;
use std::sync::Arc;

use crate::action::{Direction, TextMode};
use crate::element::ElementFacts;
use crate::geometry::{DesktopRect, Size, WindowRect};
use crate::limit::Limit;
use crate::redacted::Redacted;
use crate::role::Role;
use crate::scope::CapabilitySet;

/// A native identity, opaque to all but its provider. Two keys are equal exactly where the provider
/// claims the same native thing. It is never serialised and `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NativeKey(Arc<[u8]>);

impl NativeKey {
    /// A key of `bytes`, which only its provider reads.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for NativeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeKey(…)")
    }
}

/// A platform.
pub trait Provider: Send + Sync + 'static {
    /// What this provider is and can do, as of now.
    fn profile(&self) -> Profile;

    /// Whether accessibility can be read, and what hinders.
    ///
    /// # Errors
    /// [`Fault::Backend`] where even that cannot be said.
    fn accessibility_status(&self, limit: &Limit) -> Result<AccessibilityStatus, Fault>;

    /// Every window that a person could see or switch to, front to back. Refusable ones are included.
    ///
    /// # Errors
    /// [`Fault::Backend`] where the display server cannot be reached: never an empty list instead.
    fn windows(&self, limit: &Limit) -> Result<Vec<WindowFacts>, Fault>;

    /// One window measured afresh.
    ///
    /// # Errors
    /// [`Fault::Gone`] where it no longer is.
    fn window(&self, window: &NativeKey, limit: &Limit) -> Result<WindowFacts, Fault>;

    /// The displays of the desktop.
    ///
    /// # Errors
    /// [`Fault::Backend`] where the display server cannot be reached.
    fn displays(&self, limit: &Limit) -> Result<Vec<DisplayFacts>, Fault>;

    /// The semantic tree of a window, or of one element of it. The same `Arc` (and so the same
    /// [`NativeTree::revision`]) where nothing changed since the last answer to the same ask.
    ///
    /// # Errors
    /// [`Fault::Gone`], [`Fault::Unresponsive`], [`Fault::Unsupported`] where the window has no tree.
    fn tree(&self, window: &NativeKey, ask: &TreeAsk, limit: &Limit) -> Result<Arc<NativeTree>, Fault>;

    /// One element and its ancestors, read live (from no cache), with affordances, value presence and bounds.
    ///
    /// # Errors
    /// [`Fault::Gone`] where it no longer is, or no longer hangs below that window.
    fn resolve(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<Resolved, Fault>;

    /// An element's value, read live. Never called for a protected element.
    ///
    /// # Errors
    /// [`Fault::TooLarge`] beyond 16 KiB, [`Fault::Unsupported`] where it has none.
    fn value(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<NativeValue, Fault>;

    /// Installed applications that can be launched, by name. Private windows and menus' hidden entries are left out.
    ///
    /// # Errors
    /// [`Fault::Unsupported`] where the platform has no such list.
    fn applications(&self, limit: &Limit) -> Result<ApplicationList, Fault> {
        let _ = limit;
        Err(Fault::Unsupported("this provider lists no applications".into()))
    }

    /// Starts an application that [`Provider::applications`] listed, once, if it is still exactly what was
    /// listed. [`Fault::Gone`] says that it is not.
    fn launch(&self, application: &NativeKey, limit: &Limit) -> Dispatch {
        let _ = (application, limit);
        Dispatch::NotStarted(Fault::Unsupported("this provider launches no applications".into()))
    }

    /// Performs one native effect, once. Never waits for a postcondition, never tries a second way.
    fn perform(&self, target: &EffectTarget<'_>, effect: &Effect, limit: &Limit) -> Dispatch;

    /// Pixels of a window or display.
    ///
    /// # Errors
    /// [`Fault::NotCapturable`] where it has no pixels of its own now: never another window's instead.
    fn capture(&self, target: &CaptureTarget<'_>, limit: &Limit) -> Result<Bitmap, Fault>;

    /// A mark of everything that has happened on the desktop so far that [`Provider::await_change`] can see.
    fn change_mark(&self) -> ChangeMark;

    /// Returns once something happened after `since` in `window` (or anywhere), or when the limit is
    /// over. It may return early; the caller looks again.
    fn await_change(&self, since: ChangeMark, window: Option<&NativeKey>, limit: &Limit) -> ChangeMark;
}

/// What a provider is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// `linux`, `windows`, `macos` or `fake`.
    pub platform: &'static str,
    /// Its name among the route planner's providers: `linux-atspi` …
    pub provider: &'static str,
    /// `x11`, `wayland`, `windows`, `aqua`, `fake`.
    pub session_type: &'static str,
    /// How far it has been proven, in a word: `device`, `partial`, `type-checked`.
    pub fidelity: &'static str,
    /// Whether this is a desktop that Deskhand started.
    pub private: bool,
    /// What it can do now.
    pub capabilities: CapabilitySet,
}

/// Why a read did not answer, or an effect could not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The native thing no longer exists, or is no longer where it was.
    Gone,
    /// The application did not answer in time.
    Unresponsive,
    /// The call was cancelled.
    Cancelled,
    /// It cannot be done with this thing; the text says why.
    Unsupported(String),
    /// The window has no pixels of its own to capture; the text says why and what would help.
    NotCapturable(String),
    /// The answer exceeds its bound.
    TooLarge,
    /// The operating system's permission is missing; the text says how to give it.
    PermissionMissing(String),
    /// The display server or a bus cannot be reached; the text says which and the fix.
    Backend(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("it no longer exists"),
            Self::Unresponsive => f.write_str("the application does not answer"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::TooLarge => f.write_str("the answer exceeds its bound"),
            Self::Unsupported(why) | Self::NotCapturable(why) | Self::PermissionMissing(why) | Self::Backend(why) => {
                f.write_str(why)
            }
        }
    }
}

impl std::error::Error for Fault {}

/// Whether accessibility can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessibilityStatus {
    /// Whether trees can be read at all.
    pub available: bool,
    /// Applications that expose a tree.
    pub applications: u32,
    /// Applications that did not answer within their deadline.
    pub unresponsive: u32,
    /// What hinders, and the command or setting that mends it. One sentence each.
    pub notes: Vec<String>,
}

/// What is known of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFacts {
    /// Its identity. It stays the same through a new title, size or place.
    pub key: NativeKey,
    /// Its title, at most [`crate::element::MAX_TEXT`] characters.
    pub title: String,
    /// The application's name, as best known: from accessibility, else the window class, else the executable.
    pub application: String,
    /// The window class, where there is one.
    pub class: Option<String>,
    /// File name of the executable, where it is proven. For the denylist; it does not leave the Runner.
    pub executable: Option<String>,
    /// What it is.
    pub kind: WindowKind,
    /// Its content area on the desktop.
    pub geometry: DesktopRect,
    /// Whether it is in front and takes the keyboard.
    pub foreground: bool,
    /// Whether it is shown as an icon only.
    pub minimised: bool,
    /// Whether it is on another workspace.
    pub other_workspace: bool,
    /// Whether it blocks its owner.
    pub modal: bool,
    /// The window that it belongs to.
    pub owner: Option<NativeKey>,
    /// Whose it is.
    pub belongs_to: Belonging,
    /// Whether it has a semantic tree.
    pub tree: TreeSupport,
}

/// What a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowKind {
    /// An application's main window.
    Normal,
    /// A dialog.
    Dialog,
    /// A menu, popover, combo box list or tooltip.
    Popup,
    /// A panel, dock or the desktop itself.
    Shell,
}

/// Whose a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belonging {
    /// This user's.
    User,
    /// Deskhand's own, or of something that it started as part of itself.
    Deskhand,
    /// Another user's, or of a higher privilege.
    Elevated,
    /// Nothing proves whose it is.
    Unproven,
}

/// Whether a window has a semantic tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeSupport {
    /// It has.
    Yes,
    /// It has none; the text says why and what would help.
    No(String),
    /// Its application did not answer when asked.
    Unresponsive,
}

/// Installed applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationList {
    /// By name.
    pub applications: Vec<ApplicationFacts>,
    /// Whether the bound on scanned entries ended the scan.
    pub truncated: bool,
}

/// What is known of an installed application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationFacts {
    /// Its identity, with everything that a launch proves again.
    pub key: NativeKey,
    /// Its name in the user's language.
    pub name: String,
}

/// What is known of a display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayFacts {
    /// Its identity.
    pub key: NativeKey,
    /// Its place on the desktop, in source pixels.
    pub geometry: DesktopRect,
    /// Whether it is the main one.
    pub primary: bool,
}

/// What a tree shall hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeAsk {
    /// Only this element and what is below it.
    pub root: Option<NativeKey>,
    /// Most nodes to read.
    pub max_nodes: u32,
    /// Most levels to read.
    pub max_depth: u32,
    /// Whether bounds are wanted.
    pub bounds: bool,
    /// Whether affordances are wanted.
    pub affordances: bool,
    /// Whether it must be known if a value is empty.
    pub values: bool,
}

/// A tree as the platform has it: every node, before any is left out or folded.
#[derive(Debug, Clone)]
pub struct NativeTree {
    /// Grows with every change. Trees of one window with the same revision are equal.
    pub revision: u64,
    /// Nodes in document order (pre-order); the root is first.
    pub nodes: Vec<NativeNode>,
    /// The toolkit, where it is known: `gtk 3.24`, `Chromium`, `Qt 5.15`.
    pub toolkit: Option<String>,
    /// Whether a native identity of this application is never given to another element while it runs.
    pub identity_persists: bool,
    /// What is missing, in whole sentences: `settling`, unread parts, a stopped application.
    pub notes: Vec<TreeNote>,
}

/// Something to know about a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeNote {
    /// The application is still building its tree: what is here is thin.
    Settling,
    /// The deadline passed before all was read.
    Partial,
    /// A bound on nodes or depth cut it.
    Cut,
    /// Something else, in one sentence that holds no text of the application.
    Advice(String),
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeNode {
    /// Its identity.
    pub key: NativeKey,
    /// Index of its parent in [`NativeTree::nodes`], always lower than its own; `None` for the root.
    pub parent: Option<u32>,
    /// What is said of it.
    pub facts: ElementFacts,
    /// Children that exist and were not read: a huge or lazy container, a cut.
    pub unread: Option<Unread>,
}

/// Children that were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    /// How many the application claims, where it says.
    pub total: Option<u64>,
    /// Why they were not read.
    pub why: UnreadWhy,
}

/// Why children were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadWhy {
    /// The container makes its children on demand: only those in view were read.
    Lazy,
    /// A bound on nodes.
    Nodes,
    /// A bound on depth.
    Depth,
    /// The deadline.
    Time,
    /// The application's answer was broken.
    Broken,
}

/// An element read live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// From the window's root (first) to the element (last).
    pub lineage: Vec<LineageStep>,
    /// The element as it is now, with affordances, value presence and bounds.
    pub facts: ElementFacts,
    /// Whether its native identity is never given to another element while the application runs.
    pub identity_persists: bool,
}

/// One ancestor on the way to an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineageStep {
    /// Its identity.
    pub key: NativeKey,
    /// Its role.
    pub role: Role,
    /// An identifier that its developer gave it.
    pub identifier: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Its index in its parent, where the platform says.
    pub index: Option<u32>,
}

/// A value.
#[derive(Debug, Clone)]
pub enum NativeValue {
    /// Text, at most 16 KiB.
    Text(Redacted),
    /// A number with its range, as the application says.
    Number {
        /// The value.
        current: f64,
        /// Least.
        minimum: f64,
        /// Greatest.
        maximum: f64,
    },
}

/// What an effect is aimed at.
#[derive(Debug, Clone, Copy)]
pub struct EffectTarget<'a> {
    /// The window.
    pub window: &'a NativeKey,
    /// The element, where the effect has one.
    pub element: Option<&'a NativeKey>,
}

/// One native effect.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Bring the window to the front.
    Activate,
    /// The element's own main action, chosen by its canonical name.
    Press,
    /// The element's own context menu action.
    ContextMenu,
    /// The keyboard focus, by the element's own means.
    Focus,
    /// Select the item by its own or its container's means.
    Select,
    /// Set the number of a slider or spin button.
    SetNumber(f64),
    /// Bring a checkable to a state.
    SetChecked(bool),
    /// Scroll until the element is in view, by its own means.
    ScrollToElement,
    /// Scroll the element by pages, by its own means.
    Scroll {
        /// Where to.
        direction: Direction,
        /// How many pages.
        pages: u32,
    },
    /// Put text in by the toolkit's own text interface.
    InputText {
        /// Into an empty field, or in place of what it holds.
        mode: TextMode,
        /// The text.
        text: Redacted,
    },
}

/// How far an effect got. A true return proves nothing about the world: that is for the runtime to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispatch {
    /// Proven: nothing reached the application.
    NotStarted(Fault),
    /// The application itself answered that it did nothing.
    Noop(String),
    /// The native call returned.
    Sent,
    /// It may have reached the application, and its end is not proven; the text says what happened.
    Unknown(String),
}

/// What to capture.
#[derive(Debug, Clone, Copy)]
pub enum CaptureTarget<'a> {
    /// One window's content, its own pixels only.
    Window {
        /// The window.
        window: &'a NativeKey,
        /// A part of it, inside it.
        region: Option<WindowRect>,
    },
    /// One display, with the given windows painted out wherever they show.
    Display {
        /// The display.
        display: &'a NativeKey,
        /// Windows that must not be seen.
        without: &'a [NativeKey],
    },
}

/// Pixels. Rows from the top, four bytes a pixel: blue, green, red, unused.
#[derive(Clone)]
pub struct Bitmap {
    /// Size in pixels.
    pub size: Size,
    /// Bytes from one row to the next, at least `4 * width`.
    pub stride: usize,
    /// The rows.
    pub pixels: Vec<u8>,
    /// Size of the whole that this is (a part of), in source pixels.
    pub source: Size,
}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bitmap({}x{})", self.size.width, self.size.height)
    }
}

/// A point in the stream of changes that a provider saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ChangeMark(pub u64);
