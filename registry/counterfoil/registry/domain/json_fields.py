"""Reading the fields of a JSON object as lenient servers of this API do.

A number where a text is wanted is its own spelling, a fraction where an integer is wanted is cut, the words ``true``
and ``false`` are booleans; unknown keys are ignored. A list or an object in the place of a plain value, or a word where
a number is wanted, is a ``BadRequest`` that names the key.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")
_INT_BITS = 31
_MAX_INT_DIGITS = 20


def object_of(value: object, what: str) -> Mapping[str, Any]:
    """``value``, which must be a JSON object."""
    if isinstance(value, dict):
        return value
    raise BadRequest(f"{what} must be a JSON object, not {_kind(value)}")


def text_of(value: object, what: str) -> str:
    """``value`` as a text: a text itself, or the spelling of a number or boolean."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise BadRequest(f"{what} must be a text, not {_kind(value)}")


def integer_of(value: object, what: str) -> int:
    """``value`` as an integer of 32 bits; a fraction is cut towards zero."""
    number = _number(value)
    if number is None:
        raise BadRequest(f"{what} must be an integer, not {_kind(value)}")
    if not -(1 << _INT_BITS) <= number < 1 << _INT_BITS:
        raise BadRequest(f"{what} must be an integer of 32 bits")
    return number


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    if isinstance(value, str):
        word = value.strip()
        digits = word.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_INT_DIGITS:
            return int(word)
    return None


def boolean_of(value: object, what: str) -> bool:
    """``value`` as a boolean: itself, the words true and false, a number that is not 0."""
    if isinstance(value, (bool, int)):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    raise BadRequest(f"{what} must be true or false, not {_kind(value)}")


def list_of(value: object, what: str, item: Callable[[object, str], _T]) -> tuple[_T, ...]:
    """``value``, which must be a JSON array, with each item read by ``item``."""
    if isinstance(value, list):
        return tuple(item(each, f"{what}[{index}]") for index, each in enumerate(value))
    raise BadRequest(f"{what} must be a JSON array, not {_kind(value)}")


def map_of(value: object, what: str, item: Callable[[object, str], _T]) -> dict[str, _T]:
    """``value``, which must be a JSON object, with each value read by ``item``, keys sorted, nulls left out."""
    found = object_of(value, what)
    return {key: item(found[key], f"{what}.{key}") for key in sorted(found) if found[key] is not None}


def optional(fields: Mapping[str, Any], key: str, read: Callable[[object, str], _T], *, within: str = "") -> _T | None:
    """The value of ``key`` read by ``read``; None when it is absent or null."""
    value = fields.get(key)
    return None if value is None else read(value, f"{within}{key}")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
