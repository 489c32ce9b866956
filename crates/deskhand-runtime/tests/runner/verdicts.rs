//! What is said of an effect, by what the application did: never more than was seen.

use std::time::Duration;

use deskhand_contract::action::{Action, TextMode, Value};
use deskhand_contract::element::{Affordance, State};
use deskhand_contract::error::ErrorCode;
use deskhand_contract::provider::Fault;
use deskhand_contract::role::Role;
use deskhand_contract::verdict::{Evidence as E, ExecutionState as X, Status as S};
use deskhand_runtime::Policy;
use deskhand_testkit::{Element, Reaction, check};

use crate::stage::{LOOK, One, Stage, titles};

/// An effect that has a postcondition, on an element where it is not fulfilled.
#[derive(Clone)]
struct Case {
    element: fn() -> Element,
    act: fn(&One) -> Action,
    postcondition: &'static str,
}

fn cases() -> Vec<(&'static str, Case)> {
    let case = |element, act, postcondition| Case { element, act, postcondition };
    vec![
        ("focus", case(|| Element::new(Role::Button, "x"), One::focus, "focused")),
        ("select", case(|| Element::new(Role::ListItem, "x"), One::select, "selected")),
        ("checkbox", case(|| Element::new(Role::Checkbox, "x"), One::press, "checked flipped")),
        ("mixed", case(|| Element::new(Role::Checkbox, "x").state(State::Mixed), One::press, "checked flipped")),
        ("toggle", case(|| Element::new(Role::ToggleButton, "x"), One::press, "checked flipped")),
        ("radio", case(|| Element::new(Role::Radio, "x"), One::press, "checked")),
        ("tab", case(|| Element::new(Role::Tab, "x"), One::press, "selected")),
        ("option", case(|| Element::new(Role::Option, "x"), One::press, "selected")),
        ("expand", case(|| Element::new(Role::Combobox, "x").state(State::Collapsed), One::press, "expanded")),
        ("collapse", case(|| Element::new(Role::TreeItem, "x").state(State::Expanded), One::press, "collapsed")),
        (
            "number",
            case(
                || Element::new(Role::Slider, "x").number(1.0, 0.0, 10.0),
                |one| one.set(Value::Number(7.0)),
                "value equals",
            ),
        ),
        ("on", case(|| Element::new(Role::Switch, "x"), |one| one.set(Value::Boolean(true)), "checked")),
        (
            "off",
            case(
                || Element::new(Role::Switch, "x").state(State::Checked),
                |one| one.set(Value::Boolean(false)),
                "unchecked",
            ),
        ),
        (
            "fill",
            case(
                || Element::new(Role::Textbox, "x").state(State::Focused),
                |one| one.text(TextMode::FillEmpty, "Grüße"),
                "text reads back",
            ),
        ),
        (
            "replace",
            case(
                || Element::new(Role::Textbox, "x").text("old"),
                |one| one.text(TextMode::Replace, "new"),
                "text reads back",
            ),
        ),
        (
            "clear",
            case(
                || Element::new(Role::Textbox, "x").text("old"),
                |one| one.text(TextMode::Replace, ""),
                "text reads back",
            ),
        ),
        (
            "into view",
            case(|| Element::new(Role::Button, "x").state(State::Offscreen), One::bring_into_view, "in view"),
        ),
    ]
}

#[test]
fn an_effect_that_is_seen_is_confirmed_by_observation() {
    check(cases(), |case| {
        for reaction in [Reaction::Obey, Reaction::Later(Duration::from_millis(1))] {
            // It comes, and a busy machine may take its time over it.
            let stage = Stage::with(Policy { look_for: Duration::from_secs(20), ..Policy::private_desktop() });
            let one = stage.one((case.element)());
            stage.desktop.react(&one.key, reaction);
            let answer = stage.call(&(case.act)(&one));
            assert!(answer.ending.error.is_none(), "{:?}", answer.ending.error);
            let verdict = answer.ending.outcome.verdict();
            assert_eq!(answer.ending.outcome.execution_state(), X::Completed);
            assert_eq!((verdict.status(), verdict.evidence()), (S::Confirmed, E::PostconditionObservation));
            let verification = verdict.verification().unwrap();
            assert_eq!((verification.postcondition.as_str(), verification.seen), (case.postcondition, true));
        }
    });
}

#[test]
fn a_true_return_without_the_effect_is_an_unknown_outcome_never_a_success() {
    check(cases(), |case| {
        let stage = Stage::new();
        let one = stage.one((case.element)());
        stage.desktop.react(&one.key, Reaction::Lie);
        let answer = stage.call(&(case.act)(&one));
        let error = answer.ending.error.unwrap();
        assert_eq!((error.code, error.retryable), (ErrorCode::OutcomeUnknown, false));
        let (outcome, verdict) = (&answer.ending.outcome, answer.ending.outcome.verdict());
        assert_eq!(outcome.execution_state(), X::OutcomeUnknown);
        assert_eq!((verdict.status(), verdict.evidence()), (S::Unverifiable, E::DispatchReceipt));
        let verification = verdict.verification().unwrap();
        assert_eq!((verification.postcondition.as_str(), verification.seen), (case.postcondition, false));
        assert!(verification.observed.is_some());
        let call = error.recovery.unwrap().suggested_call.unwrap();
        assert_eq!(call.arguments.get_text("action"), Some("element_state"));
        assert_eq!(call.arguments.get_text("element_id"), Some(one.element.as_str()));
    });
}

#[test]
fn of_an_application_that_does_not_answer_an_effect_only_what_is_seen_counts() {
    check(cases(), |case| {
        for (reaction, end) in
            [(Reaction::Hang, (X::OutcomeUnknown, S::Unverifiable)), (Reaction::Stall, (X::Completed, S::Confirmed))]
        {
            let act_for = Duration::from_millis(40);
            let stage = Stage::with(Policy { act_for, look_for: LOOK, ..Policy::private_desktop() });
            let one = stage.one((case.element)());
            stage.desktop.react(&one.key, reaction);
            let answer = stage.call(&(case.act)(&one));
            let outcome = answer.ending.outcome;
            assert_eq!((outcome.execution_state(), outcome.verdict().status()), end);
            assert_eq!(answer.ending.error.is_some(), end.0 == X::OutcomeUnknown);
            assert_eq!(stage.desktop.asked(deskhand_testkit::Step::Perform), 1);
        }
    });
}

#[test]
fn what_the_application_and_the_provider_say_of_an_effect_that_did_not_happen() {
    type Row = (Reaction, ErrorCode, (X, S, E));
    let rows: Vec<(&str, Row)> = vec![
        ("noop", (Reaction::Noop, ErrorCode::NotActionable, (X::Completed, S::SuspectedNoop, E::ProviderNoopSignal))),
        (
            "gone",
            (
                Reaction::NotStarted(Fault::Gone),
                ErrorCode::StaleElement,
                (X::NotStarted, S::SuspectedNoop, E::PreDispatchRejection),
            ),
        ),
        (
            "silent before the message",
            (
                Reaction::NotStarted(Fault::Unresponsive),
                ErrorCode::ComputerTimeout,
                (X::NotStarted, S::SuspectedNoop, E::PreDispatchRejection),
            ),
        ),
        (
            "cannot",
            (
                Reaction::NotStarted(Fault::Unsupported("no action".into())),
                ErrorCode::NotActionable,
                (X::NotStarted, S::SuspectedNoop, E::PreDispatchRejection),
            ),
        ),
        ("dies", (Reaction::Die, ErrorCode::OutcomeUnknown, (X::OutcomeUnknown, S::Unverifiable, E::DispatchReceipt))),
        (
            "the provider panics",
            (Reaction::Panic, ErrorCode::OutcomeUnknown, (X::OutcomeUnknown, S::Unverifiable, E::DispatchReceipt)),
        ),
    ];
    check(rows, |(reaction, code, end)| {
        let stage = Stage::new();
        let one = stage.one(Element::new(Role::Button, "Save"));
        stage.desktop.react(&one.key, reaction);
        let answer = stage.call(&one.press());
        let outcome = &answer.ending.outcome;
        assert_eq!(answer.ending.error.as_ref().unwrap().code, code);
        assert_eq!((outcome.execution_state(), outcome.verdict().status(), outcome.verdict().evidence()), end);
        assert_eq!(stage.desktop.asked(deskhand_testkit::Step::Perform), 1, "an effect is never repeated");
    });
}

#[test]
fn a_plain_button_defines_nothing_and_its_change_is_told() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    let (_, end) = stage.done(&one.press());
    assert_eq!(end, (X::Completed, S::Unverifiable, E::DispatchReceipt));

    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Open"));
    stage.desktop.react(&one.key, Reaction::Open("Dialog".into()));
    let (done, end) = stage.done(&one.press());
    assert_eq!(end, (X::Completed, S::Unverifiable, E::DispatchReceipt));
    assert_eq!(titles(&done.new_windows), [Some("Dialog")]);
    // The id that it came with is the one that it is listed with.
    assert_eq!(stage.windows().windows[0].surface_id, done.new_windows[0].surface_id);
}

#[test]
fn a_press_that_closes_its_window_is_confirmed_and_ends_its_ids() {
    for role in [Role::Button, Role::Checkbox] {
        let stage = Stage::new();
        let one = stage.one(Element::new(role, "OK"));
        stage.desktop.react(&one.key, Reaction::Close);
        let (done, end) = stage.done(&one.press());
        assert_eq!(end, (X::Completed, S::Confirmed, E::PostconditionObservation));
        assert!(done.surface_gone && done.changes.is_none());
        stage.refused(&one.press(), ErrorCode::StaleSurface);
    }
}

#[test]
fn text_that_arrives_in_part_or_in_a_field_that_goes_is_never_confirmed() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Textbox, "Name"));
    stage.desktop.react(&one.key, Reaction::Cut(4));
    let answer = stage.call(&one.text(TextMode::Replace, "topsecret"));
    let observed = answer.ending.outcome.verdict().verification().unwrap().observed.clone().unwrap();
    assert_eq!(observed, "the field holds the first 4 of 9 bytes");
    let shown = format!("{:?}", answer.ending);
    assert!(!shown.contains("tops"), "no error repeats what was typed: {shown}");

    for (reaction, words) in [(Reaction::Vanish, "the element is gone"), (Reaction::Close, "the window is gone")] {
        let stage = Stage::new();
        let one = stage.one(Element::new(Role::Textbox, "Name"));
        stage.desktop.react(&one.key, reaction);
        let answer = stage.call(&one.text(TextMode::Replace, "x"));
        assert_eq!(answer.ending.error.unwrap().code, ErrorCode::OutcomeUnknown);
        let observed = answer.ending.outcome.verdict().verification().unwrap().observed.clone().unwrap();
        assert_eq!(observed, words);
    }
}

#[test]
fn what_holds_already_is_confirmed_also_where_the_application_did_nothing() {
    type Row = (Element, fn(&One) -> Action);
    let held: Vec<(&str, Row)> = vec![
        ("on", (Element::new(Role::Switch, "x").state(State::Checked), |one| one.set(Value::Boolean(true)))),
        ("focused", (Element::new(Role::Button, "x").state(State::Focused), One::focus)),
        ("selected", (Element::new(Role::ListItem, "x").state(State::Selected), One::select)),
        ("in view", (Element::new(Role::Button, "x"), One::bring_into_view)),
    ];
    check(held, |(element, act)| {
        let stage = Stage::new();
        let one = stage.one(element);
        stage.desktop.react(&one.key, Reaction::Noop);
        let (_, end) = stage.done(&act(&one));
        assert_eq!(end, (X::Completed, S::Confirmed, E::PostconditionObservation));
    });
}

#[test]
fn activation_is_confirmed_by_the_foreground_alone() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "x"));
    let (_, end) = stage.done(&one.activate());
    assert_eq!(end, (X::Completed, S::Confirmed, E::PostconditionObservation), "in front already");
    stage.desktop.window("Over it");
    let (_, end) = stage.done(&one.activate());
    assert_eq!(end, (X::Completed, S::Confirmed, E::PostconditionObservation));
    stage.desktop.window("Over it again");
    stage.desktop.react(&one.window, Reaction::Lie);
    let error = stage.refused(&one.activate(), ErrorCode::OutcomeUnknown);
    let call = error.recovery.unwrap().suggested_call.unwrap();
    assert_eq!(call.arguments.get_text("action"), Some("accessibility_tree"));
}

#[test]
fn a_scroll_is_confirmed_where_what_is_inside_moved_and_only_then() {
    let pane = |inside: Option<Element>| {
        let stage = Stage::new();
        let window = stage.desktop.window("One");
        let pane =
            stage.desktop.add(&stage.desktop.root(&window), Element::new(Role::ScrollPane, "Page").at(0, 0, 100, 100));
        if let Some(inside) = inside {
            stage.desktop.add(&pane, inside);
        }
        let one = stage.known(&window, &pane);
        (stage, one)
    };
    let row = || Element::new(Role::Button, "row").at(0, 10, 50, 20);
    let (stage, one) = pane(Some(row()));
    let (_, end) = stage.done(&one.scroll());
    assert_eq!(end, (X::Completed, S::Confirmed, E::PostconditionObservation));
    let (stage, one) = pane(Some(row()));
    stage.desktop.react(&one.key, Reaction::Lie);
    stage.refused(&one.scroll(), ErrorCode::OutcomeUnknown);
    // Where nothing inside has a place, nobody can tell.
    let (stage, one) = pane(Some(Element::new(Role::Button, "row")));
    let (_, end) = stage.done(&one.scroll());
    assert_eq!(end, (X::Completed, S::Unverifiable, E::DispatchReceipt));
}

#[test]
fn the_change_that_an_effect_made_is_told_in_the_caller_s_ids() {
    let stage = Stage::new();
    let window = stage.desktop.window("Form");
    let root = stage.desktop.root(&window);
    let first = stage.desktop.add(&root, Element::new(Role::Textbox, "First").state(State::Focused));
    let second = stage.desktop.add(&root, Element::new(Role::Textbox, "Second"));
    stage.desktop.add(&root, Element::new(Role::Button, "Stay"));
    let one = stage.known(&window, &second);
    let first = stage.element(&one.surface, &first);
    let (done, _) = stage.done(&one.focus());
    let delta = done.changes.unwrap();
    assert_eq!((delta.added, delta.removed, delta.changed), (0, 0, 2));
    assert!(delta.lines.iter().any(|line| line.starts_with('~') && line.contains(first.as_str())), "{delta:?}");
    assert!(delta.lines.iter().all(|line| !line.contains("Stay")), "{delta:?}");
}

#[test]
fn a_context_menu_needs_its_own_affordance_and_defines_nothing() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "x"));
    stage.refused(&one.context_menu(), ErrorCode::NotActionable);
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "x").can(Affordance::CanContextMenu));
    let (_, end) = stage.done(&one.context_menu());
    assert_eq!(end, (X::Completed, S::Unverifiable, E::DispatchReceipt));
}
