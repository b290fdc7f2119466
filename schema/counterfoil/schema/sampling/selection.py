"""The offsets of a sample, chosen from the bounds of a topic's partitions."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Range: TypeAlias = tuple[int, int]
"""The first offset, and the one after the last."""
Bounds: TypeAlias = Mapping[int, Range]
"""The offsets that each partition has."""
Offsets: TypeAlias = Mapping[int, tuple[Range, ...]]
"""The offsets of a sample by partition: ranges that do not overlap, ascending, none of them empty."""

_SPOTS: Final = 5


class Strategy(StrEnum):
    """Which records of a topic a sample consists of.

    ``SPREAD`` takes the oldest and the newest of every partition and ranges between them. ``RANDOM`` takes every record
    with the same probability, independently of its neighbours, which is what statements about all records need.
    """

    NEWEST = "newest"
    OLDEST = "oldest"
    SPREAD = "spread"
    RANDOM = "random"
    ALL = "all"


def choose_offsets(bounds: Bounds, strategy: Strategy, *, limit: int, seed: int = 0) -> Offsets:
    """Return at most ``limit`` offsets of a topic, which is without effect for ``ALL``.

    An offset may have no record: it was removed by compaction, or belongs to a transaction. ``seed`` decides about
    ``SPREAD`` and ``RANDOM``.

    >>> choose_offsets({0: (0, 10), 1: (5, 7)}, Strategy.NEWEST, limit=6)
    {0: ((6, 10),), 1: ((5, 7),)}
    """
    known = {number: each for number, each in sorted(bounds.items()) if each[0] < each[1]}
    match strategy:
        case Strategy.ALL:
            return {number: (each,) for number, each in known.items()}
        case Strategy.SPREAD:
            return _spread(known, limit, seed)
        case Strategy.RANDOM:
            return _random(known, limit, seed)
    shares = _shares({number: end - first for number, (first, end) in known.items()}, limit)
    if strategy is Strategy.NEWEST:
        return {number: ((known[number][1] - share, known[number][1]),) for number, share in shares.items() if share}
    return {number: ((known[number][0], known[number][0] + share),) for number, share in shares.items() if share}


def _shares(sizes: Mapping[int, int], limit: int) -> dict[int, int]:
    """Return how many offsets each partition contributes: equally many, and more where others have too few."""
    shares = {}
    rest = limit
    for place, number in enumerate(sorted(sizes, key=lambda each: (sizes[each], each))):
        shares[number] = min(sizes[number], rest // (len(sizes) - place))
        rest -= shares[number]
    return {number: shares[number] for number in sizes}


def _spread(bounds: Bounds, limit: int, seed: int) -> Offsets:
    chooser = random.Random(seed)  # noqa: S311 - a sample, not a secret
    chunk = max(1, limit // (len(bounds) * _SPOTS)) if bounds else 1
    return {number: _spots(first, end, chunk, chooser) for number, (first, end) in bounds.items()}


def _spots(first: int, end: int, chunk: int, chooser: random.Random) -> tuple[Range, ...]:
    """Return ranges of at most ``chunk`` offsets: the first ones, the last ones, and some between them."""
    newest = max(first, end - chunk)
    starts = sorted({first, newest, *(chooser.randint(first, newest) for _ in range(_SPOTS - 2))})
    return tuple(
        (start, min(start + chunk, following)) for start, following in zip(starts, [*starts[1:], end], strict=True)
    )


def _random(bounds: Bounds, limit: int, seed: int) -> Offsets:
    numbers = list(bounds)
    ends = list(accumulate(end - first for first, end in bounds.values()))
    total = ends[-1] if ends else 0
    found: dict[int, list[Range]] = {}
    for place in sorted(random.Random(seed).sample(range(total), min(limit, total))):  # noqa: S311 - a sample, not a secret
        at = bisect_right(ends, place)
        number = numbers[at]
        offset = bounds[number][1] - (ends[at] - place)
        found.setdefault(number, []).append((offset, offset + 1))
    return {number: _joined(each) for number, each in found.items()}


def _joined(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Return ascending ranges with those joined that touch one another."""
    joined: list[Range] = []
    for first, end in ranges:
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((first, end))
    return tuple(joined)
