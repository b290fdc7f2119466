"""Producers and consumers of aiokafka that serialize by topic, with headers, without blocking the event loop.

aiokafka calls its own ``value_serializer`` and ``value_deserializer`` without topic and headers, inside the event loop.
These classes stand around its producer and its consumer instead, which are made without serializers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from counterfoil.schema.errors import needed_by
from counterfoil.sdk.adapters.dead_letters import AsyncKeyValueReader, Consumed, header_pairs, new_context
from counterfoil.sdk.serde.asynchronous import AsyncDeserializer, AsyncSerializer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde import Headers
    from counterfoil.sdk.serde.deserializer import Deserializer
    from counterfoil.sdk.serde.multi import MultiDeserializer
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.subjects import Field


with needed_by("The adapter of aiokafka", extra="aiokafka"):
    from aiokafka import TopicPartition


T = TypeVar("T")


class RegistryProducer:
    """Sends keys and values with an ``AIOKafkaProducer``, serialized for their topic.

    The serializers have an ``AsyncRegistry``. Bytes go out as they are where there is no serializer. The schema ids in
    given headers, such as those of a record that was consumed, are replaced by those of the new record.
    """

    def __init__(
        self,
        producer: AIOKafkaProducer,
        *,
        key_serializer: Serializer[Datum] | None = None,
        value_serializer: Serializer[Datum] | None = None,
    ) -> None:
        self._producer = producer
        self._key = None if key_serializer is None else AsyncSerializer(key_serializer)
        self._value = None if value_serializer is None else AsyncSerializer(value_serializer)

    async def warm(self, *topics: str) -> None:
        """Send the registry's requests for these topics now; raises the errors of the configuration."""
        for topic in topics:
            for serializer, field in self._fields():
                await serializer.sync.warm(topic=topic, field=field)

    async def send(
        self, topic: str, value: object = None, key: object = None, *, headers: Headers = None, **more: object
    ) -> asyncio.Future[Any]:
        """Send a record and return the result of aiokafka's ``send``, whose other arguments are in ``more``.

        Key and value are serialized first: if one cannot be, nothing is sent. Raises the errors of serializers.
        """
        pairs = list(header_pairs(headers))
        if self._key is not None:
            key = await self._key(key, new_context(topic, "key", pairs))
        if self._value is not None:
            value = await self._value(value, new_context(topic, "value", pairs))
        return await self._producer.send(topic, value=value, key=key, headers=pairs, **more)  # type: ignore[no-any-return]  # aiokafka's types

    async def send_and_wait(
        self, topic: str, value: object = None, key: object = None, *, headers: Headers = None, **more: object
    ) -> Datum:
        """Send a record and return its metadata when the broker has it."""
        return await (await self.send(topic, value, key, headers=headers, **more))

    def _fields(self) -> list[tuple[AsyncSerializer[Datum], Field]]:
        both: list[tuple[AsyncSerializer[Datum] | None, Field]] = [(self._key, "key"), (self._value, "value")]
        return [(serializer, field) for serializer, field in both if serializer is not None]


class RegistryConsumer:
    """Reads keys and values of the records of an ``AIOKafkaConsumer``, by their topic and headers.

    The deserializers have an ``AsyncRegistry``. A record that cannot be read has its error in its place. If the
    registry cannot be reached, the error is raised, and the consumer returns the same records once more.
    """

    def __init__(
        self,
        consumer: AIOKafkaConsumer,
        *,
        key_deserializer: Deserializer[Datum] | MultiDeserializer | None = None,
        value_deserializer: Deserializer[Datum] | MultiDeserializer | None = None,
    ) -> None:
        self._consumer = consumer
        self._reading = AsyncKeyValueReader(_asynchronous(key_deserializer), _asynchronous(value_deserializer))

    async def getone(self, *partitions: TopicPartition) -> Consumed:
        """Return the next record."""
        [consumed] = await self._reading.read_all([await self._consumer.getone(*partitions)], self._rewind)
        return consumed

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[Consumed]]:
        """Return the next records by partition."""
        found = await self._consumer.getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)
        everything = [record for records in found.values() for record in records]
        consumed = iter(await self._reading.read_all(everything, self._rewind))
        return {partition: [next(consumed) for _ in records] for partition, records in found.items()}

    async def __aiter__(self) -> AsyncIterator[Consumed]:
        """Yield the records, without end."""
        while True:
            yield await self.getone()

    def _rewind(self, record: ConsumerRecord[object, object]) -> None:
        self._consumer.seek(TopicPartition(record.topic, record.partition), record.offset)


def _asynchronous(deserializer: Deserializer[T] | MultiDeserializer | None) -> AsyncDeserializer[T] | None:
    return None if deserializer is None else AsyncDeserializer(deserializer)
