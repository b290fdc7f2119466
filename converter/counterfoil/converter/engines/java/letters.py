"""Letters in upper and lower case as tables for Java: those of the Python that makes the class.

Python and Java may have other versions of Unicode, and Java looks for the end of a word by rules of its own. So the
class of a plan has the mappings of Python, and the two kinds of characters that decide about a Greek sigma.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

_FIRST_BEYOND_ASCII: Final = 0x80
_WITH_CASES: Final = 0x20000
"""No character from here on has another case; some are ignored behind a letter."""
_TAGS: Final = range(0xE0000, 0xE0200)
_SURROGATES: Final = range(0xD800, 0xE000)
_SIGMA: Final = "A\u03a3"


@dataclass(frozen=True)
class LetterTable:
    """The characters beyond ASCII with another case and what they become; ranges of cased and ignored characters."""

    points: tuple[int, ...]
    made: tuple[bytes, ...]
    cased: tuple[int, ...]
    ignored: tuple[int, ...]


@cache
def letter_table(*, is_upper: bool) -> LetterTable:
    """Return the table of the upper or the lower case; each range is its first and its last character."""
    turn: Callable[[str], str] = str.upper if is_upper else str.lower
    pairs = [(point, turn(chr(point))) for point in _points() if point >= _FIRST_BEYOND_ASCII]
    changed = [(point, made.encode()) for point, made in pairs if made != chr(point)]
    cased, ignored = ((), ()) if is_upper else (_ranges(_is_cased), _ranges(_is_ignored))
    return LetterTable(tuple(point for point, _ in changed), tuple(made for _, made in changed), cased, ignored)


def _points() -> Iterator[int]:
    yield from (point for point in range(_WITH_CASES) if point not in _SURROGATES)
    yield from _TAGS


def _is_cased(letter: str) -> bool:
    """Return whether a sigma before it is inside a word: by what Python makes of it."""
    return (_SIGMA + letter).lower()[1] == "\u03c3"


def _is_ignored(letter: str) -> bool:
    """Return whether the letter behind it decides about a sigma before it."""
    return not _is_cased(letter) and (_SIGMA + letter + "A").lower()[1] == "\u03c3"


def _ranges(is_one: Callable[[str], bool]) -> tuple[int, ...]:
    found: list[int] = []
    for point in _points():
        if not is_one(chr(point)):
            continue
        if found and found[-1] == point - 1:
            found[-1] = point
        else:
            found += (point, point)
    return tuple(found)
