"""Two laid-out texts side by side: which lines belong together, and which words of them differ.

The steps are bounded by the product of the lines of both windows, of which each has at most five hundred.

Source: R. A. Wagner and M. J. Fischer, "The String-to-String Correction Problem", 1974, with weights of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from counterfoil.schema.rest.inspection import SourceLine

MOST_LINES: Final = 500
"""The lines of each side that are aligned; a page shows no more of them at once."""
_SAME_PLACE: Final = 1
_SAME_NAME: Final = 3
_SAME_TEXT: Final = 6
_NAMING_TOKENS: Final = 2


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a line, and whether the other side has it, too."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class LinePair:
    """A row of two texts side by side: a side without a line has None.

    ``sign`` is ``+``, ``-``, ``~`` for a changed line, or empty for equal ones. The parts are those of each side.
    """

    sign: str
    earlier: SourceLine | None
    later: SourceLine | None
    earlier_parts: tuple[LinePart, ...] = ()
    later_parts: tuple[LinePart, ...] = ()


def aligned_lines(earlier: Sequence[SourceLine], later: Sequence[SourceLine]) -> list[LinePair]:
    """Return the rows of two windows: lines of the same element or with the same text are in one row."""
    left, right = earlier[:MOST_LINES], later[:MOST_LINES]
    rows: list[LinePair] = []
    for one, other in _pairs(left, right):
        rows.append(_pair(None if one is None else left[one], None if other is None else right[other]))
    return rows


def line_text(line: SourceLine) -> str:
    """Return the text of a line."""
    return "".join(each.text for each in line.tokens)


def _pair(earlier: SourceLine | None, later: SourceLine | None) -> LinePair:
    if earlier is None or later is None:
        sign = "+" if earlier is None else "-"
        parts = tuple(() if each is None else (LinePart(line_text(each)),) for each in (earlier, later))
        return LinePair(sign, earlier, later, *parts)
    before, after = line_text(earlier), line_text(later)
    if before == after:
        return LinePair("", earlier, later, (LinePart(before),), (LinePart(after),))
    return LinePair("~", earlier, later, *_changed_parts(before, after))


def _changed_parts(before: str, after: str) -> tuple[tuple[LinePart, ...], tuple[LinePart, ...]]:
    """Return both texts in parts: what they begin and end with alike, and what is between."""
    most = min(len(before), len(after))
    first = next((at for at in range(most) if before[at] != after[at]), most)
    last = next((at for at in range(most - first) if before[-1 - at] != after[-1 - at]), most - first)
    first = _word_start(before, first)
    last = min(last, len(before) - first, len(after) - first)
    return _parts(before, first, len(before) - last), _parts(after, first, len(after) - last)


def _word_start(text: str, at: int) -> int:
    while at and text[at - 1].isalnum():
        at -= 1
    return at


def _parts(text: str, first: int, end: int) -> tuple[LinePart, ...]:
    found = (LinePart(text[:first]), LinePart(text[first:end], is_changed=True), LinePart(text[end:]))
    return tuple(each for each in found if each.text)


class LineKey(NamedTuple):
    """What lines are compared by: their text, the name that they declare, and the pointer of their element."""

    text: str
    name: str
    pointer: str


def _key(line: SourceLine) -> LineKey:
    said = [each.text for each in line.tokens if each.kind in {"name", "text", "word"}]
    return LineKey(line_text(line), " ".join(said[:_NAMING_TOKENS]), line.pointer)


def _pairs(left: Sequence[SourceLine], right: Sequence[SourceLine]) -> list[tuple[int | None, int | None]]:
    """Return the pairs of line indexes, with None for a line that only one side has, in the order of the texts."""
    mine, theirs = ([_key(each) for each in side] for side in (left, right))
    first = 0
    while first < min(len(mine), len(theirs)) and mine[first] == theirs[first]:
        first += 1
    last = 0
    while last < min(len(mine), len(theirs)) - first and mine[-1 - last] == theirs[-1 - last]:
        last += 1
    head: list[tuple[int | None, int | None]] = [(at, at) for at in range(first)]
    middle = _best_pairs(mine[first : len(mine) - last], theirs[first : len(theirs) - last])
    moved = [(None if a is None else a + first, None if b is None else b + first) for a, b in middle]
    tail = [(len(mine) - at, len(theirs) - at) for at in range(last, 0, -1)]
    return [*head, *moved, *tail]


def _best_pairs(mine: Sequence[LineKey], theirs: Sequence[LineKey]) -> list[tuple[int | None, int | None]]:
    scores = [[0] * (len(theirs) + 1)]
    for line in reversed(mine):
        below = scores[-1]
        row = [0] * (len(theirs) + 1)
        for at in range(len(theirs) - 1, -1, -1):
            weight = _weight(line, theirs[at])
            best = max(row[at + 1], below[at])
            row[at] = weight + below[at + 1] if weight and weight + below[at + 1] > best else best
        scores.append(row)
    scores.reverse()
    found: list[tuple[int | None, int | None]] = []
    one = other = 0
    while one < len(mine) and other < len(theirs):
        weight = _weight(mine[one], theirs[other])
        if weight and scores[one][other] == weight + scores[one + 1][other + 1]:
            found.append((one, other))
            one, other = one + 1, other + 1
        elif scores[one][other] == scores[one + 1][other]:
            found.append((one, None))
            one += 1
        else:
            found.append((None, other))
            other += 1
    found += [(at, None) for at in range(one, len(mine))]
    found += [(None, at) for at in range(other, len(theirs))]
    return found


def _weight(mine: LineKey, theirs: LineKey) -> int:
    """Return how well two lines fit: by their text, then by the name in them, then by the place of the element."""
    same_place = _SAME_PLACE if mine.pointer and mine.pointer == theirs.pointer else 0
    if mine.text == theirs.text:
        return _SAME_TEXT + same_place
    return _SAME_NAME + same_place if mine.name and mine.name == theirs.name else same_place
