"""Print taxi rides, with Confluent's classes: only the two import lines below say where they come from.

    python taxi_consumer.py

With `confluent_kafka.schema_registry` in place of `counterfoil.sdk.confluent` it is the same program.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.serialization import MessageField, SerializationContext
from settings import BROKER, GROUP, REGISTRY, RIDE_KEY_SCHEMA, RIDE_VALUE_SCHEMA, TOPIC

from counterfoil.sdk.confluent import SchemaRegistryClient
from counterfoil.sdk.confluent.avro import AvroDeserializer


def dict_to_ride(fields: dict[str, Any], _: SerializationContext) -> SimpleNamespace:
    return SimpleNamespace(**fields)


def main(count: int) -> None:
    client = SchemaRegistryClient({"url": REGISTRY})
    key_deserializer = AvroDeserializer(schema_registry_client=client, schema_str=RIDE_KEY_SCHEMA)
    value_deserializer = AvroDeserializer(
        schema_registry_client=client, schema_str=RIDE_VALUE_SCHEMA, from_dict=dict_to_ride
    )
    consumer = Consumer({"bootstrap.servers": BROKER, "group.id": GROUP, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    while count:
        message = consumer.poll(1.0)
        if message is None:
            continue
        key = key_deserializer(message.key(), SerializationContext(message.topic(), MessageField.KEY))
        ride = value_deserializer(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
        print(f"{key['vendor_id']}: {ride.trip_distance} miles for {ride.total_amount}", flush=True)
        count -= 1
    consumer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else -1)
