"""Numbers as text, and text as numbers: one meaning for every engine.

==================  =====================================================================================
text                after blanks, tabs, carriage returns and line feeds at both ends are cut off
whole number        an optional sign and ASCII digits
real number         an optional sign, digits with an optional point, an optional exponent; no NaN, no infinity
float from text     the float nearest to the written number (not to its nearest double); half to even
real to text        the shortest digits that name the value, rounded half up to the given decimals; no exponent,
                    no ``-0.00``
==================  =====================================================================================
"""

from __future__ import annotations

import math
import re
import struct
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Final

BLANKS: Final = " \t\r\n"
WHOLE_PATTERN: Final = r"[+-]?[0-9]+"
REAL_PATTERN: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
MAX_DECIMALS: Final = 18
MAX_NUMBER_LENGTH: Final = 400
INT_RANGE: Final = (-(2**31), 2**31 - 1)
LONG_RANGE: Final = (-(2**63), 2**63 - 1)
UINT32_RANGE: Final = (0, 2**32 - 1)
UINT64_RANGE: Final = (0, 2**64 - 1)
NANOS_RANGE: Final = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1
"""The nanoseconds since 1970 of the years 1 to 9999."""

_WHOLE: Final = re.compile(WHOLE_PATTERN)
_REAL: Final = re.compile(REAL_PATTERN)
_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_TIE_MASK: Final = (1 << 29) - 1  # the bits of a double's fraction that a float does not have
_TIE: Final = 1 << 28
_MAX_FLOAT_DIGITS: Final = 9
_WIDE: Final = Context(prec=2000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def whole_of_text(text: str) -> int | None:
    """Return the whole number in ``text``, of any size; None when it is not a whole number."""
    cut = text.strip(BLANKS)
    return int(cut) if len(cut) <= MAX_NUMBER_LENGTH and _WHOLE.fullmatch(cut) else None


def double_of_text(text: str) -> float | None:
    """Return the double nearest to the number in ``text``, infinite beyond its range; None when it is not a number."""
    cut = text.strip(BLANKS)
    return float(cut) if len(cut) <= MAX_NUMBER_LENGTH and _REAL.fullmatch(cut) else None


def float_of_text(text: str) -> float | None:
    """Return the float nearest to the number in ``text``, infinite beyond its range; None when it is not a number."""
    cut = text.strip(BLANKS)
    near = double_of_text(cut)
    if near is None:
        return None
    if not _is_tie(near):
        return nearest_float(near)
    return _float_beside_tie(near, Fraction(cut.lower()))


def float_of_whole(value: int) -> float:
    """Return the float nearest to a whole number of 64 bits."""
    near = float(value)
    return _float_beside_tie(near, Fraction(value)) if _is_tie(near) else nearest_float(near)


def nearest_float(value: float) -> float:
    """Return the float nearest to a double, half to even; infinite beyond its range."""
    try:
        found: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return found


def _is_tie(value: float) -> bool:
    """Return whether the double is exactly between two floats, so that the digits that were rounded off decide."""
    if not math.isfinite(value) or value == 0:
        return False
    if abs(value) < 2.0**-125:  # floats below are evenly spaced: compare exactly
        return True
    bits: int = int.from_bytes(_DOUBLE.pack(value), "little")
    return bits & _TIE_MASK == _TIE


def _float_beside_tie(near: float, exact: Fraction) -> float:
    """Return the float nearest to ``exact``, when ``near`` is the double nearest to it."""
    if exact == Fraction(near):
        return nearest_float(near)
    toward = math.inf if exact > Fraction(near) else -math.inf
    return nearest_float(math.nextafter(near, toward))


def text_of_real(value: float, decimals: int, *, is_float: bool) -> str | None:
    """Return a number with ``decimals`` digits after the point; None for NaN and infinities.

    >>> text_of_real(2.675, 2, is_float=False), text_of_real(9.300000190734863, 2, is_float=True)
    ('2.68', '9.30')
    """
    if isinstance(value, int):  # of any size
        return f"{value}.{'0' * decimals}" if decimals else str(value)
    if not math.isfinite(value):
        return None
    digits = Decimal(shortest_float_text(value) if is_float else repr(value))
    rounded = digits.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, context=_WIDE)
    return f"{abs(rounded) if rounded == 0 else rounded:f}"


def shortest_float_text(value: float) -> str:
    """Return the shortest digits that identify a float."""
    for digits in range(1, _MAX_FLOAT_DIGITS):
        text = f"{value:.{digits}g}"
        if nearest_float(float(text)) == value:
            return text
    return f"{value:.{_MAX_FLOAT_DIGITS}g}"


def exact_decimal(text: str) -> Decimal | None:
    """Return exactly the number in ``text``; None when it is not a number."""
    cut = text.strip(BLANKS)
    if len(cut) > MAX_NUMBER_LENGTH or not _REAL.fullmatch(cut):
        return None
    return Decimal(cut, context=_EXACT)
