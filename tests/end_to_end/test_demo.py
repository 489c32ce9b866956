"""The demo's every scene is confirmed by the applications themselves."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Demo(unittest.TestCase):
    def test_every_scene_is_proven_and_pictured(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run([sys.executable, ROOT / "scripts" / "lib" / "demo.py", folder], capture_output=True, text=True, timeout=300)
            self.assertEqual(ended.returncode, 0, f"\n{ended.stdout}\n{ended.stderr}")
            sheet = (pathlib.Path(folder) / "contact-sheet.png").read_bytes()
            self.assertTrue(sheet.startswith(b"\x89PNG"))


if __name__ == "__main__":
    unittest.main()
