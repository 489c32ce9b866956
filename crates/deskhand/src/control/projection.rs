//! What a caller is shown: the actions and arguments that its scopes and the Runner's capabilities could
//! ever let succeed. The same tables are checked again at the call.

use deskhand_contract::action::{ActionKind, Field, FieldKind, Tool, Use};
use deskhand_contract::scope::{Capability, CapabilitySet, ScopeSet};

/// Whether this version has the action at all.
pub(crate) const fn is_offered(kind: ActionKind) -> bool {
    use ActionKind as K;
    match kind {
        K::Targets
        | K::Windows
        | K::Displays
        | K::AccessibilityStatus
        | K::AccessibilityTree
        | K::FindElements
        | K::ElementState
        | K::WaitFor
        | K::SnapshotWindow
        | K::SnapshotDisplay
        | K::ActivateWindow
        | K::Press
        | K::Focus
        | K::Select
        | K::SetValue
        | K::Scroll
        | K::ScrollToElement
        | K::InputText => true,
        K::Applications
        | K::ReadText
        | K::ReadClipboard
        | K::ArtifactMetadata
        | K::LaunchApplication
        | K::Key
        | K::PointerMove
        | K::PointerClick
        | K::WriteClipboard
        | K::SaveSnapshot => false,
    }
}

/// The actions of `tool` that could ever succeed for this caller at this Runner.
pub(crate) fn actions(tool: Tool, scopes: ScopeSet, capabilities: CapabilitySet) -> Vec<ActionKind> {
    tool.actions()
        .filter(|kind| is_offered(*kind) && scopes.covers(kind.scopes()) && capabilities.covers(kind.capabilities()))
        .collect()
}

/// The arguments of `kind` that could ever be used at this Runner, each with the choices left.
pub(crate) fn fields(kind: ActionKind, capabilities: CapabilitySet) -> Vec<Use> {
    kind.fields().iter().filter_map(|used| narrowed(*used, capabilities)).collect()
}

fn narrowed(used: Use, capabilities: CapabilitySet) -> Option<Use> {
    let targeted = capabilities.has(Capability::ComputerTargetedInput);
    match used.field.name {
        // Points of a capture and the choice of means are of use with targeted input alone.
        "means" | "basis" | "x" | "y" if !targeted => None,
        "gesture" if !targeted => Some(Use {
            field: Field::new(
                "gesture",
                FieldKind::Choice(&["activate", "context_menu"]),
                "activate (default) or context_menu.",
            ),
            ..used
        }),
        "region" | "max_width" | "max_height" if !capabilities.has(Capability::ComputerSnapshotRegion) => None,
        _ => Some(used),
    }
}
