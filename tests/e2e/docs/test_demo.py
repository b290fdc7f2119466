"""The demo tells its story to the end: every example that the docs name is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_whole_demo_has_the_expected_results():
    done = subprocess.run(
        [sys.executable, ROOT / "examples/rides/demo.py"], capture_output=True, text=True, check=False, timeout=1500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("Every step had the expected result.")
