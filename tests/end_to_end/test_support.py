"""No cell of docs/support.md has become worse."""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Support(unittest.TestCase):
    def test_every_cell_that_was_good_is_good(self):
        ended = subprocess.run([sys.executable, ROOT / "scripts" / "lib" / "support.py"], capture_output=True, text=True, timeout=900)
        self.assertEqual(ended.returncode, 0, f"\n{ended.stdout}\n{ended.stderr}")


if __name__ == "__main__":
    unittest.main()
