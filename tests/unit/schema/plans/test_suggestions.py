"""Suggested rules: what is proposed for open fields, and that each solves its problem."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.plans.suggest import CountedSamples, suggest_rules
from counterfoil.schema.sketch.model import PlaceSketch

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}


def record(**fields: Any) -> Any:
    members = [{"name": name, "type": kind} for name, kind in fields.items()]
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": members}))


def enum(*symbols: str) -> Any:
    return {"type": "enum", "name": "E", "symbols": list(symbols)}


def rules_for(source: Any, target: Any) -> dict[str, Any]:
    found = suggest_rules(derive_plan(source, target))
    assert all(0 < each.confidence <= 1 and each.evidence for each in found)
    return {each.field: dict(each.rule) for each in found}


def test_renames_and_units():
    source = record(pickupTime=MILLIS, duration_ms="long", distance_km="double", driver="string")
    target = record(pickup_time=MILLIS, duration_s="double", distance_miles="double", horse="string")
    assert rules_for(source, target) == {
        "pickup_time": {"from": "pickupTime"},
        "duration_s": {"expr": "duration_ms / 1000"},
        "distance_miles": {"expr": "distance_km / 1.609344"},
    }


def test_casts_enums_texts_and_null():
    source = record(a="double", v=enum("VENDOR_CMT", "VENDOR_V", "VENDOR_X"), at=MILLIS, t="string", n=["null", "int"])
    target = record(a="string", v=enum("cmt", "V"), at="string", t={"type": "int", "logicalType": "date"}, n="int")
    assert rules_for(source, target) == {
        "a": {"from": "a", "cast": "string", "decimals": 2},
        "v": {"from": "v", "lookup": {"VENDOR_CMT": "cmt", "VENDOR_V": "V"}, "else": "error"},
        "at": {"format": "at", "as": "yyyy-MM-dd HH:mm:ss", "zone": "UTC"},
        "t": {"parse": "t", "as": "yyyy-MM-dd", "zone": "UTC"},
        "n": {"from": "n", "null": "error"},
    }


def test_accepted_suggestions_complete_a_plan_between_languages():
    source = parse_schema('syntax = "proto3"; message R { int64 ride_id = 1; double fare = 2; }', SchemaType.PROTOBUF)
    properties = {"rideid": {"type": "integer"}, "fare": {"type": "string"}}
    document = {"type": "object", "properties": properties, "required": ["rideid", "fare"]}
    target = parse_schema(json.dumps(document), SchemaType.JSON)
    found = suggest_rules(derive_plan(source, target))
    assert str(found[0]).startswith('rideid: {from: "ride_id"}  # 0.9')
    accepted = parse_rules({each.field: each.rule for each in found})
    assert derive_plan(source, target, accepted).is_complete


def test_names_that_are_no_words_have_suggestions():
    dashed = {"type": "object", "properties": {"user-id": {"type": "string"}}, "required": ["user-id"]}
    schema = parse_schema(json.dumps(dashed), SchemaType.JSON)
    assert rules_for(record(user_id="string"), schema) == {"user-id": {"from": "user_id"}}
    assert rules_for(schema, record(user_id="string")) == {"user_id": {"from": "user-id"}}


def test_complete_plan_has_no_suggestions():
    assert rules_for(record(a="int"), record(a="long")) == {}


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        ("weight_g", "weight_kg", {"expr": "weight_g / 1000"}),
        ("weightKg", "weightG", {"expr": "weightKg * 1000"}),
        ("weightg", "weightkg", {"expr": "weightg / 1000"}),
        ("weight_in_grams", "weight_in_kilograms", {"expr": "weight_in_grams / 1000"}),
        ("weight_lb", "weight_kg", {"expr": "weight_lb / 2.204622622"}),
        ("amount_cents", "amount", {"expr": "amount_cents / 100"}),
        ("amount", "amount_cents", {"expr": "amount * 100"}),
        ("ts_ms", "ts_us", {"expr": "ts_ms * 1000"}),
        ("ts_us", "ts_s", {"expr": "ts_us / 1000000"}),
        ("ms_elapsed", "seconds_elapsed", {"expr": "ms_elapsed / 1000"}),
        ("share_pct", "share_ratio", {"expr": "share_pct / 100"}),
        ("temp_c", "temp_f", None),
        ("price_usd", "price_eur", None),
        ("weight_g", "weight", None),
        ("weight_g", "weight_m", None),
        ("duration", "duration_ms", None),
        ("weight_g", "weightGrams", {"from": "weight_g"}),
        ("vitamin_c", "vitamin", {"from": "vitamin_c"}),
        ("min_price", "minimum_price", {"from": "min_price"}),
    ],
)
def test_units_count(source: str, target: str, rule: dict[str, Any] | None):
    assert rules_for(record(**{source: "double"}), record(**{target: "double"})) == ({target: rule} if rule else {})
    advised = [each.text for each in derive_plan(record(**{source: "double"}), record(**{target: "double"})).problems]
    copies = rule is not None and "from" in rule
    assert copies or not any("such as" in each for each in advised)


def test_a_number_that_becomes_a_point_in_time_has_its_unit():
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    assert rules_for(record(at_ms="long"), record(at=micros)) == {"at": {"expr": "at_ms * 1000"}}
    assert rules_for(record(at_us="long"), record(at=micros)) == {"at": {"from": "at_us", "cast": "timestamp-micros"}}


def test_whole_numbers_of_a_larger_unit_are_rounded_and_said_to_be():
    (found,) = suggest_rules(derive_plan(record(weight_g="int"), record(weight_kg="int")))
    assert dict(found.rule) == {"expr": "round(weight_g / 1000)"}
    assert "rounded to whole numbers; no samples of both sides show it" in found.evidence


def counted(low: float, high: float) -> PlaceSketch:
    return PlaceSketch(values=50, nulls=0, least=low, most=high)


@pytest.mark.parametrize(
    ("target", "rule", "evidence"),
    [
        ((0.2, 30.0), {"expr": "weight_g / 1000"}, "differ as thousandths"),
        ((200.0, 30_000.0), {"from": "weight_g"}, "its type fits"),
        ((7_000_000.0, 9_000_000.0), None, ""),
    ],
)
def test_a_proposed_factor_is_checked_on_samples(
    target: tuple[float, float], rule: dict[str, Any] | None, evidence: str
):
    plan = derive_plan(record(weight_g="double"), record(weight_kg="double"))
    samples = CountedSamples({("weight_g",): counted(200.0, 30_000.0)}, {("weight_kg",): counted(*target)})
    found = suggest_rules(plan, None, samples)
    assert [dict(each.rule) for each in found] == ([rule] if rule else [])
    assert all(evidence in each.evidence for each in found)


def test_moments_with_other_ticks_than_the_name_says_refute_the_factor():
    plan = derive_plan(record(ts_ms="long"), record(ts_us="long"))
    seconds = CountedSamples({("ts_ms",): counted(1_700_000_000, 1_700_009_999)})
    assert suggest_rules(plan, None, seconds) == []
    millis = CountedSamples({("ts_ms",): counted(1_700_000_000_000, 1_700_009_999_000)})
    assert [dict(each.rule) for each in suggest_rules(plan, None, millis)] == [{"expr": "ts_ms * 1000"}]
