#!/usr/bin/python3
"""Runs a command in temporary directories of its own, and proves that it left nothing running.

    guard.py COMMAND [ARGUMENT…]

Every process that the command leaves behind becomes this one's child (a child subreaper), whatever it did to its
environment, session or process group. Those that are still there a moment after the command ended are listed, ended by
their pid, and make the exit status 1.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
# What a desktop that is just ending may take; nothing may stay longer.
GRACE_SECONDS = 10


def main(command):
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("guard: this kernel has no child subreaper")
    place = pathlib.Path(tempfile.mkdtemp(prefix="deskhand-run."))
    try:
        return run(command, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(command, place):
    environment = dict(os.environ)
    # Nothing of the caller's desktop, and nothing of the run in the caller's directories.
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS"):
        environment.pop(name, None)
    for name, folder in {
        "XDG_RUNTIME_DIR": "runtime",
        "XDG_CONFIG_HOME": "config",
        "XDG_CACHE_HOME": "cache",
        "XDG_DATA_HOME": "data",
        "XDG_STATE_HOME": "state",
        "TMPDIR": "tmp",
    }.items():
        (place / folder).mkdir(mode=0o700)
        environment[name] = str(place / folder)
    child = subprocess.Popen(command, env=environment)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # An interrupt reaches the whole foreground group by itself; the guard only outlives it.
        signal.signal(number, lambda received, _: None if received == signal.SIGINT else child.send_signal(received))
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child.pid:
            code = os.waitstatus_to_exitcode(status)
            break
    left = wait_for_the_end(GRACE_SECONDS)
    if left:
        print(f"guard: {len(left)} processes were left running after the end:", file=sys.stderr)
        for pid, command_line in left:
            print(f"  {pid} {command_line}", file=sys.stderr)
        end(signal.SIGTERM)
        if wait_for_the_end(3):
            end(signal.SIGKILL)
            wait_for_the_end(3)
        return code or 1
    return code if code >= 0 else 128 - code


def wait_for_the_end(seconds):
    """Reaps what ends; gives what still runs when the time is up."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return []
        left = descendants()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def descendants():
    """Every process below this one, with its command line."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name in parentheses may hold anything; what follows the last one is fixed.
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, queue = [], [os.getpid()]
    while queue:
        for pid in parents.get(queue.pop(), []):
            queue.append(pid)
            try:
                line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                name = pathlib.Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
            except OSError:
                continue
            found.append((pid, line.strip()[:160] or f"({name})"))
    return found


def end(number):
    for pid, _ in descendants():
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
