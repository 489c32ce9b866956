//! The tools as a host sees them.

use serde_json::{Value, json};

use super::schema::{parts, violation};
use super::support::World;

#[test]
fn schemas_are_flat_small_and_without_what_hosts_refuse() {
    let world = World::new();
    let mut host = world.host(&[]);
    let listed = host.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["computer_observe", "computer_control"]);
    let bytes = listed["result"].to_string().len();
    assert!(bytes <= 4 * 6_000, "tools/list has {bytes} bytes");
    for tool in tools {
        assert!(tool["name"].as_str().unwrap().len() <= 40);
        let hints = tool["annotations"].as_object().unwrap();
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(hints[hint].is_boolean(), "{hint}");
        }
        assert_eq!(hints["readOnlyHint"], tool["name"] == "computer_observe");
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert_eq!(schema["type"], "object");
            for part in parts(schema) {
                for word in ["oneOf", "anyOf", "allOf", "not", "$ref", "$defs", "nullable", "const", "format"] {
                    assert!(part.get(word).is_none(), "{word} in {part}");
                }
                assert!(part.get("type").is_none_or(Value::is_string), "a list of types in {part}");
            }
        }
        let input = &tool["inputSchema"];
        assert_eq!(input["required"], json!(["action"]));
        assert!(input["properties"]["action"]["enum"].as_array().unwrap().len() > 5);
        // The oracle of this file knows every word that is used.
        violation(input, &json!({ "action": "windows" }));
    }
}

#[test]
fn actions_that_cannot_succeed_are_not_listed_and_refused_at_the_call() {
    let world = World::new();
    let mut host = world.host(&[]);
    let listed = host.request("tools/list", json!({}))["result"]["tools"].to_string();
    for absent in ["read_clipboard", "pointer_click", "artifact_metadata", "targeted_input", "basis", "save_snapshot"] {
        assert!(!listed.contains(absent), "{absent}");
    }
    for absent in ["read_clipboard", "artifact_metadata"] {
        let result = host.observe(json!({ "action": absent }));
        assert_eq!(result["structuredContent"]["error"]["code"], "invalid_request", "{result}");
    }
}

#[test]
fn a_wrong_call_is_a_result_that_shows_the_right_one() {
    let world = World::new();
    let mut host = world.host(&[]);
    let listed = host.request("tools/list", json!({}));
    let output = listed["result"]["tools"][0]["outputSchema"].clone();
    let surface = "s12345678";
    for (tool, arguments, says) in [
        ("computer_observe", json!({}), "action is missing"),
        ("computer_observe", json!({ "action": 7 }), "action is a string"),
        ("computer_observe", json!({ "action": "dance" }), "no action \"dance\": one of targets"),
        ("computer_observe", json!({ "action": "press" }), "belongs to computer_control"),
        ("computer_observe", json!({ "action": "windows", "colour": 1 }), "unknown field \"colour\""),
        ("computer_observe", json!({ "action": "windows", "limit": 65 }), "1 to 64"),
        ("computer_observe", json!({ "action": "windows", "limit": null }), "leave it out"),
        ("computer_observe", json!({ "action": "windows", "limit": [[1]] }), "of a kind that no field takes"),
        ("computer_observe", json!({ "action": "windows", "client_id": "elsewhere" }), "one Runner here"),
        ("computer_observe", json!({ "action": "accessibility_tree" }), "surface_id is missing"),
        ("computer_observe", json!({ "action": "wait_for", "timeout_ms": 60_000, "window": "x" }), "1 to 30000"),
        ("computer_control", json!({ "action": "press", "surface_id": surface }), "element_id is missing"),
        (
            "computer_control",
            json!({ "action": "input_text", "surface_id": surface, "element_id": "e123456" }),
            "text is missing",
        ),
    ] {
        let result = host.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(says), "{text:?} does not say {says:?}");
        let envelope = &result["structuredContent"];
        assert_eq!(violation(&output, envelope), None, "{envelope}");
        assert_eq!(envelope["ok"], false);
        assert_eq!(envelope["error"]["execution_state"], "not_started");
        let status = if tool == "computer_observe" { "not_applicable" } else { "suspected_noop" };
        assert_eq!(envelope["error"]["effect_verdict"]["status"], status);
    }
    // No desktop was started for any of it.
    assert!(!world.runtime().join("desktops").read_dir().is_ok_and(|mut entries| entries.next().is_some()));
}

#[test]
fn a_wrong_call_never_repeats_what_was_to_be_typed() {
    let world = World::new();
    let mut host = world.host(&[]);
    for text in
        [json!(["canary-7f3a"]), json!([["canary-7f3a"]]), json!({ "canary-7f3a": 1 }), json!("canary-7f3a\u{0}")]
    {
        let result = host.control(json!({
            "action": "input_text", "surface_id": "s12345678", "element_id": "e123456", "text": text,
        }));
        assert_eq!(result["isError"], true);
        assert!(!result.to_string().contains("canary"), "{result}");
    }
}

#[test]
fn what_is_missing_is_told_with_its_fix() {
    let world = World::new().with("PATH", "/nonexistent");
    let mut host = world.host(&[]);
    let result = host.observe(json!({ "action": "windows" }));
    assert_eq!(result["structuredContent"]["error"]["code"], "configuration", "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("apt-get install"), "{result}");
    host.is_well();
    // Which Runners there are is an answer also where there is none.
    let targets = host.observe(json!({ "action": "targets" }));
    assert_eq!(targets["structuredContent"]["data"]["targets"], json!([]));
}
