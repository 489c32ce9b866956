//! The command line as a shell sees it.

use std::io::Read as _;
use std::process::Stdio;

use super::support::World;

#[test]
fn without_a_display_the_answer_says_what_to_do() {
    let world = World::new();
    let (envelope, exit) = world.envelope(&["observe", "windows"]);
    assert_eq!(exit, 69);
    assert_eq!(envelope["ok"], false);
    assert_eq!(envelope["command"], "computer_observe.windows");
    assert_eq!(envelope["data"], serde_json::Value::Null);
    assert!(envelope["error"]["message"].as_str().unwrap().contains("deskhand desktop start"));
}

#[test]
fn errors_go_to_standard_error_for_people_and_to_standard_output_for_programs() {
    let world = World::new();
    let table = world.run(&["-f", "table", "observe", "windows"]);
    assert!(table.stdout.is_empty(), "{table:?}");
    assert!(String::from_utf8_lossy(&table.stderr).starts_with("unavailable: "), "{table:?}");
    let json = world.run(&["-f", "json", "observe", "windows"]);
    assert!(json.stderr.is_empty(), "{json:?}");
    assert_eq!(table.status.code(), json.status.code());
}

#[test]
fn wrong_calls_end_in_2_and_say_why_in_the_form_that_was_asked_for() {
    let world = World::new();
    for wrong in [
        vec!["frobnicate"],
        vec!["observe", "press"],
        vec!["observe", "windows", "--colour", "1"],
        vec!["observe", "windows", "--limit", "many"],
        vec!["observe", "windows", "--limit", "65"],
        vec!["observe", "accessibility_tree", "--surface-id", "w1"],
        vec!["control", "press", "--surface-id", "s12345678"],
        vec![
            "control",
            "scroll",
            "--surface-id",
            "s12345678",
            "--element-id",
            "e123456",
            "--direction",
            "down",
            "--pages",
            "1100",
        ],
        vec!["--desktop"],
    ] {
        let (envelope, exit) = world.envelope(&wrong);
        assert_eq!(exit, 2, "{wrong:?} {envelope}");
        assert_eq!(envelope["error"]["code"], "invalid_request", "{wrong:?}");
        let table = world.run(&[&["-f", "table"], &wrong[..]].concat());
        assert_eq!((table.status.code(), table.stdout.is_empty()), (Some(2), true), "{wrong:?}");
        assert!(!table.stderr.is_empty());
    }
}

#[test]
fn the_forms_agree() {
    let world = World::new();
    let (json, _) = world.envelope(&["-f", "json", "observe", "targets"]);
    let (mut compact, _) = world.envelope(&["-f", "compact", "observe", "targets"]);
    let yaml = world.run(&["-f", "yaml", "observe", "targets"]);
    let mut yaml: serde_json::Value = serde_yaml_ng::from_slice(&yaml.stdout).unwrap();
    assert_eq!(compact.get("error"), None);
    compact["error"] = serde_json::Value::Null;
    for envelope in [&mut compact, &mut yaml] {
        envelope["meta"]["duration_ms"] = json["meta"]["duration_ms"].clone();
    }
    assert_eq!(json, yaml);
    assert_eq!(json, compact);
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let world = World::new();
    for arguments in [vec!["completions", "bash"], vec!["--help"], vec!["doctor"], vec!["observe", "windows"]] {
        let mut child = world.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        assert!(matches!(status.code(), Some(0 | 69 | 141)), "{arguments:?}: {status}");
    }
}

#[test]
fn completions_name_the_actions() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = world.run(&["completions", shell]);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("accessibility_tree") && text.contains("--surface-id")
                || shell == "fish" && text.contains("surface-id")
        );
    }
}

#[test]
fn the_doctor_names_what_is_missing_and_the_command() {
    let world = World::new();
    let (well, exit) = world.envelope(&["doctor"]);
    assert_eq!((exit, &well["data"]["ready"]), (0, &serde_json::json!(true)), "{well}");
    let bare = World::new().with("PATH", "/nonexistent");
    let (ill, _) = bare.envelope(&["doctor"]);
    assert_eq!(ill["data"]["ready"], false);
    let checks = ill["data"]["checks"].as_array().unwrap();
    let server = checks.iter().find(|check| check["what"] == "Xvfb").unwrap();
    assert_eq!((&server["state"], &server["fix"]), (&"missing".into(), &"apt-get install xvfb".into()));
}

#[test]
fn a_picture_is_not_written_over_anything_unasked() {
    let world = World::new();
    let there = world.root().join("there.jpg");
    std::fs::write(&there, "mine").unwrap();
    let base = ["observe", "snapshot_window", "--surface-id", "s12345678", "--out"];
    let (envelope, exit) = world.envelope(&[&base[..], &[there.to_str().unwrap()]].concat());
    assert_eq!(exit, 2, "{envelope}");
    assert!(envelope["error"]["message"].as_str().unwrap().contains("--force"));
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    let (envelope, exit) = world.envelope(&[&base[..], &["/no/such/directory/a.jpg"]].concat());
    assert_eq!(exit, 2, "{envelope}");
}
