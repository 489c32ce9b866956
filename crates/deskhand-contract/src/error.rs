//! Every error that a call can end in: its code, its exit status and whether trying again is safe.

use serde::{Deserialize, Serialize};

use crate::argument::Arguments;
use crate::verdict::{ExecutionState, Outcome, Verdict};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident => $wire:literal, $exit:ident, $retry:ident;)+) => {
        /// What went wrong. Each refusal is separately attributable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* $variant,)+ }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// The wire name.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $(Self::$variant => $wire,)+ } }
            /// The code of that wire name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> { match name { $($wire => Some(Self::$variant),)+ _ => None } }
            /// The exit status of a CLI call that ends in it.
            #[must_use]
            pub const fn exit(self) -> Exit { match self { $(Self::$variant => Exit::$exit,)+ } }
            /// Whether the same call may be sent again as it is, once the cause is gone.
            #[must_use]
            pub const fn retryable(self) -> bool { match self { $(Self::$variant => retry!($retry),)+ } }
        }
    };
}

macro_rules! retry {
    (again) => {
        true
    };
    (never) => {
        false
    };
}

codes! {
    /// Schema, unknown field, wrong combination.
    InvalidRequest => "invalid_request", Usage, never;
    /// The caller lacks a scope.
    ScopeMissing => "scope_missing", Refused, never;
    /// The Runner cannot do it.
    CapabilityMissing => "capability_missing", Unavailable, never;
    /// No Runner of that name.
    ClientUnknown => "client_unknown", Unavailable, never;
    /// The Runner is not there now.
    ClientOffline => "client_offline", Temporary, again;
    /// The window is gone or no longer proven the same.
    StaleSurface => "stale_surface", Stale, never;
    /// The element is gone or no longer proven the same.
    StaleElement => "stale_element", Stale, never;
    /// The display list was replaced or the display changed.
    StaleDisplay => "stale_display", Stale, never;
    /// The application list was replaced or the application changed.
    StaleApplication => "stale_application", Stale, never;
    /// The snapshot generation is spent or superseded.
    StaleSnapshot => "stale_snapshot", Stale, never;
    /// The element lacks the affordance, is disabled or hidden.
    NotActionable => "not_actionable", Refused, never;
    /// The field that was to be filled holds something.
    ValueNotEmpty => "value_not_empty", Refused, never;
    /// What was read or written exceeds its bound.
    TooLarge => "too_large", Refused, never;
    /// The window is not in front.
    NotForeground => "not_foreground", Refused, never;
    /// A key or button is held down by someone.
    HeldInput => "held_input", Temporary, again;
    /// The chord belongs to the system.
    ChordRefused => "chord_refused", Refused, never;
    /// The person is using pointer or keyboard there.
    UserActive => "user_active", Temporary, again;
    /// Computer use is switched off on this desktop.
    ComputerFeatureDisabled => "COMPUTER_FEATURE_DISABLED", Refused, never;
    /// No model is bound.
    ComputerNoBinding => "COMPUTER_NO_BINDING", Configuration, never;
    /// No grant, and none can be minted.
    ComputerNoGrant => "COMPUTER_NO_GRANT", Refused, never;
    /// Another session holds the grant.
    ComputerGrantBusy => "COMPUTER_GRANT_BUSY", Temporary, again;
    /// Outside the grant's window.
    ComputerScopeViolation => "COMPUTER_SCOPE_VIOLATION", Refused, never;
    /// The capture that the coordinates came from no longer holds.
    ComputerStaleBasis => "COMPUTER_STALE_BASIS", Stale, never;
    /// The grant's revision moved on.
    ComputerStaleRevision => "COMPUTER_STALE_REVISION", Stale, never;
    /// No effect is left in the budget.
    ComputerBudgetExhausted => "COMPUTER_BUDGET_EXHAUSTED", Refused, never;
    /// The grant's time is over.
    ComputerGrantExpired => "COMPUTER_GRANT_EXPIRED", Refused, never;
    /// Stopped by the user.
    ComputerStoppedByUser => "COMPUTER_STOPPED_BY_USER", Refused, never;
    /// One of Deskhand's own windows.
    ComputerSelfTarget => "COMPUTER_SELF_TARGET", Refused, never;
    /// Secure input, or a password field.
    ComputerSecureInput => "COMPUTER_SECURE_INPUT", Refused, never;
    /// On the denylist.
    ComputerDenylisted => "COMPUTER_DENYLISTED", Refused, never;
    /// The operating system's permission is missing.
    ComputerOsPermissionMissing => "COMPUTER_OS_PERMISSION_MISSING", Refused, never;
    /// Another user's window, or a higher privilege.
    ComputerElevatedTarget => "COMPUTER_ELEVATED_TARGET", Refused, never;
    /// This platform has no such thing.
    ComputerPlatformUnsupported => "COMPUTER_PLATFORM_UNSUPPORTED", Unavailable, never;
    /// The model's answer is outside the schema.
    ComputerModelSchema => "COMPUTER_MODEL_SCHEMA", Internal, never;
    /// The deadline passed before anything was dispatched, or a read did not answer in time.
    ComputerTimeout => "COMPUTER_TIMEOUT", Temporary, again;
    /// The session's permission mode forbids effects.
    ComputerModeDenied => "COMPUTER_MODE_DENIED", Refused, never;
    /// The window's pixels cannot or must not be captured.
    ComputerCaptureDenied => "COMPUTER_CAPTURE_DENIED", Refused, never;
    /// No provider satisfies the hard constraints.
    RouteUnavailable => "route_unavailable", Unavailable, never;
    /// No observation was given.
    ObservationMissing => "observation_missing", Stale, never;
    /// The observation is too old.
    ObservationExpired => "observation_expired", Stale, never;
    /// The observation was used.
    ObservationReplayed => "observation_replayed", Stale, never;
    /// The observation is another session's or provider's.
    ObservationForeign => "observation_foreign", Stale, never;
    /// The point is outside the observation.
    ObservationOutOfBounds => "observation_out_of_bounds", Usage, never;
    /// A credential is needed and absent.
    AuthRequired => "auth_required", Refused, never;
    /// The service answered with an error.
    HttpError => "http_error", Unavailable, never;
    /// The process failed.
    ProcessFailed => "process_failed", Unavailable, never;
    /// The provider did not answer in time.
    ProviderTimeout => "provider_timeout", Temporary, again;
    /// Nothing matches.
    NotFound => "not_found", NothingFound, never;
    /// An effect's end is not proven.
    OutcomeUnknown => "outcome_unknown", OutcomeUnknown, never;
    /// Cancelled by the caller.
    Cancelled => "cancelled", Temporary, again;
    /// The display server or a bus cannot be reached.
    Unavailable => "unavailable", Unavailable, again;
    /// The settings or the machine's set-up are wrong.
    Configuration => "configuration", Configuration, never;
    /// A fault of Deskhand itself.
    Internal => "internal", Internal, never;
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| serde::de::Error::custom("not an error code"))
    }
}

/// The exit status of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// It went well.
    Ok = 0,
    /// The call is wrong.
    Usage = 2,
    /// What it named is stale: observe again.
    Stale = 65,
    /// Nothing was found.
    NothingFound = 66,
    /// It is not to be had here.
    Unavailable = 69,
    /// A fault of Deskhand.
    Internal = 70,
    /// Try again later, which is safe.
    Temporary = 75,
    /// The outcome is unknown: do not retry, observe first.
    OutcomeUnknown = 76,
    /// Refused, or not authorised.
    Refused = 77,
    /// The configuration is wrong.
    Configuration = 78,
}

/// What to do next, as advice. It refreshes no identity and grants no authority.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// Whether to observe again or to find out what an effect did.
    pub kind: RecoveryKind,
    /// The exact call, or where the target is not wholly known, only the family of actions.
    pub next: NextCall,
}

/// The purpose of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryKind {
    /// The identity is stale.
    Reobserve,
    /// An effect's end is unknown.
    Reconcile,
}

/// Exactly one of the two forms of advice.
#[derive(Debug, Clone, PartialEq)]
pub enum NextCall {
    /// A call that can be sent as it is.
    Call {
        /// The tool's name.
        tool: &'static str,
        /// Its arguments.
        arguments: Arguments,
    },
    /// Only the family is known.
    Family(&'static str),
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct CallError {
    /// What went wrong.
    pub code: ErrorCode,
    /// What is wrong and what to do, in one or two sentences. Never holds a secret or a native identity.
    pub message: String,
    /// How far it got and what is proven.
    pub outcome: Outcome,
    /// What to do next.
    pub recovery: Option<Recovery>,
}

impl CallError {
    /// A read that failed.
    #[must_use]
    pub fn of_read(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), outcome: Outcome::read(ExecutionState::Completed), recovery: None }
    }

    /// A call that was rejected before anything was dispatched. `effect` says whether it was one.
    #[must_use]
    pub fn rejected(code: ErrorCode, message: impl Into<String>, is_effect: IsEffect) -> Self {
        let message = message.into();
        let outcome = match is_effect {
            IsEffect::Yes => Outcome::not_started(code.name()),
            IsEffect::No => Outcome::read(ExecutionState::NotStarted),
        };
        Self { code, message, outcome, recovery: None }
    }

    /// An effect whose end is not proven.
    #[must_use]
    pub fn unknown(message: impl Into<String>, outcome: Outcome) -> Self {
        Self { code: ErrorCode::OutcomeUnknown, message: message.into(), outcome, recovery: None }
    }

    /// An effect that the provider itself said did nothing.
    #[must_use]
    pub fn refused_by_provider(message: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            code: ErrorCode::NotActionable,
            message: message.into(),
            outcome: Outcome::completed(verdict),
            recovery: None,
        }
    }

    /// The same error with advice.
    #[must_use]
    pub fn recover(mut self, recovery: Recovery) -> Self {
        self.recovery = Some(recovery);
        self
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for CallError {}

/// Whether a call is an effect or a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsEffect {
    /// It changes something.
    Yes,
    /// It only reads.
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_spelling() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::named(code.name()), Some(*code));
        }
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }

    #[test]
    fn only_temporary_and_unavailable_ends_may_be_retried() {
        for code in ErrorCode::ALL {
            if code.retryable() {
                assert!(matches!(code.exit(), Exit::Temporary | Exit::Unavailable), "{code:?}");
            }
        }
        assert!(!ErrorCode::OutcomeUnknown.retryable());
    }
}
