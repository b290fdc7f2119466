"""Read rides and write their fares doubled, with Quix Streams; what cannot be read goes to a topic of dead letters.

    python double_fares.py 1000

The argument is the number of messages after which it ends; without it, it does not end.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from quixstreams import Application

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry
from counterfoil.sdk.adapters.dead_letters import dead_letter
from counterfoil.sdk.adapters.quixstreams import RegistryDeserializer, RegistrySerializer, skip_and_report

if TYPE_CHECKING:
    from counterfoil.sdk import SerdeError

BROKER = os.environ.get("BROKER", "localhost:9092")
TOPIC = os.environ.get("TOPIC", "taxi-rides")
FARE = '{"type": "record", "name": "Fare", "fields": [{"name": "fare", "type": "double"}]}'


def double(ride: dict[str, Any] | None) -> dict[str, Any] | None:
    return ride and {"fare": 2 * ride["total_amount"]}


def main(count: int) -> None:
    letters = Producer({"bootstrap.servers": BROKER})
    seen = 0

    def see(_: object = None) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            app.stop()

    def report(message: Any, error: SerdeError) -> None:
        letters.produce(f"{TOPIC}.dead-letters", **dead_letter(message, error))
        letters.flush()
        see()

    with Registry(os.environ.get("REGISTRY", "http://localhost:8081")) as registry:
        app = Application(
            broker_address=BROKER,
            consumer_group=os.environ.get("GROUP", "double-fares"),
            auto_offset_reset="earliest",
            on_consumer_error=skip_and_report(report),
        )
        rides = app.topic(TOPIC, value_deserializer=RegistryDeserializer(AvroDeserializer(registry)))
        fares = app.topic(f"{TOPIC}.doubled", value_serializer=RegistrySerializer(AvroSerializer(registry, FARE)))
        app.dataframe(rides).apply(double).to_topic(fares).update(see)
        app.run()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
