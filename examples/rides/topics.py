"""Producers and consumers of the rides, as a team would write them: confluent-kafka with counterfoil's serializers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

_BATCH = 1_000


def produce(
    bootstrap_servers: str,
    registry: Registry,
    topic: str,
    *,
    schemas: tuple[str, str],
    records: Iterable[tuple[int, dict[str, Any] | None]],
) -> int:
    """Write records keyed by vendor; how many. ``schemas`` are the texts for key and value."""
    key_schema, value_schema = schemas
    as_key, as_value = AvroSerializer(registry, key_schema), AvroSerializer(registry, value_schema)
    key_context = SerializationContext(topic, MessageField.KEY)
    value_context = SerializationContext(topic, MessageField.VALUE)
    producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random", "linger.ms": 50})
    count = 0
    for vendor, record in records:
        key = as_key({"vendor_id": vendor}, key_context)
        value = as_value(record, value_context)
        headers = [("ride", str(count).encode()), ("from", b"rides.csv")]
        while True:
            try:
                producer.produce(topic, key=key, value=value, headers=headers)
                break
            except BufferError:  # the queue is full: let it drain
                producer.poll(0.1)
        count += 1
    producer.flush()
    return count


@dataclass
class Read:
    """What a consumer found in a topic."""

    records: int = 0
    tombstones: int = 0
    bridged: int = 0
    total_amount: float = 0.0
    with_headers: int = 0
    schema_ids: Counter[int] = field(default_factory=Counter)


def read_as_version_1(bootstrap_servers: str, registry: Registry, topic: str) -> Read:
    """Everything in ``topic``, read by a consumer that knows schema version 1 and nothing of bridges."""
    as_ride = AvroDeserializer(registry)
    context = SerializationContext(topic, MessageField.VALUE)
    found = Read()
    for message in messages(bootstrap_servers, topic):
        ride = as_ride(message.value(), context)
        names = [name for name, _ in message.headers() or []]
        found.records += 1
        found.bridged += "bridge.src" in names
        found.with_headers += {"ride", "from"} <= set(names)
        if ride is None:
            found.tombstones += 1
        else:
            found.total_amount += ride["total_amount"]
            found.schema_ids[int.from_bytes(message.value()[1:5], "big")] += 1
    return found


def dead_letters(bootstrap_servers: str, topic: str) -> Counter[tuple[str, str]]:
    """Count the dead letters by reason and field."""
    reasons: Counter[tuple[str, str]] = Counter()
    for message in messages(bootstrap_servers, topic):
        headers = dict(message.headers() or [])
        reasons[headers["bridge.error"].decode(), headers["bridge.error.field"].decode()] += 1
    return reasons


def end_offsets(consumer: Consumer, topic: str) -> dict[int, int]:
    """Return the next offset to be written, by partition."""
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    return {each: consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=10)[1] for each in partitions}


def messages(bootstrap_servers: str, topic: str) -> Iterable[Any]:
    """Yield every message that is in ``topic`` now, partition by partition in offset order."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "rides-demo", "enable.auto.commit": False})
    try:
        ends = {partition: end for partition, end in end_offsets(consumer, topic).items() if end}
        consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
        while ends:
            for message in consumer.consume(_BATCH, timeout=1):
                if message.error():
                    raise RuntimeError(message.error())
                yield message
            positions = consumer.position([TopicPartition(topic, each) for each in ends])
            ends = {each.partition: ends[each.partition] for each in positions if each.offset < ends[each.partition]}
    finally:
        consumer.close()
