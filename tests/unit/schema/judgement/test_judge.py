"""The judgement of a schema: the verdict, and the values that prove it, as far as the budget goes."""

from __future__ import annotations

import pytest

from counterfoil.schema import Budget, CompatibilityLevel, Earlier, SchemaType, check_compatibility, judge, parse_schema
from counterfoil.schema.compatibility import CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.findings import NoWitness, Witness

BACKWARD = CompatibilityLevel.BACKWARD
PAIRS = {
    SchemaType.AVRO: (
        '{"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}]}',
        '{"type": "record", "name": "A", "fields": [{"name": "x", "type": "string"}, {"name": "y", "type": "string"}]}',
    ),
    SchemaType.PROTOBUF: (
        'syntax = "proto3"; message A { int32 x = 1; int32 y = 2; }',
        'syntax = "proto3"; message A { string x = 1; string y = 2; }',
    ),
    SchemaType.JSON: (
        '{"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}',
        '{"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}}',
    ),
}
"""A reader and a writer that differ in two fields."""


def avro(text):
    return parse_schema(text)


def pair(schema_type):
    reader, writer = PAIRS[schema_type]
    return parse_schema(reader, schema_type), Earlier(parse_schema(writer, schema_type), version=1)


@pytest.mark.parametrize("policy", CompatibilityPolicy)
@pytest.mark.parametrize("schema_type", SchemaType)
def test_the_verdict_is_that_of_the_check(schema_type, policy):
    candidate, earlier = pair(schema_type)
    judgement = judge(candidate, [earlier], CompatibilityLevel.FULL, policy=policy)
    assert judgement.report == check_compatibility(candidate, [earlier], CompatibilityLevel.FULL, policy=policy)
    assert [each.difference for each in judgement.incompatibilities] == [
        difference for failure in judgement.report.failures for difference in failure.differences
    ]
    assert all(each.difference in each.failure.differences for each in judgement.incompatibilities)


@pytest.mark.parametrize("schema_type", SchemaType)
def test_a_witness_is_searched_for_as_many_as_the_budget_allows(schema_type):
    candidate, earlier = pair(schema_type)
    every = judge(candidate, [earlier], BACKWARD)
    assert len(every.incompatibilities) == len(every.witnesses()) == 2
    first = judge(candidate, [earlier], BACKWARD, budget=Budget(witnesses=1)).witnesses()
    assert list(first) == [every.incompatibilities[0].difference]
    assert judge(candidate, [earlier], BACKWARD, budget=Budget(witnesses=0)).witnesses() == {}


def test_one_incompatibility_is_proved_by_itself():
    candidate, earlier = pair(SchemaType.AVRO)
    outcome = judge(candidate, [earlier], BACKWARD).incompatibilities[1].search_for_witness()
    assert isinstance(outcome, Witness)
    changed = judge(parse_schema('{"type": "object"}', SchemaType.JSON), [earlier], BACKWARD).incompatibilities
    assert isinstance(changed[0].search_for_witness(), NoWitness)


def test_values_are_written_and_read_in_each_direction_in_which_nothing_was_found():
    candidate, earlier = avro('"long"'), Earlier(avro('"int"'))
    assert judge(candidate, [earlier], BACKWARD).round_tripped == 0
    confirmed = judge(candidate, [earlier], BACKWARD, budget=Budget(confirmed=20))
    assert (confirmed.round_tripped, confirmed.unread) == (20, ())
    full = judge(candidate, [earlier], CompatibilityLevel.FULL, budget=Budget(confirmed=20))
    assert [each.failure.direction for each in full.incompatibilities] == [Direction.FORWARD]
    assert full.round_tripped == 20
    assert judge(candidate, [earlier], CompatibilityLevel.NONE, budget=Budget(confirmed=20)).round_tripped == 0


def test_each_version_of_the_history_is_confirmed():
    candidate, history = avro('"long"'), [Earlier(avro('"int"'), 2), Earlier(avro('"long"'), 1)]
    transitive = judge(candidate, history, CompatibilityLevel.BACKWARD_TRANSITIVE, budget=Budget(confirmed=20))
    assert (transitive.report.checked, transitive.round_tripped) == (2, 40)
    assert judge(candidate, history, BACKWARD, budget=Budget(confirmed=20)).round_tripped == 20


def test_a_value_that_is_not_read_as_it_was_written_comes_with_what_sound_finds():
    candidate, earlier = avro('"string"'), Earlier(avro('"bytes"'))
    judgement = judge(candidate, [earlier], BACKWARD, budget=Budget(confirmed=20))
    assert judgement.report.is_compatible
    (unread,) = judgement.unread
    assert [difference.rule for difference in unread.failure.differences] == ["bytes-read-as-string"]
    assert (unread.failure.reader, unread.failure.writer) == (candidate, earlier.schema)
    assert unread.witness.body


def test_policies_about_bytes_confirm_nothing_for_protobuf():
    candidate = parse_schema('syntax = "proto3"; message A { int32 x = 1; }', SchemaType.PROTOBUF)
    earlier = Earlier(parse_schema('syntax = "proto3"; message A { int64 x = 1; }', SchemaType.PROTOBUF))
    budget = Budget(confirmed=20)
    assert judge(candidate, [earlier], BACKWARD, policy=CompatibilityPolicy.WIRE, budget=budget).unread == ()
    assert judge(candidate, [earlier], BACKWARD, budget=budget).unread
    plain = judge(avro('"long"'), [Earlier(avro('"int"'))], BACKWARD, policy=CompatibilityPolicy.WIRE, budget=budget)
    assert plain.round_tripped == 20
