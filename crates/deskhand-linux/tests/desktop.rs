//! The private desktop on this machine: real servers, real applications. The oracles are `/proc`, the file system,
//! `xdotool`, `xprop` and pyatspi.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use deskhand_linux::desktop::{self, DesktopRecord, Entry, Places, StartOptions};

/// Not a test: the entry through which this very program becomes a keeper or a supervisor.
#[test]
#[ignore = "only the desktops of the other tests call it"]
fn entry() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let [.., role, directory] = &arguments[..] else { return };
    if role == "keeper" || role == "supervisor" {
        let _ = desktop::run_supervisor(&this_program(), role, PathBuf::from(directory).as_path());
        std::process::exit(0);
    }
}

fn this_program() -> Entry {
    let leading = ["--exact", "entry", "--ignored", "--nocapture", "--test-threads=1"];
    Entry { program: std::env::current_exe().unwrap(), leading: leading.map(OsString::from).to_vec() }
}

struct World {
    places: Places,
    _root: tempfile::TempDir,
}

fn world() -> World {
    let root = tempfile::tempdir().unwrap();
    let places = Places {
        runtime: root.path().join("deskhand"),
        scratch: root.path().to_owned(),
        ..Places::of_environment(std::env::vars_os().collect())
    };
    World { places, _root: root }
}

#[test]
fn it_starts_is_listed_and_stops() {
    let world = world();
    let options = StartOptions { deadline: Duration::from_secs(60), ..StartOptions::new(this_program()) };
    let started = desktop::start(&world.places, &options).unwrap();
    let record: DesktopRecord = started.record;
    eprintln!("{record:#?}");
    assert_eq!(desktop::list(&world.places).unwrap(), vec![record.clone()]);
    desktop::stop(&world.places, &record.name, Duration::from_secs(20)).unwrap();
    assert_eq!(desktop::list(&world.places).unwrap(), vec![]);
}
