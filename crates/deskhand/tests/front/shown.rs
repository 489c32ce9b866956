//! What is shown, whole, as it is committed: a change of it is a change that a reader sees.

use serde_json::json;

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
