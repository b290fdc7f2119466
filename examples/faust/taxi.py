"""What the three applications share: the ride, the registry, the topics with their schemas."""

from __future__ import annotations

import faust
from settings import BROKER, REGISTRY, RIDE_SCHEMA, TOPIC

from counterfoil.sdk import AsyncRegistry, AvroDeserializer, AvroSerializer
from counterfoil.sdk.adapters.faust import RegistrySchema

registry = AsyncRegistry(REGISTRY)


class TaxiRide(faust.Record):
    """A ride, as agents see it."""

    vendorId: str  # noqa: N815 - the field's name in the schema
    passenger_count: int
    trip_distance: float
    total_amount: float


def new_app(name: str) -> faust.App:
    """Return an application with a consumer group of its own."""
    return faust.App(f"{TOPIC}-{name}", broker=f"kafka://{BROKER}", topic_partitions=1)


def rides_topic(app: faust.App, name: str = TOPIC) -> faust.types.TopicT:
    """Return a topic of rides, whose values are framed with the id of their schema."""
    schema = RegistrySchema(
        serialize_value=AvroSerializer(registry, RIDE_SCHEMA),
        deserialize_value=AvroDeserializer(registry),
        dead_letters=app.topic(f"{TOPIC}.dead-letters", value_serializer="raw"),
    )
    return app.topic(name, value_type=TaxiRide, schema=schema)
