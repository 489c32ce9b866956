//! Bounds of elements in window pixels: every fixture paints one element in a colour of its own, and the bounds
//! of that element must be where the window's picture shows the colour, or be marked unproven.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's own")]

mod desk;

use desk::{Desk, Shape, eventually, find_colour, limit, picture};
use deskhand_contract::element::Bounds;
use deskhand_contract::geometry::WindowRect;
use deskhand_contract::provider::{Provider as _, TreeAsk, WindowFacts};
use deskhand_linux::LinuxProvider;

const MARK: [u8; 3] = [0x12, 0xfe, 0x34];

const GTK3: &str = r##"
import sys, gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, Gdk
css = Gtk.CssProvider()
css.load_from_data(b"button.mark { background: #12fe34; background-image: none; border: 0; border-radius: 0; box-shadow: none; color: #12fe34; outline: none; text-shadow: none; }")
Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), css, 900)
window = Gtk.Window(title="bounds")
if "csd" in sys.argv:
    window.set_titlebar(Gtk.HeaderBar(title="bounds"))
box = Gtk.Box(orientation=1)
box.add(Gtk.Label(label="above"))
mark = Gtk.Button(label="mark")
mark.get_style_context().add_class("mark")
mark.set_margin_top(30)
mark.set_margin_start(40)
box.add(mark)
window.add(box)
window.set_default_size(300, 200)
window.show_all()
Gtk.main()
"##;

const GTK4: &str = r##"
import sys, gi
gi.require_version("Gtk", "4.0")
from gi.repository import Gtk, Gdk
def activate(app):
    css = Gtk.CssProvider()
    css.load_from_data(b"button.mark { background: #12fe34; background-image: none; border: 0; border-radius: 0; box-shadow: none; color: #12fe34; outline: none; text-shadow: none; padding: 0; }")
    Gtk.StyleContext.add_provider_for_display(Gdk.Display.get_default(), css, 900)
    window = Gtk.ApplicationWindow(application=app, title="bounds")
    if "csd" in sys.argv:
        window.set_titlebar(Gtk.HeaderBar())
    box = Gtk.Box(orientation=1)
    box.append(Gtk.Label(label="above"))
    mark = Gtk.Button(label="mark")
    mark.add_css_class("mark")
    mark.set_margin_top(30)
    mark.set_margin_start(40)
    box.append(mark)
    window.set_child(box)
    window.set_default_size(300, 200)
    window.present()
app = Gtk.Application(application_id="deskhand.bounds")
app.connect("activate", activate)
app.run([])
"##;

const QT: &str = r##"
import sys
from PyQtN.QtWidgets import *
app = QApplication(sys.argv)
window = QWidget()
window.setWindowTitle("bounds")
window.resize(300, 200)
mark = QPushButton("mark", window)
mark.setStyleSheet("background: #12fe34; color: #12fe34; border: 0")
mark.setGeometry(40, 70, 120, 50)
window.show()
app.exec() if hasattr(app, "exec") else app.exec_()
"##;

const PAGE: &str = r##"<!doctype html><title>bounds</title><body style="margin:0">
<button style="position:absolute;left:100px;top:50px;width:120px;height:40px;background:#12fe34;color:#12fe34;border:0;border-radius:0;outline:0">mark</button>
"##;

fn mark(provider: &LinuxProvider, window: &WindowFacts) -> Option<Bounds> {
    let ask = TreeAsk { root: None, max_nodes: 4_000, max_depth: 40, bounds: true, affordances: false, values: false };
    let tree = provider.tree(&window.key, &ask, &limit()).ok()?;
    let node = tree.nodes.iter().find(|node| &*node.facts.name == "mark")?;
    node.facts.bounds
}

/// The bounds and the colour agree, twice: where the window first is, and after it was moved.
///
/// At twice the size a toolkit that speaks of logical pixels cannot name an odd one: `rounding` pixels off are right.
fn the_mark_is_where_it_is_painted(
    mut desk: Desk,
    program: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
    rounding: u32,
) {
    let mut command = desk.command(program, arguments);
    command.envs(variables.iter().copied());
    desk.adopt(&mut command);
    let provider = desk.provider();
    let mut found = None;
    eventually("the window is there", || {
        let windows = provider.windows(&limit()).expect("the display is there");
        found = windows.into_iter().find(|window| window.title.starts_with("bounds") && window.geometry.width > 60);
        found.is_some()
    });
    let found = found.expect("just seen");
    let agree = |what: &str| {
        let mut seen = (None, None);
        let end = std::time::Instant::now() + desk::PATIENCE;
        loop {
            let painted = picture(&provider, &found).ok().and_then(|bitmap| find_colour(&bitmap, MARK));
            let painted = painted.map(|(x, y, width, height)| WindowRect::new(x as i32, y as i32, width, height));
            let bounds = mark(&provider, &found);
            if let (Some(painted), Some(bounds)) = (painted, bounds)
                && bounds.proven
                && bounds.rect.x.abs_diff(painted.x) <= rounding
                && bounds.rect.y.abs_diff(painted.y) <= rounding
                && bounds.rect.size() == painted.size()
            {
                return;
            }
            seen = (painted.or(seen.0), bounds.or(seen.1));
            assert!(std::time::Instant::now() < end, "{what}: painted {:?}, said {:?}", seen.0, seen.1);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };
    agree("at first");
    let ids = desk.output("xdotool", &["search", "--onlyvisible", "--name", "^bounds"]);
    for id in ids.lines() {
        desk.output("xdotool", &["windowmove", id, "61", "47"]);
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    agree("after a move");
}

fn bus_desk() -> Desk {
    Desk::start(&Shape { size: "1280x900x24", manager: true, bus: true })
}

fn python(program: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let desk = bus_desk();
    let path = desk.write("bounds.py", program);
    let mut all = vec![path.as_str()];
    all.extend(arguments);
    the_mark_is_where_it_is_painted(desk, "/usr/bin/python3", &all, variables, 0);
}

const TWICE: &[(&str, &str)] = &[("GDK_SCALE", "2")];

#[test]
fn gtk3() {
    python(GTK3, &[], &[]);
}

#[test]
fn gtk3_with_its_own_decoration() {
    python(GTK3, &["csd"], &[]);
}

#[test]
fn gtk3_at_twice_the_size() {
    python(GTK3, &[], TWICE);
    python(GTK3, &["csd"], TWICE);
}

#[test]
fn gtk4() {
    python(GTK4, &[], &[]);
}

#[test]
fn gtk4_with_its_own_decoration() {
    python(GTK4, &["csd"], &[]);
}

#[test]
fn gtk4_at_twice_the_size() {
    python(GTK4, &[], TWICE);
    python(GTK4, &["csd"], TWICE);
}

#[test]
fn qt5() {
    python(&QT.replace("PyQtN", "PyQt5"), &[], &[]);
}

#[test]
fn qt6() {
    python(&QT.replace("PyQtN", "PyQt6"), &[], &[]);
}

#[test]
fn firefox() {
    let desk = bus_desk();
    let page = desk.write("page.html", PAGE);
    let home = desk.home.path().display().to_string();
    the_mark_is_where_it_is_painted(
        desk,
        "firefox-esr",
        &["--no-remote", "--new-instance", "--profile", &home, "--width", "700", "--height", "500", &page],
        &[],
        0,
    );
}

#[test]
fn firefox_at_twice_the_size() {
    let desk = bus_desk();
    let page = desk.write("page.html", PAGE);
    let home = desk.home.path().display().to_string();
    the_mark_is_where_it_is_painted(
        desk,
        "firefox-esr",
        &["--no-remote", "--new-instance", "--profile", &home, "--width", "300", "--height", "250", &page],
        TWICE,
        1,
    );
}

fn chromium(scale: &str) {
    let desk = bus_desk();
    let page = desk.write("page.html", PAGE);
    let data = format!("--user-data-dir={}", desk.path("c").display());
    let scale = format!("--force-device-scale-factor={scale}");
    the_mark_is_where_it_is_painted(
        desk,
        "chromium",
        &[
            "--no-sandbox",
            "--no-first-run",
            "--force-renderer-accessibility",
            "--window-size=500,350",
            &scale,
            &data,
            &page,
        ],
        &[],
        0,
    );
}

#[test]
fn chromium_at_its_size() {
    chromium("1");
}

#[test]
fn chromium_at_twice_the_size() {
    chromium("2");
}

#[test]
fn libreoffice_is_right_or_unproven() {
    let mut desk = bus_desk();
    desk.run("soffice", &["--norestore", "--nologo", "--writer"]);
    let provider = desk.provider();
    let mut bounds = (None, None);
    eventually("its menu bar and its tool bar are in the tree", || {
        let windows = provider.windows(&limit()).expect("the display is there");
        let Some(writer) = windows.into_iter().find(|window| window.title.starts_with("Untitled")) else {
            return false;
        };
        let ask =
            TreeAsk { root: None, max_nodes: 4_000, max_depth: 40, bounds: true, affordances: false, values: false };
        let Ok(tree) = provider.tree(&writer.key, &ask, &limit()) else { return false };
        let named = |name: &str, role: &str| {
            let mut nodes = tree.nodes.iter().filter(|node| &*node.facts.name == name);
            nodes.find(|node| &*node.facts.native_role == role).and_then(|node| node.facts.bounds)
        };
        bounds = (named("File", "menu"), named("Save", "push button"));
        bounds.0.is_some() && bounds.1.is_some()
    });
    // The menu bar is GTK's and the first thing in the window. The tool bar is LibreOffice's: it forgets the menu
    // bar above it, and nothing that it says tells so.
    let (menu, save) = (bounds.0.expect("found"), bounds.1.expect("found"));
    assert_eq!((menu.rect.x, menu.rect.y, menu.proven), (0, 0, true));
    assert!(!save.proven || save.rect.y >= menu.rect.y + menu.rect.height.cast_signed(), "{save:?} below {menu:?}");
}
