"""docs/troubleshooting.md has an entry for every exit code, every error code and every line of level ERROR."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema import errors
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
ROOMS = ("registry", "schema", "pages", "sdk", "contracts", "converter")
_LOUD = {"error", "exception", "critical"}


def _entries(heading: str) -> dict[str, str]:
    """Return the rows of the tables below a heading of the second level: what to do, by code or line."""
    section = re.split(rf"^## {heading}$", PAGE, flags=re.MULTILINE)[1]
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (`.*?`|\d+) \| (.*) \|$", section, re.MULTILINE)
    assert len(rows) == len({name for name, _ in rows}), "an entry stands there twice"
    return {name.strip("`"): text for name, text in rows}


def _logged() -> Iterator[tuple[str, str]]:
    """Yield every text that is logged with the level ERROR or above, with its file."""
    for room in ROOMS:
        for path in (ROOT / room / "counterfoil").rglob("*.py"):
            text = path.read_text()
            nodes = ast.walk(ast.parse(text)) if any(f".{name}(" in text for name in _LOUD) else ()
            for node in nodes:
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                    continue
                of = node.func.value
                is_logger = isinstance(of, ast.Name) and of.id.lower().strip("_") in {"log", "logger"}
                if is_logger and node.func.attr in _LOUD:
                    assert isinstance(node.args[0], ast.Constant), f"{path}:{node.lineno}: the text is no literal"
                    yield str(node.args[0].value), str(path.relative_to(ROOT))


def test_every_exit_code_has_an_entry():
    assert set(_entries("Exit codes")) == {str(int(code)) for code in ExitCode}


def test_every_error_code_has_an_entry():
    coded = {
        str(each.code)
        for each in vars(errors).values()
        if isinstance(each, type)
        and issubclass(each, errors.RegistryError)
        and each is not errors.RegistryError
        and "code" in vars(each)
    }
    assert len(coded) > 50
    assert set(_entries("Error codes")) == coded


@pytest.mark.slow
def test_every_line_of_level_error_has_an_entry():
    entries = _entries("Lines of level ERROR")
    logged = dict(_logged())
    assert len(logged) > 15
    assert {line: place for line, place in logged.items() if line not in entries} == {}
    assert set(entries) - set(logged) == set()


def test_every_entry_says_what_to_do():
    for heading in ("Exit codes", "Error codes", "Lines of level ERROR"):
        assert {name: text for name, text in _entries(heading).items() if len(text.split()) < 3} == {}


def test_commands_and_options_on_the_page_exist():
    pages = (ROOT / "docs" / "reference" / "cli").glob("*.md")
    commands = "".join(page.read_text() for page in pages)
    settings = (ROOT / "docs" / "reference" / "settings.md").read_text()
    named = set(re.findall(r"`counterfoil ([a-z-]+(?: [a-z][a-z-]*)*)", PAGE))
    assert len(named) > 5
    assert {name for name in named if f"# counterfoil {name}\n" not in commands} == set()
    options = set(re.findall(r"(--[a-z-]+)", PAGE))
    assert {name for name in options if name not in commands + settings} == set()
