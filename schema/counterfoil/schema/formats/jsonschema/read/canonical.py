"""The texts of a JSON schema: compact, numbers as exact decimals, keys in the given order or sorted.

Source: ``java.math.BigDecimal.toString``, whose spelling Python's ``Decimal`` shares, and Jackson's default output.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from counterfoil.schema.jsontext.printing import print_string

if TYPE_CHECKING:
    from collections.abc import Callable


def print_exact(value: Any, *, sort_keys: bool = False) -> str:
    """Return the text of a JSON value without white space.

    ``sort_keys`` puts the keys of every object in Java's order.
    """
    if not sort_keys:
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        except TypeError:  # it contains a Decimal
            text = "\\u00"
        if "\\u00" not in text:
            return text
    parts: list[str] = []
    _print(value, parts.append, sort_keys=sort_keys)
    return "".join(parts)


def print_number(value: int | Decimal) -> str:
    """Return a number with all its digits, an exponent only if it is needed, and no negative zero.

    >>> [print_number(Decimal(text)) for text in ("1.0", "5e0", "-1.20e-3", "1e400", "-0.0")]
    ['1.0', '5', '-0.00120', '1E+400', '0.0']
    """
    if isinstance(value, Decimal) and value.is_zero():
        value = value.copy_abs()
    return str(value)


def _java_order(key: str) -> bytes:
    """Return the key by which Java sorts strings: their UTF-16 code units."""
    return key.encode("utf-16-be", "surrogatepass")


def _print(value: Any, write: Callable[[str], Any], *, sort_keys: bool) -> None:
    match value:
        case str():
            write(print_string(value))
        case bool():
            write("true" if value else "false")
        case None:
            write("null")
        case dict():
            write("{")
            for index, key in enumerate(sorted(value, key=_java_order) if sort_keys else value):
                write(f"{',' if index else ''}{print_string(key)}:")
                _print(value[key], write, sort_keys=sort_keys)
            write("}")
        case list():
            write("[")
            for index, item in enumerate(value):
                if index:
                    write(",")
                _print(item, write, sort_keys=sort_keys)
            write("]")
        case _:
            write(print_number(value))
