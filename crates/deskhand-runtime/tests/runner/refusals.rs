//! Each refusal, with a twin in which the same call is allowed. A refused effect reaches nothing and is a row in audit.

use deskhand_contract::action::{Action, ImageBounds, TextMode};
use deskhand_contract::element::State;
use deskhand_contract::error::ErrorCode;
use deskhand_contract::provider::Belonging;
use deskhand_contract::reply::Reply;
use deskhand_contract::role::Role;
use deskhand_contract::scope::Capability;
use deskhand_contract::wire::Mode;
use deskhand_runtime::audit::Happening;
use deskhand_runtime::{CaptureMode, Policy};
use deskhand_testkit::{Element, Step, check};

use crate::stage::{LOOK, One, Stage, soon, titles, tree};

type Act = fn(&One) -> Action;

/// Every effect and every read of content, on a window of one field.
const EFFECTS: [(&str, Act); 6] = [
    ("press", One::press),
    ("focus", One::focus),
    ("select", One::select),
    ("activate", One::activate),
    ("into view", One::bring_into_view),
    ("text", |one| one.text(TextMode::Replace, "x")),
];
const READS: [(&str, Act); 4] = [
    ("tree", |one| tree(&one.surface, None)),
    ("state", |one| one.state(false)),
    ("value", |one| one.state(true)),
    ("snapshot", One::snapshot),
];

fn field() -> Element {
    use deskhand_contract::element::Affordance as A;
    Element::new(Role::Textbox, "Name").can(A::CanPress).can(A::CanSelect)
}

#[test]
fn plan_and_goal_refuse_effects_first_and_no_read() {
    for mode in [Mode::Plan, Mode::Goal] {
        check(EFFECTS, |act| {
            let mut stage = Stage::new();
            stage.session = stage.runner.session(None, mode);
            let one = stage.one(field());
            stage.refused(&act(&one), ErrorCode::ComputerModeDenied);
            assert_eq!(stage.effects(), [""; 0]);
            // Also where nothing of the call makes sense.
            let mut nonsense = one.clone();
            nonsense.surface = "s00000000".parse().unwrap();
            stage.refused(&act(&nonsense), ErrorCode::ComputerModeDenied);
        });
        check(READS, |act| {
            let mut stage = Stage::new();
            stage.session = stage.runner.session(None, mode);
            let one = stage.one(field());
            stage.reply(&act(&one));
        });
    }
    for mode in [Mode::Auto, Mode::Ask, Mode::AcceptEdits] {
        let mut stage = Stage::new();
        stage.session = stage.runner.session(None, mode);
        let one = stage.one(field());
        stage.done(&one.focus());
    }
}

#[test]
fn a_named_session_of_another_mode_is_another_session() {
    let stage = Stage::new();
    let plan = stage.runner.session(Some("me"), Mode::Plan);
    let auto = stage.runner.session(Some("me"), Mode::Auto);
    assert_ne!(plan.number(), auto.number());
    assert_eq!(stage.runner.session(Some("me"), Mode::Plan).number(), plan.number());
}

#[test]
fn switched_off_only_targets_and_the_status_answer() {
    let stage = Stage::with(Policy::own_desktop());
    stage.desktop.window("One");
    stage.refused(&Action::Windows { limit: 1 }, ErrorCode::ComputerFeatureDisabled);
    stage.refused(&Action::Displays { limit: 1 }, ErrorCode::ComputerFeatureDisabled);
    stage.reply(&Action::Targets);
    stage.reply(&Action::AccessibilityStatus);
    let on = Stage::with(Policy { enabled: true, ..Policy::own_desktop() });
    on.desktop.window("One");
    on.reply(&Action::Windows { limit: 1 });
}

#[test]
fn what_the_runner_does_not_declare_it_does_not_do() {
    let rows: [(&'static str, Capability, Act); 6] = [
        ("observe", Capability::ComputerObserve, |_| Action::Windows { limit: 1 }),
        ("tree", Capability::ComputerAccessibilityObserve, |one| tree(&one.surface, None)),
        ("display", Capability::ComputerDisplayObserve, |_| Action::Displays { limit: 1 }),
        ("activate", Capability::ComputerWindowActivate, One::activate),
        ("press", Capability::ComputerControl, One::press),
        ("text", Capability::ComputerTextInput, |one| one.text(TextMode::Replace, "x")),
    ];
    check(rows.map(|(name, capability, act)| (name, (capability, act))), |(capability, act)| {
        let stage = Stage::new();
        let one = stage.one(field());
        stage.reply(&act(&one));
        let performed = stage.effects().len();
        stage.desktop.profile_with(|profile| profile.capabilities = profile.capabilities.without(capability));
        let error = stage.refused(&act(&one), ErrorCode::CapabilityMissing);
        assert!(error.message.contains(capability.name()), "{}", error.message);
        assert_eq!(stage.effects().len(), performed);
    });
    let stage = Stage::new();
    stage.refused(&Action::Applications { limit: 1 }, ErrorCode::CapabilityMissing);
    stage.refused(&Action::ReadClipboard, ErrorCode::CapabilityMissing);
}

#[test]
fn a_refused_window_is_listed_without_its_title_and_nothing_of_it_is_read_or_touched() {
    for (whose, code) in
        [(Belonging::Deskhand, ErrorCode::ComputerSelfTarget), (Belonging::Elevated, ErrorCode::ComputerElevatedTarget)]
    {
        check(EFFECTS.into_iter().chain(READS), |act| {
            let stage = Stage::new();
            let one = stage.one(field());
            stage.desktop.change_window(&one.window, |facts| facts.belongs_to = whose);
            let (trees, resolved) = (stage.desktop.asked(Step::Tree), stage.desktop.asked(Step::Resolve));
            stage.refused(&act(&one), code);
            assert_eq!(stage.effects(), [""; 0]);
            let read = (stage.desktop.asked(Step::Tree), stage.desktop.asked(Step::Resolve));
            assert_eq!(read, (trees, resolved), "nothing of it was read");
            let row = stage.record.rows().pop().unwrap().entry;
            assert_eq!((row.happening, row.error), (Happening::Refusal, Some(code)));
            let listed = stage.windows().windows;
            assert_eq!((titles(&listed), listed[0].refusal), (vec![None], Some(code)));
        });
    }
    // A window that names no process is nobody's secret.
    for whose in [Belonging::User, Belonging::Unproven] {
        let stage = Stage::new();
        let one = stage.one(field());
        stage.desktop.change_window(&one.window, |facts| facts.belongs_to = whose);
        stage.done(&one.focus());
        assert_eq!(titles(&stage.windows().windows), [Some("One")]);
    }
}

#[test]
fn a_window_that_becomes_refused_after_its_admission_is_refused_before_dispatch() {
    let stage = Stage::new();
    let one = stage.one(field());
    let window = one.window.clone();
    // The second list of windows of an effect is the one of its binding.
    stage.desktop.before(Step::Windows, 1, move |desktop| {
        desktop.change_window(&window, |facts| facts.belongs_to = Belonging::Elevated);
    });
    stage.refused(&one.focus(), ErrorCode::ComputerElevatedTarget);
    assert_eq!(stage.effects(), [""; 0]);
}

#[test]
fn a_wait_never_finds_a_refused_window_by_its_title() {
    let stage = Stage::new();
    let window = stage.desktop.window_with("Secret plans", |facts| facts.belongs_to = Belonging::Elevated);
    let condition = |title: &str| deskhand_contract::action::Condition::Window { title: title.to_owned() };
    assert!(!stage.waited(condition("Secret"), 30).satisfied);
    stage.desktop.change_window(&window, |facts| facts.belongs_to = Belonging::User);
    assert!(stage.waited(condition("Secret"), 30).satisfied);
}

#[test]
fn a_protected_element_is_seen_and_never_read_or_operated() {
    check(EFFECTS, |act| {
        let stage = Stage::new();
        let one = stage.one(field().protected());
        let action = act(&one);
        if matches!(action, Action::ActivateWindow { .. } | Action::ScrollToElement { .. }) {
            stage.done(&action);
        } else {
            stage.refused(&action, ErrorCode::ComputerSecureInput);
            assert_eq!(stage.effects(), [""; 0]);
        }
        assert_eq!(stage.desktop.asked(Step::Value), 0);
    });
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::PasswordTextbox, "Pin").text("hunter2"));
    let Reply::ElementState(state) = stage.reply(&one.state(false)) else { panic!() };
    assert!(state.element.protected && state.element.value_empty.is_none() && state.value.is_none());
    stage.refused(&one.state(true), ErrorCode::ComputerSecureInput);
    assert_eq!(stage.desktop.asked(Step::Value), 0);
}

#[test]
fn a_focused_password_field_ends_content_pictures_and_text_of_its_window_but_is_no_trap() {
    let stage = Stage::new();
    let one = stage.one(field().text("held"));
    let root = stage.desktop.root(&one.window);
    let secret = stage.desktop.add(&root, Element::new(Role::PasswordTextbox, "Pin").state(State::Focused));
    for refused in [one.state(true), one.snapshot(), one.text(TextMode::Replace, "x")] {
        stage.refused(&refused, ErrorCode::ComputerSecureInput);
    }
    assert_eq!(stage.effects(), [""; 0]);
    // The tree, an unprotected element's state, its press and its focus stay; the focus then opens the rest.
    stage.tree(&one.surface, None);
    stage.reply(&one.state(false));
    stage.done(&one.press());
    stage.done(&one.focus());
    assert!(!stage.desktop.facts(&secret).unwrap().states.has(State::Focused));
    stage.done(&one.text(TextMode::Replace, "x"));
    stage.reply(&one.snapshot());
    let Reply::ElementState(state) = stage.reply(&one.state(true)) else { panic!() };
    assert_eq!(state.value.unwrap().0, "x");
}

#[test]
fn a_password_field_that_gets_the_focus_during_a_capture_ends_it() {
    let stage = Stage::new();
    let one = stage.one(field());
    let secret = stage.desktop.add(&stage.desktop.root(&one.window), Element::new(Role::PasswordTextbox, "Pin"));
    stage.desktop.before(Step::Capture, 0, move |desktop| {
        desktop.change(&secret, |facts| facts.states.set(State::Focused, true));
    });
    let answer = stage.call(&one.snapshot());
    assert_eq!(answer.ending.error.unwrap().code, ErrorCode::ComputerSecureInput);
    assert!(answer.image.is_none());
}

#[test]
fn a_password_field_that_gets_the_focus_before_dispatch_ends_the_text() {
    let stage = Stage::new();
    let one = stage.one(field());
    let secret = stage.desktop.add(&stage.desktop.root(&one.window), Element::new(Role::PasswordTextbox, "Pin"));
    stage.desktop.before(Step::Windows, 1, move |desktop| {
        desktop.change(&secret, |facts| facts.states.set(State::Focused, true));
    });
    stage.refused(&one.text(TextMode::Replace, "x"), ErrorCode::ComputerSecureInput);
    assert_eq!(stage.effects(), [""; 0]);
}

#[test]
fn an_application_that_hangs_proves_no_focus_and_shows_no_picture() {
    let stage = Stage::new();
    let one = stage.one(field());
    stage.desktop.fail(Step::Tree, 0, 1, deskhand_contract::provider::Fault::Unresponsive);
    stage.refused(&one.snapshot(), ErrorCode::ComputerTimeout);
    stage.reply(&one.snapshot());
}

#[test]
fn pixels_are_captured_only_where_the_setting_says_so() {
    let off = Policy { capture: CaptureMode::A11yOnly, look_for: LOOK, ..Policy::private_desktop() };
    let stage = Stage::with(off);
    let one = stage.one(field());
    stage.refused(&one.snapshot(), ErrorCode::ComputerCaptureDenied);
    let Reply::Displays(displays) = stage.reply(&Action::Displays { limit: 1 }) else { panic!() };
    let display = displays.displays[0].display_id.clone();
    let snapshot = Action::SnapshotDisplay { display, bounds: ImageBounds::default() };
    stage.refused(&snapshot, ErrorCode::ComputerCaptureDenied);
    assert_eq!(stage.desktop.asked(Step::Capture), 0);
    stage.tree(&one.surface, None);
}

#[test]
fn a_display_s_picture_leaves_out_what_must_not_be_seen() {
    let stage = Stage::new();
    let own = stage.desktop.window_with("Panel", |facts| facts.belongs_to = Belonging::Deskhand);
    let root = stage.desktop.window_with("Root", |facts| facts.belongs_to = Belonging::Elevated);
    let hidden = stage.desktop.window_with("Icon", |facts| {
        facts.belongs_to = Belonging::Elevated;
        facts.minimised = true;
    });
    stage.desktop.window("Open");
    let login = stage.desktop.window("Login");
    stage.desktop.add(&stage.desktop.root(&login), Element::new(Role::PasswordTextbox, "Pin").state(State::Focused));
    let Reply::Displays(displays) = stage.reply(&Action::Displays { limit: 1 }) else { panic!() };
    let display = displays.displays[0].display_id.clone();
    let answer = stage.call(&Action::SnapshotDisplay { display, bounds: ImageBounds::default() });
    let Some(Reply::Snapshot(snapshot)) = answer.ending.data else { panic!("{:?}", answer.ending) };
    assert_eq!(stage.desktop.painted_out(), [login, hidden, root, own]);
    assert_eq!((snapshot.painted_out, snapshot.snapshot_generation), (Some(3), Some(1)));
    assert!(answer.image.is_some());
}

#[test]
fn a_forbidden_window_that_comes_during_a_display_s_capture_ends_it() {
    let stage = Stage::new();
    let Reply::Displays(displays) = stage.reply(&Action::Displays { limit: 1 }) else { panic!() };
    let display = displays.displays[0].display_id.clone();
    stage.desktop.before(Step::Capture, 0, |desktop| {
        desktop.window_with("Root", |facts| facts.belongs_to = Belonging::Elevated);
    });
    let action = Action::SnapshotDisplay { display, bounds: ImageBounds::default() };
    let answer = stage.runner.call(&stage.session, &action, &soon());
    assert_eq!(answer.ending.error.unwrap().code, ErrorCode::ComputerCaptureDenied);
    assert!(answer.image.is_none());
    stage.reply(&action);
}
