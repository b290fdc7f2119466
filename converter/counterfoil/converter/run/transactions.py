"""Records and the offsets of their originals, written to Kafka in the same transactions.

A task of Spark has the records of one source partition, in order; if it has those of several, they are written one
partition after the other. It writes them with a transactional producer whose id names the bridge and the partition, so
that the broker refuses an earlier producer of the same partition (another driver, or a task that a crash left behind).
The offset after the last record of a transaction is committed with it, in
the bridge's consumer group, and a task leaves out records below the committed offset. So a record is
visible exactly once to consumers that read committed records, whatever was killed and whatever is repeated.

The protocol is that of Kafka's KIP-98 and KIP-447; the group has no members and is used for its offsets alone.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.converter.kafka.groups import group_of
from counterfoil.converter.kafka.requests import committed, repeated
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyarrow import RecordBatch

RESULT_TYPE: Final = "partition int, written long, skipped string, failure string"
"""What a task returns for a source partition, as Spark's DDL spells it.

``skipped`` are counts of the records that were committed before, as JSON, by their kind (:func:`kind_of`); ``failure``
is null if there is none.
"""

CONVERTED: Final = "converted"
TOMBSTONE: Final = "tombstone"

_RECORDS: Final = 20_000
_LONGEST_S: Final = 10.0
"""A transaction is committed after this many records or seconds; readers of committed records wait that long."""


class Outgoing(NamedTuple):
    """A record to write, and the place of its original. ``partition`` None: Kafka's partitioner chooses by the key."""

    source_partition: int
    source_offset: int
    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp_ms: int
    problem_code: str | None = None


def kind_of(record: Outgoing) -> str:
    """Return the code of a dead letter, or ``CONVERTED`` or ``TOMBSTONE``."""
    return record.problem_code or (TOMBSTONE if record.value is None else CONVERTED)


COLUMNS: Final = Outgoing._fields
"""The columns of the data frame that tasks write."""


@dataclass(frozen=True)
class WriteTask:
    """The function that writes the records of one task; it is sent to executors, so it has plain values only.

    ``client`` are settings of confluent-kafka; ``deadline_s`` limits each request of the protocol, with its repeats.
    The broker aborts a transaction that is open for longer than ``timeout_ms``, such as one of a killed task.
    """

    client: Mapping[str, Any]
    bridge: str
    source_topic: str
    deadline_s: float = 60.0
    timeout_ms: int = 60_000

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        """Write the records, and yield a row of ``RESULT_TYPE`` for each source partition; end after a failure."""
        import pyarrow as pa

        types = (pa.int32(), pa.int64(), pa.string(), pa.string())
        names = [each.split()[0] for each in RESULT_TYPE.split(", ")]
        for partition, records in groupby(_records(batches), key=attrgetter("source_partition")):
            row = self.write(partition, records)
            yield pa.RecordBatch.from_arrays(
                [pa.array([value], type=kind) for value, kind in zip(row, types, strict=True)], names=names
            )
            if row[-1] is not None:
                return

    def write(self, partition: int, records: Iterable[Outgoing]) -> tuple[int, int, str, str | None]:
        """Write records of one source partition, and return a row of ``RESULT_TYPE``."""
        from confluent_kafka import KafkaException

        transactions, failure = _Transactions(self, partition), None
        try:
            transactions.prepare()
            for record in records:
                transactions.write(record)
            transactions.commit()
        except KafkaException as error:
            failure = transactions.explained(error.args[0])
        finally:
            transactions.close()
        return partition, transactions.written, json.dumps(transactions.skipped), failure


def _records(batches: Iterable[RecordBatch]) -> Iterator[Outgoing]:
    for batch in batches:
        columns = [
            _headers(batch.column(name)) if name == "headers" else batch.column(name).to_pylist() for name in COLUMNS
        ]
        yield from map(Outgoing._make, zip(*columns, strict=True))


def _headers(column: Any) -> list[list[tuple[str, bytes | None]]]:
    """Return the headers of each record, from an array of lists of structs with ``key`` and ``value``."""
    every = column.values
    pairs = list(zip(every.field("key").to_pylist(), every.field("value").to_pylist(), strict=True))
    ends = column.offsets.to_pylist()
    return [pairs[first:end] for first, end in pairwise(ends)]


class _Transactions:
    """The transactions of one source partition. Raises ``KafkaException``."""

    def __init__(self, task: WriteTask, partition: int) -> None:
        self.written = 0
        self.skipped: Counter[str] = Counter()
        self._task = task
        self._partition = partition
        self._next_offset = 0
        self._in_transaction = 0
        self._is_open = False
        self._begun = 0.0
        self._producer: Any = None
        self._consumer: Any = None

    def prepare(self) -> None:
        """End what an earlier producer of this partition left open, and find the offset that it had committed."""
        from confluent_kafka import Consumer, Producer, TopicPartition

        task = self._task
        self._producer = Producer(
            {
                **task.client,
                "transactional.id": f"counterfoil-bridge-{task.bridge}-{task.source_topic}-{self._partition}",
                "transaction.timeout.ms": task.timeout_ms,
                "partitioner": "murmur2_random",
                "compression.type": "lz4",
                "linger.ms": 20,
                "queue.buffering.max.kbytes": 1 << 18,
            }
        )
        self._request(lambda: self._producer.init_transactions(task.deadline_s))
        self._consumer = Consumer(
            {
                **{name: value for name, value in task.client.items() if name != "message.max.bytes"},
                "group.id": group_of(task.bridge),
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        wanted = [TopicPartition(task.source_topic, self._partition)]
        (found,) = committed(self._consumer, wanted, deadline_s=task.deadline_s)
        self._next_offset = max(0, found.offset)

    def write(self, record: Outgoing) -> None:
        """Write a record, unless it is below the committed offset."""
        if record.source_offset < self._next_offset:
            self.skipped[kind_of(record)] += 1
            return
        if not self._is_open:
            self._producer.begin_transaction()
            self._is_open, self._begun = True, time.monotonic()
        self._produce(record)
        self._next_offset = record.source_offset + 1
        self._in_transaction += 1
        if self._in_transaction >= _RECORDS or time.monotonic() - self._begun > _LONGEST_S:
            self.commit()

    def _produce(self, record: Outgoing) -> None:
        """Put a record into the producer's queue; wait while that is full."""
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    -1 if record.partition is None else record.partition,
                    timestamp=max(0, record.timestamp_ms),
                    headers=record.headers,
                )
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def commit(self) -> None:
        """Commit the open transaction, with the offset after its last record."""
        from confluent_kafka import TopicPartition

        if not self._is_open:
            return
        position = TopicPartition(self._task.source_topic, self._partition, self._next_offset)
        group = self._consumer.consumer_group_metadata()
        self._request(lambda: self._producer.send_offsets_to_transaction([position], group, self._task.deadline_s))
        self._request(lambda: self._producer.commit_transaction(self._task.deadline_s))
        self.written += self._in_transaction
        self._is_open, self._in_transaction = False, 0

    def explained(self, error: Any) -> str:
        """Return why the records could not be written, in one sentence."""
        from confluent_kafka import KafkaError

        place = f"topic {self._task.source_topic} partition {self._partition}"
        fenced = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)  # noqa: SLF001 - the client's own name
        open_s = time.monotonic() - self._begun if self._is_open else 0.0
        if error.code() in fenced and open_s * 1000 >= self._task.timeout_ms:
            return (
                f"the transaction for {place} was open for {open_s:.0f} s, and the broker aborts one after "
                f"{self._task.timeout_ms / 1000:g} s (transaction.timeout.ms): conversion or broker is too slow"
            )
        if error.code() in fenced:
            return f"another driver runs bridge {self._task.bridge}, and has taken over {place}"
        kept = counted(self.written, "record", spec=",")
        return f"the transaction for {place} failed after {kept} of this batch had been committed: {error.str()}"

    def close(self) -> None:
        """Abort the transaction if one is open, and end the connections."""
        from confluent_kafka import KafkaException

        if self._is_open:
            try:
                self._producer.abort_transaction(self._task.deadline_s)
            except KafkaException:
                self._is_open = False  # the broker aborts it: when another producer begins, or after the time-out
        if self._consumer is not None:
            self._consumer.close()

    def _request(self, call: Callable[[], Any]) -> Any:
        return repeated(call, deadline_s=self._task.deadline_s)
