#!/usr/bin/python3
"""Runs every test of the project, and closes with one line that counts them. Called by scripts/test."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
END_TO_END = ROOT / "tests" / "end_to_end"


def main(filters):
    counts = Counts()
    if has_nextest():
        counts.run("Rust tests", ["cargo", "nextest", "run", "--workspace", "--all-targets", "--no-fail-fast", *filters], nextest)
    else:
        print("-- NOTICE: cargo-nextest is not here; the same tests run under cargo test", flush=True)
        counts.run("Rust tests", ["cargo", "test", "--workspace", "--all-targets", "--no-fail-fast", *one(filters)], cargo_test)
    if not filters:
        counts.run("doctests", ["cargo", "test", "--workspace", "--doc", "--no-fail-fast"], cargo_test)
        if any(END_TO_END.glob("test_*.py")):
            # The binary is built once, before a test's deadline runs.
            subprocess.run(["cargo", "build", "--quiet", "--bin", "deskhand"], cwd=ROOT, check=True)
            tests = [sys.executable, "-m", "unittest", "discover", "-v", "-s", str(END_TO_END), "-t", str(ROOT / "tests")]
            counts.run("end-to-end tests", tests, unittest)
    return counts.close()


class Counts:
    """What ran so far, over all runners."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.broken = []

    def run(self, what, command, read):
        print(f"-- {what}: {' '.join(os.path.relpath(word, ROOT) if word.startswith('/') else word for word in command)}", flush=True)
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        passed = failed = skipped = 0
        for line in child.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            found = read(line)
            if found:
                passed, failed, skipped = passed + found[0], failed + found[1], skipped + found[2]
        if child.wait() != 0:
            self.broken.append(what)
            # A runner that broke before it counted is a failure too.
            failed = failed or 1
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

    def close(self):
        if self.broken:
            print(f"-- failed: {', '.join(self.broken)}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed or not self.passed else 0


def has_nextest():
    return subprocess.run(["cargo", "nextest", "--version"], capture_output=True).returncode == 0


def one(filters):
    if len(filters) > 1:
        sys.exit("without cargo-nextest only one FILTER can be given")
    return filters


COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def nextest(line):
    found = re.search(r"^\s*Summary \[.*?\]\s*(?:\d+/)?\d+ tests? run: (.*)", COLOURS.sub("", line))
    if not found:
        return None
    numbers = {kind: int(number) for number, kind in re.findall(r"(\d+) (passed|failed|timed out|exec failed|skipped)", found[1])}
    failed = numbers.get("failed", 0) + numbers.get("timed out", 0) + numbers.get("exec failed", 0)
    return numbers.get("passed", 0), failed, numbers.get("skipped", 0)


def cargo_test(line):
    found = re.search(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line)
    return tuple(map(int, found.groups())) if found else None


def unittest(line):
    """One line a test: `name (place) ... ok`; what a test prints may stand before the verdict."""
    found = re.search(r"\.\.\. (?:.*\s)?(ok|FAIL|ERROR|skipped .*|expected failure)$", line.rstrip("\n"))
    if not found:
        return None
    if found[1] in ("FAIL", "ERROR"):
        return 0, 1, 0
    return (0, 0, 1) if found[1].startswith("skipped") else (1, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
