"""Moments and lengths of time that users name: a time in ISO 8601, an age such as ``36h``, a duration as ``PT1H``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_AGE: Final = re.compile(r"(\d{1,9})([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION: Final = re.compile(r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?")
_DURATION_S: Final = (604_800, 86_400, 3600, 60, 1)
FORMS: Final = "an age such as 36h or 7d, or a time such as 2026-01-31T12:00"
"""The forms in words, for messages."""


def read_moment_ms(text: str, *, now_s: float) -> int:
    """Return a moment in milliseconds since 1970; a time without a zone is in UTC.

    Raises ``ValueError`` for another text.

    >>> read_moment_ms("2h", now_s=10_000)
    2800000
    >>> read_moment_ms("1970-01-01T00:01", now_s=0)
    60000
    """
    age = _AGE.fullmatch(text)
    if age is not None:
        return int((now_s - int(age[1]) * _SECONDS[age[2]]) * 1000)
    return milliseconds_of(datetime.fromisoformat(text))


def milliseconds_of(moment: datetime) -> int:
    """Return a moment in milliseconds since 1970; one without a zone is in UTC."""
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def read_duration_ms(text: str) -> int:
    """Return the milliseconds of a duration in ISO 8601 without months and years, which have no fixed length.

    Raises ``ValueError`` for another text, and for a duration of nothing.

    >>> read_duration_ms("PT1H30M"), read_duration_ms("P1D")
    (5400000, 86400000)
    """
    found = _DURATION.fullmatch(text)
    parts = () if found is None else found.groups("0")
    seconds = sum(int(part) * each for part, each in zip(parts, _DURATION_S, strict=False))
    if not seconds:
        raise ValueError(f"{text!r} is no duration such as PT1H or P1D")
    return seconds * 1000
