"""How a schema's text becomes the nodes that are compared."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.jsonschema.compare.nodes import (
    ArraySchema,
    CombinationSchema,
    ConditionSchema,
    ConstantSchema,
    Criterion,
    EmptySchema,
    EnumSchema,
    NegationSchema,
    NothingSchema,
    NullSchema,
    NumericSchema,
    ObjectSchema,
    ReferenceSchema,
    TextSchema,
)
from counterfoil.schema.languages.jsonschema.compare.places import key_of
from counterfoil.schema.languages.jsonschema.compare.translation import node_of
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.parsed import Validation

D4, D6, D7 = (draft.value + "#" for draft in (Draft.DRAFT_4, Draft.DRAFT_6, Draft.DRAFT_7))
D2019, D2020 = Draft.DRAFT_2019_09.value, Draft.DRAFT_2020_12.value


def node(value: Any, draft: str = D7) -> Any:
    text = json.dumps({"$schema": draft, **value} if isinstance(value, dict) else value)
    return node_of(parse_json_schema(text, validation=Validation.LENIENT))


def kinds(combination: CombinationSchema) -> list[type]:
    return [type(branch) for branch in combination.branches]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, EmptySchema),
        (False, NothingSchema),
        ({}, EmptySchema),
        ({"title": "t", "x-mine": 1}, EmptySchema),
        ({"type": "string"}, TextSchema),
        ({"type": "integer"}, NumericSchema),
        ({"minLength": 1}, TextSchema),
        ({"format": "date"}, TextSchema),
        ({"multipleOf": 2}, NumericSchema),
        ({"properties": {}}, ObjectSchema),
        ({"dependencies": {}}, ObjectSchema),
        ({"propertyNames": {}}, ObjectSchema),
        ({"contains": {}}, ArraySchema),
        ({"enum": [1]}, EnumSchema),
        ({"const": None}, ConstantSchema),
        ({"not": {}}, NegationSchema),
        ({"if": {}}, ConditionSchema),
        ({"type": ["null"]}, CombinationSchema),
        ({"$ref": "#", "type": "string"}, ReferenceSchema),
        ({"type": "unheard-of"}, EmptySchema),
    ],
)
def test_the_kind_of_a_schema(value: Any, kind: type):
    assert type(node(value)) is kind


@pytest.mark.parametrize(
    ("value", "draft", "kind"),
    [
        ({"const": 1}, D4, EmptySchema),
        ({"contains": {}}, D4, EmptySchema),
        ({"propertyNames": {}}, D4, EmptySchema),
        ({"if": {}}, D6, EmptySchema),
        ({"then": {}}, D7, ConditionSchema),
        ({"if": {}}, D2019, ConditionSchema),
        ({"if": {}}, D2020, ConditionSchema),
        ({"then": {}, "else": {}}, D2020, EmptySchema),
        ({"type": "string", "if": {}}, D2020, CombinationSchema),
        ({"properties": {}}, D2020, EmptySchema),
        ({"patternProperties": {}}, D2019, EmptySchema),
        ({"format": "date"}, D2020, EmptySchema),
        ({"dependencies": {"a": ["b"]}}, D2020, EmptySchema),
        ({"dependentRequired": {"a": ["b"]}}, D2020, ObjectSchema),
        ({"dependentRequired": {"a": ["b"]}}, D7, EmptySchema),
        ({"prefixItems": [{}]}, D2019, ArraySchema),
        ({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {}}}, D2020, CombinationSchema),
    ],
)
def test_what_a_keyword_is_depends_on_the_draft(value: Any, draft: str, kind: type):
    assert type(node(value, draft)) is kind


def test_a_list_of_types_is_a_choice_of_schemas_that_share_the_keywords():
    made = node({"type": ["string", "null", "number"], "maxLength": 5, "minimum": 1})
    assert (made.criterion, kinds(made)) == (Criterion.ANY_OF, [TextSchema, NullSchema, NumericSchema])
    assert (made.branches[0].max_length, made.branches[2].minimum) == (5, 1)


def test_an_enum_beside_a_type_stands_second():
    made = node({"type": "string", "enum": ["a"]})
    assert (made.criterion, kinds(made), made.is_synthetic) == (Criterion.ALL_OF, [TextSchema, EnumSchema], True)


def test_keywords_of_another_kind_make_a_part_of_their_own():
    assert kinds(node({"type": "string", "minimum": 1})) == [TextSchema, NumericSchema]
    assert kinds(node({"minLength": 1, "minItems": 1, "minimum": 1, "required": ["a"]})) == [
        ArraySchema,
        ObjectSchema,
        NumericSchema,
        TextSchema,
    ]
    assert kinds(node({"type": "object", "anyOf": [{}], "not": {}, "const": 1})) == [
        ObjectSchema,
        ConstantSchema,
        NegationSchema,
        CombinationSchema,
    ]


def test_parts_of_a_branch_join_the_branches_around_in_later_drafts():
    value = {"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}
    assert kinds(node(value, D2020)) == [TextSchema, EnumSchema, NullSchema]
    assert kinds(node(value, D7)) == [CombinationSchema, NullSchema]


def test_items_of_each_draft():
    listed = node({"type": "array", "items": [{"type": "string"}], "additionalItems": False})
    assert ([type(each) for each in listed.tuple_items], listed.items, listed.additional.is_allowed) == (
        [TextSchema],
        None,
        False,
    )
    later = node({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}}, D2020)
    assert (type(later.tuple_items[0]), type(later.additional.schema)) == (TextSchema, NullSchema)
    closed = node({"type": "array", "items": False}, D2020)
    assert (closed.items, closed.additional.is_allowed) == (None, False)
    assert type(node({"type": "array", "items": False}).items) is NothingSchema


def test_contains_counts_in_later_drafts_alone():
    assert node({"type": "array", "contains": {}}, D2020).min_contains == 1
    assert node({"type": "array", "contains": {}, "minContains": 2, "maxContains": 3}, D2020).max_contains == 3
    assert node({"type": "array", "minContains": 2}, D2020).min_contains is None
    assert node({"type": "array", "contains": {}, "minContains": 2}).min_contains is None


def test_dependencies_of_both_forms():
    made = node({"dependencies": {"a": ["b"], "c": {"type": "object"}}})
    assert (made.needed_names, list(made.needed_schemas)) == ({"a": {"b"}}, ["c"])


def test_notes_are_kept_and_an_id_only_in_earlier_drafts():
    value = {"$id": "http://e/x", "title": "t", "description": "d", "default": None, "connect.type": "bytes"}
    made = node({**value, "type": "string"})
    assert (made.identity, made.title, made.description, made.has_default, made.connect_type) == (
        "http://e/x", "t", "d", True, "bytes",
    )  # fmt: skip
    assert node({**value, "type": "string"}, D2020).identity is None


def test_each_node_knows_where_it_stands():
    value = {"properties": {"a/b": {"items": [{}, {"$ref": "#/definitions/x"}]}}, "definitions": {"x": {"not": {}}}}
    item = node(value).properties["a/b"].tuple_items[1]
    assert item.site.pointer == ("properties", "a/b", "items", 1)
    assert (item.target().site.pointer, item.target().refused.site.pointer) == (
        ("definitions", "x"),
        ("definitions", "x", "not"),
    )


def test_a_schema_is_translated_once_and_a_reference_followed_once():
    one = parse_json_schema('{"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}}', validation=Validation.LENIENT)
    assert node_of(one) is node_of(one)
    first, second = node_of(one).properties.values()  # type: ignore[attr-defined]  # an object, by what stands above
    assert first.target() is second.target() is not node_of(one)
    assert first.target().properties["a"].target() is first.target()


def test_a_schema_inside_itself_has_two_nodes_in_later_drafts():
    value = {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}}
    outer = node(value, D2020).target()
    inner = outer.properties["next"].target()
    assert inner is not outer
    assert inner.properties["next"].target() is inner


def test_a_reference_to_nowhere_is_found_when_it_is_followed():
    made = node({"$ref": "elsewhere.json"})
    with pytest.raises(InvalidSchema, match=r"elsewhere\.json"):
        made.target()


def test_branches_that_say_the_same_have_the_same_key():
    first, second, third = node(
        {"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "string", "title": "t"}]}
    ).branches
    assert key_of(first) == key_of(second) != key_of(third)
    left, right = node({"anyOf": [{"type": "string"}, {"type": "string", "format": "date"}]}, D2020).branches
    assert key_of(left) == key_of(right)
    parts = node({"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]}, D2020).branches
    assert len({key_of(part) for part in parts}) == 3
    values: Any = {"properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["b", "a"], "additionalProperties": False}
    assert key_of(node({"anyOf": [values]}, D2020)) != key_of(node({"anyOf": [{**values, "required": []}]}, D2020))
