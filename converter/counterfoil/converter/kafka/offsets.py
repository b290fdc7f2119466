"""Sets of Kafka offsets, stored as intervals: millions of consecutive offsets take two numbers."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class OffsetSet:
    """A set of offsets that is small for long runs; offsets can be added in nearly any order.

    Iterating yields the intervals ``(first, last)``, both inclusive, ascending and with a gap between any two.
    """

    __slots__ = ("_count", "_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._count = 0

    @classmethod
    def interval(cls, first: int, last: int) -> OffsetSet:
        """Return the offsets from ``first`` to ``last``, both included."""
        made = cls()
        if first <= last:
            made._firsts, made._lasts, made._count = [first], [last], last - first + 1
        return made

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._firsts, offset) - 1
        return place >= 0 and offset <= self._lasts[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetSet) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # a set that changes has no hash, as Python's own

    def __repr__(self) -> str:
        return f"OffsetSet({list(self)})"

    def add(self, offset: int) -> bool:
        """Add ``offset`` and return whether it is new."""
        if self._lasts and offset == self._lasts[-1] + 1:  # the usual case: the next offset
            self._lasts[-1] = offset
            self._count += 1
            return True
        if offset in self:
            return False
        self._insert(offset)
        self._count += 1
        return True

    def _insert(self, offset: int) -> None:
        place = bisect_right(self._firsts, offset)  # the interval after the offset
        joins_before = place > 0 and self._lasts[place - 1] == offset - 1
        joins_after = place < len(self._firsts) and self._firsts[place] == offset + 1
        if joins_before and joins_after:
            self._lasts[place - 1] = self._lasts.pop(place)
            del self._firsts[place]
        elif joins_before:
            self._lasts[place - 1] = offset
        elif joins_after:
            self._firsts[place] = offset
        else:
            self._firsts.insert(place, offset)
            self._lasts.insert(place, offset)
