"""Judgements of large and of dear schemas: counted steps, in every language; what has none left is never a yes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.agreements.findings import Offer
from counterfoil.schema.agreements.judge import Undecided, misfits_of
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, OutOfSteps, steps_for
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.compatibility.misfits import MAX_PLACES
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement import Budget, judge
from counterfoil.schema.languages.avro.misfits import find_misfits as avro_misfits
from counterfoil.schema.languages.jsonschema.compare.differences import MAX_ROUNDS
from counterfoil.schema.languages.protobuf.misfits import find_misfits as protobuf_misfits
from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.paths import member

AVRO, JSON, PROTOBUF = SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF
STRICT, SOUND = CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND
LINKS = 8


def _used_by(at: int, width: int, layers: int) -> list[int]:
    """Return the types of the next layer that a type uses."""
    inner = [(at // width + 1) * width + (at * 7 + step * 13) % width for step in range(LINKS)]
    return [each for each in inner if each < layers * width]


def avro_resources(layers: int, width: int, kind: str) -> str:
    """Return a schema in the manner of those of FHIR and Kubernetes: records in layers, each used by many others."""
    declared: set[int] = set()

    def record(at: int) -> dict[str, Any]:
        declared.add(at)
        fields: list[Any] = [{"name": f"v{it}", "type": ["null", "string"] if it % 2 else "string"} for it in range(12)]
        if at == layers * width - 1:
            fields[0]["type"] = kind
        for link, each in enumerate(_used_by(at, width, layers)):
            inner: Any = f"R{each}" if each in declared else record(each)
            fields.append(
                {"name": f"f{link}", "type": ["null", inner] if link % 2 else {"type": "array", "items": inner}}
            )
        return {"type": "record", "name": f"R{at}", "fields": fields}

    bundle = [{"name": f"r{at}", "type": ["null", record(at)]} for at in range(width) if at not in declared]
    return json.dumps({"type": "record", "name": "Bundle", "fields": bundle})


def protobuf_resources(layers: int, width: int, kind: str) -> str:
    """Return the same in Protobuf."""
    parts = ['syntax = "proto3";']
    for at in range(layers * width):
        first = kind if at == layers * width - 1 else "string"
        fields = [f"{'string' if it else first} v{it} = {it + 1};" for it in range(12)]
        for link, each in enumerate(_used_by(at, width, layers)):
            fields.append(f"{'repeated ' if link % 2 else ''}R{each} f{link} = {20 + link};")
        parts.append(f"message R{at} {{ {' '.join(fields)} }}")
    return "\n".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [STRICT, SOUND])
@pytest.mark.parametrize(
    ("language", "make", "other", "most"),
    [
        pytest.param(AVRO, avro_resources, "int", 400_000, id="avro"),
        pytest.param(PROTOBUF, protobuf_resources, "int32", 100_000, id="protobuf"),
    ],
)
def test_schemas_of_tens_of_thousands_of_nodes_are_judged(
    language: SchemaType, make: Any, other: str, most: int, policy: CompatibilityPolicy
):
    """Their fields and types are tens of thousands, and each type has many places."""
    earlier = parse_schema(make(8, 90, "string"), language)
    for kind, is_compatible in (("string", True), (other, False)):
        later = parse_schema(make(8, 90, kind), language)
        steps = steps_for(later, earlier)
        before = steps.left
        found = language_for(language).find_differences(later, earlier, policy=policy, steps=steps)
        assert (not found) is is_compatible
        assert before - steps.left < most


def _back_and_forth(count: int, kind: str, *more: Any) -> str:
    """Return definitions that each refer to the next and to the one before: each round finds one more that differs."""
    definitions: dict[str, Any] = {}
    for at in range(count):
        properties: dict[str, Any] = {"f": {"$ref": f"#/definitions/D{at + 1}"}} if at + 1 < count else {}
        properties |= {"b": {"$ref": f"#/definitions/D{at - 1}"}} if at else {"v": {"type": kind}}
        definitions[f"D{at}"] = {"type": "object", "properties": properties}
    return json.dumps({"anyOf": [{"$ref": "#/definitions/D0"}, {}, *more], "definitions": definitions})


@pytest.mark.slow
@pytest.mark.parametrize("level", [CompatibilityLevel.BACKWARD, CompatibilityLevel.BACKWARD_TRANSITIVE])
def test_a_recursion_that_is_not_stable_after_the_last_round_is_undecided(level: CompatibilityLevel):
    """A further round could find a difference that the verdict depends on."""

    def judged(count: int) -> bool:
        later = parse_schema(_back_and_forth(count, "string", {"description": "any"}), JSON)
        return judge(
            later, [Earlier(parse_schema(_back_and_forth(count, "integer"), JSON))], level
        ).report.is_compatible

    assert judged(MAX_ROUNDS - 5)
    with pytest.raises(JudgementUndecided, match="cannot be decided") as caught:
        judged(MAX_ROUNDS + 10)
    assert (caught.value.status, caught.value.code) == (422, 42213)


FIELDS = range(60)
PAIRS = {
    AVRO: tuple(
        json.dumps({"type": "record", "name": "A", "fields": [{"name": f"f{at}", "type": kind} for at in FIELDS]})
        for kind in (["null", "long"], ["null", "int"])
    ),
    JSON: tuple(
        json.dumps({"type": "object", "properties": {f"f{at}": {"anyOf": kinds} for at in FIELDS}})
        for kinds in ([{"type": "number"}, {"type": "null"}], [{"type": "integer"}, {"type": "null"}])
    ),
    PROTOBUF: tuple(
        f'syntax = "proto3"; message A {{ {" ".join(f"{kind} f{at} = {at + 1};" for at in FIELDS)} }}'
        for kind in ("uint32", "uint64")
    ),
}
"""A later and an earlier schema of each language that are compatible under STRICT."""


@pytest.mark.parametrize("policy", CompatibilityPolicy)
@pytest.mark.parametrize("language", PAIRS)
def test_no_policy_says_yes_without_steps(language: SchemaType, policy: CompatibilityPolicy):
    later, earlier = (parse_schema(text, language) for text in PAIRS[language])
    for steps in (0, 1, 5, 20):
        with pytest.raises(JudgementUndecided) as caught:
            judge(later, [Earlier(earlier)], CompatibilityLevel.BACKWARD, policy=policy, budget=Budget(None, 0, steps))
        assert caught.value.code == 42213
    if policy is STRICT:
        assert judge(later, [Earlier(earlier)], CompatibilityLevel.BACKWARD, policy=policy).report.is_compatible


def test_no_verdict_about_references_says_yes_without_steps():
    def parsed(language: SchemaType, name: str, inner: str, text: str) -> Any:
        return parse_schema(text, language, references=[ResolvedReference(Reference(name, name, 1), inner)])

    outer = {
        AVRO: ("A", json.dumps({"type": "record", "name": "B", "fields": [{"name": "a", "type": "A"}]})),
        JSON: ("a.json", json.dumps({"properties": {"a": {"$ref": "a.json"}}})),
        PROTOBUF: ("a.proto", 'syntax = "proto3"; import "a.proto"; message B { A a = 1; }'),
    }
    for language, (name, text) in outer.items():
        later, earlier = (parsed(language, name, inner, text) for inner in PAIRS[language])
        steps = steps_for(later, earlier)
        before = steps.left
        assert not language_for(language).find_differences(later, earlier, steps=steps)
        spent = before - steps.left
        assert spent > 0
        for few in {0, 1, spent // 2, spent - 1} - {spent}:
            with pytest.raises(JudgementUndecided):
                judge(later, [Earlier(earlier)], CompatibilityLevel.BACKWARD, budget=Budget(None, 0, few))


def _chain(count: int, kind: str) -> str:
    """Return a union of records of which each has the one before as a field."""
    records = []
    for at in range(count):
        before = [{"name": "n", "type": f"R{at - 1}"}] if at else []
        records.append({"type": "record", "name": f"R{at}", "fields": [{"name": "a", "type": kind}, *before]})
    return json.dumps(records)


@pytest.mark.slow
def test_the_misfits_of_a_long_chain_of_records_take_steps_in_proportion_to_it():
    def spent(count: int) -> int:
        reader, writer = (parse_schema(_chain(count, kind), AVRO) for kind in ("string", "int"))
        misfits: Any = avro_misfits(reader, writer)
        before = misfits.steps.left
        assert len({each.place[-2:] for each in misfits.at(())}) >= count
        return int(before - misfits.steps.left)

    assert spent(300) < 2.5 * spent(150)


def _ring(count: int, kind: str) -> str:
    """Return messages in a circle: two such circles have as many pairs as the product of their lengths."""
    messages = (f"message M{at} {{ M{(at + 1) % count} n = 1; {kind} v = 2; }}" for at in range(count))
    return f'syntax = "proto3"; {" ".join(messages)}'


@pytest.mark.slow
def test_the_misfits_of_two_circles_of_messages_end_and_are_unknown_where_they_are_too_many():
    few, other = (parse_schema(_ring(*each), PROTOBUF) for each in ((30, "string"), (31, "int32")))
    assert len(protobuf_misfits(few, other).at(())) >= 30 * 31
    many, others = (parse_schema(_ring(*each), PROTOBUF) for each in ((700, "string"), (701, "int32")))
    with pytest.raises(OutOfSteps):
        protobuf_misfits(many, others).at(())
    with pytest.raises(Undecided, match="take too long"):
        misfits_of(Offer(others), many).at(())


def test_a_type_with_very_many_places_has_misfits_at_the_first_ones():
    """Each message holds the next one twice, so that the last one has as many places as two to the power of all."""
    texts = [
        'syntax = "proto3"; '
        + " ".join(f"message M{at} {{ M{at + 1} a = 1; M{at + 1} b = 2; }}" for at in range(40))
        + f" message M40 {{ {kind} v = 1; }}"
        for kind in ("string", "int32")
    ]
    reader, writer = (parse_schema(text, PROTOBUF) for text in texts)
    misfits: Any = protobuf_misfits(reader, writer)
    before = misfits.steps.left
    assert MAX_PLACES <= len(misfits.at(())) < 2 * MAX_PLACES
    assert misfits.at((member("a"),) * 40)
    assert before - misfits.steps.left < 100_000


def test_a_path_through_unions_of_records_that_contain_one_another_is_followed_once_a_pair():
    """Each branch leads to the same union again: there are as many ways as branches to the power of steps."""
    names = [f"R{at}" for at in range(1, 25)]
    inner = [{"type": "record", "name": name, "fields": [{"name": "a", "type": "R0"}]} for name in names]
    fields = [{"name": "a", "type": ["null", *inner]}, {"name": "v", "type": "int"}]
    writer = parse_schema(json.dumps({"type": "record", "name": "R0", "fields": fields}), AVRO)
    links = [{"name": "a", "type": ["null", "S"]}, {"name": "v", "type": "string", "default": ""}]
    reader = parse_schema(json.dumps({"type": "record", "name": "S", "fields": links}), AVRO)
    misfits: Any = avro_misfits(reader, writer)
    before = misfits.steps.left
    assert misfits.at((member("a"),) * 24)
    assert before - misfits.steps.left < 100_000
