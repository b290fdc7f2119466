"""What changed between two JSON schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from counterfoil.schema import InvalidSchema, parse_schema
from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsing import find_changes
from counterfoil.schema.paths import parse_path, resolve_path
from strategies.json_schema.schemas import json_schemas

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def changes(earlier: Any, later: Any) -> list[Change]:
    return find_changes(parse_json_schema(json.dumps(earlier)), parse_json_schema(json.dumps(later)))


def told(earlier: Any, later: Any) -> list[str]:
    return [f"{change.element}: {change.text}" if change.element else change.text for change in changes(earlier, later)]


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        (obj(), obj(a={"type": "string"}), ["a: property added: string"]),
        (obj(a={"type": ["string", "null"]}), obj(), ["a: property removed: string | null"]),
        ({"type": "string"}, {"type": "integer"}, ["type changed: string → integer"]),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, []),
        (
            {"required": ["a", "b"]},
            {"required": ["b", "c"]},
            ["required removed: a", "required added: c"],
        ),
        ({"maxLength": 10}, {"maxLength": 5}, ["constraint tightened: maxLength 10 → maxLength 5"]),
        ({"maxLength": 5}, {"maxLength": 10}, ["constraint relaxed: maxLength 5 → maxLength 10"]),
        ({"minimum": 1}, {"minimum": 2.5}, ["constraint tightened: minimum 1 → minimum 2.5"]),
        ({"minimum": 1}, {"minimum": 1.0}, []),
        ({}, {"pattern": "^a"}, ['constraint added: pattern "^a"']),
        ({"pattern": "^a"}, {}, ['constraint removed: pattern "^a"']),
        ({"pattern": "^a"}, {"pattern": "^b"}, ['constraint changed: pattern "^a" → pattern "^b"']),
        ({"multipleOf": 2}, {"multipleOf": 4}, ["constraint tightened: multipleOf 2 → multipleOf 4"]),
        ({"multipleOf": 4}, {"multipleOf": 2}, ["constraint relaxed: multipleOf 4 → multipleOf 2"]),
        ({"multipleOf": 4}, {"multipleOf": 6}, ["constraint changed: multipleOf 4 → multipleOf 6"]),
        ({"uniqueItems": False}, {"uniqueItems": True}, ["constraint tightened: uniqueItems false → uniqueItems true"]),
        ({"enum": ["A", "B"]}, {"enum": ["B", 1]}, ['value removed: "A"', "value added: 1"]),
        ({"enum": ["A", "B"]}, {"enum": ["B", "A"]}, []),
        ({"default": 1}, {"default": 2}, ["default changed: 1 → 2"]),
        ({}, {"default": None}, ["default added: null"]),
        ({"default": None}, {}, ["default removed: null"]),
        ({"title": "A"}, {"title": "B"}, ['title changed: "A" → "B"']),
        ({"description": "A"}, {}, ['doc changed: "A" → none']),
        (
            {"additionalProperties": True},
            {"additionalProperties": False},
            ["constraint tightened: additionalProperties true → additionalProperties false"],
        ),
        (
            {"additionalProperties": {"type": "string"}},
            {"additionalProperties": {"type": "integer"}},
            ["{}: type changed: string → integer"],
        ),
        (
            {"patternProperties": {"^x-": {"type": "string"}}},
            {"patternProperties": {"^x-": {"type": "integer"}}},
            ["{^x-}: type changed: string → integer"],
        ),
        (
            obj(a={"type": "array", "items": obj(b={"maxLength": 3})}),
            obj(a={"type": "array", "items": obj(b={"maxLength": 4})}),
            ["a[].b: constraint relaxed: maxLength 3 → maxLength 4"],
        ),
        (
            {"items": [{"type": "string"}, {"type": "null"}]},
            {"items": [{"type": "integer"}]},
            ["[0]: type changed: string → integer", "[1]: item removed: null"],
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 3}, {"type": "integer"}]},
            ["<string>: constraint added: maxLength 3", "branch added: anyOf integer"],
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "null"}]},
            {"oneOf": [{"type": "null"}]},
            ["branch removed: oneOf string"],
        ),
        ({"not": {"type": "string"}}, {"not": {"type": "null"}}, ["<not>: type changed: string → null"]),
        (
            {"dependencies": {"a": ["b"]}},
            {"dependencies": {"a": ["b", "c"], "d": {"required": ["e"]}}},
            [
                'constraint changed: dependencies/a ["b"] → dependencies/a ["b","c"]',
                'constraint added: dependencies/d {"required":["e"]}',
            ],
        ),
        (
            obj(a={"type": "string"}),
            obj(a={"type": "string", "confluent:tags": ["PII"]}),
            ['a: property changed: none → confluent:tags=["PII"]'],
        ),
        (True, False, ["type changed: anything → nothing"]),
        (True, {}, []),
        ({"$schema": DRAFT_7}, {"$schema": DRAFT_2020}, ["draft changed: draft-07 → 2020-12"]),
    ],
)
def test_what_changed_is_reported(earlier: Any, later: Any, expected: list[str]):
    assert told(earlier, later) == expected


def test_references_are_followed_and_their_target_is_compared_once():
    def schema(limit: int) -> dict[str, Any]:
        named = {"type": "string", "maxLength": limit}
        return {**obj(a={"$ref": "#/definitions/n"}, b={"$ref": "#/definitions/n"}), "definitions": {"n": named}}

    (change,) = changes(schema(3), schema(5))
    assert (change.element, change.kind) == ("a", ChangeKind.CONSTRAINT_RELAXED)
    assert change.earlier_pointer == change.later_pointer == ("definitions", "n", "maxLength")


def test_writing_out_a_reference_changes_nothing():
    inline = obj(a={"type": "string"})
    referred = {**obj(a={"$ref": "#/definitions/n"}), "definitions": {"n": {"type": "string"}}}
    assert told(inline, referred) == ["definition added: n"]


def test_definitions_that_nobody_uses_are_compared_by_name():
    assert told({"definitions": {"n": {"minimum": 1}}}, {"definitions": {"n": {"minimum": 2}}}) == [
        "<definition n>: constraint tightened: minimum 1 → minimum 2"
    ]


def test_recursive_schemas_are_compared():
    def tree(value: str) -> dict[str, Any]:
        return obj(value={"type": value}, children={"type": "array", "items": {"$ref": "#"}})

    assert told(tree("string"), tree("integer")) == ["value: type changed: string → integer"]


def test_mutually_recursive_schemas_are_compared():
    def schema(value: str) -> dict[str, Any]:
        one = obj(other={"$ref": "#/definitions/two"}, value={"type": value})
        return {
            "definitions": {"one": one, "two": obj(other={"$ref": "#/definitions/one"})},
            "$ref": "#/definitions/one",
        }

    assert told(schema("string"), schema("null")) == ["value: type changed: string → null"]


def test_pointers_lead_into_both_texts():
    earlier, later = obj(a=obj(b={"type": "string"})), {"title": "x", **obj(a=obj(b={"type": "integer"}))}
    change = changes(earlier, later)[-1]
    assert change.earlier_pointer == change.later_pointer == ("properties", "a", "properties", "b", "type")
    added = changes(obj(), obj(a={"type": "string"}))[0]
    assert (added.earlier_pointer, added.later_pointer) == ((), ("properties", "a"))


def test_what_comes_in_by_a_reference_is_reported_at_the_place_that_asks_for_it():
    def schema(limit: int) -> Any:
        item = ResolvedReference(Reference("item.json", "item", 1), json.dumps({"maxLength": limit}))
        return parse_json_schema('{"properties": {"a": {"$ref": "item.json"}}}', [item])

    (change,) = find_changes(schema(3), schema(2))
    assert change.text == "constraint tightened: maxLength 3 → maxLength 2"
    assert change.later_pointer == ("properties", "a")


def test_the_order_of_changes_is_that_of_the_later_schema():
    later = obj(c={}, a={}, b={})
    assert [change.element for change in changes(obj(), later)] == ["c", "a", "b"]


@given(json_schemas())
def test_a_schema_differs_in_nothing_from_itself(schema: dict[str, Any]):
    assert changes(schema, schema) == []


@given(json_schemas(), json_schemas())
def test_every_change_has_its_place_in_both_texts(earlier: dict[str, Any], later: dict[str, Any]):
    sides = parse_json_schema(json.dumps(earlier)), parse_json_schema(json.dumps(later))
    for change in find_changes(*sides):
        assert sides[0].locate(change.earlier_pointer)
        assert sides[1].locate(change.later_pointer)
        assert change.earlier is not None or change.later is not None


@given(json_schemas(), json_schemas())
def test_the_element_of_every_change_leads_to_its_place(earlier: dict[str, Any], later: dict[str, Any]):
    sides = parse_json_schema(json.dumps(earlier)), parse_json_schema(json.dumps(later))
    for change in find_changes(*sides):
        path = parse_path(change.element)
        around = path[:-1] if change.kind is ChangeKind.PROPERTY_REMOVED else path
        assert path == change.place
        assert resolve_path(sides[1], around)


@given(json_schemas(), json_schemas())
def test_what_is_added_one_way_is_removed_the_other(earlier: dict[str, Any], later: dict[str, Any]):
    def count(found: list[Change], suffix: str) -> int:
        return sum(change.kind.endswith(suffix) for change in found)

    there, back = changes(earlier, later), changes(later, earlier)
    assert count(there, "-added") == count(back, "-removed")
    assert count(there, "-tightened") == count(back, "-relaxed")


def test_another_language_is_refused():
    with pytest.raises(InvalidSchema):
        find_changes(parse_json_schema("{}"), parse_schema('"int"'))
