"""Batches of records as lists, one for each part; where they come from does not matter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.contracts.records.topic import TopicRecord

    Headers = Sequence[tuple[str, bytes | None]] | None


@dataclass(slots=True)
class RecordBatch:
    """Records. A timestamp, in milliseconds, is None where there is none."""

    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int | None] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size_bytes(self) -> int:
        """The bytes of all keys and values."""
        return sum(map(len, filter(None, self.values))) + sum(map(len, filter(None, self.keys)))

    @classmethod
    def of_messages(cls, messages: Sequence[Any]) -> RecordBatch:
        """Return the batch of messages of confluent-kafka."""
        stamps = [each.timestamp() for each in messages]
        return cls(
            [each.partition() for each in messages],
            [each.offset() for each in messages],
            [moment if kind else None for kind, moment in stamps],
            [each.key() for each in messages],
            [each.value() for each in messages],
            [each.headers() for each in messages],
        )

    @classmethod
    def of_records(cls, records: Iterable[TopicRecord]) -> RecordBatch:
        """Return the batch of single records."""
        made = cls()
        for each in records:
            made.partitions.append(each.partition)
            made.offsets.append(each.offset)
            made.timestamps.append(each.timestamp_ms)
            made.keys.append(each.key)
            made.values.append(each.value)
            made.headers.append(each.headers or None)
        return made
