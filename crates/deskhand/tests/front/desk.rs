//! A whole desktop through the front doors: real applications, and what they themselves say.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{World, eventually, signal};

fn verdict(result: &Value) -> &str {
    result["structuredContent"]["meta"]["effect_verdict"]["status"].as_str().unwrap()
}

fn read(path: &Path) -> String {
    eventually("the application's own file", || path.exists());
    std::fs::read_to_string(path).unwrap().trim_end().to_owned()
}

#[test]
fn a_form_is_filled_and_accepted_and_the_application_says_so() {
    let world = World::new();
    let desktop = world.desktop();
    let entered = world.form(&desktop, "Form");
    let mut host = world.host_on(&desktop);
    let window = host.window("Form");
    let tree = host.observe(json!({ "action": "accessibility_tree", "surface_id": window }));
    let outline = tree["content"][0]["text"].as_str().unwrap();
    assert!(outline.contains("textbox") && outline.contains("#e"), "{outline}");
    assert_eq!(tree["structuredContent"]["data"].get("outline"), None, "never twice");
    let field = host.element(&window, "textbox", None);
    let text = "-rf 'a\"b' $(x) Grüße";
    let typed = host.control(json!({
        "action": "input_text", "surface_id": window, "element_id": field, "text": text, "mode": "replace",
    }));
    assert_eq!(verdict(&typed), "confirmed", "{typed}");
    let button = host.element(&window, "button", Some("OK"));
    let pressed = host.control(json!({ "action": "press", "surface_id": window, "element_id": button }));
    assert_eq!(pressed["structuredContent"]["ok"], true, "{pressed}");
    assert_eq!(read(&entered), text);
    // What was closed is stale, and the advice is a call that works as it is.
    let stale = host.observe(json!({ "action": "accessibility_tree", "surface_id": window }));
    let error = &stale["structuredContent"]["error"];
    assert_eq!(error["code"], "stale_surface", "{stale}");
    let advice = &error["recovery"]["suggested_call"];
    let followed = host.call(advice["tool"].as_str().unwrap(), advice["arguments"].clone());
    assert_eq!(followed["structuredContent"]["ok"], true, "{followed}");
}

#[test]
fn the_command_line_does_the_same_with_ids_that_outlive_each_call() {
    let world = World::new();
    let desktop = world.desktop();
    let entered = world.form(&desktop, "Shell");
    let mut surface = String::new();
    eventually("the dialog", || {
        let (windows, exit) = world.envelope(&["observe", "windows"]);
        assert_eq!(exit, 0, "{windows}");
        let found = windows["data"]["windows"].as_array().unwrap().iter().find(|window| {
            window["title"].as_str().is_some_and(|title| title.contains("Shell")) && window.get("no_tree").is_none()
        });
        surface = found.map(|window| window["surface_id"].as_str().unwrap().to_owned()).unwrap_or_default();
        !surface.is_empty()
    });
    let element = |role: &str, label: &[&str]| {
        let mut id = String::new();
        eventually(role, || {
            let arguments = [&["observe", "find_elements", "--surface-id", &surface, "--role", role], label].concat();
            let (found, _) = world.envelope(&arguments);
            id = found["data"]["matches"][0]["element_id"].as_str().unwrap_or_default().to_owned();
            !id.is_empty()
        });
        id
    };
    let field = element("textbox", &[]);
    let ids = ["--surface-id", &surface, "--element-id", &field];
    let (typed, exit) =
        world.envelope(&[&["control", "input_text"], &ids[..], &["--mode", "replace", "--text", "--", "-60"]].concat());
    assert_eq!(exit, 0, "{typed}");
    let button = element("button", &["--label", "OK"]);
    let press = ["control", "press", "--surface-id", &surface, "--element-id", &button];
    let (pressed, exit) = world.envelope(&press);
    assert_eq!(exit, 0, "{pressed}");
    assert_eq!(read(&entered), "-60");
    eventually("the end of the window", || world.envelope(&press).1 == 65);
    // Another session's ids are nobody else's.
    let (foreign, exit) =
        world.envelope(&["--session", "other", "observe", "accessibility_tree", "--surface-id", &surface]);
    assert_eq!(exit, 65, "{foreign}");
}

#[test]
fn typed_text_is_found_nowhere_but_where_it_was_typed() {
    let canary = format!("canary{:x}", std::process::id() as u64 * 0x9e37_79b9_7f4a);
    let world = World::new();
    let desktop = world.desktop();
    let entered = world.form(&desktop, "Canary");
    let mut host = world.host_on(&desktop);
    let window = host.window("Canary");
    let field = host.element(&window, "textbox", None);
    let fill = |text: &str, mode: &str, element: &str| json!({ "action": "input_text", "surface_id": window, "element_id": element, "text": text, "mode": mode });
    // One that works, one into a field that is not empty, one at an element that takes none, one that is wrong.
    assert_eq!(host.control(fill(&canary, "replace", &field))["structuredContent"]["ok"], true);
    assert_eq!(host.control(fill(&canary, "fill_empty", &field))["structuredContent"]["ok"], false);
    let button = host.element(&window, "button", Some("OK"));
    assert_eq!(host.control(fill(&canary, "replace", &button))["structuredContent"]["ok"], false);
    assert_eq!(host.control(fill(&format!("{canary}\0"), "replace", &field))["structuredContent"]["ok"], false);
    host.observe(json!({ "action": "accessibility_tree", "surface_id": window, "format": "json" }));
    host.observe(json!({ "action": "element_state", "surface_id": window, "element_id": field }));
    host.observe(json!({ "action": "find_elements", "surface_id": window, "label": canary }));
    for format in ["json", "table"] {
        let output = world.run(&[
            "-f",
            format,
            "control",
            "input_text",
            "--surface-id",
            &window,
            "--element-id",
            &field,
            "--text",
            &canary,
        ]);
        assert!(!String::from_utf8_lossy(&output.stdout).contains(&canary), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains(&canary), "{output:?}");
    }
    host.control(json!({ "action": "press", "surface_id": window, "element_id": button }));
    assert_eq!(read(&entered), canary, "the search below would prove nothing otherwise");
    assert!(!host.heard().contains(&canary));
    host.close();
    let (_, said) = host.wait();
    assert!(!said.contains(&canary));
    std::fs::remove_file(&entered).unwrap();
    let grep = |what: &str| Command::new("grep").args(["-rlaF", what]).arg(world.root()).output().unwrap().stdout;
    assert!(!grep("computer_control.input_text").is_empty(), "there is no audit to search");
    let found = Command::new("grep").args(["-rlaF", &canary]).arg(world.root()).output().unwrap();
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
}

#[test]
fn nothing_waits_behind_a_slow_call() {
    let world = World::new();
    let desktop = world.desktop();
    let mut host = world.host_on(&desktop);
    host.observe(json!({ "action": "windows" }));
    let slow = host
        .ask_tool("computer_observe", json!({ "action": "wait_for", "window": "never there", "timeout_ms": 30_000 }));
    let ping = host.ask("ping", json!({}));
    let list = host.ask("tools/list", json!({}));
    let read = host.ask_tool("computer_observe", json!({ "action": "windows" }));
    let mut answered = Vec::new();
    for _ in 0..3 {
        answered.push(host.next()["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, [ping, list, read]);
    // A Stop from elsewhere ends it.
    assert_eq!(world.envelope(&["stop"]).1, 0);
    let stopped = host.result_of(slow);
    assert_eq!(stopped["isError"], true, "{stopped}");
    host.is_well();
}

#[test]
fn a_cancelled_call_stops_working_and_is_answered_at_most_once() {
    let world = World::new();
    let desktop = world.desktop();
    let mut host = world.host_on(&desktop);
    host.observe(json!({ "action": "windows" }));
    // More than a Runner carries at a time: they all fit only if the cancelled ones really ended.
    for _ in 0..3 {
        let slow: Vec<i64> = (0..16)
            .map(|_| {
                host.ask_tool(
                    "computer_observe",
                    json!({ "action": "wait_for", "window": "never there", "timeout_ms": 30_000 }),
                )
            })
            .collect();
        host.is_well();
        for id in &slow {
            host.tell("notifications/cancelled", json!({ "requestId": id, "reason": "test" }));
            host.tell("notifications/cancelled", json!({ "requestId": id }));
        }
        eventually("room for another call", || {
            host.observe(json!({ "action": "windows" }))["structuredContent"]["ok"] == true
        });
        while let Some(message) = host.next_within(Duration::from_millis(300)) {
            assert!(!slow.iter().any(|id| message["id"] == *id), "{message}");
        }
    }
}

#[test]
fn the_end_of_the_input_ends_a_slow_call() {
    let world = World::new();
    let desktop = world.desktop();
    let mut host = world.host_on(&desktop);
    host.observe(json!({ "action": "windows" }));
    host.ask_tool("computer_observe", json!({ "action": "wait_for", "window": "never there", "timeout_ms": 30_000 }));
    host.close();
    let begun = std::time::Instant::now();
    assert_eq!(host.wait().0, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(15), "it waited for the call");
}

#[test]
fn a_stopped_application_costs_the_others_nothing() {
    let world = World::new();
    let desktop = world.desktop();
    let (_, stopped) = world.form_process(&desktop, "Stopped");
    world.form(&desktop, "Moving");
    let mut host = world.host_on(&desktop);
    let (still, moving) = (host.window("Stopped"), host.window("Moving"));
    signal(stopped, "STOP");
    let slow = host.ask_tool("computer_observe", json!({ "action": "accessibility_tree", "surface_id": still }));
    let quick = host.ask_tool("computer_observe", json!({ "action": "accessibility_tree", "surface_id": moving }));
    assert_eq!(host.result_of(quick)["structuredContent"]["ok"], true);
    // It ends by itself, in an answer or a typed error.
    host.result_of(slow);
    signal(stopped, "CONT");
}

#[test]
fn a_picture_is_an_image_beside_its_measurements() {
    let world = World::new();
    let desktop = world.desktop();
    world.form(&desktop, "Picture");
    let mut host = world.host_on(&desktop);
    let window = host.window("Picture");
    let shot = host.observe(json!({ "action": "snapshot_window", "surface_id": window, "max_width": 100 }));
    let data = &shot["structuredContent"]["data"];
    let image = shot["content"].as_array().unwrap().iter().find(|part| part["type"] == "image").unwrap();
    assert_eq!(image["mimeType"], data["mime"]);
    assert!(!shot["structuredContent"].to_string().contains(image["data"].as_str().unwrap()));

    let kept = world.root().join("kept.jpg");
    let displays = world.envelope(&["observe", "displays"]).0;
    let display = displays["data"]["displays"][0]["display_id"].as_str().unwrap();
    let arguments = ["observe", "snapshot_display", "--display-id", display, "--out", kept.to_str().unwrap()];
    let (shot, exit) = world.envelope(&arguments);
    assert_eq!(exit, 0, "{shot}");
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).arg(&kept).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(output("sha256sum", &[]).starts_with(shot["data"]["sha256"].as_str().unwrap()));
    assert_eq!(output("identify", &["-format", "%m %w %h"]), "JPEG 1920 1080");
    assert_eq!(std::fs::metadata(&kept).unwrap().len(), shot["data"]["bytes"].as_u64().unwrap());
}

#[test]
fn ids_belong_to_the_session_that_observed_them_and_to_one_runner() {
    let world = World::new();
    let desktop = world.desktop();
    world.form(&desktop, "Mine");
    let (mut one, mut other) = (world.host_on(&desktop), world.host_on(&desktop));
    let window = one.window("Mine");
    let tree = json!({ "action": "accessibility_tree", "surface_id": window });
    assert_eq!(one.observe(tree.clone())["structuredContent"]["ok"], true);
    assert_eq!(other.observe(tree.clone())["structuredContent"]["error"]["code"], "stale_surface");
    let runner = world.runners()[0];
    signal(runner, "KILL");
    eventually("the end of the Runner", || !world.runners().contains(&runner));
    let after = one.observe(tree);
    assert_eq!(after["structuredContent"]["error"]["code"], "stale_surface", "{after}");
}

#[test]
fn a_mode_that_refuses_effects_refuses_them_first_and_reads_on() {
    let world = World::new();
    let desktop = world.desktop();
    let mut host = world.host(&["--mode", "plan", "--desktop", desktop.name.as_str()]);
    assert_eq!(host.observe(json!({ "action": "windows" }))["structuredContent"]["ok"], true);
    let refused = host.control(json!({ "action": "press", "surface_id": "s12345678", "element_id": "e123456" }));
    assert_eq!(refused["structuredContent"]["error"]["code"], "COMPUTER_MODE_DENIED", "{refused}");
    assert_eq!(verdict(&refused), "suspected_noop");
}

#[test]
fn the_list_of_tools_was_right_before_the_runner_was_known() {
    let world = World::new();
    let mut host = world.host(&[]);
    let before = host.request("tools/list", json!({}))["result"].clone();
    host.observe(json!({ "action": "windows" }));
    let after = host.request("tools/list", json!({}))["result"].clone();
    assert_eq!(before, after);
}

#[test]
fn one_call_too_many_is_told_to_wait_at_once() {
    let world = World::new();
    let desktop = world.desktop();
    let mut host = world.host_on(&desktop);
    host.observe(json!({ "action": "windows" }));
    let wait = json!({ "action": "wait_for", "window": "never there", "timeout_ms": 30_000 });
    let slow: Vec<i64> = (0..17).map(|_| host.ask_tool("computer_observe", wait.clone())).collect();
    let answer = host.next();
    assert!(slow.iter().any(|id| answer["id"] == *id), "{answer}");
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!((&error["code"], &error["retryable"]), (&json!("client_offline"), &json!(true)), "{answer}");
    host.is_well();
}

#[test]
fn a_runner_killed_under_a_read_is_told_and_replaced() {
    let world = World::new();
    let desktop = world.desktop();
    let mut host = world.host_on(&desktop);
    host.observe(json!({ "action": "windows" }));
    let slow = host
        .ask_tool("computer_observe", json!({ "action": "wait_for", "window": "never there", "timeout_ms": 30_000 }));
    host.is_well();
    signal(world.runners()[0], "KILL");
    let lost = host.result_of(slow);
    let error = &lost["structuredContent"]["error"];
    assert_eq!((&error["code"], &error["retryable"]), (&json!("client_offline"), &json!(true)), "{lost}");
    assert_eq!(host.observe(json!({ "action": "windows" }))["structuredContent"]["ok"], true);
}

#[test]
fn an_effect_is_done_though_nobody_reads_its_answer() {
    let world = World::new();
    let desktop = world.desktop();
    let entered = world.form(&desktop, "Unread");
    let mut host = world.host(&["--desktop", desktop.name.as_str(), "--session", "cli"]);
    let window = host.window("Unread");
    let field = host.element(&window, "textbox", None);
    let button = host.element(&window, "button", Some("OK"));
    let target = ["--surface-id", window.as_str(), "--element-id"];
    for arguments in [
        [&["control", "input_text", "--mode", "replace", "--text", "done"], &target[..], &[field.as_str()]].concat(),
        [&["control", "press"], &target[..], &[button.as_str()]].concat(),
    ] {
        let mut child = world.command(&arguments).stdout(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(read(&entered), "done");
}
