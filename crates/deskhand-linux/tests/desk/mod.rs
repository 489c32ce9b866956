//! A display for one test: an X server, perhaps a window manager, a message bus with accessibility, and the
//! programs started on it. Everything ends with it.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of a module that is only theirs")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Bitmap, CaptureTarget, Provider as _, WindowFacts};
use deskhand_linux::{LinuxOptions, LinuxProvider};

/// Longest that anything in a test is waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running display.
pub struct Desk {
    pub display: String,
    pub home: tempfile::TempDir,
    variables: Vec<(String, String)>,
    children: Vec<Child>,
}

/// How the display is.
pub struct Shape {
    pub size: &'static str,
    pub manager: bool,
    pub bus: bool,
}

impl Desk {
    /// 1280x900x24 with openbox, without a bus.
    pub fn managed() -> Self {
        Self::start(&Shape { size: "1280x900x24", manager: true, bus: false })
    }

    /// The same without a window manager.
    pub fn bare() -> Self {
        Self::start(&Shape { size: "1280x900x24", manager: false, bus: false })
    }

    pub fn start(shape: &Shape) -> Self {
        Self::start_without(shape, &[])
    }

    /// A display whose server lacks some extensions.
    pub fn start_without(shape: &Shape, extensions: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut server = Command::new("Xvfb");
        let number = writer.as_raw_fd().to_string();
        server.args(["-displayfd", &number, "-screen", "0", shape.size, "-nolisten", "tcp", "-noreset"]);
        server.args(extensions.iter().flat_map(|extension| ["-extension", extension]));
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).expect("the write end stays open");
        let server = spawn(&mut server);
        drop(writer);
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line).expect("Xvfb says its display");
        let display = format!(":{}", line.trim());
        assert_ne!(display, ":", "Xvfb did not start");
        let run = home.path().join("run");
        std::fs::create_dir(&run).expect("a fresh directory");
        let variables = [
            ("DISPLAY", display.clone()),
            ("HOME", home.path().display().to_string()),
            ("XDG_RUNTIME_DIR", run.display().to_string()),
            ("XDG_SESSION_TYPE", "x11".to_owned()),
            ("GDK_BACKEND", "x11".to_owned()),
            ("GSK_RENDERER", "cairo".to_owned()),
            ("QT_QPA_PLATFORM", "xcb".to_owned()),
            ("QT_LINUX_ACCESSIBILITY_ALWAYS_ON", "1".to_owned()),
            ("LIBGL_ALWAYS_SOFTWARE", "1".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut desk = Self { display, home, variables, children: vec![server] };
        if shape.bus {
            desk.start_bus();
        }
        if shape.manager {
            desk.run("openbox", &[]);
            eventually("openbox is there", || {
                desk.output("xprop", &["-root", "_NET_SUPPORTING_WM_CHECK"]).contains("window id")
            });
        }
        desk
    }

    fn start_bus(&mut self) {
        let mut bus = self.command("dbus-daemon", &["--session", "--nofork", "--print-address=1"]);
        bus.stdout(Stdio::piped());
        let mut bus = spawn(&mut bus);
        let mut address = String::new();
        let stdout = bus.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut address).expect("the bus says its address");
        self.children.push(bus);
        self.variables.push(("DBUS_SESSION_BUS_ADDRESS".to_owned(), address.trim().to_owned()));
        self.output(
            "gdbus",
            &[
                "call",
                "--session",
                "--dest",
                "org.a11y.Bus",
                "--object-path",
                "/org/a11y/bus",
                "--method",
                "org.a11y.Bus.GetAddress",
            ],
        );
        for flag in ["IsEnabled", "ScreenReaderEnabled"] {
            let method = "org.freedesktop.DBus.Properties.Set";
            self.output(
                "gdbus",
                &[
                    "call",
                    "--session",
                    "--dest",
                    "org.a11y.Bus",
                    "--object-path",
                    "/org/a11y/bus",
                    "--method",
                    method,
                    "org.a11y.Status",
                    flag,
                    "<true>",
                ],
            );
        }
    }

    /// The value of one of its variables.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        for name in ["WAYLAND_DISPLAY", "AT_SPI_BUS_ADDRESS", "XAUTHORITY"] {
            command.env_remove(name);
        }
        // Without an address a toolkit would launch a bus by itself, which nobody ends.
        command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:");
        command.args(arguments).envs(self.variables.iter().cloned()).current_dir(self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts a program that ends with the desk; its pid.
    pub fn run(&mut self, program: &str, arguments: &[&str]) -> u32 {
        let mut command = self.command(program, arguments);
        self.adopt(&mut command)
    }

    /// The same for a command made by hand.
    pub fn adopt(&mut self, command: &mut Command) -> u32 {
        let child = spawn(command);
        let pid = child.id();
        self.children.push(child);
        pid
    }

    /// Writes a Python program and runs it with the system's interpreter.
    pub fn python(&mut self, name: &str, source: &str) -> u32 {
        let path = self.write(name, source);
        self.run("/usr/bin/python3", &[&path])
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        // A program that was started from it a moment ago may still be reading it: it is replaced whole, or not at all.
        let part = self.home.path().join(format!("{name}.part"));
        std::fs::write(&part, text).expect("the directory is ours");
        std::fs::rename(&part, &path).expect("the directory is ours");
        path.display().to_string()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// What a program prints.
    pub fn output(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = self.command(program, arguments);
        let output = command.stdout(Stdio::piped()).output().unwrap_or_else(|error| panic!("{program}: {error}"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Sends the X server a signal.
    pub fn signal_server(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.children[0].id().cast_signed()).expect("a pid");
        rustix::process::kill_process(pid, signal).expect("our child");
    }

    /// Kills the X server and starts another with the same number. What ran on it ends.
    pub fn restart_server(&mut self) {
        end(&mut self.children[0]);
        for child in &mut self.children[1..] {
            let _ = child.wait();
        }
        let socket = format!("/tmp/.X11-unix/X{}", self.display.trim_start_matches(':'));
        let mut server = Command::new("Xvfb");
        server.args([&self.display, "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-noreset"]);
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.children[0] = spawn(&mut server);
        eventually("the server is back", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    }

    /// Ends a program that was started here.
    pub fn end(&mut self, pid: u32) {
        if let Some(at) = self.children.iter().position(|child| child.id() == pid) {
            let mut child = self.children.remove(at);
            end(&mut child);
        }
    }

    pub fn provider(&self) -> LinuxProvider {
        LinuxProvider::connect(self.options()).expect("the display is there")
    }

    pub fn options(&self) -> LinuxOptions {
        LinuxOptions {
            display: Some(self.display.clone()),
            // An address that leads nowhere keeps a test without a bus from finding another one.
            session_bus: Some(
                self.variable("DBUS_SESSION_BUS_ADDRESS").unwrap_or_else(|| "unix:path=/nonexistent".into()),
            ),
            private: true,
            ..LinuxOptions::default()
        }
    }

    /// The same once it rests: a window that has just appeared is still being activated.
    pub fn sentinel_at_rest(&self) -> String {
        let mut last = self.sentinel();
        eventually("the display rests", || {
            std::thread::sleep(Duration::from_millis(250));
            let now = self.sentinel();
            let rests = now == last;
            last = now;
            rests
        });
        last
    }

    /// What must not change by an observation: the active window, the focus, the pointer and the stack.
    pub fn sentinel(&self) -> String {
        [
            self.output("xprop", &["-root", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST_STACKING", "_NET_CURRENT_DESKTOP"]),
            self.output("xdotool", &["getmouselocation"]),
            self.output("xdotool", &["getwindowfocus"]),
            self.output("xwininfo", &["-root", "-children"]),
        ]
        .concat()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // The server last, so that the others can still say goodbye.
        while let Some(mut child) = self.children.pop() {
            end(&mut child);
        }
    }
}

fn spawn(command: &mut Command) -> Child {
    command.process_group(0);
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn end(child: &mut Child) {
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Whether this machine lets a test have process ids of its own: containers and chroots often do not. Says so where not.
pub fn has_pid_namespaces() -> bool {
    let tried = Command::new("unshare").args(["-pf", "--mount-proc", "true"]).status();
    let has = tried.is_ok_and(|status| status.success());
    if !has {
        let mut out = std::io::stdout();
        let _ = std::io::Write::write_all(&mut out, b"SKIPPED: no process id namespace can be made here\n");
    }
    has
}

/// Waits until `test` holds.
#[track_caller]
pub fn eventually(what: &str, mut test: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !test() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

pub fn limit() -> Limit {
    Limit::after(PATIENCE)
}

/// Waits for the window with this title.
#[track_caller]
pub fn window(provider: &LinuxProvider, title: &str) -> WindowFacts {
    let mut found = None;
    eventually(&format!("a window titled {title:?}"), || {
        let windows = provider.windows(&limit()).expect("the display is there");
        found = windows.into_iter().find(|window| window.title == title);
        found.is_some()
    });
    found.expect("just seen")
}

/// A window's picture.
pub fn picture(provider: &LinuxProvider, window: &WindowFacts) -> Result<Bitmap, deskhand_contract::provider::Fault> {
    provider.capture(&CaptureTarget::Window { window: &window.key, region: None }, &limit())
}

/// The colour at a point, as red, green, blue.
pub fn colour(bitmap: &Bitmap, x: u32, y: u32) -> [u8; 3] {
    let at = y as usize * bitmap.stride + x as usize * 4;
    [bitmap.pixels[at + 2], bitmap.pixels[at + 1], bitmap.pixels[at]]
}

/// The smallest rectangle that holds every pixel of a colour: x, y, width, height.
pub fn find_colour(bitmap: &Bitmap, wanted: [u8; 3]) -> Option<(u32, u32, u32, u32)> {
    let mut edges: Option<(u32, u32, u32, u32)> = None;
    for y in 0..bitmap.size.height {
        for x in 0..bitmap.size.width {
            if colour(bitmap, x, y) == wanted {
                let (left, top, right, bottom) = edges.unwrap_or((x, y, x, y));
                edges = Some((left.min(x), top.min(y), right.max(x), bottom.max(y)));
            }
        }
    }
    edges.map(|(left, top, right, bottom)| (left, top, right - left + 1, bottom - top + 1))
}

/// Reads a whole file, for fixtures' logs.
pub fn read(path: &Path) -> String {
    let mut text = String::new();
    if let Ok(mut file) = std::fs::File::open(path) {
        let _ = file.read_to_string(&mut text);
    }
    text
}
