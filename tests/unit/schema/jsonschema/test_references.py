"""References of JSON schemas: inside a document, by name, by identifier; never over the network."""

from __future__ import annotations

import json
import socket
from typing import Any, NoReturn

import pytest
from jsonschema.validators import validator_for
from referencing.jsonschema import EMPTY_REGISTRY

from counterfoil.schema.errors import InvalidSchema, SchemaParseError
from counterfoil.schema.languages.jsonschema.document import Draft, UnresolvedReference
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.jsonschema.validator import ROOT_URI, bundle
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from counterfoil.schema.texts import Position

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


def given(name: str, document: Any, subject: str = "items") -> ResolvedReference:
    return ResolvedReference(Reference(name, subject, 1), json.dumps(document))


def resolve(document: Any, reference: str, *references: ResolvedReference) -> Any:
    schema = parse_json_schema(json.dumps(document), references, validation=Validation.LENIENT)
    return schema.resolver.resolve(reference, schema.base)[0]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("#", None),
        ("#/definitions/a", 1),
        ("#/definitions/b~1c", 2),
        ("#/definitions/d~0e", 3),
        ("#/definitions/%C3%A9", 4),
        ("#/definitions/100%25", 5),
        ("#/anyOf/1", 6),
    ],
)
def test_pointers_lead_to_their_places(reference: str, expected: int | None):
    names = {"a": 1, "b/c": 2, "d~e": 3, "é": 4, "100%": 5}
    document = {
        "definitions": {name: {"const": value} for name, value in names.items()},
        "anyOf": [{"const": 0}, {"const": 6}],
    }
    found = resolve(document, reference)
    assert found == (document if expected is None else {"const": expected})


@pytest.mark.parametrize(
    "reference", ["#/definitions/x", "#/anyOf/9", "#/anyOf/-1", "#/anyOf/01x", "other.json", "#nope"]
)
def test_what_leads_nowhere_is_reported(reference: str):
    with pytest.raises(UnresolvedReference) as caught:
        resolve({"anyOf": [{}]}, reference)
    assert caught.value.reference == reference


@pytest.mark.parametrize(
    ("document", "reference"),
    [
        ({"definitions": {"x": {"$id": "#here", "const": 1}}}, "#here"),
        ({"$schema": DRAFT_2020, "$defs": {"x": {"$anchor": "here", "const": 1}}}, "#here"),
        ({"$schema": DRAFT_2020, "$defs": {"x": {"$dynamicAnchor": "here", "const": 1}}}, "#here"),
        ({"$id": "http://e.example/root", "definitions": {"x": {"$id": "part", "const": 1}}}, "part"),
        ({"$id": "http://e.example/root", "definitions": {"x": {"$id": "part", "const": 1}}}, "http://e.example/part"),
        ({"$id": "http://e.example/a/root", "definitions": {"x": {"const": 1}}}, "root#/definitions/x"),
        ({"$id": "urn:example:root", "definitions": {"x": {"const": 1}}}, "#/definitions/x"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"x": {"id": "part", "const": 1}}},
            "part",
        ),
        ({"x-elsewhere": {"deep": [{"const": 1}]}}, "#/x-elsewhere/deep/0"),
    ],
)
def test_identifiers_and_anchors_are_found(document: Any, reference: str):
    assert resolve(document, reference)["const"] == 1


def test_a_reference_inside_a_part_with_its_own_identifier_is_relative_to_that():
    document = {
        "$id": "http://e.example/root",
        "definitions": {
            "part": {"$id": "part/", "definitions": {"x": {"const": 1}}, "$comment": "not the root's x"},
            "x": {"const": 2},
        },
    }
    schema = parse_json_schema(json.dumps(document))
    part, base = schema.resolver.resolve("part/", schema.base)
    assert schema.resolver.resolve("#/definitions/x", base)[0] == {"const": 1}
    assert (base.uri, base.pointer) == ("http://e.example/part/", ("definitions", "part"))
    assert part["$id"] == "part/"


def test_identifiers_in_values_are_no_identifiers():
    document = {"definitions": {"x": {"enum": [{"$id": "part"}]}}}
    with pytest.raises(UnresolvedReference):
        resolve(document, "part")


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("item.json", "item.json#/definitions/x"),
        ("shared/item.json", "shared/item.json#/definitions/x"),
        ("http://e.example/item.json", "http://e.example/item.json#/definitions/x"),
        ("any-name", "http://e.example/by-id.json#/definitions/x"),
    ],
)
def test_documents_are_known_by_name_and_by_identifier(name: str, reference: str):
    supplied = {"$id": "http://e.example/by-id.json", "definitions": {"x": {"const": 1}}}
    if name != "any-name":
        del supplied["$id"]
    assert resolve({}, reference, given(name, supplied)) == {"const": 1}


def test_a_name_is_found_below_the_identifier_of_the_schema_too():
    document = {"$id": "http://e.example/orders/root.json"}
    assert resolve(document, "item.json", given("item.json", {"const": 1})) == {"const": 1}


def test_supplied_documents_refer_to_themselves_and_to_each_other():
    first = given("first.json", {"properties": {"a": {"$ref": "second.json"}, "me": {"$ref": "#"}}})
    second = given("second.json", {"properties": {"b": {"$ref": "first.json#/properties/a"}}})
    schema = parse_json_schema('{"$ref": "first.json"}', [first, second])
    value, base = schema.resolver.resolve("first.json", schema.base)
    assert schema.resolver.resolve("#", base)[0] is value
    assert schema.resolver.resolve(value["properties"]["a"]["$ref"], base)[0] == json.loads(second.text)
    assert base.document == "first.json"


def test_a_supplied_document_has_its_own_draft_or_the_schemas():
    schema = parse_json_schema(
        json.dumps({"$schema": DRAFT_2020, "anyOf": [{"$ref": "old"}, {"$ref": "new"}]}),
        [given("old", {"$schema": "http://json-schema.org/draft-04/schema#"}), given("new", {})],
    )
    drafts = [schema.resolver.resolve(name, schema.base)[1].draft for name in ("old", "new")]
    assert drafts == [Draft.DRAFT_4, Draft.DRAFT_2020_12]


def test_a_dynamic_reference_means_the_outermost_anchor():
    tree = {"$id": "http://e.example/tree", "$schema": DRAFT_2020, "$dynamicAnchor": "node", "const": "tree"}
    strict = {"$id": "http://e.example/strict", "$schema": DRAFT_2020, "$dynamicAnchor": "node", "$ref": "tree"}
    schema = parse_json_schema(json.dumps(strict), [given("http://e.example/tree", tree)])
    _, base = schema.resolver.resolve("tree", schema.base)
    assert schema.resolver.resolve("#node", base)[0]["const"] == "tree"
    assert schema.resolver.resolve_dynamic("#node", base)[0]["$id"] == "http://e.example/strict"


def test_a_recursive_reference_means_the_root_where_both_ask_for_it():
    tree = {"$id": "http://e.example/tree", "$schema": DRAFT_2019, "$recursiveAnchor": True, "const": "tree"}
    strict = {"$id": "http://e.example/strict", "$schema": DRAFT_2019, "$recursiveAnchor": True}
    schema = parse_json_schema(json.dumps(strict), [given("http://e.example/tree", tree)])
    _, base = schema.resolver.resolve("tree", schema.base)
    assert schema.resolver.resolve_dynamic("#", base)[0]["$id"] == "http://e.example/strict"
    plain = parse_json_schema(json.dumps({**strict, "$recursiveAnchor": False}), [given("http://e.example/tree", tree)])
    assert plain.resolver.resolve_dynamic("#", plain.resolver.resolve("tree", plain.base)[1])[0]["const"] == "tree"


@pytest.mark.parametrize("draft", Draft)
def test_the_drafts_own_metaschemas_are_known(draft: Draft):
    assert resolve({"$schema": draft.value}, f"{draft.value}#")["$schema"].rstrip("#") == draft.value


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    for reference in ("http://json-schema.org/nothing", "https://127.0.0.1/x.json", "file:///etc/hostname"):
        with pytest.raises(SchemaParseError, match="leads nowhere"):
            parse_json_schema(json.dumps({"$ref": reference}))


def test_a_missing_reference_names_itself_who_asked_and_what_is_known():
    text = '{\n  "properties": {"a": {"$ref": "gone.json#/x"}}\n}'
    with pytest.raises(SchemaParseError) as caught:
        parse_json_schema(text, [given("item.json", {})])
    assert caught.value.position == Position(2, 32)
    assert caught.value.path == "/properties/a/$ref"
    assert "'gone.json#/x'" in caught.value.problem
    assert "item.json" in (caught.value.expected or "")


def test_a_reference_missing_in_a_supplied_document_names_that_document():
    with pytest.raises(SchemaParseError, match=r"in 'item\.json': the reference 'gone\.json' leads nowhere"):
        parse_json_schema('{"$ref": "item.json"}', [given("item.json", {"items": {"$ref": "gone.json"}})])


def test_a_supplied_document_that_cannot_be_read_names_its_subject():
    broken = ResolvedReference(Reference("item.json", "items-value", 3), '{"a": }')
    with pytest.raises(SchemaParseError, match=r"'item.json' \(items-value version 3\) is not valid"):
        parse_json_schema("{}", [broken])


def test_an_unresolved_reference_of_a_stored_schema_is_reported_when_it_is_followed():
    schema = parse_json_schema('{"$ref": "gone.json"}', [given("item.json", {})], validation=Validation.LENIENT)
    with pytest.raises(InvalidSchema, match=r"'gone.json', asked for by the schema#.*known: item.json"):
        schema.resolver.resolve("gone.json", schema.base)


def test_mutual_references_between_documents_are_read():
    first = given("first.json", {"properties": {"b": {"$ref": "second.json"}}})
    second = given("second.json", {"properties": {"a": {"$ref": "first.json"}}})
    assert parse_json_schema('{"items": {"$ref": "first.json"}}', [first, second]).references.keys() == {
        "first.json",
        "second.json",
    }


DRAFTS = [draft.value for draft in Draft]


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("reference", ["#/$defs/a", "#/$defs/a/properties/b", "item.json#/$defs/c", "#/%24defs/d~1e"])
def test_definitions_of_a_document_are_found_in_defs_in_every_draft(draft, reference):
    """The reference registry copies the definitions of a document's root into ``$defs`` before it loads it."""
    item = given("item.json", {"definitions": {"c": {"type": "integer"}}})
    text = json.dumps({
        "$schema": draft,
        "definitions": {"a": {"properties": {"b": {"type": "integer"}}}, "d/e": {"type": "integer"}},
        "properties": {"x": {"$ref": reference}},
    })  # fmt: skip
    schema = parse_json_schema(text, [item])
    assert [each.rule for each in schema.warnings()] == ["reference-to-copied-definition"]
    target, place = schema.resolver.resolve(reference, schema.base)
    assert "integer" in json.dumps(target)
    assert place.pointer[0] == "definitions"
    bundled = bundle(schema)
    documents = {ROOT_URI: bundled.root, **bundled.documents}
    registry = EMPTY_REGISTRY.with_contents(documents.items())
    validator = validator_for(bundled.root)(bundled.root, registry=registry)
    right, wrong = ({"b": 1}, {"b": "1"}) if reference.endswith("/a") else (1, "1")
    assert validator.is_valid({"x": right})
    assert not validator.is_valid({"x": wrong})


@pytest.mark.parametrize(
    "document",
    [
        {"$defs": {"b": {}}, "not": {"$ref": "#/definitions/b"}},  # nothing is copied the other way
        {"definitions": {"b": {}}, "not": {"$ref": "#/$defs/a"}},
        {"definitions": [{}], "not": {"$ref": "#/$defs/0"}},
        {
            "$id": "http://e.example/r",
            "definitions": {"x": {"$id": "p", "definitions": {"a": {}}}},
            "$ref": "p#/$defs/a",
        },
    ],
)
@pytest.mark.parametrize("draft", [DRAFT_2020, "http://json-schema.org/draft-07/schema#"])
def test_only_definitions_of_the_root_are_copied(document, draft):
    with pytest.raises(SchemaParseError, match="leads nowhere"):
        parse_json_schema(json.dumps({"$schema": draft, **document}))


def test_a_name_in_defs_itself_is_not_replaced():
    document = {"$defs": {"a": {"const": 1}}, "definitions": {"a": {"const": 2}, "b": {"const": 3}}}
    assert resolve(document, "#/$defs/a") == {"const": 1}
    assert resolve(document, "#/$defs/b") == {"const": 3}
