"""JSON values as schemas tell them apart.

Source: the specifications of draft-04 to 2020-12: numbers are equal by value, booleans are not numbers.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

TYPES: Final = ("null", "boolean", "number", "string", "array", "object")
"""The types of values. An integer is a number."""


def type_of(value: Any) -> str:
    """The type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
    return "number"


def is_integer(value: Any, *, with_fraction: bool = True) -> bool:
    """Whether a number is whole; ``1.0`` is where ``with_fraction`` (since draft-06)."""
    if isinstance(value, Decimal):
        return with_fraction and (value.as_tuple().exponent == 0 or value == value.to_integral_value())
    return isinstance(value, int)


def are_equal(left: Any, right: Any) -> bool:
    """Whether two values are the same to a schema."""
    kind = type_of(left)
    if kind != type_of(right):
        return False
    if kind == "array":
        return len(left) == len(right) and all(map(are_equal, left, right))
    if kind == "object":
        return left.keys() == right.keys() and all(are_equal(value, right[name]) for name, value in left.items())
    return bool(left == right)
