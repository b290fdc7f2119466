"""Handle rides, answer with their fares doubled: `python double_fares.py`, or `faststream run double_fares:app`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from faststream import FastStream
from faststream.kafka import KafkaBroker

from counterfoil.sdk import AsyncRegistry, AvroDeserializer, AvroSerializer
from counterfoil.sdk.adapters.faststream import RegistryDecoder, parse, serializing

BROKER = os.environ.get("BROKER", "localhost:9092")
REGISTRY = os.environ.get("REGISTRY", "http://localhost:8081")
TOPIC = os.environ.get("TOPIC", "taxi-rides")
DOUBLED, DEAD_LETTERS = f"{TOPIC}.doubled", f"{TOPIC}.dead-letters"
FARE_SCHEMA = '{"type": "record", "name": "Fare", "fields": [{"name": "fare", "type": "double"}]}'

registry = AsyncRegistry(REGISTRY)
write_fare = AvroSerializer(registry, FARE_SCHEMA)
broker = KafkaBroker(BROKER, middlewares=[serializing(write_fare, topics={DOUBLED})])
decoder = RegistryDecoder(AvroDeserializer(registry), dead_letters=broker.publisher(DEAD_LETTERS))
app = FastStream(broker)


@app.on_startup
async def warm() -> None:
    await write_fare.warm(topic=DOUBLED)


@app.after_shutdown
async def close() -> None:
    await registry.close()


@broker.subscriber(TOPIC, group_id="double-fares", auto_offset_reset="earliest", parser=parse, decoder=decoder)
@broker.publisher(DOUBLED)
async def double(ride: dict[str, Any]) -> dict[str, Any]:
    return {"fare": 2 * ride["total_amount"]}


if __name__ == "__main__":
    asyncio.run(app.run())
