//! Menus, combo lists and popovers: windows of their own, with their owner and their own pixels, which never take
//! the tree of the window that they belong to.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's own")]

mod desk;

use desk::{Desk, Shape, eventually, limit, picture};
use deskhand_contract::provider::{Fault, Provider as _, TreeAsk, TreeSupport, WindowKind};

const GTK3: &str = r##"
import sys, gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, GLib
window = Gtk.Window(title="popups")
window.set_default_size(300, 200)
box = Gtk.Box(orientation=1)
window.add(box)
if sys.argv[1] == "menu":
    bar = Gtk.MenuBar()
    item = Gtk.MenuItem(label="File")
    menu = Gtk.Menu()
    menu.append(Gtk.MenuItem(label="inside the popup"))
    item.set_submenu(menu)
    bar.append(item)
    box.add(bar)
    GLib.timeout_add(800, lambda: bar.select_item(item))
elif sys.argv[1] == "context":
    menu = Gtk.Menu()
    menu.append(Gtk.MenuItem(label="inside the popup"))
    menu.show_all()
    button = Gtk.Button(label="button")
    box.add(button)
    GLib.timeout_add(800, lambda: menu.popup_at_widget(button, 7, 1, None))
elif sys.argv[1] == "combo":
    combo = Gtk.ComboBoxText()
    combo.append_text("inside the popup")
    combo.append_text("another")
    box.add(combo)
    GLib.timeout_add(800, lambda: combo.popup())
window.show_all()
Gtk.main()
"##;

const GTK4: &str = r##"
import sys, gi
gi.require_version("Gtk", "4.0")
from gi.repository import Gtk, GLib
def activate(app):
    window = Gtk.ApplicationWindow(application=app, title="popups")
    window.set_default_size(300, 200)
    popover = Gtk.Popover()
    popover.set_child(Gtk.Label(label="inside the popup"))
    button = Gtk.MenuButton(label="button", popover=popover)
    window.set_child(button)
    window.present()
    GLib.timeout_add(800, lambda: popover.popup())
app = Gtk.Application(application_id="deskhand.popups")
app.connect("activate", activate)
app.run([])
"##;

const QT: &str = r##"
import sys
from PyQt6.QtWidgets import *
from PyQt6.QtCore import QTimer
app = QApplication(sys.argv)
window = QWidget()
window.setWindowTitle("popups")
window.resize(300, 200)
combo = QComboBox(window)
combo.addItems(["inside the popup", "another"])
menu = QMenu(window)
menu.addAction("inside the popup")
window.show()
def show():
    if sys.argv[1] == "combo":
        combo.showPopup()
    else:
        menu.popup(window.mapToGlobal(window.rect().center()))
QTimer.singleShot(800, show)
app.exec()
"##;

const PAGE: &str = r##"<!doctype html><title>popups</title><body style="margin:0;background:#ffffff">
<select style="position:absolute;left:0;top:0;width:300px;height:120px"><option>inside the popup<option>another</select>
"##;

fn check(mut desk: Desk, program: &str, arguments: &[&str], click: bool) {
    desk.run(program, arguments);
    let provider = desk.provider();
    let mut main = None;
    eventually("the main window is there with its tree", || {
        let windows = provider.windows(&limit()).expect("the display is there");
        let mut of_title = windows.into_iter().filter(|one| one.kind == WindowKind::Normal && one.geometry.width > 60);
        main = of_title.find(|window| window.title.starts_with("popups") && window.tree == TreeSupport::Yes);
        main.is_some()
    });
    let main = main.expect("just seen");
    if click {
        // A person opens the list; the fixture cannot.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        let x = (main.geometry.x + 100).to_string();
        // Below the browser's own bars, within the first control of the page.
        let y = (main.geometry.y + 160).to_string();
        desk.output("xdotool", &["mousemove", &x, &y, "click", "1"]);
    }
    let mut popup = None;
    eventually("the popup is listed", || {
        let windows = provider.windows(&limit()).expect("the display is there");
        popup = windows
            .into_iter()
            .find(|one| one.kind == WindowKind::Popup && one.geometry.width > 20 && one.geometry.height > 10);
        popup.is_some()
    });
    let popup = popup.expect("just seen");
    assert_eq!(popup.owner.as_ref(), Some(&main.key), "the popup's owner");
    // An application that is busy opening it may be silent for a moment.
    eventually("the main window keeps its tree", || {
        provider.window(&main.key, &limit()).expect("still there").tree == TreeSupport::Yes
    });
    eventually("the popup has pixels of its own", || {
        picture(&provider, &popup).is_ok_and(|bitmap| {
            bitmap.size == popup.geometry.size() && {
                let first = &bitmap.pixels[..3];
                bitmap.pixels.chunks_exact(4).any(|pixel| pixel[..3] != *first)
            }
        })
    });
    let ask = TreeAsk { root: None, max_nodes: 4_000, max_depth: 60, bounds: false, affordances: false, values: false };
    let holds = |window: &deskhand_contract::provider::WindowFacts| {
        let tree = provider.tree(&window.key, &ask, &limit());
        tree.is_ok_and(|tree| tree.nodes.iter().any(|node| &*node.facts.name == "inside the popup"))
    };
    // What the popup shows is in its own tree or in its owner's; a popup without a tree says where to look.
    eventually("what it shows is in one of the two trees", || holds(&main) || holds(&popup));
    match provider.tree(&popup.key, &ask, &limit()) {
        Ok(tree) => assert!(tree.nodes.len() < 40, "a popup with the tree of {}", tree.nodes.len()),
        Err(Fault::Unsupported(why)) => assert!(why.contains("main window"), "{why}"),
        Err(fault) => panic!("{fault:?}"),
    }
}

fn bus_desk() -> Desk {
    Desk::start(&Shape { size: "1280x900x24", manager: true, bus: true })
}

fn python(program: &str, argument: &str) {
    let desk = bus_desk();
    let path = desk.write("popups.py", program);
    check(desk, "/usr/bin/python3", &[&path, argument], false);
}

#[test]
fn gtk3_menu() {
    python(GTK3, "menu");
}

#[test]
fn gtk3_context_menu() {
    python(GTK3, "context");
}

#[test]
fn gtk3_combo_list() {
    python(GTK3, "combo");
}

#[test]
fn gtk4_popover() {
    python(GTK4, "");
}

#[test]
fn qt6_combo_list() {
    python(QT, "combo");
}

#[test]
fn qt6_menu() {
    python(QT, "menu");
}

#[test]
fn firefox_select() {
    let desk = bus_desk();
    let page = desk.write("page.html", PAGE);
    // No page of its own at the first run.
    desk.write(
        "user.js",
        "user_pref('datareporting.policy.dataSubmissionPolicyBypassNotification', true);\n\
         user_pref('datareporting.policy.firstRunURL', '');\n\
         user_pref('browser.startup.homepage_override.mstone', 'ignore');\n\
         user_pref('browser.aboutwelcome.enabled', false);\n",
    );
    let home = desk.home.path().display().to_string();
    check(
        desk,
        "firefox-esr",
        &["--no-remote", "--new-instance", "--profile", &home, "--width", "500", "--height", "600", &page],
        true,
    );
}

#[test]
fn chromium_select() {
    let desk = bus_desk();
    let page = desk.write("page.html", PAGE);
    let data = format!("--user-data-dir={}", desk.path("c").display());
    check(
        desk,
        "chromium",
        &["--no-sandbox", "--no-first-run", "--force-renderer-accessibility", "--window-size=500,600", &data, &page],
        true,
    );
}
