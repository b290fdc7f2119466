"""Write rides as plain JSON, one object for each row of the file; the key is the number of the row.

    python json_producer.py TOPIC VERSION COUNT

Version 1 has ``total_amount`` as a number, version 2 as a text. No registry is involved.
"""

from __future__ import annotations

import json
import sys

import settings
from confluent_kafka import Producer


def main(topic: str, version: int, count: int) -> None:
    """Write the rides."""
    producer = Producer({"bootstrap.servers": settings.BROKER})
    for number, row in enumerate(settings.rows(count)):
        ride = {
            "vendor_id": int(row["VendorID"]),
            "pickup": row["tpep_pickup_datetime"],
            "passenger_count": int(row["passenger_count"]),
            "trip_distance": float(row["trip_distance"]),
            "payment_type": int(row["payment_type"]),
            "total_amount": settings.total_amount(row, version),
        }
        producer.produce(topic, key=str(number).encode(), value=json.dumps(ride).encode())
    producer.flush()
    print(f"{count} rides of version {version} written to {topic}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
