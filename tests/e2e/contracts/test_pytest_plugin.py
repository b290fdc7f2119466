"""The fixtures for tests of programs, in a run of pytest that finds them by entry point."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata

import pytest

from strategies.docs.snippets import snippets_of
from strategies.docs.stage import ROOT

_PLUGIN = "counterfoil.sdk.testing.pytest_plugin"
_KIT_PLUGIN = "counterfoil.contracts.testkit.pytest_plugin"
_LOADED = {
    _PLUGIN: ["counterfoil.sdk.late_modules", "counterfoil.sdk", "counterfoil.sdk.testing", _PLUGIN],
    _KIT_PLUGIN: [
        *("counterfoil.contracts", "counterfoil.sdk.late_modules", "counterfoil.sdk", "counterfoil.contracts.testkit"),
        *("counterfoil.contracts.testkit.session", _KIT_PLUGIN),
    ],
}
_IMPORTED = """
import sys
import pytest
before = set(sys.modules)
import {plugin}
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


def test_the_plugins_are_found_by_pytest():
    entries = metadata.distribution("counterfoil").entry_points.select(group="pytest11")
    assert sorted(entry.value for entry in entries) == sorted(_LOADED)


@pytest.mark.parametrize("plugin", _LOADED)
def test_a_plugin_imports_nothing(plugin):
    code = _IMPORTED.format(plugin=plugin)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    foreign, own = done.stdout.splitlines()
    assert foreign == "[]"
    assert sorted(json.loads(own.replace("'", '"'))) == sorted(_LOADED[plugin])
