//! Windows as text: recorded from real applications, or written by hand.
//!
//! One line an element, two spaces a level: `role "name" [states] = text`. Quotes are `\"`. What stands after ` = ` is
//! what the element holds.

use deskhand_contract::element::State;
use deskhand_contract::provider::NativeKey;
use deskhand_contract::role::Role;

use crate::desktop::FakeDesktop;
use crate::element::Element;

/// The names of all windows: two by hand (`form`, `list`), the others of real applications.
pub const RECORDINGS: [&str; 5] = ["form", "list", "zenity-form", "gtk3-widget-factory", "qt5-form"];

/// A window by its name in [`RECORDINGS`].
///
/// # Panics
/// Where there is no such recording.
#[must_use]
pub fn recorded(name: &str) -> &'static str {
    match name {
        "form" => include_str!("recorded/form.txt"),
        "list" => include_str!("recorded/list.txt"),
        "zenity-form" => include_str!("recorded/zenity-form.txt"),
        "gtk3-widget-factory" => include_str!("recorded/gtk3-widget-factory.txt"),
        "qt5-form" => include_str!("recorded/qt5-form.txt"),
        other => panic!("there is no recording {other}"),
    }
}

/// Puts the window that `text` describes on `desktop`; gives the window, then its elements in the order of the lines
/// after the first (which is the window's own).
///
/// # Panics
/// Where a line cannot be read.
pub fn plant(desktop: &FakeDesktop, text: &str) -> (NativeKey, Vec<NativeKey>) {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (_, first) = read(lines.next().expect("a window has a first line"));
    let window = desktop.window(&first.facts.name);
    let mut above = vec![desktop.root(&window)];
    let mut planted = Vec::new();
    for line in lines {
        let (depth, element) = read(line);
        assert!((1..=above.len()).contains(&depth), "a line is deeper than its parent: {line}");
        above.truncate(depth);
        let key = desktop.add(above.last().expect("the root stays"), element);
        above.push(key.clone());
        planted.push(key);
    }
    (window, planted)
}

fn read(line: &str) -> (usize, Element) {
    let depth = line.len() - line.trim_start().len();
    let (head, value) = match line.trim().split_once(" = ") {
        Some((head, value)) => (head, Some(value)),
        None => (line.trim(), None),
    };
    let (role, rest) = head.split_once(' ').unwrap_or((head, ""));
    let role = Role::named(role).unwrap_or_else(|| panic!("not a role: {line}"));
    let (name, rest) = quoted(rest);
    let mut element = Element::new(role, &name);
    if let Some(states) = rest.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        for state in states.split(' ') {
            element = element.state(State::named(state).unwrap_or_else(|| panic!("not a state: {line}")));
        }
    }
    if let Some(value) = value {
        element = element.text(value);
    }
    (depth / 2, element)
}

/// The text in quotes at the beginning, and what follows it.
fn quoted(text: &str) -> (String, &str) {
    let Some(inner) = text.strip_prefix('"') else { return (String::new(), text) };
    let (mut name, mut escaped) = (String::new(), false);
    for (place, character) in inner.char_indices() {
        match character {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return (name, &inner[place + 1..]),
            other => {
                name.push(other);
                escaped = false;
            }
        }
    }
    (name, "")
}
