"""The rides that the benchmarks of the converter convert: 21 fields of a source, 20 of a target, and values.

Twelve fields are renamed or copied, two become larger types, two points in time are written differently, two enums are
looked up, one number is in another unit, one null gets a value, one field is constant, and two are left out.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import fastavro

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules

if TYPE_CHECKING:
    from random import Random

    from counterfoil.schema.plans.model import ConversionPlan
    from counterfoil.schema.plans.rules import PlanRules

SOURCE_ID, TARGET_ID = 1, 2
VENDORS = {"CMT": 1, "VERIFONE": 2, "MYLE": 6, "HELIX": 7}
PAYMENTS = {"CARD": "credit", "CASH": "cash", "DISPUTE": "other"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
KILOMETRES_PER_MILE = 1.609344


def _record(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": node} for each, node in fields.items()]}


SOURCE = _record(
    "Ride",
    {
        "vendor": {"type": "enum", "name": "Vendor", "symbols": list(VENDORS)},
        "ride_id": "string",
        "pickup_at": MILLIS,
        "dropoff_at": MILLIS,
        "passengers": ["null", "int"],
        "distance_km": "double",
        "rate_code": "int",
        "zone_from": "int",
        "zone_to": "int",
        "payment": {"type": "enum", "name": "Payment", "symbols": list(PAYMENTS)},
        "fare": "double",
        "extra": "double",
        "mta_tax": "double",
        "tip": "double",
        "tolls": "double",
        "surcharge": "double",
        "total": "double",
        "is_shared": "boolean",
        "airport": "string",
        "driver_note": "string",
        "meter": "long",
    },
)
TARGET = _record(
    "TaxiRide",
    {
        "vendor_id": "int",
        "id": "string",
        "pickup": "string",
        "dropoff": MICROS,
        "passenger_count": "int",
        "distance_miles": "double",
        "rate_code": "int",
        "zone_from": "long",
        "zone_to": "long",
        "payment": "string",
        "fare": "double",
        "extra": "double",
        "mta_tax": "double",
        "tip": "double",
        "tolls": "double",
        "surcharge": "double",
        "total": "double",
        "is_shared": "boolean",
        "airport": "string",
        "origin": "string",
    },
)
_PARSED = fastavro.parse_schema(SOURCE)
RULES = {
    "vendor_id": {"from": "vendor", "lookup": VENDORS, "else": "error"},
    "id": {"from": "ride_id"},
    "pickup": {"format": "pickup_at", "as": "yyyy-MM-dd HH:mm:ss", "zone": "UTC"},
    "dropoff": {"from": "dropoff_at"},
    "passenger_count": {"from": "passengers", "null": 0},
    "distance_miles": {"expr": f"distance_km / {KILOMETRES_PER_MILE}"},
    "payment": {"from": "payment", "lookup": PAYMENTS, "else": "error"},
    "origin": {"const": "bridge"},
}
DROPPED = ["driver_note", "meter"]
CONSTANT_HEADERS = [
    ("bridge.src", b"source/0/1234567/1700000000000/1"),
    ("bridge.plan", b"0" * 16),
    ("bridge.via", b"b"),
]
"""Headers as large as those that a bridge adds, for the queries beside it."""


def rules() -> PlanRules:
    return parse_rules(RULES, DROPPED)


def plan() -> ConversionPlan:
    return derive_plan(parse_avro(json.dumps(SOURCE)), parse_avro(json.dumps(TARGET)), rules())


def encode(ride: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, _PARSED, ride)
    return body.getvalue()


def ride(chooser: Random, number: int) -> dict[str, Any]:
    money = {
        name: round(chooser.random() * 20, 2) for name in ("fare", "extra", "mta_tax", "tip", "tolls", "surcharge")
    }
    return {
        "vendor": chooser.choice(list(VENDORS)),
        "ride_id": f"ride-{number:012d}",
        "pickup_at": 1_700_000_000_000 + number,
        "dropoff_at": 1_700_000_600_000 + number,
        "passengers": chooser.choice([None, 1, 2]),
        "distance_km": chooser.random() * 30,
        "rate_code": chooser.randrange(1, 7),
        "zone_from": chooser.randrange(260),
        "zone_to": chooser.randrange(260),
        "payment": chooser.choice(list(PAYMENTS)),
        **money,
        "total": round(sum(money.values()), 2),
        "is_shared": chooser.random() < 0.1,
        "airport": chooser.choice(["", "JFK", "LGA", "EWR"]),
        "driver_note": "nothing to report",
        "meter": number * 17,
    }


def converted(ride: dict[str, Any]) -> dict[str, Any]:
    """Return the target's record, as a program written by hand makes it."""
    same = ("rate_code", "zone_from", "zone_to", "fare", "extra", "mta_tax", "tip", "tolls", "surcharge", "total")
    return {
        "vendor_id": VENDORS[ride["vendor"]],
        "id": ride["ride_id"],
        "pickup": ride["pickup_at"].strftime("%Y-%m-%d %H:%M:%S"),
        "dropoff": ride["dropoff_at"],
        "passenger_count": ride["passengers"] or 0,
        "distance_miles": ride["distance_km"] / KILOMETRES_PER_MILE,
        "payment": PAYMENTS[ride["payment"]],
        **{name: ride[name] for name in same},
        "is_shared": ride["is_shared"],
        "airport": ride["airport"],
        "origin": "bridge",
    }


BY_HAND = """named_struct(
  'vendor_id', CASE ride.vendor WHEN 'CMT' THEN 1 WHEN 'VERIFONE' THEN 2 WHEN 'MYLE' THEN 6 WHEN 'HELIX' THEN 7 END,
  'id', ride.ride_id,
  'pickup', date_format(ride.pickup_at, 'yyyy-MM-dd HH:mm:ss'),
  'dropoff', ride.dropoff_at,
  'passenger_count', coalesce(ride.passengers, 0),
  'distance_miles', ride.distance_km / 1.609344D,
  'rate_code', ride.rate_code, 'zone_from', cast(ride.zone_from AS bigint), 'zone_to', cast(ride.zone_to AS bigint),
  'payment', CASE ride.payment WHEN 'CARD' THEN 'credit' WHEN 'CASH' THEN 'cash' ELSE 'other' END,
  'fare', ride.fare, 'extra', ride.extra, 'mta_tax', ride.mta_tax, 'tip', ride.tip, 'tolls', ride.tolls,
  'surcharge', ride.surcharge, 'total', ride.total, 'is_shared', ride.is_shared, 'airport', ride.airport,
  'origin', 'bridge')"""
"""The target's record as Spark SQL of a column ``ride``, as it is written by hand."""
