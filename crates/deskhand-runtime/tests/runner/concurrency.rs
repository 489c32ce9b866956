//! Calls beside each other: reads beside a stuck effect, effects one by one, Stop and cancel at once, whatever hangs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deskhand_contract::action::{Action, Condition};
use deskhand_contract::error::ErrorCode;
use deskhand_contract::limit::Limit;
use deskhand_contract::role::Role;
use deskhand_contract::verdict::ExecutionState;
use deskhand_runtime::audit::Happening;
use deskhand_testkit::{Element, Reaction, Step};

use crate::stage::{One, Stage, label, soon, tree};

/// Far below the time that what hangs would take, far above what a loaded machine needs.
const AT_ONCE: Duration = Duration::from_secs(4);

fn long() -> Limit {
    Limit::after(Duration::from_secs(60))
}

/// Waits for what another thread brings about.
#[track_caller]
fn eventually(what: &str, done: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn hung() -> (Stage, One) {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    stage.desktop.react(&one.key, Reaction::Hang);
    (stage, one)
}

#[test]
fn stop_ends_everything_at_once_and_says_so() {
    let (stage, one) = hung();
    let wait = Action::WaitFor { condition: Condition::Window { title: "never".to_owned() }, timeout_ms: 30_000 };
    let runner = Arc::clone(&stage.runner);
    let call = |action: &Action| stage.runner.call(&stage.session, action, &long());
    std::thread::scope(|scope| {
        let effect = scope.spawn(|| call(&one.press()));
        eventually("the effect is under way", || stage.desktop.acting() == 1);
        let queued = scope.spawn(|| call(&one.focus()));
        let wait = scope.spawn(|| call(&wait));
        eventually("three calls are under way", || runner.live_calls() == 3);
        let begun = Instant::now();
        assert_eq!(runner.stop(), 3);
        let (effect, queued, wait) = (effect.join().unwrap(), queued.join().unwrap(), wait.join().unwrap());
        assert!(begun.elapsed() < AT_ONCE);
        assert_eq!(effect.ending.error.unwrap().code, ErrorCode::OutcomeUnknown);
        let stopped = queued.ending.error.unwrap();
        assert_eq!(stopped.code, ErrorCode::ComputerStoppedByUser);
        assert_eq!(queued.ending.outcome.execution_state(), ExecutionState::NotStarted);
        assert_eq!(wait.ending.error.unwrap().code, ErrorCode::ComputerStoppedByUser);
        assert_eq!(runner.live_calls(), 0);
        eventually("Stop is in audit", || {
            stage.record.rows().iter().any(|row| row.entry.happening == Happening::Stop && row.entry.count == Some(3))
        });
    });
}

#[test]
fn a_cancel_ends_its_call_alone() {
    let (stage, one) = hung();
    std::thread::scope(|scope| {
        let limit = long();
        let effect = scope.spawn({
            let limit = limit.clone();
            let (stage, one) = (&stage, &one);
            move || stage.runner.call(&stage.session, &one.press(), &limit)
        });
        eventually("the effect is under way", || stage.desktop.acting() == 1);
        let queued = Limit::after(Duration::from_secs(60));
        let second = scope.spawn({
            let queued = queued.clone();
            let (stage, one) = (&stage, &one);
            move || stage.runner.call(&stage.session, &one.focus(), &queued)
        });
        eventually("both are under way", || stage.runner.live_calls() == 2);
        let begun = Instant::now();
        queued.cancel.cancel();
        let second = second.join().unwrap();
        assert_eq!(second.ending.error.unwrap().code, ErrorCode::Cancelled);
        assert_eq!(second.ending.outcome.execution_state(), ExecutionState::NotStarted);
        assert!(!effect.is_finished(), "the other goes on");
        limit.cancel.cancel();
        assert_eq!(effect.join().unwrap().ending.error.unwrap().code, ErrorCode::OutcomeUnknown);
        assert!(begun.elapsed() < AT_ONCE);
    });
    // The way is free again.
    stage.desktop.react(&one.key, Reaction::Obey);
    stage.done(&one.focus());
}

#[test]
fn a_provider_that_heeds_nothing_is_left_behind() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    let other = stage.one(Element::new(Role::Button, "Other"));
    stage.desktop.react(&one.key, Reaction::Deaf(Duration::from_secs(15)));
    let begun = Instant::now();
    let answer = stage.runner.call(&stage.session, &one.press(), &Limit::after(Duration::from_millis(200)));
    assert_eq!(answer.ending.error.unwrap().code, ErrorCode::OutcomeUnknown);
    assert!(begun.elapsed() < AT_ONCE);
    // Nobody else waits for it.
    stage.done(&other.focus());
    let limit = long();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| stage.runner.call(&stage.session, &one.press(), &limit));
        eventually("the effect is under way", || stage.desktop.acting() == 2);
        let begun = Instant::now();
        limit.cancel.cancel();
        assert_eq!(call.join().unwrap().ending.error.unwrap().code, ErrorCode::OutcomeUnknown);
        assert!(begun.elapsed() < AT_ONCE);
    });
}

#[test]
fn fifty_reads_beside_a_stuck_effect() {
    let (stage, one) = hung();
    let other = stage.desktop.window("Other");
    stage.desktop.add(&stage.desktop.root(&other), Element::new(Role::Button, "Alive"));
    let surface = stage.surface(&other);
    std::thread::scope(|scope| {
        let limit = long();
        let effect = scope.spawn({
            let (stage, one, limit) = (&stage, &one, limit.clone());
            move || stage.runner.call(&stage.session, &one.press(), &limit)
        });
        eventually("the effect is under way", || stage.desktop.acting() == 1);
        let reads: Vec<_> = (0..50)
            .map(|number| {
                let (stage, surface) = (&stage, &surface);
                scope.spawn(move || match number % 3 {
                    0 => stage.windows().count == 2,
                    1 => stage.tree(surface, None).shown > 0,
                    _ => stage.find(surface, label("Alive"), 8).count == 1,
                })
            })
            .collect();
        assert!(reads.into_iter().all(|read| read.join().unwrap()));
        assert!(!effect.is_finished());
        limit.cancel.cancel();
        effect.join().unwrap();
    });
}

#[test]
fn a_stopped_application_costs_others_nothing() {
    let stage = Stage::new();
    let hanging = stage.one(Element::new(Role::Button, "Hangs"));
    let alive = stage.one(Element::new(Role::Button, "Lives"));
    stage.desktop.hang(&hanging.window);
    let short = Limit::after(Duration::from_millis(100));
    let answer = stage.runner.call(&stage.session, &tree(&hanging.surface, None), &short);
    let error = answer.ending.error.unwrap();
    assert_eq!((error.code, error.retryable), (ErrorCode::ComputerTimeout, true));
    let answer = stage.runner.call(&stage.session, &hanging.press(), &Limit::after(Duration::from_millis(100)));
    assert_eq!(answer.ending.error.unwrap().code, ErrorCode::ComputerTimeout);
    assert_eq!(answer.ending.outcome.execution_state(), ExecutionState::NotStarted);
    assert_eq!(stage.windows().count, 2);
    stage.tree(&alive.surface, None);
    stage.done(&alive.focus());
    stage.desktop.wake(&hanging.window);
    stage.done(&hanging.focus());
}

#[test]
fn an_effect_on_an_application_that_hangs_already_keeps_no_other_waiting() {
    let stage = Stage::new();
    let hanging = stage.one(Element::new(Role::Button, "Hangs"));
    let alive = stage.one(Element::new(Role::Button, "Lives"));
    stage.desktop.hang(&hanging.window);
    let resolved = stage.desktop.asked(Step::Resolve);
    let (limit, press) = (long(), hanging.press());
    std::thread::scope(|scope| {
        let effect = scope.spawn(|| stage.runner.call(&stage.session, &press, &limit));
        eventually("the effect is under way", || stage.desktop.asked(Step::Resolve) > resolved);
        stage.done(&alive.focus());
        assert!(!effect.is_finished());
        limit.cancel.cancel();
        assert_eq!(effect.join().unwrap().ending.error.unwrap().code, ErrorCode::Cancelled);
    });
}

#[test]
fn effects_never_overlap() {
    let stage = Stage::new();
    let ones: Vec<One> =
        (0..6).map(|number| stage.one(Element::new(Role::Checkbox, &format!("Box {number}")))).collect();
    let acting = Arc::new(std::sync::atomic::AtomicU32::new(0));
    for _ in 0..6 {
        let acting = Arc::clone(&acting);
        // Alone while it acts; what it sees next to it would panic in the provider, and end as unknown.
        stage.desktop.before(Step::Perform, 0, move |_| {
            use std::sync::atomic::Ordering;
            assert_eq!(acting.fetch_add(1, Ordering::SeqCst), 0);
            std::thread::sleep(Duration::from_millis(3));
            acting.fetch_sub(1, Ordering::SeqCst);
        });
    }
    std::thread::scope(|scope| {
        for one in &ones {
            let stage = &stage;
            scope.spawn(move || stage.done(&one.press()));
        }
    });
    assert_eq!(stage.effects().len(), 6);
}

#[test]
fn nothing_begins_after_its_deadline() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    for action in [one.press(), Action::Windows { limit: 1 }, tree(&one.surface, None)] {
        let answer = stage.runner.call(&stage.session, &action, &Limit::after(Duration::ZERO));
        assert_eq!(answer.ending.error.unwrap().code, ErrorCode::ComputerTimeout);
        let cancelled = soon();
        cancelled.cancel.cancel();
        let answer = stage.runner.call(&stage.session, &action, &cancelled);
        assert_eq!(answer.ending.error.unwrap().code, ErrorCode::Cancelled);
    }
    assert_eq!(stage.effects(), [""; 0]);
}

#[test]
fn a_wait_is_woken_by_what_happens_and_ended_by_its_time() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let condition = Condition::Element { surface: one.surface.clone(), filter: label("Saved") };
            stage.waited(condition, 30_000)
        });
        eventually("the wait looks", || stage.desktop.asked(Step::Tree) > 1);
        let begun = Instant::now();
        stage.desktop.add(&stage.desktop.root(&one.window), Element::new(Role::Label, "Saved"));
        let waited = waiting.join().unwrap();
        assert!(waited.satisfied && begun.elapsed() < AT_ONCE);
        assert_eq!(waited.matches[0].name, "Saved");
    });
    let condition = Condition::Element { surface: one.surface.clone(), filter: label("Never") };
    let waited = stage.waited(condition, 40);
    assert!(!waited.satisfied && waited.matches.is_empty());
}
