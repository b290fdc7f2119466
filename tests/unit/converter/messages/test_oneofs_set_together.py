"""Fields that become fields of a oneof: a plan that says complete makes no record that has several of them."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import RecordConverter, recipe_of
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derivations import stored_plan
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import NumberMeaning, parse_rules
from counterfoil.schema.wire import frame

ONEOF = "message O { oneof p { string a = 1; int32 b = 2; } }"
SET_A, SET_B = b"\x0a\x01A", b"\x10\x05"
AVRO_BOTH = {"type": "record", "name": "O", "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": "int"}]}
AVRO_OPTIONAL = {
    "type": "record",
    "name": "O",
    "fields": [{"name": "a", "type": ["null", "string"]}, {"name": "b", "type": ["null", "int"]}],
}
JSON_BOTH = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
NOTE = "a, b are fields of the oneof p: a record that has several of them is a dead letter"


def parsed(schema: Any) -> Any:
    if isinstance(schema, str):
        return parse_schema(f'syntax = "proto3";\n{schema}', SchemaType.PROTOBUF)
    return parse_schema(json.dumps(schema), SchemaType.AVRO if schema["type"] == "record" else SchemaType.JSON)


def plan_of(source: Any, target: str = ONEOF, rules: Any = None, **more: Any) -> Any:
    return derive_plan(parsed(source), parsed(target), parse_rules(rules or {}, **more))


def outcomes(plan: Any) -> list[str]:
    """Return what becomes of messages with a, with b, with both and with none: ``ok``, or the code of the failure."""
    converter = RecordConverter(recipe_of(Conversion(plan, {7: plan.source}, 9)))
    made = [converter.convert_value(frame(7, b"\0" + body)) for body in (SET_A, SET_B, SET_A + SET_B, b"")]
    return ["ok" if each.failure is None else str(each.failure.code) for each in made]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("message O { string a = 1; int32 b = 2; }", "p: a and b are set in every record"),
        ("message O { string a = 1; optional int32 b = 2; }", "p: a is set in every record, and so may be b"),
        (
            "message O { string a = 1; oneof o { int32 b = 2; int32 c = 3; } }",
            "p: a is set in every record, and so may",
        ),
        ("message O { repeated I i = 1; } message I { string a = 1; int32 b = 2; }", "i[]: a and b are set"),
        (AVRO_BOTH, "p: a and b are set in every record"),
        (JSON_BOTH, "p: a and b are set in every record"),
    ],
)
def test_fields_that_every_record_sets_do_not_become_a_oneof(source: Any, problem: str) -> None:
    target = ONEOF
    if isinstance(source, str) and "repeated" in source:
        target = "message O { repeated I i = 1; } message I { oneof p { string a = 1; int32 b = 2; } }"
    plan = plan_of(source, target, drop=["c"] if "c = 3" in str(source) else None)
    assert [str(each).startswith(problem) for each in plan.problems] == [True], plan.problems


@pytest.mark.parametrize(
    ("source", "expected", "notes"),
    [
        (ONEOF, ["ok", "ok", "ok", "ok"], 0),
        ("message O { oneof q { string a = 1; int32 b = 2; } }", ["ok", "ok", "ok", "ok"], 0),
        ("message O { optional string a = 1; optional int32 b = 2; }", ["ok", "ok", "unencodable", "ok"], 1),
        ("message O { oneof o { string a = 1; } oneof q { int32 b = 2; } }", ["ok", "ok", "unencodable", "ok"], 1),
    ],
)
def test_fields_of_which_one_is_set_become_a_oneof(source: str, expected: list[str], notes: int) -> None:
    plan = plan_of(source)
    assert plan.is_complete, plan.problems
    assert (plan.notes.count(NOTE), outcomes(plan)) == (notes, expected)


def test_fields_of_avro_that_may_be_null_become_a_oneof_with_a_note() -> None:
    plan = plan_of(AVRO_OPTIONAL)
    assert (plan.is_complete, plan.notes.count(NOTE)) == (True, 1)


@pytest.mark.parametrize("kept", ["a", "b"])
def test_one_of_the_fields_may_be_kept(kept: str) -> None:
    other = "b" if kept == "a" else "a"
    source = "message O { string a = 1; int32 b = 2; }"
    plan = plan_of(source, rules={other: {"const": None}}, drop=[other])
    assert plan.is_complete, plan.problems
    assert outcomes(plan) == ["ok"] * 4


def test_a_stored_plan_converts_what_it_converted() -> None:
    source, target = "message O { string x = 1; oneof o { int32 y = 2; } }", ONEOF
    rules = parse_rules({}, numbers=NumberMeaning.ASK)
    plan = derive_plan(parsed(source), parsed(target), rules)
    stored = stored_plan(plan, rules)
    assert (plan.is_complete, stored is not None and stored.is_complete) == (False, True)


PRESENCES = ("{} {} = {};", "optional {} {} = {};", "oneof o_{1} {{ {0} {1} = {2}; }}")


@pytest.mark.parametrize("forms", [*product(PRESENCES, PRESENCES)])
def test_a_complete_plan_converts_each_record_with_one_of_the_fields(forms: tuple[str, str]) -> None:
    fields = " ".join(
        form.format(*field) for form, field in zip(forms, (("string", "a", 1), ("int32", "b", 2)), strict=True)
    )
    plan = plan_of(f"message O {{ {fields} }}")
    if plan.is_complete:
        assert outcomes(plan)[:2] == ["ok", "ok"]
    else:
        everything = [each for each in forms if each == PRESENCES[0]]
        assert everything
