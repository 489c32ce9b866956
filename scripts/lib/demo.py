#!/usr/bin/python3
"""The demo: an agent host that knows what it wants, in place of a model. Called by scripts/demo with a folder."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from mcp_client import ROOT, Client, ProtocolError, Refused, binary, data_of, image_of, text_of, verdict_of

FIXTURES = ROOT / "tests" / "fixtures"
PYTHON = "/usr/bin/python3"
WAIT_SECONDS = 20


class Unproven(Exception):
    """The application does not confirm what a step wanted."""


class Demo:
    def __init__(self, folder):
        self.folder = folder
        self.pictures, self.failures, self.steps = [], [], 0
        begun = time.monotonic()
        self.client = Client()
        tools = self.client.tools()
        size = len(json.dumps(tools, separators=(",", ":"))) // 4
        print(f"MCP {self.client.server['protocolVersion']}, {self.client.server['serverInfo']['name']} "
              f"{self.client.server['serverInfo']['version']}: {', '.join(tool['name'] for tool in tools)} ({size} tokens)")
        target = data_of(self.client.observe("targets"))["targets"][0]
        listed = json.loads(subprocess.run([binary(), "desktop", "list", "-f", "json"], capture_output=True, check=True).stdout)
        self.desktop = listed["data"]["desktops"][0]
        print(f"private desktop {self.desktop['name']!r} of {self.desktop['size']}, ready after {self.desktop['ready_ms']} ms; "
              f"first answer {1000 * (time.monotonic() - begun):.0f} ms after the host's start; it can: "
              f"{', '.join(target['capabilities'])}")

    # what an agent does

    def open(self, title, *command):
        """Opens a program on the desktop, and waits for its window."""
        subprocess.run([binary(), "desktop", "exec", "--detach", self.desktop["name"], "--", *map(str, command)],
                       check=True, stdout=subprocess.DEVNULL)
        waited = data_of(self.client.observe("wait_for", window=title, timeout_ms=WAIT_SECONDS * 1000))
        if not waited["satisfied"]:
            raise Unproven(f"no window titled {title!r} within {WAIT_SECONDS} s")
        surface = waited["windows"][0]["surface_id"]
        # An application shows its window before its tree is whole.
        self.client.observe("wait_for", surface_id=surface, enabled=True, timeout_ms=5000)
        self.say(f"open {os.path.basename(str(command[-1] if command[0] != PYTHON else command[1]))}",
                 f"window {waited['windows'][0].get('title', '')!r} after {waited['waited_ms']} ms")
        return surface

    def find(self, surface, label, role=None):
        wanted = {"label": label, **({"role": role} if role else {})}
        waited = data_of(self.client.observe("wait_for", surface_id=surface, timeout_ms=WAIT_SECONDS * 1000, **wanted))
        matches = waited.get("matches") or []
        exact = [node for node in matches if node["name"] == label]
        if not exact and not matches:
            raise Unproven(f"no {role or 'element'} named {label!r}")
        return (exact or matches)[0]["element_id"]

    def find_role(self, surface, role):
        waited = data_of(self.client.observe("wait_for", surface_id=surface, role=role, timeout_ms=WAIT_SECONDS * 1000))
        if not waited.get("matches"):
            raise Unproven(f"no {role}")
        return waited["matches"][0]["element_id"]

    def act(self, what, action, **arguments):
        result = self.client.control(action, **arguments)
        verdict = verdict_of(result)
        self.say(what, f"{verdict.get('status')} ({verdict.get('evidence')})")
        return result

    def fill(self, surface, name, text, mode="fill_empty"):
        element = self.find(surface, name, "textbox")
        if mode == "fill_empty":
            self.act(f"focus {name}", "focus", surface_id=surface, element_id=element)
        self.act(f"input_text {text!r} into {name}", "input_text", surface_id=surface, element_id=element, text=text, mode=mode)

    def press(self, surface, name, role=None):
        self.act(f"press {name}", "press", surface_id=surface, element_id=self.find(surface, name, role))

    def picture(self, surface, name):
        """A failed picture costs nothing but itself."""
        try:
            found = image_of(self.client.observe("snapshot_window", surface_id=surface, max_width=900, max_height=700))
        except Refused as refused:
            return self.say(f"picture of {name}", str(refused))
        if found:
            path = self.folder / f"{len(self.pictures) + 1:02}-{name}.{found[1].rpartition('/')[2]}"
            path.write_bytes(base64.b64decode(found[0]))
            self.pictures.append(path)

    # what the person sees

    def scene(self, title, play):
        print(f"\n{title}")
        try:
            play()
        except (Unproven, Refused, ProtocolError, OSError, subprocess.CalledProcessError, KeyError, IndexError) as failure:
            self.failures.append(title)
            print(f"   FAILED  {type(failure).__name__}: {failure}")

    def say(self, what, outcome):
        self.steps += 1
        print(f"   {what:<52} {outcome}", flush=True)

    def proof(self, what, holds, seen):
        if not holds:
            raise Unproven(f"{what}; seen: {seen}")
        print(f"   └ proof: {what}: {seen}", flush=True)

    def sheet(self):
        if not self.pictures:
            return None
        sheet = self.folder / "contact-sheet.png"
        labels = [word for path in self.pictures for word in ("-label", path.stem[3:].replace("-", " "), str(path))]
        subprocess.run(["montage", *labels, "-geometry", "600x440+10+8", "-tile", "2x", "-background", "#e8eaed", str(sheet)],
                       check=True)
        return sheet


class Record:
    """An application's own record, as it stands in its file."""

    def __init__(self, path):
        self.path = path

    def events(self):
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def seen(self, event, widget, value=None, seconds=3):
        """The last such line; an application may write a little after it answered."""
        deadline = time.monotonic() + seconds
        while True:
            found = [line for line in self.events() if (line["event"], line.get("widget")) == (event, widget)
                     and (value is None or line.get("value") == value)]
            if found or time.monotonic() > deadline:
                return {key: value for key, value in found[-1].items() if key != "at"} if found else None
            time.sleep(0.02)


def play(folder):
    demo = Demo(folder)
    gtk3 = Record(folder / "gtk3.jsonl")
    place = {}

    def form():
        place["form"] = surface = demo.open("Order form", PYTHON, FIXTURES / "gtk3_form.py", "--title", "Order form",
                                            "--log", gtk3.path, "--parts", "menu,form,orders")
        outline = text_of(demo.client.observe("accessibility_tree", surface_id=surface))
        demo.say("accessibility_tree", f"{outline.count(chr(10)) + 1} lines, {len(outline)} characters")
        demo.fill(surface, "Name", "Ada Lovelace")
        demo.fill(surface, "Email", "ada@example.org", mode="replace")
        demo.press(surface, "Subscribe", "checkbox")
        demo.act("set_value Quantity to 12", "set_value", surface_id=surface,
                 element_id=demo.find(surface, "Quantity", "spinbutton"), value=12)
        demo.press(surface, "Submit", "button")
        for event, widget, value in (("changed", "Name", "Ada Lovelace"), ("changed", "Email", "ada@example.org"),
                                     ("toggled", "Subscribe", True), ("changed", "Quantity", 12.0), ("clicked", "Submit", None)):
            line = gtk3.seen(event, widget, value)
            demo.proof("the application's record", line, line)
        demo.picture(surface, "a-form-filled-in")

    def menu():
        surface = place["form"]
        demo.press(surface, "File")
        demo.press(surface, "Open Recent")
        demo.press(surface, "beta.txt")
        line = gtk3.seen("activated", "beta.txt")
        demo.proof("the application's record", line, line)

    def refusals():
        surface = place["form"]
        try:
            demo.press(surface, "Locked", "button")
        except Refused as refused:
            demo.say("press Locked", f"{refused.code}: {refused.error.get('message')}")
        line = gtk3.seen("clicked", "Locked", seconds=0.5)
        demo.proof("nothing reached the button", line is None, "no line in the application's record")

    def stale():
        surface = place["form"]
        old = demo.find(surface, "Ship order 17", "button")
        demo.press(surface, "Refresh", "button")
        try:
            demo.act("press the old element", "press", surface_id=surface, element_id=old)
        except Refused as refused:
            demo.say("press the element that was there", f"{refused.code}, {refused.error.get('execution_state')}")
            if refused.code != "stale_element":
                raise
            call = refused.error["recovery"]["suggested_call"]
            demo.client.call(call["tool"], **call["arguments"])
            demo.say(f"follow the recovery: {call['arguments'].get('action')}", "observed again")
        else:
            raise Unproven("an element that is gone was pressed")
        line = gtk3.seen("clicked", "Ship order 18", seconds=0.5)
        demo.proof("nothing was pressed in its place", line is None, "no line in the application's record")
        demo.press(surface, "Ship order 18", "button")
        line = gtk3.seen("clicked", "Ship order 18")
        demo.proof("the application's record", line, line)
        demo.picture(surface, "after-a-stale-element")

    def document():
        paper = folder / "letter.txt"
        paper.write_text("Dear reader,\n")
        surface = demo.open("letter.txt", "mousepad", paper)
        text = "Dear reader,\n\nthis was written by an agent, through the accessibility tree.\n"
        demo.act("input_text (replace) into the document", "input_text", surface_id=surface,
                 element_id=demo.find_role(surface, "textbox"), text=text, mode="replace")
        demo.press(surface, "File")
        demo.press(surface, "Save")
        deadline = time.monotonic() + 5
        while paper.read_text() != text and time.monotonic() < deadline:
            time.sleep(0.05)
        demo.proof("the file on disk", paper.read_text() == text, repr(paper.read_text()))
        demo.picture(surface, "mousepad-GTK-3")

    def calculator():
        surface = demo.open("Calculator", "gnome-calculator")
        for key in ("6", "×", "7", "="):
            demo.press(surface, key, "button")
        # The calculator reckons on a thread of its own: its display is looked at until it shows the end.
        until = time.monotonic() + 15
        found = []
        while not found and time.monotonic() < until:
            seen = subprocess.run([binary(), "desktop", "exec", demo.desktop["name"], "--", PYTHON,
                                   ROOT / "scripts" / "lib" / "witness.py", "texts", "gnome-calculator"],
                                  capture_output=True, text=True, check=True, timeout=60)
            found = [text for text in json.loads(seen.stdout) if "42" in text]
        demo.proof("GNOME's own accessibility library reads the display", found, ", ".join(found) or "nothing like it")
        demo.picture(surface, "gnome-calculator-GTK-4")

    def gtk4():
        record = Record(folder / "gtk4.jsonl")
        surface = demo.open("GTK 4 form", PYTHON, FIXTURES / "gtk4_form.py", "--log", record.path, "--parts", "form")
        demo.fill(surface, "Name", "Grace Hopper")
        demo.press(surface, "Submit", "button")
        for event, widget, value in (("changed", "Name", "Grace Hopper"), ("clicked", "Submit", None)):
            line = record.seen(event, widget, value)
            demo.proof("the application's record", line, line)
        demo.picture(surface, "a-form-in-GTK-4")

    def qt():
        record = Record(folder / "qt5.jsonl")
        surface = demo.open("Qt 5 form", PYTHON, FIXTURES / "qt_form.py", "5", "--log", record.path, "--parts", "form")
        demo.fill(surface, "Name", "Edsger Dijkstra")
        demo.act("set_value Volume to 40", "set_value", surface_id=surface,
                 element_id=demo.find(surface, "Volume", "slider"), value=40)
        demo.press(surface, "Subscribe", "checkbox")
        demo.press(surface, "Submit", "button")
        for event, widget, value in (("changed", "Name", "Edsger Dijkstra"), ("changed", "Volume", 40),
                                     ("toggled", "Subscribe", True), ("clicked", "Submit", None)):
            line = record.seen(event, widget, value)
            demo.proof("the application's record", line, line)
        demo.picture(surface, "a-form-in-Qt-5")

    demo.scene("1. Fill a form (GTK 3)", form)
    demo.scene("2. Choose from a nested menu (GTK 3)", menu)
    demo.scene("3. Refuse what the application would not do", refusals)
    demo.scene("4. Recover from an element that is gone", stale)
    demo.scene("5. Edit and save a document (Mousepad, GTK 3)", document)
    demo.scene("6. Calculate (GNOME Calculator, GTK 4)", calculator)
    demo.scene("7. Fill a form (GTK 4)", gtk4)
    demo.scene("8. Fill a form (Qt 5)", qt)
    sheet = demo.sheet()
    demo.client.end()
    print(f"\n{demo.steps} steps, {len(demo.failures)} scenes failed" + (f": {'; '.join(demo.failures)}" if demo.failures else ""))
    if sheet:
        print(f"contact sheet: {sheet}")
    return 1 if demo.failures else 0


if __name__ == "__main__":
    chosen = pathlib.Path(sys.argv[1])
    if not shutil.which("montage"):
        sys.exit("ImageMagick is not here: apt-get install imagemagick")
    sys.exit(play(chosen))
