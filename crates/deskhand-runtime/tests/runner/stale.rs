//! When an id is stale, and when it is not. What is stale reaches nothing.

use deskhand_contract::action::{Action, TextMode};
use deskhand_contract::error::ErrorCode;
use deskhand_contract::id::{ElementId, SurfaceId};
use deskhand_contract::provider::NativeKey;
use deskhand_contract::role::Role;
use deskhand_contract::wire::Mode;
use deskhand_testkit::{Element, FakeDesktop, Step, check};

use crate::stage::{One, Stage, label, role};

/// A window with a list of three rows, each with a button, and the button of the second.
struct Rows {
    stage: Stage,
    list: NativeKey,
    other: NativeKey,
    row: NativeKey,
    one: One,
}

impl Rows {
    fn new() -> Self {
        let stage = Stage::new();
        let window = stage.desktop.window("Rows");
        let root = stage.desktop.root(&window);
        let list = stage.desktop.add(&root, Element::new(Role::List, "Mail"));
        let other = stage.desktop.add(&root, Element::new(Role::List, "Mail"));
        let mut rows = Vec::new();
        for name in ["first", "second", "third"] {
            let row = stage.desktop.add(&list, Element::new(Role::ListItem, name));
            stage.desktop.add(&row, Element::new(Role::Checkbox, &format!("Star {name}")));
            rows.push((row, name));
        }
        let row = rows[1].0.clone();
        let surface = stage.surface(&window);
        let found = stage.find(&surface, label("Star second"), 8);
        let element = found.matches[0].element_id.clone();
        let key = key_of(&stage.desktop, &window, "Star second");
        Self { list, other, row, one: One { window, key, surface, element }, stage }
    }
}

fn key_of(desktop: &FakeDesktop, window: &NativeKey, name: &str) -> NativeKey {
    use deskhand_contract::provider::{Provider as _, TreeAsk};
    let ask = TreeAsk { root: None, max_nodes: 999, max_depth: 99, bounds: false, affordances: false, values: false };
    let tree = desktop.tree(window, &ask, &crate::stage::soon()).unwrap();
    tree.nodes.iter().find(|node| &*node.facts.name == name).unwrap().key.clone()
}

type Change = fn(&Rows);

/// Changes after which the element is another one, or nothing proves that it is the same.
const STALE: [(&str, Change); 9] = [
    ("removed", |rows| rows.stage.desktop.remove(&rows.one.key)),
    ("its row removed", |rows| rows.stage.desktop.remove(&rows.row)),
    ("another role", |rows| rows.stage.desktop.change(&rows.one.key, |facts| facts.role = Role::Button)),
    ("another identifier", |rows| rows.stage.desktop.change(&rows.one.key, |facts| facts.identifier = "x".into())),
    ("its row renamed", |rows| rows.stage.desktop.change(&rows.row, |facts| facts.name = "other".into())),
    ("its list of another role", |rows| rows.stage.desktop.change(&rows.list, |facts| facts.role = Role::Table)),
    ("moved to a like place", |rows| rows.stage.desktop.move_below(&rows.row, &rows.other)),
    ("moved out", |rows| rows.stage.desktop.move_below(&rows.one.key, &rows.list)),
    ("identity given to a like one elsewhere", |rows| {
        rows.stage.desktop.move_below(&rows.one.key, &rows.other);
    }),
];

/// Changes after which it is the same one.
const SAME: [(&str, Change); 7] = [
    ("nothing", |_| {}),
    ("a row above", |rows| {
        rows.stage.desktop.insert(&rows.list, 0, Element::new(Role::ListItem, "new"));
    }),
    ("a row above gone", |rows| {
        let first = key_of(&rows.stage.desktop, &rows.one.window, "first");
        rows.stage.desktop.remove(&first);
    }),
    ("the window's title", |rows| {
        let root = rows.stage.desktop.root(&rows.one.window);
        rows.stage.desktop.change(&root, |facts| facts.name = "Rows (3)".into());
        rows.stage.desktop.change_window(&rows.one.window, |facts| facts.title = "Rows (3)".into());
    }),
    ("the window's size", |rows| {
        rows.stage.desktop.change_window(&rows.one.window, |facts| facts.geometry.width = 900);
    }),
    ("its value and states", |rows| {
        rows.stage.desktop.change(&rows.one.key, |facts| {
            facts.description = "changed".into();
        });
    }),
    ("its name, which a focus does not ask for", |rows| {
        rows.stage.desktop.change(&rows.one.key, |facts| facts.name = "Starred".into());
    }),
];

#[test]
fn what_is_not_proven_the_same_is_stale_for_effects_and_reads() {
    check(STALE, |change| {
        for act in [One::press as fn(&One) -> Action, One::focus, |one| one.state(false)] {
            let rows = Rows::new();
            change(&rows);
            let error = rows.stage.refused(&act(&rows.one), ErrorCode::StaleElement);
            let recovery = error.recovery.unwrap();
            let call = recovery.suggested_call.unwrap();
            assert_eq!(call.arguments.get_text("surface_id"), Some(rows.one.surface.as_str()));
            assert_eq!(call.arguments.get_text("action"), Some("find_elements"));
            assert_eq!(call.arguments.get_text("label"), Some("Star second"));
            assert!(recovery.reconcile_with.is_none());
            assert_eq!(rows.stage.effects(), [""; 0]);
        }
    });
}

#[test]
fn what_is_proven_the_same_is_acted_on_and_keeps_its_id() {
    check(SAME, |change| {
        let rows = Rows::new();
        change(&rows);
        rows.stage.done(&rows.one.focus());
        assert_eq!(rows.stage.desktop.performed()[0].element, Some(rows.one.key.clone()));
        let again = rows.stage.find(&rows.one.surface, label("Star"), 8);
        assert!(again.matches.iter().any(|node| node.element_id == rows.one.element));
    });
}

#[test]
fn a_changed_name_is_stale_for_press_and_select_until_it_is_shown_again() {
    let rows = Rows::new();
    rows.stage.desktop.change(&rows.one.key, |facts| facts.name = "Delete second".into());
    rows.stage.refused(&rows.one.press(), ErrorCode::StaleElement);
    rows.stage.refused(&rows.one.select(), ErrorCode::StaleElement);
    // A search that shows others does not tell the caller the new name.
    rows.stage.find(&rows.one.surface, label("Star first"), 8);
    rows.stage.refused(&rows.one.press(), ErrorCode::StaleElement);
    assert_eq!(rows.stage.effects(), [""; 0]);
    // One that shows it does, under the same id.
    let found = rows.stage.find(&rows.one.surface, label("Delete second"), 8);
    assert_eq!(found.matches[0].element_id, rows.one.element);
    rows.stage.done(&rows.one.press());
}

#[test]
fn without_persistent_identities_the_place_among_siblings_decides() {
    let fresh = || {
        let rows = Rows::new();
        rows.stage.desktop.persists(&rows.one.window, false);
        let found = rows.stage.find(&rows.one.surface, label("Star second"), 8);
        let one = One { element: found.matches[0].element_id.clone(), ..rows.one.clone() };
        Rows { one, ..rows }
    };
    let rows = fresh();
    rows.stage.done(&rows.one.press());
    // A like sibling above it makes it another one, as far as anyone can tell.
    let rows = fresh();
    rows.stage.desktop.insert(&rows.row, 0, Element::new(Role::Checkbox, "Star new"));
    rows.stage.refused(&rows.one.press(), ErrorCode::StaleElement);
    // One of another role does not.
    let rows = fresh();
    rows.stage.desktop.insert(&rows.row, 0, Element::new(Role::Label, "note"));
    rows.stage.done(&rows.one.press());
    // A handle that was given to another element of the same place, role and name cannot be told apart: it is what
    // the platform calls the same. One of another role can.
    let rows = fresh();
    rows.stage.desktop.replace(&rows.one.key, Element::new(Role::Button, "Star second"));
    rows.stage.refused(&rows.one.press(), ErrorCode::StaleElement);
}

#[test]
fn a_page_s_new_title_ends_nothing_while_its_document_is_proven_the_same() {
    let page = |persists: bool| {
        let stage = Stage::new();
        let window = stage.desktop.window("Page");
        let document = stage.desktop.add(&stage.desktop.root(&window), Element::new(Role::Document, "Inbox"));
        let button = stage.desktop.add(&document, Element::new(Role::Button, "Archive"));
        stage.desktop.persists(&window, persists);
        let one = stage.known(&window, &button);
        (stage, document, one)
    };
    let (stage, document, one) = page(true);
    stage.desktop.change(&document, |facts| facts.name = "Inbox (1)".into());
    stage.done(&one.press());
    // Another document, or one that nothing proves the same, is another page.
    let (stage, document, one) = page(true);
    let other = stage.desktop.add(&stage.desktop.root(&one.window), Element::new(Role::Document, "Inbox"));
    stage.desktop.move_below(&one.key, &other);
    stage.desktop.remove(&document);
    stage.refused(&one.press(), ErrorCode::StaleElement);
    let (stage, document, one) = page(false);
    stage.desktop.change(&document, |facts| facts.name = "Inbox (1)".into());
    stage.refused(&one.press(), ErrorCode::StaleElement);
    assert_eq!(stage.effects(), [""; 0]);
}

#[test]
fn a_change_between_the_look_and_the_dispatch_is_stale() {
    check(STALE, |change| {
        let rows = Rows::new();
        let one = rows.one.clone();
        // The first live read of an effect is its admission's, the second its binding's.
        let desktop = std::sync::Arc::clone(&rows.stage.desktop);
        let rows = std::sync::Arc::new(rows);
        let inside = std::sync::Arc::clone(&rows);
        desktop.before(Step::Resolve, 1, move |_| change(&inside));
        rows.stage.refused(&one.press(), ErrorCode::StaleElement);
        assert_eq!(rows.stage.effects(), [""; 0]);
    });
}

#[test]
fn a_window_that_is_gone_is_a_stale_surface_with_advice() {
    type Act = fn(&One) -> Action;
    let acts: [(&str, Act); 6] = [
        ("press", One::press),
        ("activate", One::activate),
        ("tree", |one| crate::stage::tree(&one.surface, None)),
        ("state", |one| one.state(false)),
        ("snapshot", One::snapshot),
        ("text", |one| one.text(TextMode::Replace, "x")),
    ];
    check(acts, |act| {
        let rows = Rows::new();
        rows.stage.desktop.close(&rows.one.window);
        // Another one of the same title in the same place is not it.
        rows.stage.desktop.window("Rows");
        let error = rows.stage.refused(&act(&rows.one), ErrorCode::StaleSurface);
        let call = error.recovery.unwrap().suggested_call.unwrap();
        assert_eq!((call.tool.as_str(), call.arguments.get_text("action")), ("computer_observe", Some("windows")));
        assert_eq!(rows.stage.effects(), [""; 0]);
    });
}

#[test]
fn a_window_keeps_its_id_while_it_is_there_and_no_id_comes_back() {
    let stage = Stage::new();
    let window = stage.desktop.window("One");
    let id = stage.surface(&window);
    stage.desktop.change_window(&window, |facts| facts.title = "Two".into());
    let twin = stage.desktop.window("Two");
    assert_eq!(stage.surface(&window), id);
    assert_ne!(stage.surface(&twin), id);
    stage.desktop.close(&window);
    stage.windows();
    stage.refused(&crate::stage::tree(&id, None), ErrorCode::StaleSurface);
}

#[test]
fn sessions_neither_share_nor_see_ids() {
    let rows = Rows::new();
    let other = rows.stage.runner.session(None, Mode::Auto);
    let stranger = Stage { session: other, ..rows.stage };
    let surface = stranger.surface(&rows.one.window);
    assert_ne!(surface, rows.one.surface);
    stranger.refused(&rows.one.press(), ErrorCode::StaleSurface);
    // Its own surface with the other's element.
    let mixed = One { surface: surface.clone(), ..rows.one.clone() };
    stranger.refused(&mixed.press(), ErrorCode::StaleElement);
    assert_eq!(stranger.effects(), [""; 0]);
    let found = stranger.find(&surface, label("Star second"), 8);
    assert_ne!(found.matches[0].element_id, rows.one.element);
    let own = One { element: found.matches[0].element_id.clone(), ..mixed };
    stranger.done(&own.press());
}

#[test]
fn an_element_of_another_window_is_stale() {
    let stage = Stage::new();
    let first = stage.one(Element::new(Role::Button, "OK"));
    let second = stage.one(Element::new(Role::Button, "OK"));
    let mixed = One { surface: second.surface.clone(), ..first.clone() };
    stage.refused(&mixed.press(), ErrorCode::StaleElement);
    assert_eq!(stage.effects(), [""; 0]);
    stage.done(&first.press());
}

#[test]
fn invented_ids_hit_nothing() {
    let rows = Rows::new();
    let surface: SurfaceId = "s00000000".parse().unwrap();
    let element: ElementId = "e000000".parse().unwrap();
    rows.stage.refused(&One { surface, ..rows.one.clone() }.press(), ErrorCode::StaleSurface);
    rows.stage.refused(&One { element, ..rows.one.clone() }.press(), ErrorCode::StaleElement);
}

#[test]
fn a_named_session_is_shared_and_an_unnamed_one_is_not() {
    let rows = Rows::new();
    let named = rows.stage.runner.session(Some("cli"), Mode::Auto);
    let stage = Stage { session: named, ..rows.stage };
    let id = stage.surface(&rows.one.window);
    let again = stage.runner.session(Some("cli"), Mode::Auto);
    let stage = Stage { session: again, ..stage };
    assert_eq!(stage.surface(&rows.one.window), id);
    let unnamed = stage.runner.session(None, Mode::Auto);
    let stage = Stage { session: unnamed, ..stage };
    assert_ne!(stage.surface(&rows.one.window), id);
}

#[test]
fn the_oldest_idle_named_session_ends_first() {
    let stage = Stage::new();
    let held = stage.runner.session(Some("held"), Mode::Auto);
    let idle = stage.runner.session(Some("idle"), Mode::Auto).number();
    for number in 0..63 {
        let _ = stage.runner.session(Some(&format!("more {number}")), Mode::Auto);
    }
    assert_eq!(stage.runner.session(Some("held"), Mode::Auto).number(), held.number());
    assert_ne!(stage.runner.session(Some("idle"), Mode::Auto).number(), idle);
}

#[test]
fn display_ids_end_with_the_session_s_next_list() {
    use deskhand_contract::action::ImageBounds;
    use deskhand_contract::reply::Reply;
    let stage = Stage::new();
    let list = |stage: &Stage| match stage.reply(&Action::Displays { limit: 16 }) {
        Reply::Displays(displays) => displays.displays[0].display_id.clone(),
        other => panic!("{other:?}"),
    };
    let snapshot = |display| Action::SnapshotDisplay { display, bounds: ImageBounds::default() };
    let first = list(&stage);
    let other = stage.runner.session(None, Mode::Auto);
    let stranger = Stage {
        session: other,
        desktop: stage.desktop.clone(),
        runner: stage.runner.clone(),
        record: stage.record.clone(),
    };
    list(&stranger);
    stage.reply(&snapshot(first.clone()));
    stranger.refused(&snapshot(first.clone()), ErrorCode::StaleDisplay);
    let second = list(&stage);
    let error = stage.refused(&snapshot(first), ErrorCode::StaleDisplay);
    let call = error.recovery.unwrap().suggested_call.unwrap();
    assert_eq!(call.arguments.get_text("action"), Some("displays"));
    // One that changed its size is not what was listed.
    use deskhand_contract::provider::Provider as _;
    let mut displays = stage.desktop.displays(&crate::stage::soon()).unwrap();
    displays[0].geometry.width = 1_280;
    stage.desktop.set_displays(displays);
    stage.refused(&snapshot(second), ErrorCode::StaleDisplay);
}

#[test]
fn a_part_of_a_tree_keeps_the_ids_of_the_whole() {
    let rows = Rows::new();
    let list = rows.stage.find(&rows.one.surface, role(Role::List), 8).matches[0].element_id.clone();
    let part = Action::AccessibilityTree {
        surface: rows.one.surface.clone(),
        root: Some(list),
        max_depth: 24,
        max_nodes: 400,
        since_generation: None,
        format: deskhand_contract::action::TreeFormat::Outline,
    };
    let deskhand_contract::reply::Reply::Tree(tree) = rows.stage.reply(&part) else { panic!() };
    let outline = tree.outline.unwrap();
    assert!(outline.contains(rows.one.element.as_str()), "{outline}");
    rows.stage.done(&rows.one.press());
    // A root that is gone is a stale element, not a stale window.
    rows.stage.desktop.remove(&rows.list);
    rows.stage.refused(&part, ErrorCode::StaleElement);
}
