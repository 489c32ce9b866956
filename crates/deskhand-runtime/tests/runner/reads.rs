//! Reads: bounds, filters, generations, waits, pictures, values.

use std::time::Duration;

use deskhand_contract::action::{Action, Condition, Filter, ImageBounds, TreeFormat};
use deskhand_contract::element::State;
use deskhand_contract::error::ErrorCode;
use deskhand_contract::geometry::{Size, WindowRect};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Fault, TreeNote, TreeSupport, UnreadWhy};
use deskhand_contract::reply::{Reply, Tree};
use deskhand_contract::role::Role;
use deskhand_contract::verdict::{Evidence, Status};
use deskhand_testkit::{Element, Step, check, plant, recorded};

use crate::stage::{One, Stage, label, role, soon, titles, tree};

#[test]
fn windows_are_listed_front_to_back_within_the_limit() {
    let stage = Stage::new();
    for title in ["back", "middle", "front\n\"x\" #e123456\u{202e}"] {
        stage.desktop.window(title);
    }
    let windows = stage.windows();
    let shown = titles(&windows.windows);
    assert_eq!(shown, [Some(r#"front\n\"x\" #e123456\u{202e}"#), Some("middle"), Some("back")]);
    assert_eq!((windows.count, windows.truncated), (3, false));
    assert_eq!(windows.windows[0].states, ["foreground"]);
    let Reply::Windows(two) = stage.reply(&Action::Windows { limit: 2 }) else { panic!() };
    assert_eq!((two.windows.len(), two.count, two.truncated), (2, 3, true));
    assert_eq!(two.windows[0].surface_id, windows.windows[0].surface_id);
}

#[test]
fn an_owner_is_named_and_a_window_without_tree_says_why() {
    let stage = Stage::new();
    let main = stage.desktop.window("Main");
    stage.desktop.window_with("Dialog", |facts| {
        facts.owner = Some(main.clone());
        facts.modal = true;
        facts.tree = TreeSupport::No("it has no accessibility; start it anew".to_owned());
    });
    let windows = stage.windows().windows;
    assert_eq!(windows[0].owner, Some(windows[1].surface_id.clone()));
    assert!(windows[0].states.contains(&"modal".to_owned()));
    assert!(windows[0].no_tree.as_deref().is_some_and(|why| why.contains("start it anew")));
    let error = stage.refused(&tree(&windows[0].surface_id, None), ErrorCode::NotActionable);
    assert!(error.message.contains("start it anew") && error.message.contains("snapshot_window"), "{}", error.message);
}

#[test]
fn a_display_server_that_cannot_be_reached_is_an_error_and_never_no_windows() {
    let stage = Stage::new();
    stage.desktop.fail(Step::Windows, 0, 2, Fault::Backend("X11 is gone".to_owned()));
    let answer = stage.call(&Action::Windows { limit: 64 });
    let error = answer.ending.error.unwrap();
    assert_eq!((error.code, error.retryable), (ErrorCode::Unavailable, true));
    assert_eq!(answer.ending.outcome.verdict().status(), Status::NotApplicable);
    let trace = answer.ending.recovery_trace.unwrap();
    assert_eq!((trace.attempts, trace.recovered), (2, false));
}

#[test]
fn a_transient_read_is_repeated_once_and_says_so_and_nothing_else_is() {
    let stage = Stage::new();
    stage.desktop.window("One");
    stage.desktop.fail(Step::Windows, 0, 1, Fault::Backend("the bus was lost".to_owned()));
    let answer = stage.call(&Action::Windows { limit: 64 });
    assert!(answer.ending.error.is_none());
    let trace = answer.ending.recovery_trace.unwrap();
    assert_eq!((trace.attempts, trace.recovered, trace.provider.as_str()), (2, true, "fake"));
    let one = stage.one(Element::new(Role::Button, "x"));
    check(
        [("gone", Fault::Gone), ("silent", Fault::Unresponsive), ("cannot", Fault::Unsupported("no".to_owned()))],
        |fault| {
            let before = stage.desktop.asked(Step::Tree);
            stage.desktop.fail(Step::Tree, 0, 1, fault);
            let answer = stage.call(&tree(&one.surface, None));
            assert!(answer.ending.error.is_some() && answer.ending.recovery_trace.is_none());
            assert_eq!(stage.desktop.asked(Step::Tree), before + 1);
        },
    );
    // What an effect asks before it acts is not repeated either.
    stage.desktop.fail(Step::Resolve, 0, 1, Fault::Backend("the bus was lost".to_owned()));
    let answer = stage.call(&one.press());
    assert_eq!(answer.ending.error.unwrap().code, ErrorCode::Unavailable);
    assert!(answer.ending.recovery_trace.is_none());
    assert_eq!(stage.effects(), [""; 0]);
}

#[test]
fn find_is_literal_and_never_looks_at_values() {
    let stage = Stage::new();
    let window = stage.desktop.window("Find");
    let root = stage.desktop.root(&window);
    for element in [
        Element::new(Role::Button, "Save as…").state(State::Disabled),
        Element::new(Role::Button, "save"),
        Element::new(Role::Textbox, "Name").text("Save this").placeholder("Your name").state(State::Focused),
        Element::new(Role::Label, "a.c").described("Saved"),
    ] {
        stage.desktop.add(&root, element);
    }
    let surface = stage.surface(&window);
    let names = |filter: Filter| -> Vec<String> {
        stage.find(&surface, filter, 32).matches.into_iter().map(|node| node.name).collect()
    };
    assert_eq!(names(label("Save")), ["Save as…", "a.c"]);
    assert_eq!(names(label("save")), ["save"]);
    assert_eq!(names(label("Your name")), ["Name"]);
    assert_eq!(names(label("a.")), ["a.c"]);
    assert_eq!(names(label(".*")), [""; 0]);
    assert_eq!(names(Filter { focused: Some(true), ..Filter::default() }), ["Name"]);
    assert_eq!(names(Filter { enabled: Some(false), ..Filter::default() }), ["Save as…"]);
    assert_eq!(names(Filter { role: Some(Role::Button), enabled: Some(true), ..Filter::default() }), ["save"]);
    let found = stage.find(&surface, role(Role::Button), 1);
    assert_eq!((found.matches.len(), found.count, found.truncated), (1, 2, true));
    assert!(found.matches[0].affordances.has(deskhand_contract::element::Affordance::CanPress));
}

#[test]
fn find_says_what_was_not_searched() {
    let stage = Stage::new();
    let window = stage.desktop.window("Sheet");
    stage
        .desktop
        .add(&stage.desktop.root(&window), Element::new(Role::Table, "Sheet1").unread(2_147_483_647, UnreadWhy::Lazy));
    let surface = stage.surface(&window);
    let found = stage.find(&surface, label("B7"), 8);
    assert!(found.truncated && !found.notes.is_empty(), "{found:?}");
    stage.desktop.notes(&window, vec![TreeNote::Settling, TreeNote::Partial]);
    assert_eq!(stage.find(&surface, label("B7"), 8).notes.len(), 3);
}

#[test]
fn a_broken_tree_is_an_error_or_the_part_that_holds() {
    use deskhand_contract::element::ElementFacts;
    use deskhand_contract::provider::{NativeKey, NativeNode, NativeTree};
    let node = |key: u8, parent: Option<u32>| NativeNode {
        key: NativeKey::new(&[key]),
        parent,
        facts: ElementFacts::new(Role::Button, &format!("Button {key}")),
        unread: None,
    };
    type Row = (Vec<NativeNode>, Option<u32>);
    let rows: [(&str, Row); 5] = [
        ("nothing", (vec![], None)),
        ("no root", (vec![node(0, Some(0))], None)),
        ("its own parent", (vec![node(0, None), node(1, Some(1)), node(2, Some(0))], Some(2))),
        ("a cycle", (vec![node(0, None), node(1, Some(2)), node(2, Some(1)), node(3, Some(0))], Some(2))),
        ("a parent that is not there", (vec![node(0, None), node(1, Some(99))], Some(1))),
    ];
    check(rows, |(nodes, shown)| {
        let stage = Stage::new();
        let window = stage.desktop.window("Broken");
        let surface = stage.surface(&window);
        let notes = Vec::new();
        stage.desktop.broken(&window, NativeTree { revision: 1, nodes, toolkit: None, identity_persists: true, notes });
        match shown {
            None => drop(stage.refused(&tree(&surface, None), ErrorCode::NotActionable)),
            Some(shown) => {
                let read = stage.tree(&surface, None);
                assert_eq!((read.shown, read.notes.len()), (shown, 1), "{read:?}");
            }
        }
    });
}

fn big(stage: &Stage, count: usize) -> One {
    let window = stage.desktop.window("Big");
    let root = stage.desktop.root(&window);
    for number in 0..count {
        stage.desktop.add(&root, Element::new(Role::Button, &format!("Button {number}")));
    }
    let surface = stage.surface(&window);
    let element = stage.find(&surface, label("Button 1"), 1).matches[0].element_id.clone();
    One { window, key: root, surface, element }
}

#[test]
fn a_tree_is_bounded_and_says_what_it_left_out() {
    let stage = Stage::new();
    let one = big(&stage, 18);
    let action = |max_nodes, format| Action::AccessibilityTree {
        surface: one.surface.clone(),
        root: None,
        max_depth: 24,
        max_nodes,
        since_generation: None,
        format,
    };
    let Reply::Tree(tree) = stage.reply(&action(5, TreeFormat::Outline)) else { panic!() };
    assert_eq!((tree.shown, tree.total), (5, 19));
    assert!(tree.truncated.as_deref().is_some_and(|cut| cut.contains("14 more nodes")), "{:?}", tree.truncated);
    assert!(tree.nodes.is_none() && tree.outline.is_some());
    let Reply::Tree(tree) = stage.reply(&action(400, TreeFormat::Json)) else { panic!() };
    let nodes = tree.nodes.unwrap();
    assert_eq!((nodes.len(), tree.outline, tree.truncated), (19, None, None));
    assert!(nodes[1..].iter().all(|node| node.parent == Some(nodes[0].element_id.clone())));
    assert_eq!(nodes.iter().filter(|node| node.element_id == one.element).count(), 1);
}

fn lines(tree: &Tree) -> Vec<&str> {
    tree.delta.as_ref().unwrap().lines.iter().map(String::as_str).collect()
}

#[test]
fn since_a_generation_only_the_changes_are_told() {
    let stage = Stage::new();
    let (window, planted) = plant(&stage.desktop, recorded("form"));
    let surface = stage.surface(&window);
    let first = stage.tree(&surface, None);
    assert!(first.generation > 0 && first.delta.is_none());
    // Unchanged: the same generation, no line.
    let same = stage.tree(&surface, Some(first.generation));
    assert_eq!((same.generation, lines(&same)), (first.generation, vec![]));
    let name = planted[2].clone();
    stage.desktop.set_text(&name, "Ada");
    stage.desktop.add(&stage.desktop.root(&window), Element::new(Role::Button, "More"));
    stage.desktop.remove(planted.last().unwrap());
    let second = stage.tree(&surface, Some(first.generation));
    let told = lines(&second);
    assert!(second.generation > first.generation && second.outline.is_none());
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("- button \"Cancel\""), "{told:?}");
    assert!(told[1].starts_with("~ textbox \"Name\"") && told[1].contains("(has value)"), "{told:?}");
    assert!(told[2].starts_with("+ button \"More\""), "{told:?}");
    assert!(told.iter().all(|line| !line.contains("Ada")));
    // From an older one too, while it is kept; a later one knows no more of it.
    assert_eq!(lines(&stage.tree(&surface, Some(first.generation))).len(), 3);
    // One that is not kept is the whole, and says so.
    let whole = stage.tree(&surface, Some(9_999));
    assert!(whole.delta.is_none() && whole.outline.is_some() && !whole.notes.is_empty());
}

#[test]
fn what_was_not_read_is_never_told_as_a_change() {
    let stage = Stage::new();
    let one = big(&stage, 3);
    let first = stage.tree(&one.surface, None).generation;
    stage.desktop.notes(&one.window, vec![TreeNote::Partial]);
    let partial = stage.tree(&one.surface, Some(first));
    assert!(partial.delta.is_none() && partial.notes.len() == 2, "{:?}", partial.notes);
    let (done, _) = stage.done(&one.focus());
    assert!(done.changes.is_none());
    // Nor is a part a base for changes.
    stage.desktop.notes(&one.window, Vec::new());
    assert!(stage.tree(&one.surface, Some(partial.generation)).delta.is_none());
    assert!(stage.tree(&one.surface, Some(first)).delta.is_some());
}

#[test]
fn an_evicted_generation_is_answered_with_the_whole() {
    let stage = Stage::new();
    let one = big(&stage, 3);
    let first = stage.tree(&one.surface, None).generation;
    for number in 0..6 {
        stage.desktop.change(&one.key, |facts| facts.description = format!("{number}").into());
        stage.tree(&one.surface, None);
    }
    assert!(stage.tree(&one.surface, Some(first)).delta.is_none());
}

#[test]
fn what_a_delta_shows_can_be_acted_on() {
    let stage = Stage::new();
    let one = big(&stage, 3);
    let first = stage.tree(&one.surface, None).generation;
    let added = stage.desktop.add(&one.key, Element::new(Role::Button, "New"));
    let delta = stage.tree(&one.surface, Some(first));
    let line = lines(&delta).into_iter().find(|line| line.starts_with('+')).unwrap().to_owned();
    let id = line.rsplit('#').next().unwrap().parse().unwrap();
    stage.done(&One { element: id, ..one.clone() }.focus());
    assert_eq!(stage.desktop.performed()[0].element, Some(added));
}

#[test]
fn a_value_is_shown_on_request_alone_and_within_its_bound() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Textbox, "Name").text("Ada"));
    let Reply::ElementState(state) = stage.reply(&one.state(false)) else { panic!() };
    assert!(state.value.is_none() && state.element.value_empty == Some(false));
    assert_eq!(stage.desktop.asked(Step::Value), 0);
    let Reply::ElementState(state) = stage.reply(&one.state(true)) else { panic!() };
    assert_eq!(state.value.unwrap().0, "Ada");
    assert_eq!(state.element.element_id, one.element);
    for (length, fits) in [(16 << 10, true), ((16 << 10) + 1, false)] {
        stage.desktop.set_text(&one.key, &"x".repeat(length));
        match stage.call(&one.state(true)).ending.error {
            None => assert!(fits),
            Some(error) => assert_eq!((error.code, fits), (ErrorCode::TooLarge, false)),
        }
    }
    let number = stage.one(Element::new(Role::Slider, "Volume").number(2.5, 0.0, 10.0));
    let Reply::ElementState(state) = stage.reply(&number.state(true)) else { panic!() };
    assert_eq!(state.value.unwrap().0, "2.5");
    let plain = stage.one(Element::new(Role::Button, "OK"));
    stage.refused(&plain.state(true), ErrorCode::NotActionable);
}

#[test]
fn a_read_that_fails_is_not_applicable_and_never_unknown() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Textbox, "Name"));
    for fault in [
        Fault::Gone,
        Fault::Unresponsive,
        Fault::TooLarge,
        Fault::PermissionMissing("allow it".into()),
        Fault::NotCapturable("no".into()),
    ] {
        stage.desktop.fail(Step::Resolve, 0, 1, fault);
        let answer = stage.call(&one.state(false));
        let verdict = answer.ending.outcome.verdict();
        assert_eq!((verdict.status(), verdict.evidence()), (Status::NotApplicable, Evidence::DeclaredRead));
        assert_ne!(answer.ending.error.unwrap().code, ErrorCode::OutcomeUnknown);
    }
}

#[test]
fn waits_for_windows_and_for_their_end() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    let window = |title: &str| Condition::Window { title: title.to_owned() };
    let waited = stage.waited(window("On"), 10);
    assert!(waited.satisfied);
    assert_eq!(waited.windows[0].surface_id, one.surface);
    assert!(!stage.waited(window("on"), 10).satisfied, "case matters");
    assert!(!stage.waited(Condition::WindowGone { title: "One".into() }, 10).satisfied);
    assert!(stage.waited(Condition::WindowGone { title: "Two".into() }, 10).satisfied);
    let gone = || Condition::SurfaceGone { surface: one.surface.clone() };
    assert!(!stage.waited(gone(), 10).satisfied);
    let element_gone = |name: &str| Condition::ElementGone { surface: one.surface.clone(), filter: label(name) };
    assert!(!stage.waited(element_gone("Save"), 10).satisfied);
    assert!(stage.waited(element_gone("Load"), 10).satisfied);
    stage.desktop.notes(&one.window, vec![TreeNote::Partial]);
    assert!(!stage.waited(element_gone("Load"), 10).satisfied, "what was not read may be there");
    stage.desktop.close(&one.window);
    assert!(stage.waited(element_gone("Save"), 10).satisfied);
    assert!(stage.waited(gone(), 10).satisfied);
    // Also after its id has ended; an id that never was is stale.
    stage.windows();
    assert!(stage.waited(gone(), 10).satisfied);
    let never = Condition::SurfaceGone { surface: "s00000000".parse().unwrap() };
    stage.refused(&Action::WaitFor { condition: never, timeout_ms: 10 }, ErrorCode::StaleSurface);
}

#[test]
fn a_wait_outlives_an_application_that_hangs_for_a_while() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    stage.desktop.hang(&one.window);
    let condition = || Condition::Element { surface: one.surface.clone(), filter: label("Save") };
    assert!(!stage.waited(condition(), 50).satisfied);
    stage.desktop.wake(&one.window);
    assert!(stage.waited(condition(), 10_000).satisfied);
    // A window that goes ends the wait for what is in it.
    stage.desktop.close(&one.window);
    stage.refused(&Action::WaitFor { condition: condition(), timeout_ms: 10_000 }, ErrorCode::StaleSurface);
}

#[test]
fn a_wait_answers_within_its_caller_s_time() {
    let stage = Stage::new();
    let action = Action::WaitFor { condition: Condition::Window { title: "never".into() }, timeout_ms: 30_000 };
    let answer = stage.runner.call(&stage.session, &action, &Limit::after(Duration::from_millis(120)));
    let Some(Reply::Waited(waited)) = answer.ending.data else { panic!("{:?}", answer.ending.error) };
    assert!(!waited.satisfied);
}

#[test]
fn a_window_s_picture_is_its_own_within_the_bounds_asked_for() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    let snapshot = |region, max_width| Action::SnapshotWindow {
        surface: one.surface.clone(),
        region,
        bounds: ImageBounds { max_width, max_height: None },
    };
    let answer = stage.runner.call(&stage.session, &snapshot(None, Some(200)), &soon());
    let Some(Reply::Snapshot(picture)) = answer.ending.data else { panic!("{:?}", answer.ending.error) };
    assert_eq!((picture.source, picture.output), (Size::new(400, 300), Size::new(200, 150)));
    assert_eq!(picture.region, WindowRect::new(0, 0, 400, 300));
    let image = answer.image.unwrap();
    assert_eq!((image.len() as u64, picture.mime.as_str()), (picture.bytes, "image/jpeg"));
    assert!(picture.snapshot_generation.is_none() && picture.captured_at.starts_with("2026-01-01T"));
    let region = WindowRect::new(350, 250, 50, 50);
    let Reply::Snapshot(part) = stage.reply(&snapshot(Some(region), None)) else { panic!() };
    assert_eq!((part.region, part.output), (region, Size::new(50, 50)));
    for outside in [WindowRect::new(351, 250, 50, 50), WindowRect::new(-1, 0, 5, 5), WindowRect::new(0, 0, 401, 1)] {
        let error = stage.refused(&snapshot(Some(outside), None), ErrorCode::InvalidRequest);
        assert!(error.message.contains("400 by 300"), "{}", error.message);
    }
}

#[test]
fn a_capture_that_fails_has_its_reason_and_costs_the_tree_nothing() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Button, "Save"));
    stage.desktop.change_window(&one.window, |facts| facts.minimised = true);
    let error = stage.refused(&one.snapshot(), ErrorCode::ComputerCaptureDenied);
    assert!(error.message.contains("minimised"), "{}", error.message);
    stage.tree(&one.surface, None);
    stage.desktop.fail(Step::Capture, 0, 1, Fault::Gone);
    stage.refused(&one.snapshot(), ErrorCode::StaleSurface);
}

#[test]
fn snapshot_generations_grow_and_are_positive() {
    let stage = Stage::new();
    let Reply::Displays(displays) = stage.reply(&Action::Displays { limit: 16 }) else { panic!() };
    assert_eq!((displays.displays[0].source_width, displays.displays[0].primary), (1_920, true));
    let display = displays.displays[0].display_id.clone();
    let take = || {
        let bounds = ImageBounds { max_width: Some(64), max_height: None };
        match stage.reply(&Action::SnapshotDisplay { display: display.clone(), bounds }) {
            Reply::Snapshot(picture) => picture.snapshot_generation.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let (first, second) = (take(), take());
    assert!(first >= 1 && second > first);
}

#[test]
fn targets_and_the_status_say_what_the_provider_says() {
    let stage = Stage::new();
    let Reply::Targets(targets) = stage.reply(&Action::Targets) else { panic!() };
    assert_eq!(targets.targets.len(), 1);
    assert_eq!((targets.targets[0].platform.as_str(), targets.targets[0].private), ("fake", true));
    assert_eq!(targets.targets[0], stage.runner.target());
    stage.desktop.window("One");
    let Reply::AccessibilityStatus(status) = stage.reply(&Action::AccessibilityStatus) else { panic!() };
    assert!(status.available && status.applications == 1);
}
