//! Which window has which tree. The oracle is a colour: every fixture window paints one, names an element after
//! it, and the window's picture must show the colour that its tree names.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's own")]

mod desk;

use desk::{Desk, Shape, eventually, find_colour, limit, picture, window};
use deskhand_contract::provider::{
    Bitmap, Dispatch, Effect, EffectTarget, Fault, NativeTree, Provider as _, TreeAsk, TreeSupport, WindowFacts,
    WindowKind,
};
use deskhand_linux::LinuxProvider;

const GTK3: &str = r##"
import sys, gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, Gdk
def make(title, colour, x, y, parent=None):
    window = Gtk.Dialog(title=title, transient_for=parent, modal=True) if parent else Gtk.Window(title=title)
    window.set_default_size(260, 160)
    provider = Gtk.CssProvider()
    provider.load_from_data(("* { background: %s; background-image: none; box-shadow: none; }" % colour).encode())
    button = Gtk.Button(label="button " + colour)
    button.get_style_context().add_provider(provider, 900)
    area = window.get_content_area() if parent else window
    button.set_vexpand(True)
    area.add(button)
    window.show_all()
    window.move(x, y)
    return window
TITLE = sys.argv[1]
first = make(TITLE, "#aa0011", 40, 60)
make(TITLE, "#00aa22", 400, 60)
if "dialog" in sys.argv:
    make("the dialog", "#0033aa", 60, 400, first)
Gtk.main()
"##;

const GTK4: &str = r##"
import sys, gi
gi.require_version("Gtk", "4.0")
from gi.repository import Gtk, Gdk
def make(app, title, colour):
    window = Gtk.ApplicationWindow(application=app, title=title)
    window.set_default_size(260, 160)
    provider = Gtk.CssProvider()
    provider.load_from_data(("button { background: %s; background-image: none; box-shadow: none; }" % colour).encode())
    button = Gtk.Button(label="button " + colour)
    button.get_style_context().add_provider(provider, 900)
    window.set_child(button)
    window.present()
def activate(app):
    make(app, sys.argv[1], "#aa0011")
    make(app, sys.argv[1], "#00aa22")
app = Gtk.Application(application_id="deskhand.fixture")
app.connect("activate", activate)
app.run([])
"##;

const QT: &str = r##"
import sys
from PyQtN.QtWidgets import *
app = QApplication(sys.argv)
keep = []
for colour, x in (("#aa0011", 40), ("#00aa22", 400)):
    button = QPushButton("button " + colour)
    button.setStyleSheet("background: %s; border: 0" % colour)
    window = QWidget()
    window.setWindowTitle(sys.argv[1])
    layout = QVBoxLayout(window)
    layout.addWidget(button)
    button.setMinimumHeight(80)
    window.setGeometry(x, 60, 260, 160)
    window.show()
    keep.append(window)
app.exec() if hasattr(app, "exec") else app.exec_()
"##;

const RED: [u8; 3] = [0xaa, 0x00, 0x11];
const GREEN: [u8; 3] = [0x00, 0xaa, 0x22];
const BLUE: [u8; 3] = [0x00, 0x33, 0xaa];

fn bus_desk() -> Desk {
    Desk::start(&Shape { size: "1280x900x24", manager: true, bus: true })
}

fn whole() -> TreeAsk {
    TreeAsk { root: None, max_nodes: 400, max_depth: 24, bounds: false, affordances: false, values: false }
}

fn all_titled(provider: &LinuxProvider, title: &str) -> Vec<WindowFacts> {
    let windows = provider.windows(&limit()).expect("the display is there");
    windows.into_iter().filter(|window| window.title == title).collect()
}

/// The colour that a tree names.
fn named(tree: &NativeTree) -> Option<[u8; 3]> {
    let name = tree.nodes.iter().find_map(|node| node.facts.name.strip_prefix("button #"))?.to_owned();
    let byte = |at: usize| u8::from_str_radix(&name[at..at + 2], 16).ok();
    Some([byte(0)?, byte(2)?, byte(4)?])
}

/// The colour that a picture shows.
fn shown(bitmap: &Bitmap) -> Option<[u8; 3]> {
    let mut shown = [RED, GREEN, BLUE].into_iter().filter(|colour| find_colour(bitmap, *colour).is_some());
    shown.next().filter(|_| shown.next().is_none())
}

/// Whether each window's tree names what its picture shows. A window without a tree counts as not yet.
fn all_agree(provider: &LinuxProvider, windows: &[WindowFacts]) -> bool {
    windows.iter().all(|window| {
        let tree = provider.tree(&window.key, &whole(), &limit());
        let seen = picture(provider, window).ok().and_then(|bitmap| shown(&bitmap));
        match (tree, seen) {
            (Ok(tree), Some(seen)) => {
                let named = named(&tree);
                assert!(named.is_none() || named == Some(seen), "a tree of another window: {named:?}, seen {seen:?}");
                named.is_some()
            }
            _ => false,
        }
    })
}

fn two_alike_are_told_apart(mut desk: Desk, program: &str) {
    let path = desk.write("fixture.py", program);
    desk.run("/usr/bin/python3", &[&path, "same title"]);
    let provider = desk.provider();
    eventually("both windows have the right tree", || {
        let both = all_titled(&provider, "same title");
        both.len() == 2 && all_agree(&provider, &both)
    });
    let both = all_titled(&provider, "same title");
    // Swapped on the screen, they stay who they are.
    let ids = desk.output("xdotool", &["search", "--onlyvisible", "--name", "^same title$"]);
    for (id, x) in ids.lines().zip(["700", "100"]) {
        desk.output("xdotool", &["windowmove", id, x, "500"]);
    }
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert!(all_agree(&provider, &both));
    // A provider that never saw them before finds the same.
    let fresh = desk.provider();
    eventually("a new provider joins them", || all_agree(&fresh, &all_titled(&fresh, "same title")));
}

#[test]
fn two_gtk3_windows_of_one_title_and_size() {
    two_alike_are_told_apart(bus_desk(), GTK3);
}

#[test]
fn two_qt5_windows_of_one_title_and_size() {
    two_alike_are_told_apart(bus_desk(), &QT.replace("PyQtN", "PyQt5"));
}

#[test]
fn two_qt6_windows_of_one_title_and_size() {
    two_alike_are_told_apart(bus_desk(), &QT.replace("PyQtN", "PyQt6"));
}

#[test]
fn two_gtk4_windows_alike_have_no_tree_or_the_right_one() {
    let mut desk = bus_desk();
    let path = desk.write("fixture.py", GTK4);
    desk.run("/usr/bin/python3", &[&path, "same title"]);
    let provider = desk.provider();
    eventually("both are there", || all_titled(&provider, "same title").len() == 2);
    // GTK 4 does not say where its windows are: what cannot be told apart is refused with the way out.
    eventually("each has a tree or a reason", || {
        all_titled(&provider, "same title").iter().all(|window| match &window.tree {
            TreeSupport::Yes => true,
            TreeSupport::No(why) => why.contains("tells them apart"),
            TreeSupport::Unresponsive => false,
        })
    });
    let both = all_titled(&provider, "same title");
    for window in &both {
        let target = EffectTarget { window: &window.key, element: None };
        assert_eq!(provider.perform(&target, &Effect::Activate, &limit()), Dispatch::Sent);
        eventually("it is in front", || provider.window(&window.key, &limit()).is_ok_and(|window| window.foreground));
        eventually("it has its tree", || all_agree(&provider, std::slice::from_ref(window)));
    }
    assert!(all_agree(&provider, &both));
}

#[test]
fn a_modal_dialog_has_a_tree_of_its_own_and_an_owner() {
    let mut desk = bus_desk();
    let path = desk.write("fixture.py", GTK3);
    desk.run("/usr/bin/python3", &[&path, "main", "dialog"]);
    let provider = desk.provider();
    let dialog = window(&provider, "the dialog");
    assert_eq!((dialog.kind, dialog.modal), (WindowKind::Dialog, true));
    let owner = dialog.owner.clone().expect("it is transient");
    let owner = provider.window(&owner, &limit()).unwrap();
    assert_eq!(owner.title, "main");
    eventually("all have the right tree", || {
        let mut all = all_titled(&provider, "main");
        all.push(window(&provider, "the dialog"));
        all.len() == 3 && all_agree(&provider, &all)
    });
    assert_eq!(shown(&picture(&provider, &owner).unwrap()), Some(RED));
}

#[test]
fn an_application_in_a_pid_namespace_has_its_tree() {
    if !desk::has_pid_namespaces() {
        return;
    }
    let mut desk = bus_desk();
    let path = desk.write("fixture.py", GTK3);
    desk.run("unshare", &["-pf", "--mount-proc", "/usr/bin/python3", &path, "inner"]);
    let provider = desk.provider();
    eventually("both have the right tree", || {
        let both = all_titled(&provider, "inner");
        both.len() == 2 && all_agree(&provider, &both)
    });
}

#[test]
fn without_a_window_manager_trees_are_joined_as_well() {
    let mut desk = Desk::start(&Shape { size: "1280x900x24", manager: false, bus: true });
    let path = desk.write("fixture.py", GTK3);
    desk.run("/usr/bin/python3", &[&path, "bare"]);
    let provider = desk.provider();
    eventually("both have the right tree", || {
        let both = all_titled(&provider, "bare");
        both.len() == 2 && all_agree(&provider, &both)
    });
}

#[test]
fn an_application_without_a_tree_says_so_and_a_stopped_one_costs_the_others_nothing() {
    let mut desk = bus_desk();
    let path = desk.write("fixture.py", GTK3);
    let pid = desk.run("/usr/bin/python3", &[&path, "will stop"]);
    let path = desk.write("other.py", &QT.replace("PyQtN", "PyQt6"));
    desk.run("/usr/bin/python3", &[&path, "goes on"]);
    desk.run("xterm", &["-T", "a terminal"]);
    let provider = desk.provider();
    eventually("all have the right tree", || {
        let mut all = all_titled(&provider, "will stop");
        all.extend(all_titled(&provider, "goes on"));
        all.len() == 4 && all_agree(&provider, &all)
    });
    let terminal = window(&provider, "a terminal");
    assert!(matches!(&terminal.tree, TreeSupport::No(why) if why.contains("no accessibility tree")));
    assert!(matches!(provider.tree(&terminal.key, &whole(), &limit()), Err(Fault::Unsupported(_))));
    let stopped = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
    rustix::process::kill_process(stopped, rustix::process::Signal::STOP).expect("our child");
    let begin = std::time::Instant::now();
    eventually("it is known to be silent", || {
        all_titled(&provider, "will stop").iter().all(|window| window.tree == TreeSupport::Unresponsive)
    });
    assert!(all_agree(&provider, &all_titled(&provider, "goes on")));
    assert!(begin.elapsed() < std::time::Duration::from_secs(15));
    rustix::process::kill_process(stopped, rustix::process::Signal::CONT).expect("our child");
    eventually("it is back", || all_agree(&provider, &all_titled(&provider, "will stop")));
}
