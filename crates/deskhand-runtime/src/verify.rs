//! What makes a result `confirmed`? After each effect, the look for its postcondition.
//!
//! | effect | postcondition |
//! | --- | --- |
//! | activate_window | the window is in front |
//! | press of a checkbox, switch, toggle | its state flipped |
//! | press of a radio button | it is checked; of a tab or option: it is selected |
//! | press of what expands | it is expanded where it was collapsed, and the other way |
//! | press after which the window is gone | the window is gone |
//! | press of anything else | none: `unverifiable`, with what changed |
//! | focus | it has the focus |
//! | select | it is selected |
//! | set_value | the value equals, within the widget's step; the state is as asked |
//! | input_text | the text reads back exactly |
//! | scroll | what is inside moved |
//! | scroll_to_element | it is in view |
//!
//! The first look comes at once; further ones when the provider saw a change, until [`crate::Policy::look_for`] is
//! over. A postcondition that is defined and was not seen makes the outcome unknown, never a success. So does an
//! application that hangs or dies, unless the postcondition was seen.

use std::collections::HashSet;
use std::time::Duration;

use deskhand_contract::action::Action;
use deskhand_contract::element::{ElementFacts, State};
use deskhand_contract::error::CallError;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{ChangeMark, Dispatch, Fault, NativeKey, NativeValue, WindowFacts};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::reply::{Delta, EffectDone};
use deskhand_contract::role::Role;
use deskhand_contract::verdict::{Outcome, Proof, Verdict, Verification};

use crate::actionable::check_state;
use crate::bind::{self, Measured, Subject, Target, Wish};
use crate::call::Call;
use crate::fault::reconcile;
use crate::observe::{tree, windows};
use crate::trees;

/// Lines of the change that an effect made.
const MAX_LINES: usize = 40;
/// Windows that appeared and are told.
const MAX_NEW_WINDOWS: usize = 8;
/// How long a tree may take that is only read to tell what changed.
const TELL: Duration = Duration::from_millis(700);
/// How long an effect without a postcondition may take to show a first change.
const FIRST_CHANGE: Duration = Duration::from_millis(300);
/// How long nothing more happens until a change counts as whole, and how long that is waited for at most.
const QUIET: (Duration, Duration) = (Duration::from_millis(12), Duration::from_millis(120));
/// A look without an event: for applications that announce nothing.
const UNANNOUNCED: Duration = Duration::from_millis(120);

/// What there was before the effect.
pub(crate) struct Before {
    mark: ChangeMark,
    baseline: Option<tree::Baseline>,
    inside: Option<Inside>,
}

impl Before {
    /// The same, as of right before dispatch: what happened until now is none of the effect's.
    pub(crate) fn until_now(self, call: &Call<'_>) -> Self {
        Self { mark: call.runner.seam.provider().change_mark(), ..self }
    }
}

/// Looks at the window before an effect, so that its change can be told. A window that does not answer has no change
/// to tell.
pub(crate) fn before(call: &Call<'_>, target: &Target) -> Before {
    let mark = call.runner.seam.provider().change_mark();
    let limit = call.limit.tightened(TELL);
    let baseline = tree::baseline(call, target, &limit);
    let inside =
        (call.kind == deskhand_contract::action::ActionKind::Scroll).then(|| inside(call, target, &limit)).flatten();
    Before { mark, baseline, inside }
}

/// What a scroll moves.
type Inside = Vec<(NativeKey, Option<deskhand_contract::geometry::WindowRect>, bool)>;

/// What must be seen.
#[derive(Debug, Clone)]
enum Postcondition {
    Foreground,
    Focused,
    Selected,
    InView,
    Checked(bool),
    Flipped(Option<bool>),
    Expanded(bool),
    Number(f64),
    Text(Redacted),
    Moved(Inside),
}

/// What one look saw.
enum Look {
    Seen,
    NotYet(&'static str),
    /// Words of its own.
    NotYetIn(String),
    /// Nothing could be read; the words say why.
    Unread(&'static str),
    WindowGone,
}

impl Look {
    /// What was seen instead, in words.
    fn observed(self) -> String {
        match self {
            Self::Seen => "it was seen".to_owned(),
            Self::NotYet(observed) | Self::Unread(observed) => observed.to_owned(),
            Self::NotYetIn(observed) => observed,
            Self::WindowGone => "the window is gone".to_owned(),
        }
    }
}

/// Looks for the effect and says what is proven of it.
pub(crate) fn after(
    call: &Call<'_>,
    action: &Action,
    before: Before,
    subject: Subject,
    dispatched: Dispatch,
) -> Result<(EffectDone, Outcome), CallError> {
    let wanted = postcondition(&subject, &before);
    match dispatched {
        Dispatch::NotStarted(fault) => Err(not_started(call, &subject, fault)),
        Dispatch::Noop(why) => noop(call, &before, &subject, wanted.as_ref(), action, &why),
        Dispatch::Sent => {
            let (outcome, gone) = sent(call, &before, &subject, wanted.as_ref());
            closed(call, action, &before, &subject, outcome, gone)
        }
        Dispatch::Unknown(why) => unknown(call, action, &before, &subject, wanted.as_ref(), &why),
    }
}

/// Nothing reached the application.
fn not_started(call: &Call<'_>, subject: &Subject, fault: Fault) -> CallError {
    match &subject.target.element {
        Some(_) => call.element_fault(fault, &subject.target.surface, subject.target.known()),
        None => match fault {
            Fault::Unsupported(why) => call.fault(Fault::Unsupported(why)),
            fault => call.window_fault(fault),
        },
    }
}

/// The application answered that it did nothing. Where what was wished for holds all the same (it held before), that
/// is seen and said; else it is what the application says.
fn noop(
    call: &Call<'_>,
    before: &Before,
    subject: &Subject,
    wanted: Option<&Postcondition>,
    action: &Action,
    why: &str,
) -> Result<(EffectDone, Outcome), CallError> {
    let is_state = !matches!(
        wanted,
        None | Some(Postcondition::Flipped(_) | Postcondition::Expanded(_) | Postcondition::Moved(_))
    );
    if let Some(wanted) = wanted.filter(|_| is_state)
        && matches!(look(call, subject, wanted, &call.limit), Look::Seen)
    {
        let proof = Proof::Postcondition(Verification { postcondition: wanted.words(), seen: true, observed: None });
        return closed(call, action, before, subject, Outcome::completed(Verdict::confirmed(proof)), false);
    }
    let message = format!("The application did nothing: {why}. Look at the window, then choose another way.");
    Err(CallError::refused_by_provider(message, Verdict::noop_signal(why)))
}

/// The native call returned.
fn sent(call: &Call<'_>, before: &Before, subject: &Subject, wanted: Option<&Postcondition>) -> (Outcome, bool) {
    let limit = call.limit.tightened(call.runner.world.policy.look_for);
    let Some(wanted) = wanted else {
        settle(call, before.mark, subject, &limit);
        let gone = is_gone(call, subject, &limit);
        let outcome = if gone { window_gone() } else { Outcome::completed(Verdict::unverifiable(NO_POSTCONDITION)) };
        return (outcome, gone);
    };
    match look_until(call, subject, wanted, &limit) {
        Look::Seen => {
            let seen = Verification { postcondition: wanted.words(), seen: true, observed: None };
            (Outcome::completed(Verdict::confirmed(Proof::Postcondition(seen))), false)
        }
        Look::WindowGone if matches!(subject.wish, Wish::Press | Wish::Select) => (window_gone(), true),
        Look::WindowGone => (unseen(wanted, "the window is gone"), true),
        look => (unseen(wanted, &look.observed()), false),
    }
}

/// It may have reached the application. Only what is seen counts.
fn unknown(
    call: &Call<'_>,
    action: &Action,
    before: &Before,
    subject: &Subject,
    wanted: Option<&Postcondition>,
    why: &str,
) -> Result<(EffectDone, Outcome), CallError> {
    let limit = call.limit.tightened(call.runner.world.policy.look_for);
    let mut verification = None;
    if let Some(wanted) = wanted
        && !call.limit.cancel.is_cancelled()
    {
        let observed = match look_until(call, subject, wanted, &limit) {
            Look::Seen => {
                let seen = Verification { postcondition: wanted.words(), seen: true, observed: None };
                let outcome = Outcome::completed(Verdict::confirmed(Proof::Postcondition(seen)));
                return closed(call, action, before, subject, outcome, false);
            }
            look => look.observed(),
        };
        verification = Some(Verification { postcondition: wanted.words(), seen: false, observed: Some(observed) });
    }
    Err(lost(call, subject, why, Outcome::unknown(why, verification)))
}

/// Closes an effect that was dispatched: a success with what changed, or an unknown end.
fn closed(
    call: &Call<'_>,
    action: &Action,
    before: &Before,
    subject: &Subject,
    outcome: Outcome,
    gone: bool,
) -> Result<(EffectDone, Outcome), CallError> {
    if outcome.execution_state() == deskhand_contract::verdict::ExecutionState::OutcomeUnknown {
        let observed = outcome.verdict().verification().and_then(|seen| seen.observed.clone());
        let why = format!("{}; {}", NOT_SEEN, observed.unwrap_or_else(|| "nothing was seen".to_owned()));
        return Err(lost(call, subject, &why, outcome));
    }
    let (surface_gone, new_windows) = windows_after(call, subject, gone);
    let changes = if surface_gone { None } else { changes(call, before, &subject.target) };
    let text_bytes = if let Action::InputText { text, .. } = action { Some(text.len() as u64) } else { None };
    let done = EffectDone {
        surface_id: Some(subject.target.surface.clone()),
        element_id: subject.target.element.as_ref().map(|(id, _)| id.clone()),
        text_bytes,
        changes,
        new_windows,
        surface_gone,
    };
    Ok((done, outcome))
}

fn lost(call: &Call<'_>, subject: &Subject, why: &str, outcome: Outcome) -> CallError {
    let gone = call.session.held().surfaces.is_gone(&subject.target.surface);
    let surface = (!gone).then_some(&subject.target.surface);
    let element = subject.target.element.as_ref().map(|(id, _)| id);
    let stopped = if call.was_stopped() { " Stop ended the look for it." } else { "" };
    let message =
        format!("The effect was dispatched and its end is not proven: {why}.{stopped} Do not repeat it; look first.");
    CallError::unknown(message, outcome).recover(reconcile(surface, element))
}

fn unseen(wanted: &Postcondition, observed: &str) -> Outcome {
    let verification = Verification { postcondition: wanted.words(), seen: false, observed: Some(observed.to_owned()) };
    Outcome::unknown(NOT_SEEN, Some(verification))
}

fn window_gone() -> Outcome {
    let seen = Verification { postcondition: "window gone".to_owned(), seen: true, observed: None };
    Outcome::completed(Verdict::confirmed(Proof::Postcondition(seen)))
}

/// What the effect is to be known by, or nothing where the action defines nothing.
fn postcondition(subject: &Subject, before: &Before) -> Option<Postcondition> {
    match &subject.wish {
        Wish::Activate => Some(Postcondition::Foreground),
        Wish::Focus => Some(Postcondition::Focused),
        Wish::Select => Some(Postcondition::Selected),
        Wish::InView => Some(Postcondition::InView),
        Wish::Checked(checked) => Some(Postcondition::Checked(*checked)),
        Wish::Number(number) => Some(Postcondition::Number(*number)),
        Wish::Text(_, text) => Some(Postcondition::Text(text.clone())),
        Wish::Scroll(..) => before.inside.clone().map(Postcondition::Moved),
        Wish::Press => of_press(subject.measured.facts()?),
        Wish::ContextMenu => None,
    }
}

fn of_press(facts: &ElementFacts) -> Option<Postcondition> {
    match facts.role {
        Role::Radio | Role::MenuItemRadio => return Some(Postcondition::Checked(true)),
        Role::Tab | Role::Option => return Some(Postcondition::Selected),
        _ => {}
    }
    if facts.states.has(State::Expanded) {
        return Some(Postcondition::Expanded(false));
    }
    if facts.states.has(State::Collapsed) {
        return Some(Postcondition::Expanded(true));
    }
    check_state(facts).map(Postcondition::Flipped)
}

/// Looks at once, and again at every change, until it is seen or the limit is over.
fn look_until(call: &Call<'_>, subject: &Subject, wanted: &Postcondition, limit: &Limit) -> Look {
    let mut last = None;
    loop {
        // The mark comes first: what changes while it looks brings the next look.
        let mark = call.runner.seam.provider().change_mark();
        let look = look(call, subject, wanted, limit);
        if matches!(look, Look::Seen | Look::WindowGone) {
            return look;
        }
        // A last look that the end of the time cut off says less than the one before it.
        let cut_off = limit.is_over() && matches!(look, Look::Unread(_));
        match last {
            Some(before) if cut_off => return before,
            _ if limit.is_over() => return look,
            _ => last = Some(look),
        }
        await_change(call, mark, Some(&subject.target.window), &limit.tightened(UNANNOUNCED));
    }
}

fn look(call: &Call<'_>, subject: &Subject, wanted: &Postcondition, limit: &Limit) -> Look {
    let window = subject.target.window.clone();
    if let Postcondition::Foreground = wanted {
        return match call.read_within(limit, move |provider, limit| provider.window(&window, limit)) {
            Ok(facts) if facts.foreground => Look::Seen,
            Ok(_) => Look::NotYet("another window is in front"),
            Err(Fault::Gone) => Look::WindowGone,
            Err(fault) => Look::Unread(unanswered(&fault)),
        };
    }
    if let Postcondition::Moved(then) = wanted {
        return match inside(call, &subject.target, limit) {
            Some(now) if now != *then => Look::Seen,
            Some(_) => Look::NotYet("nothing inside moved"),
            None => Look::NotYet("what is inside could not be read"),
        };
    }
    let Some(element) = subject.target.element_key().cloned() else { return Look::NotYet("there is no element") };
    let resolved = call.read_within(limit, move |provider, limit| provider.resolve(&window, &element, limit));
    let facts = match resolved {
        Ok(resolved) => resolved.facts,
        Err(Fault::Gone) if is_gone(call, subject, limit) => return Look::WindowGone,
        Err(Fault::Gone) => return Look::NotYet("the element is gone"),
        Err(fault) => return Look::Unread(unanswered(&fault)),
    };
    match wanted {
        Postcondition::Number(_) | Postcondition::Text(_) if facts.protected => Look::NotYet("it is protected now"),
        Postcondition::Number(number) => look_at_number(call, &subject.target, *number),
        Postcondition::Text(text) => look_at_text(call, &subject.target, text),
        state => look_at_state(&facts, state),
    }
}

fn look_at_state(facts: &ElementFacts, wanted: &Postcondition) -> Look {
    let (seen, else_observed) = match wanted {
        Postcondition::Focused => (facts.states.has(State::Focused), "it does not have the focus"),
        Postcondition::Selected => {
            (facts.states.has(State::Selected) || facts.states.has(State::Checked), "it is not selected")
        }
        Postcondition::InView => {
            (!facts.states.has(State::Offscreen) && !facts.states.has(State::Hidden), "it is out of view")
        }
        Postcondition::Checked(checked) => {
            (check_state(facts) == Some(Some(*checked)), if *checked { "it is not on" } else { "it is not off" })
        }
        Postcondition::Flipped(then) => (check_state(facts).is_some_and(|now| now != *then), "its state is as before"),
        Postcondition::Expanded(true) => (facts.states.has(State::Expanded), "it is not expanded"),
        Postcondition::Expanded(false) => (!facts.states.has(State::Expanded), "it is still expanded"),
        Postcondition::Foreground | Postcondition::Number(_) | Postcondition::Text(_) | Postcondition::Moved(_) => {
            (false, "it was not looked at")
        }
    };
    if seen { Look::Seen } else { Look::NotYet(else_observed) }
}

fn look_at_number(call: &Call<'_>, target: &Target, wanted: f64) -> Look {
    match bind::value(call, target) {
        Ok(NativeValue::Number { current, minimum, maximum }) => {
            if equals(current, wanted, maximum - minimum) {
                Look::Seen
            } else {
                Look::NotYet("it holds another number")
            }
        }
        Ok(NativeValue::Text(_)) => Look::NotYet("it holds no number"),
        Err(fault) => Look::Unread(unanswered(&fault)),
    }
}

/// Whether a number reads back. A widget that counts in whole steps rounds to the nearest one.
fn equals(current: f64, wanted: f64, range: f64) -> bool {
    let noise = if range.is_finite() { (range.abs() * 1e-9).max(1e-9) } else { 1e-9 };
    let rounded = current.fract() == 0.0 && wanted.fract() != 0.0 && (current - wanted).abs() <= 0.5;
    (current - wanted).abs() <= noise || rounded
}

fn look_at_text(call: &Call<'_>, target: &Target, wanted: &Redacted) -> Look {
    match bind::value(call, target) {
        Ok(NativeValue::Text(text)) if text == *wanted => Look::Seen,
        Ok(NativeValue::Text(text)) if text.is_empty() => Look::NotYet("the field is empty"),
        Ok(NativeValue::Text(text)) if wanted.expose().starts_with(text.expose()) => {
            Look::NotYetIn(format!("the field holds the first {} of {} bytes", text.len(), wanted.len()))
        }
        Ok(NativeValue::Text(_)) => Look::NotYet("the field holds other text"),
        // A field of numbers shows the number that the text says.
        Ok(NativeValue::Number { current, .. }) => match wanted.expose().trim().parse::<f64>() {
            Ok(number) if equals(current, number, 0.0) => Look::Seen,
            _ => Look::NotYet("the field holds another number"),
        },
        Err(fault) => Look::Unread(unanswered(&fault)),
    }
}

impl Postcondition {
    fn words(&self) -> String {
        match self {
            Self::Foreground => "window in front",
            Self::Focused => "focused",
            Self::Selected => "selected",
            Self::InView => "in view",
            Self::Checked(true) => "checked",
            Self::Checked(false) => "unchecked",
            Self::Flipped(_) => "checked flipped",
            Self::Expanded(true) => "expanded",
            Self::Expanded(false) => "collapsed",
            Self::Number(_) => "value equals",
            Self::Text(_) => "text reads back",
            Self::Moved(_) => "position moved",
        }
        .to_owned()
    }
}

fn unanswered(fault: &Fault) -> &'static str {
    match fault {
        Fault::Gone => "it is gone",
        Fault::Unresponsive => "the application does not answer",
        Fault::Cancelled => "the look was cancelled",
        Fault::TooLarge => "it holds more than can be read",
        Fault::Backend(_) => "the desktop cannot be reached",
        Fault::Unsupported(_) | Fault::NotCapturable(_) | Fault::PermissionMissing(_) => "it cannot be read",
    }
}

fn is_gone(call: &Call<'_>, subject: &Subject, limit: &Limit) -> bool {
    let window = subject.target.window.clone();
    let gone =
        matches!(call.read_within(limit, move |provider, limit| provider.window(&window, limit)), Err(Fault::Gone));
    if gone {
        call.session.held().end_surface(&subject.target.surface);
    }
    gone
}

/// Waits until an effect without a postcondition shows a change and that change is whole.
fn settle(call: &Call<'_>, since: ChangeMark, subject: &Subject, limit: &Limit) {
    let window = Some(&subject.target.window);
    let mut mark = since;
    let changed = await_change(call, mark, window, &limit.tightened(FIRST_CHANGE));
    if changed <= mark {
        return;
    }
    mark = changed;
    let whole = limit.tightened(QUIET.1);
    while !whole.is_over() {
        let next = await_change(call, mark, window, &whole.tightened(QUIET.0));
        if next <= mark {
            return;
        }
        mark = next;
    }
}

fn await_change(call: &Call<'_>, since: ChangeMark, window: Option<&NativeKey>, limit: &Limit) -> ChangeMark {
    let window = window.cloned();
    call.runner
        .seam
        .wait(limit, move |provider, limit| provider.await_change(since, window.as_ref(), limit))
        .unwrap_or(since)
}

/// What lies inside a scrolled element, where it lies, and whether it is in view. `None` where that is not told.
fn inside(call: &Call<'_>, target: &Target, limit: &Limit) -> Option<Inside> {
    /// Nodes that are compared.
    const MOST: u32 = 200;
    let ask = trees::structured_ask(target.element_key(), MOST / 3);
    let tree = trees::read_within(call, &target.window, &ask, limit).ok()?;
    let inside: Inside = tree
        .nodes
        .iter()
        .skip(1)
        .map(|node| {
            (node.key.clone(), node.facts.bounds.map(|bounds| bounds.rect), node.facts.states.has(State::Offscreen))
        })
        .collect();
    let told = inside.iter().any(|(_, bounds, _)| bounds.is_some());
    told.then_some(inside)
}

/// Whether the window is gone, and which ones appeared.
fn windows_after(call: &Call<'_>, subject: &Subject, gone: bool) -> (bool, Vec<deskhand_contract::reply::Window>) {
    let limit = call.limit.tightened(TELL);
    let Ok(now) = call.read_within(&limit, |provider, limit| provider.windows(limit)) else {
        return (gone, Vec::new());
    };
    let Measured { windows: then, .. } = &subject.measured;
    let known: HashSet<&NativeKey> = then.iter().map(|facts| &facts.key).collect();
    let gone = gone || !now.iter().any(|facts| facts.key == subject.target.window);
    let new: Vec<&WindowFacts> = now.iter().filter(|facts| !known.contains(&facts.key)).take(MAX_NEW_WINDOWS).collect();
    let new = windows::shown(call, &new);
    if gone {
        call.session.held().end_surface(&subject.target.surface);
    }
    (gone, new)
}

/// What changed in the window since before the effect.
fn changes(call: &Call<'_>, before: &Before, target: &Target) -> Option<Delta> {
    let baseline = before.baseline.as_ref()?;
    let limit = call.limit.tightened(TELL);
    tree::changes(call, target, baseline, MAX_LINES, &limit)
}

/// Kept small: an unchanged window costs nothing to tell.
const NO_POSTCONDITION: &str = "dispatched; this action defines no postcondition";
const NOT_SEEN: &str = "the postcondition was not seen in time";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_reads_back_within_the_widget_s_step() {
        assert!(equals(37.0, 37.0, 100.0));
        assert!(equals(37.0, 37.4, 100.0), "whole steps round");
        assert!(!equals(38.0, 37.4, 100.0));
        assert!(!equals(36.0, 37.0, 100.0), "a whole number that was asked for is not rounded");
        assert!(equals(0.3, 0.1 + 0.2, 1.0));
        assert!(!equals(f64::NAN, 1.0, 1.0));
        assert!(equals(5.0, 5.0, f64::INFINITY));
    }
}
