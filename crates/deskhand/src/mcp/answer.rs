//! An envelope as a tool result: the envelope as structured content, what is long or for the eye beside it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskhand_contract::reply::Reply;
use rmcp::model::{CallToolResult, ContentBlock};

use crate::control::gateway::Closed;

/// The result of a call. A tree's outline is text, a picture is an image, and neither stands in the envelope too.
pub(super) fn result(closed: Closed) -> CallToolResult {
    let Closed { mut envelope, image } = closed;
    let mut content = Vec::new();
    match envelope.take_outline() {
        Some(outline) => content.push(ContentBlock::text(outline)),
        None => content.push(ContentBlock::text(summary(&envelope))),
    }
    if let Some(Reply::Snapshot(snapshot)) = envelope.reply().filter(|_| !image.is_empty()) {
        content.push(ContentBlock::image(STANDARD.encode(&image), snapshot.mime.clone()));
    }
    let mut result = if envelope.ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
    result.structured_content = Some(envelope.without_nulls());
    result
}

/// One line that says how it went; the data stands in the envelope.
fn summary(envelope: &crate::control::envelope::Envelope) -> String {
    if let Some(error) = &envelope.error {
        return format!("{}: {}", error.code.name(), error.message);
    }
    match envelope.reply() {
        Some(Reply::Targets(targets)) => format!("Runners: {}", targets.targets.len()),
        Some(Reply::Windows(windows)) => format!("{} of {} windows", windows.windows.len(), windows.count),
        Some(Reply::Displays(displays)) => format!("{} of {} displays", displays.displays.len(), displays.count),
        Some(Reply::Applications(applications)) => {
            format!("{} of {} applications", applications.applications.len(), applications.count)
        }
        Some(Reply::AccessibilityStatus(status)) => {
            if status.available {
                "available".into()
            } else {
                "not available".into()
            }
        }
        Some(Reply::Tree(tree)) => match &tree.delta {
            Some(delta) => format!(
                "{} added, {} removed, {} changed since generation {}",
                delta.added, delta.removed, delta.changed, delta.since
            ),
            None => format!("{} of {} nodes", tree.shown, tree.total),
        },
        Some(Reply::Found(found)) => format!("{} of {} matches", found.matches.len(), found.count),
        Some(Reply::ElementState(_)) => "element".into(),
        Some(Reply::Waited(waited)) => if waited.satisfied { "came true" } else { "did not come true" }.into(),
        Some(Reply::Snapshot(snapshot)) => format!("{}x{}", snapshot.output.width, snapshot.output.height),
        Some(Reply::Effect(_)) | None => envelope.meta.effect_verdict.reason().to_owned(),
    }
}
