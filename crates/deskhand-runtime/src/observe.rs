//! Reads: what is there, in the caller's ids. A read changes nothing and may be asked again.

pub(crate) mod displays;
pub(crate) mod elements;
pub(crate) mod snapshot;
pub(crate) mod tree;
pub(crate) mod wait;
pub(crate) mod windows;

use std::time::Duration;

use deskhand_contract::action::{Action, ActionKind};
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::reply::{AccessibilityStatus, Reply, Targets};

use crate::admit;
use crate::call::Call;

/// An image that travels beside its reply.
pub(crate) type Image = Option<Vec<u8>>;

/// The deadline of a read of this kind, whatever the caller would wait. A wait and an effect have the caller's own.
pub(crate) const fn deadline(kind: ActionKind) -> Option<Duration> {
    match kind {
        _ if kind.is_effect() => None,
        ActionKind::WaitFor => None,
        ActionKind::SnapshotWindow | ActionKind::SnapshotDisplay => Some(Duration::from_secs(5)),
        _ => Some(Duration::from_secs(2)),
    }
}

/// One read.
pub(crate) fn read(call: &Call<'_>, action: &Action) -> Result<(Reply, Image), CallError> {
    admit::session(call, action)?;
    if call.limit.is_over() {
        return Err(call.ended_early());
    }
    let reply = match action {
        Action::Targets => Reply::Targets(Targets { targets: vec![call.runner.target()] }),
        Action::Windows { limit } => Reply::Windows(windows::list(call, *limit)?),
        Action::Displays { limit } => Reply::Displays(displays::list(call, *limit)?),
        Action::AccessibilityStatus => Reply::AccessibilityStatus(status(call)?),
        Action::AccessibilityTree { surface, root, max_depth, max_nodes, since_generation, format } => {
            let view = crate::surface::View { root: root.clone(), max_depth: *max_depth, max_nodes: *max_nodes };
            Reply::Tree(tree::read(call, surface, view, *since_generation, *format)?)
        }
        Action::FindElements { surface, filter, limit } => Reply::Found(elements::find(call, surface, filter, *limit)?),
        Action::ElementState { surface, element, include_value } => {
            Reply::ElementState(elements::state(call, surface, element, *include_value)?)
        }
        Action::WaitFor { condition, timeout_ms } => Reply::Waited(wait::until(call, condition, *timeout_ms)?),
        Action::SnapshotWindow { surface, region, bounds } => {
            return snapshot::window(call, surface, *region, *bounds);
        }
        Action::SnapshotDisplay { display, bounds } => return snapshot::display(call, display, *bounds),
        Action::Applications { .. }
        | Action::ReadText { .. }
        | Action::ReadClipboard
        | Action::ArtifactMetadata { .. }
        | Action::LaunchApplication { .. }
        | Action::ActivateWindow { .. }
        | Action::Press { .. }
        | Action::Focus { .. }
        | Action::Select { .. }
        | Action::SetValue { .. }
        | Action::Scroll { .. }
        | Action::ScrollToElement { .. }
        | Action::Key { .. }
        | Action::InputText { .. }
        | Action::PointerMove { .. }
        | Action::PointerClick { .. }
        | Action::WriteClipboard { .. }
        | Action::SaveSnapshot { .. } => {
            let message = format!("This Runner does not do {} yet.", call.kind.name());
            return Err(call.reject(ErrorCode::CapabilityMissing, message));
        }
    };
    Ok((reply, None))
}

fn status(call: &Call<'_>) -> Result<AccessibilityStatus, CallError> {
    let status =
        call.read(|provider, limit| provider.accessibility_status(limit)).map_err(|fault| call.fault(fault))?;
    Ok(AccessibilityStatus {
        available: status.available,
        applications: status.applications,
        unresponsive: status.unresponsive,
        notes: status.notes,
    })
}
