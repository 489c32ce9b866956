"""What is measured: one class a subject, all with the same questions, each on the desktop of the run."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

from mcp_client import Client, ProtocolError, Refused, binary, data_of, image_of, text_of  # noqa: E402

PEERS = pathlib.Path(os.environ.get("DESKHAND_PEERS", "/nonexistent"))
LIBRARY = pathlib.Path(__file__).resolve().parent / "library.py"


class Absent(Exception):
    """There is no figure, and this is why, in a word or two."""


class Subject:
    """Questions that a subject does not answer say so."""

    name, version = "", ""

    def start(self, desktop):
        """Starts it on the desktop; gives the milliseconds until it serves."""
        raise Absent("—")

    def end(self):
        pass

    def windows(self):
        raise Absent("—")

    def tree(self, window):
        """The text of one window's tree."""
        raise Absent("—")

    def press(self, window, label):
        """Presses a button that was found before; gives when the call began."""
        raise Absent("—")

    def capture(self):
        raise Absent("—")

    def tools_size(self):
        raise Absent("a library")

    def processes(self):
        """The pids of its own processes."""
        return []


class Server(Subject):
    """An MCP server over standard input and output."""

    command = []

    def start(self, desktop):
        if not pathlib.Path(self.command[0]).exists():
            raise Absent("not installed")
        begun = time.monotonic()
        self.client = Client([binary(), "desktop", "exec", desktop, "--", *self.command], name="bench")
        taken = 1000 * (time.monotonic() - begun)
        self.version = self.client.server["serverInfo"]["version"]
        return taken

    def end(self):
        self.client.end()

    def call(self, tool, **arguments):
        try:
            result = self.client.call(tool, timeout=60, **arguments)
        except (Refused, ProtocolError) as failure:
            raise Absent(str(failure)[:40]) from None
        return result

    def tools_size(self):
        return len(json.dumps(self.client.tools(), separators=(",", ":")))

    def processes(self):
        return below(self.client.process.pid, self.command[0])


class Deskhand(Server):
    name = "deskhand"

    def start(self, desktop):
        begun = time.monotonic()
        self.client = Client([binary(), "--desktop", desktop, "mcp"], name="bench")
        taken = 1000 * (time.monotonic() - begun)
        self.version = self.client.server["serverInfo"]["version"]
        self.surfaces = {}
        return taken

    def windows(self):
        listed = data_of(self.call("computer_observe", action="windows"))["windows"]
        self.surfaces = {window.get("title") or "": window["surface_id"] for window in listed}
        return listed

    def surface(self, window):
        found = next((surface for title, surface in self.surfaces.items() if window in title), None)
        if found is None:
            raise Absent("no window")
        return found

    def tree(self, window):
        return text_of(self.call("computer_observe", action="accessibility_tree", surface_id=self.surface(window)))

    def press(self, window, label):
        surface = self.surface(window)
        found = data_of(self.call("computer_observe", action="find_elements", surface_id=surface, label=label, role="button"))["matches"]
        if not found:
            raise Absent("not found")
        begun = time.monotonic()
        self.call("computer_control", action="press", surface_id=surface, element_id=found[0]["element_id"])
        return begun

    def capture(self):
        display = data_of(self.call("computer_observe", action="displays"))["displays"][0]["display_id"]
        begun = time.monotonic()
        result = self.call("computer_observe", action="snapshot_display", display_id=display)
        return 1000 * (time.monotonic() - begun), len(image_of(result)[0])

    def processes(self):
        # The server of the connection, and the Runner that it started or found.
        own = below(self.client.process.pid, binary())
        return own + [pid for pid in same_binary() if is_runner(pid)]


class CuaDriver(Server):
    name = "cua-driver"
    command = [str(PEERS / "bin" / "cua-driver"), "mcp"]

    def start(self, desktop):
        taken = super().start(desktop)
        self.ids = {}
        return taken

    def windows(self):
        listed = self.call("list_windows")["structuredContent"]["windows"]
        self.ids = {window["title"]: (window["pid"], window["window_id"]) for window in listed}
        return listed

    def identity(self, window):
        found = next((ids for title, ids in self.ids.items() if window in title), None)
        if found is None:
            raise Absent("no window")
        return {"pid": found[0], "window_id": found[1]}

    def tree(self, window):
        return text_of(self.call("get_window_state", **self.identity(window)))

    def press(self, window, label):
        text = self.tree(window)
        row = re.search(rf'\[(\d+)\] (?:push )?button "{re.escape(label)}"', text)
        snapshot = re.search(r"snapshot_id=(\w+)", text)
        if not row or not snapshot:
            raise Absent("not found")
        begun = time.monotonic()
        self.call("click", element_token=f"{snapshot[1]}:{row[1]}", **self.identity(window))
        return begun

    def capture(self):
        begun = time.monotonic()
        result = self.call("get_desktop_state")
        return 1000 * (time.monotonic() - begun), len(image_of(result)[0])


class A11yComputerUse(Server):
    name = "a11y-computer-use"
    command = [str(PEERS / "bin" / "a11y-computer-use"), "mcp"]
    # It asks for programs by name, and wants a grant for each.
    programs = {"Small dialog": "zenity", "gtk3-widget-factory": "gtk3-widget-factory", "GTK Widget Factory": "gtk4-widget-factory",
                "Firefox": "Firefox", "Chromium": "Chromium", "Writer": "soffice",
                "Press here": "gtk3_form.py"}

    def start(self, desktop):
        if not pathlib.Path(self.command[0]).exists():
            raise Absent("not installed")
        for program in (*self.programs.values(), "screen", "unknown"):
            subprocess.run([binary(), "desktop", "exec", desktop, "--", self.command[0], "grant", program, "click"],
                           capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        return super().start(desktop)

    def program(self, window):
        return next((program for title, program in self.programs.items() if window in title), window)

    def windows(self):
        listed = self.call("window", action="list")["structuredContent"].get("result")
        if listed in ("[]", []):
            raise Absent("lists none here")
        return listed

    def tree(self, window):
        return text_of(self.call("desktop_snapshot", app=self.program(window)))

    def press(self, window, label):
        text = text_of(self.call("find", app=self.program(window), text=label, role="button"))
        found = re.search(r"^\s+(e\d+) ", text, re.MULTILINE)
        if not found:
            raise Absent("not found")
        begun = time.monotonic()
        self.call("click", ref=found[1])
        return begun

    def capture(self):
        begun = time.monotonic()
        result = self.call("screenshot", max_long_edge=1920)
        picture = image_of(result)
        if not picture:
            raise Absent("no picture")
        return 1000 * (time.monotonic() - begun), len(picture[0])


class ComputerUseLinux(Server):
    name = "computer-use-linux"
    command = [str(PEERS / "bin" / "computer-use-linux"), "mcp"]

    def windows(self):
        listed = self.call("list_windows")["structuredContent"]["windows"]
        self.ids = {window["title"]: window["window_id"] for window in listed}
        return listed

    def state(self, window):
        found = next((identity for title, identity in self.ids.items() if window in title), None)
        if found is None:
            raise Absent("no window")
        return self.call("get_app_state", window_id=found)

    def tree(self, window):
        return text_of(self.state(window))

    def press(self, window, label):
        nodes = self.state(window)["structuredContent"]["accessibility_tree"]
        button = next((node for node in nodes if node.get("name") == label and "button" in node.get("role", "")), None)
        if button is None:
            raise Absent("not found")
        begun = time.monotonic()
        self.call("perform_action", element_index=button["index"], action="click")
        return begun

    def capture(self):
        begun = time.monotonic()
        result = self.call("screenshot", full_screen=True)
        return 1000 * (time.monotonic() - begun), len(image_of(result)[0])


class Library(Subject):
    """A Python library, in a process on the desktop that answers a line a question."""

    def __init__(self, name):
        self.name = name

    def start(self, desktop):
        begun = time.monotonic()
        self.process = subprocess.Popen([binary(), "desktop", "exec", desktop, "--", "/usr/bin/python3", str(LIBRARY), self.name],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Absent("not installed")
        return 1000 * (time.monotonic() - begun)

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)

    def ask(self, *question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "ended"}')
        if "error" in answer:
            raise Absent(answer["error"][:40])
        return answer["result"]

    def windows(self):
        return self.ask("windows")

    def tree(self, window):
        return self.ask("tree", window)

    def press(self, window, label):
        return self.ask("press", window, label)

    def processes(self):
        return below(self.process.pid, str(LIBRARY))


def subjects(with_peers):
    peers = [CuaDriver(), A11yComputerUse(), ComputerUseLinux()] if with_peers else []
    return [Deskhand(), Library("pyatspi"), Library("dogtail"), *peers]


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def pids():
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def below(pid, word):
    """The process and others of the same command, without the `desktop exec` that carries it."""
    own = [pid] if "desktop exec" not in command_line(pid) else []
    return own + [other for other in pids() if other not in own and word in command_line(other)
                  and "desktop exec" not in command_line(other) and other != os.getpid() and word != binary()]


def same_binary():
    found = []
    for pid in pids():
        try:
            if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(binary()):
                found.append(pid)
        except OSError:
            continue
    return found


def is_runner(pid):
    return " runner" in command_line(pid)


def resident_kilobytes(pid):
    """Its resident memory that is its own: pages it shares with others count by their share."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0
