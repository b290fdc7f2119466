"""Arrow tables of Kafka topics for Beavers: a deserializer of batches, a serializer, and tombstones.

Beavers takes batches of messages and needs a table of each, in the order of their timestamps. It passes no headers of
its own, so that :class:`TableWriter` needs a serializer that puts the schema id into the prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import needed_by
from counterfoil.sdk.adapters.dead_letters import NULL, NullBytes
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde import MessageField, SerializationContext, place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from beavers.dag import Dag
    from beavers.kafka import KafkaMessageSerializer, SourceTopic
    from confluent_kafka import Consumer, Message, Producer

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde.base import RecordReader
    from counterfoil.sdk.serde.codec import RowErrors
    from counterfoil.sdk.serde.serializer import Serializer


with needed_by("The adapter of Beavers", extra="beavers"):
    import pyarrow as pa
    from beavers.kafka import KafkaDriver, KafkaProducerMessage

    from counterfoil.sdk.serde.arrow import values_as


_STRING: Final = pa.string()
_TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The names of columns beside those of the value, in front of them; None leaves one out.

    ``key`` has the record's key, ``timestamp`` Kafka's time of the record, and ``tombstone`` whether its value is null;
    then all columns of the value are null. Without a ``tombstone`` column a table has no tombstones.
    """

    key: str | None = None
    timestamp: str | None = None
    tombstone: str | None = None

    @property
    def names(self) -> set[str | None]:
        """The names that are set, and None."""
        return {self.key, self.timestamp, self.tombstone}


@dataclass(frozen=True, kw_only=True)
class TableReader:
    """Reads a batch of messages as an Arrow table with the columns of ``schema``: what a ``SourceTopic`` takes.

    Rows are in the order of the messages. ``key`` reads the keys, for a column that ``columns`` names, of ``key_type``;
    without it that column has their bytes. A message whose key or value cannot be read, or does not fit the type of its
    column, is passed to ``report`` with its error and left out, for example to write a
    :func:`~counterfoil.sdk.adapters.dead_letters.dead_letter`; without ``report`` the error is raised, which ends the
    driver's cycle. Errors that are not the message's, such as ``RegistryUnavailable``, are always raised.
    """

    value: RecordReader[Datum]
    schema: pa.Schema
    key: RecordReader[Datum] | None = None
    key_type: pa.DataType = _STRING
    columns: Columns = Columns()
    report: Callable[[Message, SerdeError], object] | None = None

    def __call__(self, messages: Sequence[Message]) -> pa.Table:
        """Return the table of the messages; an empty one for none."""
        records = [each.original if isinstance(each, _Tombstone) else each for each in messages]
        if self.columns.tombstone is None:
            records = [each for each in records if each.value() is not None]
        errors: dict[int, SerdeError] = {}
        table = self.value.arrow(records, schema=self.schema, errors=errors)
        for name, column in reversed(self._beside(records, errors).items()):
            table = table.add_column(0, name, column)
        return table if not errors else self._without(table, records, errors)

    def _beside(self, records: list[Message], errors: dict[int, SerdeError]) -> dict[str, Datum]:
        """Return the columns beside those of the value."""
        beside: dict[str, Datum] = {}
        if self.columns.key is not None:
            beside[self.columns.key] = self._keys(records, errors)
        if self.columns.timestamp is not None:
            beside[self.columns.timestamp] = pa.array([each.timestamp()[1] for each in records], _TIMESTAMP)
        if self.columns.tombstone is not None:
            beside[self.columns.tombstone] = pa.array([each.value() is None for each in records], pa.bool_())
        return beside

    def _keys(self, records: list[Message], errors: dict[int, SerdeError]) -> Datum:
        if self.key is None:
            return pa.array([each.key() for each in records], pa.binary())
        keys = self.key.many(records, field=MessageField.KEY.value)
        for row, key in enumerate(keys):
            if isinstance(key, SerdeError):
                errors.setdefault(row, key)
        values = [None if isinstance(key, SerdeError) else key for key in keys]
        misfits: RowErrors = {}
        column = values_as(pa.field(self.columns.key, self.key_type), values, misfits)
        for row, error in misfits.items():
            place(error, SerializationContext(records[row].topic(), MessageField.KEY), data=records[row].key())
            errors.setdefault(row, error)
        return column

    def _without(self, table: pa.Table, records: list[Message], errors: Mapping[int, SerdeError]) -> pa.Table:
        """Return the table without the rows of messages that cannot be read, which are reported."""
        for row, error in sorted(errors.items()):
            if self.report is None:
                raise error
            self.report(records[row], error)
        kept = pa.array([row for row in range(len(records)) if row not in errors], pa.int64())
        return table.take(kept)


@dataclass(frozen=True, kw_only=True)
class TableWriter:
    """Writes the rows of a table to a topic: what a driver's ``sink_topics`` take.

    The columns that ``columns`` names are not part of the value: the row's key, written by ``key`` or already bytes,
    and whether the row is a tombstone. Raises ``EncodeError`` for a row that does not fit the schema; nothing of the
    table is written then.
    """

    topic: str
    value: Serializer[Datum]
    key: Serializer[Datum] | None = None
    columns: Columns = Columns()

    def __call__(self, value: pa.Table) -> list[KafkaProducerMessage]:
        """Return the messages of the table's rows."""
        own = self.columns.names
        rows = value.select([name for name in value.column_names if name not in own]).to_pylist()
        keys = self._column(value, self.columns.key)
        dead = self._column(value, self.columns.tombstone)
        return [
            KafkaProducerMessage(self.topic, self._key(key), TOMBSTONE if is_dead else self._value(row))
            for row, key, is_dead in zip(rows, keys, dead, strict=True)
        ]

    def _column(self, table: pa.Table, name: str | None) -> list[Datum]:
        return [None] * len(table) if name is None else table.column(name).to_pylist()

    def _key(self, key: object) -> Datum:
        return key if self.key is None else self.key(key, SerializationContext(self.topic, MessageField.KEY))

    def _value(self, row: object) -> Datum:
        return self.value(row, SerializationContext(self.topic, MessageField.VALUE))


def create_driver(  # noqa: PLR0917 - the arguments of KafkaDriver.create
    dag: Dag,
    producer_config: dict[str, Datum],
    consumer_config: dict[str, Datum],
    source_topics: dict[str, SourceTopic[Datum]],
    sink_topics: dict[str, KafkaMessageSerializer[Datum]],
    batch_size: int = 5_000,
) -> KafkaDriver:
    """Return ``KafkaDriver.create(…)`` with the same arguments, which also reads and writes tombstones.

    Beavers 0.14 measures the length of every value, so that its own driver fails at the first null.
    """
    driver = KafkaDriver.create(dag, producer_config, consumer_config, source_topics, sink_topics, batch_size)
    # there is no public way to replace the clients
    manager = driver._consumer_manager
    manager._consumer = _Consumer(manager._consumer)
    sink = driver._producer_manager
    sink._producer = _Producer(sink._producer)
    return driver


TOMBSTONE: Final = NULL
"""The value of a ``KafkaProducerMessage`` that is a tombstone, for the drivers of :func:`create_driver`."""


class _Tombstone:
    """A message whose value is null, with a value that has a length."""

    def __init__(self, original: Message) -> None:
        self.original = original

    def value(self) -> bytes:
        """Return no bytes."""
        return TOMBSTONE

    def __getattr__(self, name: str) -> Datum:
        return getattr(self.original, name)


class _Consumer:
    """A consumer whose tombstones have a length."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def poll(self, timeout: float) -> Message | _Tombstone | None:
        """Return the next message."""
        message = self._consumer.poll(timeout)
        return _Tombstone(message) if message is not None and message.value() is None else message

    def __getattr__(self, name: str) -> Datum:
        return getattr(self._consumer, name)


class _Producer:
    """A producer that writes null for a value without bytes."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def produce(self, topic: str, *, key: object, value: object, **more: object) -> None:
        """Write a message."""
        self._producer.produce(topic, key=key, value=None if isinstance(value, NullBytes) else value, **more)

    def __getattr__(self, name: str) -> Datum:
        return getattr(self._producer, name)
