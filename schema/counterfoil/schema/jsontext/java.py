"""JSON as Jackson and Java treat it: printing, numbers that are written as text, the order of strings in hash sets."""

from __future__ import annotations

import json
import math
import re
import struct
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.caches import cached_if_short

if TYPE_CHECKING:
    from collections.abc import Iterable


# Printing of JSON in the format of Jackson: compact, keys in the given order, doubles in Java's format.
#
# The identity of a schema in a registry is a hash over this text, so every character counts: ``1e3`` is a double and is
# printed as ``1000.0``, control characters have upper-case hexadecimal escapes, of the characters from U+0020 up only
# the quote and the backslash are escaped.
#
# Source: ``java.lang.Double.toString`` and Jackson's default ``JsonGenerator``.

_LOWER_HEX_ESCAPE = re.compile(r"\\u00[01][a-f]|\\\\")
_NUMBER_WITH_SPELLING = re.compile(r"[:\[,]-?(?:[0-9]+[.e]|NaN|Infinity)")
"""A non-integer number inside a list or object as Python prints it; a match inside a string only costs time."""
_ENCODER_BY_SORTING = {
    sort_keys: json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"), sort_keys=sort_keys)
    for sort_keys in (False, True)
}
_PLAIN_MIN = 1e-3
_PLAIN_MAX = 1e7
_FLOAT_DIGITS = 9
"""The number of decimal digits that distinguish any two 32-bit floats."""


def print_json(value: Any, *, sort_keys: bool = False) -> str:
    """Return the text of a JSON value; ``sort_keys`` sorts the keys of every object by code point.

    The standard library prints most values equally, at C speed; those with doubles or control characters are printed
    here.
    """
    if type(value) is float:
        return print_double(value)
    text = _ENCODER_BY_SORTING[sort_keys].encode(value)
    if "\\u00" not in text and not _NUMBER_WITH_SPELLING.search(text):
        return text
    parts: list[str] = []
    _print(value, parts.append, sort_keys=sort_keys)
    return "".join(parts)


def print_string(value: str) -> str:
    r"""Return a string with its quotes: ``"``, ``\`` and control characters escaped, nothing else."""
    printed = encode_basestring(value)
    if "\\u00" in printed:
        return _LOWER_HEX_ESCAPE.sub(_upper_hex, printed)
    return printed


def print_double(value: float) -> str:
    """Return the text of a 64-bit float: digits on both sides of the point, ``E`` notation below 1e-3 and from 1e7 on.

    A value that JSON cannot represent as a number becomes a string: ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.
    """
    if not math.isfinite(value):
        return _print_not_finite(value)
    if value == 0.0 or _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return repr(value)
    two_digits = f"{value:.1e}"  # two digits are more exact than one for the smallest values: 4.9E-324, not 5.0E-324
    return _scientific(two_digits if float(two_digits) == value else repr(value))


def print_float(value: float) -> str:
    """Return the text of a double rounded to 32 bits, with the fewest digits that identify this 32-bit float."""
    single = round_to_float(value)
    if not math.isfinite(single) or single == 0.0:
        return print_double(single)
    shortest = next(
        text
        for text in (f"{single:.{digits}e}" for digits in range(1, _FLOAT_DIGITS))
        if round_to_float(float(text)) == single
    )
    return print_double(float(shortest))


def round_to_float(value: float) -> float:
    """Return the nearest 32-bit float; infinity for a value that is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _print(value: Any, write: Any, *, sort_keys: bool) -> None:
    kind = type(value)
    if kind is str:
        write(print_string(value))
    elif kind is dict:
        _print_object(value, write, sort_keys=sort_keys)
    elif kind is list:
        write("[")
        for index, item in enumerate(value):
            if index:
                write(",")
            _print(item, write, sort_keys=sort_keys)
        write("]")
    else:
        write(_print_scalar(value))


def _print_object(value: dict[str, Any], write: Any, *, sort_keys: bool) -> None:
    write("{")
    for index, key in enumerate(sorted(value) if sort_keys else value):
        write(f"{',' if index else ''}{print_string(key)}:")
        _print(value[key], write, sort_keys=sort_keys)
    write("}")


def _print_scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    return print_double(value) if isinstance(value, float) else str(value)


def _print_not_finite(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    return '"Infinity"' if value > 0 else '"-Infinity"'


def _scientific(text: str) -> str:
    """Return Java's ``d.dddEn`` for the digits of a Python ``repr``."""
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + (len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1))
    digits = digits.rstrip("0")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _upper_hex(match: re.Match[str]) -> str:
    escape = match.group()
    return escape if escape == "\\\\" else "\\u" + escape[2:].upper()


# Numbers written as text in a schema, parsed by Java's rules.
#
# Source: ``java.lang.Double.valueOf(String)``.

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


# The iteration order of strings in Java's hash sets.
#
# The reference registry compares the properties of two objects, and the types of two files, in this order. Its messages
# are in this order, so that equal messages require the same order here.
#
# Source: the documented ``String.hashCode``, and the observed order of ``java.util.HashSet``.

_FEWEST_BUCKETS: Final = 16
_LOAD: Final = 0.75


def java_hash_order(texts: Iterable[str]) -> list[str]:
    """Return ``texts``, each once, in the order of a hash set to which they were added in the given order.

    >>> java_hash_order(["sku", "id", "name"])
    ['name', 'id', 'sku']
    """
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= 1:
        return distinct
    buckets = _FEWEST_BUCKETS
    while len(distinct) > buckets * _LOAD:
        buckets *= 2
    return sorted(distinct, key=lambda text: _spread(java_hash(text)) & (buckets - 1))


@cached_if_short(65536, longest=100)
def java_hash(text: str) -> int:
    """Return ``String.hashCode`` as an unsigned number: a 32-bit polynomial over the UTF-16 code units.

    >>> java_hash("id")
    3355
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    """Return a hash with its high bits mixed into the low ones, as in ``java.util.HashMap``."""
    return code ^ code >> 16
