"""The places of values in a JSON text, found by the decoder of the standard library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

    from counterfoil.schema.texts import Pointer

_DECODER: Final = json.JSONDecoder()
_BLANKS: Final = " \t\n\r"


def json_places(text: str) -> dict[Pointer, int]:
    """Return the offset of each value by its pointer; of two equal keys that of the last one."""
    return dict(_places(text, 0, ()))


def _places(text: str, at: int, pointer: Pointer) -> Generator[tuple[Pointer, int], None, int]:
    """Yield the places of the value at an offset, and return the offset behind it."""
    at = _past_blanks(text, at)
    yield pointer, at
    if text[at] not in "{[":
        return _DECODER.raw_decode(text, at)[1]
    closing, index = {"{": "}", "[": "]"}[text[at]], 0
    at = _past_blanks(text, at + 1)
    while text[at] != closing:
        step: str | int = index
        if closing == "}":
            step, at = _DECODER.raw_decode(text, at)
            at = _past_blanks(text, at) + 1
        at = _past_blanks(text, (yield from _places(text, at, (*pointer, step))))
        at = _past_blanks(text, at + 1) if text[at] == "," else at
        index += 1
    return at + 1


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at
