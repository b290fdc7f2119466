"""Read rides of version 1 as Avro and add up what they cost: a service that has not moved.

python avro_consumer.py COUNT
"""

from __future__ import annotations

import sys

import settings
from confluent_kafka import Consumer

from counterfoil.sdk import AvroDeserializer, Registry


def main(count: int) -> None:
    """Read ``count`` rides from where the group stopped, and print their number and their sum."""
    group = {"group.id": f"{settings.AVRO_TOPIC}-sums", "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": settings.BROKER, **group})
    consumer.subscribe([settings.AVRO_TOPIC])
    total = 0.0
    with Registry(settings.REGISTRY) as registry:
        deserialize = AvroDeserializer(registry, reader=settings.schema("ride_v1.avsc"))
        for _ in range(count):
            message = consumer.poll(60)
            total += deserialize(message.value())["total_amount"]
    consumer.commit()
    consumer.close()
    print(f"{count} rides cost {total:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
