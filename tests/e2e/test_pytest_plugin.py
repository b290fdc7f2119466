"""The fixtures for tests of programs, in a run of pytest that finds them by entry point."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

from doc_snippets import snippets_of
from doc_stage import ROOT

_PLUGIN = "counterfoil.sdk.testing.pytest_plugin"
_LOADED = ["counterfoil.sdk.late_modules", "counterfoil.sdk", "counterfoil.sdk.testing", _PLUGIN]
_IMPORTED = f"""
import sys
import pytest
before = set(sys.modules)
import {_PLUGIN}
print([name for name in sys.modules if name not in before and not name.startswith("counterfoil")])
print([name for name in sys.modules if name.startswith("counterfoil.")])
"""


def test_the_tests_of_the_docs_pass_with_the_fixtures(tmp_path):
    page = "docs/testing-your-program.md"
    (snippet,) = (each for each in snippets_of(ROOT / page, page) if each.notes.get("file"))
    (tmp_path / "test_rides.py").write_text(snippet.text)
    options = ["--disable-plugin-autoload", "-p", _PLUGIN, "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_rides.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_the_plugin_is_found_by_pytest_and_imports_nothing():
    (entry,) = metadata.distribution("counterfoil").entry_points.select(group="pytest11")
    assert entry.value == _PLUGIN
    done = subprocess.run([sys.executable, "-c", _IMPORTED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", str(_LOADED)]
