//! `computer_control`: effects.

use rmcp::model::ToolAnnotations;

/// What it is for, before the list of its actions.
pub(super) const DESCRIPTION: &str = "Act on what computer_observe showed. Each answer says what is proven \
    (effect_verdict) and what changed. execution_state outcome_unknown: observe, do not repeat. stale_*: observe again.";

/// Its hints.
pub(super) fn annotations() -> ToolAnnotations {
    ToolAnnotations::with_title("Control the computer")
        .read_only(false)
        .destructive(true)
        .idempotent(false)
        .open_world(true)
}
