#!/usr/bin/python3
"""Measures every subject on one private desktop and prints one table. Called by benches/observe/run."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from subject import ROOT, Absent, binary, resident_kilobytes, subjects

FIXTURES = ROOT / "tests" / "fixtures"
PYTHON = "/usr/bin/python3"
AGAIN = 5
PRESSES = 7


def applications(folder, page):
    """What is opened: the key, the row, a part of the window's title, the command."""
    return [
        ("dialog", "small dialog (zenity)", "Small dialog", ["zenity", "--question", "--title", "Small dialog", "--text", "Really?"]),
        ("gtk3", "gtk3-widget-factory", "gtk3-widget-factory", ["gtk3-widget-factory"]),
        ("gtk4", "gtk4-widget-factory", "GTK Widget Factory", ["env", "GSK_RENDERER=cairo", "gtk4-widget-factory"]),
        ("firefox", "2,000-node page, Firefox", "Firefox", ["firefox-esr", "--new-window", page]),
        ("chromium", "2,000-node page, Chromium", "Chromium",
         ["chromium", "--no-sandbox", "--no-first-run", "--force-renderer-accessibility", "--disable-background-networking",
          f"--user-data-dir={folder}/chromium", "--new-window", page]),
        ("writer", "LibreOffice Writer", "Writer", ["soffice", "--writer", "--norestore", "--nologo"]),
    ]


class Run:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rows, self.columns = {}, []

    def deskhand(self, *words):
        return subprocess.run([binary(), *words, "-f", "json"], capture_output=True, text=True, timeout=60)

    def start(self):
        self.desktop = "bench"
        started = self.deskhand("desktop", "start", "--name", self.desktop)
        if started.returncode:
            sys.exit(started.stdout + started.stderr)
        self.pages = subprocess.Popen([PYTHON, FIXTURES / "web" / "serve.py", "--log", self.folder / "page.jsonl"],
                                      stdout=subprocess.PIPE, text=True)
        page = self.pages.stdout.readline().strip() + "/nodes.html?n=2000"
        self.applications = []
        for key, row, title, command in applications(self.folder, page):
            if self.options.only and key not in self.options.only:
                continue
            program = command[2] if command[0] == "env" else command[0]
            if subprocess.run(["which", program], capture_output=True).returncode:
                print(f"-- {row}: not installed, left out", file=sys.stderr)
                continue
            self.open(title, command)
            self.applications.append((key, row, title))
        self.log = self.folder / "press.jsonl"
        self.open("Press here", [PYTHON, str(FIXTURES / "gtk3_form.py"), "--title", "Press here", "--log", str(self.log),
                                 "--parts", "form"])
        # Browsers and Writer load on after their window is there.
        time.sleep(8 if any(key in ("firefox", "chromium", "writer") for key, _, _ in self.applications) else 2)

    def open(self, title, command):
        self.deskhand_exec(command)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            seen = subprocess.run([binary(), "desktop", "exec", self.desktop, "--", "xdotool", "search", "--name", title],
                                  capture_output=True, text=True)
            if seen.stdout.strip():
                return
            time.sleep(0.3)
        print(f"-- no window {title!r}", file=sys.stderr)

    def deskhand_exec(self, command):
        subprocess.run([binary(), "desktop", "exec", "--detach", self.desktop, "--", *command], check=True, stdout=subprocess.DEVNULL)

    def measure(self, subject):
        print(f"-- {subject.name}", file=sys.stderr, flush=True)
        try:
            started = subject.start(self.desktop)
        except Absent as why:
            self.columns.append(subject.name)
            return self.cell("start", subject, f"({why})")
        self.columns.append(subject.name)
        try:
            self.cell("start", subject, f"{started:.0f} ms")
            self.row("tools/list", subject, lambda: f"{subject.tools_size() / 4:,.0f} tokens")
            self.row("list windows", subject, lambda: self.first_and_again(subject.windows))
            for _, row, title in self.applications:
                self.row(f"tree: {row}", subject, lambda title=title: self.tree(subject, title))
            self.row("press and verify", subject, lambda: self.press(subject))
            self.row("capture 1920×1080", subject, lambda: self.capture(subject))
            self.cell("memory", subject, f"{sum(map(resident_kilobytes, subject.processes())) / 1024:.0f} MB" if subject.processes() else "—")
        finally:
            subject.end()

    def row(self, row, subject, ask):
        try:
            text = ask()
        except Absent as why:
            text = f"({why})"
        except Exception as failure:  # a peer's failure is a cell, not the end of the run
            text = f"({type(failure).__name__})"
        self.cell(row, subject, text)

    def cell(self, row, subject, text):
        self.rows.setdefault(row, {})[subject.name] = text
        print(f"   {row:<40} {text}", file=sys.stderr, flush=True)

    def first_and_again(self, ask):
        times = []
        for _ in range(1 + AGAIN):
            begun = time.monotonic()
            ask()
            times.append(1000 * (time.monotonic() - begun))
        return f"{figure(times[0])}, again {figure(statistics.median(times[1:]))}"

    def tree(self, subject, title):
        seen = []
        timed = self.first_and_again(lambda: seen.append(subject.tree(title)))
        return f"{timed}; {len(seen[0]):,} chars"

    def press(self, subject):
        calls, application = [], []
        for _ in range(PRESSES):
            before = self.clicks()
            begun = subject.press("Press here", "Submit")
            calls.append(1000 * (time.monotonic() - begun))
            deadline = time.monotonic() + 3
            while len(after := self.clicks()) == len(before):
                if time.monotonic() > deadline:
                    raise Absent("nothing was pressed")
                time.sleep(0.002)
            # Both clocks are this machine's monotonic one.
            application.append(1000 * (after[-1] - begun))
        # A library answers through a line of its own process: its call ends with the application's record at the earliest.
        return f"{figure(statistics.median(calls))}, app {figure(statistics.median(application))}"

    def clicks(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line["at"] for line in map(json.loads, lines) if line["event"] == "clicked"]

    def capture(self, subject):
        times, size = [], 0
        for _ in range(1 + AGAIN):
            taken, size = subject.capture()
            times.append(taken)
        return f"{figure(times[0])}, again {figure(statistics.median(times[1:]))}; {size * 3 / 4 / 1024:,.0f} KB"

    def command_line(self):
        """Deskhand's own: a cold start, and a read through the running Runner."""
        def timed(*words):
            times = []
            for _ in range(9):
                begun = time.monotonic()
                subprocess.run([binary(), *words], capture_output=True, stdin=subprocess.DEVNULL)
                times.append(1000 * (time.monotonic() - begun))
            return statistics.median(times)
        self.rows["command line: --version"] = {"deskhand": figure(timed("--version"))}
        self.rows["command line: observe windows"] = {"deskhand": figure(timed("--desktop", self.desktop, "observe", "windows"))}

    def table(self):
        print(f"\n{os.cpu_count()} cores; {time.strftime('%Y-%m-%d')}; first, then the median of {AGAIN} more\n")
        print("| | " + " | ".join(self.columns) + " |")
        print("| --- |" + " --- |" * len(self.columns))
        for row, cells in self.rows.items():
            print(f"| {row} | " + " | ".join(cells.get(column, "—") for column in self.columns) + " |")

    def end(self):
        self.deskhand("desktop", "stop", self.desktop)
        self.pages.kill()
        self.pages.wait()


def figure(milliseconds):
    return f"{milliseconds:,.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-peers", action="store_true", help="Deskhand, pyatspi and dogtail only")
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="of: dialog,gtk3,gtk4,firefox,chromium,writer")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, pathlib.Path(folder))
        run.start()
        try:
            for subject in subjects(not options.without_peers):
                run.measure(subject)
            run.command_line()
            run.table()
        finally:
            run.end()


if __name__ == "__main__":
    main()
