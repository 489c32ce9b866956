//! What is shown, whole, as it is committed: a change of it is a change that a reader sees.

use serde_json::json;

use std::collections::BTreeSet;

use serde_json::Value;

use super::support::World;

fn shown(arguments: &[&str]) -> String {
    let output = World::new().run(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    format!(
        "$ deskhand {}\n{}{}[{}]",
        arguments.join(" "),
        text(output.stdout),
        text(output.stderr),
        output.status.code().unwrap()
    )
}

#[test]
fn help() {
    insta::assert_snapshot!("help", shown(&["-h"]));
    insta::assert_snapshot!("help_observe", shown(&["observe", "-h"]));
    insta::assert_snapshot!("help_control", shown(&["control", "-h"]));
    insta::assert_snapshot!("help_tree", shown(&["observe", "accessibility_tree", "-h"]));
    insta::assert_snapshot!("help_input_text", shown(&["control", "input_text", "-h"]));
    insta::assert_snapshot!("help_mcp", shown(&["mcp", "-h"]));
}

#[test]
fn errors() {
    insta::assert_snapshot!("no_display", shown(&["-f", "table", "observe", "windows"]));
    insta::assert_snapshot!(
        "wrong_call",
        shown(&["-f", "table", "observe", "find_elements", "--surface-id", "s1", "--role", "button"])
    );
    let envelope = shown(&["observe", "windows"]);
    let timed =
        envelope.lines().map(|line| if line.contains("duration_ms") { "    \"duration_ms\": [ms]," } else { line });
    insta::assert_snapshot!("no_display_json", timed.collect::<Vec<_>>().join("\n"));
}

#[test]
fn tools() {
    let world = World::new();
    let mut host = world.host(&[]);
    let listed = host.request("tools/list", json!({}));
    insta::assert_snapshot!("tools_list", serde_json::to_string_pretty(&listed["result"]).unwrap());
}

/// What differs from run to run, and nothing else: ids, sizes, times, digests.
#[derive(Default)]
struct Redaction(BTreeSet<(String, &'static str)>);

impl Redaction {
    /// Notes every id and measure of `value`.
    fn note(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let word = match name.as_str() {
                        "surface_id" | "owner" => "[surface]",
                        "element_id" | "parent" => "[element]",
                        _ => "",
                    };
                    match member {
                        Value::String(text) if !word.is_empty() => drop(self.0.insert((text.clone(), word))),
                        other => self.note(other),
                    }
                }
                if let (Some(width), Some(height)) = (value["width"].as_u64(), value["height"].as_u64()) {
                    self.0.insert((format!("{width}x{height}"), "[size]"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.note(item)),
            _ => {}
        }
    }

    /// Notes the ids of an outline.
    fn note_outline(&mut self, outline: &str) {
        for id in outline.split('#').skip(1) {
            let id: String = id.chars().take_while(char::is_ascii_alphanumeric).collect();
            self.0.insert((id, "[element]"));
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = self.0.iter().fold(text.to_owned(), |text, (found, word)| text.replace(found, word));
        if let Some((before, _)) = text.split_once(", generation ") {
            text = format!("{before}, generation […]\n");
        }
        // Columns are as wide as what was replaced.
        while text.contains("   ") {
            text = text.replace("   ", "  ");
        }
        text
    }

    fn json(&self, value: &Value) -> Value {
        match value {
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| {
                    let is_measure =
                        ["duration_ms", "width", "height", "x", "y", "waited_ms", "bytes", "sha256", "captured_at"];
                    let shown = if is_measure.contains(&name.as_str()) { json!("[…]") } else { self.json(member) };
                    (name.clone(), shown)
                })
                .collect(),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            other => other.clone(),
        }
    }
}

#[test]
fn a_dialog() {
    let world = World::new();
    let desktop = world.desktop();
    world.form(&desktop, "Shown");
    let mut host = world.host(&["--desktop", desktop.name.as_str(), "--session", "cli"]);
    let window = host.window("Shown");
    host.element(&window, "button", Some("OK"));
    let mut redaction = Redaction::default();
    let windows = host.observe(json!({ "action": "windows" }));
    redaction.note(&windows["structuredContent"]);
    let tree = host.observe(json!({ "action": "accessibility_tree", "surface_id": window }));
    redaction.note_outline(tree["content"][0]["text"].as_str().unwrap());
    let button = host.element(&window, "button", Some("OK"));

    let table = |arguments: &[&str]| {
        let output = world.run(&[&["-f", "table"], arguments].concat());
        redaction.text(&String::from_utf8(output.stdout).unwrap())
    };
    insta::assert_snapshot!("dialog_windows", table(&["observe", "windows"]));
    insta::assert_snapshot!("dialog_tree", table(&["observe", "accessibility_tree", "--surface-id", &window]));
    insta::assert_snapshot!(
        "dialog_find",
        table(&["observe", "find_elements", "--surface-id", &window, "--role", "button"])
    );
    let mut pretty = |what: &str, arguments: Value| {
        let tool = if what.contains("focus") { "computer_control" } else { "computer_observe" };
        let result = host.call(tool, arguments);
        insta::assert_snapshot!(what, serde_json::to_string_pretty(&redaction.json(&result)).unwrap());
    };
    pretty("dialog_mcp_tree", json!({ "action": "accessibility_tree", "surface_id": window }));
    pretty("dialog_mcp_state", json!({ "action": "element_state", "surface_id": window, "element_id": button }));
    pretty("dialog_mcp_focus", json!({ "action": "focus", "surface_id": window, "element_id": button }));
    pretty("dialog_mcp_stale", json!({ "action": "accessibility_tree", "surface_id": "s00000000" }));
}
