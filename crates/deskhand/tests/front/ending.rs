//! However a host ends, nothing of its session is left.

use std::time::{Duration, Instant};

use serde_json::json;

use super::support::{Host, World, eventually, signal};

/// A host that has a private desktop of its own, with a Runner.
fn busy_host(world: &World) -> Host {
    let mut host = world.host(&[]);
    let result = host.observe(json!({ "action": "targets" }));
    assert_eq!(result["structuredContent"]["data"]["targets"][0]["private"], true, "{result}");
    assert_eq!(world.runners().len(), 1);
    host
}

#[track_caller]
fn nothing_runs(world: &World) {
    eventually("the end of every process", || world.processes().is_empty());
}

#[track_caller]
fn nothing_is_left(world: &World) {
    nothing_runs(world);
    let desktops = world.runtime().join("desktops");
    let left: Vec<_> = desktops.read_dir().unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == ".ended"), "{left:?}");
    assert_eq!(world.root().join("tmp").read_dir().unwrap().count(), 0, "private homes are left");
}

#[test]
fn the_end_of_its_input() {
    let world = World::new();
    let mut host = busy_host(&world);
    host.close();
    let begun = Instant::now();
    let (status, said) = host.wait();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    // A bound of the contract, with room for a loaded machine.
    assert!(begun.elapsed() < Duration::from_secs(10));
    nothing_is_left(&world);
}

#[test]
fn a_polite_signal() {
    for name in ["TERM", "INT"] {
        let world = World::new();
        let host = busy_host(&world);
        signal(host.pid(), name);
        assert_eq!(host.wait().0, Some(0));
        nothing_is_left(&world);
    }
}

#[test]
fn a_kill() {
    let world = World::new();
    let host = busy_host(&world);
    signal(host.pid(), "KILL");
    host.wait();
    nothing_is_left(&world);
}

#[test]
fn an_empty_input_is_a_short_life() {
    let world = World::new();
    let output = world.run(&["mcp"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_host_that_does_not_listen_any_more() {
    use std::io::Write as _;
    use std::process::Stdio;
    let world = World::new();
    let mut child = world.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    eventually("the end of the process", || child.try_wait().unwrap().is_some());
    drop(input);
    nothing_runs(&world);
}

#[test]
fn a_wrong_size_is_told_at_the_start() {
    let world = World::new();
    let output = world.run(&["mcp", "--size", "huge"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("1920x1080"), "{output:?}");
}

#[test]
fn two_hosts_have_a_desktop_each_and_one_s_end_is_not_the_other_s() {
    let world = World::new();
    let first = busy_host(&world);
    let mut second = world.host(&[]);
    second.observe(json!({ "action": "targets" }));
    assert_eq!(world.runners().len(), 2);
    drop(first);
    eventually("the end of the first Runner", || world.runners().len() == 1);
    let result = second.observe(json!({ "action": "targets" }));
    assert_eq!(result["structuredContent"]["data"]["targets"].as_array().unwrap().len(), 1);
    drop(second);
    nothing_is_left(&world);
}

#[test]
fn a_killed_runner_is_started_again_at_the_next_call() {
    let world = World::new();
    let mut host = busy_host(&world);
    let first = world.runners()[0];
    signal(first, "KILL");
    eventually("the end of the Runner", || !world.runners().contains(&first));
    let result = host.observe(json!({ "action": "targets" }));
    assert_eq!(result["structuredContent"]["data"]["targets"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(world.runners().len(), 1);
    assert_ne!(world.runners()[0], first);
}

#[test]
fn a_desktop_that_ended_is_started_again_at_the_next_call() {
    let world = World::new();
    let mut host = busy_host(&world);
    let server = world.processes().into_iter().find(|(_, line)| line.contains("Xvfb")).unwrap().0;
    signal(server, "KILL");
    eventually("the end of the desktop", || world.runners().is_empty());
    let result = host.observe(json!({ "action": "targets" }));
    assert_eq!(result["structuredContent"]["data"]["targets"].as_array().unwrap().len(), 1, "{result}");
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    use std::io::Write as _;
    use std::process::Stdio;
    let world = World::new();
    let desktop = world.desktop();
    let mut child = world
        .command(&["mcp", "--desktop", desktop.name.as_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
            "name": "computer_observe", "arguments": { "action": "windows" } } }),
    ];
    let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
    child.stdin.take().unwrap().write_all(format!("{text}x\n").as_bytes()).unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let mut ids: Vec<String> =
        output.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["1", "2", "3", "null"], "{output}");
}
