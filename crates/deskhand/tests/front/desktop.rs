//! `deskhand desktop` as a person and a program meet it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use serde_json::json;

use super::support::{World, eventually, signal};

fn started(world: &World, name: &str) {
    let (answer, exit) = world.envelope(&["desktop", "start", "--name", name]);
    assert_eq!((exit, &answer["ok"]), (0, &json!(true)), "{answer}");
    assert_eq!((&answer["data"]["name"], &answer["data"]["state"]), (&json!(name), &json!("ready")));
}

#[test]
fn from_start_to_stop() {
    let world = World::new();
    let (none, _) = world.envelope(&["desktop", "list"]);
    assert_eq!(none["data"]["desktops"], json!([]));
    started(&world, "one");
    let (answer, _) = world.envelope(&["desktop", "start", "--size", "800x600"]);
    let second = answer["data"]["name"].as_str().unwrap().to_owned();
    let (list, _) = world.envelope(&["desktop", "list"]);
    let sizes: Vec<_> = list["data"]["desktops"].as_array().unwrap().iter().map(|desktop| &desktop["size"]).collect();
    assert!(sizes.contains(&&json!("1920x1080")) && sizes.contains(&&json!("800x600")), "{list}");
    let geometry = world.run(&["desktop", "exec", &second, "--", "xdotool", "getdisplaygeometry"]);
    assert_eq!(String::from_utf8(geometry.stdout).unwrap(), "800 600\n");

    let file = world.root().join("now.png");
    let (view, exit) = world.envelope(&["desktop", "view", &second, "--png", file.to_str().unwrap()]);
    assert_eq!(exit, 0, "{view}");
    let kind = std::process::Command::new("identify").args(["-format", "%m %wx%h"]).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8(kind.stdout).unwrap(), "PNG 800x600");

    for name in ["one", &second] {
        let (answer, exit) = world.envelope(&["desktop", "stop", name]);
        assert_eq!((exit, &answer["data"]["state"]), (0, &json!("stopped")), "{answer}");
    }
    eventually("the end of every process", || world.processes().is_empty());
    let left: Vec<_> = world.root().join("tmp").read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn wrong_calls_say_what_is_wrong_and_what_mends_it() {
    let world = World::new();
    started(&world, "one");
    let cases: [(&[&str], &str, i32, &str); 7] = [
        (&["start", "--name", "one"], "configuration", 78, "deskhand desktop stop one"),
        (&["start", "--name", "No Such"], "invalid_request", 2, "a-z, 0-9"),
        (&["start", "--size", "1x1"], "invalid_request", 2, "320x200"),
        (&["start", "--owner-pid", "4194304"], "invalid_request", 2, "4194304"),
        (&["stop", "two"], "not_found", 66, "there are: one"),
        (&["exec", "two", "--", "true"], "not_found", 66, "deskhand desktop start --name two"),
        (&["exec", "one", "--", "no-such-program"], "process_failed", 69, "no-such-program"),
    ];
    for (arguments, code, exit, words) in cases {
        let arguments: Vec<_> = std::iter::once("desktop").chain(arguments.iter().copied()).collect();
        let (answer, status) = world.envelope(&arguments);
        assert_eq!((answer["error"]["code"].as_str(), status), (Some(code), exit), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{words}: {answer}");
    }
}

#[test]
fn a_desktop_that_broke_is_listed_with_the_reason_until_it_is_stopped() {
    let world = World::new();
    started(&world, "one");
    let (server, _) = world.processes().into_iter().find(|(_, line)| line.contains("Xvfb ")).unwrap();
    signal(server, "KILL");
    eventually("the end of every process", || world.processes().is_empty());
    let (list, _) = world.envelope(&["desktop", "list"]);
    let desktop = &list["data"]["desktops"][0];
    assert_eq!((&desktop["state"], &desktop["ended"]), (&json!("ended"), &json!("Xvfb was ended by signal 9")));
    let (answer, exit) = world.envelope(&["desktop", "exec", "one", "--detach", "--", "true"]);
    assert_eq!(exit, 69);
    assert!(answer["error"]["message"].as_str().unwrap().contains("Xvfb was ended by signal 9"), "{answer}");
    world.envelope(&["desktop", "stop", "one"]);
    let (list, _) = world.envelope(&["desktop", "list"]);
    assert_eq!(list["data"]["desktops"], json!([]));
}

#[test]
fn a_program_has_the_terminals_streams_status_and_signals() {
    let world = World::new();
    started(&world, "one");
    let mut command = world.command(&["desktop", "exec", "one", "--", "sh", "-c", "read line; echo got $line; exit 9"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"this\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((String::from_utf8(output.stdout).unwrap().as_str(), output.status.code()), ("got this\n", Some(9)));

    let trap = "trap 'echo told; exit 4' INT; echo ready; while :; do sleep 0.05; done";
    let mut command = world.command(&["desktop", "exec", "one", "--", "sh", "-c", trap]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    signal(child.id(), "INT");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("told\n", Some(4)));

    let sleeper = world.command(&["desktop", "exec", "one", "--", "sleep", "1004"]).spawn().unwrap();
    let sleeps = || world.processes().iter().filter(|(_, line)| line.starts_with("sleep 1004")).count();
    eventually("it sleeps", || sleeps() == 1);
    signal(sleeper.id(), "KILL");
    let mut sleeper = sleeper;
    sleeper.wait().unwrap();
    eventually("it ends with its caller", || sleeps() == 0);
}

#[test]
fn a_desktop_ends_with_its_owner() {
    let world = World::new();
    let mut owner = std::process::Command::new("sleep").arg("1005").spawn().unwrap();
    let (answer, _) = world.envelope(&["desktop", "start", "--owner-pid", &owner.id().to_string()]);
    assert_eq!(answer["data"]["owned"], true, "{answer}");
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("the end of every process", || world.processes().is_empty());
    assert_eq!(world.envelope(&["desktop", "list"]).0["data"]["desktops"], json!([]));
}

#[test]
fn inside_a_desktop_it_is_the_one_that_is_meant() {
    let world = World::new();
    started(&world, "one");
    started(&world, "two");
    for name in ["one", "two"] {
        let inner =
            world.run(&["desktop", "exec", name, "--", super::support::BINARY, "-f", "json", "desktop", "list"]);
        let list: serde_json::Value = serde_json::from_slice(&inner.stdout).unwrap();
        assert_eq!(list["data"]["desktops"].as_array().unwrap().len(), 2, "{list}");
        let arguments = ["-f", "json", "observe", "targets"];
        let argv: Vec<_> =
            ["desktop", "exec", name, "--", super::support::BINARY].into_iter().chain(arguments).collect();
        let targets = world.run(&argv);
        assert!(targets.status.success(), "{}", String::from_utf8_lossy(&targets.stdout));
        assert_eq!(world.runners().len(), if name == "one" { 1 } else { 2 });
    }
}

#[test]
fn a_live_view_says_where_and_ends_with_the_desktop() {
    let world = World::new();
    started(&world, "one");
    let mut command = world.command(&["desktop", "view", "one", "-f", "compact"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = told["data"]["url"].as_str().unwrap();
    let fetch =
        || std::process::Command::new("curl").args(["-s", "-o", "/dev/null", "-w", "%{http_code}", url]).output();
    assert_eq!(fetch().unwrap().stdout, b"200");
    assert_eq!(fetch().unwrap().stdout, b"403");
    world.envelope(&["desktop", "stop", "one"]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
