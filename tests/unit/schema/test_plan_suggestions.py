"""Suggested rules: what is proposed for open fields, and that each solves its problem."""

from __future__ import annotations

import json
from typing import Any

from counterfoil.schema.evolution import derive_plan, parse_rules
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.suggestions.suggest import suggest_rules

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
