"""Dates and points in time as text, and back.

A point in time is counted from 1970 in UTC and written in a zone; a local timestamp has no zone, and a date neither.
Parts that the pattern does not have are cut off (formatting) or zero (parsing). A local time that a zone skips is read
with the offset from before the gap; one that occurs twice is the earlier.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from counterfoil.schema.evolution.errors import ConversionError, FailureCode, shown
from counterfoil.schema.evolution.patterns import WIDTH_BY_LETTERS, zone_of
from counterfoil.schema.evolution.types import range_of, ticks_per_second

if TYPE_CHECKING:
    from counterfoil.schema.evolution.model import Format, Parse, Scalar
    from counterfoil.schema.evolution.patterns import Pattern

_MICROS_PER_SECOND: Final = 1_000_000
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime.fromordinal(_EPOCH_DAY)
_MICROSECOND: Final = timedelta(microseconds=1)


def is_local(scalar: Scalar) -> bool:
    """Return whether the type has no zone, so that a rule's zone has no effect."""
    return scalar.word == "date" or scalar.word.startswith("local-")


def format_instant(op: Format, value: int, field: str) -> str:
    """Return the number as text. Raises ``ConversionError`` ``format-failed`` outside the years 1 to 9999."""
    try:
        wall = _wall_clock(op, value)
    except (OverflowError, ValueError):
        text = f"{value} is not in the years 1 to 9999"
        raise ConversionError(FailureCode.FORMAT_FAILED, field, text) from None
    shown_by_letters = {
        "yyyy": f"{wall.year:04}",
        "MM": f"{wall.month:02}",
        "dd": f"{wall.day:02}",
        "HH": f"{wall.hour:02}",
        "mm": f"{wall.minute:02}",
        "ss": f"{wall.second:02}",
        "SSS": f"{wall.microsecond // 1000:03}",
        "SSSSSS": f"{wall.microsecond:06}",
    }
    return "".join(shown_by_letters[piece.letters] if piece.letters else piece.text for piece in op.pattern.pieces)


def _wall_clock(op: Format, value: int) -> datetime:
    if op.source.word == "date":
        return datetime.fromordinal(value + _EPOCH_DAY)
    micros = value * _MICROS_PER_SECOND // ticks_per_second(op.source)
    wall = _EPOCH + timedelta(microseconds=micros)
    if is_local(op.source):
        return wall
    return wall.replace(tzinfo=UTC).astimezone(zone_of(op.zone))


def parse_instant(op: Parse, text: str, field: str) -> int:
    """Return the number of a text. Raises ``ConversionError`` ``parse-failed`` or ``out-of-range``."""
    match = _expression(op.pattern).fullmatch(text)
    if match is None:
        raise ConversionError(FailureCode.PARSE_FAILED, field, f"{shown(text)} is not spelt {op.pattern.spelt}")
    parts = {letters: int(digits) for letters, digits in match.groupdict().items()}
    try:
        day = date(parts["yyyy"], parts["MM"], parts["dd"])
        micros = parts.get("SSS", 0) * 1000 + parts.get("SSSSSS", 0)
        wall = datetime.combine(day, time(parts.get("HH", 0), parts.get("mm", 0), parts.get("ss", 0), micros))
    except ValueError:
        raise ConversionError(FailureCode.PARSE_FAILED, field, f"{shown(text)} is no date that exists") from None
    return _number(op, wall, text, field)


def _number(op: Parse, wall: datetime, text: str, field: str) -> int:
    if op.target.word == "date":
        return wall.toordinal() - _EPOCH_DAY
    micros = (wall - _EPOCH) // _MICROSECOND
    if not is_local(op.target):
        offset = wall.replace(tzinfo=zone_of(op.zone)).utcoffset() or timedelta()
        micros -= offset // _MICROSECOND
    number = micros * ticks_per_second(op.target) // _MICROS_PER_SECOND
    low, high = range_of(op.target)
    if not low <= number <= high:
        raise ConversionError(FailureCode.OUT_OF_RANGE, field, f"{shown(text)} does not fit {op.target}")
    return number


@lru_cache(maxsize=64)
def _expression(pattern: Pattern) -> re.Pattern[str]:
    return re.compile(parse_expression_text(pattern))


def parse_expression_text(pattern: Pattern) -> str:
    """Return a regular expression for the texts of a pattern, with a group for each piece, named by its letters."""
    return "".join(
        f"(?P<{piece.letters}>[0-9]{{{WIDTH_BY_LETTERS[piece.letters]}}})" if piece.letters else re.escape(piece.text)
        for piece in pattern.pieces
    )
