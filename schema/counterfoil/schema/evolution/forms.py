"""Values that have a form as text: points in time and dates as JSON writes them, and bytes as base64.

======================  ==============================================================================================
``date-time``           RFC 3339: ``2026-01-31T12:00:00.5+01:00``. Written in UTC with ``Z``, without final zeros of the
                        fraction. Read with any offset; ``parse-failed`` for other texts, for leap seconds, and for
                        a fraction with more digits than the unit has
``full-date``           ``2026-01-31``; ``parse-failed`` for other texts
``base64``              RFC 4648, with padding; ``parse-failed`` for other texts
======================  ==============================================================================================

Years are 1 to 9999; ``format-failed`` for others.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.evolution.errors import FailureCode, shown
from counterfoil.schema.evolution.types import ticks_per_second

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.evolution.model import Scalar

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
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


def form_function(source: Scalar, target: Scalar) -> Callable[[Any], Any] | None:
    """Return the function from one form to the other, which raises ``NoForm``; None if they are no two forms."""
    if source.word == "date-time":
        return lambda text: instant_of_text(text, ticks_per_second(target))
    if target.word == "date-time":
        return _checked_date_time if source.base == "string" else lambda ticks: _date_time(ticks, source)
    if source.word == "full-date":
        return day_of_text
    if target.word == "full-date":
        return _checked_full_date if source.base == "string" else _full_date
    if source.word == "base64":
        return _bytes
    if target.word == "base64":
        return _checked_base64 if source.base == "string" else lambda value: b64encode(value).decode()
    return None


def instant_of_text(text: str, ticks: int) -> int:
    """Return an RFC 3339 text as a number of units since 1970, ``ticks`` of them in a second."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise _unreadable(text, "a date and time such as 2026-01-31T12:00:00Z")
    day, hour, minute, second, fraction, sign, hours, minutes = match.groups()
    try:
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        wall = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second}").replace(tzinfo=timezone(offset))
    except ValueError:
        raise _unreadable(text, "a date and time that exist") from None
    digits = len(str(ticks)) - 1
    given = (fraction or "").rstrip("0")
    if len(given) > digits:
        raise _unreadable(text, f"at most {digits} digits after the second")
    return (wall - _EPOCH) // timedelta(seconds=1) * ticks + int(given.ljust(digits, "0") or 0)


def _date_time(value: int, source: Scalar) -> str:
    ticks = ticks_per_second(source)
    seconds, rest = divmod(value, ticks)
    try:
        wall = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise _out_of_years(value) from None
    fraction = str(rest).rjust(len(str(ticks)) - 1, "0").rstrip("0")
    return f"{wall:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + (f".{fraction}Z" if fraction else "Z")


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
