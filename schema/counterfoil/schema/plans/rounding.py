"""Rounding by a stated rule: of the ratio of two whole numbers, and of exact numbers to a number of decimals."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Final

from counterfoil.schema.plans.model import Rounding

EXACT_CONTEXT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""The context in which no operation on decimals rounds."""
_DECIMAL_MODE: Final[Mapping[Rounding, str]] = {
    Rounding.EXACT: decimal.ROUND_FLOOR,
    Rounding.FLOOR: decimal.ROUND_FLOOR,
    Rounding.CEILING: decimal.ROUND_CEILING,
    Rounding.DOWN: decimal.ROUND_DOWN,
    Rounding.UP: decimal.ROUND_UP,
    Rounding.HALF_UP: decimal.ROUND_HALF_UP,
    Rounding.HALF_DOWN: decimal.ROUND_HALF_DOWN,
    Rounding.HALF_EVEN: decimal.ROUND_HALF_EVEN,
}


def rounded_ratio(numerator: int, denominator: int, rounding: Rounding) -> int | None:
    """Return the whole number that a ratio is rounded to; None if it is not whole and ``rounding`` is exact.

    The denominator is positive. ``down`` is toward zero, ``up`` away from it, and ties are those of the nearest two.

    >>> rounded_ratio(-15, 10, Rounding.HALF_UP), rounded_ratio(-15, 10, Rounding.HALF_EVEN)
    (-2, -2)
    """
    below, rest = divmod(numerator, denominator)
    if not rest:
        return below
    if rounding is Rounding.EXACT:
        return None
    return below + _is_upwards(below, 2 * rest - denominator, rounding)


def _is_upwards(below: int, beyond_half: int, rounding: Rounding) -> bool:
    """Return whether the larger neighbour is taken; ``beyond_half`` is 0 for a tie."""
    is_negative = below < 0
    match rounding:
        case Rounding.CEILING:
            return True
        case Rounding.DOWN:
            return is_negative
        case Rounding.UP:
            return not is_negative
        case Rounding.HALF_UP | Rounding.HALF_DOWN | Rounding.HALF_EVEN if beyond_half:
            return beyond_half > 0
        case Rounding.HALF_UP:
            return not is_negative
        case Rounding.HALF_DOWN:
            return is_negative
        case Rounding.HALF_EVEN:
            return below % 2 == 1
    return False


def rounded_decimal(number: Decimal, decimals: int, rounding: Rounding) -> Decimal | None:
    """Return a number with so many decimals, without a sign if that makes it zero; None as for a ratio."""
    made = number.quantize(Decimal(1).scaleb(-decimals), _DECIMAL_MODE[rounding], context=EXACT_CONTEXT)
    if rounding is Rounding.EXACT and made != number:
        return None
    return made or abs(made)
