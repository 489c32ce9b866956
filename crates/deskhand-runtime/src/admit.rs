//! Where a call is refused. The only place that can make a [`Permit`], and without one nothing is dispatched.
//!
//! [`session`] refuses what needs no look at the desktop (the permission mode first). [`window`], [`content`] and
//! [`effect`] refuse by what was measured: Deskhand's own windows, those of another user or a higher privilege,
//! and protected input. No setting, scope, mode or argument reaches these. They run before every content read and
//! every effect, and [`crate::bind`] runs them again on a fresh measurement right before dispatch.
//!
//! Not here yet: the denylist.

use deskhand_contract::action::{Action, ActionKind};
use deskhand_contract::element::{ElementFacts, State};
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::provider::{Belonging, Fault, NativeKey, NativeTree, WindowFacts};

use crate::bind::Measured;
use crate::call::Call;
use crate::grant::{self, Grant};
use crate::runner::CaptureMode;
use crate::trees;

/// The proof that an effect was admitted. Made here alone, moved into dispatch, used once.
pub(crate) struct Permit {
    grant: Grant,
}

impl Permit {
    /// The grant that the effect happens under.
    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }
}

/// The answer to an effect that wants to happen.
pub(crate) enum Admission {
    /// It may, once.
    Allow(Permit),
    /// It may not.
    Refuse(Refusal),
}

/// Why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: &'static str,
}

/// What needs no look at the desktop: the permission mode, the switch, the Runner's capabilities.
pub(crate) fn session(call: &Call<'_>, action: &Action) -> Result<(), CallError> {
    if call.kind.is_effect() && call.session.mode().refuses_effects() {
        return Err(call.reject(ErrorCode::ComputerModeDenied, MODE));
    }
    let free = matches!(call.kind, ActionKind::Targets | ActionKind::AccessibilityStatus);
    if !call.runner.world.policy.enabled && !free {
        return Err(call.reject(ErrorCode::ComputerFeatureDisabled, DISABLED));
    }
    let capabilities = call.runner.seam.provider().profile().capabilities;
    if let Some(missing) = capabilities.missing(action.capabilities()).next() {
        let message = format!("This Runner does not have the capability {missing}, which {} needs.", call.kind.name());
        return Err(call.reject(ErrorCode::CapabilityMissing, message));
    }
    Ok(())
}

/// Whether a window is refused as a whole. It then stays listed, without its title, with this reason.
pub(crate) fn window(facts: &WindowFacts) -> Option<Refusal> {
    match facts.belongs_to {
        Belonging::Deskhand => Some(Refusal { code: ErrorCode::ComputerSelfTarget, message: SELF }),
        Belonging::Elevated => Some(Refusal { code: ErrorCode::ComputerElevatedTarget, message: ELEVATED }),
        // That nothing proves whose a window is (it names no process) is no sign of another user.
        Belonging::User | Belonging::Unproven => None,
    }
}

/// Whether an effect may happen, by what was measured of its window and element.
pub(crate) fn effect(call: &Call<'_>, action: &Action, measured: &Measured) -> Result<Admission, CallError> {
    if let Some(refusal) = refusal(call, action, measured)? {
        return Ok(Admission::Refuse(refusal));
    }
    Ok(Admission::Allow(Permit { grant: grant::of_session(call)? }))
}

/// What refuses an effect on what was measured, if anything does.
pub(crate) fn refusal(call: &Call<'_>, action: &Action, measured: &Measured) -> Result<Option<Refusal>, CallError> {
    if let Some(refusal) = window(&measured.window).or_else(|| protected_element(call.kind, measured.facts())) {
        return Ok(Some(refusal));
    }
    if puts_text(action) && focus_is_protected(call, &measured.window)? {
        return Ok(Some(Refusal { code: ErrorCode::ComputerSecureInput, message: FOCUSED_SECRET }));
    }
    Ok(None)
}

/// Whether an effect on that element is refused because the element is protected. It may be scrolled into view.
fn protected_element(kind: ActionKind, facts: Option<&ElementFacts>) -> Option<Refusal> {
    let refused = facts.is_some_and(|facts| facts.protected) && kind != ActionKind::ScrollToElement;
    refused.then_some(Refusal { code: ErrorCode::ComputerSecureInput, message: PROTECTED })
}

/// Whether the content of a window (a value, its pixels) may be read now.
pub(crate) fn content(call: &Call<'_>, facts: &WindowFacts, element: Option<&ElementFacts>) -> Result<(), CallError> {
    if let Some(refusal) = window(facts) {
        return Err(call.refuse(refusal));
    }
    if element.is_some_and(|element| element.protected) {
        return Err(call.reject(ErrorCode::ComputerSecureInput, PROTECTED));
    }
    if focus_is_protected(call, facts)? {
        return Err(call.reject(ErrorCode::ComputerSecureInput, FOCUSED_SECRET));
    }
    Ok(())
}

/// Whether pixels may be captured at all.
pub(crate) fn capture(call: &Call<'_>) -> Result<(), CallError> {
    match call.runner.world.policy.capture {
        CaptureMode::A11yAndPixels => Ok(()),
        CaptureMode::A11yOnly => Err(call.reject(ErrorCode::ComputerCaptureDenied, NO_PIXELS)),
    }
}

/// Whether a protected element of that window has the focus. A window without a tree has none that could be known;
/// an application that does not answer proves nothing, so its content is not read.
pub(crate) fn focus_is_protected(call: &Call<'_>, facts: &WindowFacts) -> Result<bool, CallError> {
    match protected_focus(call, &facts.key) {
        Ok(found) => Ok(found),
        Err(Fault::Unsupported(_)) => Ok(false),
        Err(Fault::Unresponsive) => Err(call.fail(ErrorCode::ComputerTimeout, UNPROVEN_FOCUS)),
        Err(fault) => Err(call.window_fault(fault)),
    }
}

/// The same, as the provider says it.
pub(crate) fn protected_focus(call: &Call<'_>, window: &NativeKey) -> Result<bool, Fault> {
    let tree = trees::read(call, window, &trees::outline_ask(None))?;
    Ok(has_protected_focus(&tree))
}

fn has_protected_focus(tree: &NativeTree) -> bool {
    tree.nodes.iter().any(|node| node.facts.protected && node.facts.states.has(State::Focused))
}

/// Whether an effect hands text over: that is refused while a protected field of the window has the focus.
fn puts_text(action: &Action) -> bool {
    matches!(action.kind(), ActionKind::InputText | ActionKind::Key)
}

const MODE: &str = "This session's permission mode allows no effects; reads are allowed. Its host fixed the mode, and \
                    no argument changes it.";
const DISABLED: &str = "Computer use is switched off on this desktop. Its user can switch it on in the settings.";
const SELF: &str = "This is one of Deskhand's own windows. Deskhand neither reads nor operates itself.";
const ELEVATED: &str = "This window belongs to another user or to a higher privilege. Deskhand does not touch it.";
const PROTECTED: &str = "This element is protected (a password field or a part of one). Its content is never read and \
                         nothing is typed into it; a person must do that.";
const FOCUSED_SECRET: &str = "A password field of this window has the focus: no content, picture or text until it \
                              loses it. Focus or press an unprotected element, then try again.";
const UNPROVEN_FOCUS: &str = "The application does not answer, so nothing proves that no password field has the focus. \
                              Try again when it answers.";
const NO_PIXELS: &str = "This desktop is set to a11y-only: no pixels are captured. Read the tree, or let its user \
                         change the capture setting.";
