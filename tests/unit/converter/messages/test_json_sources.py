"""What of a source's JSON schema is checked when a record is read: as the page says, and as the plan notes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame


def schema(node: Any, **more: Any) -> Any:
    document = {"type": "object", "properties": {"a": node}, **more}
    return parse_schema(json.dumps(document), SchemaType.JSON)


def converted(source: Any, value: Any, target: Any) -> tuple[str | None, tuple[str, ...]]:
    """Return the code of the failure, and the notes of the plan."""
    plan = derive_plan(source, target, parse_rules({}, "rest"))
    assert plan.is_complete, plan.problems
    made = ReferenceEngine(Conversion(plan, {7: source}, 9)).convert_value(frame(7, json.dumps(value).encode()))
    return None if made.failure is None else str(made.failure.code), plan.notes


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
UNCHECKED: list[tuple[dict[str, Any], dict[str, Any], Any]] = [
    ({**TEXT, "pattern": "^x"}, TEXT, "abc"),
    ({**TEXT, "minLength": 9}, TEXT, "abc"),
    ({**TEXT, "maxLength": 1}, TEXT, "abc"),
    ({**NUMBER, "minimum": 5}, NUMBER, 3),
    ({**NUMBER, "exclusiveMaximum": 3}, NUMBER, 3),
    ({**WHOLE, "multipleOf": 2}, WHOLE, 3),
    ({"type": "array", "items": TEXT, "uniqueItems": True}, {"type": "array", "items": TEXT}, ["a", "a"]),
    ({"type": "array", "items": TEXT, "maxItems": 1}, {"type": "array", "items": TEXT}, ["a", "b"]),
    ({**TEXT, "not": {"const": "abc"}}, TEXT, "abc"),
]


@pytest.mark.parametrize(("source", "target", "value"), UNCHECKED, ids=str)
def test_what_is_not_checked_is_converted_and_noted(source: dict[str, Any], target: dict[str, Any], value: Any):
    (keyword,) = source.keys() - target.keys()
    code, notes = converted(schema(source), {"a": value}, schema(target))
    assert code is None
    assert f"records of the source are not checked against {keyword}: types, required" in "\n".join(notes)


@pytest.mark.parametrize(
    ("source", "more", "value", "code"),
    [
        (TEXT, {}, {"a": 3}, "undecodable"),
        (TEXT, {"required": ["a"]}, {}, "undecodable"),
        ({"enum": ["x", "y"]}, {}, {"a": "z"}, "undecodable"),
        ({"const": "x"}, {}, {"a": "z"}, "undecodable"),
        ({**WHOLE, "minimum": 0, "maximum": 9}, {}, {"a": 2**40}, "out-of-range"),
        (TEXT, {}, [], "undecodable"),
        ({**WHOLE, "minimum": 0, "maximum": 9}, {}, {"a": 10}, None),
        (TEXT, {"additionalProperties": False}, {"a": "x", "b": 1}, None),
        ({"enum": [1, 2]}, {}, {"a": 3}, None),
        ({**TEXT, "format": "email"}, {}, {"a": "no address"}, None),
    ],
    ids=str,
)
def test_what_is_checked_is_a_dead_letter(source: dict[str, Any], more: dict[str, Any], value: Any, code: str | None):
    target = WHOLE if source.get("type") == "integer" or 1 in source.get("enum", ()) else TEXT
    assert converted(schema(source, **more), value, schema(target))[0] == code


def test_a_name_or_a_value_is_no_keyword():
    document = {
        "type": "object",
        "properties": {"pattern": TEXT, "not": {**TEXT, "default": "if", "examples": [{"minimum": 1}]}},
    }
    source = parse_schema(json.dumps(document), SchemaType.JSON)
    plan = derive_plan(source, source, parse_rules({}))
    assert not any("not checked against" in each for each in plan.notes)
