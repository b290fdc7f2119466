"""Date patterns: how a date or a point in time is written.

The letters are those of Java's ``DateTimeFormatter``, limited to those for one number of fixed width:

=========================  ==========================================
``yyyy MM dd HH mm ss``    year, month, day, hour (0 to 23), minute, second
``SSS``, ``SSSSSS``        milliseconds, microseconds
``'…'``                    the text itself; ``''`` is one quote
anything but a letter      itself
=========================  ==========================================

Years are 1 to 9999. A zone is ``UTC``, an offset such as ``+05:30``, or a name of the time zone database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.evolution.errors import PlanError

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
