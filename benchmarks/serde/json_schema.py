"""JSON serializer and deserializer beside confluent-kafka's, one message at a time, behind the same call.

    python benchmarks/serde/json_schema.py [--rounds 30] [--assert]

Both use a registry in this process, so that no network is measured, and everything is warm. The record is a taxi ride
of 22 fields, about 800 bytes. Messages with a null are measured on their own, since a null that is written may come
from a number that is not finite, which costs a second look. How time is measured is in ``measure.py``.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson
from confluent_kafka.schema_registry import RegisteredSchema as TheirRegistered
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import topic_subject_name_strategy
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from measure import Candidate, Report, over

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.sdk.serde.json import JsonDeserializer, JsonSerializer

if TYPE_CHECKING:
    from collections.abc import Sequence

MESSAGES: Final = 64
PREFIX: Final = b"\0\0\0\0\1"
PLACE = {
    "type": "object",
    "properties": {
        "zone": {"type": "integer", "minimum": 1},
        "name": {"type": "string", "maxLength": 80},
        "borough": {"enum": ["Manhattan", "Queens", "Bronx"]},
        "lat": {"type": "number"},
        "lon": {"type": "number"},
    },
    "required": ["zone", "name"],
    "additionalProperties": False,
}
MONEY = {"type": "number", "minimum": 0}
INSTANT = {"type": "integer", "minimum": 0}
RIDE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Ride",
    "type": "object",
    "properties": {
        "ride_id": {"type": "string"},
        "vendor": {"type": "integer"},
        "pickup": {"$ref": "#/definitions/place"},
        "dropoff": {"$ref": "#/definitions/place"},
        "via": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/place"}]},
        "stops": {"type": "array", "items": {"$ref": "#/definitions/place"}},
        "status": {"enum": ["NEW", "RUNNING", "DONE"]},
        "channel": {"enum": ["WEB", "APP", "STREET"]},
        "fare": MONEY,
        "tip": MONEY,
        "tolls": MONEY,
        "total": MONEY,
        "requested_at": INSTANT,
        "started_at": INSTANT,
        "ended_at": INSTANT,
        "passengers": {"type": "integer", "minimum": 1, "maximum": 6},
        "distance": {"type": "number"},
        "is_shared": {"type": "boolean"},
        "note": {"type": ["string", "null"]},
        "promo": {"type": ["string", "null"]},
        "driver": {"type": "integer"},
        "car": {"type": "string"},
    },
    "required": ["ride_id", "vendor", "pickup", "dropoff", "fare", "requested_at"],
    "additionalProperties": False,
    "definitions": {"place": PLACE},
}
CONTEXT: Final = SerializationContext("rides", MessageField.VALUE)


class Place(msgspec.Struct):
    """A place as a class."""

    zone: int
    name: str
    borough: str
    lat: float
    lon: float


class Ride(msgspec.Struct):
    """A ride as a class."""

    ride_id: str
    vendor: int
    pickup: Place
    dropoff: Place
    via: Place | None
    stops: list[Place]
    status: str
    channel: str
    fare: float
    tip: float
    tolls: float
    total: float
    requested_at: int
    started_at: int
    ended_at: int
    passengers: int
    distance: float
    is_shared: bool
    note: str | None
    promo: str | None
    driver: int
    car: str


def rides(count: int, *, with_null: bool) -> list[dict[str, Any]]:
    """Return rides as in a feed."""
    draw = Random(5)
    return [_ride(draw, number, with_null=with_null) for number in range(count)]


def _place(draw: Random) -> dict[str, Any]:
    zone = draw.randint(1, 263)
    borough = draw.choice(["Manhattan", "Queens", "Bronx"])
    lat, lon = round(draw.uniform(40.5, 40.9), 6), round(draw.uniform(-74.2, -73.7), 6)
    return {"zone": zone, "name": f"Zone number {zone}", "borough": borough, "lat": lat, "lon": lon}


def _ride(draw: Random, number: int, *, with_null: bool) -> dict[str, Any]:
    start = 1_763_800_000_000_000 + number * 1_000_003
    fare, tip = round(draw.uniform(3, 80), 2), round(draw.uniform(0, 9), 2)
    return {
        "ride_id": f"b5f1c8de-22f1-4d3c-8a77-{number:012d}",
        "vendor": draw.randint(1, 2),
        "pickup": _place(draw),
        "dropoff": _place(draw),
        "via": None if with_null else _place(draw),
        "stops": [_place(draw), _place(draw)],
        "status": "DONE",
        "channel": draw.choice(["WEB", "APP", "STREET"]),
        "fare": fare,
        "tip": tip,
        "tolls": 0.0,
        "total": fare + tip,
        "requested_at": start,
        "started_at": start + 300_000_000,
        "ended_at": start + 1_500_000_000,
        "passengers": draw.randint(1, 4),
        "distance": round(draw.uniform(0.3, 30), 2),
        "is_shared": False,
        "note": None if with_null else "to the airport",
        "promo": None if with_null else "SUMMER",
        "driver": draw.randint(1, 900_000),
        "car": "TLC-1234",
    }


class OurRegistry:
    """A registry of one schema, in this process."""

    schema = Schema(json.dumps(RIDE), SchemaType.JSON)

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:  # noqa: ARG002
        """Return the schema, with the id 1."""
        return RegisteredSchema(subject, 1, 1, None, schema)

    def schema_by_id(self, schema_id: int) -> Schema:  # noqa: ARG002
        """Return the schema."""
        return self.schema


class TheirRegistry:
    """The same for confluent-kafka's serializers."""

    schema = TheirSchema(json.dumps(RIDE), "JSON")

    def config(self) -> dict[str, Any]:
        """Return no settings."""
        return {}

    def register_schema_full_response(self, subject: str, schema: TheirSchema, **_more: object) -> TheirRegistered:
        """Return the schema, with the id 1."""
        return TheirRegistered(schema_id=1, guid=None, schema=schema, subject=subject, version=1)

    def get_schema(self, *_args: object, **_more: object) -> TheirSchema:
        """Return the schema."""
        return self.schema


def their_writer(*, validate: bool) -> JSONSerializer:
    conf = {"subject.name.strategy": topic_subject_name_strategy, "validate": validate}
    return JSONSerializer(TheirRegistry.schema, TheirRegistry(), conf=conf)


def their_reader(*, validate: bool) -> JSONDeserializer:
    conf = {"subject.name.strategy": topic_subject_name_strategy, "validate": validate}
    return JSONDeserializer(None, None, TheirRegistry(), conf)


def calling(name: str, serde: Any, messages: Sequence[Any]) -> Candidate:
    return Candidate(name, over(lambda message: serde(message, CONTEXT), messages))


def main() -> int:
    report = Report.from_arguments(__doc__ or "")
    registry = OurRegistry()
    for with_null in (False, True):
        values = rides(MESSAGES, with_null=with_null)
        suffix = ", with null" if with_null else ""
        writer, fast_writer = (JsonSerializer(registry, registry.schema, validate=each) for each in (True, False))
        reader, fast_reader = (JsonDeserializer(registry, validate=each) for each in (True, False))
        data = [writer(value, CONTEXT) for value in values]
        assert data == [their_writer(validate=True)(value, CONTEXT) for value in values]
        assert [reader(each, CONTEXT) for each in data] == [their_reader(validate=True)(each, CONTEXT) for each in data]
        bare = Candidate("orjson alone", over(lambda value: PREFIX + orjson.dumps(value), values))
        bare_read = Candidate("orjson alone", over(lambda each: orjson.loads(each[5:]), data))
        report.compare(
            f"write, validated{suffix}",
            calling("confluent-kafka", their_writer(validate=True), values),
            (calling("counterfoil", writer, values), 60),
            messages=MESSAGES,
        )
        report.compare(
            f"read, validated{suffix}",
            calling("confluent-kafka", their_reader(validate=True), data),
            (calling("counterfoil", reader, data), 45),
            (calling("counterfoil, into msgspec", JsonDeserializer(registry, model=Ride), data), 100),
            messages=MESSAGES,
        )
        report.compare(
            f"write, not validated{suffix}",
            calling("confluent-kafka", their_writer(validate=False), values),
            (calling("counterfoil", fast_writer, values), 3.5),
            (bare, None),
            messages=MESSAGES,
        )
        report.compare(
            f"read, not validated{suffix}",
            calling("confluent-kafka", their_reader(validate=False), data),
            (calling("counterfoil", fast_reader, data), 5),
            (bare_read, None),
            messages=MESSAGES,
        )
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
