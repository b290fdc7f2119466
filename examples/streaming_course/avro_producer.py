"""Write rides as Avro, with a schema for the key and one for the value.

    python avro_producer.py TOPIC VERSION COUNT

Version 1 has ``total_amount`` as a float, version 2 as a string.
"""

from __future__ import annotations

import sys

import settings
from confluent_kafka import Producer

from counterfoil.schema.errors import IncompatibleSchema
from counterfoil.sdk import AvroSerializer, MessageField, Registry


def main(topic: str, version: int, count: int) -> int:
    """Write the rides, and return the exit status: 1 if the registry refuses the schema."""
    producer = Producer({"bootstrap.servers": settings.BROKER})
    with Registry(settings.REGISTRY) as registry:
        key = AvroSerializer(registry, settings.schema("ride_key.avsc")).bind(topic, MessageField.KEY)
        value = AvroSerializer(registry, settings.schema(f"ride_v{version}.avsc")).bind(topic)
        for row in settings.rows(count):
            ride = {
                "vendor_id": int(row["VendorID"]),
                "passenger_count": int(row["passenger_count"]),
                "trip_distance": float(row["trip_distance"]),
                "payment_type": int(row["payment_type"]),
                "total_amount": settings.total_amount(row, version),
            }
            try:
                producer.produce(topic, key=key({"vendor_id": ride["vendor_id"]}), value=value(ride))
            except IncompatibleSchema as refusal:
                print(f"the registry answered {refusal.status}: {refusal}")
                return 1
    producer.flush()
    print(f"{count} rides of version {version} written to {topic}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
