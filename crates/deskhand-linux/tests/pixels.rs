//! Pictures of windows and displays, against colours that the fixtures paint and ImageMagick's own grab.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's own")]

mod desk;

use std::time::Duration;

use desk::{Desk, Shape, colour, eventually, find_colour, limit, picture, window};
use deskhand_contract::geometry::{Size, WindowRect};
use deskhand_contract::provider::{Belonging, Bitmap, CaptureTarget, Fault, Provider as _};
use x11rb::connection::Connection as _;
use x11rb::protocol::composite::{ConnectionExt as _, Redirect};
use x11rb::rust_connection::RustConnection;

/// A window that paints a pattern of its own: a field of one colour with a marked square, and a text.
const PAINT: &str = r##"
import sys, tkinter
title, place, colour, mark = sys.argv[1:5]
root = tkinter.Tk()
root.title(title)
root.geometry(place)
canvas = tkinter.Canvas(root, bg=colour, highlightthickness=0)
canvas.pack(fill="both", expand=True)
canvas.create_rectangle(50, 60, 90, 100, fill=mark, outline=mark)
canvas.create_text(150, 30, text="some text", fill="#ffffff")
if "override" in sys.argv:
    root.overrideredirect(True)
root.mainloop()
"##;

fn paint(desk: &mut Desk, title: &str, place: &str, field: &str, mark: &str, extra: &[&str]) -> u32 {
    let path = desk.write("paint.py", PAINT);
    let mut arguments = vec![path.as_str(), title, place, field, mark];
    arguments.extend(extra);
    desk.run("/usr/bin/python3", &arguments)
}

/// What ImageMagick grabs of a window that is wholly visible, as rows of red, green, blue.
fn oracle(desk: &Desk, title: &str) -> Vec<u8> {
    let id = desk.output("xdotool", &["search", "--name", &format!("^{title}$")]);
    let id = id.lines().next().expect("xdotool finds it").to_owned();
    let mut command = desk.command("import", &["-window", &id, "-depth", "8", "rgb:-"]);
    command.stdout(std::process::Stdio::piped()).output().expect("import runs").stdout
}

fn rgb(bitmap: &Bitmap) -> Vec<u8> {
    bitmap.pixels.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect()
}

const FIELD: [u8; 3] = [0x12, 0xfe, 0x34];
const MARK: [u8; 3] = [0xfe, 0x12, 0x34];

#[test]
fn a_visible_window_is_what_imagemagick_sees() {
    let mut desk = Desk::managed();
    paint(&mut desk, "plain", "300x200+120+90", "#12fe34", "#fe1234", &[]);
    let provider = desk.provider();
    let found = window(&provider, "plain");
    eventually("it is painted", || picture(&provider, &found).is_ok_and(|bitmap| colour(&bitmap, 5, 5) == FIELD));
    let before = desk.sentinel_at_rest();
    let bitmap = picture(&provider, &found).unwrap();
    assert_eq!((bitmap.size, bitmap.source), (Size::new(300, 200), Size::new(300, 200)));
    assert_eq!(find_colour(&bitmap, MARK), Some((50, 60, 41, 41)));
    assert!(rgb(&bitmap) == oracle(&desk, "plain"), "the pictures differ");
    let region = Some(WindowRect::new(40, 50, 20, 30));
    let part = provider.capture(&CaptureTarget::Window { window: &found.key, region }, &limit()).unwrap();
    assert_eq!((part.size, part.source), (Size::new(20, 30), Size::new(300, 200)));
    assert_eq!(find_colour(&part, MARK), Some((10, 10, 10, 20)));
    let outside = Some(WindowRect::new(290, 0, 20, 20));
    let refused = provider.capture(&CaptureTarget::Window { window: &found.key, region: outside }, &limit());
    assert!(matches!(refused, Err(Fault::NotCapturable(_))));
    assert_eq!(desk.sentinel(), before);
}

fn a_covered_window_gives_its_own_pixels(mut desk: Desk) {
    paint(&mut desk, "below", "300x200+120+90", "#12fe34", "#fe1234", &[]);
    let provider = desk.provider();
    let below = window(&provider, "below");
    std::thread::sleep(Duration::from_millis(300));
    let own = oracle(&desk, "below");
    paint(&mut desk, "above", "500x400+60+40", "#0000ff", "#0000ff", &["override"]);
    eventually("it is covered", || {
        let id = desk.output("xdotool", &["search", "--name", "^below$"]);
        let seen = oracle_of(&desk, id.lines().next().expect("there"));
        !seen.is_empty() && seen.chunks_exact(3).all(|pixel| pixel != FIELD && pixel != MARK)
    });
    let before = desk.sentinel_at_rest();
    let bitmap = picture(&provider, &below).unwrap();
    assert_eq!(find_colour(&bitmap, [0, 0, 255]), None, "another window's pixels");
    assert_eq!(find_colour(&bitmap, MARK), Some((50, 60, 41, 41)));
    assert!(rgb(&bitmap) == own, "the pictures differ");
    assert_eq!(desk.sentinel(), before);
}

fn oracle_of(desk: &Desk, id: &str) -> Vec<u8> {
    let mut command = desk.command("import", &["-window", id, "-depth", "8", "rgb:-"]);
    command.stdout(std::process::Stdio::piped()).output().expect("import runs").stdout
}

#[test]
fn a_covered_window_gives_its_own_pixels_under_a_window_manager() {
    a_covered_window_gives_its_own_pixels(Desk::managed());
}

#[test]
fn a_covered_window_gives_its_own_pixels_without_a_window_manager() {
    a_covered_window_gives_its_own_pixels(Desk::bare());
}

#[test]
fn a_covered_stopped_application_is_refused_or_its_own_and_never_another_window() {
    for manager in [true, false] {
        let mut desk = Desk::start(&Shape { size: "1280x900x24", manager, bus: false });
        let gtk = desk.write("gtk.py", GTK);
        let pid = desk.run("/usr/bin/python3", &[&gtk]);
        let provider = desk.provider();
        let below = window(&provider, "gtk below");
        std::thread::sleep(Duration::from_millis(400));
        paint(&mut desk, "above", "700x600+0+0", "#0000ff", "#0000ff", &["override"]);
        window(&provider, "above");
        std::thread::sleep(Duration::from_millis(400));
        let stopped = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
        rustix::process::kill_process(stopped, rustix::process::Signal::STOP).expect("our child");
        match picture(&provider, &below) {
            Err(Fault::NotCapturable(why)) => assert!(why.contains("painted"), "{why}"),
            Ok(bitmap) => assert_eq!(find_colour(&bitmap, [0, 0, 255]), None, "another window's pixels"),
            Err(fault) => panic!("{fault:?}"),
        }
        rustix::process::kill_process(stopped, rustix::process::Signal::CONT).expect("our child");
        eventually("once it runs again it has its pixels", || {
            picture(&provider, &below).is_ok_and(|bitmap| {
                find_colour(&bitmap, [0, 0, 255]).is_none() && find_colour(&bitmap, FIELD).is_some()
            })
        });
    }
}

const GTK: &str = r##"
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, Gdk
window = Gtk.Window(title="gtk below")
window.set_default_size(300, 200)
area = Gtk.DrawingArea()
def draw(area, context):
    context.set_source_rgb(0x12 / 255, 0xfe / 255, 0x34 / 255)
    context.paint()
area.connect("draw", draw)
window.add(area)
window.show_all()
window.move(100, 100)
Gtk.main()
"##;

#[test]
fn a_window_captured_before_keeps_its_pixels_when_it_is_covered_and_stopped() {
    let mut desk = Desk::managed();
    let pid = paint(&mut desk, "early", "300x200+120+90", "#12fe34", "#fe1234", &[]);
    let provider = desk.provider();
    let early = window(&provider, "early");
    eventually("it is painted", || picture(&provider, &early).is_ok_and(|bitmap| colour(&bitmap, 5, 5) == FIELD));
    let own = rgb(&picture(&provider, &early).unwrap());
    let stopped = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
    rustix::process::kill_process(stopped, rustix::process::Signal::STOP).expect("our child");
    paint(&mut desk, "above", "500x400+60+40", "#0000ff", "#0000ff", &["override"]);
    window(&provider, "above");
    std::thread::sleep(Duration::from_millis(300));
    assert!(rgb(&picture(&provider, &early).unwrap()) == own);
}

#[test]
fn a_window_half_off_the_screen_is_whole() {
    for manager in [true, false] {
        let mut desk = Desk::start(&Shape { size: "1280x900x24", manager, bus: false });
        paint(&mut desk, "edge", "300x200+120+90", "#12fe34", "#fe1234", &[]);
        let provider = desk.provider();
        window(&provider, "edge");
        let id = desk.output("xdotool", &["search", "--name", "^edge$"]);
        let id = id.lines().next().expect("there").to_owned();
        desk.output("xdotool", &["windowmove", "--", &id, "-70", "-60"]);
        eventually("it is over the edge", || {
            let place = window(&provider, "edge").geometry;
            place.x < 0 && place.y < 0
        });
        let bitmap = picture(&provider, &window(&provider, "edge")).unwrap();
        assert_eq!(bitmap.size, Size::new(300, 200));
        assert_eq!(find_colour(&bitmap, MARK), Some((50, 60, 41, 41)), "manager {manager}");
        assert_eq!(colour(&bitmap, 0, 0), FIELD);
        assert_eq!(colour(&bitmap, 299, 199), FIELD);
    }
}

#[test]
fn a_resized_window_gives_its_new_picture() {
    for manager in [true, false] {
        let mut desk = Desk::start(&Shape { size: "1280x900x24", manager, bus: false });
        paint(&mut desk, "grows", "300x200+120+90", "#12fe34", "#fe1234", &[]);
        let provider = desk.provider();
        let grows = window(&provider, "grows");
        picture(&provider, &grows).unwrap();
        paint(&mut desk, "above", "900x700+0+0", "#0000ff", "#0000ff", &["override"]);
        window(&provider, "above");
        std::thread::sleep(Duration::from_millis(300));
        let id = desk.output("xdotool", &["search", "--name", "^grows$"]);
        desk.output("xdotool", &["windowsize", id.lines().next().expect("there"), "500", "400"]);
        eventually("it has grown", || {
            picture(&provider, &grows).is_ok_and(|bitmap| {
                assert_eq!(find_colour(&bitmap, [0, 0, 255]), None, "another window's pixels");
                bitmap.size == Size::new(500, 400) && colour(&bitmap, 499, 399) == FIELD
            })
        });
    }
}

#[test]
fn a_display_is_what_imagemagick_sees_and_hidden_windows_are_black() {
    let mut desk = Desk::managed();
    paint(&mut desk, "secret", "300x200+120+90", "#12fe34", "#fe1234", &[]);
    paint(&mut desk, "open", "300x200+700+400", "#0000ff", "#ffff00", &[]);
    let provider = desk.provider();
    let secret = window(&provider, "secret");
    window(&provider, "open");
    let displays = provider.displays(&limit()).unwrap();
    assert_eq!(displays.len(), 1);
    assert!(displays[0].primary);
    let grab = |without: &[deskhand_contract::provider::NativeKey]| {
        provider.capture(&CaptureTarget::Display { display: &displays[0].key, without }, &limit()).unwrap()
    };
    eventually("both are painted", || {
        let bitmap = grab(&[]);
        find_colour(&bitmap, MARK).is_some() && find_colour(&bitmap, [255, 255, 0]).is_some()
    });
    let before = desk.sentinel_at_rest();
    let bitmap = grab(&[]);
    assert_eq!(bitmap.size, Size::new(1280, 900));
    assert!(rgb(&bitmap) == oracle_of(&desk, "root"), "the pictures differ");
    let hidden = grab(std::slice::from_ref(&secret.key));
    assert_eq!((find_colour(&hidden, MARK), find_colour(&hidden, FIELD)), (None, None));
    assert!(find_colour(&hidden, [255, 255, 0]).is_some());
    assert_eq!(desk.sentinel(), before);
}

#[test]
fn every_monitor_is_a_display_of_its_own() {
    let mut desk = Desk::managed();
    paint(&mut desk, "right", "300x200+700+90", "#12fe34", "#fe1234", &[]);
    desk.output("xrandr", &["--setmonitor", "left", "640/170x900/240+0+0", "screen"]);
    desk.output("xrandr", &["--setmonitor", "right", "640/170x900/240+640+0", "none"]);
    let provider = desk.provider();
    let right = window(&provider, "right");
    let displays = provider.displays(&limit()).unwrap();
    assert_eq!(displays.len(), 2, "{displays:?}");
    assert_eq!(displays.iter().filter(|display| display.primary).count(), 1);
    let second = displays.iter().find(|display| display.geometry.x == 640).expect("the right one");
    assert_eq!(second.geometry.size(), Size::new(640, 900));
    let mut seen = None;
    eventually("it is painted", || {
        let target = CaptureTarget::Display { display: &second.key, without: &[] };
        seen = find_colour(&provider.capture(&target, &limit()).unwrap(), MARK);
        seen.is_some()
    });
    let x = right.geometry.x.unsigned_abs() - 640 + 50;
    let y = right.geometry.y.unsigned_abs() + 60;
    assert_eq!(seen, Some((x, y, 41, 41)));
}

#[test]
fn other_depths_give_the_same_colours() {
    for size in ["640x480x16", "640x480x30"] {
        let mut desk = Desk::start(&Shape { size, manager: false, bus: false });
        if desk.output("xdpyinfo", &[]).is_empty() {
            eprintln!("this Xvfb has no {size}");
            continue;
        }
        paint(&mut desk, "depth", "300x200+20+20", "#00ff00", "#ff0000", &[]);
        let provider = desk.provider();
        let found = window(&provider, "depth");
        eventually("it is painted", || {
            picture(&provider, &found).is_ok_and(|bitmap| colour(&bitmap, 5, 5) == [0, 255, 0])
        });
        let bitmap = picture(&provider, &found).unwrap();
        assert_eq!(find_colour(&bitmap, [255, 0, 0]), Some((50, 60, 41, 41)), "{size}");
    }
}

#[test]
fn a_server_without_extensions_still_serves_what_it_can() {
    let shape = Shape { size: "1280x900x24", manager: true, bus: false };
    let mut desk = Desk::start_without(&shape, &["MIT-SHM", "Composite", "RANDR", "X-Resource", "DAMAGE"]);
    paint(&mut desk, "plain", "300x200+120+90", "#12fe34", "#fe1234", &[]);
    let provider = desk.provider();
    let plain = window(&provider, "plain");
    // Nobody vouches for the process behind it.
    assert_eq!((plain.belongs_to, plain.executable.as_deref()), (Belonging::Unproven, None));
    eventually("it is painted", || picture(&provider, &plain).is_ok_and(|bitmap| colour(&bitmap, 5, 5) == FIELD));
    assert!(rgb(&picture(&provider, &plain).unwrap()) == oracle(&desk, "plain"));
    let displays = provider.displays(&limit()).unwrap();
    assert_eq!(displays.iter().map(|display| display.geometry.size()).collect::<Vec<_>>(), [Size::new(1280, 900)]);
    let whole = CaptureTarget::Display { display: &displays[0].key, without: &[] };
    assert!(rgb(&provider.capture(&whole, &limit()).unwrap()) == oracle_of(&desk, "root"));
    paint(&mut desk, "above", "100x50+150+120", "#0000ff", "#0000ff", &["override"]);
    window(&provider, "above");
    eventually(
        "it is covered and refused",
        || matches!(picture(&provider, &plain), Err(Fault::NotCapturable(why)) if why.contains("Composite")),
    );
}

/// Redirects all windows as a compositing manager does.
fn composite(desk: &Desk, update: Redirect) -> RustConnection {
    let (conn, screen) = x11rb::connect(Some(&desk.display)).expect("the display is there");
    conn.composite_query_version(0, 4).unwrap().reply().unwrap();
    let root = conn.setup().roots[screen].root;
    conn.composite_redirect_subwindows(root, update).unwrap().check().unwrap();
    conn
}

#[test]
fn a_composited_display_gives_covered_windows_at_once() {
    for update in [Redirect::AUTOMATIC, Redirect::MANUAL] {
        let mut desk = Desk::managed();
        let _compositor = composite(&desk, update);
        paint(&mut desk, "below", "300x200+120+90", "#12fe34", "#fe1234", &[]);
        paint(&mut desk, "above", "500x400+60+40", "#0000ff", "#0000ff", &["override"]);
        let provider = desk.provider();
        window(&provider, "above");
        let below = window(&provider, "below");
        eventually("it is painted", || picture(&provider, &below).is_ok_and(|bitmap| colour(&bitmap, 5, 5) == FIELD));
        let bitmap = picture(&provider, &below).unwrap();
        assert_eq!(find_colour(&bitmap, MARK), Some((50, 60, 41, 41)));
        assert_eq!(find_colour(&bitmap, [0, 0, 255]), None);
    }
}

#[test]
fn a_window_hidden_and_shown_again_while_covered_is_its_own_or_refused() {
    for manager in [true, false] {
        let mut desk = Desk::start(&Shape { size: "1280x900x24", manager, bus: false });
        let gtk = desk.write("gtk.py", GTK);
        let pid = desk.run("/usr/bin/python3", &[&gtk]);
        let provider = desk.provider();
        let below = window(&provider, "gtk below");
        eventually("it is painted", || {
            picture(&provider, &below).is_ok_and(|bitmap| find_colour(&bitmap, FIELD).is_some())
        });
        paint(&mut desk, "above", "1200x800+0+0", "#0000ff", "#0000ff", &["override"]);
        window(&provider, "above");
        std::thread::sleep(Duration::from_millis(300));
        let id = desk.output("xdotool", &["search", "--name", "^gtk below$"]);
        let ids: Vec<_> = id.lines().map(str::to_owned).collect();
        let stopped = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
        rustix::process::kill_process(stopped, rustix::process::Signal::STOP).expect("our child");
        // Hidden and shown, in its old place below the other, with nobody to paint it.
        let frame = desk.output("xwininfo", &["-root", "-children"]);
        assert!(frame.contains("0x"), "{frame}");
        for id in &ids {
            if manager {
                desk.output("xdotool", &["windowminimize", id]);
            } else {
                desk.output("xdotool", &["windowunmap", id]);
            }
        }
        eventually("it is hidden", || matches!(picture(&provider, &below), Err(Fault::NotCapturable(_) | Fault::Gone)));
        for id in &ids {
            desk.output("xdotool", &["windowmap", id]);
        }
        desk.output("xdotool", &["search", "--name", "^above$", "windowraise"]);
        std::thread::sleep(Duration::from_millis(300));
        match picture(&provider, &below) {
            Err(Fault::NotCapturable(_) | Fault::Gone) => {}
            Ok(bitmap) => assert_eq!(find_colour(&bitmap, [0, 0, 255]), None, "another window's pixels"),
            Err(fault) => panic!("{fault:?}"),
        }
        rustix::process::kill_process(stopped, rustix::process::Signal::CONT).expect("our child");
        eventually("once it runs again it has its pixels", || {
            picture(&provider, &below).is_ok_and(|bitmap| find_colour(&bitmap, FIELD).is_some())
        });
    }
}
