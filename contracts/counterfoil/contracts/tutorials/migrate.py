"""The start of the tutorial of a migration: taxi rides whose amount is a number, with a producer and a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.tutorials.laying import empty_folder, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.sdk.client import Registry

_BROKER: Final = "kafka:9092"
_REGISTRY: Final = "http://localhost:8081"
_SUBJECT: Final = "trips-paid-value"
_SCHEMA: Final = """\
{"type": "record", "name": "Ride", "fields": [
  {"name": "ride_id", "type": "long"},
  {"name": "total_amount", "type": "float"}
]}
"""
_PRODUCER: Final = """\
from confluent_kafka import Producer

from counterfoil.sdk import AvroSerializer, Registry

producer = Producer({"bootstrap.servers": "kafka:9092"})
with Registry("http://localhost:8081") as registry:
    serialize = AvroSerializer(registry, open("ride_v1.avsc").read()).bind("trips-paid")
    for number in range(100):
        ride = {"ride_id": number, "total_amount": number / 4}
        producer.produce("trips-paid", key=str(number), value=serialize(ride))
producer.flush()
"""
_SERVICE: Final = """\
import sys

from confluent_kafka import Consumer

from counterfoil.sdk import AvroDeserializer, Registry

consumer = Consumer({"bootstrap.servers": "kafka:9092", "group.id": "sums", "auto.offset.reset": "earliest"})
consumer.subscribe(["trips-paid"])
with Registry("http://localhost:8081") as registry:
    deserialize = AvroDeserializer(registry)
    total = sum(deserialize(consumer.poll(60).value())["total_amount"] for _ in range(int(sys.argv[1])))
consumer.commit()
consumer.close()
print(f"{sys.argv[1]} rides cost {total:.2f}")
"""
_FILES: Final = {"ride_v1.avsc": _SCHEMA, "old_producer.py": _PRODUCER, "old_service.py": _SERVICE}
"""With the addresses of the page."""


def lay_migration(folder: Path, registry: Registry, *, address: str, brokers: str) -> str:
    """Write the files and register the first schema; return what was made as a sentence.

    ``address`` is that of the registry, ``brokers`` those of the Kafka cluster, as the programs have them.
    """
    from counterfoil.schema.model import Schema

    with empty_folder(folder, needs_git=False):
        registry.register(_SUBJECT, Schema(_SCHEMA))
        texts = {name: text.replace(_BROKER, brokers).replace(_REGISTRY, address) for name, text in _FILES.items()}
        write_files(folder, texts)
    return f"{folder} has a schema, a producer and a service; the registry has the schema as {_SUBJECT}"
