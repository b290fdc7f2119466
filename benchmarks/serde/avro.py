"""Avro serializer and deserializer beside confluent-kafka's, one message at a time, behind the same call.

    python benchmarks/serde/avro.py [--rounds 30] [--assert]

Both use a registry in this process, so that no network is measured, and everything is warm. Each schema is measured
with the accelerator and with generated Python code (see docs/accelerator.md), and beside fastavro's bare functions. How
time is measured is in ``measure.py``.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import fastavro
import pyarrow as pa
from confluent_kafka.schema_registry import RegisteredSchema as TheirRegistered
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from measure import Candidate, Report, over

from counterfoil.schema.model import Schema
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.sdk.serde.accelerator import REQUIRED, USED
from counterfoil.sdk.serde.avro import AvroDeserializer, AvroSerializer

if TYPE_CHECKING:
    from collections.abc import Sequence

MESSAGES: Final = 64
BATCH: Final = 8192
ARROW_GOAL: Final = 40.0
EVOLVED_GOAL: Final = 1 / 1.15
"""An evolved reader takes at most 15 % more time than none."""

RIDE = {
    "type": "record",
    "name": "RideRecord",
    "namespace": "bench",
    "fields": [
        {"name": "vendor_id", "type": "int"},
        {"name": "passenger_count", "type": "int"},
        {"name": "trip_distance", "type": "float"},
        {"name": "payment_type", "type": "int"},
        {"name": "total_amount", "type": "float"},
    ],
}
TRIP = {
    "type": "record",
    "name": "Trip",
    "namespace": "bench",
    "fields": [
        {"name": "trip_id", "type": "string"},
        {"name": "vendor_id", "type": "int"},
        {"name": "pickup_ms", "type": "long"},
        {"name": "dropoff_ms", "type": "long"},
        {"name": "passenger_count", "type": "int"},
        {"name": "trip_distance", "type": "double"},
        {"name": "rate_code", "type": "int"},
        {"name": "is_stored", "type": "boolean"},
        {"name": "pickup_zone", "type": "string"},
        {"name": "dropoff_zone", "type": "string"},
        {"name": "payment_type", "type": "string"},
        {"name": "fare_amount", "type": "double"},
        {"name": "tip_amount", "type": "double"},
        {"name": "total_amount", "type": "double"},
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
        {"name": "coupon", "type": ["null", "string"], "default": None},
        {"name": "item_count", "type": "int"},
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


def trips(count: int) -> list[dict[str, Any]]:
    """Return trips as in a feed."""
    draw = Random(9)
    zones = ["JFK Airport", "Midtown East", "Harlem", "Astoria", "Upper West Side"]
    return [
        {
            "trip_id": f"{draw.getrandbits(64):016x}",
            "vendor_id": draw.randint(1, 2),
            "pickup_ms": 1_700_000_000_000 + draw.randrange(10**10),
            "dropoff_ms": 1_700_000_000_000 + draw.randrange(10**10),
            "passenger_count": draw.randint(1, 6),
            "trip_distance": draw.uniform(0.3, 30),
            "rate_code": draw.randint(1, 6),
            "is_stored": draw.random() < 0.1,
            "pickup_zone": draw.choice(zones),
            "dropoff_zone": draw.choice(zones),
            "payment_type": draw.choice(["card", "cash"]),
            "fare_amount": draw.uniform(5, 90),
            "tip_amount": draw.uniform(0, 20),
            "total_amount": draw.uniform(5, 110),
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
            "coupon": perhaps("SUMMER"),
            "item_count": draw.randint(1, 9),
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


@dataclass(frozen=True)
class Case:
    """A schema with messages, and the goals of writing and reading for each tier."""

    name: str
    document: dict[str, Any]
    values: Sequence[dict[str, Any]]
    accelerated: tuple[float | None, float | None]
    generated: tuple[float | None, float | None]


CASES = (
    Case("5 fields", RIDE, rides(MESSAGES), (None, None), (6.0, 12.0)),
    Case("14 fields", TRIP, trips(MESSAGES), (16.0, 20.0), (2.5, 6.0)),
    Case("22 fields, logical types", ORDER, orders(MESSAGES), (12.0, 16.0), (2.7, 5.0)),
)
CONTEXT = SerializationContext("bench", MessageField.VALUE)


def evolved(document: dict[str, Any]) -> str:
    """Return a later schema: one field dropped, two added, one promoted, one renamed."""
    fields = [dict(field) for field in document["fields"]]
    promoted = next(field for field in fields if field["type"] == "int")
    promoted["type"] = "long"
    renamed = next(field for field in fields if field["type"] == "string" or field is fields[-2])
    renamed.update(name=f"{renamed['name']}_renamed", aliases=[renamed["name"]])
    dropped = next(field for field in reversed(fields) if field not in (promoted, renamed))
    fields.remove(dropped)
    fields += [
        {"name": "added", "type": "string", "default": "none"},
        {"name": "added_later", "type": ["null", "int"], "default": None},
    ]
    return json.dumps({**document, "fields": fields})


class Codecs:
    """Our serializer and deserializers for one case, all of one tier."""

    def __init__(self, case: Case, *, accelerated: bool) -> None:
        os.environ[USED] = "on" if accelerated else "off"
        text = json.dumps(case.document)
        self.write = AvroSerializer(OurRegistry(text), text)
        self.read = AvroDeserializer(OurRegistry(text))
        self.read_evolved = AvroDeserializer(OurRegistry(text), reader=evolved(case.document))
        first = self.write(case.values[0], CONTEXT)
        for read in (self.read, self.read_evolved):
            read(first, CONTEXT)  # the tier is chosen when the first message comes


def measure(report: Report, case: Case) -> None:
    """Print the rows of one schema."""
    text = json.dumps(case.document)
    conf = {"subject.name.strategy": topic_subject_name_strategy}
    theirs_out = TheirSerializer(TheirRegistry(text), text, conf=conf)
    theirs_in = TheirDeserializer(TheirRegistry(text), conf=conf)
    theirs_evolved = TheirDeserializer(TheirRegistry(text), evolved(case.document), conf=conf)
    fast, plain = Codecs(case, accelerated=True), Codecs(case, accelerated=False)
    messages = [theirs_out(value, CONTEXT) for value in case.values]
    for codecs in (fast, plain):
        check(f"{case.name}: write", [codecs.write(value, CONTEXT) for value in case.values], messages)
        check(
            f"{case.name}: read",
            [codecs.read(one, CONTEXT) for one in messages],
            [theirs_in(one, CONTEXT) for one in messages],
        )
        evolved_values = [theirs_evolved(one, CONTEXT) for one in messages]
        check(f"{case.name}: evolved", [codecs.read_evolved(one, CONTEXT) for one in messages], evolved_values)

    measure_batch(report, case, messages, theirs_in)
    parsed = fastavro.parse_schema(case.document)
    bodies = [data[5:] for data in messages]

    def bare_write(value: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        return out.getvalue()

    def bare_read(body: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(body), parsed, None)

    def compare(what: str, peer: Candidate, *ours: tuple[Candidate, float | None]) -> None:
        report.compare(f"{case.name}: {what}", peer, *ours, messages=MESSAGES)

    compare(
        "write",
        Candidate("confluent-kafka", over(theirs_out, case.values, CONTEXT)),
        (Candidate("fastavro, bare", over(bare_write, case.values)), None),
        (Candidate("generated Python", over(plain.write, case.values, CONTEXT)), case.generated[0]),
        (Candidate("accelerator", over(fast.write, case.values, CONTEXT)), case.accelerated[0]),
    )
    compare(
        "read",
        Candidate("confluent-kafka", over(theirs_in, messages, CONTEXT)),
        (Candidate("fastavro, bare", over(bare_read, bodies)), None),
        (Candidate("generated Python", over(plain.read, messages, CONTEXT)), case.generated[1]),
        (Candidate("accelerator", over(fast.read, messages, CONTEXT)), case.accelerated[1]),
    )
    for tier, codecs in (("generated Python", plain), ("accelerator", fast)):
        compare(
            f"evolved, {tier}",
            Candidate("no reader", over(codecs.read, messages, CONTEXT)),
            (Candidate("evolved reader", over(codecs.read_evolved, messages, CONTEXT)), EVOLVED_GOAL),
            (Candidate("confluent-kafka, evolved", over(theirs_evolved, messages, CONTEXT)), None),
        )


def measure_batch(report: Report, case: Case, messages: Sequence[bytes], theirs: Any) -> None:
    """Print the row of a batch as an Arrow table."""
    text = json.dumps(case.document)
    batch = [*messages] * (BATCH // MESSAGES)
    fast = AvroDeserializer(OurRegistry(text))
    os.environ[USED] = "on"
    fast.arrow(batch)
    os.environ[USED] = "off"
    plain = AvroDeserializer(OurRegistry(text))
    plain.arrow(batch[:1])
    report.compare(
        f"{case.name}: batch to Arrow",
        Candidate(
            "confluent-kafka, from_pylist", lambda: pa.Table.from_pylist([theirs(one, CONTEXT) for one in batch])
        ),
        (Candidate("generated Python", lambda: plain.arrow(batch)), None),
        (Candidate("accelerator", lambda: fast.arrow(batch)), ARROW_GOAL),
        messages=BATCH,
    )


def check(what: str, ours: Any, theirs: Any) -> None:
    """End the program if the results differ."""
    if list(ours) != list(theirs):
        raise SystemExit(f"{what}: the results differ")


def main() -> int:
    os.environ[REQUIRED] = "1"
    report = Report.from_arguments(__doc__.splitlines()[0])
    for case in CASES:
        measure(report, case)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
