"""Read rides of version 1 as plain JSON and add up what they cost: a service that has not moved.

python json_consumer.py COUNT
"""

from __future__ import annotations

import json
import sys

import settings
from confluent_kafka import Consumer


def main(count: int) -> None:
    """Read ``count`` rides from where the group stopped, and print their number, their sum and the last row."""
    group = {"group.id": f"{settings.JSON_TOPIC}-sums", "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": settings.BROKER, **group})
    consumer.subscribe([settings.JSON_TOPIC])
    total, row = 0.0, 0
    for _ in range(count):
        message = consumer.poll(60)
        total += json.loads(message.value())["total_amount"]
        row = int(message.key())
    consumer.commit()
    consumer.close()
    print(f"{count} rides cost {total:.2f}, the last is row {row}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
