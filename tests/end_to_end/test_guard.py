"""What scripts/test relies on: a process that hides from everything is still found, told and ended."""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUARD = [sys.executable, str(ROOT / "scripts" / "lib" / "guard.py")]
# In a session of its own, without an environment, its parent gone.
HIDES = "import os, subprocess; subprocess.Popen(['sleep', '300'], env={}, start_new_session=True, stdin=-3, stdout=-3, stderr=-3)"


class Guard(unittest.TestCase):
    def test_a_process_that_is_left_fails_the_run_and_is_ended(self):
        ended = subprocess.run([*GUARD, sys.executable, "-c", HIDES], capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("sleep 300", ended.stderr)
        pid = int(next(line for line in ended.stderr.splitlines() if "sleep 300" in line).split()[0])
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_a_run_that_leaves_nothing_keeps_its_own_exit_status(self):
        for status in (0, 7):
            ended = subprocess.run([*GUARD, sys.executable, "-c", f"raise SystemExit({status})"], capture_output=True, text=True, timeout=60)
            self.assertEqual((ended.returncode, ended.stderr), (status, ""))


if __name__ == "__main__":
    unittest.main()
