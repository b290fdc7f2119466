"""The facts of fields that were found before are those that the walk over the whole schema finds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.searchable import RememberedFields, SearchableSource, facts_of_sources, schema_facts
from strategies.avro.edits import avro_pairs
from strategies.avro.schemas import avro_records


def record(*fields: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields)})


def agree(texts: list[str]) -> None:
    """Check that what is remembered of some schemas changes nothing about the next, nor about the same ones again."""
    known = RememberedFields(100_000)
    for text in (*texts, *texts):
        parsed = parse_schema(text, SchemaType.AVRO)
        assert schema_facts(parsed, {}, known) == schema_facts(parsed, {}), text
    sources = [SearchableSource(text, SchemaType.AVRO, {}) for text in texts]
    assert facts_of_sources(sources) == [schema_facts(parse_schema(text, SchemaType.AVRO), {}) for text in texts]


@given(st.lists(st.one_of(avro_pairs(), st.tuples(avro_records())), min_size=1, max_size=3))
def test_any_schemas(drawn: list[tuple[str, ...]]):
    agree([text for each in drawn for text in each])


INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "a", "type": "int"}, {"name": "r", "type": ["null", "R"]}],
}
OTHER = {"type": "enum", "name": "Other", "symbols": ["A", "B"], "doc": "Others."}


def test_fields_with_declared_types_are_walked_with_the_others():
    plain = {"name": "id", "type": "long", "doc": "The id.", "aliases": ["key"], "confluent:tags": ["PII"]}
    one, two = {"name": "one", "type": INNER}, {"name": "two", "type": {"type": "array", "items": "Inner"}}
    other = {"name": "other", "type": ["null", OTHER]}
    orders = [[plain, one, two, other], [one, plain, other, two], [other, one, two, plain], [plain], []]
    agree([record(*fields) for fields in orders])


def test_numbers_that_are_equal_but_not_the_same():
    def decimal(precision: Any) -> dict[str, Any]:
        return {"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": precision}}

    agree([record(decimal(each)) for each in (1, 1.0, True, "1")])


def test_a_record_that_its_first_field_refers_to_is_expanded_in_the_same_places():
    deep: Any = "R"
    for depth in range(6):
        fields = [
            {"name": f"f{each}", "type": deep if each == 0 else f"T{depth - 1}"} for each in range(3 if depth else 1)
        ]
        deep = {"type": "record", "name": f"T{depth}", "fields": fields}
    agree([record({"name": "p", "type": "int"}, {"name": "d", "type": deep}, {"name": "e", "type": "T5"})])
    many = [{"name": f"n{each}", "type": "T5"} for each in range(20)]
    agree([record({"name": "p", "type": "int"}, {"name": "d", "type": deep}, *many)])


def test_what_is_no_record_and_what_is_not_valid():
    agree(['"string"', json.dumps(OTHER)])
    broken = SearchableSource('{"type": "record"}', SchemaType.AVRO, {})
    deep = SearchableSource("[" * 7000, SchemaType.JSON, {})
    assert facts_of_sources([broken, deep]) == [None, None]
    message = SearchableSource('syntax = "proto3"; message M { int32 a = 1; }', SchemaType.PROTOBUF, {})
    [found] = facts_of_sources([message])
    assert found is not None
    assert {each.text for each in found.facts} == {"M", "a"}
