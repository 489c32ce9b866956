//! Bad states: each a clear error with the step that mends it, and nothing left.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use deskhand_linux::desktop::{self, DesktopName, Entry, Fault, Owner, StartOptions};

use crate::world::{World, eventually, failure, files, kill_9, named, options};

/// A search path that holds only these programs.
fn only(world: &World, programs: &[&str]) -> std::ffi::OsString {
    let folder = world.root().join("programs");
    std::fs::create_dir(&folder).unwrap();
    for program in programs {
        std::os::unix::fs::symlink(format!("/usr/bin/{program}"), folder.join(program)).unwrap();
    }
    folder.into()
}

#[test]
fn missing_programs_are_named_together_with_their_packages() {
    let world = World::new();
    let path = only(&world, &["openbox"]);
    let world = world.with("PATH", path);
    let error = failure(desktop::start(&world.places, &options()));
    assert_eq!(error.fault, Fault::MissingProgram);
    assert!(error.message.contains("Xvfb") && error.message.contains("dbus-daemon"), "{error}");
    assert_eq!(error.fix.unwrap(), "apt-get install xvfb dbus");
    assert!(!world.places.desktops().exists());
    let needs = desktop::requirements(&world.places);
    let absent: Vec<_> = needs.iter().filter(|need| need.found.is_none()).map(|need| need.what).collect();
    assert_eq!(absent, ["Xvfb", "dbus-daemon"]);
}

#[test]
fn without_a_window_manager_it_runs_and_says_so() {
    let world = World::new();
    let path = only(&world, &["Xvfb", "dbus-daemon"]);
    let world = world.with("PATH", path);
    let record = desktop::start(&world.places, &options()).unwrap().record;
    assert_eq!(record.window_manager, None);
    let property = std::process::Command::new("xprop")
        .args(["-root", "_NET_SUPPORTING_WM_CHECK"])
        .envs(desktop::environment(&record))
        .output()
        .unwrap();
    assert!(!String::from_utf8(property.stdout).unwrap().contains("window id"));
    world.stop(&record);
}

#[test]
fn without_xvfb_xtigervnc_serves() {
    let world = World::new();
    let path = only(&world, &["Xtigervnc", "dbus-daemon", "openbox"]);
    let world = world.with("PATH", path);
    let record = desktop::start(&world.places, &options()).unwrap().record;
    assert_eq!(record.parts[0].program, "Xtigervnc");
    let rfb = std::fs::metadata(record.directory.join("rfb")).unwrap();
    assert_eq!(rfb.permissions().mode() & 0o777, 0o600);
    world.stop(&record);
    assert_eq!(files(&record), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_lock_goes_after_a_kill_if_it_is_that_servers_and_stays_if_not() {
    for (holder, stays) in [("server", false), ("somebody else", true)] {
        let world = World::new();
        // Numbers that no server chooses by itself.
        let number = u16::try_from(1000 + std::process::id() % 20_000).unwrap();
        let by_number = StartOptions { display: Some(number), ..options() };
        let record = desktop::start(&world.places, &by_number).unwrap().record;
        assert_eq!(record.display, Some(number));
        let server = record.parts[0].process.pid;
        let pid = if holder == "server" { server } else { std::process::id() };
        // Some servers make it, this one makes none when it tells its number.
        let lock = std::path::PathBuf::from(format!("/tmp/.X{number}-lock"));
        std::fs::write(&lock, format!("{pid:>10}\n")).unwrap();
        kill_9(server);
        eventually("the desktop's end", || !record.directory.exists());
        assert_eq!(lock.exists(), stays, "{holder}");
        let _ = std::fs::remove_file(&lock);
    }
}

#[test]
fn a_display_that_is_taken_is_said_to_be() {
    let world = World::new();
    let first = world.start();
    let taken = StartOptions { display: first.display, ..options() };
    let error = failure(desktop::start(&world.places, &taken));
    assert_eq!(error.fault, Fault::DisplayTaken);
    assert!(error.message.contains(&first.display_name().unwrap()), "{error}");
    assert_eq!(desktop::list(&world.places).unwrap(), vec![first.clone()]);
    world.stop(&first);
}

#[test]
fn a_name_in_use_is_said_to_be() {
    let world = World::new();
    let first = desktop::start(&world.places, &named("desk")).unwrap().record;
    let error = failure(desktop::start(&world.places, &named("desk")));
    assert_eq!(error.fault, Fault::NameInUse);
    assert_eq!(error.fix.unwrap(), "deskhand desktop stop desk, or choose another name");
    assert_eq!(desktop::list(&world.places).unwrap(), vec![first.clone()]);
    world.stop(&first);
    let again = desktop::start(&world.places, &named("desk")).unwrap().record;
    assert_ne!(again.id, first.id);
    world.stop(&again);
}

#[test]
fn a_desktop_that_is_not_there_is_said_not_to_be() {
    let world = World::new();
    let name = DesktopName::parse("nowhere").unwrap();
    for error in [
        desktop::find(&world.places, &name).unwrap_err(),
        desktop::stop(&world.places, &name, Duration::from_secs(1)).unwrap_err(),
    ] {
        assert_eq!(error.fault, Fault::NoSuchDesktop);
        assert_eq!(error.fix.unwrap(), "deskhand desktop start --name nowhere");
    }
}

#[test]
fn an_open_directory_is_refused() {
    let world = World::new();
    std::fs::create_dir(&world.places.runtime).unwrap();
    std::fs::set_permissions(&world.places.runtime, std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = failure(desktop::start(&world.places, &options()));
    assert_eq!(error.fault, Fault::NoPermission);
    assert_eq!(error.fix.unwrap(), format!("chmod 700 {}", world.places.runtime.display()));
    std::fs::set_permissions(&world.places.runtime, std::fs::Permissions::from_mode(0o700)).unwrap();
    let record = world.start();
    world.stop(&record);
}

#[test]
fn a_server_that_cannot_make_its_socket_is_explained_before_it_is_started() {
    let mut world = World::new();
    world.places.x11_sockets = world.root().join("file");
    std::fs::write(&world.places.x11_sockets, "").unwrap();
    let error = failure(desktop::start(&world.places, &options()));
    assert_eq!(error.fault, Fault::NoPermission);
    assert!(error.fix.unwrap().starts_with("sudo install -d -m 1777 -o root "));
}

#[test]
fn an_owner_that_is_not_there_is_refused() {
    let world = World::new();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let owned = StartOptions { owner: Owner::Process(gone.id()), ..options() };
    assert_eq!(failure(desktop::start(&world.places, &owned)).fault, Fault::BadCommand);
}

#[test]
fn a_part_that_fails_is_named_with_the_end_of_its_log() {
    let world = World::new();
    let path = only(&world, &["dbus-daemon", "openbox"]);
    let broken = std::path::Path::new(&path).join("Xvfb");
    std::fs::write(&broken, "#!/bin/sh\necho 'no screens found' >&2\nexit 3\n").unwrap();
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    let world = world.with("PATH", path);
    let error = failure(desktop::start(&world.places, &options()));
    assert_eq!(error.fault, Fault::StartFailed);
    assert!(error.message.contains("X") && error.message.contains("no screens found"), "{error}");
    assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
}

#[test]
fn a_start_that_takes_too_long_is_given_up_and_cleared_up() {
    let world = World::new();
    let path = only(&world, &["dbus-daemon", "openbox"]);
    let silent = std::path::Path::new(&path).join("Xvfb");
    std::fs::write(&silent, "#!/bin/sh\nexec /bin/sleep 1003\n").unwrap();
    std::fs::set_permissions(&silent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let world = world.with("PATH", path);
    let hasty = StartOptions { deadline: Duration::from_millis(700), ..options() };
    assert_eq!(failure(desktop::start(&world.places, &hasty)).fault, Fault::TimedOut);
    assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
    let left = crate::world::processes().into_values().filter(|seen| seen.command.contains("sleep 1003"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_program_that_is_not_there_is_said_not_to_be() {
    let world = World::new();
    let record = world.start();
    let fault = |argv: &[&str]| desktop::exec_detached(&record, &world.command(argv)).unwrap_err().fault;
    assert_eq!(fault(&["no-such-program"]), Fault::ExecFailed);
    let plain = world.root().join("plain");
    std::fs::write(&plain, "").unwrap();
    assert_eq!(fault(&[plain.to_str().unwrap()]), Fault::ExecFailed);
    assert_eq!(fault(&[""]), Fault::BadCommand);
    assert_eq!(fault(&[]), Fault::BadCommand);
    let mut elsewhere = world.command(&["true"]);
    elsewhere.directory = "/nowhere/at/all".into();
    assert_eq!(desktop::exec_detached(&record, &elsewhere).unwrap_err().fault, Fault::BadCommand);
    let huge = "x".repeat(5_000_000);
    assert_eq!(fault(&["true", &huge]), Fault::BadCommand);
    world.stop(&record);
}

#[test]
fn a_keeper_that_dies_at_once_is_noticed_at_once() {
    let world = World::new();
    let entry = Entry { program: "/bin/false".into(), leading: Vec::new() };
    let begun = std::time::Instant::now();
    let error = failure(desktop::start(&world.places, &StartOptions { entry, ..options() }));
    assert_eq!(error.fault, Fault::StartFailed);
    assert!(begun.elapsed() < options().deadline);
    assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
}
