//! The seam between Control and a Runner, wherever that is.

use std::sync::Arc;
use std::time::Duration;

use deskhand_contract::action::ActionKind;
use deskhand_contract::argument::Arguments;
use deskhand_contract::error::{CallError, ErrorCode, IsEffect, NextCall, Recovery, RecoveryKind};
use deskhand_contract::reply::Target;
use deskhand_contract::verdict::Outcome;
use deskhand_contract::wire::Ending;

/// A call on its way to a Runner.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The action.
    pub(crate) kind: ActionKind,
    /// Its arguments, which the Runner reads again.
    pub(crate) arguments: Arguments,
    /// How long the caller waits.
    pub(crate) time: Duration,
}

/// The end of a call, with its image where it has one.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The end.
    pub(crate) ending: Ending,
    /// The image's bytes, or none.
    pub(crate) image: Vec<u8>,
}

impl From<CallError> for Answer {
    fn from(error: CallError) -> Self {
        Self { ending: error.into(), image: Vec::new() }
    }
}

/// Takes an answer. Called exactly once, from whichever thread has it.
pub(crate) type Done = Box<dyn FnOnce(Answer) + Send>;

/// A call of one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallNumber(pub(crate) u64);

/// A Runner within reach.
pub(crate) trait Link: Send + Sync {
    /// What the Runner is and can do.
    fn target(&self) -> &Target;

    /// Sends a call. Returns at once; `done` is called exactly once, also when the link breaks.
    fn call(&self, ask: Ask, done: Done) -> CallNumber;

    /// Says that a call is no longer wanted. Its answer still comes.
    fn cancel(&self, call: CallNumber);

    /// Stops every running call of every session of the desktop.
    fn stop(&self, done: Done);

    /// Whether it can still carry calls.
    fn is_open(&self) -> bool;
}

/// Makes links to the Runner of one desktop, for one session.
pub(crate) trait Connect: Send + Sync {
    /// Reaches the Runner, starting it (and a private desktop) where that is needed. May take seconds.
    ///
    /// # Errors
    /// Says what is missing and what would mend it.
    fn connect(&self) -> Result<Arc<dyn Link>, Unreachable>;
}

/// Why no Runner could be reached. Nothing of the call was sent.
#[derive(Debug, Clone)]
pub(crate) struct Unreachable {
    /// What kind of trouble it is.
    pub(crate) code: ErrorCode,
    /// What is wrong and what to do.
    pub(crate) message: String,
}

impl Unreachable {
    /// Trouble of `code`.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The end of a call of `kind` that could not be sent.
    pub(crate) fn of(self, kind: ActionKind) -> CallError {
        CallError::rejected(self.code, self.message, effect(kind))
    }
}

impl From<CallError> for Unreachable {
    fn from(error: CallError) -> Self {
        Self { code: error.code, message: error.message }
    }
}

/// Whether `kind` is an effect, in the contract's word.
pub(crate) fn effect(kind: ActionKind) -> IsEffect {
    if kind.is_effect() { IsEffect::Yes } else { IsEffect::No }
}

/// The end of a call whose answer will not come any more.
pub(crate) fn lost(kind: ActionKind, why: &str) -> Answer {
    let error = if kind.is_effect() {
        CallError::unknown(
            format!("{why}; {} may have happened. Do not repeat it: observe first.", kind.name()),
            Outcome::unknown(why, None),
        )
        .recover(Recovery { kind: RecoveryKind::Reconcile, next: NextCall::Family("computer_observe") })
    } else {
        CallError::of_read(ErrorCode::ClientOffline, format!("{why}. Reading again is safe."))
    };
    error.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_answer_is_an_unknown_outcome_of_an_effect_and_a_failed_read() {
        let effect = lost(ActionKind::Press, "gone").ending;
        assert_eq!(
            effect.error.as_ref().map(|error| (error.code, error.retryable)),
            Some((ErrorCode::OutcomeUnknown, false))
        );
        assert_eq!(effect.outcome, Outcome::unknown("gone", None));
        let read = lost(ActionKind::Windows, "gone").ending;
        assert_eq!(read.error.map(|error| (error.code, error.retryable)), Some((ErrorCode::ClientOffline, true)));
    }
}
