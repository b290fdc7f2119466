"""What the Avro parser accepts, refuses, and makes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import AvroEnum, AvroKind, AvroRecord, AvroUnion, LogicalType
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema

ORDER = """{
  "type": "record", "name": "Order", "namespace": "shop", "doc": "An order.",
  "fields": [
    {"name": "id", "type": "long"},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}, "default": "OPEN"},
    {"name": "previous", "type": ["null", "Order"], "default": null, "aliases": ["before"]}
  ]
}"""


def _field(field: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", **field}]})


def _reference(name: str, text: str) -> ResolvedReference:
    return ResolvedReference(Reference(name, f"{name}-value", 1), text)


def _root(schema: AvroSchema) -> AvroRecord:
    assert isinstance(schema.root, AvroRecord)
    return schema.root


def test_a_record_becomes_a_tree_with_shared_named_types() -> None:
    schema = parse_avro(ORDER)
    root = _root(schema)
    assert schema.name == "shop.Order"
    assert root.doc == "An order."
    assert [member.name for member in root.fields] == ["id", "state", "previous"]
    assert set(schema.named) == {"shop.Order", "shop.State"}
    previous = root.fields[2]
    assert isinstance(previous.type, AvroUnion)
    assert previous.type.branches[1] is root
    assert previous.aliases == ("before",)
    assert previous.has_default
    assert previous.default is None
    assert not root.fields[0].has_default


def test_nodes_know_their_place_in_the_text() -> None:
    schema = parse_avro(ORDER)
    root = _root(schema)
    assert root.fields[1].pointer == ("fields", 1)
    assert root.fields[1].type.pointer == ("fields", 1, "type")
    assert schema.locate(("fields", 1)) == Position(5, 5)
    assert schema.locate(("fields", 1, "type", "symbols", 1)) == Position(5, 85)
    assert schema.locate(("fields", 1, "type", "no", "such")) == schema.locate(("fields", 1, "type"))
    assert schema.locate(()) == Position(1, 1)


@pytest.mark.parametrize(
    ("text", "line", "column", "path", "problem"),
    [
        ('{"type": "record", "name": "R"}', 1, 1, "", "no 'fields' in the record"),
        ('{"type": "record",\n "name": "1R", "fields": []}', 2, 10, "/name", "'1R' is not a valid name"),
        ('["null",\n  "Nope"]', 2, 3, "/1", "unknown type 'Nope'"),
        (_field({"type": "int", "default": "x"}), 1, 84, "/fields/0/default", "'x' is no default of 'int'"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', 1, 48, "/symbols/1", "the symbol 'A' comes twice"),
        ('["int", "int"]', 1, 9, "/1", "the union holds 'int' twice"),
        ('["int", ["long"]]', 1, 9, "/1", "a union directly inside a union"),
        ('{"type": {"type": "int"}}', 1, 10, "/type", "an object is no type name"),
        ('{"items": "int"}', 1, 1, "", "an object without 'type'"),
        ('{"type": "fixed", "name": "F", "size": -1}', 1, 40, "/size", "-1 is no size"),
        ('{"type": "record", "name": "R", "fields": [1]}', 1, 44, "/fields/0", "1 is no field"),
        ('{"type": "int"', 1, 15, "", "unexpected end of the text"),
        ('{"type" "int"}', 1, 9, "", "unexpected '\"int\"}'"),
        ('"int" "long"', 1, 7, "", "text after the end of the schema: '\"long\"'"),
        ("\n\n  nan", 3, 3, "", "unexpected 'nan'"),
        ("", 1, 1, "", "the text is empty"),
        ("null", 1, 1, "", "null is no type"),
        ("12", 1, 1, "", "12 is no type"),
    ],
)
def test_a_fault_says_what_is_wrong_and_where(text: str, line: int, column: int, path: str, problem: str) -> None:
    with pytest.raises(SchemaParseError) as caught:
        parse_avro(text)
    error = caught.value
    assert error.problem == problem
    assert error.position == Position(line, column)
    assert error.path == path
    assert error.expected
    assert (error.code, error.status) == (42201, 422)
    assert f"line {line}, column {column}" in str(error)


@pytest.mark.parametrize("name", ["int", "string", "null"])
def test_a_type_is_not_named_like_a_primitive_type(name: str) -> None:
    with pytest.raises(SchemaParseError, match="primitive"):
        parse_avro(json.dumps({"type": "fixed", "name": name, "size": 1}))
    assert parse_avro(json.dumps({"type": "fixed", "name": f"a.{name}", "size": 1})).name == f"a.{name}"


@pytest.mark.parametrize(
    ("declared", "full_name"),
    [
        ({"name": "R"}, "R"),
        ({"name": "R", "namespace": "a.b"}, "a.b.R"),
        ({"name": "a.b.R", "namespace": "ignored"}, "a.b.R"),
        ({"name": "R", "namespace": ""}, "R"),
        ({"name": "R", "namespace": None}, "R"),
    ],
)
def test_full_names(declared: dict[str, Any], full_name: str) -> None:
    assert parse_avro(json.dumps({"type": "record", "fields": [], **declared})).name == full_name


def test_a_name_is_looked_for_in_its_namespace_first_and_in_the_null_namespace_then() -> None:
    schema = parse_avro(
        """["null",
            {"type": "fixed", "name": "F", "size": 1},
            {"type": "fixed", "name": "a.G", "size": 1},
            {"type": "record", "name": "a.R", "fields": [
                {"name": "f", "type": "F"}, {"name": "g", "type": "G"}, {"name": "r", "type": {"type": "F"}},
                {"name": "h", "type": {"type": "fixed", "name": "F", "size": 2}}, {"name": "i", "type": "F"}]}]"""
    )
    record = schema.named["a.R"]
    assert isinstance(record, AvroRecord)
    names = [member.type.full_name for member in record.fields if hasattr(member.type, "full_name")]
    assert names == ["F", "a.G", "F", "a.F", "a.F"]


def test_a_name_is_declared_once() -> None:
    fixed = '{"type": "fixed", "name": "F", "size": 1}'
    with pytest.raises(SchemaParseError, match="'F' is declared twice"):
        parse_avro(
            f'{{"type": "record", "name": "R", "fields": [{{"name": "a", "type": {fixed}}},'
            f'{{"name": "b", "type": {fixed}}}]}}'
        )


def test_aliases_are_full_names_in_the_namespace_of_their_type() -> None:
    schema = parse_avro('{"type": "enum", "name": "a.E", "symbols": [], "aliases": ["Was", "b.Was", "Was"]}')
    assert schema.named["a.E"].aliases == ("a.Was", "b.Was")


@pytest.mark.parametrize(
    ("field_type", "default"),
    [
        ("double", "1"),
        ("float", "NaN"),
        ("double", "-Infinity"),
        ("double", " 0x1p-2f "),
        ("double", 1),
        (["null", "int"], 1),
        (["int", "null"], None),
        ({"type": "string", "logicalType": "uuid"}, "no uuid"),
        ({"type": "fixed", "name": "F", "size": 4}, "short"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "NO_SYMBOL"),
        ({"type": "record", "name": "I", "fields": [{"name": "x", "type": "int", "default": 1}]}, {}),
        ({"type": "record", "name": "I", "fields": []}, {"unknown": 1}),
        ({"type": "array", "items": ["null", "string"]}, [None, "x"]),
        ({"type": "map", "values": "long"}, {"a": 2**63 - 1}),
    ],
)
def test_defaults_that_are_taken(field_type: object, default: object) -> None:
    assert _root(parse_avro(_field({"type": field_type, "default": default}))).fields[0].has_default


@pytest.mark.parametrize(
    ("field_type", "default"),
    [
        ("int", "1"),
        ("int", 1.0),
        ("int", 2**31),
        ("long", 2**63),
        ("int", True),
        ("double", "abc"),
        ("double", "1_0"),
        ("boolean", 0),
        ("boolean", "true"),
        ("string", None),
        ("bytes", 1),
        ("null", 0),
        (["null", "int"], "x"),
        ({"type": "map", "values": "int"}, []),
        ({"type": "array", "items": "int"}, ["x"]),
        ({"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}, {}),
        ({"type": "record", "name": "I", "fields": []}, None),
        ("R", {}),
    ],
)
def test_defaults_that_are_refused(field_type: object, default: object) -> None:
    with pytest.raises(SchemaParseError, match="/fields/0/default"):
        parse_avro(_field({"type": field_type, "default": default}))


def test_stored_schemas_load_with_names_and_defaults_that_new_ones_may_not_have() -> None:
    text = _field({"type": "int", "default": "x"}).replace('"R"', '"R-1"')
    with pytest.raises(SchemaParseError):
        parse_avro(text)
    schema = parse_avro(text, validation=Validation.LENIENT)
    assert schema.name == "R-1"
    assert _root(schema).fields[0].default == "x"


@pytest.mark.parametrize(
    ("annotated", "logical_type"),
    [
        ({"type": "int", "logicalType": "date"}, LogicalType("date")),
        ({"type": "long", "logicalType": "timestamp-nanos"}, LogicalType("timestamp-nanos")),
        ({"type": "string", "logicalType": "uuid"}, LogicalType("uuid")),
        ({"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}, LogicalType("uuid")),
        ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, LogicalType("duration")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9}, LogicalType("decimal", 9, 0)),
        (
            {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 9},
            LogicalType("decimal", 9, 9),
        ),
        ({"type": "long", "logicalType": "date"}, None),
        ({"type": "int", "logicalType": "shoe-size"}, None),
        ({"type": "int", "logicalType": 1}, None),
        ({"type": "bytes", "logicalType": "decimal"}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": 0}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": True}, None),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 10}, None),
        ({"type": "fixed", "name": "F", "size": 0, "logicalType": "decimal", "precision": 1}, None),
        ({"type": "fixed", "name": "F", "size": 8, "logicalType": "uuid"}, None),
        ({"type": "array", "items": "int", "logicalType": "date"}, None),
    ],
)
def test_a_logical_type_counts_where_it_is_valid_and_stays_a_property_where_not(
    annotated: dict[str, Any], logical_type: LogicalType | None
) -> None:
    root = parse_avro(json.dumps(annotated)).root
    assert root.logical_type == logical_type
    assert root.properties["logicalType"] == annotated["logicalType"]


def test_the_last_of_two_equal_keys_wins() -> None:
    assert parse_avro('{"type": "int", "type": "long"}').root.kind is AvroKind.LONG


def test_comments_are_skipped() -> None:
    assert parse_avro('/* a */ // b\n { // c\n "type": /* d */ "int" } \r\n\t').root.kind is AvroKind.INT


@pytest.mark.parametrize(
    "text",
    [
        '"string" // c',
        '"string" /* c */',
        '{"type": "string"}\n// c',
        '["string"] /* c */ // d\n',
        '"string" "string"',
        '"string" # c',
    ],
)
def test_nothing_but_blanks_stands_behind_the_schema(text: str) -> None:
    with pytest.raises(SchemaParseError, match="text after the end of the schema"):
        parse_avro(text)


def test_references_supply_types_that_stay_names() -> None:
    money = (
        '{"type": "record", "name": "ns.Money", "fields": [{"name": "c", "type": '
        '{"type": "enum", "name": "Currency", "symbols": ["EUR"]}}]}'
    )
    price = '{"type": "record", "name": "ns.Price", "fields": [{"name": "net", "type": "Money"}]}'
    references = [_reference("ns.Money", money), _reference("ns.Price", price)]
    schema = parse_avro(
        '{"type": "record", "name": "ns.Offer", "fields": ['
        '{"name": "price", "type": "ns.Price"}, {"name": "currency", "type": "Currency"}]}',
        references,
    )
    assert schema.canonical() == (
        '{"type":"record","name":"Offer","namespace":"ns","fields":['
        '{"name":"price","type":"Price"},{"name":"currency","type":"Currency"}]}'
    )
    assert schema.normalized() == schema.canonical()
    assert schema.supplied == {"ns.Money", "ns.Currency", "ns.Price"}
    assert isinstance(schema.named["ns.Currency"], AvroEnum)
    assert schema.named["ns.Price"].pointer == ()
    inlined = parse_avro(schema.resolved())
    assert schema.resolved().count("symbols") == 1
    assert inlined.is_equivalent(schema)
    assert schema.is_equivalent(inlined)


def test_one_reference_may_declare_several_types() -> None:
    both = '[{"type": "fixed", "name": "A", "size": 1}, {"type": "fixed", "name": "B", "size": 2}]'
    schema = parse_avro('["A", "B"]', [_reference("both", both)])
    assert schema.canonical() == '["A","B"]'
    assert schema.name is None


def test_a_fault_inside_a_reference_names_the_reference() -> None:
    with pytest.raises(SchemaParseError, match=r"reference 'Item' \(Item-value version 1\) is not valid: unknown type"):
        parse_avro('"Item"', [_reference("Item", '["Nope"]')])


def test_a_declaration_may_not_repeat_that_of_a_reference() -> None:
    item = '{"type": "fixed", "name": "Item", "size": 1}'
    with pytest.raises(SchemaParseError, match="'Item' is declared twice"):
        parse_avro(item, [_reference("Item", item)])


@pytest.mark.parametrize(
    ("one", "other", "is_equivalent"),
    [
        ('{"type": "int"}', '"int"', True),
        ('{"type": "int", "a": 1, "b": 2}', '{"b": 2, "a": 1, "type": "int"}', True),
        ('{"type": "int", "a": 1}', '{"type": "int", "a": 1.0}', False),
        ('{"type": "int", "a": 1}', '{"type": "int", "a": true}', False),
        (ORDER, ORDER.replace('"An order."', '"Another."'), False),
        (ORDER, ORDER.replace('"before"', '"earlier"'), False),
        (ORDER, ORDER.replace('["OPEN", "PAID"]', '["OPEN", "PAID"], "default": "PAID"'), False),
        (ORDER, ORDER.replace('"name": "Order", "namespace": "shop"', '"name": "shop.Order"'), True),
        ('["int", "null"]', '["null", "int"]', False),
    ],
)
def test_equivalence(one: str, other: str, *, is_equivalent: bool) -> None:
    first, second = parse_avro(one), parse_avro(other)
    assert first.is_equivalent(second) == is_equivalent
    assert second.is_equivalent(first) == is_equivalent
    if is_equivalent:
        assert sorted(first.canonical()) == sorted(second.canonical())


def test_an_error_is_a_record_that_canonical_text_keeps_apart() -> None:
    schema = parse_avro('{"type": "error", "name": "E", "fields": []}')
    assert _root(schema).is_error
    assert schema.canonical() == '{"type":"error","name":"E","fields":[]}'


def test_a_name_that_is_a_type_word_is_written_in_full() -> None:
    text = (
        '["null",{"type":"record","name":"record","namespace":"a","fields":[{"name":"b","type":["null","a.record"]}]}]'
    )
    assert parse_avro(text).canonical() == text


def test_avro_is_the_language_unless_another_is_named() -> None:
    assert parse_schema('"int"').schema_type is SchemaType.AVRO
