"""Reading JSON schemas: what is valid, and how a fault is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema import SchemaParseError, SchemaType, Validation, parse_schema
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.texts import Position, print_pointer

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_6 = "http://json-schema.org/draft-06/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def _of(draft: str, **keywords: Any) -> str:
    return json.dumps({"$schema": draft, **keywords})


@pytest.mark.parametrize(
    ("uri", "draft"),
    [
        (DRAFT_4, Draft.DRAFT_4),
        (DRAFT_6, Draft.DRAFT_6),
        (DRAFT_7, Draft.DRAFT_7),
        (DRAFT_2019, Draft.DRAFT_2019_09),
        (DRAFT_2020, Draft.DRAFT_2020_12),
        (DRAFT_2020 + "#", Draft.DRAFT_2020_12),
        ("https://json-schema.org/draft-07/schema", Draft.DRAFT_7),
        ("http://example.com/mine", Draft.DRAFT_7),
    ],
)
def test_the_draft_comes_from_the_schema_keyword(uri: str, draft: Draft):
    assert parse_json_schema(_of(uri)).draft is draft


def test_without_the_schema_keyword_it_is_draft_7():
    assert parse_json_schema("{}").draft is Draft.DRAFT_7
    assert parse_json_schema("true").draft is Draft.DRAFT_7


def test_the_name_is_the_title():
    assert parse_json_schema('{"title": "Order"}').name == "Order"
    assert parse_json_schema("{}").name is None
    assert parse_json_schema("false").name is None


def test_it_is_reached_through_the_front_door():
    schema = parse_schema('{"type": "string"}', SchemaType.JSON)
    assert (schema.schema_type, schema.canonical()) == (SchemaType.JSON, '{"type":"string"}')


@pytest.mark.parametrize(
    ("text", "pointer", "line", "column", "problem"),
    [
        ('{"type": "strin"}', "/type", 1, 10, 'type is "strin"'),
        ('{\n  "properties": {"a": 1}\n}', "/properties/a", 2, 23, "a in properties is 1"),
        ('{"anyOf": [{}, 3]}', "/anyOf/1", 1, 16, "an entry of anyOf is 3"),
        ('{"items": {"minLength": "1"}}', "/items/minLength", 1, 25, 'minLength is "1"'),
        ('{"patternProperties": {"[": {}}}', "/patternProperties/[", 1, 29, "a character class does not end"),
        ('{"pattern": "(a"}', "/pattern", 1, 13, "a group does not end"),
        ('{"not": {"$ref": "#/definitions/x"}}', "/not/$ref", 1, 18, "leads nowhere"),
        ('{"multipleOf": 0}', "/multipleOf", 1, 16, "multipleOf is 0"),
        ('{"dependencies": {"a": 1}}', "/dependencies/a", 1, 24, "a in dependencies is 1"),
        ('{"required": true}', "/required", 1, 14, "required is true"),
        ("[]", "", 1, 1, "cannot be of this type"),
        ("1", "", 1, 1, "cannot be of this type"),
        ("null", "", 1, 1, "cannot be of this type"),
    ],
)
def test_a_fault_is_reported_with_its_place(text: str, pointer: str, line: int, column: int, problem: str):
    with pytest.raises(SchemaParseError) as caught:
        parse_json_schema(text)
    assert (caught.value.path, caught.value.position) == (pointer, Position(line, column))
    assert problem in caught.value.problem
    assert caught.value.expected


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"type": "string",}', 1, 19),
        ('{\n"a": 01}', 2, 7),
        ('{"a": +1}', 1, 7),
        ('{"a": .5}', 1, 7),
        ('/* c */ {"type": "string"}', 1, 1),
        ('{"a": "\x01"}', 1, 8),
        ('{"a": NaN}', 1, 7),
        ('{"a": -Infinity}', 1, 7),
        ('{"a": 1} {}', 1, 10),
        ('{"a": "\\ud83d"}', 1, 7),
        ("", 1, 1),
        ("}", 1, 1),
        ('{"a"', 1, 5),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, line: int, column: int):
    with pytest.raises(SchemaParseError) as caught:
        parse_json_schema(text)
    assert caught.value.position == Position(line, column)


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        (_of(DRAFT_4, properties={"a": True}), True),
        (_of(DRAFT_6, properties={"a": True}), True),
        (_of(DRAFT_4, exclusiveMinimum=True, minimum=1), True),
        (_of(DRAFT_7, exclusiveMinimum=True, minimum=1), False),
        (_of(DRAFT_4, contains=1), True),
        (_of(DRAFT_6, contains=1), False),
        (_of(DRAFT_6, readOnly="x"), True),
        (_of(DRAFT_7, readOnly="x"), False),
        (_of(DRAFT_7, definitions={"a": {"type": "nope"}}), True),
        (_of(DRAFT_2019, definitions={"a": {"type": "nope"}}), False),
        (_of(DRAFT_7, **{"$id": "http://e.example/a#"}), True),
        (_of(DRAFT_7, **{"$id": "not a uri"}), False),
        (_of(DRAFT_7, **{"$id": 1}), False),
        (_of(DRAFT_4, **{"$id": "not a uri"}), True),
        (_of(DRAFT_2020, **{"$id": "not a uri"}), False),
        (_of(DRAFT_2020, **{"$id": 1}), True),
        (_of(DRAFT_7, dependencies=[]), False),
        (_of(DRAFT_2020, dependencies=[]), True),
        (_of(DRAFT_7, items=[{}]), True),
        (_of(DRAFT_2020, items=[{}]), False),
        (_of(DRAFT_2020, prefixItems=[{}]), True),
        (_of(DRAFT_7, minLength=2.0), False),
        (_of(DRAFT_2020, minLength=2.0), True),
        (_of(DRAFT_7, **{"$ref": "#nope"}), True),
        (_of(DRAFT_2020, **{"$ref": "#nope"}), False),
        (_of(DRAFT_7, type="string", minimum="not looked at"), True),
        (_of(DRAFT_2020, type="string", minimum="looked at"), False),
        (_of(DRAFT_7, type="string", minLength="looked at"), False),
        (_of(DRAFT_2020, dependentRequired={"a": ["b", 1]}), False),
    ],
)
def test_each_draft_has_its_own_idea_of_validity(text: str, *, is_valid: bool):
    if is_valid:
        assert parse_json_schema(text).draft
    else:
        with pytest.raises(SchemaParseError):
            parse_json_schema(text)


def test_stored_schemas_load_whatever_they_say():
    text = '{"type": "strin", "properties": [], "not": {"$ref": "gone.json"}}'
    assert parse_json_schema(text, validation=Validation.LENIENT).canonical() == text.replace(": ", ":").replace(
        ", ", ","
    )


def test_places_are_found_by_pointer_or_by_what_is_around():
    schema = parse_json_schema('{\n "properties": {\n  "a/b": {"type": "string"}}}')
    assert schema.locate(("properties", "a/b")) == Position(3, 10)
    assert schema.locate(("properties", "a/b", "maxLength")) == Position(3, 10)
    assert schema.locate(("nothing",)) == Position(1, 1)


def test_numbers_are_exact():
    schema = parse_json_schema('{"minimum": 1.10, "maximum": 9007199254740993, "x": 1e2}')
    assert [str(value) for value in schema.document.values()] == ["1.10", "9007199254740993", "1E+2"]


@pytest.mark.parametrize(
    ("text", "rule", "pointer"),
    [
        ('{"properties": {"a": {"minLength": -1}}}', "negative-limit", "/properties/a/minLength"),
        (_of(DRAFT_2020, maxItems=2.5), "fractional-limit", "/maxItems"),
        ('{"type": []}', "empty-list", "/type"),
        ('{"required": ["a", "b", "a"]}', "repeated-name", "/required"),
        ('{"items": {"$ref": "#nope"}}', "missing-anchor", "/items/$ref"),
        ('{"definitions": {"a": {}}, "not": {"$ref": "#/$defs/a"}}', "reference-to-copied-definition", "/not/$ref"),
        ('{"pattern": "\\\\p{Nonsense}"}', "unreadable-pattern", "/pattern"),
    ],
)
def test_what_is_accepted_against_the_specification_is_reported(text: str, rule: str, pointer: str):
    assert [(one.rule, print_pointer(one.pointer)) for one in parse_json_schema(text).warnings()] == [(rule, pointer)]


def test_an_ordinary_schema_has_no_warnings():
    text = _of(DRAFT_7, type="object", properties={"a": {"type": ["string", "null"], "minLength": 0}}, required=["a"])
    assert parse_json_schema(text).warnings() == []


@pytest.mark.parametrize("value", [1, 1.5, True, [], {}])
@pytest.mark.parametrize("keywords", [{}, {"type": "string"}])
def test_the_schema_keyword_of_a_document_is_a_string(value: Any, keywords: dict[str, Any]):
    text = json.dumps({"$schema": value, **keywords})
    with pytest.raises(SchemaParseError, match=r"\$schema is .* expected a string: the URI of a draft") as caught:
        parse_json_schema(text)
    assert caught.value.path == "/$schema"
    assert parse_json_schema(text, validation=Validation.LENIENT).draft is Draft.DRAFT_7
    assert parse_json_schema('{"properties": {"a": {"$schema": 1}}}').draft is Draft.DRAFT_7


@pytest.mark.parametrize("draft", [DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020])
@pytest.mark.parametrize("held", [[], [1], "a", 1, True, None])
def test_definitions_that_are_no_object_define_nothing(draft: str, held: Any):
    assert parse_json_schema(_of(draft, definitions=held)).draft.value == draft.rstrip("#")


@pytest.mark.parametrize("draft", [DRAFT_2019, DRAFT_2020])
@pytest.mark.parametrize("keywords", [{"definitions": {"a": 1}}, {"$defs": []}, {"definitions": {"a": {"type": "x"}}}])
def test_definitions_of_the_newer_drafts_are_schemas(draft: str, keywords: dict[str, Any]):
    with pytest.raises(SchemaParseError):
        parse_json_schema(_of(draft, **keywords))


@pytest.mark.parametrize(
    ("keywords", "pointer"),
    [
        ({"properties": {"b": False}}, "/properties/b"),
        ({"patternProperties": {"^b/": True}}, "/patternProperties/^b~1"),
        ({"allOf": [{}, True]}, "/allOf/1"),
        ({"anyOf": [False]}, "/anyOf/0"),
        ({"oneOf": [False]}, "/oneOf/0"),
        ({"not": True}, "/not"),
        ({"definitions": {"d": True}, "properties": {"a": {"$ref": "#/definitions/d"}}}, "/definitions/d"),
    ],
)
def test_a_boolean_schema_in_draft_4_is_accepted_with_a_warning(keywords: dict[str, Any], pointer: str):
    warnings = parse_json_schema(_of(DRAFT_4, **keywords)).warnings()
    assert [(warning.rule, print_pointer(warning.pointer)) for warning in warnings] == [("boolean-schema", pointer)]
    assert parse_json_schema(_of(DRAFT_6, **keywords)).warnings() == []


@pytest.mark.parametrize("keywords", [{"items": True}, {"items": [True]}, {"dependencies": {"a": True}}])
def test_a_boolean_is_no_schema_in_items_and_dependencies_of_draft_4(keywords: dict[str, Any]):
    with pytest.raises(SchemaParseError):
        parse_json_schema(_of(DRAFT_4, **keywords))


@pytest.mark.parametrize("keywords", [{"additionalProperties": False}, {"additionalItems": True}])
def test_draft_4_has_two_keywords_that_may_be_true_or_false(keywords: dict[str, Any]):
    assert parse_json_schema(_of(DRAFT_4, **keywords)).warnings() == []
