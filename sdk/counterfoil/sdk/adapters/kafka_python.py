"""The serializers of kafka-python 3, which have the record's topic and headers, and of kafka-python 2.

kafka-python 3 calls ``serialize(topic, headers, data)``, kafka-python 2 ``serialize(topic, data)``: with version 2 the
schema id cannot be in a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.errors import needed_by
from counterfoil.sdk.adapters.dead_letters import Consumed, KeyValueReader
from counterfoil.sdk.serde import SerializationContext

if TYPE_CHECKING:
    from kafka import KafkaConsumer
    from kafka.consumer.fetcher import ConsumerRecord

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde.base import RecordReader
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.subjects import Field


with needed_by("The adapter of kafka-python", extra="kafka-python"):
    from kafka import TopicPartition
    from kafka.serializer import Deserializer as KafkaDeserializer
    from kafka.serializer import Serializer as KafkaSerializer


class RegistrySerializer(KafkaSerializer):  # type: ignore[misc]  # kafka-python has no types
    """The ``key_serializer`` (``field="key"``) or ``value_serializer`` of a ``KafkaProducer``."""

    def __init__(self, serializer: Serializer[Datum], field: Field = "value") -> None:
        self._serializer = serializer
        self._field = field

    def serialize(self, topic: str, *headers_and_data: object) -> bytes | None:
        """Return the message for the data; the headers, a list, get the schema id if the serializer puts it there."""
        *headers, data = headers_and_data
        return self._serializer(data, SerializationContext(topic, self._field, *headers))

    def close(self) -> None:
        """Close the serializer; the registry stays open."""
        self._serializer.close()


class RegistryDeserializer(KafkaDeserializer):  # type: ignore[misc]  # kafka-python has no types
    """The ``key_deserializer`` (``field="key"``) or ``value_deserializer`` of a ``KafkaConsumer``.

    An error that it raises is raised by the consumer, at every attempt to read the record. Give it a deserializer with
    ``on_error="return"``, which returns the error as the value, or use :func:`poll_batch`.
    """

    def __init__(self, deserializer: RecordReader[Datum], field: Field = "value") -> None:
        self._deserializer = deserializer
        self._field = field

    def deserialize(self, topic: str, *headers_and_data: Any) -> Datum:
        """Return the value of a message."""
        *headers, data = headers_and_data
        return self._deserializer(data, SerializationContext(topic, self._field, *headers))


def poll_batch(
    consumer: KafkaConsumer,
    timeout_ms: int = 0,
    max_records: int | None = None,
    *,
    key_deserializer: RecordReader[Datum] | None = None,
    value_deserializer: RecordReader[Datum] | None = None,
) -> list[Consumed]:
    """Return the next records of a consumer without deserializers, with their keys and values.

    The arguments are those of ``KafkaConsumer.poll``. A record that cannot be read has its error in its place. Raises
    ``RegistryUnavailable`` and other errors of the registry; the consumer then returns the same records once more.
    """

    def rewind(record: ConsumerRecord) -> None:
        consumer.seek(TopicPartition(record.topic, record.partition), record.offset)

    found = consumer.poll(timeout_ms=timeout_ms, max_records=max_records)
    records = [record for each in found.values() for record in each]
    return KeyValueReader(key_deserializer, value_deserializer).read_all(records, rewind)
