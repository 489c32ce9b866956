//! The rules of the wire: whatever a host sends, there is one right answer or none, and the server lives on.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::World;

/// Long enough for an answer that must not come.
const SILENCE: Duration = Duration::from_millis(300);

#[track_caller]
fn refused(line: &[u8], id: Value, code: i64) {
    let world = World::new();
    let mut host = world.host(&[]);
    host.raw(&[line, b"\n"].concat());
    let answer = host.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
    assert!(answer["error"]["message"].is_string());
    host.is_well();
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for line in [
        b"x".as_slice(),
        b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"",
        b"\xff\xfe{}",
        b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xc3\x28\"}",
    ] {
        refused(line, Value::Null, -32_700);
    }
    refused(&[b'['; 100_000], Value::Null, -32_700);
}

#[test]
fn what_is_no_request_is_refused_under_its_id_where_it_has_one() {
    refused(b"[]", Value::Null, -32_600);
    refused(br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32_600);
    refused(b"7", Value::Null, -32_600);
    refused(br#"{"id":7,"method":"ping"}"#, json!(7), -32_600);
    refused(br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a"), -32_600);
    refused(br#"{"jsonrpc":"2.0","id":7}"#, json!(7), -32_600);
    refused(br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32_600);
    refused(br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, -32_600);
    refused(br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null, -32_600);
    refused(br#"{"jsonrpc":"2.0","id":7,"method":9}"#, json!(7), -32_600);
    refused(br#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, json!(7), -32_601);
    refused(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#, json!(7), -32_602);
    refused(
        br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"computer_observe","arguments":[]}}"#,
        json!(7),
        -32_602,
    );
    refused(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rm"}}"#, json!(7), -32_602);
}

#[test]
fn a_huge_line_is_refused_and_passed_over() {
    let world = World::new();
    let mut host = world.host(&[]);
    let mut line = br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":""#.to_vec();
    line.extend(std::iter::repeat_n(b'a', 9 << 20));
    line.extend(b"\"}}\n");
    host.raw(&line);
    assert_eq!(host.next()["error"]["code"], -32_600);
    host.is_well();
    // One that just fits is served.
    let mut line = br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":""#.to_vec();
    line.extend(std::iter::repeat_n(b'a', 7 << 20));
    line.extend(b"\"}}\n");
    host.raw(&line);
    assert_eq!(host.next()["id"], 7);
    host.is_well();
}

#[test]
fn notifications_are_never_answered() {
    let world = World::new();
    let mut host = world.host(&[]);
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "unknown" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/no_such" }),
        json!({ "jsonrpc": "2.0", "method": "$/lsp" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "computer_observe" } }),
        json!({ "jsonrpc": "2.0", "id": 5, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 5, "error": { "code": 1, "message": "no" } }),
    ] {
        host.send(&message);
    }
    host.raw(b"\n\r\n  \n");
    assert_eq!(host.next_within(SILENCE), None);
    host.is_well();
}

#[test]
fn nothing_before_initialize_ends_the_server() {
    let world = World::new();
    let mut host = world.silent_host(&[]);
    host.tell("notifications/cancelled", json!({ "requestId": 1 }));
    host.tell("notifications/initialized", json!({}));
    host.tell("notifications/no_such", json!({}));
    host.raw(b"x\n");
    assert_eq!(host.next()["error"]["code"], -32_700);
    host.is_well();
    // A request that belongs to a conversation which has not begun.
    assert!(host.request("tools/list", json!({}))["error"].is_object());
    host.tell("notifications/cancelled", json!({ "requestId": 1 }));
    assert_eq!(host.initialize("2025-06-18")["result"]["protocolVersion"], "2025-06-18");
    assert!(host.request("tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn line_separators_inside_a_string_are_text() {
    let world = World::new();
    let mut host = world.host(&[]);
    host.raw("{\"jsonrpc\":\"2.0\",\"id\":\"a\u{2028}b\",\"method\":\"ping\"}\r\n".as_bytes());
    assert_eq!(host.next()["id"], "a\u{2028}b");
}

#[test]
fn half_a_line_and_the_end_is_an_end() {
    let world = World::new();
    let mut host = world.host(&[]);
    host.raw(br#"{"jsonrpc":"2.0","id":7,"meth"#);
    host.close();
    assert_eq!(host.next_within(SILENCE), None);
    let (status, said) = host.wait();
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

#[test]
fn an_id_in_use_is_refused_and_its_request_still_answered_once() {
    let world = World::new();
    let mut host = world.host(&[]);
    // The first call starts a desktop, which takes longer than the second line.
    let call = json!({
        "jsonrpc": "2.0", "id": "same", "method": "tools/call",
        "params": { "name": "computer_observe", "arguments": { "action": "targets" } },
    });
    host.raw(format!("{call}\n{call}\n").as_bytes());
    let answers = [host.next(), host.next()];
    let refused = answers.iter().filter(|answer| answer["error"]["code"] == -32_600 && answer["id"].is_null()).count();
    let answered = answers.iter().filter(|answer| answer["id"] == "same" && answer["result"].is_object()).count();
    assert_eq!((refused, answered), (1, 1), "{answers:?}");
}

#[test]
fn every_version_is_spoken() {
    for version in ["2025-06-18", "2025-11-25"] {
        let world = World::new();
        let mut host = world.silent_host(&[]);
        let answer = host.initialize(version);
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("windows"));
        assert_eq!(answer["result"]["serverInfo"]["name"], "deskhand");
    }
    // One that is not spoken is answered with one that is.
    let world = World::new();
    assert_eq!(world.silent_host(&[]).initialize("1999-01-01")["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn the_stateless_version_needs_no_initialize() {
    let world = World::new();
    let mut host = world.silent_host(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = host.request("server/discover", json!({ "_meta": meta }));
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap_or_else(|| panic!("{discovered}"));
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    let listed = host.request("tools/list", json!({ "_meta": meta }));
    assert_eq!(listed["result"]["tools"][0]["name"], "computer_observe", "{listed}");
    assert_eq!(listed["result"]["resultType"], "complete");
    let called = host.request(
        "tools/call",
        json!({ "_meta": meta, "name": "computer_observe", "arguments": { "action": "targets" } }),
    );
    assert_eq!(called["result"]["structuredContent"]["ok"], true, "{called}");
    // A request of that lifecycle that does not say who asks.
    assert_eq!(host.request("tools/list", json!({}))["error"]["code"], -32_602);
}

#[test]
fn nothing_but_protocol_is_on_standard_output() {
    let world = World::new().with("RUST_LOG", "trace").with("RUST_BACKTRACE", "full").with("G_MESSAGES_DEBUG", "all");
    let mut host = world.host(&[]);
    host.observe(json!({ "action": "targets" }));
    host.observe(json!({ "action": "windows" }));
    host.observe(json!({ "action": "nonsense" }));
    host.close();
    // `next_within` fails on a line that is not protocol.
    while host.next_within(SILENCE).is_some() {}
    assert_eq!(host.wait().0, Some(0));
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

#[test]
fn mutated_messages_never_end_the_server() {
    let seeds: [&[u8]; 6] = [
        br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"cursor":"a"}}"#,
        br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"computer_observe","arguments":{"action":"find_elements","surface_id":"s12345678","label":"x","limit":3}}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"no"}}"#,
        br#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"n","version":"v"}}}"#,
        br#"{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    ];
    let seed = std::env::var("DESKHAND_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    println!("seed {seed} (DESKHAND_SEED repeats another)");
    let mut numbers = Numbers(seed);
    // No desktop can be started here, so that no mutation does.
    let world = World::new().with("PATH", "/nonexistent");
    let mut host = world.host(&[]);
    for round in 0..60 {
        let mut sent = Vec::new();
        for _ in 0..40 {
            let mut line = seeds[numbers.next(seeds.len())].to_vec();
            for _ in 0..=numbers.next(4) {
                if line.is_empty() {
                    break;
                }
                let at = numbers.next(line.len());
                match numbers.next(5) {
                    0 => line[at] = numbers.next(256) as u8,
                    1 => drop(line.remove(at)),
                    2 => line.insert(at, b"{}[]\",:0\\\n\x00\xff"[numbers.next(12)]),
                    3 => line.truncate(at.max(1)),
                    _ => line.extend_from_within(at..),
                }
            }
            sent.extend(line);
            sent.push(b'\n');
        }
        host.raw(&sent);
        let id = format!("round {round}");
        host.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        while host.next()["id"] != *id {}
    }
}
