//! What goes wrong, as the caller hears it: every fault of a provider has its code and its advice here.

use deskhand_contract::action::ActionKind;
use deskhand_contract::argument::{Argument, Arguments};
use deskhand_contract::error::{CallError, ErrorCode, IsEffect, NextCall, Recovery, RecoveryKind};
use deskhand_contract::id::{ElementId, SurfaceId};
use deskhand_contract::provider::Fault;
use deskhand_contract::redacted::Redacted;
use deskhand_contract::role::Role;

use crate::call::Call;

impl Call<'_> {
    /// An error before anything was read or dispatched.
    pub(crate) fn reject(&self, code: ErrorCode, message: impl Into<String>) -> CallError {
        CallError::rejected(code, message, self.is_effect())
    }

    /// An error of a question that was asked and did not answer; nothing was dispatched.
    pub(crate) fn fail(&self, code: ErrorCode, message: impl Into<String>) -> CallError {
        match self.is_effect() {
            IsEffect::Yes => CallError::rejected(code, message, IsEffect::Yes),
            IsEffect::No => CallError::of_read(code, message),
        }
    }

    /// The call ended before its work: by its caller, by Stop, or because its time is up.
    pub(crate) fn ended_early(&self) -> CallError {
        if self.was_stopped() {
            self.fail(ErrorCode::ComputerStoppedByUser, "Stop ended this call before anything was done.")
        } else if self.limit.cancel.is_cancelled() {
            self.fail(ErrorCode::Cancelled, "The caller cancelled this call before anything was done.")
        } else {
            self.fail(ErrorCode::ComputerTimeout, "The time for this call is over; nothing was done. Try again.")
        }
    }

    /// A fault of a question about a window.
    pub(crate) fn window_fault(&self, fault: Fault) -> CallError {
        match fault {
            Fault::Gone => self.stale_surface("This window is gone."),
            Fault::Unsupported(why) => {
                let advice = "snapshot_window shows its pixels";
                self.fail(ErrorCode::NotActionable, format!("This window has no semantic tree: {why}; {advice}."))
            }
            fault => self.fault(fault),
        }
    }

    /// A fault of a question about an element that `surface` held.
    pub(crate) fn element_fault(&self, fault: Fault, surface: &SurfaceId, known: Option<(Role, &str)>) -> CallError {
        match fault {
            Fault::Gone => self.stale_element("This element is gone.", surface, known),
            Fault::Unsupported(why) => self.fail(ErrorCode::NotActionable, format!("It cannot be done: {why}.")),
            fault => self.fault(fault),
        }
    }

    /// Any other fault.
    pub(crate) fn fault(&self, fault: Fault) -> CallError {
        match fault {
            Fault::Gone => self.fail(ErrorCode::StaleSurface, "It no longer exists. Observe again."),
            Fault::Cancelled => self.ended_early(),
            Fault::Unresponsive => self.fail(
                ErrorCode::ComputerTimeout,
                "The application does not answer. Other applications are not affected; try again, or end it.",
            ),
            Fault::Unsupported(why) => self.fail(ErrorCode::NotActionable, format!("It cannot be done: {why}.")),
            Fault::NotCapturable(why) => {
                self.fail(ErrorCode::ComputerCaptureDenied, format!("It has no pixels to capture: {why}."))
            }
            Fault::TooLarge => self.fail(ErrorCode::TooLarge, "The value is longer than 16 KiB."),
            Fault::PermissionMissing(why) => {
                self.fail(ErrorCode::ComputerOsPermissionMissing, format!("A permission is missing: {why}."))
            }
            Fault::Backend(why) => self.fail(ErrorCode::Unavailable, format!("The desktop cannot be reached: {why}.")),
        }
    }

    /// The window that an id named is not there any more, or never was this session's.
    pub(crate) fn stale_surface(&self, what: &str) -> CallError {
        self.fail(ErrorCode::StaleSurface, format!("{what} List the windows again.")).recover(list_windows())
    }

    /// The element that an id named is not there any more, is another one now, or never was this session's.
    pub(crate) fn stale_element(&self, what: &str, surface: &SurfaceId, known: Option<(Role, &str)>) -> CallError {
        let message = format!("{what} Nothing was done to what may have taken its place. Observe the window again.");
        self.fail(ErrorCode::StaleElement, message).recover(look_again(surface, known))
    }

    pub(crate) fn is_effect(&self) -> IsEffect {
        if self.kind.is_effect() { IsEffect::Yes } else { IsEffect::No }
    }
}

/// To list the windows again.
pub(crate) fn list_windows() -> Recovery {
    reobserve(observe(ActionKind::Windows))
}

/// To list the displays again.
pub(crate) fn list_displays() -> Recovery {
    reobserve(observe(ActionKind::Displays))
}

/// To find the element again by what it was, else to read the window's tree.
fn look_again(surface: &SurfaceId, known: Option<(Role, &str)>) -> Recovery {
    /// Longest label that `find_elements` takes, in bytes.
    const MAX_LABEL: usize = 256;
    let arguments = match known {
        Some((role, name)) if !name.is_empty() && name.len() <= MAX_LABEL && !name.ends_with('…') => {
            let found = observe(ActionKind::FindElements).text("surface_id", surface.as_str());
            found.text("role", role.name()).text("label", name)
        }
        _ => observe(ActionKind::AccessibilityTree).text("surface_id", surface.as_str()),
    };
    reobserve(arguments)
}

/// To find out what an effect did whose end is unknown.
pub(crate) fn reconcile(surface: Option<&SurfaceId>, element: Option<&ElementId>) -> Recovery {
    let arguments = match (surface, element) {
        (Some(surface), Some(element)) => {
            observe(ActionKind::ElementState).text("surface_id", surface.as_str()).text("element_id", element.as_str())
        }
        (Some(surface), None) => observe(ActionKind::AccessibilityTree).text("surface_id", surface.as_str()),
        (None, _) => observe(ActionKind::Windows),
    };
    Recovery { kind: RecoveryKind::Reconcile, next: call(arguments) }
}

fn reobserve(arguments: Arguments) -> Recovery {
    Recovery { kind: RecoveryKind::Reobserve, next: call(arguments) }
}

fn observe(kind: ActionKind) -> Arguments {
    let mut arguments = Arguments::new();
    arguments.set("action", Argument::Text(Redacted::new(kind.name().to_owned())));
    arguments
}

fn call(arguments: Arguments) -> NextCall {
    NextCall::Call { tool: "computer_observe", arguments }
}
