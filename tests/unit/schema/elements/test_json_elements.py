"""The elements of JSON schemas: the judge is a plain walk over the JSON document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.elements import declared_types, find_elements
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.paths import PathNotFound, parse_path, resolve_path
from counterfoil.schema.rest.inspection import ElementKind, ElementRow
from counterfoil.schema.texts import print_pointer
from strategies.cases.each_case import check_each
from strategies.json_schema.schemas import NAMES, json_schemas
from strategies.languages.rule_files import rule_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.parsed import ParsedSchema

ONE = ("additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "items", "additionalItems",
       "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
MAPS = ("properties", "patternProperties", "dependentSchemas", "dependencies")


def _is_old(document: Any) -> bool:
    """Return whether a draft ignores what stands beside a reference."""
    return "draft-0" in str(document.get("$schema", "draft-07"))


class Judge:
    """The properties of a document that describe its values: those in it, and those to which local references lead."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._is_old = _is_old(document)
        self._seen: set[str] = set()

    def properties(self) -> set[str]:
        return set(self._below(self._document, ""))

    def _below(self, node: Any, pointer: str) -> Iterator[str]:
        if not isinstance(node, dict) or pointer in self._seen:
            return
        self._seen.add(pointer)
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            yield from self._below(self._target(reference), reference[1:])
            if self._is_old:
                return
        for below, inner in self._inner(node):
            if below.startswith("/properties/"):
                yield pointer + below
            yield from self._below(inner, pointer + below)

    def _target(self, reference: str) -> Any:
        target = self._document
        for step in reference[1:].split("/")[1:]:
            target = target[int(step) if isinstance(target, list) else step]
        return target

    def _inner(self, node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the schemas directly in one, with their pointers from it."""
        unread = "items" if "2020-12" in str(self._document.get("$schema")) else "prefixItems"
        for keyword, held in node.items():
            if keyword in ONE and isinstance(held, dict):
                yield f"/{keyword}", held
            elif keyword in LISTS and isinstance(held, list) and keyword != unread:
                yield from ((f"/{keyword}/{index}", inner) for index, inner in enumerate(held))
            elif keyword in MAPS and isinstance(held, dict):
                for name, inner in held.items():
                    yield f"/{keyword}/{name.replace('~', '~0').replace('/', '~1')}", inner


@st.composite
def referring_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Return a schema with definitions, to which properties refer, also in circles."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    pick = st.sampled_from(names).map(lambda name: {"$ref": f"#/definitions/{name}"})
    leaf = st.one_of(pick, st.just({"$ref": "#"}), st.sampled_from([{"type": "string"}, {"type": "integer"}, True]))
    objects = st.dictionaries(NAMES, leaf, max_size=3).map(lambda held: {"type": "object", "properties": held})
    lists = st.builds(lambda inner: {"type": "array", "items": inner}, leaf)
    choices = st.builds(lambda inner, word: {word: inner}, st.lists(leaf, min_size=1, max_size=3), st.sampled_from(
        ["oneOf", "anyOf", "allOf"]))  # fmt: skip
    inner = st.one_of(objects, lists, choices, pick)
    definitions = {name: draw(inner) for name in names}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **draw(objects), "definitions": definitions}


def _schema(document: Any) -> ParsedSchema:
    return parse_schema(json.dumps(document), SchemaType.JSON)


def _properties_of(schema: ParsedSchema) -> set[str]:
    rows = find_elements(schema)
    return {row.pointer for row in rows if row.kind is ElementKind.FIELD and not row.reference}


@given(st.one_of(json_schemas(), referring_schemas()))
def test_the_properties_are_those_of_a_plain_walk(document: dict[str, Any]):
    assert _properties_of(_schema(document)) == Judge(document).properties()


def test_the_properties_of_the_examples_of_rules_are_those_of_a_plain_walk():
    def check(schema: ParsedSchema) -> None:
        document = json.loads(schema.text)
        if isinstance(document, dict) and "$dynamicRef" not in schema.text and "$id" not in schema.text:
            assert _properties_of(schema) == Judge(document).properties()

    check_each(rule_schemas(SchemaType.JSON), check)


@given(st.one_of(json_schemas(), referring_schemas()))
def test_facts_are_those_at_the_pointer(document: dict[str, Any]):
    for row in find_elements(_schema(document)):
        written: Any = document
        for step in row.pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            written = written[int(key) if isinstance(written, list) else key]
        held = written if isinstance(written, dict) else {}
        is_alone = "$ref" in held and _is_old(document)
        if row.kind is ElementKind.FIELD:
            assert parse_path(row.path)[-1].name == row.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        if "minLength" in held and not is_alone:
            assert any(sentence.startswith(f"at least {held['minLength']} char") for sentence in row.constraints)
        if "enum" in held and not is_alone:
            assert len(row.symbols) == len(held["enum"])
        if held.get("additionalProperties") is False and held.get("type") == "object" and not is_alone:
            assert "closed: no other properties" in row.constraints


@given(st.one_of(json_schemas(), referring_schemas()))
def test_each_path_leads_to_an_element(document: dict[str, Any]):
    _check_paths(_schema(document))


def test_each_path_of_the_examples_of_rules_leads_to_an_element():
    check_each(rule_schemas(SchemaType.JSON), _check_paths)


def _check_paths(schema: ParsedSchema) -> None:
    """A path may lead to several schemas that describe one value; the row is of one of them."""
    pointers: dict[str, set[str]] = {}
    for row in find_elements(schema):
        pointers.setdefault(row.path, set()).add(row.pointer)
    for path, known in pointers.items():
        try:
            found = print_pointer(resolve_path(schema, parse_path(path)).pointer)
        except PathNotFound as error:
            raise AssertionError(f"{path}: {error}") from None
        assert found in known, path


ORDER: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Order",
    "description": "What was ordered.",
    "type": "object",
    "required": ["id", "lines"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "format": "uuid", "title": "Id", "description": "As printed.", "deprecated": True},
        "placed": {"type": "string", "format": "date-time", "default": "2026-01-01T00:00:00Z"},
        "total": {"type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 100, "multipleOf": 0.01},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1, "uniqueItems": True},
        "attrs": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}},
        "status": {"enum": ["NEW", "PAID"]},
        "code": {"type": "string", "pattern": "^[A-Z]+$", "minLength": 1, "confluent:tags": ["CODE"]},
        "payment": {"oneOf": [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Cash"}]},
        "paid": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Cash"}]},
        "any": {
            "oneOf": [{"type": "object", "properties": {"x": {"const": 1}}}, {"type": "array"}, {"minimum": 1}, {}]
        },
        "pair": {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
        "base": {"allOf": [{"$ref": "#/$defs/Line"}, {"required": ["sku"], "properties": {"more": True}}]},
    },
    "patternProperties": {"^x-": {"type": "boolean"}},
    "$defs": {
        "Line": {"type": "object", "properties": {"sku": {"type": "string"}, "order": {"$ref": "#"}}},
        "Card": {"type": "object", "properties": {"last4": {"type": "string", "confluent:tags": ["PII"]}}},
        "Cash": {"type": "object", "title": "Coins", "properties": {"amount": {"type": "number"}}},
        "Unused": {"type": "integer"},
    },
}


def _row(path: str) -> ElementRow:
    (found,) = [row for row in find_elements(_schema(ORDER)) if row.path == path]
    return found


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("id", "string (uuid)"),
        ("placed", "string (date-time)"),
        ("total", "number | null"),
        ("lines", "array of Line"),
        ("lines[].order", "Order"),
        ("attrs", "map of string"),
        ("attrs{}", "string"),
        ("status", "string"),
        ("payment", "Card | Cash"),
        ("payment<1>", "Cash"),
        ("paid", "Cash | null"),
        ("paid.amount", "number"),
        ("any", "one of 4 schemas"),
        ("any<0>.x", "number"),
        ("pair", "array that begins with 2 items"),
        ("pair[1]", "integer"),
        ("base", "Line & object"),
        ("base.more", "anything"),
        ("{^x-}", "boolean"),
    ],
)
def test_types_are_in_words(path: str, words: str):
    assert _row(path).type == words


@pytest.mark.parametrize(
    ("path", "sentences"),
    [
        ("total", ("at least 0", "less than 100", "a multiple of 0.01")),
        ("lines", ("at least 1 item", "all items differ")),
        ("attrs{}", ("at most 1 character",)),
        ("code", ("matches ^[A-Z]+$", "at least 1 character")),
        ("attrs", ()),
        ("payment<1>", ()),
        ("any<0>", ("open: other properties are allowed",)),
    ],
)
def test_constraints_are_sentences(path: str, sentences: tuple[str, ...]):
    assert _row(path).constraints == sentences


def test_facts_of_properties_are_in_their_rows():
    assert _row("id").doc == "Id\nAs printed."
    assert (_row("id").required, _row("placed").required) == (True, False)
    assert _row("id").is_deprecated
    assert _row("placed").default == '"2026-01-01T00:00:00Z"'
    assert _row("status").symbols == ("NEW", "PAID")
    assert _row("payment").types == ("Card", "Cash")
    assert _row("base.sku").required


def test_tags_are_found_by_the_paths_of_entities_and_of_field_rules():
    by_path = {"$.payment.last4": ("A",), "object.code": ("B",), "**.id": ("C",), "object.payment.last4": ("NO",)}
    rows = {row.path: row.tags for row in find_elements(_schema(ORDER), tags_by_path=by_path)}
    assert rows["payment<0>.last4"] == ("PII", "A")
    assert (rows["code"], rows["id"]) == (("CODE", "B"), ("C",))


def test_declared_types_are_the_schema_and_its_definitions():
    rows = {row.path: row for row in declared_types(_schema(ORDER))}
    assert [*rows] == ["Order", "Line", "Card", "Cash", "Unused"]
    assert rows["Order"].constraints == ("12 properties", "closed: no other properties")
    assert rows["Cash"].doc == "Coins"
    assert rows["Unused"].pointer == "/$defs/Unused"


def test_elements_of_a_reference_name_it_and_have_no_pointer():
    money = '{"definitions": {"Money": {"type": "object", "properties": {"amount": {"type": "number"}}}}}'
    reference = ResolvedReference(Reference("money.json", "money-value", 3), money)
    text = '{"type": "object", "properties": {"price": {"$ref": "money.json#/definitions/Money"}}}'
    schema = parse_schema(text, SchemaType.JSON, references=[reference])
    rows = [(row.path, row.type, row.reference, row.pointer) for row in find_elements(schema)]
    assert rows == [
        ("price", "money.json#/definitions/Money", "", "/properties/price"),
        ("price.amount", "number", "money.json", ""),
    ]
    types = [(row.path, row.reference) for row in declared_types(schema)]
    assert types == [("#", ""), ("money.json#/definitions/Money", "money.json")]


def test_a_draft_itself_is_not_expanded():
    text = '{"type": "object", "properties": {"schema": {"$ref": "http://json-schema.org/draft-07/schema#"}}}'
    rows: Mapping[str, ElementRow] = {row.path: row for row in find_elements(parse_schema(text, SchemaType.JSON))}
    assert [*rows] == ["schema"]


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({"allOf": [True, {"oneOf": [{"const": 1}, {"const": 2}]}]}, ["", "<1><0>", "<1><1>"]),
        ({"anyOf": [{"type": "null"}, {"oneOf": [{"const": 1}, {"const": 2}]}]}, ["", "<1><0>", "<1><1>"]),
        ({"allOf": [{"properties": {"a": {"anyOf": [True, False]}}}]}, ["", "a", "a<0>", "a<1>"]),
    ],
)
def test_branches_inside_others_have_the_steps_of_these(document: dict[str, Any], paths: list[str]):
    schema = _schema(document)
    assert [row.path for row in find_elements(schema)] == paths
    _check_paths(schema)
