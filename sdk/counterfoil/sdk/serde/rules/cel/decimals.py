"""Exact numbers in rules: ``decimal("1.50")``, and functions such as ``decimals.add``.

Sums and products are exact; quotients and roots have 38 digits, rounded half up. Numbers of more than 100,000 digits
are refused, so that a short text cannot become a large number.

Source: confluent-kafka 2.16, whose results these functions return.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST_DIGITS: Final = 100_000
_EXACT: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_DIVIDING: Final = decimal.Context(38, decimal.ROUND_HALF_UP, decimal.MIN_EMIN, decimal.MAX_EMAX)


def _number(value: Any, scale: Any = None) -> Decimal:
    """Return a decimal: of a text, a number, or two's complement bytes with a scale."""
    if isinstance(value, (bytes, bytearray)):
        if scale is None:
            raise TypeError("a decimal of bytes needs a scale")
        return _checked(Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-_scale(scale), context=_EXACT))
    if scale is not None:
        raise TypeError("only a decimal of bytes has a scale")
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise TypeError(f"expected a number; got {type(value).__name__}")
    try:
        return _checked(Decimal(repr(value) if isinstance(value, float) else value))
    except decimal.InvalidOperation:
        raise ValueError(f"{value!r} is no decimal") from None


def _checked(number: Decimal) -> Decimal:
    if not number.is_finite():
        raise ValueError(f"{number} is no decimal")
    if abs(number.adjusted()) + len(number.as_tuple().digits) > _MOST_DIGITS:
        raise ValueError(f"the number has more than {_MOST_DIGITS:,} digits")
    return abs(number) if not number and number.is_signed() else number


def _scale(scale: Any) -> int:
    if isinstance(scale, bool) or not isinstance(scale, int) or abs(scale) > _MOST_DIGITS:
        raise ValueError(f"the scale is {scale!r}; expected a whole number up to {_MOST_DIGITS:,}")
    return scale


def _of_two(operate: Callable[[Decimal, Decimal], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: _result(operate(_number(left), _number(right)))


def _of_one(operate: Callable[[Decimal], Any]) -> Callable[[Any], Any]:
    return lambda value: _result(operate(_number(value)))


def _result(value: Any) -> Any:
    return _checked(value) if isinstance(value, Decimal) else value


def _divided(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ZeroDivisionError("division by zero")
    return _DIVIDING.divide(left, right)


def _remainder(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ZeroDivisionError("division by zero")
    return _EXACT.remainder(left, right)


def _root(number: Decimal) -> Decimal:
    if number < 0:
        raise ValueError("a negative number has no square root")
    return _DIVIDING.sqrt(number)


def _rounded(rounding: str, value: Any, scale: Any = 0) -> Decimal:
    number = _number(value)
    return _checked(number.quantize(Decimal(1).scaleb(-_scale(scale), context=_EXACT), rounding, context=_EXACT))


def _truncated(value: Any, scale: Any = 0) -> Decimal:
    number = _number(value)
    exponent = number.as_tuple().exponent
    is_short = isinstance(exponent, int) and _scale(scale) >= -exponent
    return number if is_short else _rounded(decimal.ROUND_DOWN, number, scale)


def _sign(number: Decimal) -> int:
    return (number > 0) - (number < 0)


DECIMAL_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "decimal": _number,
    "decimals.eq": _of_two(lambda left, right: left == right),
    "decimals.lt": _of_two(lambda left, right: left < right),
    "decimals.le": _of_two(lambda left, right: left <= right),
    "decimals.gt": _of_two(lambda left, right: left > right),
    "decimals.ge": _of_two(lambda left, right: left >= right),
    "decimals.add": _of_two(_EXACT.add),
    "decimals.sub": _of_two(_EXACT.subtract),
    "decimals.mul": _of_two(_EXACT.multiply),
    "decimals.div": _of_two(_divided),
    "decimals.mod": _of_two(_remainder),
    "decimals.greatest": _of_two(max),
    "decimals.least": _of_two(min),
    "decimals.sqrt": _of_one(_root),
    "decimals.neg": _of_one(_EXACT.minus),
    "decimals.abs": _of_one(_EXACT.abs),
    "decimals.sign": _of_one(_sign),
    "decimals.round": partial(_rounded, decimal.ROUND_HALF_UP),
    "decimals.trunc": _truncated,
    "decimals.floor": _of_one(partial(_rounded, decimal.ROUND_FLOOR)),
    "decimals.ceil": _of_one(partial(_rounded, decimal.ROUND_CEILING)),
}
"""The functions of decimals by name."""
