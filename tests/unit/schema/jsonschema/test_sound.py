"""The policy SOUND: every kind of corrected answer, each with a value that a foreign validator judges."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from counterfoil.schema.compatibility.policies import CompatibilityPolicy, OutOfSteps
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.json_values import read_exact_json
from counterfoil.schema.languages.jsonschema.policies import find_differences
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.jsonschema.sound.policy import decide
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.written import root_of
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from strategies.json_schema.pairs import any_value, plain, random_value, schema_pairs

if TYPE_CHECKING:
    from counterfoil.schema.languages.jsonschema.schema import JsonSchema

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings" / "verdicts.json.jsonl"
D4, D7, D2020 = Draft.DRAFT_4.value + "#", Draft.DRAFT_7.value + "#", Draft.DRAFT_2020_12.value
SOUND = CompatibilityPolicy.SOUND
VALIDATOR_BY_DRAFT: dict[Draft, Any] = {
    Draft.DRAFT_4: jsonschema.Draft4Validator,
    Draft.DRAFT_6: jsonschema.Draft6Validator,
    Draft.DRAFT_7: jsonschema.Draft7Validator,
    Draft.DRAFT_2019_09: jsonschema.Draft201909Validator,
    Draft.DRAFT_2020_12: jsonschema.Draft202012Validator,
}


def schema(value: Any, draft: str = D7) -> JsonSchema:
    text = json.dumps({"$schema": draft, **value} if isinstance(value, dict) else value)
    return parse_json_schema(text, validation=Validation.LENIENT)


def validator(one: JsonSchema) -> Any:
    """The package ``jsonschema``, which has nothing to do with us."""
    documents = [
        (name, Resource.from_contents(plain(document), default_specification=DRAFT7))
        for name, document in one.references.items()
    ]
    registry: Any = Registry().with_resources(documents)
    return VALIDATOR_BY_DRAFT[one.draft](plain(one.document), registry=registry)


def accepts(one: JsonSchema, value: Any) -> bool:
    return bool(validator(one).is_valid(plain(value)))


def rules(reader: JsonSchema, writer: JsonSchema, policy: CompatibilityPolicy) -> list[str]:
    return [each.rule for each in find_differences(reader, writer, policy=policy)]


LET_PASS: dict[str, tuple[str, str, Any, Any]] = {
    "patterns for names added": (
        D7,
        "pattern-properties-narrowed",
        {"type": "object"},
        {"type": "object", "patternProperties": {"^x": {"type": "null"}}},
    ),
    "patterns for names narrowed": (
        D7,
        "pattern-properties-narrowed",
        {"patternProperties": {"^x": {"maxLength": 3}}},
        {"patternProperties": {"^x": {"maxLength": 2}}},
    ),
    "names": (D7, "property-names-narrowed", {"type": "object"}, {"type": "object", "propertyNames": {"maxLength": 3}}),
    "contains added": (D7, "contains-narrowed", {"type": "array"}, {"type": "array", "contains": {"type": "string"}}),
    "contains narrowed": (
        D7,
        "contains-narrowed",
        {"type": "array", "contains": {"type": "number"}},
        {"type": "array", "contains": {"type": "integer"}},
    ),
    "condition narrowed": (
        D7,
        "condition-narrowed",
        {"type": "string", "if": {"minLength": 3}, "then": {}},
        {"type": "string", "if": {"minLength": 3}, "then": {"pattern": "^a"}},
    ),
    "required and not declared": (
        D7,
        "undeclared-property-required",
        {"type": "object"},
        {"type": "object", "required": ["x"]},
    ),
    "required and declared by neither": (
        D2020,
        "undeclared-property-required",
        {"type": "object", "required": ["a"]},
        {"type": "object", "required": ["b"]},
    ),
    "a default in a new required property": (
        D7,
        "required-property-default-not-applied",
        {"type": "object", "additionalProperties": False},
        {"type": "object", "additionalProperties": False, "properties": {"a": {"default": 1}}, "required": ["a"]},
    ),
    "a default in a property that becomes required": (
        D7,
        "required-property-default-not-applied",
        {"properties": {"a": {"type": "string", "default": ""}}},
        {"properties": {"a": {"type": "string", "default": ""}}, "required": ["a"]},
    ),
    "branches that overlap": (
        D7,
        "one-of-branches-overlap",
        {"type": "integer"},
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    ),
    "a lower exclusive maximum": (
        D7,
        "number-limit-narrowed",
        {"type": "number", "exclusiveMaximum": 5, "maximum": 10},
        {"type": "number", "exclusiveMaximum": 3, "maximum": 10},
    ),
    "the true of draft-04": (
        D4,
        "number-limit-narrowed",
        {"type": "number", "minimum": 1},
        {"type": "number", "minimum": 1, "exclusiveMinimum": True},
    ),
    "strings and numbers that are called bytes": (
        D7,
        "value-refused",
        {"type": "string", "connect.type": "bytes"},
        {"type": "number", "connect.type": "bytes"},
    ),
    "a second pattern that matches the same name": (
        D7,
        "pattern-properties-narrowed",
        {"type": "object", "additionalProperties": False, "patternProperties": {"^a": {}, "b$": {}}},
        {"type": "object", "additionalProperties": False, "patternProperties": {"^a": {}, "b$": {"type": "null"}}},
    ),
}
"""What STRICT lets pass: the draft, the rule of SOUND, the writer and the reader."""


@pytest.mark.parametrize("kind", LET_PASS)
def test_what_strict_lets_pass_is_found_with_a_value_that_proves_it(kind: str):
    draft, rule, old, new = LET_PASS[kind]
    reader, writer = schema(new, draft), schema(old, draft)
    assert rules(reader, writer, CompatibilityPolicy.STRICT) == []
    assert rules(reader, writer, SOUND) == [rule]
    values = [value for reason in decide(reader, writer).reasons for value in reason.values]
    assert values
    for value in values:
        assert accepts(writer, value), value
        assert not accepts(reader, value), value


OVER_STRICT: dict[str, tuple[str, Any, Any]] = {
    "items that may be anything": (D7, {"type": "array"}, {"type": "array", "items": {}}),
    "no length is shorter than none": (D7, {"type": "string"}, {"type": "string", "minLength": 0}),
    "no array is shorter than none": (D7, {"type": "array"}, {"type": "array", "minItems": 0}),
    "no object is smaller than none": (D7, {"type": "object"}, {"type": "object", "minProperties": 0}),
    "const to an enum that has it": (D7, {"const": 1}, {"enum": [1, 2]}),
    "an enum of one to its const": (D7, {"enum": ["A"]}, {"const": "A"}),
    "enum to its type": (D7, {"enum": ["A", "B"]}, {"type": "string"}),
    "exclusive limit to a lower inclusive one": (
        D7,
        {"type": "number", "exclusiveMinimum": 5},
        {"type": "number", "minimum": 4},
    ),
    "an exclusive limit of integers as an inclusive one": (
        D7,
        {"type": "integer", "exclusiveMaximum": 5},
        {"type": "integer", "maximum": 4},
    ),
    "no keyword but an empty one": (D7, {}, {"properties": {}}),
    "branches that one reader takes": (D7, {"anyOf": [{"type": "integer"}, {"type": "number"}]}, {"type": "number"}),
    "allOf taken apart": (D7, {"type": "string", "minLength": 1}, {"allOf": [{"type": "string"}, {"minLength": 1}]}),
    "whole numbers to integers": (D7, {"type": "number", "multipleOf": 1}, {"type": "integer"}),
    "integers to multiples of a half": (D7, {"type": "integer"}, {"type": "integer", "multipleOf": 0.5}),
    "a schema that contains itself, with more room": (
        D7,
        {"type": "object", "properties": {"n": {"$ref": "#"}, "v": {"const": 1}}, "required": ["v"]},
        {"type": "object", "properties": {"n": {"$ref": "#"}, "v": {"enum": [1, 2]}}, "required": ["v"]},
    ),
}
"""What STRICT refuses although no value breaks: the draft, the writer and the reader."""


@pytest.mark.parametrize("kind", OVER_STRICT)
def test_what_strict_refuses_without_need_is_dropped(kind: str):
    draft, old, new = OVER_STRICT[kind]
    reader, writer = schema(new, draft), schema(old, draft)
    assert rules(reader, writer, CompatibilityPolicy.STRICT) != []
    assert rules(reader, writer, SOUND) == []
    assert decide(reader, writer).is_proved
    rng = random.Random(kind)
    for _ in range(200):
        value = random_value(rng, old)
        assert accepts(reader, value) or not accepts(writer, value), value


def test_the_docs_tell_each_of_these():
    page = (Path(__file__).parents[4] / "docs" / "sound-json-schema.md").read_text(encoding="utf-8")
    for kind in (*LET_PASS, *OVER_STRICT):
        assert f"| {kind} |" in page
    for _, rule, *_ in LET_PASS.values():
        assert f"`{rule}`" in page


def test_a_decision_that_takes_too_long_is_none_and_is_refused():
    reader, writer = schema({"maxLength": 3, "pattern": "^(?!d)a"}), schema({"maxLength": 3, "pattern": "^a"})
    decision = decide(reader, writer, max_steps=1)
    assert (decision.is_proved, decision.is_refuted) == (False, False)
    assert rules(reader, writer, SOUND) != []


def test_what_is_neither_proved_nor_refuted_is_refused():
    old, new = ({"patternProperties": {name: {"type": "integer"}}} for name in ("^[a-c]+$", "^(?!d)[a-c]+$"))
    reader, writer = schema({**new, "additionalProperties": False}), schema({**old, "additionalProperties": False})
    assert rules(reader, writer, CompatibilityPolicy.STRICT) == []
    assert rules(reader, writer, SOUND) == ["inclusion-unproved"]


def of_definition(*names: str) -> dict[str, Any]:
    declared = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return {"type": "object", "$ref": "#/$defs/X", "unevaluatedProperties": False, "$defs": {"X": declared}}


CLOSED: dict[str, Any] = {"type": "object", "allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}
CONTAINING: dict[str, Any] = {"type": "array", "contains": {"type": "integer"}, "unevaluatedItems": False}
BREAKING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a property that the closed definition had": (of_definition("a", "b", "c"), of_definition("a", "b")),
    "required beside a closed allOf": (CLOSED, {**CLOSED, "required": ["a"]}),
    "patterns beside a closed allOf": (
        {**CLOSED, "patternProperties": {"^x": {"type": "integer"}}},
        {**CLOSED, "patternProperties": {"^x": {"type": "string"}}},
    ),
    "what contains evaluates": (CONTAINING, {**CONTAINING, "contains": {"type": "integer", "maximum": 5}}),
    "what follows from else": (
        {"type": "object", "if": {"required": ["a"]}, "else": {"properties": {"id": {"type": "integer"}}}},
        {"type": "object", "if": {"required": ["a"]}, "else": {"properties": {"id": {"type": "string"}}}},
    ),
    "a branch that evaluates no longer": (
        {"anyOf": [{"properties": {"a": {}}}, {"required": ["b"]}], "unevaluatedProperties": False},
        {"anyOf": [{"required": ["b"]}, {"properties": {"c": {}}}], "unevaluatedProperties": False},
    ),
    "a negated limit": ({"not": {"minLength": 3}}, {"not": {"minLength": 2}}),
    "fewer contained": (
        {"contains": {"type": "integer"}, "maxContains": 3},
        {"contains": {"type": "integer"}, "maxContains": 2},
    ),
    "the reader's dynamic reference": (
        {"$dynamicAnchor": "n", "properties": {"n": {"$dynamicRef": "#n"}, "v": {"type": "number"}}},
        {"$dynamicAnchor": "n", "properties": {"n": {"$dynamicRef": "#n"}, "v": {"type": "integer"}}},
    ),
    "a dependent schema that closes": (
        {"type": "object", "dependentSchemas": {"a": {"properties": {"b": {}}}}},
        {
            "type": "object",
            "dependentSchemas": {"a": {"properties": {"b": {}}}},
            "unevaluatedProperties": {"type": "null"},
        },
    ),
}
"""Changes of schemas that are put together, and a value breaks each: writer and reader."""

WIDENING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a property that the closed definition gets": (of_definition("a", "b"), of_definition("a", "b", "c")),
    "a property in a closed allOf": (CLOSED, {**CLOSED, "allOf": [{"properties": {"a": {}, "b": {"type": "string"}}}]}),
    "no longer required beside a closed allOf": ({**CLOSED, "required": ["a"]}, CLOSED),
    "more that contains evaluates": ({**CONTAINING, "contains": {"type": "integer", "maximum": 5}}, CONTAINING),
    "open": (CLOSED, {**CLOSED, "unevaluatedProperties": True}),
    "a closed allOf written out": (CLOSED, {"type": "object", "properties": {"a": {}}, "additionalProperties": False}),
    "a closed object written with allOf": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {**CLOSED, "allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
    ),
    "one more branch": (
        {"anyOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]}], "unevaluatedProperties": False},
        {
            "anyOf": [{"properties": {"k": {"const": number}}, "required": ["k"]} for number in (1, 2)],
            "unevaluatedProperties": False,
        },
    ),
    "a negated limit": ({"not": {"minLength": 2}}, {"not": {"minLength": 3}}),
    "a recursion with more room": (
        {"$dynamicAnchor": "n", "properties": {"n": {"$dynamicRef": "#n"}, "v": {"type": "integer"}}},
        {"$dynamicAnchor": "n", "properties": {"n": {"$dynamicRef": "#n"}, "v": {"type": "number"}}},
    ),
}
"""Changes of such schemas that accept more than before: writer and reader."""


@pytest.mark.parametrize("kind", BREAKING)
def test_a_value_that_breaks_composed_schemas_is_found(kind: str):
    old, new = BREAKING[kind]
    reader, writer = schema(new, D2020), schema(old, D2020)
    assert rules(reader, writer, SOUND) != []
    values = [value for reason in decide(reader, writer).reasons for value in reason.values]
    assert values
    for value in values:
        assert accepts(writer, value), value
        assert not accepts(reader, value), value


@pytest.mark.parametrize("kind", WIDENING)
def test_composed_schemas_may_become_wider(kind: str):
    old, new = WIDENING[kind]
    assert rules(schema(new, D2020), schema(old, D2020), SOUND) == []


@pytest.mark.parametrize("draft", [Draft.DRAFT_2019_09, Draft.DRAFT_2020_12])
def test_whether_contains_evaluates_items_is_left_open_in_2019(draft: Draft):
    reader = schema({"type": "array", "maxItems": 0}, draft.value)
    is_refused = rules(reader, schema(CONTAINING, draft.value), SOUND) != []
    assert is_refused, "validators take [1] under both drafts"
    reader = schema({"type": "array", "contains": {"type": "integer"}}, draft.value)
    assert rules(reader, schema(CONTAINING, draft.value), SOUND) == []


def test_what_is_not_evaluated_is_known_where_one_schema_speaks_alone():
    declared = {"type": "object", "properties": {"a": {"type": "string"}}}
    closed, open_ = {**declared, "unevaluatedProperties": False}, {**declared, "unevaluatedProperties": True}
    assert decide(schema(open_, D2020), schema(closed, D2020)).is_proved
    assert decide(schema({**declared, "additionalProperties": False}, D2020), schema(closed, D2020)).is_proved
    (reason,) = [each for each in decide(schema(closed, D2020), schema(open_, D2020)).reasons if each.values][:1]
    assert accepts(schema(open_, D2020), reason.values[0])
    assert not accepts(schema(closed, D2020), reason.values[0])
    shorter = {"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": False}
    assert decide(schema({"maxItems": 1}, D2020), schema(shorter, D2020)).is_proved
    assert decide(schema(shorter, D2020), schema({"type": "array"}, D2020)).is_refuted


def test_findings_of_strict_that_no_value_speaks_for_are_left_out():
    reader = schema({"properties": {"a": {"items": {}, "type": "array"}, "b": {"type": "string"}}})
    writer = schema({"properties": {"a": {"type": "array"}, "b": {"type": "integer"}}})
    assert rules(reader, writer, CompatibilityPolicy.STRICT) == ["schema-added", "type-changed"]
    assert [each.path for each in find_differences(reader, writer, policy=SOUND)][-1] == "#/properties/b"


def test_a_value_is_reported_in_the_sentence_and_cut():
    reader, writer = schema({"enum": ["x" * 300]}), schema({"enum": ["y" * 300, "x" * 300]})
    (finding,) = find_differences(reader, writer, policy=SOUND)
    assert finding.rule == "enum-array-narrowed"
    (told,) = find_differences(schema({"type": "object", "required": ["k"]}), schema({"type": "object"}), policy=SOUND)
    assert (told.path, told.detail) == ("#/required/k", "k")
    assert told.text == "The reader requires property k, which the writer does not require"


def side(record: dict[str, Any], name: str) -> JsonSchema:
    references = [
        ResolvedReference(Reference(each["name"], each["subject"], each["version"]), each["schema"])
        for each in record.get("references", ())
        if each["side"] == name
    ]
    text = record["reader_or_new" if name == "new" else "writer_or_old"]
    return parse_json_schema(text, references, validation=Validation.LENIENT)


def recorded_pairs() -> list[tuple[JsonSchema, JsonSchema, bool]]:
    lines = RECORDINGS.read_text(encoding="utf-8").splitlines()
    records = [record for record in map(json.loads, lines) if record["policy"] == "STRICT"]
    return [(side(record, "new"), side(record, "old"), record["compatible"]) for record in records]


@pytest.mark.slow
def test_recorded_pairs_are_refuted_by_values_and_proved_as_the_validator_confirms():
    refuted = false_alarms = missed = tried = 0
    rng = random.Random(11)
    for number, (reader, writer, is_compatible) in enumerate(recorded_pairs()):
        decision = decide(reader, writer)
        false_alarms += decision.is_proved and not is_compatible
        missed += decision.is_refuted and is_compatible
        refuted += decision.is_refuted
        for value in [value for reason in decision.reasons for value in reason.values][:3]:
            assert accepts(writer, value), value
            assert not accepts(reader, value), value
        if decision.is_proved and number % 4 == 0:
            tried += read_alike(rng, reader, writer)
    assert (refuted > 550, false_alarms > 90, missed > 70, tried > 1000) == (True, True, True, True)


def read_alike(rng: random.Random, reader: JsonSchema, writer: JsonSchema) -> int:
    """Assert that the reader takes the values that the writer may write, and return how many were tried."""
    judge, other = validator(writer), validator(reader)
    values = [plain(random_value(rng, plain(writer.document))) for _ in range(25)]
    written = [value for value in values if judge.is_valid(value)]
    assert [(value, reader.text, writer.text) for value in written if not other.is_valid(value)] == []
    return len(written)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_decisions_on_generated_pairs_hold(seed: int):
    """Proofs against generated values, refutations against the validator; seeded, so a failure can be seen again."""
    rng = random.Random(seed)
    decided = pairs = 0
    for first, second in schema_pairs(rng, 150):
        pairs += 1
        writer = parse_json_schema(json.dumps(first), validation=Validation.LENIENT)
        reader = parse_json_schema(json.dumps(second), validation=Validation.LENIENT)
        decision = decide(reader, writer)
        decided += decision.is_proved or decision.is_refuted
        judge, other = validator(writer), validator(reader)
        for value in [plain(value) for reason in decision.reasons for value in reason.values][:5]:
            if ".0" not in json.dumps(value):  # whether 1.0 is an integer in draft-04 depends on its spelling
                assert judge.is_valid(value), (value, first, second)
                assert not other.is_valid(value), (value, first, second)
        for value in [plain(random_value(rng, first)) for _ in range(20 if decision.is_proved else 0)]:
            assert ".0" in json.dumps(value) or other.is_valid(value) or not judge.is_valid(value), (
                value,
                first,
                second,
            )
    assert decided > 0.9 * pairs


@pytest.mark.slow
def test_a_generated_schema_is_compatible_with_itself():
    for first, second in schema_pairs(random.Random(9), 150):
        for text in (json.dumps(first), json.dumps(second)):
            sides = [parse_json_schema(text, validation=Validation.LENIENT) for _ in range(2)]
            for policy in CompatibilityPolicy:
                assert find_differences(*sides, policy=policy) == [], (policy, text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_our_judgement_of_values_is_the_validators(seed: int):
    rng = random.Random(100 + seed)
    known = asked = 0
    for first, _ in schema_pairs(rng, 120):
        one = parse_json_schema(json.dumps(first), validation=Validation.LENIENT)
        judge, root = validator(one), root_of(one)
        for value in [plain(random_value(rng, first)) for _ in range(8)] + [plain(any_value(rng, 0)) for _ in range(4)]:
            asked += 1
            ours = Evaluator(100_000).accepts(root, parse_value(value))
            known += ours is not None
            assert ours in {None, judge.is_valid(value)} or ".0" in json.dumps(value), (value, first)
    assert known > 0.95 * asked


def parse_value(value: Any) -> Any:
    """A value with exact numbers, as schemas are read."""
    return read_exact_json(json.dumps(value))


def test_a_judgement_ends():
    one = schema({"items": {"$ref": "#"}})
    with pytest.raises(OutOfSteps):
        Evaluator(10).accepts(root_of(one), [[[[[[[[[[[[]]]]]]]]]]]])
