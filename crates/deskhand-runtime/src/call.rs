//! In what order does an action happen? resolve ► admit ► bind ► dispatch ► verify ► record.
//!
//! [`act`] is that order, for every effect of every front door, and the only caller of
//! [`Provider::perform`]. Reads go to [`crate::observe`].

use std::cell::RefCell;

use deskhand_contract::action::{Action, ActionKind};
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Dispatch, EffectTarget, Fault, Provider};
use deskhand_contract::reply::{EffectDone, Reply};
use deskhand_contract::verdict::{ExecutionState, Outcome};
use deskhand_contract::wire::{Ending, RecoveryTrace};

use crate::admit::{self, Admission, Permit, Refusal};
use crate::audit::{Entry, Happening};
use crate::bind::{self, Binding};
use crate::clock::rfc3339;
use crate::grant::Grant;
use crate::live::Place;
use crate::observe;
use crate::runner::{Answer, Runner};
use crate::session::Session;
use crate::verify;

/// Longest time that one question may take that an effect asks before it acts.
const READ: std::time::Duration = std::time::Duration::from_secs(2);

/// One call under way.
pub(crate) struct Call<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) session: &'a Session,
    pub(crate) kind: ActionKind,
    pub(crate) limit: Limit,
    place: Place<'a>,
    trace: RefCell<Option<RecoveryTrace>>,
}

/// Runs one call to its end.
pub(crate) fn run(runner: &Runner, session: &Session, action: &Action, limit: &Limit) -> Answer {
    let (kind, place) = (action.kind(), runner.live.begin(&limit.cancel));
    let limit = observe::deadline(kind).map_or_else(|| limit.clone(), |most| limit.tightened(most));
    let call = Call { runner, session, kind, limit, place, trace: RefCell::new(None) };
    let end = if action.kind().is_effect() {
        act(&call, action).map(|(done, outcome)| (Ending::done(outcome, Reply::Effect(done)), None))
    } else {
        observe::read(&call, action)
            .map(|(reply, image)| (Ending::done(Outcome::read(ExecutionState::Completed), reply), image))
    };
    let (mut ending, image) = end.unwrap_or_else(|error| {
        call.record_refusal(action, &error);
        (Ending::from(error), None)
    });
    ending.recovery_trace = call.trace.take();
    Answer { ending, image }
}

/// One effect.
fn act(call: &Call<'_>, action: &Action) -> Result<(EffectDone, Outcome), CallError> {
    admit::session(call, action)?;
    let target = bind::resolve(call, action)?;
    // Before its turn, so that an application that hangs already holds nobody up.
    let measured = bind::measure(call, &target)?;
    // One effect at a time on this desktop, from here to the end of its verification.
    let _turn = call.runner.turns.take(&call.limit).ok_or_else(|| call.ended_early())?;
    let permit = match admit::effect(call, action, &measured)? {
        Admission::Allow(permit) => permit,
        Admission::Refuse(refusal) => return Err(call.refuse(refusal)),
    };
    let before = verify::before(call, &target);
    let (binding, subject) = bind::bind(call, action, target)?;
    if call.limit.is_over() {
        return Err(call.ended_early());
    }
    let about = call.entry(Happening::Intent).about(action).with_grant(permit.grant()).with_role(subject.role());
    let intent = call.record(about.clone())?;
    let before = before.until_now(call);
    let dispatched = dispatch(call, permit, binding);
    let end = verify::after(call, action, before, subject, dispatched);
    let (outcome, code) = match &end {
        Ok((_, outcome)) => (outcome, None),
        Err(error) => (&error.outcome, Some(error.code)),
    };
    let row = Entry { intent: Some(intent), error: code, ..about.at(call.now(), Happening::Outcome) };
    // The effect happened: that its end could not be written changes nothing of what is proven. The chain lacks
    // the outcome row, which shows.
    let _ = call.record(row.with_outcome(outcome));
    end
}

/// Crosses the effect boundary, once.
fn dispatch(call: &Call<'_>, permit: Permit, binding: Binding) -> Dispatch {
    let limit = call.limit.tightened(call.runner.world.policy.act_for);
    let (window, element, effect) = binding.spend();
    call.runner.seam.effect(&limit, move |provider, limit| {
        let _spent = permit;
        provider.perform(&EffectTarget { window: &window, element: element.as_ref() }, &effect, limit)
    })
}

impl Call<'_> {
    /// A read within the call's limit, and within two seconds where an effect asks it: what it holds up others for is
    /// bounded, whatever its caller would wait. A read action repeats one that failed on the way (a bus that was lost),
    /// once in all, and says so; what an effect needs to know is not repeated.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        question: impl Fn(&dyn Provider, &Limit) -> Result<T, Fault> + Send + Clone + 'static,
    ) -> Result<T, Fault> {
        let limit = if self.kind.is_effect() { self.limit.tightened(READ) } else { self.limit.clone() };
        self.read_within(&limit, question)
    }

    /// The same within a tighter limit.
    pub(crate) fn read_within<T: Send + 'static>(
        &self,
        limit: &Limit,
        question: impl Fn(&dyn Provider, &Limit) -> Result<T, Fault> + Send + Clone + 'static,
    ) -> Result<T, Fault> {
        let first = self.runner.seam.read(limit, question.clone());
        let transient = matches!(first, Err(Fault::Backend(_)));
        if !transient || self.kind.is_effect() || limit.is_over() || self.trace.borrow().is_some() {
            return first;
        }
        let second = self.runner.seam.read(limit, question);
        *self.trace.borrow_mut() = Some(RecoveryTrace {
            provider: self.runner.seam.provider().profile().provider.to_owned(),
            attempts: 2,
            triggers: vec!["unreachable".to_owned()],
            recovered: second.is_ok(),
        });
        second
    }

    /// Whether Stop, and not the caller, ended it.
    pub(crate) fn was_stopped(&self) -> bool {
        self.place.was_stopped()
    }

    /// A refusal as an error.
    pub(crate) fn refuse(&self, refusal: Refusal) -> CallError {
        self.reject(refusal.code, refusal.message)
    }

    /// An audit row about this call.
    pub(crate) fn entry(&self, happening: Happening) -> Entry {
        Entry::new(self.now(), happening, self.runner.world.client.clone(), self.session.number(), self.kind)
    }

    /// Writes an audit row.
    ///
    /// # Errors
    /// `internal`, where it cannot be written: then nothing may follow from it.
    pub(crate) fn record(&self, entry: Entry) -> Result<u64, CallError> {
        self.runner.chain.write(entry).map_err(|error| {
            let message = format!(
                "The audit row could not be written ({}), so nothing was done. Mend the audit file's disk or \
                 permissions, then try again.",
                error.kind()
            );
            self.reject(ErrorCode::Internal, message)
        })
    }

    fn now(&self) -> String {
        rfc3339(self.runner.world.clock.wall())
    }

    /// Every refusal, and every effect that ended before its intent was written.
    fn record_refusal(&self, action: &Action, error: &CallError) {
        let before_dispatch = error.outcome.execution_state() == ExecutionState::NotStarted;
        let refused = error.code.name().starts_with("COMPUTER_");
        if before_dispatch && (refused || self.kind.is_effect()) {
            let entry = self.entry(Happening::Refusal).about(action).with_outcome(&error.outcome);
            // Nothing happened, and nothing will.
            let _ = self.runner.chain.write(Entry { error: Some(error.code), ..entry });
        }
    }
}

impl Entry {
    /// The same about what `action` names.
    pub(crate) fn about(self, action: &Action) -> Self {
        let text_bytes = match action {
            Action::InputText { text, .. } | Action::WriteClipboard { text } => Some(text.len() as u64),
            _ => None,
        };
        let display = match action {
            Action::SnapshotDisplay { display, .. }
            | Action::PointerMove { display, .. }
            | Action::PointerClick { display, .. } => Some(display.clone()),
            _ => None,
        };
        Self { surface: action.surface().cloned(), element: action.element().cloned(), display, text_bytes, ..self }
    }

    pub(crate) fn with_grant(self, grant: &Grant) -> Self {
        Self { grant: Some(grant.id.clone()), ..self }
    }

    fn with_role(self, role: Option<deskhand_contract::role::Role>) -> Self {
        Self { role, ..self }
    }

    fn at(self, time: String, happening: Happening) -> Self {
        Self { time, happening, ..self }
    }

    fn with_outcome(self, outcome: &Outcome) -> Self {
        Self {
            execution_state: Some(outcome.execution_state()),
            status: Some(outcome.verdict().status()),
            evidence: Some(outcome.verdict().evidence()),
            ..self
        }
    }
}
