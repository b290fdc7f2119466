"""The rules of schema resolution, change by change: what a reader makes of a writer's schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.compare.differences import MAX_DIFFERENCES
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import AvroSchema, parse_avro
from counterfoil.schema.languages.avro.types import AvroArray, AvroKind, AvroPrimitive
from counterfoil.schema.languages.rules import RULE_BY_ID

Json = Any


def record(*fields: Json, name: str = "R", **more: Json) -> Json:
    return {"type": "record", "name": name, "fields": [*fields], **more}


def field(name: str, kind: Json, **more: Json) -> Json:
    return {"name": name, "type": kind, **more}


def enum(*symbols: str, name: str = "E", **more: Json) -> Json:
    return {"type": "enum", "name": name, "symbols": [*symbols], **more}


def fixed(size: int, name: str = "F", **more: Json) -> Json:
    return {"type": "fixed", "name": name, "size": size, **more}


A = field("a", "int")
NODE = record(field("value", "int"), field("next", ["null", "Node"]), name="Node")
WIDE_NODE = record(field("value", "long"), field("next", ["null", "Node"]), name="Node")
TEXT_NODE = record(field("value", "string"), field("next", ["null", "Node"]), name="Node")
MISSING = "READER_FIELD_MISSING_DEFAULT_VALUE /fields/1"

CASES: dict[str, tuple[Json, Json, list[str]]] = {
    # what happened: reader, writer, what is found
    "field with default added": (record(A, field("b", "int", default=0)), record(A), []),
    "field without default added": (record(A, field("b", "int")), record(A), [MISSING]),
    "nullable field without default added": (record(A, field("b", ["null", "int"])), record(A), [MISSING]),
    "null field with default null added": (record(A, field("b", "null", default=None)), record(A), []),
    "enum field with only the enum's default added": (
        record(A, field("b", enum("X", default="X"))),
        record(A),
        ["TYPE_MISMATCH /fields/1/type"],
    ),
    "enum field with a default of its own added": (record(A, field("b", enum("X"), default="X")), record(A), []),
    "field removed": (record(A), record(A, field("b", "int")), []),
    "field with default removed": (record(A), record(A, field("b", "int", default=0)), []),
    "field renamed": (record(field("b", "int")), record(A), ["READER_FIELD_MISSING_DEFAULT_VALUE /fields/0"]),
    "field renamed, alias in the reader": (record(field("b", "int", aliases=["a"])), record(A), []),
    "field renamed, alias in the writer alone": (
        record(A),
        record(field("b", "int", aliases=["a"])),
        ["READER_FIELD_MISSING_DEFAULT_VALUE /fields/0"],
    ),
    "field matches by name and by alias": (
        record(field("a", "int", aliases=["b"])),
        record(A, field("b", "int")),
        [" "],
    ),
    "field matches by two aliases": (
        record(field("c", "int", aliases=["a", "b"])),
        record(A, field("b", "int")),
        [" "],
    ),
    "one field of many is undecidable": (
        record(field("x", "int"), field("c", "int", aliases=["a", "b"])),
        record(A, field("b", "int")),
        [" "],
    ),
    "fields reordered": (record(field("b", "int"), A), record(A, field("b", "int")), []),
    "record renamed": (record(A, name="S"), record(A), ["NAME_MISMATCH /name"]),
    "record renamed, alias in full": (
        record(A, name="S", namespace="n", aliases=["m.R"]),
        record(A, namespace="m"),
        [],
    ),
    "record renamed, alias in the same namespace": (
        record(A, name="S", namespace="n", aliases=["R"]),
        record(A, namespace="n"),
        [],
    ),
    "record renamed, alias of another namespace": (
        record(A, name="S", namespace="n", aliases=["R"]),
        record(A, namespace="m"),
        ["NAME_MISMATCH /name"],
    ),
    "namespace changed": (record(A, namespace="n"), record(A, namespace="m"), []),
    "record renamed and a field without default added": (
        record(field("b", "int"), name="S"),
        record(),
        ["NAME_MISMATCH /name", "READER_FIELD_MISSING_DEFAULT_VALUE /fields/0"],
    ),
    "fixed size changed": (fixed(8), fixed(4), ["FIXED_SIZE_MISMATCH /size"]),
    "fixed renamed and resized": (fixed(8, "G"), fixed(4), ["NAME_MISMATCH /name", "FIXED_SIZE_MISMATCH /size"]),
    "fixed renamed with an alias": (fixed(4, "G", aliases=["F"]), fixed(4), []),
    "enum symbol added": (enum("X", "Y"), enum("X"), []),
    "enum symbol removed": (enum("X"), enum("X", "Z", "Y"), ["MISSING_ENUM_SYMBOLS /symbols"]),
    "enum symbol removed, default in the reader": (enum("X", default="X"), enum("X", "Y"), []),
    "no symbol shared, default in the reader": (enum("X", default="X"), enum("Y"), []),
    "enum symbol removed, default in the writer": (
        enum("X"),
        enum("X", "Y", default="X"),
        ["MISSING_ENUM_SYMBOLS /symbols"],
    ),
    "enum symbols reordered": (enum("Y", "X"), enum("X", "Y"), []),
    "enum renamed": (enum("X", name="G"), enum("X"), ["NAME_MISMATCH /name"]),
    "type into a union of it": (["null", "int"], "int", []),
    "type into a union of its promotion": (["null", "double"], "int", []),
    "type into a union without it": (["null", "string"], "int", ["MISSING_UNION_BRANCH /"]),
    "union into one of its types": ("int", ["null", "int"], ["TYPE_MISMATCH /0"]),
    "union of one into it": ("int", ["int"], []),
    "union into what reads every branch": ("double", ["int", "float"], []),
    "union branch added": (["null", "int", "string"], ["null", "int"], []),
    "union branches reordered": (["int", "null"], ["null", "int"], []),
    "union branch promoted": (["null", "long"], ["null", "int"], []),
    "union branch removed": (["null"], ["null", "int"], ["MISSING_UNION_BRANCH /1"]),
    "record renamed inside a union": (
        ["null", record(A, name="S")],
        ["null", record(A)],
        ["MISSING_UNION_BRANCH /1"],
    ),
    "the first branch that fits is taken": (
        [record(field("b", "int"), namespace="n"), record(A, namespace="m")],
        record(A),
        [],
    ),
    "array items changed": (
        {"type": "array", "items": "int"},
        {"type": "array", "items": "string"},
        ["TYPE_MISMATCH /items"],
    ),
    "map values changed": (
        {"type": "map", "values": "int"},
        {"type": "map", "values": "string"},
        ["TYPE_MISMATCH /values"],
    ),
    "array into map": ({"type": "map", "values": "int"}, {"type": "array", "items": "int"}, ["TYPE_MISMATCH /"]),
    "record into map": ({"type": "map", "values": "int"}, record(A), ["TYPE_MISMATCH /"]),
    "default removed": (record(A), record(field("a", "int", default=1)), []),
    "default changed": (record(field("a", "int", default=2)), record(field("a", "int", default=1)), []),
    "doc, order and properties changed": (
        record(field("a", "int", doc="x", order="ignore", x=1)),
        record(A, doc="d"),
        [],
    ),
    "timestamp unit changed": (
        {"type": "long", "logicalType": "timestamp-micros"},
        {"type": "long", "logicalType": "timestamp-millis"},
        [],
    ),
    "decimal scale changed": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        [],
    ),
    "decimal from bytes to fixed": (
        fixed(8, logicalType="decimal", precision=9),
        {"type": "bytes", "logicalType": "decimal", "precision": 9},
        ["TYPE_MISMATCH /"],
    ),
    "recursive record promoted": (WIDE_NODE, NODE, []),
    "recursive record narrowed": (NODE, WIDE_NODE, ["TYPE_MISMATCH /fields/0/type"]),
    "recursive record retyped": (TEXT_NODE, NODE, ["TYPE_MISMATCH /fields/0/type"]),
    "error read as record": (record(A), record(A) | {"type": "error"}, []),
    "deep inside": (
        record(field("m", {"type": "map", "values": {"type": "array", "items": ["null", "int"]}})),
        record(field("m", {"type": "map", "values": {"type": "array", "items": ["null", "string"]}})),
        ["MISSING_UNION_BRANCH /fields/0/type/values/items/1"],
    ),
    "a type used twice is reported twice, at its first path": (
        record(field("x", enum("X")), field("y", "E")),
        record(field("x", enum("X", "Y")), field("y", "E")),
        ["MISSING_ENUM_SYMBOLS /fields/0/type/symbols"] * 2,
    ),
    "everything that is wrong is reported": (
        record(field("b", "int"), field("c", "int")),
        record(field("b", "string"), field("d", "int")),
        ["TYPE_MISMATCH /fields/0/type", MISSING],
    ),
}

WRITTEN_AND_READ = {
    "null": "null",
    "boolean": "boolean",
    "int": "int long float double",
    "long": "long float double",
    "float": "float double",
    "double": "double",
    "bytes": "bytes string",
    "string": "string bytes",
}


def found(reader: Json, writer: Json) -> list[str]:
    return [f"{each.error_type} {each.path}" for each in differences(reader, writer)]


def differences(reader: Json, writer: Json):
    return find_differences(parse_avro(json.dumps(reader)), parse_avro(json.dumps(writer)))


@pytest.mark.parametrize("case", CASES)
def test_change(case: str):
    reader, writer, expected = CASES[case]
    assert found(reader, writer) == expected


@pytest.mark.parametrize("writer", WRITTEN_AND_READ)
def test_promotions_are_these_and_no_others(writer: str):
    read = {reader for reader in WRITTEN_AND_READ if not found(reader, writer)}
    assert read == set(WRITTEN_AND_READ[writer].split())


def test_a_difference_says_what_and_where_in_both_texts():
    reader = record(field("id", "int"), field("total", "string"))
    writer = record(field("total", "double"), field("id", "int"))
    (difference,) = differences(reader, writer)
    assert difference.rule == "type-mismatch"
    assert difference.text == "The reader expects string, the writer writes double"
    assert difference.detail == "string cannot read double"
    assert (difference.reader_pointer, difference.writer_pointer) == (("fields", 1, "type"), ("fields", 0, "type"))


def test_a_missing_field_points_at_the_field_and_at_the_writers_record():
    inner = record(field("x", "int"), field("y", "int"), name="In")
    less = record(field("x", "int"), name="In")
    (difference,) = differences(record(field("in", inner)), record(field("q", "int"), field("in", less)))
    assert difference.detail == "y"
    assert difference.reader_pointer == ("fields", 0, "type", "fields", 1)
    assert difference.writer_pointer == ("fields", 1, "type", "fields")
    assert (
        difference.text == "The reader needs field y, which the writer's record In does not have, and it has no default"
    )


def test_missing_symbols_are_sorted_and_pointed_at():
    (difference,) = differences(enum("X"), enum("X", "Z", "Y"))
    assert difference.detail == "[Y, Z]"
    assert (difference.reader_pointer, difference.writer_pointer) == (("symbols",), ("symbols", 1))


def test_a_missing_branch_says_why_the_branch_that_is_alike_does_not_do():
    (difference,) = differences(["null", enum("X")], ["null", enum("X", "Y")])
    assert difference.text == (
        "The reader's union [null, enum E] has no branch that reads enum E: "
        "the reader's enum E lacks Y and has no default among its own symbols"
    )


def test_a_missing_branch_says_where_inside_the_branch_it_fails():
    def order(price: Json) -> Json:
        return record(A, field("price", price), name="Order")

    (difference,) = differences(["null", order("int")], ["null", order("string")])
    assert difference.text == (
        "The reader's union [null, record Order] has no branch that reads record Order: "
        "the reader expects int, the writer writes string, at /fields/1/type of it"
    )


def test_unions_inside_unions_say_only_the_innermost_reason():
    def nested(last: Json) -> Json:
        inner: Json = last
        for number in range(20):
            inner = ["null", record(field("x", inner), name=f"N{number}")]
        return inner

    (difference,) = differences(nested("int"), nested("string"))
    assert difference.text == (
        "The reader's union [null, record N19] has no branch that reads record N19: "
        "the reader expects int, the writer writes string, at /fields/0/type of it"
    )


def test_types_that_use_each_other_often_do_not_multiply_differences_without_bound():
    def chain(last: Json) -> Json:
        declared = record(field("x", last), name="N0")
        for number in range(1, 40):
            declared = record(field("l", declared), field("r", f"N{number - 1}"), name=f"N{number}")
        return declared

    assert len(differences(chain("int"), chain("string"))) == MAX_DIFFERENCES


def test_types_nested_beyond_pythons_stack_are_refused():
    def nested() -> AvroSchema:
        node: Any = AvroPrimitive(kind=AvroKind.INT)
        for _ in range(5000):
            node = AvroArray(items=node)
        return AvroSchema("", node, {})

    with pytest.raises(InvalidSchema, match="nested too deep"):
        find_differences(nested(), nested())


def test_every_rule_explains_itself():
    for rule in RULE_BY_ID.values():
        assert rule.sentence.startswith("The reader")
        assert rule.why.endswith(".")
        assert rule.fix.endswith(".")
