"""Sum the fares of each batch of rides, each ride exactly once: the sums and the offsets are in one transaction.

    python transaction.py [NUMBER OF RIDES]

Rides that cannot be read become dead letters, in the same transaction.
"""

from __future__ import annotations

import sys

from confluent_kafka import Consumer, SerializingProducer
from settings import BROKER, GROUP, REGISTRY, TOPIC

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry, SerdeError
from counterfoil.sdk.adapters.confluent_kafka import consume_batch
from counterfoil.sdk.adapters.dead_letters import dead_letter

FARES, DEAD_LETTERS = f"{TOPIC}.fares", f"{TOPIC}.dead-letters"
SUM_SCHEMA = """{"type": "record", "name": "Sum", "fields": [
  {"name": "rides", "type": "int"},
  {"name": "fares", "type": "double"}
]}"""


def main(count: int) -> None:
    registry = Registry(REGISTRY)
    read_ride, write_sum = AvroDeserializer(registry), AvroSerializer(registry, SUM_SCHEMA)
    write_sum.warm(topic=FARES)  # raises what is wrong with schema or registry before the first ride is read
    settings = {"bootstrap.servers": BROKER, "group.id": GROUP, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False, "isolation.level": "read_committed"})
    consumer.subscribe([TOPIC])
    to_bytes = write_sum.bind(FARES)
    producer = SerializingProducer({"bootstrap.servers": BROKER, "transactional.id": GROUP})
    producer.init_transactions()
    while count:
        batch = consume_batch(consumer, 500, 1.0, value_deserializer=read_ride)
        if not batch:
            continue
        rides = [each.value for each in batch if each.value is not None]
        total = {"rides": len(rides), "fares": sum(ride["total_amount"] for ride in rides)}
        producer.begin_transaction()
        try:
            for each in batch:
                if isinstance(each.error, SerdeError):
                    producer.produce(DEAD_LETTERS, **dead_letter(each.record, each.error))
            producer.produce(FARES, value=to_bytes(total))
            offsets = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())
            producer.commit_transaction()
        except Exception:
            producer.abort_transaction()
            raise
        print(total, flush=True)
        count -= len(batch)
    consumer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else -1)
