"""What a JSON schema demands of an object whatever its values are: no plan is complete whose records never meet it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import RecordConverter, recipe_of
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_encoder

NEW = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
TEXT = {"type": "string"}


def source(*fields: str, optional: tuple[str, ...] = ()) -> Any:
    members = [{"name": name, "type": "string"} for name in fields]
    members += [{"name": name, "type": ["null", "string"]} for name in optional]
    return parse_avro(json.dumps({"type": "record", "name": "O", "fields": members}))


def target(*names: str, **more: Any) -> Any:
    schema = {**NEW, "type": "object", "properties": dict.fromkeys(names, TEXT), **more}
    return parse_schema(json.dumps(schema), SchemaType.JSON)


NEVER = [
    (source("a"), target("a", required=["a", "z"]), "z: the target requires this property and does not declare it"),
    (source("a"), target("a", allOf=[{"required": ["z"]}]), "z: the target requires this property"),
    (source("a"), target("a", minProperties=2), "at least 2 properties; the plan fills 1"),
    (source("a", "b"), target("a", "b", maxProperties=1), "at most 1 properties; the plan fills 2"),
    (source("a"), target("a", propertyNames={"pattern": "^b"}), "a: propertyNames of the target refuses this name"),
    (source("a"), target("a", "b", dependentRequired={"a": ["b"]}), "a: where this property is, the target requires b"),
    (
        source("a"),
        target("a", "b", dependentRequired={"a": ["b", "c"]}),
        "a: where this property is, the target requires b, c as well",
    ),
]


@pytest.mark.parametrize(("written", "read", "problem"), NEVER)
def test_what_no_record_can_meet_is_a_problem(written: Any, read: Any, problem: str) -> None:
    plan = derive_plan(written, read, parse_rules({}))
    assert [problem in str(each) for each in plan.problems] == [True], plan.problems


def test_inside_an_array() -> None:
    inner = {"type": "record", "name": "I", "fields": [{"name": "a", "type": "string"}]}
    written = parse_avro(
        json.dumps(
            {
                "type": "record",
                "name": "O",
                "fields": [{"name": "i", "type": {"type": "array", "items": inner}}],
            }
        )
    )
    items = {"type": "object", "properties": {"a": TEXT}, "required": ["z"]}
    schema = {**NEW, "type": "object", "properties": {"i": {"type": "array", "items": items}}}
    plan = derive_plan(written, parse_schema(json.dumps(schema), SchemaType.JSON), parse_rules({}))
    assert [str(each).partition(":")[0] for each in plan.problems] == ["i[].z"]


MET = [
    (source("a", "b"), target("a", "b", required=["a", "b"], minProperties=2, maxProperties=2)),
    (source("a"), target("a", propertyNames={"pattern": "^a"})),
    (source("a", "b"), target("a", "b", dependentRequired={"a": ["b"]})),
    (source("a"), target("a", "b", dependentRequired={"b": ["a"]})),
    (source("a", optional=("b",)), target("a", "b", minProperties=1, maxProperties=1)),
    (source("a"), target("a", dependentRequired={"z": ["a"]})),
]


@pytest.mark.parametrize(("written", "read"), MET)
def test_what_records_meet_is_no_problem(written: Any, read: Any) -> None:
    plan = derive_plan(written, read, parse_rules({}))
    assert plan.is_complete, plan.problems
    converter = RecordConverter(recipe_of(Conversion(plan, {7: plan.source}, 9)))
    value = {"a": "x", **({"b": None} if '"null"' in written.text else {"b": "y"} if '"b"' in written.text else {})}
    outcome = converter.convert_value(frame(7, compile_encoder(written)(value, b"")))
    assert outcome.failure is None, outcome.failure
