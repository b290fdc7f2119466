"""Write the rides of a file to the topic; the key is the row's number: `python produce.py ../rides/rides.csv`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from confluent_kafka import Producer
from settings import BROKER, REGISTRY, RIDE_SCHEMA, TOPIC

from counterfoil.sdk import AvroSerializer, Registry


def main(path: str, count: int) -> None:
    """Write the first ``count`` rides."""
    with Registry(REGISTRY) as registry, Path(path).open() as file:
        serialize = AvroSerializer(registry, RIDE_SCHEMA).bind(TOPIC)
        producer = Producer({"bootstrap.servers": BROKER})
        for number, row in zip(range(count), csv.DictReader(file), strict=False):
            ride = {
                "vendorId": row["VendorID"],
                "passenger_count": int(row["passenger_count"]),
                "trip_distance": float(row["trip_distance"]),
                "total_amount": float(row["total_amount"]),
            }
            producer.produce(TOPIC, key=str(number), value=serialize(ride))
        producer.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)  # noqa: PLR2004 - a number after the path
