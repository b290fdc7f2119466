"""Serializers with typed models beside confluent-kafka's with ``to_dict`` and ``from_dict``.

    python benchmarks/serde/models.py [--rounds 30] [--assert]

The record is a trip of 14 fields, one of them a nested place, one an enum. confluent-kafka gets the fastest functions
that a program can write by hand, and ``dataclasses.asdict`` beside them. The rows of ``plain values`` measure the
generated code alone, without codec and frame, beside functions by hand and beside msgspec's. How time is measured is
in ``measure.py``.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec
import pydantic
from avro import CONTEXT, MESSAGES, OurRegistry, TheirDeserializer, TheirRegistry, TheirSerializer, check
from confluent_kafka.schema_registry import topic_subject_name_strategy
from measure import Candidate, Report, over

from counterfoil.sdk import AvroDeserializer, AvroSerializer, schema_of, type_name
from counterfoil.sdk.serde.accelerator import REQUIRED, USED
from counterfoil.sdk.serde.models.binding import compile_making, compile_taking
from counterfoil.sdk.serde.models.describe import describe
from counterfoil.sdk.serde.models.making_walk import Names

if TYPE_CHECKING:
    from collections.abc import Callable


class Payment(Enum):
    """How a trip was paid."""

    CARD = "card"
    CASH = "cash"


FIELDS: Final[dict[str, Any]] = {
    "trip_id": str,
    "vendor_id": int,
    "pickup_at": datetime,
    "dropoff_at": datetime,
    "passenger_count": int,
    "trip_distance": float,
    "rate_code": int,
    "is_stored": bool,
    "dropoff_zone": str,
    "payment": Payment,
    "fare_amount": float,
    "tip_amount": float,
    "note": str | None,
}
PLACE: Final[dict[str, Any]] = {"zone": int, "name": str}


KEPT: Final = (datetime,)
"""The types that a codec reads and writes itself, so that msgspec leaves them as they are."""


def dataclasses_() -> tuple[type, type]:
    """Return a dataclass of a trip and one of a place."""
    place = dataclasses.make_dataclass("Place", PLACE.items())
    return dataclasses.make_dataclass("Trip", {**FIELDS, "pickup": place}.items()), place


def structs() -> tuple[type, type]:
    """Return a ``msgspec.Struct`` of a trip and one of a place."""
    place = msgspec.defstruct("Place", [*PLACE.items()])
    return msgspec.defstruct("Trip", [*{**FIELDS, "pickup": place}.items()]), place


def attrs_classes() -> tuple[type, type]:
    """Return an attrs class of a trip and one of a place."""
    place = attrs.make_class("Place", {name: attrs.field(type=hint) for name, hint in PLACE.items()})
    fields = {name: attrs.field(type=hint) for name, hint in {**FIELDS, "pickup": place}.items()}
    return attrs.make_class("Trip", fields), place


def pydantic_models() -> tuple[type, type]:
    """Return a pydantic model of a trip and one of a place."""
    place = pydantic.create_model("Place", **{name: (hint, ...) for name, hint in PLACE.items()})
    fields = {name: (hint, ...) for name, hint in {**FIELDS, "pickup": place}.items()}
    return pydantic.create_model("Trip", **fields), place


@dataclass(frozen=True)
class Case:
    """A kind of class, and the goals of writing and reading for each tier."""

    name: str
    make: Callable[[], tuple[type, type]]
    accelerated: tuple[float | None, float | None] = (None, None)
    generated: tuple[float | None, float | None] = (None, None)


CASES = (
    Case("dataclass", dataclasses_, (8.0, 8.0), (2.5, 4.0)),
    Case("msgspec.Struct", structs),
    Case("attrs class", attrs_classes),
    Case("pydantic model", pydantic_models),
)


def trips(trip: type, place: type, count: int) -> list[Any]:
    """Return trips as in a feed."""
    draw = Random(9)
    first = datetime(2024, 1, 1, tzinfo=UTC)
    zones = ["JFK Airport", "Midtown East", "Harlem", "Astoria", "Upper West Side"]
    return [
        trip(
            trip_id=f"{draw.getrandbits(64):016x}",
            vendor_id=draw.randint(1, 2),
            pickup_at=first + timedelta(microseconds=draw.randrange(10**13)),
            dropoff_at=first + timedelta(microseconds=draw.randrange(10**13)),
            passenger_count=draw.randint(1, 6),
            trip_distance=draw.uniform(0.3, 30),
            rate_code=draw.randint(1, 6),
            is_stored=draw.random() < 0.1,
            dropoff_zone=draw.choice(zones),
            payment=draw.choice([*Payment]),
            fare_amount=draw.uniform(5, 90),
            tip_amount=draw.uniform(0, 20),
            note=draw.choice([None, "at the corner"]),
            pickup=place(zone=draw.randint(1, 260), name=draw.choice(zones)),
        )
        for _ in range(count)
    ]


def by_hand(trip: type, place: type) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return ``to_dict`` and ``from_dict`` as a program writes them by hand."""

    def to_dict(value: Any, _ctx: object) -> dict[str, Any]:
        return {
            "trip_id": value.trip_id,
            "vendor_id": value.vendor_id,
            "pickup_at": value.pickup_at,
            "dropoff_at": value.dropoff_at,
            "passenger_count": value.passenger_count,
            "trip_distance": value.trip_distance,
            "rate_code": value.rate_code,
            "is_stored": value.is_stored,
            "dropoff_zone": value.dropoff_zone,
            "payment": value.payment.value,
            "fare_amount": value.fare_amount,
            "tip_amount": value.tip_amount,
            "note": value.note,
            "pickup": {"zone": value.pickup.zone, "name": value.pickup.name},
        }

    def from_dict(value: dict[str, Any], _ctx: object) -> Any:
        return trip(**{**value, "payment": Payment(value["payment"]), "pickup": place(**value["pickup"])})

    return to_dict, from_dict


def with_asdict(value: Any, _ctx: object) -> dict[str, Any]:
    """Return the dict of a dataclass as the documentation of many projects suggests it."""
    return {**dataclasses.asdict(value), "payment": value.payment.value}


def measure(report: Report, case: Case) -> None:
    """Print the rows of one kind of class."""
    trip, place = case.make()
    type_name("bench.Trip")(trip)
    values = trips(trip, place, MESSAGES)
    text = schema_of(trip)
    conf = {"subject.name.strategy": topic_subject_name_strategy}
    to_dict, from_dict = by_hand(trip, place)
    theirs_out = TheirSerializer(TheirRegistry(text), text, to_dict, conf=conf)
    theirs_in = TheirDeserializer(TheirRegistry(text), from_dict=from_dict, conf=conf)
    messages = [theirs_out(value, CONTEXT) for value in values]

    ours = {}
    for tier, setting in (("generated Python", "off"), ("accelerator", "on")):
        os.environ[USED] = setting
        write, read = AvroSerializer(OurRegistry(text), model=trip), AvroDeserializer(OurRegistry(text), model=trip)
        check(f"{case.name}: write, {tier}", [write(value, CONTEXT) for value in values], messages)
        check(f"{case.name}: read, {tier}", [read(one, CONTEXT) for one in messages], values)
        ours[tier] = write, read

    others = []
    if case.make is dataclasses_:
        slow_out = TheirSerializer(TheirRegistry(text), text, with_asdict, conf=conf)
        others.append((Candidate("confluent-kafka, asdict", over(slow_out, values, CONTEXT)), None))
    goals = {"generated Python": case.generated, "accelerator": case.accelerated}
    report.compare(
        f"{case.name}: write",
        Candidate("confluent-kafka, to_dict", over(theirs_out, values, CONTEXT)),
        *others,
        *[(Candidate(tier, over(write, values, CONTEXT)), goals[tier][0]) for tier, (write, _) in ours.items()],
        messages=MESSAGES,
    )
    report.compare(
        f"{case.name}: read",
        Candidate("confluent-kafka, from_dict", over(theirs_in, messages, CONTEXT)),
        *[(Candidate(tier, over(read, messages, CONTEXT)), goals[tier][1]) for tier, (_, read) in ours.items()],
        messages=MESSAGES,
    )
    root = describe(trip)
    take, make = compile_taking(root, str), compile_making(root, Names({}))
    plain = [take(value) for value in values]
    compare_conversion(report, f"{case.name}: to plain values", over(take, values), over(to_dict, values, None))
    compare_conversion(report, f"{case.name}: from plain values", over(make, plain), over(from_dict, plain, None))
    if case.make is pydantic_models:
        return  # msgspec does not know them
    theirs = over(partial(msgspec.to_builtins, builtin_types=KEPT), values)
    compare_conversion(report, f"{case.name}: to plain values", over(take, values), theirs, "msgspec.to_builtins")
    theirs = over(partial(msgspec.convert, type=trip, builtin_types=KEPT), plain)
    compare_conversion(report, f"{case.name}: from plain values", over(make, plain), theirs, "msgspec.convert")


def compare_conversion(
    report: Report, what: str, ours: Callable[[], None], theirs: Callable[[], None], name: str = "by hand"
) -> None:
    """Print the rows of a conversion by another way and by the generated code, without codec and frame."""
    report.compare(what, Candidate(name, theirs), (Candidate("generated", ours), None), messages=MESSAGES)


def main() -> int:
    os.environ[REQUIRED] = "1"
    report = Report.from_arguments(__doc__.splitlines()[0])
    for case in CASES:
        measure(report, case)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
