"""The size of a plan is bounded: types that hold others several times are filled at each place."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import MIN_FIELDS, derive_plan


def _avro(count: int, kind: str) -> str:
    fields = [{"name": "v", "type": kind}]
    for at in range(count):
        held = {"type": "record", "name": f"R{at}", "fields": fields}
        fields = [{"name": "a", "type": held}, {"name": "b", "type": f"R{at}"}]
    return json.dumps({"type": "record", "name": "Top", "fields": fields})


def _protobuf(count: int, kind: str) -> str:
    messages = [f"message M{at} {{ M{at + 1} a = 1; M{at + 1} b = 2; }}" for at in range(count)]
    return "\n".join(['syntax = "proto3";', *messages, f"message M{count} {{ {kind} v = 1; }}"])


SCHEMAS = [(_avro, "int", "long", SchemaType.AVRO), (_protobuf, "int32", "int64", SchemaType.PROTOBUF)]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "one", "other", "language"), SCHEMAS)
def test_a_plan_of_too_many_fields_is_a_problem(text, one: str, other: str, language: SchemaType):
    plan = derive_plan(*(parse_schema(text(40, kind), language) for kind in (one, other)))
    assert [problem.text for problem in plan.problems] == [
        "the plan has too many fields: types that hold others several times are filled at each place"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "one", "other", "language"), SCHEMAS)
def test_a_plan_of_many_fields_is_complete(text, one: str, other: str, language: SchemaType):
    plan = derive_plan(*(parse_schema(text(9, kind), language) for kind in (one, other)))
    assert plan.is_complete
    assert len(plan.rows()) < MIN_FIELDS
