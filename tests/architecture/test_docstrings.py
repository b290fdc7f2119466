"""The examples in docstrings have the results that they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("schema", "pages", "sdk", "contracts", "registry", "converter")
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT / room).with_suffix("").parts).removesuffix(".__init__")
    for room in ROOMS
    for path in (ROOT / room / "counterfoil").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_are_true(name: str):
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0
