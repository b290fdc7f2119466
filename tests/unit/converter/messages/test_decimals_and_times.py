"""Decimals of stored plans, and points in time of any year."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil.schema.plans.derivations import changes_since, stored_plan
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluate
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.sdk.serde.avro.numbers import encode_long
from strategies.engines.message_plans import as_dict, avro, converted, plan_of, proto


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


MADE_BY_0_2 = "3688e080024a52387a17ce26afde18f85295382649f1f084fcfc78cdbc351c62"
"""The hash of the plan that version 0.2 derived of the rules below."""


def test_a_stored_plan_does_not_round_where_decimals_had_no_effect():
    kinds = {"same": decimal(10, 2), "text": "string", "narrow": decimal(10, 4), "shown": decimal(10, 4)}
    source = avro(*kinds.items(), ("other", "int"))
    made = {**dict.fromkeys(("same", "text", "narrow"), decimal(10, 2)), "shown": "string"}
    target = avro(*made.items(), ("other", "int"))
    decimals = {"same": 1, "text": 2, "narrow": 2, "shown": 3}
    casts = {name: "string" if name == "shown" else "decimal" for name in decimals}
    given = {name: {"from": name, "cast": casts[name], "decimals": count} for name, count in decimals.items()}
    rules = parse_rules(given)
    plan = derive_plan(source, target, rules)
    earlier = stored_plan(plan, rules)
    assert earlier is not None
    assert (earlier.hash, plan.hash != MADE_BY_0_2) == (MADE_BY_0_2, True)
    assert [each.partition(",")[0] for each in changes_since(earlier, plan)] == [
        f"{name} is not rounded" for name in decimals
    ]
    value = {"same": b"\x04\xd7", "text": "12.39", "narrow": b"\x01\xe3\xfc", "shown": b"\x01\xe3\xfc", "other": 1}
    assert evaluate(earlier, value) == value | {"text": b"\x04\xd7", "narrow": b"\x04\xd7", "shown": "12.3900"}
    assert evaluate(plan, value) == value | {
        "same": b"\x04\xd8",
        "narrow": b"\x04\xd7",
        "shown": "12.390",
        "text": b"\x04\xd7",
    }


def test_a_stored_plan_ignores_decimals_that_a_new_one_refuses():
    rules = parse_rules({"a": {"from": "a", "cast": "decimal", "decimals": 4}})
    plan = derive_plan(avro(("a", "string")), avro(("a", decimal(10, 2))), rules)
    earlier = stored_plan(plan, rules)
    assert earlier is not None
    assert (plan.is_complete, earlier.is_complete) == (False, True)
    (change,) = changes_since(earlier, plan)
    assert change.startswith("a ignores the decimals of its rule; a new plan refuses them: decimals: 4")


YEAR_1, YEAR_10000 = -62_135_596_800, 253_402_300_800


@pytest.mark.parametrize(("unit", "ticks"), [("millis", 10**3), ("micros", 10**6)])
def test_points_in_time_of_the_years_1_to_9999_are_timestamps(unit: str, ticks: int):
    source = avro(("at", {"type": "long", "logicalType": f"timestamp-{unit}"}))
    target = proto("google.protobuf.Timestamp at = 1;")
    there = plan_of(source, target)
    back = plan_of(target, source, at={"from": "at", "cast": f"timestamp-{unit}", "null": "error"})
    for value in (YEAR_1 * ticks, 0, -1, YEAR_10000 * ticks - 1, 253_402_214_400 * ticks):
        body = encode_long(value)
        made = converted(there, body)
        assert isinstance(made, bytes)
        assert converted(back, made) == body
    last = as_dict(target, converted(there, encode_long(YEAR_10000 * ticks - 1)))
    assert last["at"].startswith("9999-12-31T23:59:59.999")
    for value in (YEAR_1 * ticks - 1, YEAR_10000 * ticks, 2**63 - 1, -(2**63)):
        assert converted(there, encode_long(value)) == "at out-of-range"


def test_a_text_becomes_a_timestamp_of_any_year():
    rule = {"parse": "text", "as": "yyyy-MM-dd HH:mm:ss.SSSSSS", "zone": "Europe/Paris"}
    source, target = avro(("text", "string")), proto("google.protobuf.Timestamp at = 1;")
    plan = plan_of(source, target, at=rule)
    made = converted(plan, encode_long(26) + b"9999-12-31 12:00:00.123456")
    assert as_dict(target, made) == {"at": "9999-12-31T11:00:00.123456Z"}
    assert converted(plan, encode_long(26) + b"0001-01-01 00:00:00.000000") == "at out-of-range"
