//! Windows as X11 has them, against xwininfo, xprop, wmctrl and xdotool.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's own")]

mod desk;

use desk::{Desk, eventually, limit, window};
use deskhand_contract::geometry::DesktopRect;
use deskhand_contract::provider::{Belonging, Dispatch, Effect, EffectTarget, Fault, Provider as _, WindowKind};
use deskhand_contract::scope::CapabilitySet;
use deskhand_linux::{LinuxOptions, LinuxProvider};

const TK: &str = r##"
import os, sys, tkinter
root = tkinter.Tk()
root.title(sys.argv[1] if len(sys.argv) > 1 else "tk window")
root.geometry(sys.argv[2] if len(sys.argv) > 2 else "300x200+120+90")
root.configure(bg=sys.argv[3] if len(sys.argv) > 3 else "#12fe34")
if len(sys.argv) > 4 and sys.argv[4] == "popup":
    top = tkinter.Toplevel(root, bg="#fe1234")
    top.overrideredirect(True)
    top.geometry("80x60+500+400")
if len(sys.argv) > 4 and sys.argv[4] == "dialog":
    top = tkinter.Toplevel(root)
    top.title("tk dialog")
    top.transient(root)
    top.grab_set()
root.mainloop()
"##;

fn tk(desk: &mut Desk, arguments: &[&str]) -> u32 {
    let path = desk.write("tk.py", TK);
    let mut all = vec![path.as_str()];
    all.extend(arguments);
    desk.run("/usr/bin/python3", &all)
}

/// The X id of a window by its title, from xdotool.
fn x_id(desk: &Desk, title: &str) -> String {
    let id = desk.output("xdotool", &["search", "--name", &format!("^{title}$")]);
    id.lines().next().unwrap_or_else(|| panic!("xdotool finds {title}")).to_owned()
}

/// The place of a window, from xwininfo.
fn x_place(desk: &Desk, title: &str) -> DesktopRect {
    let text = desk.output("xwininfo", &["-name", title]);
    let number = |label: &str| -> i32 {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(label));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("{label} in {text}"))
    };
    DesktopRect::new(
        number("Absolute upper-left X:"),
        number("Absolute upper-left Y:"),
        number("Width:").unsigned_abs(),
        number("Height:").unsigned_abs(),
    )
}

#[test]
fn a_window_is_listed_as_the_display_has_it_and_nothing_moves() {
    let mut desk = Desk::managed();
    tk(&mut desk, &["tk window"]);
    desk.run("xterm", &["-T", "a terminal", "-geometry", "60x10+400+300"]);
    desk.run("xev", &["-name", "events"]);
    let provider = desk.provider();
    for title in ["tk window", "a terminal", "events"] {
        window(&provider, title);
    }
    let before = desk.sentinel_at_rest();
    let windows = provider.windows(&limit()).unwrap();
    assert_eq!(windows.len(), 3, "{:?}", windows.iter().map(|window| &window.title).collect::<Vec<_>>());
    for listed in &windows {
        assert_eq!(listed.geometry, x_place(&desk, &listed.title), "{}", listed.title);
        assert_eq!(listed.belongs_to, Belonging::User, "{}", listed.title);
        assert_eq!(listed.kind, WindowKind::Normal);
        assert!(!listed.minimised && !listed.other_workspace && !listed.modal);
        assert_eq!(provider.window(&listed.key, &limit()).unwrap(), *listed);
    }
    let active = desk.output("xdotool", &["getactivewindow", "getwindowname"]);
    let foreground: Vec<_> = windows.iter().filter(|window| window.foreground).collect();
    assert_eq!(foreground.iter().map(|window| window.title.as_str()).collect::<Vec<_>>(), [active.trim()]);
    // Front to back, as the window manager stacks them.
    let stack = desk.output("xprop", &["-root", "_NET_CLIENT_LIST_STACKING"]);
    let titles: Vec<_> = stack
        .split(['#', ','])
        .filter(|part| part.trim().starts_with("0x"))
        .map(|id| desk.output("xdotool", &["getwindowname", id.trim()]).trim().to_owned())
        .collect();
    let listed: Vec<_> = windows.iter().rev().map(|window| window.title.clone()).collect();
    assert_eq!(listed, titles);
    let executables: Vec<_> = windows.iter().filter_map(|window| window.executable.clone()).collect();
    assert!(executables.contains(&"xterm".to_owned()) && executables.contains(&"xev".to_owned()), "{executables:?}");
    assert_eq!(desk.sentinel(), before);
}

#[test]
fn titles_of_any_encoding_arrive_as_text() {
    let mut desk = Desk::managed();
    tk(&mut desk, &["Gr\u{fc}\u{df}e \u{6771}\u{4eac}"]);
    let provider = desk.provider();
    window(&provider, "Gr\u{fc}\u{df}e \u{6771}\u{4eac}");
    let id = desk.output("xdotool", &["search", "--onlyvisible", "--name", "e"]);
    let id = id.lines().next().expect("the window").to_owned();
    desk.output("xprop", &["-id", &id, "-f", "_NET_WM_NAME", "8s", "-set", "_NET_WM_NAME", "latin caf\u{e9}"]);
    window(&provider, "latin caf\u{e9}");
}

#[test]
fn minimised_and_elsewhere_are_told_apart_and_activation_brings_both_back() {
    let mut desk = Desk::managed();
    tk(&mut desk, &["icon", "300x200+10+40"]);
    tk(&mut desk, &["elsewhere", "300x200+400+40"]);
    tk(&mut desk, &["here", "300x200+700+40"]);
    let provider = desk.provider();
    for title in ["icon", "elsewhere", "here"] {
        window(&provider, title);
    }
    let here = window(&provider, "here");
    desk.output("xdotool", &["windowminimize", &x_id(&desk, "icon")]);
    desk.output("wmctrl", &["-r", "elsewhere", "-t", "2"]);
    eventually("both are away", || {
        window(&provider, "icon").minimised && window(&provider, "elsewhere").other_workspace
    });
    let icon = window(&provider, "icon");
    assert!(!icon.other_workspace && !icon.foreground);
    assert!(matches!(desk::picture(&provider, &icon), Err(Fault::NotCapturable(why)) if why.contains("activate")));
    for title in ["elsewhere", "icon"] {
        let target = window(&provider, title);
        let sent = provider.perform(&EffectTarget { window: &target.key, element: None }, &Effect::Activate, &limit());
        assert_eq!(sent, Dispatch::Sent);
        eventually(&format!("{title} is in front"), || {
            desk.output("xdotool", &["getactivewindow", "getwindowname"]).trim() == title
        });
        eventually("it says so", || window(&provider, title).foreground);
        assert_eq!(window(&provider, title).key, target.key);
    }
    assert_eq!(window(&provider, "here").key, here.key);
}

#[test]
fn popups_and_dialogs_are_listed_with_their_owner() {
    let mut desk = Desk::managed();
    tk(&mut desk, &["with popup", "300x200+10+40", "#111111", "popup"]);
    tk(&mut desk, &["with dialog", "300x200+10+400", "#111111", "dialog"]);
    let provider = desk.provider();
    let mut owner = window(&provider, "with popup");
    eventually("the popup's owner is listed", || {
        let windows = provider.windows(&limit()).unwrap();
        let found =
            windows.into_iter().find(|window| window.title == "with popup" && window.kind == WindowKind::Normal);
        found.inspect(|found| owner = found.clone()).is_some()
    });
    let mut popup = None;
    eventually("the popup is listed", || {
        let windows = provider.windows(&limit()).unwrap();
        popup = windows.into_iter().find(|window| window.geometry == DesktopRect::new(500, 400, 80, 60));
        popup.is_some()
    });
    let popup = popup.unwrap();
    assert_eq!((popup.kind, popup.owner), (WindowKind::Popup, Some(owner.key)));
    let dialog = window(&provider, "tk dialog");
    assert_eq!((dialog.kind, dialog.owner), (WindowKind::Dialog, Some(window(&provider, "with dialog").key)));
}

#[test]
fn without_a_window_manager_everything_is_found_and_can_be_activated() {
    let mut desk = Desk::bare();
    tk(&mut desk, &["first", "300x200+10+40"]);
    tk(&mut desk, &["second", "300x200+200+80"]);
    desk.run("xev", &["-name", "events"]);
    let provider = desk.provider();
    for title in ["first", "second", "events"] {
        let found = window(&provider, title);
        // xwininfo counts from the outer corner of the X border, which xev's window has.
        let border = if title == "events" { 2 } else { 0 };
        let place = x_place(&desk, title);
        let content = DesktopRect::new(place.x + border, place.y + border, place.width, place.height);
        assert_eq!(found.geometry, content, "{title}");
    }
    let first = window(&provider, "first");
    let sent = provider.perform(&EffectTarget { window: &first.key, element: None }, &Effect::Activate, &limit());
    assert_eq!(sent, Dispatch::Sent);
    eventually("it is in front", || {
        let windows = provider.windows(&limit()).unwrap();
        windows[0].title == "first" && windows[0].foreground
    });
    let focus = desk.output("xdotool", &["getwindowfocus", "getwindowname"]);
    assert_eq!(focus.trim(), "first");
}

#[test]
fn an_application_in_a_pid_namespace_of_its_own_is_a_window_of_the_real_process() {
    if !desk::has_pid_namespaces() {
        return;
    }
    let mut desk = Desk::managed();
    let path = desk.write("inner.py", TK);
    desk.run("unshare", &["-pf", "--mount-proc", "/usr/bin/python3", &path, "in a namespace"]);
    let provider = desk.provider();
    let inner = window(&provider, "in a namespace");
    assert_eq!(inner.belongs_to, Belonging::User);
    assert!(inner.executable.as_deref().is_some_and(|name| name.starts_with("python3")), "{:?}", inner.executable);
}

#[test]
fn own_windows_are_marked() {
    let mut desk = Desk::managed();
    let pid = tk(&mut desk, &["ours"]);
    tk(&mut desk, &["theirs", "200x100+500+500"]);
    let provider = desk.provider();
    window(&provider, "ours");
    provider.add_own_process(pid);
    assert_eq!(window(&provider, "ours").belongs_to, Belonging::Deskhand);
    assert_eq!(window(&provider, "theirs").belongs_to, Belonging::User);
}

#[test]
fn a_display_that_is_not_there_is_an_error_with_the_fix() {
    let options = LinuxOptions { display: Some(":59321".to_owned()), ..LinuxOptions::default() };
    let Err(Fault::Backend(why)) = LinuxProvider::connect(options) else { panic!("there is no such display") };
    assert!(why.contains(":59321") && why.contains("deskhand desktop start"), "{why}");
}

#[test]
fn a_dead_server_is_a_fault_and_a_dead_window_is_gone() {
    let mut desk = Desk::managed();
    let pid = tk(&mut desk, &["short-lived"]);
    let provider = desk.provider();
    let found = window(&provider, "short-lived");
    desk.end(pid);
    eventually("the window is gone", || provider.window(&found.key, &limit()) == Err(Fault::Gone));
    assert_eq!(desk::picture(&provider, &found).err(), Some(Fault::Gone));
    let target = EffectTarget { window: &found.key, element: None };
    assert_eq!(provider.perform(&target, &Effect::Activate, &limit()), Dispatch::NotStarted(Fault::Gone));
    drop(desk);
    for _ in 0..3 {
        assert!(matches!(provider.windows(&limit()), Err(Fault::Backend(_))));
    }
    assert_eq!(provider.profile().capabilities, CapabilitySet::NONE);
}

#[test]
fn changes_of_windows_end_a_wait() {
    use std::time::{Duration, Instant};
    let mut desk = Desk::managed();
    let provider = desk.provider();
    std::thread::sleep(Duration::from_millis(300));
    let mark = provider.change_mark();
    let quiet = provider.await_change(mark, None, &deskhand_contract::limit::Limit::after(Duration::from_millis(200)));
    assert_eq!(quiet, mark);
    tk(&mut desk, &["appears"]);
    let begin = Instant::now();
    let mut seen = mark;
    while !provider.windows(&limit()).unwrap().iter().any(|window| window.title == "appears") {
        assert!(begin.elapsed() < desk::PATIENCE);
        let next = provider.await_change(seen, None, &limit());
        assert!(next > seen, "a wait ended without a change");
        seen = next;
    }
    let appears = window(&provider, "appears");
    std::thread::sleep(Duration::from_millis(300));
    let mark = provider.change_mark();
    desk.output("xdotool", &["set_window", "--name", "renamed", &x_id(&desk, "appears")]);
    assert!(provider.await_change(mark, Some(&appears.key), &limit()) > mark);
    window(&provider, "renamed");
}

#[test]
fn a_stopped_server_costs_no_more_than_the_limit_and_serves_again() {
    use std::time::{Duration, Instant};
    let mut desk = Desk::bare();
    tk(&mut desk, &["still here"]);
    let provider = desk.provider();
    let found = window(&provider, "still here");
    desk::picture(&provider, &found).unwrap();
    desk.signal_server(rustix::process::Signal::STOP);
    let short = deskhand_contract::limit::Limit::after(Duration::from_millis(300));
    let begin = Instant::now();
    assert!(matches!(provider.windows(&short), Err(Fault::Backend(why)) if why.contains("does not answer")));
    let short = deskhand_contract::limit::Limit::after(Duration::from_millis(300));
    let target = EffectTarget { window: &found.key, element: None };
    assert!(matches!(provider.perform(&target, &Effect::Activate, &short), Dispatch::NotStarted(_)));
    assert!(begin.elapsed() < Duration::from_secs(5));
    desk.signal_server(rustix::process::Signal::CONT);
    assert_eq!(window(&provider, "still here").key, found.key);
    desk::picture(&provider, &found).unwrap();
}

#[test]
fn a_server_that_comes_back_is_served_again() {
    let mut desk = Desk::bare();
    tk(&mut desk, &["old"]);
    let provider = desk.provider();
    let old = window(&provider, "old");
    desk.restart_server();
    assert!(!provider.windows(&limit()).unwrap().iter().any(|window| window.title == "old"));
    assert_eq!(provider.window(&old.key, &limit()), Err(Fault::Gone));
    let mark = provider.change_mark();
    tk(&mut desk, &["new"]);
    let new = window(&provider, "new");
    desk::picture(&provider, &new).unwrap();
    assert!(new.key != old.key);
    eventually("the watch is back", || provider.change_mark() > mark);
}

#[test]
fn windows_that_come_and_go_meanwhile_do_no_harm() {
    let mut desk = Desk::managed();
    tk(&mut desk, &["steady"]);
    let provider = desk.provider();
    let steady = window(&provider, "steady");
    let churn = r#"
import tkinter, random
root = tkinter.Tk(); root.withdraw()
tops = []
def step():
    for _ in range(3):
        top = tkinter.Toplevel(root); top.title("churn"); top.geometry("60x40+%d+%d" % (random.randint(0, 900), random.randint(0, 700)))
        if random.random() < 0.4: top.overrideredirect(True)
        tops.append(top)
    while len(tops) > 12: tops.pop(random.randrange(len(tops))).destroy()
    root.after(5, step)
step(); root.mainloop()
"#;
    desk.python("churn.py", churn);
    window(&provider, "churn");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..40 {
                    let windows = provider.windows(&limit()).unwrap();
                    assert!(windows.iter().any(|window| window.key == steady.key));
                    for window in windows.iter().take(6) {
                        match desk::picture(&provider, window) {
                            Ok(_) | Err(Fault::Gone | Fault::NotCapturable(_)) => {}
                            Err(fault) => panic!("{fault:?}"),
                        }
                    }
                }
            });
        }
    });
}
