"""Avro serializer and deserializer against confluent-kafka's, one message at a time, behind the same call.

    python benchmarks/bench_serde.py [--rounds 30] [--assert]

Both use a registry in this process, so that no network is measured, and everything is warm. The candidates take turns
in short slices, and the median slice of each is compared: only the ratios can be compared with another machine. With
``--assert`` the exit code is 1 if a ratio is below 70 % of its goal; the rest is a margin for noise.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import fastavro
from confluent_kafka.schema_registry import RegisteredSchema as TheirRegistered
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.schema.model import Schema
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.sdk.serde.avro import AvroDeserializer, AvroSerializer

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL_SERIALIZER = 2.2
GOAL_DESERIALIZER = 3.5
SLICE_S = 0.02

TAXI = {
    "type": "record",
    "name": "RideRecord",
    "namespace": "com.datatalksclub.taxi",
    "fields": [
        {"name": "vendor_id", "type": "int"},
        {"name": "passenger_count", "type": "int"},
        {"name": "trip_distance", "type": "float"},
        {"name": "payment_type", "type": "int"},
        {"name": "total_amount", "type": "float"},
    ],
}
PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [
        {"name": "zone", "type": "int"},
        {"name": "name", "type": "string"},
        {"name": "lat", "type": "double"},
        {"name": "lon", "type": "double"},
    ],
}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
INSTANT = {"type": "long", "logicalType": "timestamp-micros"}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "bench",
    "fields": [
        {"name": "order_id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "customer_id", "type": "long"},
        {"name": "vendor_id", "type": "int"},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SENT", "DONE"]}},
        {"name": "channel", "type": {"type": "enum", "name": "Channel", "symbols": ["WEB", "APP", "SHOP"]}},
        {"name": "is_gift", "type": "boolean"},
        {"name": "created_at", "type": INSTANT},
        {"name": "paid_at", "type": ["null", INSTANT], "default": None},
        {"name": "sent_at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
        {"name": "delivery_day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "delivery_from", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "net", "type": MONEY},
        {"name": "tax", "type": MONEY},
        {"name": "total", "type": MONEY},
        {"name": "discount", "type": ["null", "double"], "default": None},
        {"name": "comment", "type": ["null", "string"], "default": None},
        {"name": "pickup", "type": PLACE},
        {"name": "dropoff", "type": ["null", "Place"], "default": None},
        {"name": "stops", "type": {"type": "array", "items": "Place"}},
        {"name": "labels", "type": {"type": "map", "values": "string"}},
    ],
}


def rides(count: int) -> list[dict[str, Any]]:
    """Return taxi rides as in a feed."""
    draw = Random(7)
    return [
        {
            "vendor_id": draw.randint(1, 2),
            "passenger_count": draw.randint(1, 6),
            "trip_distance": round(draw.uniform(0.3, 30), 2),
            "payment_type": draw.randint(1, 4),
            "total_amount": round(draw.uniform(5, 90), 2),
        }
        for _ in range(count)
    ]


def orders(count: int) -> list[dict[str, Any]]:
    """Return orders with every optional field set in about half of them."""
    draw = Random(11)
    first = datetime(2024, 1, 1, tzinfo=UTC)

    def instant() -> datetime:
        return first + timedelta(microseconds=draw.randrange(10**13))

    def place() -> dict[str, Any]:
        name = draw.choice(["Harbour", "Airport", "Old Town", "Station Square"])
        return {"zone": draw.randint(1, 260), "name": name, "lat": draw.uniform(40, 41), "lon": draw.uniform(-74, -73)}

    def money() -> Decimal:
        return Decimal(draw.randrange(10**6)).scaleb(-2)

    def perhaps(value: Any) -> Any:
        return value if draw.random() < 0.5 else None

    return [
        {
            "order_id": UUID(int=draw.getrandbits(128)),
            "customer_id": draw.randrange(10**7),
            "vendor_id": draw.randint(1, 2),
            "status": draw.choice(["NEW", "PAID", "SENT", "DONE"]),
            "channel": draw.choice(["WEB", "APP", "SHOP"]),
            "is_gift": draw.random() < 0.1,
            "created_at": instant(),
            "paid_at": perhaps(instant()),
            "sent_at": perhaps(instant().replace(microsecond=250_000)),
            "delivery_day": date(2024, 1, 1) + timedelta(days=draw.randrange(400)),
            "delivery_from": clock_time(draw.randrange(24), draw.randrange(60)),
            "net": money(),
            "tax": money(),
            "total": money(),
            "discount": perhaps(draw.uniform(0, 10)),
            "comment": perhaps("leave it with the neighbour"),
            "pickup": place(),
            "dropoff": perhaps(place()),
            "stops": [place() for _ in range(draw.randrange(3))],
            "labels": {"source": "campaign", "tier": "gold"},
        }
        for _ in range(count)
    ]


class OurRegistry:
    """A registry with one schema, whose id is 1."""

    def __init__(self, text: str) -> None:
        self.schema = Schema(text)

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Return id 1 and version 1 for any schema."""
        _ = normalize
        return RegisteredSchema(subject, 1, 1, None, schema)

    def schema_by_id(self, schema_id: int) -> Schema:
        """Return the one schema."""
        _ = schema_id
        return self.schema


class TheirRegistry:
    """The same registry for confluent-kafka, with the methods that its serializers call."""

    def __init__(self, text: str) -> None:
        self.schema = TheirSchema(text, "AVRO")

    def config(self) -> dict[str, Any]:
        """Return no settings."""
        return {}

    def register_schema_full_response(self, subject: str, schema: Any, normalize_schemas: bool = False) -> Any:  # noqa: FBT001, FBT002 - their signature
        """Return id 1 and version 1 for any schema."""
        _ = normalize_schemas
        return TheirRegistered(schema_id=1, guid=None, schema=schema, subject=subject, version=1)

    def get_schema(self, schema_id: int, *_args: Any, **_kwargs: Any) -> Any:
        """Return the one schema."""
        _ = schema_id
        return self.schema


@dataclass
class Candidate:
    """One implementation: ``run`` handles all messages once; ``slices`` are seconds per message."""

    name: str
    run: Callable[[], None]
    slices: list[float]


def take_turns(candidates: list[Candidate], *, rounds: int, messages: int) -> None:
    """Fill the slices: in every round each candidate runs for about the same time."""
    for candidate in candidates:
        candidate.run()
    for _ in range(rounds):
        for candidate in candidates:
            passes = 0
            start = time.perf_counter()
            while (elapsed := time.perf_counter() - start) < SLICE_S:
                candidate.run()
                passes += 1
            candidate.slices.append(elapsed / (passes * messages))


def over(work: Callable[[Any], object], items: list[Any]) -> Callable[[], None]:
    """Return a function that does the work for every item."""

    def run() -> None:
        for item in items:
            work(item)

    return run


def measure(name: str, document: dict[str, Any], values: list[dict[str, Any]], rounds: int) -> list[tuple[str, float]]:
    """Print a table for one schema; return the two ratios."""
    text = json.dumps(document)
    ctx = SerializationContext("bench", MessageField.VALUE)
    conf = {"subject.name.strategy": topic_subject_name_strategy}
    ours_out, ours_in = AvroSerializer(OurRegistry(text), text), AvroDeserializer(OurRegistry(text))
    theirs_out = TheirSerializer(TheirRegistry(text), text, conf=conf)
    theirs_in = TheirDeserializer(TheirRegistry(text), conf=conf)
    parsed = fastavro.parse_schema(document)
    messages = [theirs_out(value, ctx) for value in values]
    if [ours_out(value, ctx) for value in values] != messages:
        raise SystemExit(f"{name}: the serializers differ")
    if [ours_in(data, ctx) for data in messages] != [theirs_in(data, ctx) for data in messages]:
        raise SystemExit(f"{name}: the deserializers differ")

    def bare_write(value: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        return out.getvalue()

    bodies = [data[5:] for data in messages]
    writing = [
        Candidate("confluent-kafka", over(lambda value: theirs_out(value, ctx), values), []),
        Candidate("fastavro, bare", over(bare_write, values), []),
        Candidate("counterfoil", over(lambda value: ours_out(value, ctx), values), []),
    ]
    reading = [
        Candidate("confluent-kafka", over(lambda data: theirs_in(data, ctx), messages), []),
        Candidate(
            "fastavro, bare", over(lambda body: fastavro.schemaless_reader(io.BytesIO(body), parsed, None), bodies), []
        ),
        Candidate("counterfoil", over(lambda data: ours_in(data, ctx), messages), []),
    ]
    ratios = []
    for what, candidates in (("serialize", writing), ("deserialize", reading)):
        take_turns(candidates, rounds=rounds, messages=len(values))
        base = statistics.median(candidates[0].slices)
        for candidate in candidates:
            median = statistics.median(candidate.slices)
            print(f"{name:8} {what:12} {candidate.name:16} {median * 1e6:8.2f} µs  {base / median:5.2f} x")
        ratios.append((f"{name} {what}", base / statistics.median(candidates[-1].slices)))
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--messages", type=int, default=64)
    parser.add_argument("--assert", dest="is_asserting", action="store_true")
    options = parser.parse_args()
    ratios = measure("taxi", TAXI, rides(options.messages), options.rounds)
    ratios += measure("order", ORDER, orders(options.messages), options.rounds)
    missed = []
    for name, ratio in ratios:
        goal = GOAL_DESERIALIZER if name.endswith("deserialize") else GOAL_SERIALIZER
        print(f"{name:22} {ratio:5.2f} x confluent-kafka (goal {goal})")
        if ratio < 0.7 * goal:
            missed.append(name)
    if missed and options.is_asserting:
        print(f"under 70 % of the goal: {', '.join(missed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
