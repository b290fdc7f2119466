"""Witnesses of JSON schemas: a value the writer's schema accepts and the reader's refuses, as a validator says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from jsonschema.validators import validator_for

from counterfoil.schema.compatibility.findings import NoWitness, Witness
from counterfoil.schema.judgement import confirm_compatible, search_for_witness
from counterfoil.schema.languages.jsonschema.compare.findings import ValueDifference
from counterfoil.schema.languages.jsonschema.compare.rule_table import VALUE_REFUSED
from counterfoil.schema.languages.jsonschema.policies import find_differences
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.jsonschema.witness import place_of, smaller
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.patterns.samples import matching_strings, stretched
from strategies.json_schema.schemas import json_schemas

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def parsed(schema: Any, *references: ResolvedReference) -> Any:
    return parse_json_schema(json.dumps(schema), references)


def at_path(path: str) -> ValueDifference:
    steps = tuple(path.removeprefix("#/").split("/")) if path != "#/" else ()
    return ValueDifference(VALUE_REFUSED, {"value": "", "name": ""}, "", steps, ("", ""))


def search(reader: Any, writer: Any, path: str = "#/", *references: ResolvedReference) -> Witness | NoWitness:
    difference = at_path(path)
    return search_for_witness(parsed(reader, *references), parsed(writer, *references), difference)


def of(type_name: str, **keywords: Any) -> dict[str, Any]:
    return {"type": type_name, **keywords}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("reader", "writer", "path", "datum", "step"),
    [
        (of("string", maxLength=3), of("string"), "#/maxLength", '"aaaa"', "the string is longer than 3"),
        (of("string", minLength=2), of("string"), "#/minLength", '"a"', "the string is shorter than 2"),
        (of("string", pattern="^[a-z]+$"), of("string"), "#/pattern", '""', 'the string does not match "^[a-z]+$"'),
        (of("string", pattern="^a"), of("string", pattern="^b"), "#/pattern", '"b"', 'the string does not match "^a"'),
        (of("number", minimum=5), of("number", minimum=3), "#/minimum", "4", "the number is beyond the minimum 5"),
        (of("number", maximum=5), of("number"), "#/maximum", "6", "the number is beyond the maximum 5"),
        (
            of("number", exclusiveMinimum=5),
            of("number", minimum=5),
            "#/exclusiveMinimum",
            "5",
            "the number is not above 5",
        ),
        (
            of("integer", multipleOf=4),
            of("integer", multipleOf=2),
            "#/multipleOf",
            "2",
            "the number is no multiple of 4",
        ),
        (of("integer"), of("number"), "#/", "0.5", 'the reader expects "integer"'),
        (of("string"), of("integer"), "#/", "0", 'the reader expects "string"'),
        ({"enum": ["A"]}, {"enum": ["A", "B"]}, "#/enum", '"B"', 'the value is none of ["A"]'),
        ({"const": 1}, {"const": 2}, "#/const", "2", "the value is not 1"),
        (of("array", maxItems=1), of("array"), "#/maxItems", "[null,null]", "the array has more items than 1"),
        (of("array", minItems=1), of("array"), "#/minItems", "[]", "the array has fewer items than 1"),
        (of("array", uniqueItems=True), of("array"), "#/uniqueItems", "[null,null]", "two items are equal"),
        (
            of("array", contains=of("string")),
            of("array"),
            "#/contains",
            "[]",
            "no item, or not the right number of them",
        ),
        (obj(a=of("string")), obj(), "#/properties/a", '{"a":null}', 'property a: the reader expects "string"'),
        ({"required": ["a"]}, {}, "#/required/a", "{}", "a property that the reader requires is not there"),
        (
            {"additionalProperties": False},
            {"properties": {"a": of("integer")}, "additionalProperties": False},
            "#/properties/a",
            '{"a":0}',
            "the reader does not allow a property that it does not know",
        ),
        (of("object", maxProperties=1), of("object"), "#/maxProperties", None, "more properties than 1"),
        (
            {"dependencies": {"a": ["b"]}},
            of("object"),
            "#/dependencies/a",
            '{"a":null}',
            "a property is there without another",
        ),
        (
            {"propertyNames": {"maxLength": 2}},
            of("object"),
            "#/propertyNames/maxLength",
            None,
            "the string is longer than 2",
        ),
        ({"not": of("string")}, {}, "#/not", None, "the value is as the reader says that it must not be"),
        (
            {"oneOf": [of("integer"), of("number")]},
            of("integer"),
            "#/",
            "0",
            "the value does not fit exactly one branch of the reader's oneOf",
        ),
        (
            obj(a={"type": "array", "items": obj(b=of("string"))}),
            obj(a={"type": "array", "items": obj(b=of(["string", "null"]))}),
            "#/properties/a/items/properties/b",
            '{"a":[{"b":null}]}',
            'property a, item 0, property b: the reader expects "string"',
        ),
    ],
)
def test_the_smallest_value_that_tells(reader: Any, writer: Any, path: str, datum: str | None, step: str):
    witness = search(reader, writer, path)
    assert isinstance(witness, Witness)
    assert witness.datum_json == (datum or witness.datum_json)
    assert step in witness.step
    assert witness.body == witness.datum_json.encode()
    assert witness.confirmed_by.startswith(f"jsonschema {jsonschema_version()}: ")


def jsonschema_version() -> str:
    from importlib.metadata import version

    return version("jsonschema")


def test_a_witness_holds_what_the_writer_requires_and_nothing_more():
    writer = {**obj(id=of("string", minLength=2), a=of("integer"), b=of("integer")), "required": ["id"]}
    reader = {**obj(id=of("string", minLength=2), a=of("integer", maximum=9), b=of("integer")), "required": ["id"]}
    witness = search(reader, writer, "#/properties/a/maximum")
    assert isinstance(witness, Witness)
    assert json.loads(witness.datum_json) == {"id": "aa", "a": 10}


def test_a_witness_belongs_to_its_difference():
    writer = obj(a=of("string"), b=of("string"))
    reader = obj(a=of("string", maxLength=1, pattern="^a"), b=of("integer"))
    at_length, at_pattern, at_b = (
        search(reader, writer, f"#/properties/{path}") for path in ("a/maxLength", "a/pattern", "b")
    )
    assert "longer than 1" in at_length.step
    assert "does not match" in at_pattern.step
    assert [*json.loads(at_b.datum_json)] == ["b"]


def test_a_witness_of_one_place_is_not_taken_from_another():
    writer = obj(a=of("string"), b=of("string"))
    assert isinstance(search(obj(a=of("string"), b=of("integer")), writer, "#/properties/a"), NoWitness)


def test_what_no_value_tells_has_no_witness():
    missing = search(of("string", minLength=0), of("string"), "#/minLength")
    assert isinstance(missing, NoWitness)
    assert missing.tried > 10
    assert str(missing).startswith(f"no witness found ({missing.tried} tried): jsonschema ")


def test_a_writer_that_cannot_write_has_no_witness():
    missing = search(of("string"), {"type": "object", "required": ["a"], "properties": {"a": False}})
    assert missing == NoWitness(0, "no value of the writer's schema was found")


def test_draft_4_has_flags_for_exclusive_limits():
    reader = {"$schema": DRAFT_4, "type": "number", "maximum": 10, "exclusiveMaximum": True}
    writer = {"$schema": DRAFT_4, "type": "number", "maximum": 10}
    witness = search(reader, writer, "#/maximum")
    assert isinstance(witness, Witness)
    assert witness.datum_json == "10"


def test_tuples_of_the_latest_draft():
    reader = {"$schema": DRAFT_2020, "prefixItems": [{}, of("string")]}
    witness = search(reader, {"$schema": DRAFT_2020, "type": "array"}, "#/items/1")
    assert isinstance(witness, Witness)
    assert witness.step == 'item 1: the reader expects "string"'


def test_recursive_schemas_are_entered_as_deep_as_the_path_says():
    def tree(value: Any) -> dict[str, Any]:
        return {"properties": {"value": value, "child": {"$ref": "#"}}, "type": "object"}

    witness = search(tree(of("integer")), tree(of("number")), "#/properties/child/properties/value")
    assert isinstance(witness, Witness)
    assert json.loads(witness.datum_json, parse_float=Decimal) == {"child": {"value": Decimal("0.5")}}


def test_references_between_documents_are_followed_by_the_validator_too():
    item = ResolvedReference(Reference("item.json", "item", 1), '{"type": "object", "required": ["id"]}')
    witness = search(obj(one={"$ref": "item.json"}), obj(one=of("object")), "#/properties/one", item)
    assert isinstance(witness, Witness)
    assert witness.datum_json == '{"one":{}}'


def test_a_pattern_that_the_validator_cannot_read_is_no_proof():
    missing = search(of("string", pattern="\\p{InNoSuchBlock}"), of("string"), "#/pattern")
    assert isinstance(missing, NoWitness)
    assert "cannot be tried" in missing.reason


def test_the_same_search_finds_the_same_value():
    reader, writer = obj(a=of("string", pattern="^x-\\d+$")), obj(a=of("string"), b={})
    assert search(reader, writer, "#/properties/a/pattern") == search(reader, writer, "#/properties/a/pattern")


@pytest.mark.parametrize(
    ("path", "steps", "keyword"),
    [
        ("#/", (), None),
        ("#/maxLength", (), "maxLength"),
        ("#/properties/a/maxLength", ("a",), "maxLength"),
        ("#/properties/properties/properties/items/items/items", ("properties", "items", None, None), None),
        ("#/items/3/required/b", (3,), "required"),
        ("#/additionalProperties/properties/a", (None, "a"), None),
        ("#/additionalProperties", (), "additionalProperties"),
        ("#/allOf/1/enum", (), "enum"),
        ("#/not/properties/x", ("x",), None),
        ("#/dependencies/a", (), "dependencies"),
        ("#/dependencies/a/properties/b", ("b",), None),
        ("#/patternProperties/^x/type", (None,), "type"),
    ],
)
def test_a_path_leads_to_a_place_in_the_value(path: str, steps: tuple[Any, ...], keyword: str | None):
    place = place_of(at_path(path))
    assert (place.steps, place.keyword) == (steps, keyword)


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z]{2,4}$",
        "^x-",
        "b$",
        r"^\d{3}-\d{4}$",
        r"^(foo|bar)+$",
        r"^\S+@\S+\.\w+$",
        "[^a]",
        r"^\u00e9\x41$",
        "^(?:a|b)?c$",
    ],
)
def test_strings_of_a_pattern_match_it(pattern: str):
    import re

    found = matching_strings(pattern)
    assert found
    assert all(re.search(pattern, text) for text in found)


def test_a_string_of_a_pattern_comes_in_a_wanted_length():
    assert stretched("^[a-z]+$", 7) == "aaaaaaa"
    assert stretched("^[a-z]{2}$", 7) is None


def test_smaller_values_lose_one_thing_each():
    assert [*smaller([{"a": 1}, 2])] == [[2], [{"a": 1}], [{}, 2]]


@given(json_schemas())
def test_a_schema_reads_what_it_writes(schema: dict[str, Any]):
    one = parsed(schema)
    confirmation = confirm_compatible(one, one, 30)
    assert confirmation.counter_witness is None


@given(json_schemas(), json_schemas())
def test_a_witness_is_valid_for_the_writer_and_invalid_for_the_reader(reader: dict[str, Any], writer: dict[str, Any]):
    sides = parsed(reader), parsed(writer)
    for difference in find_differences(*sides)[:3]:
        witness = search_for_witness(*sides, difference)
        if isinstance(witness, Witness):
            value = json.loads(witness.body)
            assert validator(writer).is_valid(value)
            assert not validator(reader).is_valid(value)


def validator(schema: dict[str, Any]) -> Any:
    return validator_for(schema, default=jsonschema.Draft7Validator)(schema)


def test_values_confirm_a_verdict_or_refute_it():
    assert confirm_compatible(parsed(of("number")), parsed(of("integer")), 200).round_tripped == 200
    refuted = confirm_compatible(parsed({"required": ["x"]}), parsed({}), 200)
    assert refuted.counter_witness
    assert refuted.counter_witness.datum_json == "{}"


def test_few_values_are_printed_to_be_few():
    confirmation = confirm_compatible(parsed(of("boolean")), parsed(of("boolean")), 200)
    assert (confirmation.round_tripped, confirmation.reason) == (2, "no more values of an acceptable size are found")


_OF_A_NUMBER = """
from counterfoil.schema import CompatibilityLevel, Earlier, parse_schema
from counterfoil.schema.judgement import judge
from counterfoil.schema.model import SchemaType

start = '{"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {'
choice = '"additionalProperties": {"anyOf": [{"enum": [1.5, 1]}, {"multipleOf": 3}]}'
earlier, later = (
    parse_schema(start + each + "}}}", SchemaType.JSON)
    for each in (choice + ', "required": ["z"]', choice + ', "properties": {"a": {"minimum": 0, "maximum": 7}}')
)
judgement = judge(later, [Earlier(earlier)], CompatibilityLevel.FULL)
print([witness.datum_json for witness in judgement.witnesses().values()])
"""


@pytest.mark.slow
def test_a_witness_is_the_same_in_every_process():
    """The order of a set of texts is another one for each seed of Python's hashes."""
    found = set()
    for seed in range(4):
        command = [sys.executable, "-c", _OF_A_NUMBER]
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert "2" in found.pop()
