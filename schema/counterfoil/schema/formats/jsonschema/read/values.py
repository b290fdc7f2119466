"""JSON values as schemas compare them.

Source: the specifications of draft-04 to 2020-12: numbers are equal by value, booleans are not numbers.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any, Final, TypeAlias, TypeGuard

Number: TypeAlias = int | Decimal
"""A number of a JSON text, exact."""

TYPES: Final = ("null", "boolean", "number", "string", "array", "object")
"""The types of values; an integer is a number."""

_MAX_DIGITS: Final = 2000
"""The largest difference of the exponents of two numbers that are tested as multiples."""

_MAX_WHOLE: Final = 400
"""The largest number of digits of a number that is converted to an int."""


def type_of(value: Any) -> str:
    """Return the type of a value."""
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
    """Return whether a number is an integer; ``1.0`` is one if ``with_fraction`` is set (since draft-06)."""
    if isinstance(value, Decimal):
        return with_fraction and (value.as_tuple().exponent == 0 or value == value.to_integral_value())
    return isinstance(value, int)


def are_equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal for a schema."""
    kind = type_of(left)
    if kind != type_of(right):
        return False
    if kind == "array":
        return len(left) == len(right) and all(map(are_equal, left, right))
    if kind == "object":
        return left.keys() == right.keys() and all(are_equal(value, right[name]) for name, value in left.items())
    return bool(left == right)


def is_number(value: Any) -> TypeGuard[Number]:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_multiple(number: Number, of: Number) -> bool:
    """Return whether ``number`` is an integer multiple of ``of``, in decimal arithmetic.

    False if the exponents differ too much.
    """
    if isinstance(number, int) and isinstance(of, int):
        return of != 0 and number % of == 0
    dividend, divisor = Decimal(number), Decimal(of)
    if not divisor or abs(dividend.adjusted() - divisor.adjusted()) > _MAX_DIGITS:
        return not dividend and bool(divisor)
    return not Context(prec=2 * _MAX_DIGITS).remainder(dividend, divisor)


def plain(value: Any) -> Any:
    """Return a value with every whole number as an int, however it was written."""
    match value:
        case Decimal():
            is_whole = value.is_finite() and value.adjusted() < _MAX_WHOLE and value == value.to_integral_value()
            return int(value) if is_whole else value
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return value


def alike(value: Any) -> Any:
    """Return a key that is the same for equal JSON values: 1 and 1.0 are equal, 1 and true are not."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", tuple(alike(item) for item in value))
        case dict():
            return ("object", frozenset((key, alike(item)) for key, item in value.items()))
    return value
