"""The walk over pairs of JSON schemas: what the recordings do not show, and what must not go wrong."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy, OutOfSteps, Steps
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.languages.jsonschema.compare.combined import match
from counterfoil.schema.languages.jsonschema.compare.differences import MAX_DIFFERENCES, walk
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.json_values import is_multiple, read_exact_json
from counterfoil.schema.languages.jsonschema.policies import find_differences
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Generator

    from counterfoil.schema.languages.jsonschema.schema import JsonSchema

D2020 = Draft.DRAFT_2020_12.value
POLICIES = list(CompatibilityPolicy)


def schema(value: Any, draft: str | None = None, **references: Any) -> JsonSchema:
    text = json.dumps({"$schema": draft, **value} if draft else value)
    supplied = [ResolvedReference(Reference(name, name, 1), json.dumps(text)) for name, text in references.items()]
    return parse_json_schema(text, supplied, validation=Validation.LENIENT)


def told(reader: Any, writer: Any, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT) -> list[str]:
    found = find_differences(schema(reader), schema(writer), policy=policy)
    return [f"{each.error_type} {each.path}".strip() for each in found]


def all_told(reader: Any, writer: Any) -> list[str]:
    found = walk(schema(reader), schema(writer), Steps(1_000_000))
    return [f"{each.error_type} {each.path}".strip() for each in found]


def test_an_enum_beside_a_type_is_reported_inside_the_allof():
    wider = {"type": "string", "enum": ["a", "b"]}
    assert all_told(wider, {"type": "string", "enum": ["a"]}) == ["ENUM_ARRAY_EXTENDED #/allOf/1/enum"]


def test_a_difference_points_into_both_texts_and_says_what_it_is():
    reader = schema({"properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"maxLength": 1}}})
    writer = schema({"properties": {"a": {"maxLength": 2}}})
    (found,) = find_differences(reader, writer)
    assert (found.reader_pointer, found.writer_pointer) == (
        ("definitions", "x", "maxLength"),
        ("properties", "a", "maxLength"),
    )
    assert (found.rule, found.detail) == ("max-length-decreased", "2 to 1")
    assert found.text == "The reader refuses strings longer than 1, the writer's maxLength is 2"
    position = reader.locate(found.reader_pointer)
    assert position is not None
    assert (position.line, position.column) == (1, reader.text.index("1}") + 1)


def test_the_sides_of_a_found_difference_are_its_nodes():
    (found,) = walk(schema({"type": "string"}), schema({"type": "integer"}))
    assert found.reader is not None
    assert found.writer is not None
    assert found.text == "The reader expects a string, the writer writes an integer"
    (added,) = walk(schema({"type": "array", "items": {}}), schema({"type": "array"}))
    assert (added.reader_pointer, added.writer_pointer, added.path) == (("items",), (), "")


@pytest.mark.parametrize("policy", POLICIES)
def test_what_the_reference_fails_on_is_answered(policy: CompatibilityPolicy):
    null, number = {"const": None}, {"type": "number", "exclusiveMaximum": 3}
    assert told(null, null, policy) == []
    assert len(told({"const": 1}, null, policy)) == 1
    assert told({"type": "number", "exclusiveMaximum": 5}, number, policy) == []
    assert len(told(number, {"type": "number", "exclusiveMaximum": 5}, policy)) == 1


def test_several_patterns_that_match_one_name_are_taken_in_their_order():
    patterns: dict[str, Any] = {"^a": {"type": "string"}, "b$": {"type": "integer"}}
    reader = {"patternProperties": patterns, "properties": {"ab": {"type": "string"}}}
    assert told(reader, {"patternProperties": patterns}) == []
    swapped = dict(reversed(patterns.items()))
    assert told(reader, {"patternProperties": swapped})[0] == "TYPE_CHANGED #/properties/ab"


def test_a_schema_that_contains_itself_is_read_to_the_end():
    def tree(leaf: str, draft: str) -> dict[str, Any]:
        node = {"properties": {"next": {"$ref": "#/definitions/n"}, "v": {"type": leaf}}}
        return {"$schema": draft, "properties": {"root": {"$ref": "#/definitions/n"}}, "definitions": {"n": node}}

    paths = ["#/properties/root/properties/next/properties/v", "#/properties/root/properties/v"]
    deeper = "#/properties/root/properties/next/properties/next/properties/v"
    for draft, expected in ((Draft.DRAFT_7.value, paths), (D2020, [deeper, *paths])):
        found = find_differences(schema(tree("string", draft)), schema(tree("integer", draft)))
        assert [each.path for each in found] == expected
        assert find_differences(schema(tree("string", draft)), schema(tree("string", draft))) == []


def test_a_break_behind_a_cycle_of_several_schemas_is_not_masked():
    def ring(leaf: str) -> dict[str, Any]:
        links: dict[str, Any] = {
            f"d{at}": {"properties": {"next": {"$ref": f"#/definitions/d{(at + 1) % 4}"}, "any": {"anyOf": [{}, {}]}}}
            for at in range(4)
        }
        links["d2"]["properties"]["v"] = {"type": leaf}
        return {"definitions": links, "properties": {"a": {"$ref": "#/definitions/d0"}}}

    assert told(ring("string"), ring("string")) == []
    assert "TYPE_CHANGED #/properties/a/properties/next/properties/next/properties/v" in told(
        ring("string"), ring("null")
    )


def test_references_to_other_documents_are_followed():
    reader = schema(
        {"properties": {"a": {"$ref": "common.json#/definitions/x"}}},
        **{"common.json": {"definitions": {"x": {"type": "string"}}}},
    )
    writer = schema({"properties": {"a": {"type": "integer"}}})
    (found,) = find_differences(reader, writer)
    assert (found.error_type, found.path) == ("TYPE_CHANGED", "#/properties/a")
    assert found.reader_pointer == ("properties", "a", "$ref")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_reference_to_nowhere_is_one_finding(policy: CompatibilityPolicy):
    reader, writer = schema({"properties": {"a": {"$ref": "gone.json"}}}), schema({"properties": {"a": {}}})
    for sides in ((reader, writer), (writer, reader)):
        (found,) = find_differences(*sides, policy=policy)
        assert (found.rule, found.error_type) == ("unresolved-reference", "")
        assert "gone.json" in found.text


def test_references_that_lead_to_references_are_followed_where_both_sides_have_them():
    def twice(leaf: str) -> dict[str, Any]:
        definitions = {"x": {"$ref": "#/definitions/y"}, "y": {"type": leaf}}
        return {"properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": definitions}

    assert told(twice("string"), twice("string")) == []
    assert told(twice("string"), twice("integer")) == ["TYPE_CHANGED #/properties/a"]
    assert told(twice("string"), {"properties": {"a": {"type": "string"}}}) == ["TYPE_CHANGED #/properties/a"]
    assert told(twice("string"), {"properties": {"a": {"type": "string"}}}, CompatibilityPolicy.SOUND) == []


def test_references_in_a_circle_end():
    circle = {
        "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
        "$ref": "#/definitions/a",
    }
    for policy in POLICIES:
        assert told(circle, circle, policy) == []
        told({"type": "string"}, circle, policy)
        told(circle, {"type": "string"}, policy)
        assert told({"$ref": "#"}, {"$ref": "#"}, policy) == []


def _matched(matching: Generator[tuple[int, int], bool, dict[int, int]], pairs: set[tuple[int, int]]) -> dict[int, int]:
    try:
        pair = next(matching)
        while True:
            pair = matching.send(pair in pairs)
    except StopIteration as done:
        return done.value


def test_matching_is_as_large_as_can_be():
    rng = random.Random(3)
    for _ in range(300):
        left, right = rng.randrange(1, 5), rng.randrange(1, 5)
        pairs = {pair for pair in itertools.product(range(left), range(right)) if rng.random() < 0.4}
        likely: dict[int, int] = {}
        for one, other in sorted(pairs):
            if one not in likely and other not in likely.values() and rng.random() < 0.5:
                likely[one] = other
        found = _matched(match(left, right, likely=likely), pairs)
        best = max(
            len([one for one, other in enumerate(order) if (one, other) in pairs])
            for order in itertools.permutations([*range(right), *[-1] * left], left)
        )
        assert set(found.items()) <= pairs
        assert len(set(found.values())) == len(found) == best


@pytest.mark.parametrize(
    ("number", "of", "expected"),
    [
        ("6", "3", True),
        ("0.50", "0.5", True),
        ("1", "0.1", True),
        ("5", "3", False),
        ("1e400", "7", False),
        ("1", "0", False),
    ],
)
def test_multiples_are_decimal(number: str, of: str, expected: bool):  # noqa: FBT001  # a column of the table above
    assert is_multiple(read_exact_json(number), read_exact_json(of)) is expected


def nested(depth: int, leaf: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": leaf}
    for _ in range(depth):
        made = {"anyOf": [made, {"type": "null"}, {"type": "array", "items": made}]}
    return made


def chain(length: int, leaf: str, fan: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{at}": {"properties": {f"p{way}": {"$ref": f"#/definitions/d{at + 1}"} for way in range(fan)}}
        for at in range(length)
    }
    return {"definitions": definitions | {f"d{length}": {"type": leaf}}, "$ref": "#/definitions/d0"}


def union(size: int, leaf: str) -> dict[str, Any]:
    return {"anyOf": [{"properties": {f"p{at}": {"type": leaf}}, "required": [f"p{at}"]} for at in range(size)]}


def slow_patterns(name: str) -> dict[str, Any]:
    patterns = {f"^(a+)+{at}$": {"type": "string"} for at in range(10)}
    return {"patternProperties": patterns, "additionalProperties": False, "properties": {name: {"type": "null"}}}


HOSTILE: dict[str, tuple[Any, Any]] = {
    "alternatives in alternatives": (nested(9, "string"), nested(9, "integer")),
    "references that fan out": (chain(40, "string", 3), chain(40, "integer", 3)),
    "a long chain": (chain(3000, "string", 1), chain(3000, "integer", 1)),
    "a large union": (union(120, "string"), union(120, "integer")),
    "a larger union, the same": (union(600, "string"), union(600, "string")),
    "slow patterns": (slow_patterns("a" * 60), slow_patterns("a" * 61)),
    "deep": (json.loads('{"not":' * 190 + "{}" + "}" * 190), json.loads('{"not":' * 190 + "true" + "}" * 190)),
    "many enum values": ({"enum": list(range(5000))}, {"enum": list(range(1, 5001))}),
}


@pytest.mark.slow
@pytest.mark.timeout(300)  # each takes a second or two
@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pairs_end_with_an_answer_or_a_typed_error(name: str, policy: CompatibilityPolicy):
    reader, writer = map(schema, HOSTILE[name])
    with contextlib.suppress(InvalidSchema, OutOfSteps):
        assert len(find_differences(reader, writer, policy=policy)) <= MAX_DIFFERENCES


@pytest.mark.slow
def test_the_error_about_a_pair_that_takes_too_long_says_why():
    sides = schema(nested(7, "string")), schema(nested(7, "integer"))
    with pytest.raises(JudgementUndecided, match="cannot be decided within the limits of a comparison"):
        language_for(SchemaType.JSON).find_differences(*sides, steps=Steps(10_000))


@pytest.mark.slow
@pytest.mark.parametrize("draft", [None, D2020])
def test_references_may_lead_to_one_another_as_deeply_as_they_want(draft: str | None):
    (found,) = find_differences(*(schema(chain(1200, leaf, 1), draft) for leaf in ("string", "integer")))
    assert (found.error_type, found.path.count("/properties/p0")) == ("TYPE_CHANGED", 1200)


@pytest.mark.slow
def test_numbers_of_absurd_size_are_compared():
    absurd = [
        '{"minimum": 1e2147483640}',
        '{"multipleOf": 1e-2147483640}',
        '{"minItems": 1e999999}',
        '{"minimum": 7, "multipleOf": 3}',
    ]
    for left, right in itertools.product(absurd, absurd):
        sides = [parse_json_schema(text, validation=Validation.LENIENT) for text in (left, right)]
        for policy in POLICIES:
            find_differences(*sides, policy=policy)


@pytest.mark.slow
def test_as_many_differences_are_reported_as_one_can_read():
    wide = {"properties": {f"p{at}": {"type": "string"} for at in range(3000)}}
    assert len(told(wide, {"properties": {f"p{at}": {"type": "null"} for at in range(3000)}})) == MAX_DIFFERENCES
