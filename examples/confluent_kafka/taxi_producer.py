"""Write taxi rides, with Confluent's classes: only the two import lines below say where they come from.

    python taxi_producer.py ../rides/rides.csv

With `confluent_kafka.schema_registry` in place of `counterfoil.sdk.confluent` it is the same program.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.serialization import MessageField, SerializationContext
from settings import BROKER, REGISTRY, RIDE_KEY_SCHEMA, RIDE_VALUE_SCHEMA, TOPIC

from counterfoil.sdk.confluent import SchemaRegistryClient
from counterfoil.sdk.confluent.avro import AvroSerializer


class Ride:
    """A ride."""

    def __init__(self, row: dict[str, str]) -> None:
        self.vendor_id = int(row["VendorID"])
        self.passenger_count = int(row["passenger_count"])
        self.trip_distance = float(row["trip_distance"])
        self.total_amount = float(row["total_amount"])


def ride_to_dict(ride: Ride, _: SerializationContext) -> dict[str, Any]:
    return vars(ride)


def key_to_dict(vendor_id: int, _: SerializationContext) -> dict[str, Any]:
    return {"vendor_id": vendor_id}


def main(path: str, count: int) -> int:
    client = SchemaRegistryClient({"url": REGISTRY})
    key_serializer = AvroSerializer(client, RIDE_KEY_SCHEMA, key_to_dict)
    value_serializer = AvroSerializer(client, RIDE_VALUE_SCHEMA, ride_to_dict)
    producer = Producer({"bootstrap.servers": BROKER})
    refused = 0
    with Path(path).open() as file:
        for _, row in zip(range(count), csv.DictReader(file), strict=False):
            ride = Ride(row)
            try:
                producer.produce(
                    topic=TOPIC,
                    key=key_serializer(ride.vendor_id, SerializationContext(TOPIC, MessageField.KEY)),
                    value=value_serializer(ride, SerializationContext(TOPIC, MessageField.VALUE)),
                )
            except Exception as error:  # noqa: BLE001 - such as the registry's refusal of a changed schema
                print(f"Not produced: {error}")
                refused += 1
    producer.flush()
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000))  # noqa: PLR2004 - a second argument
