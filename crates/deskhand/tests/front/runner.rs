//! The Runner's process: one for each desktop, found or started, never in the way.

use std::io::Write as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;

use deskhand_contract::wire::{self, FromRunner, Mode, PROTOCOL, ToRunner};

use super::support::{Display, PATIENCE, World, eventually, signal};

fn greet(socket: &Path, protocol: u32, session: Option<&str>) -> (UnixStream, FromRunner) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let hello = ToRunner::Hello { protocol, session: session.map(str::to_owned), mode: Mode::Auto };
    wire::write_frame(&mut stream, &hello, &[]).unwrap();
    let (answer, _) = wire::read_frame::<FromRunner>(&mut stream).unwrap().unwrap();
    (stream, answer)
}

fn quit(stream: &mut UnixStream) -> bool {
    wire::write_frame(stream, &ToRunner::Quit { call: 9 }, &[]).unwrap();
    match wire::read_frame::<FromRunner>(stream).unwrap() {
        Some((FromRunner::Reply { call: 9, ending }, _)) => ending.error.is_none(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_first_calls_at_once_start_one_runner() {
    let world = World::new();
    world.desktop();
    let calls: Vec<_> = (0..8)
        .map(|_| world.command(&["observe", "targets"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for call in calls {
        let output = call.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("\"online\""), "{output:?}");
    }
    assert_eq!(world.runners().len(), 1);
}

#[test]
fn a_kill_leaves_nothing_wrong() {
    let world = World::new();
    world.desktop();
    for _ in 0..3 {
        assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
        let runner = world.runners()[0];
        signal(runner, "KILL");
        eventually("the end of the Runner", || !world.runners().contains(&runner));
    }
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
}

#[test]
fn it_ends_when_nobody_needs_it() {
    let world = World::new().with("DESKHAND_IDLE_SECONDS", "1");
    let record = world.desktop();
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    eventually("the end of an idle Runner", || world.runners().is_empty());
    assert!(!record.runner_socket().exists());

    // A connection keeps it.
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    let (held, _) = greet(&record.runner_socket(), PROTOCOL, None);
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(world.runners().len(), 1);
    drop(held);
    eventually("the end of an idle Runner", || world.runners().is_empty());
}

#[test]
fn it_ends_with_its_desktop() {
    let world = World::new();
    let record = world.desktop();
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    world.end(&record);
    eventually("the end of the Runner", || world.runners().is_empty());
}

#[test]
fn one_of_another_version_makes_room_unless_it_is_in_use() {
    let world = World::new();
    let record = world.desktop();
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    let socket = record.runner_socket();

    let (held, _) = greet(&socket, PROTOCOL, None);
    let (mut newer, answer) = greet(&socket, PROTOCOL + 1, None);
    assert!(matches!(answer, FromRunner::Rejected { .. }), "{answer:?}");
    assert!(!quit(&mut newer), "another session uses it");
    drop((held, newer));

    eventually("an end of its own connections", || {
        let (mut newer, _) = greet(&socket, PROTOCOL + 1, None);
        quit(&mut newer)
    });
    eventually("the end of the Runner", || world.runners().is_empty());
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
}

#[test]
fn a_runner_that_does_not_understand_is_told_of() {
    let world = World::new();
    let record = world.desktop();
    let listener = UnixListener::bind(record.runner_socket()).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = wire::read_frame::<serde_json::Value>(&mut stream);
            let rejected = FromRunner::Rejected { message: "this Runner is of version 99".into() };
            let _ = wire::write_frame(&mut stream, &rejected, &[]);
            let _ = wire::read_frame::<serde_json::Value>(&mut stream);
        }
    });
    let (envelope, exit) = world.envelope(&["observe", "windows"]);
    assert_eq!(exit, 75, "{envelope}");
    assert!(envelope["error"]["message"].as_str().unwrap().contains("version 99"), "{envelope}");
}

#[test]
fn nonsense_on_the_socket_ends_that_connection_alone() {
    let world = World::new();
    let record = world.desktop();
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    let runner = world.runners();
    for bytes in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &[0xff; 64], &[0; 8], b"\x05\0\0\0\0\0\0\0hello"] {
        let mut stream = UnixStream::connect(record.runner_socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
    }
    let (mut stream, _) = greet(&record.runner_socket(), PROTOCOL, None);
    wire::write_frame(&mut stream, &ToRunner::Cancel { call: 77 }, &[]).unwrap();
    wire::write_frame(&mut stream, &ToRunner::Stop { call: 78 }, &[]).unwrap();
    let (answer, _) = wire::read_frame::<FromRunner>(&mut stream).unwrap().unwrap();
    assert!(matches!(answer, FromRunner::Reply { call: 78, ref ending } if ending.error.is_none()), "{answer:?}");
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    assert_eq!(world.runners(), runner);
}

#[test]
fn it_holds_none_of_its_starter_s_pipes() {
    let world = World::new();
    world.desktop();
    // A pipe's end that the shell gives on: it must not keep this test waiting for its end.
    let output = std::process::Command::new("sh")
        .args(["-c", "exec 7>&1; exec \"$0\" observe targets", super::support::BINARY])
        .env_clear()
        .envs(world.command(&[]).get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let runner = world.runners()[0];
    let open: Vec<_> = std::fs::read_dir(format!("/proc/{runner}/fd"))
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("pipe:"))
        .collect();
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn its_socket_and_directory_are_the_user_s_alone() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let record = world.desktop();
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&record.runner_socket()), 0o600);
    assert_eq!(mode(record.runner_socket().parent().unwrap()), 0o700);
}

#[test]
fn stop_reaches_every_runner_and_starts_none() {
    let world = World::new();
    assert_eq!(world.envelope(&["stop"]).0["data"]["stopped"], serde_json::json!([]));
    let (first, second) = (world.desktop(), world.desktop());
    assert_eq!(world.envelope(&["stop"]).0["data"]["stopped"], serde_json::json!([]));
    assert!(world.runners().is_empty());
    for record in [&first, &second] {
        assert_eq!(world.envelope(&["--desktop", record.name.as_str(), "observe", "targets"]).1, 0);
    }
    let (all, exit) = world.envelope(&["stop"]);
    assert_eq!((exit, all["data"]["stopped"].as_array().unwrap().len()), (0, 2), "{all}");
    let (one, _) = world.envelope(&["stop", "--desktop", second.name.as_str()]);
    assert_eq!(one["data"]["stopped"], serde_json::json!([second.name.as_str()]));
    // Which of the two is meant must be said elsewhere.
    let (unclear, exit) = world.envelope(&["observe", "windows"]);
    assert_eq!(exit, 69, "{unclear}");
    assert!(unclear["error"]["message"].as_str().unwrap().contains("--desktop"), "{unclear}");
}

#[test]
fn a_stopped_runner_does_not_hang_a_call() {
    let world = World::new();
    world.desktop();
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
    let runner = world.runners()[0];
    signal(runner, "STOP");
    let (envelope, exit) = world.envelope(&["observe", "windows"]);
    assert_eq!(exit, 75, "{envelope}");
    let (stop, exit) = world.envelope(&["stop"]);
    assert_eq!(exit, 75, "{stop}");
    signal(runner, "CONT");
    assert_eq!(world.envelope(&["observe", "targets"]).1, 0);
}

#[test]
fn the_user_s_own_desktop_has_a_runner_that_ends_with_the_display() {
    let display = Display::start();
    let world = World::new().with("DISPLAY", &display.name);
    let (targets, exit) = world.envelope(&["observe", "targets"]);
    assert_eq!(exit, 0, "{targets}");
    assert_eq!(targets["data"]["targets"][0]["private"], false);
    assert_eq!(world.runners().len(), 1);
    // A screen of the same server is the same desktop.
    let screen = format!("{}.0", display.name);
    let same = world.command(&["observe", "targets"]).env("DISPLAY", screen).output().unwrap();
    assert!(same.status.success(), "{same:?}");
    assert_eq!(world.runners().len(), 1);
    // What reads whole displays is not given there.
    let (displays, exit) = world.envelope(&["observe", "displays"]);
    assert_eq!((exit, &displays["error"]["code"]), (77, &"scope_missing".into()), "{displays}");
    display.end();
    eventually("the end of the Runner", || world.runners().is_empty());
}
