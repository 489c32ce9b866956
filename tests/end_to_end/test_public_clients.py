"""The public MCP suite and clients pass every scenario that applies."""

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class PublicClients(unittest.TestCase):
    def test_every_scenario_that_applies_passes(self):
        if not (pathlib.Path(os.environ.get("DESKHAND_CONFORMANCE", "/nonexistent")) / "versions").exists():
            self.skipTest("the public suite could not be installed here")
        ended = subprocess.run([sys.executable, ROOT / "scripts" / "lib" / "conformance.py"], capture_output=True, text=True, timeout=600)
        self.assertEqual(ended.returncode, 0, f"\n{ended.stdout}\n{ended.stderr}")


if __name__ == "__main__":
    unittest.main()
