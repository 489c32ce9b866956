//! Trees of real applications, against another client of the accessibility bus, and acts against the
//! applications' own records.

mod desk;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use desk::{Desk, Shape, eventually, limit, window};
use deskhand_contract::action::TextMode;
use deskhand_contract::element::{Affordance, State, ValuePresence};
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{
    Dispatch, Effect, EffectTarget, Fault, NativeNode, NativeTree, NativeValue, Provider as _, TreeAsk, TreeNote,
    UnreadWhy, WindowFacts,
};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::role::Role;
use deskhand_linux::LinuxProvider;

const WHOLE: TreeAsk =
    TreeAsk { root: None, max_nodes: 60_000, max_depth: 200, bounds: true, affordances: true, values: true };
const PLAIN: TreeAsk = TreeAsk { bounds: false, affordances: false, values: false, ..WHOLE };

fn desk() -> Desk {
    Desk::start(&Shape { size: "1280x900x24", manager: true, bus: true })
}

fn shared(name: &str) -> String {
    format!("{}/../../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Role and name of every node, counted.
type Census = BTreeMap<(String, String), usize>;

fn census(tree: &NativeTree) -> Census {
    let mut census = Census::new();
    for node in &tree.nodes {
        let role = node.facts.native_role.replace(' ', "-");
        *census.entry((role, node.facts.name.to_string())).or_default() += 1;
    }
    census
}

fn oracle(desk: &Desk, title: &str) -> Census {
    let script = format!("{}/tests/fixtures/oracle.py", env!("CARGO_MANIFEST_DIR"));
    let mut census = Census::new();
    for line in desk.output("/usr/bin/python3", &[&script, title]).lines() {
        let pair: (String, String) = serde_json::from_str(line).expect("the oracle prints pairs");
        *census.entry(pair).or_default() += 1;
    }
    census
}

/// What differs between two, as lines.
fn difference(ours: &Census, theirs: &Census) -> Vec<String> {
    let keys: std::collections::BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    // GTK 4 names its unnamed panels by their type, and not always.
    keys.into_iter()
        .filter(|(role, _)| !matches!(role.as_str(), "panel" | "filler" | "unknown" | "invalid"))
        .filter_map(|key| {
            let (a, b) = (ours.get(key).copied().unwrap_or(0), theirs.get(key).copied().unwrap_or(0));
            (a != b).then(|| format!("{key:?}: {a} here, {b} by the oracle"))
        })
        .collect()
}

/// Waits until both clients see the same.
#[track_caller]
fn agrees(desk: &Desk, provider: &LinuxProvider, title: &str, least: usize) {
    let window = window(provider, title);
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let tree = provider.tree(&window.key, &PLAIN, &limit());
        let last = match &tree {
            Ok(tree) if tree.nodes.len() >= least => difference(&census(tree), &oracle(desk, title)),
            Ok(tree) => vec![format!("only {} nodes, {:?}", tree.nodes.len(), tree.notes)],
            Err(fault) => vec![format!("{fault:?}")],
        };
        if last.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "{title}: {last:#?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[track_caller]
fn find<'t>(tree: &'t NativeTree, role: Role, name: &str) -> &'t NativeNode {
    tree.nodes.iter().find(|node| node.facts.role == role && &*node.facts.name == name).unwrap_or_else(|| {
        panic!(
            "no {role} {name:?} in {:?}",
            tree.nodes.iter().map(|node| (node.facts.role, &node.facts.name)).collect::<Vec<_>>()
        )
    })
}

#[track_caller]
fn act(provider: &LinuxProvider, window: &WindowFacts, node: &NativeNode, effect: &Effect) -> Dispatch {
    provider.perform(&EffectTarget { window: &window.key, element: Some(&node.key) }, effect, &limit())
}

#[test]
fn gtk3_dialogs_agree_with_another_client() {
    let mut desk = desk();
    desk.run("zenity", &["--entry", "--title", "Ask", "--text", "hello"]);
    agrees(&desk, &desk.provider(), "Ask", 8);
}

#[test]
fn gtk3_widget_factory_agrees_with_another_client() {
    let mut desk = desk();
    desk.run("gtk3-widget-factory", &[]);
    agrees(&desk, &desk.provider(), "gtk3-widget-factory", 200);
}

#[test]
fn gtk4_agrees_with_another_client() {
    let mut desk = desk();
    desk.run("/usr/bin/python3", &[&shared("gtk4_form.py"), "--title", "Four", "--log", "four.log"]);
    agrees(&desk, &desk.provider(), "Four", 20);
}

#[test]
fn qt5_and_qt6_agree_with_another_client() {
    let mut desk = desk();
    for version in ["5", "6"] {
        let title = format!("Qt {version}");
        desk.python(
            &format!("qt{version}.py"),
            &format!(
                "import sys\nfrom PyQt{version}.QtWidgets import *\na = QApplication(sys.argv)\nw = QWidget()\nw.setWindowTitle('{title}')\n\
                 l = QFormLayout(w)\ne = QLineEdit()\ne.setAccessibleName('Name')\nl.addRow(e)\nl.addRow(QPushButton('Send'))\n\
                 l.addRow(QCheckBox('Agree'))\nl.addRow(QSpinBox())\nc = QComboBox()\nc.addItems(['one', 'two'])\nl.addRow(c)\nw.show()\n\
                 a.{}()\n",
                if version == "5" { "exec_" } else { "exec" }
            ),
        );
        agrees(&desk, &desk.provider(), &title, 6);
    }
}

#[test]
fn an_unchanged_tree_is_the_same_and_a_change_is_seen() {
    let mut desk = desk();
    desk.run("/usr/bin/python3", &[&shared("gtk3_form.py"), "--title", "Form", "--log", "form.log"]);
    let provider = desk.provider();
    let window = window(&provider, "Form");
    let mut tree = provider.tree(&window.key, &WHOLE, &limit());
    eventually("the application has settled", || {
        let before = tree.as_ref().map(|tree| tree.revision).ok();
        std::thread::sleep(Duration::from_millis(300));
        tree = provider.tree(&window.key, &WHOLE, &limit());
        tree.as_ref().map(|tree| tree.revision).ok() == before && before.is_some()
    });
    let tree = tree.expect("a tree");
    let again = provider.tree(&window.key, &WHOLE, &limit()).expect("a tree");
    assert!(std::sync::Arc::ptr_eq(&tree, &again), "nothing changed, and it was read again");
    let mark = provider.change_mark();
    let check = tree.nodes.iter().find(|node| node.facts.role == Role::Checkbox).expect("a check box");
    assert_eq!(act(&provider, &window, check, &Effect::Press), Dispatch::Sent);
    assert!(
        provider.await_change(mark, None, &Limit::after(Duration::from_secs(5))) > mark,
        "the change was announced"
    );
    eventually("the check is seen", || {
        let tree = provider.tree(&window.key, &WHOLE, &limit()).expect("a tree");
        tree.nodes.iter().any(|node| node.key == check.key && node.facts.states.has(State::Checked))
    });
}

#[test]
fn the_application_itself_records_what_was_done() {
    let mut desk = desk();
    let log = desk.path("acts.log");
    desk.run("/usr/bin/python3", &[&shared("gtk3_form.py"), "--title", "Acts", "--log", &log.display().to_string()]);
    let provider = desk.provider();
    let window = window(&provider, "Acts");
    let tree = provider.tree(&window.key, &WHOLE, &limit()).expect("a tree");
    let item = find(&tree, Role::MenuItem, "Save");
    assert!(item.facts.affordances.is_some_and(|can| can.has(Affordance::CanPress)));
    assert_eq!(act(&provider, &window, item, &Effect::Press), Dispatch::Sent);
    eventually("the menu item was chosen", || desk::read(&log).contains("\"Save\""));
    let entry = tree
        .nodes
        .iter()
        .find(|node| {
            node.facts.affordances.is_some_and(|can| can.has(Affordance::CanInputText))
                && node.facts.value == ValuePresence::Empty
                && !node.facts.protected
        })
        .expect("an empty entry");
    let text = Effect::InputText { mode: TextMode::Replace, text: Redacted::new("Grüße 東京".into()) };
    assert_eq!(act(&provider, &window, entry, &text), Dispatch::Sent);
    eventually("the text arrived", || {
        desk::read(&log).contains("Grüße 東京") || desk::read(&log).contains("Gr\\u00fc\\u00dfe")
    });
    match provider.value(&window.key, &entry.key, &limit()) {
        Ok(NativeValue::Text(value)) => assert_eq!(value.expose(), "Grüße 東京"),
        other => panic!("{other:?}"),
    }
    let password = tree.nodes.iter().find(|node| node.facts.role == Role::PasswordTextbox).expect("a password field");
    assert!(password.facts.protected);
    assert_eq!(password.facts.value, ValuePresence::Unknown);
    assert!(matches!(provider.value(&window.key, &password.key, &limit()), Err(Fault::Unsupported(_))));
}

#[test]
fn a_lineage_is_read_live_and_ends_with_the_element() {
    let mut desk = desk();
    desk.run("/usr/bin/python3", &[&shared("gtk3_form.py"), "--title", "Lineage", "--log", "lineage.log"]);
    let provider = desk.provider();
    let window = window(&provider, "Lineage");
    let tree = provider.tree(&window.key, &WHOLE, &limit()).expect("a tree");
    let item = find(&tree, Role::MenuItem, "alpha.txt");
    let resolved = provider.resolve(&window.key, &item.key, &limit()).expect("it is there");
    let names: Vec<&str> = resolved.lineage.iter().map(|step| &*step.name).collect();
    assert_eq!((names.first(), names.last()), (Some(&"Lineage"), Some(&"alpha.txt")));
    assert!(names.windows(2).any(|pair| pair == ["File", "Open Recent"]), "{names:?}");
    let other =
        provider.resolve(&window.key, &deskhand_contract::provider::NativeKey::new(b":1.999\0/org/a11y/x"), &limit());
    assert_eq!(other, Err(Fault::Gone));
}

#[test]
fn a_stopped_application_costs_the_others_nothing() {
    let mut desk = desk();
    let stopped = desk.run("zenity", &["--info", "--title", "Stopped", "--text", "x"]);
    desk.run("zenity", &["--info", "--title", "Well", "--text", "y"]);
    let provider = desk.provider();
    let (ill, well) = (window(&provider, "Stopped"), window(&provider, "Well"));
    eventually("both have trees", || [&ill, &well].iter().all(|one| provider.tree(&one.key, &PLAIN, &limit()).is_ok()));
    let pid = rustix::process::Pid::from_raw(stopped.cast_signed()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("our child");
    let begun = Instant::now();
    let listed = provider.windows(&limit()).expect("windows");
    assert!(begun.elapsed() < Duration::from_secs(2), "the list waited for the stopped one");
    assert_eq!(listed.iter().filter(|one| one.title == "Well" || one.title == "Stopped").count(), 2);
    assert!(provider.tree(&well.key, &PLAIN, &Limit::after(Duration::from_secs(2))).is_ok());
    let ok = find(&provider.tree(&well.key, &WHOLE, &limit()).expect("a tree"), Role::Button, "OK").clone();
    let asked = Instant::now();
    let silent = provider.resolve(&ill.key, &ok.key, &Limit::after(Duration::from_millis(500)));
    assert!(silent.is_err() && asked.elapsed() < Duration::from_secs(3), "{silent:?}");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("our child");
    eventually("it answers again", || provider.tree(&ill.key, &PLAIN, &limit()).is_ok());
}

#[test]
fn a_hostile_application_is_survived_and_told() {
    let mut desk = desk();
    let log = desk.path("hostile.log");
    desk.run("/usr/bin/python3", &[&shared("hostile_tree.py"), "--window", "--log", &log.display().to_string()]);
    let provider = desk.provider();
    let mut hostile = None;
    eventually("the hostile window is there", || {
        let windows = provider.windows(&limit()).expect("windows");
        hostile = windows.into_iter().find(|one| {
            provider
                .tree(&one.key, &PLAIN, &Limit::after(Duration::from_secs(4)))
                .is_ok_and(|tree| tree.nodes.len() > 10)
        });
        hostile.is_some()
    });
    let hostile = hostile.expect("just seen");
    let begun = Instant::now();
    let tree = provider.tree(&hostile.key, &PLAIN, &Limit::after(Duration::from_secs(5))).expect("a tree");
    assert!(begun.elapsed() < Duration::from_secs(8));
    assert!(tree.nodes.len() < 2_000, "{}", tree.nodes.len());
    for (index, node) in tree.nodes.iter().enumerate() {
        assert!(node.parent.is_none_or(|parent| (parent as usize) < index));
    }
    let huge = tree.nodes.iter().find(|node| node.unread.is_some_and(|unread| unread.total == Some(2_147_483_647)));
    assert!(
        huge.is_some_and(|node| node.unread.is_some_and(|unread| unread.why == UnreadWhy::Lazy)),
        "the huge one says so"
    );
    assert!(
        tree.nodes.iter().any(|node| node.unread.is_some_and(|unread| unread.why == UnreadWhy::Depth))
            || tree.notes.contains(&TreeNote::Cut)
            || tree.notes.contains(&TreeNote::Partial)
    );
}

/// Role, name and identity of every step, the window's own name excepted.
type Way = Vec<(Role, String, deskhand_contract::provider::NativeKey)>;

fn way_in_tree(tree: &NativeTree, index: usize) -> Way {
    let mut way = Way::new();
    let mut current = Some(index as u32);
    while let Some(at) = current {
        let node = &tree.nodes[at as usize];
        let name = if node.parent.is_some() { node.facts.name.to_string() } else { String::new() };
        way.push((node.facts.role, name, node.key.clone()));
        current = node.parent;
    }
    way.reverse();
    way
}

#[test]
fn every_element_resolves_to_the_way_that_the_tree_shows() {
    let mut desk = desk();
    for (title, program) in [("Three", "gtk3_form.py"), ("Four", "gtk4_form.py")] {
        desk.run("/usr/bin/python3", &[&shared(program), "--title", title, "--log", "ways.log"]);
        let provider = desk.provider();
        let window = window(&provider, title);
        let mut wrong = Vec::new();
        eventually("the tree rests and every way holds", || {
            let Ok(tree) = provider.tree(&window.key, &PLAIN, &limit()) else { return false };
            wrong = (0..tree.nodes.len())
                .step_by(3)
                .filter_map(|index| {
                    let shown = way_in_tree(&tree, index);
                    let live = provider.resolve(&window.key, &tree.nodes[index].key, &limit()).map(|resolved| {
                        let steps = resolved.lineage.into_iter().enumerate();
                        steps
                            .map(|(at, step)| {
                                (step.role, if at == 0 { String::new() } else { step.name.into() }, step.key)
                            })
                            .collect::<Way>()
                    });
                    (live.as_ref() != Ok(&shown)).then(|| format!("{shown:?} is live {live:?}"))
                })
                .collect();
            tree.nodes.len() > 20 && wrong.is_empty()
        });
        assert_eq!(wrong, Vec::<String>::new(), "{title}");
    }
}
