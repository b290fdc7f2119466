"""Parsing of JSON texts, and positions of their values, which are computed at the first use.

Ordinary JSON is parsed by the standard library, at C speed. Only a text that it refuses (comments, faults, extreme
depth) is parsed again by :class:`~counterfoil.schema.jsontext.scanner.JsonScanner`, which accepts comments and reports
the position of a fault.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext.scanner import MAX_DEPTH, JsonScanner
from counterfoil.schema.position import Position

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from counterfoil.schema.pointer import Pointer

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_LINE_END = re.compile("\n")
_RAW_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str) -> Any:
    """Return the value that ``text`` holds: None, bool, int, float, str, list or dict.

    Comments are skipped, and of two equal keys the last one counts. Raises ``SchemaParseError`` with line and column,
    also for nesting beyond ``MAX_DEPTH`` and for half surrogate pairs, which UTF-8 cannot encode.
    """
    if _needs_scanner(text):
        return JsonScanner(text).read()
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return JsonScanner(text).read()
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value):
        return JsonScanner(text).read()
    return value


def locate(text: str, pointer: Pointer) -> Position | None:
    """Return the start of the value at a JSON pointer, or of its nearest ancestor; None for invalid JSON."""
    return TextIndex(text).locate(pointer)


class TextIndex:
    """The positions of all values in a JSON text; the text is scanned once, at the first use."""

    def __init__(self, text: str) -> None:
        self._text = text

    def locate(self, pointer: Pointer) -> Position | None:
        """Return the start of the value at a JSON pointer, or of its nearest ancestor; None for invalid JSON."""
        offsets = self._offsets
        while pointer and pointer not in offsets:
            pointer = pointer[:-1]
        return self._position(offsets[pointer]) if offsets else None

    def _position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    @cached_property
    def _offsets(self) -> Mapping[Pointer, int]:
        offsets: dict[Pointer, int] = {}
        try:
            JsonScanner(self._text, offsets=offsets).read()
        except SchemaParseError:
            return {}
        return offsets

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self._text))]


def _needs_scanner(text: str) -> bool:
    """Return whether the text may contain half a surrogate pair, which the standard library accepts."""
    if _SURROGATE_ESCAPE.search(text):
        return True
    return not text.isascii() and _RAW_SURROGATE.search(text) is not None


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are Python's, not JSON's


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
