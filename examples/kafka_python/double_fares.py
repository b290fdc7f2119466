"""Consume rides, double their fares, produce them: `python double_fares.py [NUMBER OF RIDES]`."""

from __future__ import annotations

import os
import sys

from kafka import KafkaConsumer, KafkaProducer

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry
from counterfoil.sdk.adapters.dead_letters import dead_letter
from counterfoil.sdk.adapters.kafka_python import RegistrySerializer, poll_batch

BROKER = os.environ.get("BROKER", "localhost:9092")
REGISTRY = os.environ.get("REGISTRY", "http://localhost:8081")
TOPIC = os.environ.get("TOPIC", "taxi-rides")
DOUBLED, DEAD_LETTERS = f"{TOPIC}.doubled", f"{TOPIC}.dead-letters"
FARE_SCHEMA = '{"type": "record", "name": "Fare", "fields": [{"name": "fare", "type": "double"}]}'


def main(count: int) -> None:
    registry = Registry(REGISTRY)
    read_ride, write_fare = AvroDeserializer(registry), AvroSerializer(registry, FARE_SCHEMA)
    write_fare.warm(topic=DOUBLED)
    settings = {"bootstrap_servers": BROKER, "group_id": "double-fares", "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(TOPIC, **settings, enable_auto_commit=False)
    producer = KafkaProducer(bootstrap_servers=BROKER, value_serializer=RegistrySerializer(write_fare))
    letters = KafkaProducer(bootstrap_servers=BROKER)
    while count:
        for ride in poll_batch(consumer, 1000, value_deserializer=read_ride):
            if ride.error is not None:
                letters.send(DEAD_LETTERS, **dead_letter(ride.record, ride.error))
            elif ride.value is not None:
                producer.send(DOUBLED, key=ride.record.key, value={"fare": 2 * ride.value["total_amount"]})
            count -= 1
        letters.flush()
        producer.flush()
        consumer.commit()
    consumer.close()
    producer.close()
    letters.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else -1)
