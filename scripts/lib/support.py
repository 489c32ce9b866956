#!/usr/bin/python3
"""What works with which application: tried, with a witness that is not Deskhand. Called by scripts/support and by the tests.

    support.py [--write] [--only KEY,…]

Prints a row for each application; with --write the rows become the table of docs/support.md. Without it, a cell of that table
that no longer holds is a failure.
"""

import argparse
import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from mcp_client import ROOT, Client, ProtocolError, Refused, binary, data_of, image_of, verdict_of

PYTHON = "/usr/bin/python3"
FIXTURES = ROOT / "tests" / "fixtures"
COLUMNS = ["window", "tree", "press", "text", "value or choice", "picture"]
PAGE = ROOT / "docs" / "support.md"
TABLE = ("<!-- table: scripts/support --write -->", "<!-- end -->")
YES, NO, NONE = "yes", "no", "—"


class Unproven(Exception):
    """The witness does not see it."""


class Desk:
    """One application on a private desktop of its own, an agent's connection, and a witness."""

    def __init__(self, folder):
        self.folder = folder
        self.client = Client(name="support")
        self.client.observe("targets")
        listed = subprocess.run([binary(), "desktop", "list", "-f", "json"], capture_output=True, check=True).stdout
        self.name = next(desktop["name"] for desktop in json.loads(listed)["data"]["desktops"] if desktop["owned"])

    def start(self, command, output=None):
        self.output = open(self.folder / "output.txt", "w+") if output else subprocess.DEVNULL
        self.program = subprocess.Popen([binary(), "desktop", "exec", self.name, "--", *map(str, command)], stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=subprocess.DEVNULL)

    def on(self, *command):
        return subprocess.run([binary(), "desktop", "exec", self.name, "--", *map(str, command)], capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL)

    def witness(self, what, *arguments):
        seen = self.on(PYTHON, ROOT / "scripts" / "lib" / "witness.py", what, *arguments)
        return json.loads(seen.stdout) if seen.stdout else []

    def wait_for_window(self, title, seconds=90):
        self.title = title
        deadline = time.monotonic() + seconds
        while not (waited := data_of(self.client.observe("wait_for", window=title, timeout_ms=10_000)))["satisfied"]:
            if time.monotonic() > deadline:
                raise Unproven("no window")
        self.window = waited["windows"][0]
        self.surface = self.window["surface_id"]

    def find(self, label=None, role=None, seconds=10):
        wanted = {key: value for key, value in (("label", label), ("role", role)) if value}
        waited = data_of(self.client.observe("wait_for", surface_id=self.surface, timeout_ms=seconds * 1000, **wanted))
        if not waited.get("matches"):
            raise Unproven(f"no {role or ''} {label or ''}".strip())
        matches = data_of(self.client.observe("find_elements", surface_id=self.surface, limit=32, enabled=True, **wanted))["matches"]
        matches = matches or waited["matches"]
        shown = [node for node in matches if "hidden" not in node["states"]] or matches
        return next((node for node in shown if node["name"] == label), shown[0])["element_id"]

    def act(self, action, label=None, role=None, **arguments):
        for last in (False, True):
            try:
                result = self.client.control(action, surface_id=self.surface, element_id=self.find(label, role), **arguments)
                return verdict_of(result).get("status")
            except Refused as refused:
                # A window that is still building itself moves what it holds; an agent looks again, and so does this.
                if refused.code != "stale_element" or last:
                    raise
                time.sleep(1)
        return None

    def until(self, what, seen, seconds=4):
        """What the witness is asked until it says yes."""
        deadline = time.monotonic() + seconds
        while not (found := seen()):
            if time.monotonic() > deadline:
                raise Unproven(what)
            time.sleep(0.1)
        return found

    def record(self, event, widget, value=None):
        def seen():
            path = self.folder / "record.jsonl"
            lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
            return any((line["event"], line.get("widget")) == (event, widget) and value in (None, line.get("value")) for line in lines)
        return self.until(f"the application saw no {event} {widget}", seen)

    def end(self):
        if hasattr(self, "program"):
            self.program.kill()
            self.program.wait()
        self.client.end()


def window(desk, _):
    """The window is listed with the title that the display server has."""
    listed = desk.on("wmctrl", "-l").stdout
    title = desk.window.get("title") or ""
    if title not in listed:
        raise Unproven("another title")


def tree(desk, application):
    """What the witness sees and can be operated is in the tree: at least 19 of 20."""
    if application.get("no_tree"):
        if not desk.window.get("no_tree"):
            raise Unproven("says nothing of the missing tree")
        return "none, and says so"
    for _ in range(8):
        names = desk.witness("names", application["witness"])
        nodes = data_of(desk.client.observe("accessibility_tree", surface_id=desk.surface, format="json", max_nodes=5000, max_depth=64))["nodes"]
        shown = {node["name"] for node in nodes}
        missing = [name for _, name in names if name not in shown]
        if names and len(missing) * 20 <= len(names):
            return f"{YES} ({len(names) - len(missing)} of {len(names)})"
        time.sleep(0.7)
    raise Unproven(f"{len(missing)} of {len(names)} missing" if names else "the witness sees none")


def picture(desk, _):
    """The picture is what the display server itself shows of the window."""
    desk.client.control("activate_window", surface_id=desk.surface)
    time.sleep(0.5)
    data, _mime = image_of(desk.client.observe("snapshot_window", surface_id=desk.surface))
    ours, theirs = desk.folder / "ours.jpeg", desk.folder / "theirs.png"
    ours.write_bytes(base64.b64decode(data))
    ids = [line.split()[0] for line in desk.on("wmctrl", "-l").stdout.splitlines() if (desk.window.get("title") or "?") in line]
    desk.on("import", "-silent", "-window", ids[0] if ids else "root", theirs)
    compared = subprocess.run(["compare", "-metric", "RMSE", str(ours), str(theirs), "null:"], capture_output=True, text=True)
    error = re.search(r"\(([\d.e-]+)\)", compared.stderr)
    if not error or float(error[1]) > 0.08:
        raise Unproven(f"differs: {error[1] if error else compared.stderr[:60]}")


def form(name, toolkit, command, title, choose):
    """A fixture's row: the same questions to each toolkit, answered by its record."""
    return {
        "key": name.lower().replace(" ", "-"), "name": f"{name} fixture", "toolkit": toolkit, "title": title, "witness": title,
        "command": lambda folder: [*command, "--title", title, "--parts", "form", "--log", folder / "record.jsonl"],
        "press": lambda desk: (desk.act("press", "Submit", "button"), desk.record("clicked", "Submit")),
        "text": lambda desk: (desk.act("input_text", "Name", "textbox", text="Ada", mode="replace"), desk.record("changed", "Name", "Ada")),
        "value or choice": choose,
    }


def spin(desk):
    desk.act("set_value", "Quantity", "spinbutton", value=12)
    desk.record("changed", "Quantity")


def calculate(keys):
    def press(desk):
        for key in keys:
            desk.act("press", key, "button")
        desk.until("no 42 on its display", lambda: any("42" in text for text in desk.witness("texts", desk.application["witness"])))
    return press


def write_and_save(desk):
    desk.act("input_text", None, "textbox", text="by an agent\n", mode="replace")
    desk.act("press", "File")
    desk.act("press", "Save")
    paper = desk.folder / "paper.txt"
    desk.until("the file is unchanged", lambda: "by an agent" in paper.read_text())


def write(desk):
    desk.act("input_text", None, "textbox", text="by an agent", mode="replace")
    desk.until("the witness reads another text", lambda: any("by an agent" in text for text in desk.witness("texts", desk.application["witness"])))


def answer(desk):
    desk.act("input_text", None, "textbox", text="by an agent", mode="replace")
    desk.act("press", "OK", "button")
    desk.until("its output is another", lambda: "by an agent" in (desk.folder / "output.txt").read_text())


def check(name, role, state="checked"):
    def press(desk):
        desk.act("press", name, role)
        desk.until(f"{name} is not {state}", lambda: desk.witness("state", desk.application["witness"], name).get(state))
    return press


def page(browser, command):
    return {
        "key": browser.lower(), "name": browser, "toolkit": "web page", "title": "Web form", "witness": "Web form", "command": command,
        "serves": True, "root": "Web form",
        "press": lambda desk: (desk.act("press", "Submit", "button"), desk.record("clicked", "Submit")),
        "text": lambda desk: (desk.act("focus", "Name", "textbox"), desk.act("input_text", "Name", "textbox", text="Ada"),
                              desk.record("input", "Name", "Ada")),
        "value or choice": lambda desk: (desk.act("press", "Subscribe", "checkbox"), desk.record("changed", "Subscribe", True)),
    }


def paper(folder):
    (folder / "paper.txt").write_text("before\n")
    return folder / "paper.txt"


def applications():
    """Each application, and how it is asked."""
    return [
        form("GTK 3", "GTK 3", [PYTHON, FIXTURES / "gtk3_form.py"], "GTK 3 form", spin),
        {"key": "zenity", "name": "Zenity", "toolkit": "GTK 3", "title": "Ask", "witness": "Ask", "output": True,
         "command": lambda _: ["zenity", "--entry", "--title", "Ask", "--text", "What?"], "text": answer, "press": answer},
        {"key": "gtk3-widget-factory", "name": "gtk3-widget-factory", "toolkit": "GTK 3", "title": "gtk3-widget-factory",
         "witness": "gtk3-widget-factory", "command": lambda _: ["gtk3-widget-factory"], "press": check("Page 2", "radio")},
        {"key": "mousepad", "name": "Mousepad", "toolkit": "GTK 3", "title": "paper.txt", "witness": "mousepad",
         "command": lambda folder: ["mousepad", paper(folder)], "text": write_and_save, "press": write_and_save},
        form("GTK 4", "GTK 4", [PYTHON, FIXTURES / "gtk4_form.py"], "GTK 4 form", spin),
        {"key": "gtk4-widget-factory", "name": "gtk4-widget-factory", "toolkit": "GTK 4", "title": "GTK Widget Factory",
         "witness": "gtk4-widget-factory", "command": lambda _: ["gtk4-widget-factory"]},
        {"key": "gnome-calculator", "name": "GNOME Calculator", "toolkit": "GTK 4", "title": "Calculator", "witness": "gnome-calculator",
         "command": lambda _: ["gnome-calculator"], "press": calculate(["6", "×", "7", "="])},
        {"key": "gnome-text-editor", "name": "GNOME Text Editor", "toolkit": "GTK 4", "title": "paper.txt", "witness": "gnome-text-editor",
         "command": lambda folder: ["gnome-text-editor", "--standalone", paper(folder)], "text": write},
        form("Qt 5", "Qt 5", [PYTHON, FIXTURES / "qt_form.py", "5"], "Qt 5 form", spin),
        {"key": "featherpad", "name": "FeatherPad", "toolkit": "Qt 5", "title": "paper.txt", "witness": "eather",
         "command": lambda folder: ["featherpad", paper(folder)], "text": write_and_save, "press": write_and_save},
        {"key": "kcalc", "name": "KCalc", "toolkit": "Qt 5", "title": "KCalc", "witness": "kcalc", "command": lambda _: ["kcalc"],
         "press": calculate(["6", "×", "7", "="])},
        form("Qt 6", "Qt 6", [PYTHON, FIXTURES / "qt_form.py", "6"], "Qt 6 form", spin),
        page("Firefox", lambda _, address: ["firefox-esr", "--new-window", f"{address}/form.html"]),
        page("Chromium", lambda folder, address: [
            "chromium", "--no-sandbox", "--no-first-run", "--force-renderer-accessibility", "--disable-background-networking",
            f"--user-data-dir={folder}/profile", "--new-window", f"{address}/form.html"]),
        {"key": "writer", "name": "LibreOffice Writer", "toolkit": "LibreOffice", "title": "Writer", "witness": "Writer",
         "command": lambda _: ["soffice", "--writer", "--norestore", "--nologo"],
         "text": lambda desk: (desk.act("input_text", None, "paragraph", text="by an agent", mode="replace"),
                               desk.until("the witness reads another text", lambda: any("by an agent" in text for text in desk.witness("texts", "Writer"))))},
        {"key": "calc", "name": "LibreOffice Calc", "toolkit": "LibreOffice", "title": "Calc", "witness": "Calc",
         "command": lambda _: ["soffice", "--calc", "--norestore", "--nologo"]},
        {"key": "xterm", "name": "xterm", "toolkit": "none", "title": "xterm", "no_tree": True, "witness": "xterm",
         "command": lambda _: ["xterm", "-T", "xterm", "-e", "sleep", "600"]},
        {"key": "xev", "name": "xev", "toolkit": "none, no process id", "title": "Event Tester", "no_tree": True, "witness": "xev",
         "command": lambda _: ["xev"]},
        {"key": "tk", "name": "Tk fixture", "toolkit": "Tk", "title": "Tk window", "no_tree": True, "witness": "Tk",
         "command": lambda folder: [PYTHON, FIXTURES / "tk_window.py", "--log", folder / "record.jsonl"]},
    ]


def row(application):
    """One application's cells; nothing where it is not installed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = pathlib.Path(place)
        pages = None
        if application.get("serves"):
            pages = subprocess.Popen([PYTHON, FIXTURES / "web" / "serve.py", "--log", folder / "record.jsonl"], stdout=subprocess.PIPE, text=True)
            command = application["command"](folder, pages.stdout.readline().strip())
        else:
            command = application["command"](folder)
        try:
            program = command[2] if command[0] == "env" else command[0]
            if not shutil.which(str(program)):
                return None
            desk = Desk(folder)
            desk.application = application
            try:
                return cells(desk, application, command)
            finally:
                desk.end()
        finally:
            if pages:
                pages.kill()
                pages.wait()



def cells(desk, application, command):
    desk.start(command, application.get("output"))
    found = dict.fromkeys(COLUMNS, NONE)
    try:
        desk.wait_for_window(application["title"])
    except (Unproven, Refused, ProtocolError) as failure:
        return {**found, "window": f"{NO}: {failure}"}
    tried = {}
    # The picture before the actions: some of them close the window.
    for column in ("window", "tree", "picture", *COLUMNS[2:5]):
        ask = {"window": window, "tree": tree, "picture": picture}.get(column)
        steps = application.get(column)
        if ask is None and steps is None:
            continue
        if column in ("press", "text", "value or choice") and steps in tried:
            found[column] = tried[steps]
            continue
        try:
            said = ask(desk, application) if ask else steps(desk)
            found[column] = said if isinstance(said, str) else YES
        except Refused as refused:
            found[column] = f"refused: {refused.code}"
            print(f"   {application['name']}, {column}: {refused}", file=sys.stderr)
        except (Unproven, ProtocolError, KeyError, IndexError, TypeError, subprocess.TimeoutExpired) as failure:
            found[column] = f"{NO}: {failure}"[:70]
        if steps:
            tried[steps] = found[column]
    return found


def written():
    """The rows of docs/support.md as they are committed."""
    text = PAGE.read_text().partition(TABLE[0])[2].partition(TABLE[1])[0]
    rows = {}
    for line in text.splitlines()[3:]:
        parts = [part.strip() for part in line.strip("|").split("|")]
        if len(parts) == len(COLUMNS) + 2:
            rows[parts[0]] = dict(zip(COLUMNS, parts[2:]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    options = parser.parse_args()
    before, lines, worse = written(), [], []
    for application in applications():
        if options.only and application["key"] not in options.only:
            # A row that is not tried stays as it is.
            if application["name"] in before:
                lines.append(line_of(application, before[application["name"]]))
            continue
        found = row(application)
        if found is None:
            print(f"SKIPPED: {application['name']} is not installed here", flush=True)
            continue
        print(f"{application['name']:<22} " + " · ".join(f"{column} {found[column]}" for column in COLUMNS), flush=True)
        lines.append(line_of(application, found))
        for column, cell in before.get(application["name"], {}).items():
            if is_good(cell) and not is_good(found[column]):
                worse.append(f"{application['name']}, {column}: was {cell!r}, is {found[column]!r}")
    if options.write:
        head = ["", f"| application | toolkit | {' | '.join(COLUMNS)} |", "| --- " * (len(COLUMNS) + 2) + "|"]
        before, _, rest = PAGE.read_text().partition(TABLE[0])
        after = rest.partition(TABLE[1])[2]
        PAGE.write_text("\n".join([before + TABLE[0], *head, *lines, "", TABLE[1] + after]))
        return 0
    for line in worse:
        print(f"WORSE: {line}")
    return 1 if worse else 0


def line_of(application, found):
    return f"| {application['name']} | {application['toolkit']} | " + " | ".join(found[column] for column in COLUMNS) + " |"


def is_good(cell):
    return cell.startswith(YES) or "says so" in cell


if __name__ == "__main__":
    sys.exit(main())
