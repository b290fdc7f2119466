"""How the offsets of a sample are read: in runs, each from an offset to another, several partitions at once."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.sampling.selection import Offsets, Range

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
