"""The rules for tests: short files, no sleep instead of a condition, no patching of this project, no lost names."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS: Final = Path(__file__).resolve().parents[1]
MOST_LINES: Final = 600


@cache
def texts() -> dict[str, str]:
    """Return the text of every module of the tests, by its path."""
    return {str(path.relative_to(TESTS)): path.read_text("utf-8") for path in sorted(TESTS.rglob("*.py"))}


def trees(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules that have one of these words, parsed."""
    return ((name, ast.parse(text)) for name, text in texts().items() if any(word in text for word in words))


def sleeps(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that sleep without asking again afterwards: outside a ``while``, or with ``time.sleep``."""
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.While))
    polled = {id(node) for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name("time"), "sleep")):
                yield node.lineno
            case ast.ImportFrom(module="time" | "asyncio", names=names) if any(each.name == "sleep" for each in names):
                yield node.lineno
            case ast.Call(func=ast.Attribute(ast.Name("asyncio"), "sleep"), args=args):
                gives_way = len(args) == 1 and isinstance(args[0], ast.Constant) and args[0].value == 0
                if not gives_way and id(node) not in polled:
                    yield node.lineno
            case _:
                pass


def patches(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that put something into modules or classes of this project."""
    ours = {
        (each.asname or each.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        for each in node.names
        if (node.module or "" if isinstance(node, ast.ImportFrom) else each.name).partition(".")[0] == "counterfoil"
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(_, "setattr" | "delattr"), args=[target, *_]):
                while isinstance(target, ast.Attribute):
                    target = target.value
                is_text = isinstance(target, ast.Constant) and str(target.value).startswith("counterfoil")
                if is_text or (isinstance(target, ast.Name) and target.id in ours):
                    yield node.lineno
            case ast.ImportFrom(module="unittest", names=names) if any(each.name == "mock" for each in names):
                yield node.lineno
            case ast.ImportFrom(module="unittest.mock"):
                yield node.lineno
            case _:
                pass


LARGE: Final = ("mcp", "schemathesis", "google.cloud", "beavers", "kafka", "faststream", "pandas", "tink", "xmlschema")
LARGE_HERE: Final = ("playwright", *(f"counterfoil.sdk.adapters.{each}" for each in ("beavers", "faststream")))


def large_imports(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that import a large package at the top of a file."""
    for node in tree.body:
        named = [each.name for each in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            named = [node.module or ""]
        if any(f"{name}.".startswith(f"{large}.") for name in named for large in (*LARGE, *LARGE_HERE)):
            yield node.lineno


def test_no_file_is_too_long_to_be_about_one_thing():
    assert {name: text.count("\n") for name, text in texts().items() if text.count("\n") > MOST_LINES} == {}


def test_no_test_sleeps_in_order_to_wait():
    assert [f"{name}:{line}" for name, tree in trees("sleep") for line in sleeps(tree)] == []


def test_no_test_patches_the_code_of_this_project():
    assert [f"{name}:{line}" for name, tree in trees("setattr(", "delattr(", "mock") for line in patches(tree)] == []


def test_no_file_loads_a_large_package_before_a_test_needs_it():
    """Each process of a run imports every file: ``strategies.machine.late_modules`` loads a module when it is used."""
    words = [large.rpartition(".")[2] for large in (*LARGE, *LARGE_HERE)]
    assert [f"{name}:{line}" for name, tree in trees(*words) for line in large_imports(tree)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pandas as pd", [1]),
        ("from mcp import Client", [1]),
        ("from google.cloud import kms_v1", [1]),
        ("from counterfoil.sdk.adapters.beavers import Columns", [1]),
        ("def f():\n    import pandas", []),
        ("import mcp_types", []),
        ("if TYPE_CHECKING:\n    from playwright.sync_api import Page", []),
    ],
)
def test_a_large_import_is_seen(text: str, found: list[int]):
    assert [*large_imports(ast.parse(text))] == found


@pytest.mark.parametrize(
    ("text", "sleeping", "patching"),
    [
        ("import time\ntime.sleep(1)", [2], []),
        ("from time import sleep", [1], []),
        ("async def f():\n    await asyncio.sleep(0.1)", [2], []),
        ("async def f():\n    await asyncio.sleep(0)", [], []),
        ("async def f():\n    while not done():\n        await asyncio.sleep(0.1)", [], []),
        ("from counterfoil.schema import model\nmonkeypatch.setattr(model, 'SchemaType', 1)", [], [2]),
        ("import counterfoil.schema\nmonkeypatch.setattr(counterfoil.schema.model.SchemaType, 'b', 1)", [], [2]),
        ("monkeypatch.setattr('counterfoil.schema.model.SchemaType', 1)", [], [1]),
        ("from unittest import mock", [], [1]),
        ("from unittest.mock import patch", [], [1]),
        ("import sys\nmonkeypatch.setattr(sys, 'stdin', None)", [], []),
    ],
)
def test_the_rules_see_what_breaks_them(text: str, sleeping: list[int], patching: list[int]):
    tree = ast.parse(text)
    assert [*sleeps(tree)] == sleeping
    assert [*patches(tree)] == patching


def test_what_shares_a_process_is_there():
    """The groups of ``conftest.py`` name files and tests; one that was renamed would run beside its group."""
    spec = importlib.util.spec_from_file_location("conftest_of_all", TESTS / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    named = {*conftest.LONG_FILES}.union(*conftest.ONE_PROCESS.values())
    files = {name: name.partition("::")[0] for name in named}
    missing = {name for name, file in files.items() if not (TESTS.parent / file).is_file()}
    for name in named - missing:
        test = name.partition("::")[2].partition("[")[0]
        if test and f"def {test}(" not in (TESTS.parent / files[name]).read_text("utf-8"):
            missing.add(name)
    assert missing == set()
