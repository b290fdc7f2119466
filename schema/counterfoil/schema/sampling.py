"""Bounded samples of a topic: since when, which offsets, how they are read, what they say about all records."""

from __future__ import annotations

import math
import random
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

# Moments and lengths of time that users name: a time in ISO 8601, an age such as ``36h``, a duration as ``PT1H``.

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


# The offsets of a sample, chosen from the bounds of a topic's partitions.

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


# How the offsets of a sample are read: in runs, each from an offset to another, several partitions at once.

_READ_THROUGH: Final = 3_000
"""A gap of so many offsets is read and dropped, which takes less time than a new request at the other end of it."""


class Turn(NamedTuple):
    """One reading: a ``span`` for each partition, and which of its offsets are wanted."""

    spans: dict[int, Range]
    wanted: dict[int, tuple[Range, ...]]

    def takes(self, partition: int, offset: int) -> bool:
        """Return whether an offset within the spans belongs to the sample."""
        ranges = self.wanted[partition]
        return len(ranges) == 1 or takes(ranges, offset)


def takes(ranges: Sequence[Range], offset: int) -> bool:
    """Return whether an offset is in one of ascending ranges.

    >>> [takes([(0, 2), (5, 6)], offset) for offset in (1, 2, 5)]
    [True, False, True]
    """
    place = bisect_right(ranges, (offset, 2**63)) - 1
    return place >= 0 and offset < ranges[place][1]


def turns_of(offsets: Offsets) -> Iterator[Turn]:
    """Yield the turns in which the offsets are read."""
    runs_by_partition = {number: list(_runs(ranges)) for number, ranges in offsets.items() if ranges}
    for turn in range(max(map(len, runs_by_partition.values()), default=0)):
        wanted = {number: runs[turn] for number, runs in runs_by_partition.items() if turn < len(runs)}
        yield Turn({number: (ranges[0][0], ranges[-1][1]) for number, ranges in wanted.items()}, wanted)


def _runs(ranges: Sequence[Range]) -> Iterator[tuple[Range, ...]]:
    """Yield ranges that are near one another together."""
    run: list[Range] = []
    for each in ranges:
        if run and each[0] - run[-1][1] > _READ_THROUGH:
            yield tuple(run)
            run = []
        run.append(each)
    yield tuple(run)


# What a random sample says about all records.
#
# Source: the rule of three (Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 1983), and
# for samples with failures the upper limit of Wilson's score interval.

_THREE: Final = 3.0
_Z_95: Final = 1.6448536269514722
"""The standard normal quantile of a one-sided limit at 95 %."""


def share_at_most(failing: int, records: int) -> float:
    """Return the share of all records that fail at most, at 95 % confidence, if ``failing`` of ``records`` did.

    The records must be a random sample.

    >>> share_at_most(0, 1000)
    0.003
    >>> round(share_at_most(10, 1000), 4)
    0.0167
    """
    if not records:
        return 1.0
    if not failing:
        return min(1.0, _THREE / records)
    share, square = failing / records, _Z_95**2
    middle = share + square / (2 * records)
    spread = _Z_95 * math.sqrt(share * (1 - share) / records + square / (4 * records**2))
    return min(1.0, (middle + spread) / (1 + square / records))
