"""Offsets: sets of them as intervals, the consumer group that commits them, and requests that are repeated."""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# The consumer group in which a bridge commits the offsets of its source.


def group_of(bridge: str) -> str:
    """Return the group of a bridge; tools that measure the lag of groups find its offsets there."""
    return f"counterfoil-bridge-{bridge}"


# Sets of Kafka offsets, stored as intervals: millions of consecutive offsets take two numbers.


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


# Requests to the broker that are repeated while it is not ready for them.

_PAUSE_S = 0.1


def repeated(call: Callable[[], Any], *, deadline_s: float) -> Any:
    """Return the result of ``call``; repeat it for ``deadline_s`` seconds while its errors are passing ones.

    Raises ``KafkaException``. A coordinator or a leader of a partition that is being elected, or is loading its log, is
    such an error: the client marks only those of producers so.
    """
    from confluent_kafka import KafkaError, KafkaException

    passing = (
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError._WAIT_COORD,  # noqa: SLF001 - the client's own name
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
    )
    deadline = time.monotonic() + deadline_s
    while True:
        try:
            return call()
        except KafkaException as failure:
            error = failure.args[0]
            if not (error.retriable() or error.code() in passing) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)


def committed(consumer: Any, partitions: list[Any], *, deadline_s: float) -> list[Any]:
    """Return the offsets that a consumer's group has committed, negative where there is none.

    Raises ``KafkaException``, also if the broker refuses one partition only: its records would else be written again.
    """
    from confluent_kafka import KafkaException

    def ask() -> list[Any]:
        found: list[Any] = consumer.committed(partitions, timeout=deadline_s)
        for each in found:
            if each.error is not None:
                raise KafkaException(each.error)
        return found

    answer: list[Any] = repeated(ask, deadline_s=deadline_s)
    return answer
