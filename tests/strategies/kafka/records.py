"""Topics of tests: what is written to them and what is in them, without any adapter or bridge."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition

from counterfoil.sdk import AvroSerializer, Registry, RegistrySettings, RetrySettings
from local_services.process import wait_until
from strategies.machine.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from local_services import KafkaClient, RegistryProcess

RIDE = json.dumps(
    {
        "type": "record",
        "name": "Ride",
        "fields": [{"name": "vendor", "type": "int"}, {"name": "fare", "type": "double"}],
    }
)
KEY = '"string"'
RIDES = [{"vendor": number % 2, "fare": number + 0.5} for number in range(4)]
NOT_FRAMED = b"no frame"
VALUE_HEADER = "__value_schema_id"
_MOST_WAITING = 10_000


def produce(bootstrap_servers: str, topic: str, records: Iterable[dict[str, Any]], **settings: Any) -> None:
    """Write records, which are arguments of confluent-kafka's ``produce``, and wait until the broker has them."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 20, "log_level": 0, **settings})
    for number, record in enumerate(records, 1):
        producer.produce(topic, **record)
        if number % _MOST_WAITING == 0:
            producer.flush()
    assert producer.flush(60) == 0


def write(broker: KafkaClient, topic: str, *records: tuple[Any, Any, Any], partition: int = 0) -> None:
    """Write records of key, value and headers, which are bytes."""
    names = ("key", "value", "headers")
    made = ({**dict(zip(names, record, strict=True)), "partition": partition} for record in records)
    produce(broker.bootstrap_servers, topic, made)


def framed(
    url: str, topic: str, *, id_location: Any = "prefix"
) -> list[tuple[bytes, bytes | None, list[tuple[str, bytes]]]]:
    """Return ``RIDES`` as records with keys; a record is what ``write`` takes."""
    with Registry(url) as registry:
        serialize = AvroSerializer(registry, RIDE, id_location=id_location)
        records = []
        for number, ride in enumerate(RIDES):
            headers: list[tuple[str, bytes]] = [("origin", b"test")]
            context = type("Context", (), {"topic": topic, "field": "value", "headers": headers})()
            records.append((str(number).encode(), serialize(ride, context), headers))
        return records


def read(broker: KafkaClient, topic: str, count: int) -> list[Any]:
    """Return the first committed messages of a topic with one partition, as confluent-kafka has them."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"})
    found: list[Any] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])

        def is_complete() -> bool:
            found.extend(consumer.consume(count - len(found), timeout=0.2))
            return len(found) >= count

        wait_until(is_complete, what=f"{count} messages in {topic}")
    finally:
        consumer.close()
    return found


def end_offset(broker: KafkaClient, topic: str) -> int:
    """Return the next offset of a topic with one partition."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()


def committed(broker: KafkaClient, group: str, topic: str) -> int | None:
    """Return the offset that a group has committed for a topic with one partition; None for none."""
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    [result] = broker.admin.list_consumer_group_offsets([wanted], require_stable=True).values()
    offset: int = result.result(30).topic_partitions[0].offset
    return None if offset < 0 else offset


@contextmanager
def removable(registry: RegistryProcess) -> Iterator[tuple[RegistrySettings, TcpProxy]]:
    """Yield settings for the registry, without retries, and the network in front of it, which can be ``gone``."""
    with TcpProxy(registry.port) as proxy:
        retry = RetrySettings(retries=0, breaker_failures=0)
        yield RegistrySettings(urls=(f"http://127.0.0.1:{proxy.port}",), retry=retry), proxy
