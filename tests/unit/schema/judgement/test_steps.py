"""Judgements end by counted steps: dear small schemas have an answer, and ordinary large ones are judged."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from counterfoil.schema.answers import MAX_MESSAGE_BYTES, MAX_MESSAGES, confluent_messages
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, OutOfSteps, Steps, steps_for
from counterfoil.schema.compatibility.findings import Earlier, NoWitness
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement import SEARCH_STEPS, Budget, Judgement, judge
from counterfoil.schema.languages.avro.compare.differences import CertainVerdicts, walk
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.jsonschema.compare.differences import MAX_DIFFERENCES
from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from strategies.avro.seeded import seeded_pairs

STRICT, SOUND = CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND
AVRO, JSON, PROTOBUF = SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF


def _steps_of(reader: str, writer: str, language: SchemaType, policy: CompatibilityPolicy) -> tuple[int, int]:
    """Return the number of differences, and the steps of the comparison."""
    schemas = [parse_schema(each, language) for each in (reader, writer)]
    steps = steps_for(*schemas)
    before = steps.left
    found = language_for(language).find_differences(*schemas, policy=policy, steps=steps)
    return len(found), before - steps.left


def _judged(reader: str, writer: str, language: SchemaType, policy: CompatibilityPolicy = STRICT) -> Judgement:
    schemas = [parse_schema(each, language) for each in (reader, writer)]
    budget = Budget(witnesses=10)
    return judge(schemas[0], [Earlier(schemas[1], 1)], CompatibilityLevel.BACKWARD, policy=policy, budget=budget)


def records(count: int, suffix: str = "", kind: Any = "int", more: tuple[Any, ...] = ()) -> str:
    """Return a union of records, each with a field."""
    fields = [{"name": "a", "type": kind}, *more]
    return json.dumps([{"type": "record", "name": f"R{at}{suffix}", "fields": fields} for at in range(count)])


def shared(depth: int, kind: str, *, times: int = 2) -> str:
    """Return a JSON schema in which each definition holds the next one several times."""
    definitions: dict[str, Any] = {
        f"a_{at}": {"allOf": [{"$ref": f"#/definitions/a_{at + 1}"}] * times} for at in range(depth)
    }
    definitions[f"a_{depth}"] = {"properties": {"x": {"type": kind}}}
    return json.dumps({"$ref": "#/definitions/a_0", "definitions": definitions})


@pytest.mark.slow
@pytest.mark.parametrize("policy", [STRICT, SOUND])
@pytest.mark.parametrize("count", [100, 300])
def test_a_compatible_change_of_a_union_takes_steps_in_proportion_to_its_branches(
    count: int, policy: CompatibilityPolicy
):
    found, steps = _steps_of(records(count, kind="long"), records(count), AVRO, policy)
    assert found == 0
    assert steps < 40_000 + 20 * count + (count * count if policy is SOUND else 0)


def test_records_of_a_union_that_contain_themselves_are_matched_by_name():
    link = {"name": "next", "type": ["null", "R0"], "default": None}
    more = records(300, kind="long", more=(link,))
    found, steps = _steps_of(more, records(300, more=(link,)), AVRO, STRICT)
    assert found == 0
    assert steps < 30_000


@pytest.mark.slow
@pytest.mark.parametrize("count", [60, 300])
def test_renamed_records_of_a_union_have_an_answer_and_their_searches_end(count: int):
    judged = _judged(records(count, "x"), records(count), AVRO)
    assert len(judged.incompatibilities) == count
    outcomes = [each.search_for_witness() for each in judged.incompatibilities[:2]]
    assert all(isinstance(each, NoWitness) for each in outcomes)
    assert judged.search_steps.left > -2 * SEARCH_STEPS
    assert _steps_of(records(count, "x"), records(count), AVRO, STRICT)[1] < 20_000 + 3 * count * count


@pytest.mark.parametrize("depth", [14, 25, 60])
def test_references_that_fan_out_are_compared_once(depth: int):
    found, steps = _steps_of(shared(depth, "integer"), shared(depth, "string"), JSON, STRICT)
    assert found
    assert steps < 60 * depth + 100
    judged = _judged(shared(depth, "integer"), shared(depth, "string"), JSON)
    judged.witnesses()
    assert judged.search_steps.left >= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        pytest.param(
            {"patternProperties": {f"^a{at}": {"type": "integer"} for at in range(40)}},
            {"patternProperties": {f"^a{at}": {"type": "string"} for at in range(40)}},
            id="patternProperties",
        ),
        pytest.param(
            {"required": [f"a{at}" for at in range(600)], "properties": {"a0": {"type": "integer"}}},
            {"required": [f"a{at}" for at in range(600)], "properties": {"a0": {"type": "string"}}},
            id="required",
        ),
    ],
)
def test_objects_with_many_constraints_are_judged_under_sound(reader: Any, writer: Any):
    judged = _judged(json.dumps(reader), json.dumps(writer), JSON, SOUND)
    assert not judged.report.is_compatible
    judged.witnesses()
    assert judged.search_steps.left >= 0


def _alternatives(depth: int, kind: str) -> Any:
    return {"anyOf": [_alternatives(depth - 1, f"{kind}"), {"minimum": depth}]} if depth else {"type": kind}


def _message(kind: str) -> str:
    fields = "".join(f"{kind} f{at} = {at + 1};" for at in range(60))
    return f'syntax = "proto3"; message A {{ {fields} }}'


def test_a_verdict_without_steps_is_an_answer_of_its_own_and_never_a_yes():
    for language, one, other in (
        (AVRO, records(40, "x"), records(40)),
        (JSON, json.dumps(_alternatives(9, "string")), json.dumps(_alternatives(9, "integer"))),
        (PROTOBUF, _message("int32"), _message("string")),
    ):
        schemas = [parse_schema(each, language) for each in (one, other)]
        with pytest.raises(JudgementUndecided, match="cannot be decided") as caught:
            judge(schemas[0], [Earlier(schemas[1])], CompatibilityLevel.BACKWARD, budget=Budget(comparison_steps=20))
        assert (caught.value.status, caught.value.code) == (422, 42213)
        assert not judge(schemas[0], [Earlier(schemas[1])], CompatibilityLevel.BACKWARD).report.is_compatible


@pytest.mark.slow
def test_the_steps_are_the_same_on_every_run():
    for language, one, other in ((AVRO, records(50, "x"), records(50)), (JSON, shared(9, "string"), shared(9, "null"))):
        assert len({_steps_of(one, other, language, SOUND) for _ in range(3)}) == 1


def test_some_steps_are_also_those_that_they_are_taken_from():
    steps = Steps(10)
    some = steps.some(4)
    some.spend(3)
    assert (steps.left, some.left) == (7, 1)
    with pytest.raises(OutOfSteps):
        some.spend(2)
    with pytest.raises(OutOfSteps):
        steps.some(100).spend(9)


def test_what_is_certainly_read_has_no_difference():
    """The quick verdict for large unions and the walk agree; only the walk's yes may be less than certain."""
    certain = 0
    for reader_text, writer_text in islice(seeded_pairs(7, 300), 300):
        reader, writer = (parse_avro(text, validation=Validation.LENIENT) for text in (reader_text, writer_text))
        is_read = CertainVerdicts(Steps(1_000_000)).certainly_reads(reader.root, writer.root)
        for trusts_cycles in (True, False):
            found = walk(reader.root, writer.root, Steps(1_000_000), trusts_cycles=trusts_cycles)
            assert not (is_read and found), (reader_text, writer_text)
        certain += is_read
    assert certain > 30


def test_a_list_of_messages_is_bounded_and_says_how_many_are_left_out():
    judged = _judged(records(150, "x"), records(150), AVRO)
    messages = confluent_messages(judged.report)
    shown = [each for each in messages if "MISSING_UNION_BRANCH" in each]
    assert len(shown) <= MAX_MESSAGES
    assert sum(len(each.encode()) for each in shown) <= MAX_MESSAGE_BYTES
    assert f"and {150 - len(shown)} more differences, left out of this list" in messages
    assert messages[-1].startswith("{oldSchema: ")
    few = confluent_messages(_judged(records(3, "x"), records(3), AVRO).report)
    assert not [each for each in few if "left out" in each]
    reader, writer = (
        json.dumps({"properties": {f"p{at}": {"type": kind} for at in range(300)}}) for kind in ("null", "string")
    )
    assert "and 200 more differences, left out of this list" in confluent_messages(_judged(reader, writer, JSON).report)


def _resources(layers: int, kind: str) -> str:
    """Return a schema in the manner of those of FHIR and Kubernetes: objects in layers, each used by many others."""
    width = 90
    definitions: dict[str, Any] = {}
    for at in range(layers * width):
        inner = [(at // width + 1) * width + (at * 7 + step * 13) % width for step in range(12)]
        used = [f"#/definitions/R{index}" for index in inner if index < layers * width]
        properties: dict[str, Any] = {f"f{index}": {"$ref": each} for index, each in enumerate(used)}
        properties |= {f"v{index}": {"type": "string", "pattern": "^[a-z]+$"} for index in range(12)}
        properties |= {f"l{index}": {"type": "array", "items": {"$ref": each}} for index, each in enumerate(used[:6])}
        definitions[f"R{at}"] = {"type": "object", "properties": properties, "additionalProperties": False}
    definitions[f"R{layers * width - 1}"]["properties"]["v0"] = {"type": kind, "pattern": "^[a-z]+$"}
    return json.dumps({"oneOf": [{"$ref": f"#/definitions/R{at}"} for at in range(40)], "definitions": definitions})


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "is_compatible"), [("string", True), ("integer", False)])
def test_a_schema_of_tens_of_thousands_of_nodes_is_judged(kind: str, *, is_compatible: bool):
    schemas = [parse_schema(_resources(8, each), JSON) for each in (kind, "string")]
    steps = steps_for(*schemas)
    before = steps.left
    found = language_for(JSON).find_differences(*schemas, steps=steps)
    assert (not found) is is_compatible
    assert before - steps.left < (600_000 if is_compatible else 4_000_000)


def _each_refers_to_others(count: int, kind: str, *, links: int) -> str:
    definitions = {
        f"D{at}": {
            "properties": {f"p{link}": {"$ref": f"#/definitions/D{(at + 1 + link) % count}"} for link in range(links)}
        }
        for at in range(count)
    }
    definitions[f"D{count - 1}"]["properties"]["v"] = {"type": kind}
    return json.dumps({"$ref": "#/definitions/D0", "definitions": definitions})


@pytest.mark.slow
@pytest.mark.parametrize(("count", "links"), [(15, 15), (700, 2)])
def test_definitions_that_refer_to_one_another_are_judged(count: int, links: int):
    string, number = (_each_refers_to_others(count, kind, links=links) for kind in ("string", "integer"))
    assert _steps_of(string, string, JSON, STRICT)[0] == 0
    found, steps = _steps_of(string, number, JSON, STRICT)
    assert found == MAX_DIFFERENCES
    assert steps < 2_000_000
    judged = _judged(string, number, JSON)
    judged.witnesses()
    assert judged.search_steps.left > -1_000


@pytest.mark.slow
def test_a_difference_after_very_many_others_is_found():
    """Those that break nothing do not hide one that does."""
    reader, writer = (
        {"properties": {"a": {"properties": {f"p{at}": {"title": kind} for at in range(1_500)}}, "z": {"type": kind}}}
        for kind in ("string", "integer")
    )
    assert _steps_of(json.dumps(reader), json.dumps(writer), JSON, STRICT)[0] == 1
    assert _steps_of(json.dumps(writer), json.dumps(reader), JSON, STRICT)[0] == 1
