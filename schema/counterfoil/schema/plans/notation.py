"""How numbers, dates and points in time are written as text: one meaning for every engine."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.plans import PlanError

# Numbers as text, and text as numbers: one meaning for every engine.
#
# ==================  =====================================================================================
# text                after blanks, tabs, carriage returns and line feeds at both ends are cut off
# whole number        an optional sign and ASCII digits
# real number         an optional sign, digits with an optional point, an optional exponent; no NaN, no infinity
# float from text     the float nearest to the written number (not to its nearest double); half to even
# real to text        the shortest digits that name the value, rounded half up to the given decimals; no exponent,
#                     no ``-0.00``
# ==================  =====================================================================================

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


# Date patterns: how a date or a point in time is written.
#
# The letters are those of Java's ``DateTimeFormatter``, limited to those for one number of fixed width:
#
# =========================  ==========================================
# ``yyyy MM dd HH mm ss``    year, month, day, hour (0 to 23), minute, second
# ``SSS``, ``SSSSSS``        milliseconds, microseconds
# ``'…'``                    the text itself; ``''`` is one quote
# anything but a letter      itself
# =========================  ==========================================
#
# Years are 1 to 9999. A zone is ``UTC``, an offset such as ``+05:30``, or a name of the time zone database.

WIDTH_BY_LETTERS: Final = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2, "SSS": 3, "SSSSSS": 6}
DATE_LETTERS: Final = frozenset({"yyyy", "MM", "dd"})
_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")
_OFFSET: Final = re.compile(r"([+-])([01][0-9]):([0-5][0-9])")
_MAX_OFFSET_HOURS: Final = 18


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a pattern: a group of ``letters``, or literal ``text``."""

    letters: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed date pattern."""

    spelt: str
    pieces: tuple[Piece, ...]

    @property
    def letters(self) -> frozenset[str]:
        """The groups of letters that occur."""
        return frozenset(piece.letters for piece in self.pieces if piece.letters)

    @property
    def width(self) -> int:
        """The number of characters of every text of this pattern."""
        return sum(WIDTH_BY_LETTERS[piece.letters] if piece.letters else len(piece.text) for piece in self.pieces)


RFC3339: Final = Pattern("rfc3339", ())
"""The form of RFC 3339, which is no pattern: its fraction has any number of digits, and it has a zone."""


def parse_pattern(text: str, *, field: str) -> Pattern:
    """Parse a pattern; raise ``PlanError``, which names ``field`` and the invalid part."""
    pieces: list[Piece] = []
    place = 0
    while place < len(text):
        match = _PIECE.match(text, place)
        if match is None:
            raise PlanError(f"the pattern {text!r} has a quote that is not closed", field=field, expected="'…'")
        pieces.append(_piece(match, text, field=field))
        place = match.end()
    groups = [piece.letters for piece in pieces if piece.letters]
    if not groups:
        raise PlanError(f"the pattern {text!r} has no letters", field=field, expected="such as yyyy-MM-dd HH:mm:ss")
    twice = {letters for letters in groups if groups.count(letters) > 1}
    if twice or {"SSS", "SSSSSS"} <= set(groups):
        raise PlanError(f"the pattern {text!r} says one thing twice", field=field, expected="each group once")
    return Pattern(text, tuple(pieces))


def _piece(match: re.Match[str], text: str, *, field: str) -> Piece:
    if match[1] is not None:
        return Piece(text=match[1].replace("''", "'") if match[1] else "'")
    if match[2] is None:
        return Piece(text=match[0])
    if match[0] not in WIDTH_BY_LETTERS:
        raise PlanError(
            f"the pattern {text!r} has {match[0]!r}", field=field, expected=f"one of {' '.join(WIDTH_BY_LETTERS)}"
        )
    return Piece(letters=match[0])


def check_zone(text: str, *, field: str) -> str:
    """Return ``text`` if it names a time zone; raise ``PlanError`` otherwise."""
    try:
        zone_of(text)
    except (ValueError, OSError, KeyError):
        raise PlanError(
            f"{text!r} is no time zone", field=field, expected="UTC, an offset such as +05:30, or such as Europe/Paris"
        ) from None
    return text


@cached_if_short(64, longest=100)
def zone_of(text: str) -> tzinfo:
    """Return the time zone that ``text`` names. Raises ``ValueError`` or ``KeyError``."""
    offset = offset_minutes(text)
    if offset is not None:
        return timezone(timedelta(minutes=offset))
    if "/" not in text or text != text.strip("/"):
        raise ValueError(text)
    return ZoneInfo(text)


def offset_minutes(zone: str) -> int | None:
    """Return how far a fixed zone is ahead of UTC; None for a zone whose offset changes."""
    if zone in {"UTC", "Z"}:
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    if minutes > _MAX_OFFSET_HOURS * 60:
        raise ValueError(zone)
    return -minutes if match[1] == "-" else minutes
