//! Windows and pictures of real applications of every toolkit, against xwininfo and ImageMagick.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's own")]

mod desk;

use desk::{Desk, Shape, eventually, limit, picture};
use deskhand_contract::geometry::{DesktopRect, Size};
use deskhand_contract::provider::{Belonging, Provider as _, WindowFacts, WindowKind};
use deskhand_linux::LinuxProvider;

struct Case {
    program: &'static str,
    arguments: &'static [&'static str],
    /// How its class begins, in lower case.
    class: &'static str,
    title: &'static str,
    kind: WindowKind,
}

fn first_window(provider: &LinuxProvider, case: &Case) -> WindowFacts {
    let mut found = None;
    eventually(&format!("a window of {}", case.program), || {
        let windows = provider.windows(&limit()).unwrap();
        found = windows.into_iter().find(|window| {
            let class = window.class.as_deref().unwrap_or_default().to_lowercase();
            class.starts_with(case.class) && window.title.contains(case.title) && window.geometry.width > 60
        });
        found.is_some()
    });
    found.expect("just seen")
}

/// Where xwininfo has the window of this title, without its border.
fn place(desk: &Desk, title: &str) -> Option<DesktopRect> {
    let text = desk.output("xwininfo", &["-name", title]);
    let number = |label: &str| -> Option<i32> {
        text.lines().find_map(|line| line.trim().strip_prefix(label))?.trim().parse().ok()
    };
    Some(DesktopRect::new(
        number("Absolute upper-left X:")?,
        number("Absolute upper-left Y:")?,
        number("Width:")?.unsigned_abs(),
        number("Height:")?.unsigned_abs(),
    ))
}

/// The share of pixels in which our picture and ImageMagick's agree, in per cent.
fn agreement(desk: &Desk, provider: &LinuxProvider, window: &WindowFacts) -> Option<u64> {
    let bitmap = picture(provider, window).ok()?;
    let id = desk.output("xdotool", &["search", "--name", &format!("^{}$", window.title)]);
    // Toolkits have helper windows of the same name: the one of this size.
    let theirs = id.lines().find_map(|id| {
        let mut command = desk.command("import", &["-window", id, "-depth", "8", "rgb:-"]);
        let theirs = command.stdout(std::process::Stdio::piped()).output().ok()?.stdout;
        (theirs.len() as u64 == bitmap.size.area() * 3).then_some(theirs)
    })?;
    let same = bitmap.pixels.chunks_exact(4).zip(theirs.chunks_exact(3));
    let same = same.filter(|(ours, theirs)| [ours[2], ours[1], ours[0]] == **theirs).count() as u64;
    Some(same * 100 / bitmap.size.area())
}

fn check(case: &Case) {
    let mut desk = Desk::start(&Shape { size: "1920x1080x24", manager: true, bus: true });
    desk.write("page.html", "<title>a page</title><body style='margin:0;background:#12fe34'>text");
    let home = desk.home.path().display().to_string();
    let arguments: Vec<String> = case.arguments.iter().map(|argument| argument.replace("HOME", &home)).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = desk.command(case.program, &arguments);
    // An application that observation makes complain dies of it.
    command.env("G_DEBUG", "fatal-criticals");
    let pid = desk.adopt(&mut command);
    let provider = desk.provider();
    let found = first_window(&provider, case);
    eventually("it is painted", || {
        picture(&provider, &found).is_ok_and(|bitmap| {
            let first = &bitmap.pixels[..4];
            bitmap.pixels.chunks_exact(4).any(|pixel| pixel[..3] != first[..3])
        })
    });
    let mut facts = found.clone();
    eventually("it rests where xwininfo has it", || {
        facts = provider.window(&found.key, &limit()).unwrap();
        place(&desk, &facts.title) == Some(facts.geometry)
    });
    assert_eq!(facts.kind, case.kind);
    assert_eq!(facts.belongs_to, Belonging::User);
    assert!(facts.executable.is_some());
    let before = desk.sentinel_at_rest();
    let bitmap = picture(&provider, &facts).unwrap();
    assert_eq!(bitmap.source, Size::new(facts.geometry.width, facts.geometry.height));
    assert_eq!(desk.sentinel(), before, "{}", case.program);
    // A caret blinks and a start page settles; all else is the same picture.
    let mut best = 0;
    eventually("ImageMagick sees the same", || {
        best = best.max(agreement(&desk, &provider, &facts).unwrap_or(0));
        best >= 99
    });
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "{} died of being looked at", case.program);
}

macro_rules! cases {
    ($($name:ident: $program:literal $arguments:expr, $class:literal, $title:literal, $kind:ident;)+) => {
        $(#[test] fn $name() {
            check(&Case {
                program: $program,
                arguments: &$arguments,
                class: $class,
                title: $title,
                kind: WindowKind::$kind,
            });
        })+
    };
}

cases! {
    zenity: "zenity" ["--info", "--title=a question", "--text=some text"], "zenity", "a question", Dialog;
    gtk3_widget_factory: "gtk3-widget-factory" [], "gtk3-widget-factory", "", Normal;
    gtk4_widget_factory: "gtk4-widget-factory" [], "gtk4-widget-factory", "", Normal;
    mousepad: "mousepad" ["--disable-server"], "mousepad", "", Normal;
    qt5: "/usr/bin/python3" ["-c", "import sys\nfrom PyQt5.QtWidgets import *\na=QApplication(sys.argv)\nb=QPushButton('qt five')\nb.setWindowTitle('qt five')\nb.resize(300,200)\nb.show()\na.exec_()"], "", "qt five", Normal;
    qt6: "/usr/bin/python3" ["-c", "import sys\nfrom PyQt6.QtWidgets import *\na=QApplication(sys.argv)\nb=QPushButton('qt six')\nb.setWindowTitle('qt six')\nb.resize(300,200)\nb.show()\na.exec()"], "", "qt six", Normal;
    xterm: "xterm" ["-T", "a terminal"], "xterm", "a terminal", Normal;
    firefox: "firefox-esr" ["--no-remote", "--new-instance", "--profile", "HOME", "HOME/page.html"], "firefox", "a page", Normal;
    chromium: "chromium" ["--no-sandbox", "--no-first-run", "--force-renderer-accessibility", "--user-data-dir=HOME/c", "HOME/page.html"], "chromium", "a page", Normal;
    libreoffice: "soffice" ["--norestore", "--nologo", "--writer"], "libreoffice", "Untitled", Normal;
}
