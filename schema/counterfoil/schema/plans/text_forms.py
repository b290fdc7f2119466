"""Values that have a form as text: dates and points in time, in JSON and by a pattern, and bytes as base64."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import ConversionError, FailureCode, shown
from counterfoil.schema.plans.model import Format, Parse, Rounding, Scalar
from counterfoil.schema.plans.notation import WIDTH_BY_LETTERS, Pattern, zone_of
from counterfoil.schema.plans.rounding import rounded_ratio
from counterfoil.schema.plans.types import range_of, ticks_per_second

# Dates and points in time as text, and back.
#
# A point in time is counted from 1970 in UTC and written in a zone; a local timestamp has no zone, and a date neither.
# Parts that the pattern does not have are cut off (formatting) or zero (parsing). A local time that a zone skips is
# read with the offset from before the gap; one that occurs twice is the earlier.

_MICROS_PER_SECOND: Final = 1_000_000
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LOCAL_EPOCH: Final = datetime.fromordinal(_EPOCH_DAY)
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
    wall = _LOCAL_EPOCH + timedelta(microseconds=micros)
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
    micros = (wall - _LOCAL_EPOCH) // _MICROSECOND
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


# Values that have a form as text: points in time and dates as JSON writes them, and bytes as base64.
#
# ======================  ==============================================================================================
# ``date-time``           RFC 3339: ``2026-01-31T12:00:00.5+01:00``. Written in UTC with ``Z``, without final zeros of
#                         the fraction. Read with any offset; ``parse-failed`` for other texts, for leap seconds, and
#                         for a fraction with more digits than the unit has
# ``full-date``           ``2026-01-31``; ``parse-failed`` for other texts
# ``base64``              RFC 4648, with padding; ``parse-failed`` for other texts
# ======================  ==============================================================================================
#
# Years are 1 to 9999; ``format-failed`` for others.

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_FULL_DATE: Final = re.compile(_DATE)
_DATE_TIME: Final = re.compile(
    rf"({_DATE})[Tt]([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{{2}}):([0-5][0-9]))"
)


class NoForm(Exception):
    """A value that the other form does not have: the code and the sentence."""

    def __init__(self, code: FailureCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def form_function(
    source: Scalar, target: Scalar, *, rounding: Rounding | None = None, zone: str | None = None
) -> Callable[[Datum], Datum] | None:
    """Return the function from one form to the other, which raises ``NoForm``; None if they are no two forms.

    ``rounding`` is that of the digits of a ``date-time`` that a unit has not, which are refused without it. ``zone`` is
    the one in which a ``date-time`` is written, if not UTC.
    """
    if source.word == "date-time":
        return lambda text: instant_of_text(text, ticks_per_second(target), rounding, target)
    if target.word == "date-time":
        return _checked_date_time if source.base == "string" else lambda ticks: _date_time(ticks, source, zone)
    if source.word == "full-date":
        return day_of_text
    if target.word == "full-date":
        return _checked_full_date if source.base == "string" else _full_date
    if source.word == "base64":
        return _bytes
    if target.word == "base64":
        return _checked_base64 if source.base == "string" else lambda value: b64encode(value).decode()
    return None


def instant_of_text(text: str, ticks: int, rounding: Rounding | None = None, target: Scalar | None = None) -> int:
    """Return an RFC 3339 text as a number of units since 1970, ``ticks`` of them in a second, within ``target``."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise _unreadable(text, "a date and time such as 2026-01-31T12:00:00Z")
    day, hour, minute, second, fraction, sign, hours, minutes = match.groups()
    try:
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        wall = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second}").replace(tzinfo=timezone(offset))
    except ValueError:
        raise _unreadable(text, "a date and time that exist") from None
    whole = (wall - _EPOCH) // timedelta(seconds=1) * ticks
    number = whole + _fraction(text, (fraction or "").rstrip("0"), ticks, rounding, is_negative=whole < 0)
    low, high = (number, number) if target is None or target.is_wide else range_of(target)
    if not low <= number <= high:
        raise NoForm(FailureCode.OUT_OF_RANGE, f"{shown(text)} does not fit {target}")
    return number


def _fraction(text: str, given: str, ticks: int, rounding: Rounding | None, *, is_negative: bool) -> int:
    """Return the units of the digits after the second; those that a unit has not are rounded, or refused."""
    digits = len(str(ticks)) - 1
    if len(given) <= digits:
        return int(given.ljust(digits, "0") or 0)
    if rounding is None:
        raise _unreadable(text, f"at most {digits} digits after the second")
    kept, rest = int(given[:digits] or 0), given[digits:].ljust(2, "0")
    sticky = int(rest[0]) * 10 + (1 if rest[1:].strip("0") else 0)  # what is behind the first digit only breaks ties
    base = -2 * ticks if is_negative else 0  # an even number of units with the sign of the whole
    made = rounded_ratio((base + kept) * 100 + sticky, 100, rounding)
    return kept if made is None else made - base


def _date_time(value: int, source: Scalar, zone: str | None = None) -> str:
    ticks = ticks_per_second(source)
    seconds, rest = divmod(value, ticks)
    try:
        wall = _EPOCH + timedelta(seconds=seconds)
        wall = wall if zone is None else wall.astimezone(zone_of(zone))
    except (OverflowError, ValueError):
        raise _out_of_years(value) from None
    offset = "Z" if zone is None else _offset_text(wall, value)
    fraction = str(rest).rjust(len(str(ticks)) - 1, "0").rstrip("0")
    return f"{wall:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + (f".{fraction}" if fraction else "") + offset


def _offset_text(wall: datetime, value: int) -> str:
    """Return the offset of a clock as RFC 3339 writes it, which has no seconds."""
    seconds = int((wall.utcoffset() or timedelta()).total_seconds())
    minutes, rest = divmod(abs(seconds), 60)
    if rest:
        problem = f"{value} is at a time when the clock of the zone was ahead by a part of a minute"
        raise NoForm(FailureCode.FORMAT_FAILED, problem)
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


def day_of_text(text: str) -> int:
    """Return a text such as ``2026-01-31`` as the number of days since 1970."""
    try:
        if _FULL_DATE.fullmatch(text):
            return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    except ValueError:
        pass
    raise _unreadable(text, "a date that exists, such as 2026-01-31")


def _full_date(day: int) -> str:
    try:
        return date.fromordinal(day + _EPOCH_DAY).isoformat()
    except (ValueError, OverflowError):
        raise _out_of_years(day) from None


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NoBase64, ValueError):
        raise _unreadable(text, "base64 with padding") from None


def _checked_date_time(text: str) -> str:
    instant_of_text(text, 10**9)
    return text


def _checked_full_date(text: str) -> str:
    day_of_text(text)
    return text


def _checked_base64(text: str) -> str:
    _bytes(text)
    return text


def _unreadable(text: str, expected: str) -> NoForm:
    return NoForm(FailureCode.PARSE_FAILED, f"{shown(text)} is not {expected}")


def _out_of_years(value: int) -> NoForm:
    return NoForm(FailureCode.FORMAT_FAILED, f"{value} is not in the years 1 to 9999")
