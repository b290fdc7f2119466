"""Batches of confluent-kafka's ``Consumer``, deserialized.

Everything else of confluent-kafka takes the serializers as they are: ``SerializingProducer``,
``DeserializingConsumer``, and calls with a ``SerializationContext``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import needed_by
from counterfoil.sdk.adapters.dead_letters import Consumed, KeyValueReader

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde.base import RecordReader


with needed_by("The adapter of confluent-kafka", extra="confluent-kafka"):
    from confluent_kafka import TopicPartition
    from confluent_kafka.error import ConsumeError


def consume_batch(
    consumer: Consumer,
    num_messages: int = 1,
    timeout: float = -1,
    *,
    key_deserializer: RecordReader[Datum] | None = None,
    value_deserializer: RecordReader[Datum] | None = None,
) -> list[Consumed]:
    """Return the next messages with their keys and values, each by its own topic and headers.

    The arguments are those of ``Consumer.consume``. A message that cannot be read has its error in its place, a
    ``SerdeError``; what the client reports in place of a message is a ``ConsumeError``. Raises ``RegistryUnavailable``
    and other errors of the registry; the consumer then returns the same messages once more.
    """
    messages = consumer.consume(num_messages, timeout)
    received = [each for each in messages if each.error() is None]
    reading = KeyValueReader(key_deserializer, value_deserializer)
    read = iter(reading.read_all(received, lambda message: _rewind(consumer, message)))
    return [next(read) if each.error() is None else _reported(each) for each in messages]


def _reported(message: Message) -> Consumed:
    return Consumed(message, error=ConsumeError(message.error(), kafka_message=message))


def _rewind(consumer: Consumer, message: Message) -> None:
    consumer.seek(TopicPartition(message.topic(), message.partition(), message.offset()))
