"""The reading of JSON for schemas of this language: exact numbers, no comments, faults with their place."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.jsontext.scanner import MAX_DEPTH, MAX_NUMBER_LENGTH, JsonScanner

if TYPE_CHECKING:
    from typing import NoReturn

MAX_EXPONENT: Final = 2**31 - 1
"""The largest absolute exponent of a number, which is that of Java's decimals."""

_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_RAW_SURROGATE = re.compile("[\ud800-\udfff]")


def read_exact_json(text: str) -> Any:
    """Return the value of the JSON document ``text``.

    A number with a point or an exponent is a ``Decimal``, any other an ``int``. Of two equal keys the last one counts.
    Raises ``SchemaParseError`` with line and column, also for text after the value, comments, ``NaN``, nesting beyond
    ``MAX_DEPTH``, numbers that are too long, and half surrogate pairs.
    """
    if _SURROGATE_ESCAPE.search(text) or (not text.isascii() and _RAW_SURROGATE.search(text)):
        return _ExactScanner(text).read()
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError, ArithmeticError):
        return _ExactScanner(text).read()
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value):
        return _ExactScanner(text).read()
    return value


class _ExactScanner(JsonScanner):
    """A scanner that reports the place of a fault, without comments and with exact numbers."""

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._at)
        if match:
            self._at = match.end()

    def _read_number(self, match: re.Match[str]) -> Any:
        start = self._at
        super()._read_number(match)
        if not match.group(1) and not match.group(2):
            return int(match.group())
        if abs(int((match.group(2) or "e0")[1:])) > MAX_EXPONENT:
            self._at = start
            raise self._fault("the number's exponent is too large", expected=f"at most {MAX_EXPONENT}")
        return Decimal(match.group())


def _read_float(text: str) -> Decimal:
    exponent = text.lower().partition("e")[2]
    if len(text) > MAX_NUMBER_LENGTH or (exponent and abs(int(exponent)) > MAX_EXPONENT):
        raise ValueError(text)
    return Decimal(text)


def _read_int(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError(text)
    return int(text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are part of Python's JSON, not of JSON


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


_DECODER = json.JSONDecoder(parse_float=_read_float, parse_int=_read_int, parse_constant=_refuse_constant)
