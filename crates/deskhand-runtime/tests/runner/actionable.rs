//! The table of checks, row by row: what fails it, with which code, and what the message says would work.

use deskhand_contract::action::{Action, TextMode, Value};
use deskhand_contract::element::{Affordance as A, State};
use deskhand_contract::error::ErrorCode;
use deskhand_contract::role::Role;
use deskhand_testkit::{Element, check};

use crate::stage::{One, Stage};

type Act = fn(&One) -> Action;
type Row = (Element, Act, ErrorCode, &'static str);

fn button() -> Element {
    Element::new(Role::Button, "x")
}

fn field() -> Element {
    Element::new(Role::Textbox, "x").state(State::Focused)
}

fn slider() -> Element {
    Element::new(Role::Slider, "x").number(5.0, 0.0, 10.0)
}

#[test]
fn each_check_fails_with_its_code_and_says_what_would_work() {
    let fill: Act = |one| one.text(TextMode::FillEmpty, "new");
    let replace: Act = |one| one.text(TextMode::Replace, "new");
    let no = ErrorCode::NotActionable;
    let rows: Vec<(&'static str, Row)> = vec![
        ("press hidden", (button().state(State::Hidden), One::press, no, "show it first")),
        ("press disabled", (button().state(State::Disabled), One::press, no, "disabled")),
        ("press without action", (button().cannot(A::CanPress), One::press, no, "focus on it")),
        ("focus hidden", (button().state(State::Hidden), One::focus, no, "show it first")),
        ("focus disabled", (button().state(State::Disabled), One::focus, no, "disabled")),
        ("focus without", (button().cannot(A::CanFocus), One::focus, no, "press on it")),
        ("select without", (button(), One::select, no, "press on it")),
        ("select disabled", (Element::new(Role::Tab, "x").state(State::Disabled), One::select, no, "disabled")),
        ("number too high", (slider(), |one| one.set(Value::Number(10.5)), no, "0 to 10")),
        ("number too low", (slider(), |one| one.set(Value::Number(-1.0)), no, "0 to 10")),
        ("not a number", (slider(), |one| one.set(Value::Number(f64::NAN)), no, "0 to 10")),
        ("infinite", (slider(), |one| one.set(Value::Number(f64::INFINITY)), no, "0 to 10")),
        ("number of text", (field().can(A::CanSetValue), |one| one.set(Value::Number(1.0)), no, "no number")),
        ("state of a slider", (slider(), |one| one.set(Value::Boolean(true)), no, "no state")),
        ("set disabled", (slider().state(State::Disabled), |one| one.set(Value::Number(1.0)), no, "disabled")),
        ("scroll without", (button(), One::scroll, no, "can_scroll")),
        ("into view without", (button().cannot(A::CanScrollTo), One::bring_into_view, no, "can_scroll_to")),
        ("fill unfocused", (Element::new(Role::Textbox, "x"), fill, no, "focus it first; mode: replace")),
        ("fill full", (field().text("zzz"), fill, ErrorCode::ValueNotEmpty, "mode: replace")),
        ("fill full, unsaid", (field().text("zzz").value_unsaid(), fill, ErrorCode::ValueNotEmpty, "mode: replace")),
        ("fill disabled", (field().state(State::Disabled), fill, no, "disabled")),
        ("fill without", (field().cannot(A::CanInputText), fill, no, "can_input_text")),
        ("replace without", (field().cannot(A::CanInputText), replace, no, "can_input_text")),
        ("replace hidden", (field().state(State::Hidden), replace, no, "show it first")),
    ];
    check(rows, |(element, act, code, words)| {
        let stage = Stage::new();
        let one = stage.one(element);
        let error = stage.refused(&act(&one), code);
        assert!(error.message.contains(words), "{}", error.message);
        assert!(!error.message.contains("zzz"), "no message repeats what a field holds: {}", error.message);
        assert_eq!(stage.effects(), [""; 0]);
    });
}

#[test]
fn what_passes_its_row_is_done() {
    let rows: Vec<(&'static str, (Element, Act))> = vec![
        ("press", (button(), One::press)),
        ("press out of view", (button().state(State::Offscreen), One::press)),
        ("focus", (button(), One::focus)),
        ("select", (Element::new(Role::Tab, "x"), One::select)),
        ("number at the edge", (slider(), |one| one.set(Value::Number(10.0)))),
        ("state", (Element::new(Role::Switch, "x"), |one| one.set(Value::Boolean(true)))),
        ("into view hidden", (button().state(State::Offscreen), One::bring_into_view)),
        ("fill", (field(), |one| one.text(TextMode::FillEmpty, "new"))),
        ("fill empty, unsaid", (field().value_unsaid(), |one| one.text(TextMode::FillEmpty, "new"))),
        ("replace unfocused", (Element::new(Role::Textbox, "x").text("zzz"), |one| one.text(TextMode::Replace, "new"))),
    ];
    check(rows, |(element, act)| {
        let stage = Stage::new();
        let one = stage.one(element);
        stage.done(&act(&one));
        assert_eq!(stage.effects().len(), 1);
    });
}

#[test]
fn a_label_that_cannot_be_pressed_names_the_ancestor_that_can() {
    let stage = Stage::new();
    let window = stage.desktop.window("One");
    let button = stage.desktop.add(&stage.desktop.root(&window), Element::new(Role::Button, "Save"));
    let inside = stage.desktop.add(&button, Element::new(Role::Generic, ""));
    let label = stage.desktop.add(&inside, Element::new(Role::Label, "Save all"));
    let one = stage.known(&window, &label);
    let error = stage.refused(&one.press(), ErrorCode::NotActionable);
    let id = error
        .message
        .split_whitespace()
        .find_map(|word| word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).parse().ok());
    let ancestor = One { element: id.expect("the message names an element"), ..one };
    stage.done(&ancestor.press());
    assert_eq!(stage.desktop.performed()[0].element, Some(button));
}

#[test]
fn a_double_press_says_that_it_needs_targeted_input() {
    use deskhand_contract::action::{Gesture, Means, PressTarget};
    let stage = Stage::new();
    let one = stage.one(button());
    let press = |gesture, means| Action::Press {
        surface: one.surface.clone(),
        at: PressTarget::Element(one.element.clone()),
        gesture,
        means,
    };
    for (gesture, means) in [(Gesture::Double, Means::Accessibility), (Gesture::Activate, Means::TargetedInput)] {
        let error = stage.refused(&press(gesture, means), ErrorCode::CapabilityMissing);
        assert!(error.message.contains("targeted_input"), "{}", error.message);
    }
    assert_eq!(stage.effects(), [""; 0]);
}
