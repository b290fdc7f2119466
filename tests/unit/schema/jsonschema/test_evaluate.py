"""Whether values fit schemas: the same answer from us and from other validators."""

from __future__ import annotations

import json
import random
from typing import Any

import fastjsonschema
import jsonschema_rs
import pytest

from counterfoil.schema.judgement import confirm_compatible
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.json_values import read_exact_json
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.jsonschema.validator import SchemaValidator, ValidatorRefuses
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.written import root_of
from counterfoil.schema.parsed import Validation
from strategies.json_schema.evolutions import evolutions
from strategies.json_schema.guesses import Guesser

D4, D6, D7, D2019, D2020 = (draft.value for draft in Draft)
CASES: list[tuple[str, dict[str, Any], str, bool]] = [
    (D7, {"multipleOf": 0.1}, "1e30", True),
    (D7, {"multipleOf": 0.1}, "1000000000000000000000000000000", True),
    (D7, {"multipleOf": 0.1}, "1000000000000000000000000000000.05", False),
    (D7, {"multipleOf": 0.01}, "4.35", True),
    (D7, {"multipleOf": 3}, "1e400", False),
    (D7, {"maximum": 10}, "1e400", False),
    (D4, {"type": "integer"}, "1.0", False),
    (D4, {"type": "integer"}, "1", True),
    (D6, {"type": "integer"}, "1.0", True),
    (D6, {"type": "integer"}, "1e3", True),
    (D7, {"type": "integer"}, "1.5", False),
    (D4, {"enum": [1]}, "1.0", True),
    (D7, {"enum": [1]}, "true", False),
    (D7, {"const": False}, "0", False),
    (D7, {"const": [True]}, "[1]", False),
    (D7, {"const": {"a": 1}}, '{"a": 1.0}', True),
    (D7, {"uniqueItems": True}, "[1, true, 0, false]", True),
    (D7, {"uniqueItems": True}, "[1, 1.0]", False),
    (D7, {"uniqueItems": True}, '[{"a": 1}, {"a": true}]', True),
    (D7, {"maxLength": 1}, '"\\ud83d\\ude00"', True),
    (D7, {"minLength": 2}, '"\\ud83d\\ude00"', False),
    (D7, {"format": "date"}, '"no"', True),
    (D7, {"definitions": {"a": {}}, "$ref": "#/definitions/a", "type": "string"}, "1", True),
    (D2019, {"$defs": {"a": {}}, "$ref": "#/$defs/a", "type": "string"}, "1", False),
    (D4, {"minimum": 1, "exclusiveMinimum": True}, "1", False),
    (D4, {"minimum": 1, "exclusiveMinimum": False}, "1", True),
    (D6, {"exclusiveMinimum": 1}, "1", False),
    (D7, {"propertyNames": False}, "{}", True),
    (D7, {"propertyNames": False}, '{"a": 1}', False),
    (D7, {"properties": {"a": False}}, '{"a": 1}', False),
    (D7, {"dependencies": {"a": ["b"]}}, '{"a": 1}', False),
    (D7, {"dependencies": {"a": False}}, '{"b": 1}', True),
    (D2020, {"dependentRequired": {"a": ["b"]}}, '{"a": 1}', False),
    (D7, {"items": [{"type": "string"}], "additionalItems": False}, '["a", 1]', False),
    (D2020, {"prefixItems": [{"type": "string"}], "items": False}, '["a", 1]', False),
    (D2020, {"prefixItems": [{"type": "string"}]}, '["a", 1]', True),
    (D2020, {"contains": {"type": "string"}, "minContains": 0}, "[]", True),
    (D2020, {"contains": {"type": "string"}, "minContains": 2}, '["a", "b", 1]', True),
    (D2020, {"contains": {"type": "string"}, "maxContains": 1}, '["a", "b"]', False),
    (D2020, {"contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}}, '["a", null]', True),
    (D2020, {"contains": {"type": "string"}, "unevaluatedItems": False}, '["a", 1]', False),
    (D2020, {"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": False}, "[1]", True),
    (D2020, {"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": False}, "[1, 2]", False),
    (D2020, {"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": False}, '{"a": 1}', False),
    (D2020, {"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": False}, '{"a": 1}', True),
    (D2020, {"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": False}, '{"a": 2}', False),
    (D2020, {"dependentSchemas": {"a": {"properties": {"a": {}}}}, "unevaluatedProperties": False}, '{"a": 2}', True),
    (D2020, {"$defs": {"a": {"$anchor": "x", "type": "null"}}, "$ref": "#x"}, "1", False),
    (D2020, {"$id": "http://a/b", "$defs": {"a": {"$id": "c", "type": "null"}}, "$ref": "c"}, "1", False),
    (D2020, {"$dynamicAnchor": "n", "type": ["array", "null"], "items": {"$dynamicRef": "#n"}}, "[[1]]", False),
    (D2019, {"$recursiveAnchor": True, "type": ["array", "null"], "items": {"$recursiveRef": "#"}}, "[[1]]", False),
]


@pytest.mark.parametrize(("draft", "document", "text", "fits"), CASES)
def test_every_judge_of_ours_says_what_the_specification_says(
    draft: str, document: dict[str, Any], text: str, *, fits: bool
):
    schema = parse_json_schema(json.dumps({"$schema": draft, **document}))
    value = read_exact_json(text)
    assert Evaluator(1_000).accepts(root_of(schema), value) is fits
    assert SchemaValidator(schema).accepts(value) is fits


@pytest.mark.parametrize(("draft", "document", "text", "fits"), CASES)
def test_other_validators_say_so_too(draft: str, document: dict[str, Any], text: str, *, fits: bool):
    if "e400" in text or "e30" in text or "00000" in text:
        return  # these count in floating point
    whole = {"$schema": f"{draft}#" if draft in (D4, D6, D7) else draft, **document}
    assert jsonschema_rs.validator_for(whole, validate_formats=False).is_valid(json.loads(text)) is fits
    if draft in (D4, D6, D7) and "format" not in document and "e" not in text:
        try:
            fastjsonschema.compile(whole)(json.loads(text))
        except fastjsonschema.JsonSchemaValueException:
            assert not fits
        else:
            assert fits


def test_numbers_of_many_digits_are_confirmed():
    writer = parse_json_schema(json.dumps({"type": "number", "multipleOf": 0.1, "minimum": 10**30}))
    reader = parse_json_schema(json.dumps({"type": "number", "multipleOf": 0.1}))
    confirmation = confirm_compatible(reader, writer, 50)
    assert (confirmation.round_tripped, confirmation.reason) == (50, "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_generated_values_are_judged_alike(seed: int):
    rng = random.Random(seed)
    known = asked = 0
    for document, _ in evolutions(rng, 60):
        schema = parse_json_schema(json.dumps(document), validation=Validation.LENIENT)
        root, guesser = root_of(schema), Guesser(rng, document)
        foreign = jsonschema_rs.validator_for(document, validate_formats=False)
        for value in [guesser.value(document) for _ in range(12)]:
            asked += 1
            ours = Evaluator(100_000).accepts(root, read_exact_json(json.dumps(value)))
            known += ours is not None
            assert ours in {None, foreign.is_valid(value)}, (value, document)
    assert known > 0.97 * asked


def test_a_validator_that_cannot_tell_says_so():
    schema = parse_json_schema(json.dumps({"pattern": "(a+)+$"}))
    with pytest.raises(ValidatorRefuses, match="cannot be tried"):
        SchemaValidator(schema).accepts("a" * 5_000 + "!")
