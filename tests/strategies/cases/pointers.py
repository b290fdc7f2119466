"""Pointers for tests, written as JSON pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.schema.texts import Pointer


def pointer(text: str) -> Pointer:
    """Return the pointer of a JSON pointer's text; a step of digits is the index of an array."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])
    return tuple(int(step) if step.isdecimal() else step for step in steps)
