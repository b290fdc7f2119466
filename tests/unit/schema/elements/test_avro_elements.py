"""The elements of Avro schemas: the judge is a walk over the schema as fastavro reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from fastavro.schema import SchemaParseException
from hypothesis import assume, given, reject

from counterfoil.schema.elements import declared_types, find_elements
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.paths import parse_path, resolve_path
from counterfoil.schema.rest.inspection import ElementKind, ElementRow
from counterfoil.schema.texts import print_pointer
from strategies.avro.schemas import avro_schemas
from strategies.cases.each_case import check_each
from strategies.languages.rule_files import rule_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.schema.parsed import ParsedSchema

MOST = 1_000
NAMED = ("record", "error", "enum", "fixed")


class Judge:
    """The fields of a schema by their paths, from fastavro's reading of it, expanded everywhere but in themselves."""

    def __init__(self, text: str) -> None:
        self._named: dict[str, Any] = {}
        try:
            self._root = fastavro.parse_schema(json.loads(text), named_schemas=self._named)
        except SchemaParseException:  # it refuses defaults of other branches than the first, and judges nothing then
            reject()

    def fields(self) -> dict[str, str | None]:
        """Return the default of each field as JSON by its path; None for a field without one."""
        return dict(self._fields(self._root, "", ()))

    def names(self) -> set[str]:
        """Return the full names of all declared types."""
        return set(self._named)

    def _resolved(self, node: Any) -> Any:
        return self._named[node] if isinstance(node, str) and node in self._named else node

    def _fields(self, node: Any, path: str, opened: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        node = self._resolved(node)
        if isinstance(node, list):
            kept = [each for each in node if each != "null" and self._kind(each) != "null"]
            for each in node:
                if len(kept) == 1 and each is kept[0]:
                    yield from self._fields(each, path, opened)
                elif len(kept) != 1:
                    yield from self._fields(each, f"{path}<{self._branch(each, node)}>", opened)
        elif self._kind(node) in ("record", "error") and node["name"] not in opened:
            for field in node["fields"]:
                inside = f"{path}.{field['name']}" if path else field["name"]
                yield inside, json.dumps(field["default"]) if "default" in field else None
                yield from self._fields(field["type"], inside, (*opened, node["name"]))
        elif self._kind(node) == "array":
            yield from self._fields(node["items"], f"{path}[]", opened)
        elif self._kind(node) == "map":
            yield from self._fields(node["values"], f"{path}{{}}", opened)

    def _kind(self, node: Any) -> str:
        node = self._resolved(node)
        return node["type"] if isinstance(node, dict) else "union" if isinstance(node, list) else node

    def _branch(self, node: Any, union: list[Any]) -> str:
        short = [self._short(each) for each in union]
        name = self._short(node)
        return name if short.count(name) == 1 else self._resolved(node)["name"]

    def _short(self, node: Any) -> str:
        kind = self._kind(node)
        return self._resolved(node)["name"].rpartition(".")[2] if kind in NAMED else kind


def _fields_of(schema: ParsedSchema) -> Mapping[str, ElementRow]:
    return {row.path: row for row in find_elements(schema) if row.kind is ElementKind.FIELD}


def _as_value(text: str | None) -> object:
    return None if text is None else (json.loads(text, parse_float=float),)


@given(avro_schemas())
def test_the_fields_are_those_that_fastavro_reads(text: str):
    expected = Judge(text).fields()
    assume(len(expected) <= MOST)
    found = _fields_of(parse_schema(text))
    assert found.keys() == expected.keys()
    for path, row in found.items():
        assert _as_value(row.default) == _as_value(expected[path]), path


@given(avro_schemas())
def test_the_declared_types_are_those_that_fastavro_reads(text: str):
    assert {row.path for row in declared_types(parse_schema(text))} == Judge(text).names()


@given(avro_schemas())
def test_each_path_leads_to_the_pointer_of_its_row(text: str):
    _check_paths(parse_schema(text))


def test_each_path_of_the_examples_of_rules_leads_to_its_pointer():
    check_each(rule_schemas(SchemaType.AVRO), _check_paths)


def _check_paths(schema: ParsedSchema) -> None:
    document = json.loads(schema.text)
    for row in find_elements(schema):
        assert print_pointer(resolve_path(schema, parse_path(row.path)).pointer) == row.pointer, row.path
        written = document
        for step in row.pointer.split("/")[1:]:
            written = written[int(step) if isinstance(written, list) else step]
        if row.kind is ElementKind.FIELD:
            assert written["name"] == parse_path(row.path)[-1].name
            assert written.get("doc", "") == row.doc


ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long", "doc": "Order number.", "aliases": ["number"]},
        {"name": "billing", "type": {"type": "record", "name": "Address", "fields": [
            {"name": "city", "type": "string"}]}},
        {"name": "shipping", "type": ["null", "Address"], "default": None},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}, "order": "descending"},
        {"name": "counts", "type": {"type": "map", "values": "long"}, "confluent:tags": ["STATS"]},
        {"name": "notes", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "payment", "type": ["null", {"type": "record", "name": "Card", "fields": [
            {"name": "last4", "type": "string", "confluent:tags": ["PII"]}]}, "Address"]},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"], "default": "NEW"}},
        {"name": "digest", "type": {"type": "fixed", "name": "Md5", "size": 16}},
        {"name": "codes", "type": {"type": "array", "items": {"type": "string", "confluent:tags": ["CODE"]}}},
        {"name": "odd", "type": {"type": "string", "logicalType": "iso-8601"}, "deprecated": True},
    ],
}  # fmt: skip


def _row(path: str, *, tags_by_path: Mapping[str, Sequence[str]] | None = None) -> ElementRow:
    rows = find_elements(parse_schema(json.dumps(ORDER)), tags_by_path=tags_by_path or {})
    (found,) = [row for row in rows if row.path == path]
    return found


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("id", "long"),
        ("billing", "shop.Address"),
        ("shipping", "null | shop.Address"),
        ("total", "decimal(10,2) on bytes"),
        ("placed", "timestamp-millis on long"),
        ("counts", "map of long"),
        ("notes", "array of (null | string)"),
        ("payment", "null | shop.Card | shop.Address"),
        ("payment<Card>", "shop.Card"),
        ("status", "shop.Status"),
        ("codes", "array of string"),
        ("codes[]", "string"),
        ("odd", "string"),
    ],
)
def test_types_are_in_words(path: str, words: str):
    assert _row(path).type == words


def test_a_type_that_is_used_twice_is_expanded_at_both_places():
    assert _row("billing.city").pointer == _row("shipping.city").pointer == "/fields/1/type/fields/0"
    assert _row("payment<Address>.city").depth == 2


def test_facts_of_fields_are_in_their_rows():
    assert _row("id").doc == "Order number."
    assert _row("id").aliases == ("number",)
    assert _row("placed").constraints == ("sort order: descending",)
    assert _row("odd").constraints == ("annotated as iso-8601, which readers ignore",)
    assert _row("odd").is_deprecated
    assert _row("status").symbols == ("NEW", "PAID")
    assert _row("payment").types == ("shop.Card", "shop.Address")
    assert (_row("shipping").default, _row("billing").default) == ("null", None)


def test_tags_are_those_of_the_text_then_those_of_the_metadata():
    given_tags = {"**.last4": ("CARD", "PII"), "shop.Order.?d": ("KEY",), "shop.Order": ("ALL",)}
    assert _row("payment<Card>.last4", tags_by_path=given_tags).tags == ("PII", "CARD")
    assert _row("id", tags_by_path=given_tags).tags == ("KEY",)
    assert _row("codes[]").tags == ("CODE",)
    types = declared_types(parse_schema(json.dumps(ORDER)), tags_by_path=given_tags)
    assert {row.path: row.tags for row in types if row.tags} == {"shop.Order": ("ALL",)}


def test_declared_types_have_their_content():
    rows = {row.path: row for row in declared_types(parse_schema(json.dumps(ORDER)))}
    assert [*rows] == ["shop.Order", "shop.Address", "shop.Card", "shop.Status", "shop.Md5"]
    assert rows["shop.Order"].constraints == ("12 fields",)
    assert rows["shop.Md5"].constraints == ("16 bytes",)
    assert (rows["shop.Status"].symbols, rows["shop.Status"].default) == (("NEW", "PAID"), '"NEW"')
    assert rows["shop.Status"].pointer == "/fields/8/type"


def test_a_schema_that_is_no_record_has_a_row_of_its_own():
    schema = parse_schema('["string", {"type": "record", "name": "A", "fields": [{"name": "b", "type": "int"}]}]')
    assert [(row.path, row.kind, row.type) for row in find_elements(schema)] == [
        ("", ElementKind.ROOT, "string | A"),
        ("<A>", ElementKind.BRANCH, "A"),
        ("<A>.b", ElementKind.FIELD, "int"),
    ]


def test_elements_of_a_reference_name_it_and_have_no_pointer():
    money = '{"type": "record", "name": "shop.Money", "fields": [{"name": "amount", "type": "long"}]}'
    reference = ResolvedReference(Reference("money.avsc", "money-value", 3), money)
    text = '{"type": "record", "name": "A", "fields": [{"name": "price", "type": "shop.Money"}]}'
    schema = parse_schema(text, references=[reference])
    rows = [(row.path, row.reference, row.pointer) for row in find_elements(schema)]
    assert rows == [("price", "", "/fields/0"), ("price.amount", "money.avsc", "")]
    assert [(row.path, row.reference) for row in declared_types(schema)] == [("A", ""), ("shop.Money", "money.avsc")]


def test_branches_with_one_short_name_have_their_full_names():
    records = [{"type": "record", "name": f"{space}.X", "fields": [{"name": space, "type": "int"}]} for space in "ab"]
    schema = parse_schema(json.dumps(["null", *records]))
    assert [row.path for row in find_elements(schema)] == ["", "<a.X>", "<a.X>.a", "<b.X>", "<b.X>.b"]
    _check_paths(schema)
