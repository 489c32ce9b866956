//! What is proven about a call: how far it got, and what it did to the world.
//!
//! The status and evidence table of the contract is the set of constructors here. A pair outside it
//! cannot be written, and one that arrives from outside is settled conservatively.

use serde::{Deserialize, Serialize};

/// How far the dispatch got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionState {
    /// Proven: nothing reached the operating system or the provider.
    NotStarted,
    /// The native call returned.
    Completed,
    /// An effect may have been dispatched and its end is not proven.
    OutcomeUnknown,
}

/// What is proven about the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A read: there is no effect to judge.
    NotApplicable,
    /// The effect was seen.
    Confirmed,
    /// Something was dispatched, and what it did is not proven.
    Unverifiable,
    /// Nothing seems to have happened.
    SuspectedNoop,
}

/// What carries a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The action is declared to be a read.
    DeclaredRead,
    /// A response that is authoritative for the state.
    AuthoritativeResponse,
    /// A fresh observation of the postcondition.
    PostconditionObservation,
    /// A receipt of dispatch, and no more.
    DispatchReceipt,
    /// It was rejected before dispatch.
    PreDispatchRejection,
    /// The provider signalled that nothing was done.
    ProviderNoopSignal,
    /// The provider refused.
    ProviderRefusal,
    /// An authoritative version check found the state unchanged.
    StateUnchanged,
}

/// What was looked for after an effect, and what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// The postcondition, in words: `focused`, `value equals`, `checked flipped`.
    pub postcondition: String,
    /// Whether it was seen.
    pub seen: bool,
    /// What was seen instead, in words that hold no value and no text of a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
}

/// The effect verdict of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    status: Status,
    evidence: Evidence,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<Verification>,
}

/// Evidence that may carry `confirmed`. There are two, and a receipt is neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The response was authoritative; the text says why.
    AuthoritativeResponse(String),
    /// The postcondition was seen.
    Postcondition(Verification),
}

impl Verdict {
    /// A read.
    #[must_use]
    pub fn read() -> Self {
        Self::of(Status::NotApplicable, Evidence::DeclaredRead, "declared read")
    }

    /// An effect that was seen. `proof` whose postcondition was not seen settles as unverifiable.
    #[must_use]
    pub fn confirmed(proof: Proof) -> Self {
        match proof {
            Proof::AuthoritativeResponse(reason) => {
                Self::of(Status::Confirmed, Evidence::AuthoritativeResponse, reason)
            }
            Proof::Postcondition(verification) if verification.seen => Self {
                status: Status::Confirmed,
                evidence: Evidence::PostconditionObservation,
                reason: format!("seen afterwards: {}", verification.postcondition),
                verification: Some(verification),
            },
            Proof::Postcondition(verification) => {
                Self::unverifiable("the postcondition was not seen").having(verification)
            }
        }
    }

    /// An effect that was dispatched and not proven.
    #[must_use]
    pub fn unverifiable(reason: impl Into<String>) -> Self {
        Self::of(Status::Unverifiable, Evidence::DispatchReceipt, reason)
    }

    /// An effect that was rejected before dispatch.
    #[must_use]
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self::of(Status::SuspectedNoop, Evidence::PreDispatchRejection, reason)
    }

    /// An effect that the provider says did nothing.
    #[must_use]
    pub fn noop_signal(reason: impl Into<String>) -> Self {
        Self::of(Status::SuspectedNoop, Evidence::ProviderNoopSignal, reason)
    }

    /// An effect that the provider refused.
    #[must_use]
    pub fn provider_refusal(reason: impl Into<String>) -> Self {
        Self::of(Status::SuspectedNoop, Evidence::ProviderRefusal, reason)
    }

    /// An effect after which an authoritative version check found the same state.
    #[must_use]
    pub fn state_unchanged(reason: impl Into<String>) -> Self {
        Self::of(Status::SuspectedNoop, Evidence::StateUnchanged, reason)
    }

    /// A claim from outside. One that the table does not hold is discarded and becomes unverifiable.
    #[must_use]
    pub fn settled(status: Status, evidence: Evidence, reason: String, verification: Option<Verification>) -> Self {
        if allowed(status, evidence) {
            Self { status, evidence, reason, verification }
        } else {
            Self::unverifiable("the provider's claim was outside the evidence table and was discarded")
        }
    }

    /// The same verdict with what was looked for. It never changes the status.
    #[must_use]
    pub fn having(mut self, verification: Verification) -> Self {
        self.verification = Some(verification);
        self
    }

    /// What is proven.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// What carries it.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// Why, in words.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What was looked for after the effect.
    #[must_use]
    pub fn verification(&self) -> Option<&Verification> {
        self.verification.as_ref()
    }

    fn of(status: Status, evidence: Evidence, reason: impl Into<String>) -> Self {
        Self { status, evidence, reason: reason.into(), verification: None }
    }
}

impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Claim {
            status: Status,
            evidence: Evidence,
            reason: String,
            #[serde(default)]
            verification: Option<Verification>,
        }
        let claim = Claim::deserialize(deserializer)?;
        Ok(Self::settled(claim.status, claim.evidence, claim.reason, claim.verification))
    }
}

/// The closed table of which evidence may carry which status.
#[must_use]
pub const fn allowed(status: Status, evidence: Evidence) -> bool {
    match status {
        Status::NotApplicable => matches!(evidence, Evidence::DeclaredRead),
        Status::Confirmed => {
            matches!(evidence, Evidence::AuthoritativeResponse | Evidence::PostconditionObservation)
        }
        Status::Unverifiable => matches!(evidence, Evidence::DispatchReceipt),
        Status::SuspectedNoop => matches!(
            evidence,
            Evidence::PreDispatchRejection
                | Evidence::ProviderNoopSignal
                | Evidence::ProviderRefusal
                | Evidence::StateUnchanged
        ),
    }
}

/// The two facts that close every call, in the only combinations that the contract knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    execution_state: ExecutionState,
    effect_verdict: Verdict,
}

impl Outcome {
    /// A read that answered, or failed.
    #[must_use]
    pub fn read(state: ExecutionState) -> Self {
        // A failed read is an error with `not_applicable`, never `outcome_unknown`.
        let state = if state == ExecutionState::NotStarted { state } else { ExecutionState::Completed };
        Self { execution_state: state, effect_verdict: Verdict::read() }
    }

    /// An effect of which nothing reached the operating system.
    #[must_use]
    pub fn not_started(reason: impl Into<String>) -> Self {
        Self { execution_state: ExecutionState::NotStarted, effect_verdict: Verdict::rejected(reason) }
    }

    /// An effect whose native call returned. A pre-dispatch rejection cannot be completed and becomes `not_started`.
    #[must_use]
    pub fn completed(verdict: Verdict) -> Self {
        let execution_state = if verdict.evidence == Evidence::PreDispatchRejection {
            ExecutionState::NotStarted
        } else {
            ExecutionState::Completed
        };
        Self { execution_state, effect_verdict: verdict }
    }

    /// An effect that may have been dispatched and whose end is not proven.
    #[must_use]
    pub fn unknown(reason: impl Into<String>, verification: Option<Verification>) -> Self {
        let mut verdict = Verdict::unverifiable(reason);
        verdict.verification = verification;
        Self { execution_state: ExecutionState::OutcomeUnknown, effect_verdict: verdict }
    }

    /// How far the dispatch got.
    #[must_use]
    pub fn execution_state(&self) -> ExecutionState {
        self.execution_state
    }

    /// What is proven about the world.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.effect_verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUSES: [Status; 4] =
        [Status::NotApplicable, Status::Confirmed, Status::Unverifiable, Status::SuspectedNoop];
    const EVIDENCE: [Evidence; 8] = [
        Evidence::DeclaredRead,
        Evidence::AuthoritativeResponse,
        Evidence::PostconditionObservation,
        Evidence::DispatchReceipt,
        Evidence::PreDispatchRejection,
        Evidence::ProviderNoopSignal,
        Evidence::ProviderRefusal,
        Evidence::StateUnchanged,
    ];

    #[test]
    fn exactly_eight_pairs_are_allowed_and_every_other_claim_is_discarded() {
        let mut allowed_pairs = 0;
        for status in STATUSES {
            for evidence in EVIDENCE {
                let settled = Verdict::settled(status, evidence, "said so".into(), None);
                if allowed(status, evidence) {
                    allowed_pairs += 1;
                    assert_eq!((settled.status, settled.evidence), (status, evidence));
                } else {
                    assert_eq!((settled.status, settled.evidence), (Status::Unverifiable, Evidence::DispatchReceipt));
                }
            }
        }
        assert_eq!(allowed_pairs, 8);
    }

    #[test]
    fn a_forged_verdict_does_not_survive_the_wire() {
        let forged = r#"{"status":"confirmed","evidence":"dispatch_receipt","reason":"trust me"}"#;
        let read: Verdict = serde_json::from_str(forged).unwrap();
        assert_eq!(read.status(), Status::Unverifiable);
        assert!(
            serde_json::from_str::<Verdict>(
                r#"{"status":"confirmed","evidence":"authoritative_response","reason":"","also":1}"#
            )
            .is_err()
        );
    }

    #[test]
    fn an_unseen_postcondition_confirms_nothing() {
        let verification =
            Verification { postcondition: "focused".into(), seen: false, observed: Some("not focused".into()) };
        assert_eq!(Verdict::confirmed(Proof::Postcondition(verification)).status(), Status::Unverifiable);
    }

    #[test]
    fn a_rejection_is_never_completed_and_a_read_never_unknown() {
        assert_eq!(Outcome::completed(Verdict::rejected("no")).execution_state(), ExecutionState::NotStarted);
        assert_eq!(Outcome::read(ExecutionState::OutcomeUnknown).execution_state(), ExecutionState::Completed);
    }
}
