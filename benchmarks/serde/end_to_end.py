"""Avro messages through a real Kafka broker and back, with our serializers and with confluent-kafka's.

    python benchmarks/serde/end_to_end.py [--messages 20000] [--assert]

Both are the same loop: confluent-kafka's ``Producer`` and ``Consumer``, one message at a time, a running registry, a
flat record and a nested one. They take turns, 5,000 messages each. The figures are CPU time of this process, which
includes the Kafka client's threads and not the broker; the elapsed time is printed below them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy"))

from avro import ORDER, TRIP, orders, trips
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from measure import Candidate, Report

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry
from local_services import KafkaBroker, RegistryProcess

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK: Final = 5_000
GOAL: Final = 3.0


@dataclass
class Loop:
    """Produces a chunk of values to a topic of its own, and consumes it."""

    broker: KafkaBroker
    topic: str
    serialize: Callable[..., Any]
    deserialize: Callable[..., Any]
    values: list[Any]
    elapsed_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        servers = {"bootstrap.servers": self.broker.bootstrap_servers}
        self.broker.create_topic(self.topic)
        self._producer = Producer({**servers, "linger.ms": 20})
        self._consumer = Consumer({**servers, "group.id": self.topic, "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(self.topic, 0, 0)])
        self._context = SerializationContext(self.topic, MessageField.VALUE)

    def run(self) -> None:
        """Produce and consume all values once."""
        start = time.perf_counter()
        self._produce()
        self._consume()
        self.elapsed_s += time.perf_counter() - start

    def close(self) -> None:
        """Close the clients."""
        self._consumer.close()

    def _produce(self) -> None:
        producer, serialize, context = self._producer, self.serialize, self._context
        for value in self.values:
            producer.produce(self.topic, value=serialize(value, context))
            producer.poll(0)
        producer.flush()

    def _consume(self) -> None:
        consumer, deserialize, context = self._consumer, self.deserialize, self._context
        left = len(self.values)
        while left:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                raise RuntimeError(message.error())
            deserialize(message.value(), context)
            left -= 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=20_000, help="how many messages each side writes and reads")
    parser.add_argument("--assert", dest="is_asserting", action="store_true", help="fail far below the goal")
    options = parser.parse_args()
    report = Report(max(1, options.messages // CHUNK), options.is_asserting)
    with KafkaBroker() as broker, RegistryProcess() as server, Registry(server.url) as registry:
        client = SchemaRegistryClient({"url": server.url})
        cases = (("flat, 14 fields", TRIP, trips(CHUNK)), ("nested, 22 fields", ORDER, orders(CHUNK)))
        for what, schema, values in cases:
            text, topic = json.dumps(schema), schema["name"]
            theirs = Loop(broker, f"{topic}-1", TheirSerializer(client, text), TheirDeserializer(client), values)
            ours = Loop(broker, f"{topic}-2", AvroSerializer(registry, text), AvroDeserializer(registry), values)
            peer, own = Candidate("confluent-kafka", theirs.run), Candidate("counterfoil", ours.run)
            report.compare(f"broker and back, {what}", peer, (own, GOAL), messages=CHUNK)
            ratio = theirs.elapsed_s / ours.elapsed_s
            print(f"elapsed time: {ratio:.2f} x ({theirs.elapsed_s:.1f} s, {ours.elapsed_s:.1f} s)", flush=True)
            theirs.close()
            ours.close()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
