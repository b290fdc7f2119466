"""The origin of each record: the headers that a bridge adds and reads back, and sets of offsets as intervals."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

# The headers that a bridge adds to a record, and how they are read back.
#
# A bridge keeps the headers of a record unchanged, with order, repeats and nulls, and adds its own after them. A record
# that several bridges copied has several of each; the last one is the last bridge's.

SOURCE: Final = "bridge.src"
"""The original: ``topic/partition/offset/timestamp/id``, the timestamp in milliseconds, the id that of the schema.

The timestamp is -1 with ``timestamp: now``; the id is absent where the value has no frame.
"""
PLAN: Final = "bridge.plan"
"""The first ``PLAN_DIGITS`` hexadecimal digits of the plan's hash."""
VIA: Final = "bridge.via"
"""The name of the bridge that wrote the record."""
ERROR: Final = "bridge.error"
"""The code of the reason why a record is a dead letter."""
ERROR_FIELD: Final = "bridge.error.field"
"""The field of the reason; empty when it concerns the whole value."""
ERROR_TEXT: Final = "bridge.error.text"
"""The reason as a sentence."""
REPLAY: Final = "bridge.replay"
"""The dead letter from which ``bridge replay`` made the record: ``topic/partition/offset``."""

TOO_LARGE: Final = "too-large"
"""The code of a record whose converted form is too large for the target topic; all other codes come from the engine."""

PLAN_DIGITS: Final = 16

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]] | None"
"""Headers in the form of confluent-kafka."""


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """The position of a record's original, its timestamp (-1: not kept), and the schema id in its frame, if any."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    writer_id: int | None = None

    def __str__(self) -> str:
        position = f"{self.topic}/{self.partition}/{self.offset}/{self.timestamp_ms}"
        return position if self.writer_id is None else f"{position}/{self.writer_id}"


def parse_origin(text: bytes | str | None) -> RecordOrigin | None:
    """Return the origin in a ``bridge.src`` header; None when it cannot be parsed.

    Bridges of earlier versions wrote the schema id to a header ``bridge.id`` of its own.

    >>> parse_origin(b"rides/3/42/1700000000000/7")
    RecordOrigin(topic='rides', partition=3, offset=42, timestamp_ms=1700000000000, writer_id=7)
    >>> parse_origin(b"elsewhere") is None
    True
    """
    spelt = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    parts = (spelt or "").split("/")
    try:
        topic, partition, offset, timestamp_ms, *writer_id = parts
        return RecordOrigin(topic, int(partition), int(offset), int(timestamp_ms), *map(int, writer_id))
    except (ValueError, TypeError):  # a part that is no number; too many parts
        return None


def last_value(headers: Headers, name: str) -> bytes | None:
    """Return the value of the last header called ``name``; None when there is none."""
    return next((value for key, value in reversed(headers or ()) if key == name), None)


def written_by(headers: Headers, *, bridge: str, topic: str) -> RecordOrigin | None:
    """Return the origin in ``topic`` of a record that ``bridge`` wrote; None for every other record."""
    if last_value(headers, VIA) != bridge.encode():
        return None
    origin = parse_origin(last_value(headers, SOURCE))
    return origin if origin is not None and origin.topic == topic else None


def is_echo(headers: Headers, *, target: str) -> bool:
    """Return whether a record was on the topic ``target`` before, so that a bridge to it must not copy it back."""
    prefix = f"{target}/".encode()
    return any(key == SOURCE and (value or b"").startswith(prefix) for key, value in headers or ())


def original_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    """Return the headers that a record had before the last bridge added its own."""
    own = list(headers or ())
    return own[: _place_of_source(own)]


def is_replayed(headers: Headers) -> bool:
    """Return whether the last bridge wrote the record by ``bridge replay``."""
    own = list(headers or ())
    return any(name == REPLAY for name, _ in own[_place_of_source(own) :])


def _place_of_source(own: list[tuple[str, bytes | None]]) -> int:
    """Return the place of the last ``bridge.src``, which begins the headers of the last bridge; else the end."""
    return next((place for place in range(len(own) - 1, -1, -1) if own[place][0] == SOURCE), len(own))


# Whether a converted record fits into the target; ``Envelope.java`` has the same rule for the records of a run.

RECORD_OVERHEAD_BYTES: Final = 120
"""The size of a batch of one record without key, value and headers: 61 bytes, lengths, deltas, and a reserve."""
HEADER_OVERHEAD_BYTES: Final = 10
OWN_HEADERS_BYTES: Final = 1024
"""An upper bound of the headers that a bridge adds: a topic name of 249 characters, a hash, numbers, names."""


def too_large(
    key: bytes | None, value: bytes, kept: Sequence[tuple[str, bytes | None]], *, largest: int | None
) -> str | None:
    """Return why a record does not fit into a topic whose ``max.message.bytes`` is ``largest``; None if it does.

    ``kept`` are the headers of the original. Its size is an upper bound of what the broker counts, uncompressed.
    """
    own = RECORD_OVERHEAD_BYTES + OWN_HEADERS_BYTES + len(key or b"") + len(value)
    size = own + sum(len(name.encode()) + len(text or b"") + HEADER_OVERHEAD_BYTES for name, text in kept)
    if largest is None or size <= largest:
        return None
    return f"the converted record takes about {size} bytes, and the target takes {largest}"


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
