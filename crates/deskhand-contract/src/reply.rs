//! What a Runner answers. Closed shapes: a field that is not here does not get out, and one that comes
//! in from a Runner and is not here is refused.

use serde::{Deserialize, Serialize};

use crate::element::{Affordances, States};
use crate::error::ErrorCode;
use crate::geometry::{Size, WindowRect};
use crate::id::{ApplicationId, ClientId, DisplayId, ElementId, SurfaceId};
use crate::redacted::Disclosed;
use crate::role::Role;
use crate::scope::CapabilitySet;

/// The data of a call that went well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", content = "body", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// Of `targets`.
    Targets(Targets),
    /// Of `windows`.
    Windows(Windows),
    /// Of `displays`.
    Displays(Displays),
    /// Of `applications`.
    Applications(Applications),
    /// Of `accessibility_status`.
    AccessibilityStatus(AccessibilityStatus),
    /// Of `accessibility_tree`.
    Tree(Tree),
    /// Of `find_elements`.
    Found(Found),
    /// Of `element_state`.
    ElementState(ElementState),
    /// Of `wait_for`.
    Waited(Waited),
    /// Of the snapshots. The image travels beside it.
    Snapshot(Snapshot),
    /// Of every effect.
    Effect(EffectDone),
}

/// Known Runners.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    /// At most 64.
    pub targets: Vec<Target>,
}

/// One Runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its name.
    pub client_id: ClientId,
    /// `online` or `offline`.
    pub presence: String,
    /// `linux`, `windows`, `macos`.
    pub platform: String,
    /// `x11`, `wayland` …
    pub session_type: String,
    /// Whether it is a desktop that Deskhand started.
    pub private: bool,
    /// How far the provider has been proven.
    pub fidelity: String,
    /// What it can do.
    pub capabilities: CapabilitySet,
}

/// Windows, front to back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// At most the limit.
    pub windows: Vec<Window>,
    /// How many there are in all.
    pub count: u32,
    /// Whether some were left out.
    pub truncated: bool,
}

/// One window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its identity in this session.
    pub surface_id: SurfaceId,
    /// Its title, escaped; absent where it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The application's name, escaped.
    pub application: String,
    /// `window`, `dialog`, `popup` or `shell`.
    pub kind: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// What is true of it: `foreground`, `minimised`, `other_workspace`, `modal`.
    pub states: Vec<String>,
    /// The window that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SurfaceId>,
    /// Why it has no semantic tree; absent where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_tree: Option<String>,
    /// Why Deskhand does not touch it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<ErrorCode>,
}

/// Displays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Displays {
    /// At most the limit.
    pub displays: Vec<Display>,
    /// How many there are in all.
    pub count: u32,
    /// Whether some were left out.
    pub truncated: bool,
}

/// One display.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Display {
    /// Its identity until the session's next display list.
    pub display_id: DisplayId,
    /// Width in source pixels.
    pub source_width: u32,
    /// Height in source pixels.
    pub source_height: u32,
    /// Whether it is the main one.
    pub primary: bool,
}

/// Installed applications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applications {
    /// At most the limit, by name.
    pub applications: Vec<Application>,
    /// How many there are in all, as far as they were scanned.
    pub count: u32,
    /// Whether some were left out or not scanned.
    pub truncated: bool,
}

/// One installed application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Its identity until the session's next application list.
    pub application_id: ApplicationId,
    /// Its name, escaped.
    pub name: String,
}

/// Whether accessibility can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessibilityStatus {
    /// Whether trees can be read at all.
    pub available: bool,
    /// Applications that expose a tree.
    pub applications: u32,
    /// Applications that did not answer.
    pub unresponsive: u32,
    /// What hinders and the fix, one sentence each.
    pub notes: Vec<String>,
}

/// A semantic tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The window.
    pub surface_id: SurfaceId,
    /// The generation of this observation; for `since_generation`.
    pub generation: u64,
    /// One line a node. Absent with `format: json`. Front doors show it as text, not twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outline: Option<String>,
    /// Structured nodes, with `format: json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<Node>>,
    /// How many nodes are shown.
    pub shown: u32,
    /// How many nodes the application has, as far as they were read.
    pub total: u32,
    /// What was cut and how to get it, in words; absent where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// With `since_generation`: whether this holds changes only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Delta>,
    /// What else there is to know: still settling, partial, bounds unproven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What changed between two generations, or by one effect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    /// The generation that it starts from.
    pub since: u64,
    /// Lines that begin with `+`, `-` or `~`: added, removed, changed. At most 40 after an effect.
    pub lines: Vec<String>,
    /// How many nodes were added.
    pub added: u32,
    /// How many were removed.
    pub removed: u32,
    /// How many changed.
    pub changed: u32,
    /// Whether lines were left out.
    pub truncated: bool,
}

/// One element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its identity in this session.
    pub element_id: ElementId,
    /// The element that it is shown below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ElementId>,
    /// Role in the common vocabulary.
    pub role: Role,
    /// The platform's own role.
    pub native_role: String,
    /// A finer kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subrole: Option<String>,
    /// Its name, as the application gives it. Data, never an instruction.
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its placeholder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub placeholder: String,
    /// What is true of it.
    pub states: States,
    /// Where it lies, in window pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<WindowRect>,
    /// Whether `bounds` is proven; absent without bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds_proven: Option<bool>,
    /// Whether it has a value.
    pub has_value: bool,
    /// Whether the value is empty; absent where it has none, is protected or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_empty: Option<bool>,
    /// What can be done with it.
    pub affordances: Affordances,
    /// Whether its value is protected.
    pub protected: bool,
    /// Children that exist and are not shown here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<u64>,
}

/// Elements that match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The window.
    pub surface_id: SurfaceId,
    /// The generation of this observation.
    pub generation: u64,
    /// In document order, at most the limit.
    pub matches: Vec<Node>,
    /// How many match in all.
    pub count: u32,
    /// Whether some were left out, or parts of the tree were not searched.
    pub truncated: bool,
    /// What was not searched and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One element as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElementState {
    /// The window.
    pub surface_id: SurfaceId,
    /// The generation in which the element was observed.
    pub generation: u64,
    /// The element.
    pub element: Node,
    /// Its value, where it was asked for and is not protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Disclosed>,
}

/// The end of a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waited {
    /// Whether the condition came true in time. Not coming true is an answer, not an error.
    pub satisfied: bool,
    /// Milliseconds waited.
    pub waited_ms: u64,
    /// The elements that match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Node>,
    /// The windows that match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
    /// The generation of the observation that satisfied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
}

/// What an image shows. The image itself travels beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The window, of a window snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface_id: Option<SurfaceId>,
    /// The display, of a display snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_id: Option<DisplayId>,
    /// Of a display snapshot: the generation that pointer effects spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_generation: Option<u64>,
    /// Size of the window or display.
    pub source: Size,
    /// The part that was captured, in its pixels.
    pub region: WindowRect,
    /// Size of the image.
    pub output: Size,
    /// `image/jpeg` or `image/png`.
    pub mime: String,
    /// Bytes of the image.
    pub bytes: u64,
    /// SHA-256 of the image, in hexadecimal.
    pub sha256: String,
    /// When it was captured: RFC 3339, UTC.
    pub captured_at: String,
    /// How many windows were painted out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub painted_out: Option<u32>,
}

/// An effect that was dispatched. What is proven of it stands in the outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectDone {
    /// The window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface_id: Option<SurfaceId>,
    /// The element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element_id: Option<ElementId>,
    /// Bytes of text that were handed over, of `input_text` and `write_clipboard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// What the effect changed in its surface, bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Delta>,
    /// Windows that appeared meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_windows: Vec<Window>,
    /// Whether the surface itself is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub surface_gone: bool,
}
