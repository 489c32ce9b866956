//! Each toolkit shows its tree inside a desktop without any further set-up. The oracle is pyatspi.

use crate::world::{World, eventually};

/// Counts the nodes of the application whose process descends from the given one, down to a bound, and prints them with the
/// number of named ones and whether a wanted (role, name) is among them.
const COUNT: &str = r#"
import sys, pyatspi
root, role, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def parent(pid):
    try: return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    except OSError: return 0
def descends(pid):
    while pid > 1:
        if pid == root: return True
        pid = parent(pid)
    return False
nodes = named = 0
wanted = False
def walk(node, depth):
    global nodes, named, wanted
    if node is None or nodes > 3000 or depth > 60: return
    nodes += 1
    try:
        named += bool(node.name)
        wanted = wanted or (node.getRoleName() == role and name in node.name)
        count = min(node.childCount, 200)
        children = [node.getChildAtIndex(i) for i in range(count)]
    except Exception: return
    for child in children: walk(child, depth + 1)
for application in pyatspi.Registry.getDesktop(0):
    if application is not None:
        try: pid = application.get_process_id()
        except Exception: continue
        if descends(pid): walk(application, 0)
print(nodes, named, wanted)
"#;

fn shows(argv: &[&str], role: &str, name: &str) {
    let world = World::new();
    let record = world.start();
    let pid = world.spawn(&record, argv).to_string();
    let mut last = String::new();
    eventually(&format!("{argv:?} shows {role} {name:?}"), || {
        let output = world.run(&record, &["/usr/bin/python3", "-c", COUNT, &pid, role, name]);
        last = String::from_utf8(output.stdout).unwrap();
        last.trim().ends_with("True")
    });
    eprintln!("{argv:?}: nodes, named, found: {last}");
    world.stop(&record);
}

#[test]
fn gtk3() {
    shows(&["zenity", "--entry", "--title", "Ask", "--text", "Your name"], "push button", "OK");
}

#[test]
fn gtk4() {
    shows(&["gtk4-widget-factory"], "check box", "radiobutton");
}

const QT: &str = "
import sys
application = QApplication(sys.argv)
window = QWidget()
layout = QVBoxLayout(window)
layout.addWidget(QPushButton('Press me'))
layout.addWidget(QLineEdit())
window.show()
application.exec_() if hasattr(application, 'exec_') else application.exec()";

#[test]
fn qt5() {
    let program = format!("from PyQt5.QtWidgets import *{QT}");
    shows(&["/usr/bin/python3", "-c", &program], "push button", "Press me");
}

#[test]
fn qt6() {
    let program = format!("from PyQt6.QtWidgets import *{QT}");
    shows(&["/usr/bin/python3", "-c", &program], "push button", "Press me");
}

/// A page in a file: Firefox shows no `data:` address that comes from outside.
const PAGE: &str = "<title>Page</title><button>Order now</button><input aria-label=Name>";

fn browser_shows_page(browser: &str) {
    let page = tempfile::Builder::new().suffix(".html").tempfile().unwrap();
    std::fs::write(page.path(), PAGE).unwrap();
    shows(&[browser, page.path().to_str().unwrap()], "push button", "Order now");
}

#[test]
fn firefox_without_first_run_questions() {
    browser_shows_page("firefox-esr");
}

#[test]
fn chromium_by_name() {
    browser_shows_page("chromium");
}

#[test]
fn chromium_by_its_whole_path() {
    browser_shows_page("/usr/bin/chromium");
}

#[test]
fn chromium_by_its_menu_entry() {
    let world = World::new();
    let record = world.start();
    let entry = std::fs::read_to_string(record.home.join(".local/share/applications/chromium.desktop")).unwrap();
    let command = entry.lines().find_map(|line| line.strip_prefix("Exec=")).unwrap();
    let starter = record.home.join(".deskhand/bin/chromium");
    assert_eq!(command, format!("\"{}\" %U", starter.display()));
    world.stop(&record);
}

#[test]
fn libreoffice() {
    shows(&["soffice", "--writer"], "menu item", "Save As");
}
