"""Records and the offsets of their originals, written to Kafka in the same transactions.

The records of one source partition are written in order, by a transactional producer whose id names the bridge and the
partition, so that the broker refuses an earlier producer of the same partition (another driver, or a task that a crash
left behind). The offset after the last record of a transaction is committed with it, in the bridge's consumer group,
and records below the committed offset are left out. So a record is visible exactly once to consumers that read
committed records, whatever was killed and whatever is repeated.

Two writers follow this protocol: the tasks of a run, in Java (:mod:`counterfoil.converter.run.delivery`), and
``bridge replay``, which needs no Spark, here.

The protocol is that of Kafka's KIP-98 and KIP-447; the group has no members and is used for its offsets alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from counterfoil.converter.kafka.origins import committed, group_of, repeated
from counterfoil.schema.texts import counted

CONVERTED: Final = "converted"
TOMBSTONE: Final = "tombstone"

RECORDS: Final = 20_000
LONGEST_S: Final = 10.0
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


TRANSACTIONAL_ID: Final = "counterfoil-bridge-"
"""How the ids of transactional producers begin; bridge, source topic and partition follow."""


class WrittenRecords(NamedTuple):
    """What became of the records of one source partition.

    ``records`` were written; ``skipped`` counts those that were committed before, by :func:`kind_of`; ``failure`` is a
    sentence, None if there is none.
    """

    partition: int
    records: int
    skipped: Mapping[str, int]
    failure: str | None


class TransactionFailure(NamedTuple):
    """Why a transaction failed: whether the broker refused the producer, and for how long the transaction was open."""

    is_fenced: bool
    open_s: float
    reason: str


@dataclass(frozen=True)
class KafkaTransactions:
    """The transactions of a bridge and a source topic.

    ``deadline_s`` limits each request of the protocol, with its repeats. The broker aborts a transaction that is open
    for longer than ``timeout_ms``, such as one of a killed task.
    """

    bridge: str
    source_topic: str
    deadline_s: float = 60.0
    timeout_ms: int = 60_000

    def explained(self, failure: TransactionFailure, *, partition: int, written: int) -> str:
        """Return why the records of a partition could not be written, in one sentence."""
        place = f"topic {self.source_topic} partition {partition}"
        if failure.is_fenced and failure.open_s * 1000 >= self.timeout_ms:
            return (
                f"the transaction for {place} was open for {failure.open_s:.0f} s, and the broker aborts one after "
                f"{self.timeout_ms / 1000:g} s (transaction.timeout.ms): conversion or broker is too slow"
            )
        if failure.is_fenced:
            return f"another driver runs bridge {self.bridge}, and has taken over {place}"
        kept = counted(written, "record", spec=",")
        return f"the transaction for {place} failed after {kept} of this batch had been committed: {failure.reason}"


def write_partition(
    transactions: KafkaTransactions, client: Mapping[str, object], partition: int, records: Iterable[Outgoing]
) -> WrittenRecords:
    """Write records of one source partition; ``client`` are settings of confluent-kafka."""
    from confluent_kafka import KafkaException

    writer, failure = _Writer(transactions, client, partition), None
    try:
        writer.prepare()
        for record in records:
            writer.write(record)
        writer.commit()
    except KafkaException as error:
        failure = transactions.explained(writer.failed(error.args[0]), partition=partition, written=writer.written)
    finally:
        writer.close()
    return WrittenRecords(partition, writer.written, writer.skipped, failure)


class _Writer:
    """The transactions of one source partition. Raises ``KafkaException``."""

    def __init__(self, task: KafkaTransactions, client: Mapping[str, object], partition: int) -> None:
        self.written = 0
        self.skipped: Counter[str] = Counter()
        self._task = task
        self._client = client
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
                **self._client,
                "transactional.id": f"{TRANSACTIONAL_ID}{task.bridge}-{task.source_topic}-{self._partition}",
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
                **{name: value for name, value in self._client.items() if name != "message.max.bytes"},
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
        if self._in_transaction >= RECORDS or time.monotonic() - self._begun > LONGEST_S:
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

    def failed(self, error: Any) -> TransactionFailure:
        """Return what is to be known of an error."""
        from confluent_kafka import KafkaError

        fenced = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)  # noqa: SLF001 - the client's own name
        open_s = time.monotonic() - self._begun if self._is_open else 0.0
        if error.code() == KafkaError._FATAL:  # noqa: SLF001 - the client's own name
            error = self._reason_of_fatal(error)
        return TransactionFailure(error.code() in fenced, open_s, error.str())

    def _reason_of_fatal(self, error: object) -> Any:
        """Return why the producer refuses everything from now on, which its transactions report, and ``error`` not."""
        from confluent_kafka import KafkaException

        try:
            self._producer.abort_transaction(self._task.deadline_s)
        except KafkaException as refusal:
            return refusal.args[0]
        return error

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
