"""Consume rides, double their fares, produce them: `python double_fares.py [NUMBER OF RIDES]`.

What is written is warmed up before the first record: a wrong schema stops the program here. Keys and headers are passed
on. Rides that cannot be read become dead letters.
"""

from __future__ import annotations

import asyncio
import os
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from counterfoil.sdk import AsyncRegistry, AvroDeserializer, AvroSerializer
from counterfoil.sdk.adapters.aiokafka import RegistryConsumer, RegistryProducer
from counterfoil.sdk.adapters.dead_letters import dead_letter

BROKER = os.environ.get("BROKER", "localhost:9092")
REGISTRY = os.environ.get("REGISTRY", "http://localhost:8081")
TOPIC = os.environ.get("TOPIC", "taxi-rides")
DOUBLED, DEAD_LETTERS = f"{TOPIC}.doubled", f"{TOPIC}.dead-letters"
FARE_SCHEMA = '{"type": "record", "name": "Fare", "fields": [{"name": "fare", "type": "double"}]}'


async def main(count: int) -> None:
    async with (
        AsyncRegistry(REGISTRY) as registry,
        AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=BROKER,
            group_id="double-fares",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer,
        AIOKafkaProducer(bootstrap_servers=BROKER) as producer,
    ):
        rides = RegistryConsumer(consumer, value_deserializer=AvroDeserializer(registry))
        doubled = RegistryProducer(producer, value_serializer=AvroSerializer(registry, FARE_SCHEMA))
        await doubled.warm(DOUBLED)
        async for ride in rides:
            if ride.error is not None:
                await producer.send_and_wait(DEAD_LETTERS, **dead_letter(ride.record, ride.error))
            elif ride.value is not None:
                fare = {"fare": 2 * ride.value["total_amount"]}
                await doubled.send_and_wait(DOUBLED, fare, ride.key, headers=ride.record.headers)
            await consumer.commit()
            count -= 1
            if not count:
                return


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else -1))
