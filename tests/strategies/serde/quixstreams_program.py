"""A program with Quix Streams: writes, converts and reads a topic, and prints what it saw as JSON.

``python quixstreams_program.py BROKER REGISTRY TOPIC prefix|header``
"""

from __future__ import annotations

import json
import logging
import pickle
import sys
from typing import Any

import confluent_kafka
from quixstreams import Application

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry, SerdeError
from counterfoil.sdk.adapters.dead_letters import dead_letter
from counterfoil.sdk.adapters.quixstreams import RegistryDeserializer, RegistrySerializer, skip_and_report

RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}'
COPY = '{"type": "record", "name": "Copy", "fields": [{"name": "cents", "type": "long"}]}'
DEADLINE_S = 120.0


def main(broker: str, url: str, topic: str, id_location: Any) -> None:
    logging.disable(logging.INFO)
    registry = Registry(url)
    letters = confluent_kafka.Producer({"bootstrap.servers": broker})
    reported: list[list[str]] = []

    def report(message: Any, error: SerdeError) -> None:
        reported.append([type(error).__name__, str(error)])
        letters.produce(f"{topic}.dead-letters", **dead_letter(message, error))

    def application() -> Application:
        return Application(
            broker_address=broker,
            consumer_group=f"{topic}.group",
            auto_offset_reset="earliest",
            auto_create_topics=False,
            use_changelog_topics=False,
            on_consumer_error=skip_and_report(report),
            loglevel="ERROR",
        )

    def write(schema: str, name: str) -> Any:
        serializer = AvroSerializer(registry, schema, id_location=id_location)
        return pickle.loads(pickle.dumps(RegistrySerializer(serializer, topic=name)))

    keys = {
        "key_serializer": RegistrySerializer(AvroSerializer(registry, '"string"')),
        "key_deserializer": RegistryDeserializer(AvroDeserializer(registry)),
    }
    read = RegistryDeserializer(AvroDeserializer(registry))
    app = application()
    rides = app.topic(topic, value_serializer=write(RIDE, topic), value_deserializer=read, **keys)
    copies = app.topic(f"{topic}.copy", value_serializer=write(COPY, f"{topic}.copy"), value_deserializer=read, **keys)
    refused = ""
    with app.get_producer() as producer:
        producer.produce(topic, key=None, value=b"{}", headers=[("trace", b"9")])
        producer.produce(topic, key=b"{}", value=b"{}")
        for key, value in [("one", {"fare": 1.5}), (None, {"fare": 2.5}), ("three", None)]:
            headers = [("trace", b"7")]
            ready = rides.serialize(key=key, value=value, headers=headers)
            producer.produce(topic, key=ready.key, value=ready.value, headers=ready.headers)
        try:
            rides.serialize(key="four", value={"fare": "much"})
        except confluent_kafka.serialization.SerializationError as error:
            refused = f"{isinstance(error, SerdeError)} {error}"

    frame = app.dataframe(rides)
    frame = frame.apply(lambda ride: ride and {"cents": int(100 * ride["fare"])})
    frame.to_topic(copies)
    app.run(frame, count=3, timeout=DEADLINE_S)

    app = application()
    copies = app.topic(f"{topic}.copy", value_deserializer=read, key_deserializer=keys["key_deserializer"])
    seen = app.run(app.dataframe(copies), count=3, timeout=DEADLINE_S, metadata=True)
    assert letters.flush(DEADLINE_S) == 0
    facts = {
        "confluent_kafka": confluent_kafka.__version__,
        "seen": [[row["_key"], row.get("cents"), sorted(name for name, _ in row["_headers"] or [])] for row in seen],
        "reported": reported,
        "refused": refused,
    }
    sys.stdout.write(json.dumps(facts))


main(*sys.argv[1:])
