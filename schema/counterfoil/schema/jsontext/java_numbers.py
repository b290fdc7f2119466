"""Numbers written as text in a schema, parsed by Java's rules.

Source: ``java.lang.Double.valueOf(String)``.
"""

from __future__ import annotations

import math
import re

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII)
_NOT_FINITE = re.compile(r"([+-]?)(NaN|Infinity)")
_TRIMMED = "".join(map(chr, range(0x21)))


def read_java_double(text: str) -> float | None:
    """Return the double that ``text`` represents; None if it is not a number.

    Accepted are decimal or hexadecimal digits, ``NaN``, ``Infinity``, white space around them, ``f`` or ``d`` behind
    them.
    """
    text = text.strip(_TRIMMED)
    if match := _NOT_FINITE.fullmatch(text):
        value = math.nan if match.group(2) == "NaN" else math.inf
        return -value if match.group(1) == "-" else value
    digits = text[:-1] if text[-1:] in ("f", "F", "d", "D") and "x" not in text.lower() else text
    if _DECIMAL.fullmatch(digits):
        return float(digits)
    return _read_hexadecimal(text)


def _read_hexadecimal(text: str) -> float | None:
    digits = text[:-1] if text[-1:] in ("f", "F", "d", "D") else text
    if not _HEXADECIMAL.fullmatch(digits):
        return None
    try:
        return float.fromhex(digits)
    except OverflowError:
        return math.copysign(math.inf, -1.0 if digits.startswith("-") else 1.0)
