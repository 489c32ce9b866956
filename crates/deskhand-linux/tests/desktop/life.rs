//! Begin, company and end.

use std::io::Read;
use std::os::fd::AsFd;

use deskhand_linux::desktop::{self, DesktopRecord, DesktopState, Exit, Owner, PartRole, Size, StartOptions};

use crate::world::{World, eventually, family, files, kill_9, left_of, marked, named, options};

#[test]
fn it_starts_is_listed_and_stops_without_a_trace() {
    let world = World::new();
    let record = world.start();
    assert_eq!(record.state, DesktopState::Ready);
    assert_eq!(desktop::list(&world.places).unwrap(), vec![record.clone()]);
    assert!(world.says(&record, &["xdpyinfo"]).contains("dimensions:    1920x1080 pixels"));
    assert!(world.says(&record, &["xprop", "-root", "_NET_SUPPORTING_WM_CHECK"]).contains("window id"));
    let status = ["org.a11y.Status", "IsEnabled"];
    for property in [status, ["org.a11y.Status", "ScreenReaderEnabled"]] {
        let call = ["dbus-send", "--session", "--print-reply", "--dest=org.a11y.Bus", "/org/a11y/bus"];
        let get = "org.freedesktop.DBus.Properties.Get";
        let (interface, name) = (format!("string:{}", property[0]), format!("string:{}", property[1]));
        let argv: Vec<_> = call.into_iter().chain([get, &interface, &name]).collect();
        assert!(world.says(&record, &argv).contains("boolean true"), "{property:?}");
    }
    let everyone = family(record.keeper.unwrap().pid);
    assert!(everyone.len() >= 7, "{everyone:#?}");
    world.stop(&record);
    eventually("no process is left", || left_of(&everyone).is_empty());
    assert_eq!((marked(&record), files(&record)), (vec![], vec![]));
    assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
}

#[test]
fn the_size_is_the_displays() {
    let world = World::new();
    let options = StartOptions { size: Size::parse("801x603").unwrap(), ..options() };
    let record = desktop::start(&world.places, &options).unwrap().record;
    assert!(world.says(&record, &["xdpyinfo"]).contains("dimensions:    801x603 pixels"));
    world.stop(&record);
}

#[test]
fn without_the_cookie_nobody_gets_in() {
    let world = World::new();
    let record = world.start();
    let display = record.display_name().unwrap();
    let mut stranger = std::process::Command::new("xdpyinfo");
    stranger.env("DISPLAY", display).env("XAUTHORITY", "/dev/null").env("HOME", "/nonexistent");
    assert!(!stranger.output().unwrap().status.success());
    world.stop(&record);
}

#[test]
fn three_side_by_side_do_not_see_each_other() {
    let world = World::new();
    let records: Vec<_> =
        ["one", "two", "three"].map(|name| desktop::start(&world.places, &named(name)).unwrap().record).into();
    for record in &records {
        world.spawn(record, &["zenity", "--info", "--title", record.name.as_str(), "--text", "here"]);
    }
    let titles = |record: &DesktopRecord| {
        let found =
            world.run(record, &["xdotool", "search", "--onlyvisible", "--class", "zenity", "getwindowname", "%@"]);
        String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for record in &records {
        eventually("its own window shows", || titles(record) == [record.name.as_str()]);
        let heard = world.says(record, &["/usr/bin/python3", "-c", TITLES]);
        assert_eq!(heard, format!("[\"{}\"]", record.name).replace('"', "'"));
    }
    world.stop(&records[1]);
    let left = desktop::list(&world.places).unwrap();
    assert_eq!(left.iter().map(|record| record.name.as_str()).collect::<Vec<_>>(), ["one", "three"]);
    assert_eq!(titles(&records[0]), ["one"]);
    world.stop(&records[0]);
    world.stop(&records[2]);
}

/// The titles that pyatspi sees, patiently.
const TITLES: &str = "
import pyatspi, time
for _ in range(100):
    found = [w.name for a in pyatspi.Registry.getDesktop(0) if a for w in a if w and w.name]
    if found: break
    time.sleep(0.1)
print(found)";

#[test]
fn the_kill_of_any_part_ends_it_whole() {
    for victim in
        ["keeper", "supervisor", "Xvfb", "dbus-daemon", "openbox", "at-spi-bus-launcher", "the accessibility bus"]
    {
        let world = World::new();
        let record = world.start();
        let secret = record.id.clone();
        // Companions that try to stay: in sessions of their own, twice forked, and without the desktop's mark.
        let shy = format!("exec -a shy-{secret} sleep 1000");
        world.spawn(&record, &["setsid", "-f", "bash", "-c", &shy]);
        let stranger = format!("exec -a stranger-{secret} sleep 1000");
        world.spawn(&record, &["env", "-i", "/usr/bin/setsid", "-f", "/bin/bash", "-c", &stranger]);
        world.spawn(&record, &["zenity", "--info", "--text", "here"]);
        let keeper = record.keeper.unwrap().pid;
        eventually("its companions run", || {
            let count = |what: &str| family(keeper).values().filter(|seen| seen.command.contains(what)).count();
            count(&format!("shy-{secret}")) == 1 && count(&format!("stranger-{secret}")) == 1 && count("zenity") == 1
        });
        let everyone = family(keeper);
        let pid = match victim {
            "keeper" => keeper,
            "supervisor" => record.supervisor.unwrap().pid,
            part => record.parts.iter().find(|other| other.program == part).expect(part).process.pid,
        };
        let begun = std::time::Instant::now();
        kill_9(pid);
        // Ours alone: what the machine's own init has yet to collect is not the desktop's.
        let adopted = |(pid, seen): &(&u32, &crate::world::Seen)| {
            !(seen.state == "Z" && Some(**pid) == record.supervisor.map(|process| process.pid) && victim == "keeper")
        };
        eventually(victim, || left_of(&everyone).iter().filter(adopted).count() == 0);
        eventually(victim, || files(&record).is_empty());
        eprintln!("{victim}: {} processes gone after {} ms", everyone.len(), begun.elapsed().as_millis());
        assert_eq!(marked(&record), Vec::<String>::new(), "{victim}");
        let listed = desktop::list(&world.places).unwrap();
        let why = listed[0].ended.clone().unwrap();
        assert_eq!(listed[0].state, DesktopState::Ended);
        // The launcher is the bus's parent and ends by itself when the bus does: either is a true word on it.
        let launcher_fell = victim == "the accessibility bus" && why.contains("at-spi-bus-launcher exited");
        assert!(why.contains(victim) || launcher_fell, "{victim}: {why}");
        let error = desktop::exec_detached(&listed[0], &world.command(&["true"])).unwrap_err();
        assert_eq!(error.fault.name(), "ended");
        // Stopping what has ended forgets it.
        world.stop(&record);
        assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
    }
}

#[test]
fn both_guards_killed_at_once_are_cleared_up_by_whoever_looks() {
    let world = World::new();
    let record = world.start();
    world.spawn(&record, &["setsid", "-f", "sleep", "1000"]);
    let everyone = family(record.keeper.unwrap().pid);
    let guards = [record.keeper.unwrap().pid.to_string(), record.supervisor.unwrap().pid.to_string()];
    assert!(std::process::Command::new("kill").arg("-9").args(&guards).status().unwrap().success());
    eventually("the record is an ended one", || {
        desktop::list(&world.places).unwrap().iter().all(|record| record.state == DesktopState::Ended)
    });
    let running = || left_of(&everyone).into_values().filter(|seen| seen.state != "Z").collect::<Vec<_>>();
    eventually("no process is left", || running().is_empty());
    assert_eq!((marked(&record), files(&record)), (vec![], vec![]));
    assert_eq!(world.start().state, DesktopState::Ready);
}

#[test]
fn it_ends_with_its_owner() {
    let world = World::new();
    let mut owner = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let owned = StartOptions { owner: Owner::Process(owner.id()), ..options() };
    let record = desktop::start(&world.places, &owned).unwrap().record;
    let everyone = family(record.keeper.unwrap().pid);
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("no process is left", || left_of(&everyone).is_empty());
    eventually("no file is left", || files(&record).is_empty());
    assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
}

#[test]
fn it_ends_with_its_lease() {
    let world = World::new();
    let leased = StartOptions { owner: Owner::Caller, ..options() };
    let started = desktop::start(&world.places, &leased).unwrap();
    let everyone = family(started.record.keeper.unwrap().pid);
    assert_eq!(left_of(&everyone).len(), everyone.len());
    drop(started.lease);
    eventually("no process is left", || left_of(&everyone).is_empty());
    assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
}

#[test]
fn a_killed_runner_or_application_leaves_the_desktop_as_it_is() {
    let world = World::new();
    let record = world.start();
    let parent = world.spawn(&record, &["bash", "-c", "sleep 1001 & wait"]);
    eventually("its child runs", || family(parent).len() == 2);
    let both = family(parent);
    kill_9(parent);
    eventually("it is gone and no zombie", || !left_of(&both).contains_key(&parent));
    assert_eq!(left_of(&both).len(), 1, "what it started stays until the desktop ends");
    assert_eq!(desktop::list(&world.places).unwrap(), vec![record.clone()]);
    world.stop(&record);
    assert!(left_of(&both).is_empty());
}

#[test]
fn an_attached_program_has_its_streams_its_status_and_its_signals() {
    let world = World::new();
    let record = world.start();
    let run = |argv: &[&str]| {
        let (mut read, write) = std::io::pipe().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let streams = [null.as_fd(), write.as_fd(), write.as_fd()];
        let attached = desktop::exec_attached(&record, &world.command(argv), streams).unwrap();
        drop(write);
        let mut said = String::new();
        read.read_to_string(&mut said).unwrap();
        (said, attached.wait().unwrap())
    };
    let (said, exit) = run(&["sh", "-c", "echo $DISPLAY; pwd; exit 7"]);
    let expected = format!("{}\n{}\n", record.display_name().unwrap(), world.root().canonicalize().unwrap().display());
    assert_eq!((said, exit), (expected, Exit::Code(7)));
    assert_eq!(run(&["printf", "%s", "-rf $(id) `id`; 'a' \"b\""]).0, "-rf $(id) `id`; 'a' \"b\"");
    assert_eq!(run(&["sh", "-c", "kill -9 $$"]).1, Exit::Signal(9));

    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
    let sleeper = world.command(&["sleep", "1002"]);
    let attached = desktop::exec_attached(&record, &sleeper, [null.as_fd(); 3]).unwrap();
    attached.signal(15);
    assert_eq!(attached.wait().unwrap(), Exit::Signal(15));

    let attached = desktop::exec_attached(&record, &sleeper, [null.as_fd(); 3]).unwrap();
    let seen = family(attached.process().pid);
    assert_eq!(seen.len(), 1);
    drop(attached);
    eventually("it ends with its caller", || left_of(&seen).is_empty());
    world.stop(&record);
}

#[test]
fn a_supervisor_that_hangs_is_stopped_all_the_same() {
    let world = World::new();
    let record = world.start();
    let everyone = family(record.keeper.unwrap().pid);
    let supervisor = record.supervisor.unwrap().pid.to_string();
    assert!(std::process::Command::new("kill").args(["-STOP", &supervisor]).status().unwrap().success());
    desktop::stop(&world.places, &record.name, std::time::Duration::from_millis(500)).unwrap();
    eventually("no process is left", || left_of(&everyone).is_empty());
    assert_eq!(files(&record), Vec::<std::path::PathBuf>::new());
}

#[test]
fn parts_are_what_the_record_says() {
    let world = World::new();
    let record = world.start();
    let roles: Vec<_> = record.parts.iter().map(|part| part.role).collect();
    let expected = [
        PartRole::DisplayServer,
        PartRole::SessionBus,
        PartRole::WindowManager,
        PartRole::AccessibilityLauncher,
        PartRole::AccessibilityBus,
    ];
    assert_eq!(roles, expected);
    let seen = family(record.supervisor.unwrap().pid);
    for part in &record.parts {
        assert!(seen.contains_key(&part.process.pid), "{part:?}");
    }
    world.stop(&record);
}
