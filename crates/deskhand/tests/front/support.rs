//! A world of its own for each test, an agent host that speaks MCP to the binary, and a look at the process table.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use deskhand_linux::desktop::{self, DesktopRecord, Entry, Places, StartOptions};
use serde_json::{Value, json};

/// The longest that anything may take. Generous: it only turns a hang into a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_deskhand");

/// Directories of its own, no display, and nothing of the machine's own desktop.
pub(crate) struct World {
    root: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("dh").tempdir().unwrap();
        for folder in ["run", "home", "tmp"] {
            use std::os::unix::fs::DirBuilderExt as _;
            std::fs::DirBuilder::new().mode(0o700).create(root.path().join(folder)).unwrap();
        }
        Self { root, variables: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.root().join("run/deskhand")
    }

    fn environment(&self) -> Vec<(String, String)> {
        let path = |below: &str| self.root().join(below).to_str().unwrap().to_owned();
        let mut all = vec![
            ("PATH".into(), std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into())),
            ("HOME".into(), path("home")),
            ("TMPDIR".into(), path("tmp")),
            ("XDG_RUNTIME_DIR".into(), path("run")),
            ("LANG".into(), "C.UTF-8".into()),
        ];
        all.extend(self.variables.iter().cloned());
        all
    }

    /// The binary with these arguments, in this world.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).env_clear().envs(self.environment()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command whose answer is an envelope; also says its exit status.
    pub(crate) fn envelope(&self, arguments: &[&str]) -> (Value, i32) {
        let output = self.run(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        let value = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{arguments:?}: {error}: {text:?} {}", String::from_utf8_lossy(&output.stderr))
        });
        (value, output.status.code().unwrap())
    }

    fn places(&self) -> Places {
        Places::of_environment(
            self.environment().into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        )
    }

    /// A private desktop that lives as long as this world.
    pub(crate) fn desktop(&self) -> DesktopRecord {
        let entry = Entry { program: BINARY.into(), leading: vec!["desktop".into(), "supervise".into()] };
        desktop::start(&self.places(), &StartOptions::new(entry)).unwrap().record
    }

    pub(crate) fn end(&self, record: &DesktopRecord) {
        desktop::stop(&self.places(), &record.name, PATIENCE).unwrap();
    }

    /// Starts a program on a desktop.
    pub(crate) fn spawn(&self, record: &DesktopRecord, argv: &[&str]) -> u32 {
        let command = desktop::Command {
            argv: argv.iter().map(Into::into).collect(),
            environment: self.places().environment,
            directory: self.root().to_owned(),
        };
        desktop::exec_detached(record, &command).unwrap().pid
    }

    /// Shows a dialog with an entry, Cancel and OK. What was entered is in the file that this names, once OK was pressed.
    pub(crate) fn form(&self, record: &DesktopRecord, title: &str) -> PathBuf {
        self.form_process(record, title).0
    }

    /// The same, with its process.
    pub(crate) fn form_process(&self, record: &DesktopRecord, title: &str) -> (PathBuf, u32) {
        let entered = self.root().join(format!("{title}.entered"));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/front/form.py");
        // The system's own interpreter: it is the one that the system's GTK belongs to.
        let pid = self.spawn(record, &["/usr/bin/python3", script, title, entered.to_str().unwrap()]);
        (entered, pid)
    }

    /// An agent host that has begun a conversation.
    pub(crate) fn host(&self, arguments: &[&str]) -> Host {
        let mut host = self.silent_host(arguments);
        host.initialize("2025-11-25");
        host
    }

    /// The same on a desktop that runs.
    pub(crate) fn host_on(&self, record: &DesktopRecord) -> Host {
        self.host(&["--desktop", record.name.as_str()])
    }

    /// An agent host that has said nothing yet.
    pub(crate) fn silent_host(&self, arguments: &[&str]) -> Host {
        let arguments: Vec<&str> = std::iter::once("mcp").chain(arguments.iter().copied()).collect();
        Host::start(self.command(&arguments))
    }

    /// Processes of this world, as the kernel lists them.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let mark = self.root().to_str().unwrap().as_bytes();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let line = read("cmdline");
            let holds = |bytes: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
            if holds(&line) || holds(&read("environ")) {
                found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        found
    }

    /// The Runners of this world.
    pub(crate) fn runners(&self) -> Vec<u32> {
        self.processes()
            .into_iter()
            .filter(|(_, line)| line.contains(" runner --detached"))
            .map(|(pid, _)| pid)
            .collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Ok(records) = desktop::list(&self.places()) {
            for record in records {
                let _ = desktop::stop(&self.places(), &record.name, PATIENCE);
            }
        }
        // Runners of a display that a test started itself.
        for (pid, _) in self.processes() {
            if pid != std::process::id() {
                signal(pid, "KILL");
            }
        }
    }
}

/// A bare X server, as a user's own desktop is to Deskhand.
pub(crate) struct Display {
    server: Child,
    pub(crate) name: String,
}

impl Display {
    pub(crate) fn start() -> Self {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut number).unwrap();
        Self { server, name: format!(":{}", number.trim()) }
    }

    pub(crate) fn end(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        signal(self.server.id(), "TERM");
        let _ = self.server.wait();
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if matches!(self.server.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}

/// Waits until something is true, or fails.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < end, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).stderr(Stdio::null()).status();
}

/// An agent host.
pub(crate) struct Host {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: i64,
    /// What every result must hold to.
    output: Option<Value>,
    /// Everything that the server said.
    heard: String,
}

impl Host {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, next: 1, output: None, heard: String::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// The next message. Whatever stands on standard output must be one.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        self.next_within(PATIENCE).expect("a message")
    }

    #[track_caller]
    pub(crate) fn next_within(&mut self, time: Duration) -> Option<Value> {
        match self.lines.recv_timeout(time) {
            Ok(line) => {
                self.heard.push_str(&line);
                self.heard.push('\n');
                let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not protocol: {line:?}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                Some(message)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer_to(id)
    }

    #[track_caller]
    pub(crate) fn answer_to(&mut self, id: i64) -> Value {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
        panic!("no answer to {id}");
    }

    #[track_caller]
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let answer = self.request(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } }),
        );
        self.tell("notifications/initialized", json!({}));
        answer
    }

    pub(crate) fn ask_tool(&mut self, tool: &str, arguments: Value) -> i64 {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool; its result holds to its own declared schema.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.ask_tool(tool, arguments);
        self.result_of(id)
    }

    #[track_caller]
    pub(crate) fn result_of(&mut self, id: i64) -> Value {
        let answer = self.answer_to(id);
        let result = answer.get("result").unwrap_or_else(|| panic!("{answer}")).clone();
        if self.output.is_none() {
            let listed = self.request("tools/list", json!({}));
            self.output = Some(listed["result"]["tools"][0]["outputSchema"].clone());
        }
        let envelope = &result["structuredContent"];
        let schema = self.output.as_ref().unwrap();
        assert_eq!(super::schema::violation(schema, envelope), None, "{envelope}");
        assert_eq!(result["isError"].as_bool().unwrap(), !envelope["ok"].as_bool().unwrap(), "{result}");
        result
    }

    /// Everything that the server said so far.
    pub(crate) fn heard(&self) -> &str {
        &self.heard
    }

    /// Reads until it says true; what it sees is the data of a read that went well.
    #[track_caller]
    pub(crate) fn observe_until(&mut self, what: &str, arguments: Value, is_there: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let result = self.observe(arguments.clone());
            let data = &result["structuredContent"]["data"];
            if is_there(data) {
                return data.clone();
            }
            assert!(Instant::now() < end, "{what} did not come: {result}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The window whose title holds `title`, once it has a tree.
    #[track_caller]
    pub(crate) fn window(&mut self, title: &str) -> String {
        let wanted = |window: &&Value| {
            window["title"].as_str().is_some_and(|shown| shown.contains(title)) && window.get("no_tree").is_none()
        };
        let find = |data: &Value| data["windows"].as_array().and_then(|windows| windows.iter().find(wanted)).cloned();
        let data = self.observe_until(title, json!({ "action": "windows" }), |data| find(data).is_some());
        find(&data).unwrap()["surface_id"].as_str().unwrap().to_owned()
    }

    /// The first element of that role (and label) in a window.
    #[track_caller]
    pub(crate) fn element(&mut self, surface: &str, role: &str, label: Option<&str>) -> String {
        let mut arguments = json!({ "action": "find_elements", "surface_id": surface, "role": role });
        if let Some(label) = label {
            arguments["label"] = label.into();
        }
        let data = self.observe_until(role, arguments, |data| data["count"].as_u64().is_some_and(|count| count > 0));
        data["matches"][0]["element_id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn observe(&mut self, arguments: Value) -> Value {
        self.call("computer_observe", arguments)
    }

    #[track_caller]
    pub(crate) fn control(&mut self, arguments: Value) -> Value {
        self.call("computer_control", arguments)
    }

    #[track_caller]
    pub(crate) fn is_well(&mut self) {
        let answer = self.request("ping", json!({}));
        assert!(answer["result"].is_object(), "{answer}");
    }

    /// Closes the input, as a host does that ends.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the process; what it wrote to standard error comes with its status.
    #[track_caller]
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        self.input = None;
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let mut text = String::new();
                let _ = std::io::Read::read_to_string(self.child.stderr.as_mut().unwrap(), &mut text);
                return (status.code(), text);
            }
            assert!(Instant::now() < end, "the process does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.input = None;
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
