"""What the codec takes and gives: unions, defaults, and what it refuses."""

from __future__ import annotations

import datetime as dt
import enum
import math
from collections import OrderedDict, UserDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import pytest

from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from strategies.avro.codec_schemas import fixed, logical, record, schema_of, there_and_back

pytestmark = pytest.mark.usefixtures("each_tier")

INSTANT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=dt.UTC)


# --- what is refused, and where ------------------------------------------------------------------------------


class Colour(enum.StrEnum):
    RED = "RED"


class Count(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("null", 0),
        ("boolean", 1),
        ("boolean", "true"),
        ("int", True),
        ("int", 1.0),
        ("int", 2**31),
        ("int", -(2**31) - 1),
        ("int", "1"),
        ("long", 2**63),
        ("long", Decimal(1)),
        ("long", math.nan),
        ("float", 1e39),
        ("float", True),
        ("float", "1.5"),
        ("float", 10**400),
        ("double", Decimal("1.5")),
        ("double", None),
        ("bytes", "text"),
        ("bytes", 3),
        ("string", b"bytes"),
        ("string", 1),
        ("string", "\ud800"),
        (fixed(4), b"123"),
        (fixed(4), b"12345"),
        (fixed(4), "1234"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, 0),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, ["A"]),
        ({"type": "array", "items": "int"}, "abc"),
        ({"type": "array", "items": "int"}, b"abc"),
        ({"type": "array", "items": "int"}, {"a": 1}),
        ({"type": "array", "items": "int"}, {1}),
        ({"type": "array", "items": "int"}, 3),
        ({"type": "map", "values": "int"}, [("a", 1)]),
        ({"type": "map", "values": "int"}, {1: 1}),
        (["null", "int"], "x"),
        (["null", "int"], 2**31),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_path(type_, value):
    for document in (type_, record({"name": "f", "type": type_})):
        schema = schema_of(document)
        is_inside = document is not type_
        with pytest.raises(EncodeError) as caught:
            compile_encoder(schema)({"f": value} if is_inside else value)
        assert caught.value.path.startswith("f" if is_inside else "")
        assert caught.value.expected
        assert caught.value.got


@pytest.mark.parametrize(
    ("type_", "value", "again"),
    [
        ("int", Count.ONE, 1),
        ("double", 3, 3.0),
        ("float", 2**24, float(2**24)),
        ("double", Fraction(1, 2), 0.5),
        ("string", Colour.RED, "RED"),
        ({"type": "enum", "name": "E", "symbols": ["RED"]}, Colour.RED, "RED"),
        ("bytes", bytearray(b"ab"), b"ab"),
        ("bytes", memoryview(b"ab"), b"ab"),
        (fixed(2), bytearray(b"ab"), b"ab"),
        ({"type": "array", "items": "int"}, (1, 2), [1, 2]),
        ({"type": "array", "items": "int"}, range(3), [0, 1, 2]),
        ({"type": "map", "values": "int"}, OrderedDict(a=1), {"a": 1}),
        ({"type": "map", "values": "int"}, UserDict(a=1), {"a": 1}),
        (record({"name": "a", "type": "int"}), MappingProxyType({"a": 1}), {"a": 1}),
    ],
)
def test_kin_of_pythons_types_are_taken(type_, value, again):
    assert there_and_back({"type": "array", "items": type_}, [value]) == [again]


def test_the_path_leads_through_records_arrays_and_maps():
    inner = record({"name": "lat", "type": "double"}, {"name": "by", "type": "string", "default": "x"}, name="P")
    schema = schema_of(record({"name": "days", "type": {"type": "map", "values": {"type": "array", "items": inner}}}))
    with pytest.raises(EncodeError) as caught:
        compile_encoder(schema)({"days": {"mon": [{"lat": 1.0}, {"lat": "x"}]}})
    assert caught.value.path == "days['mon'][1].lat"
    data = compile_encoder(schema)({"days": {"mon": [{"lat": 1.0}, {"lat": 2.0}]}})
    with pytest.raises(DecodeError, match="not UTF-8") as read:
        compile_decoder(schema)(data[:-3] + b"\xff" + data[-2:])
    assert (read.value.path, read.value.offset) == ("days['mon'][1].by", len(data) - 3)


def test_a_missing_field_is_its_default_and_without_one_an_error():
    schema = schema_of(
        record(
            {"name": "a", "type": "int", "default": 7},
            {"name": "b", "type": ["null", "int"]},
            {"name": "raw", "type": "bytes", "default": "\u00ff\u0001"},
            {"name": "day", "type": logical("int", "date"), "default": 1},
        )
    )
    encode, decode = compile_encoder(schema), compile_decoder(schema)
    assert decode(encode({"b": None})) == {"a": 7, "b": None, "raw": b"\xff\x01", "day": dt.date(1970, 1, 2)}
    with pytest.raises(EncodeError, match="since the field has no default; got nothing") as caught:
        encode({"zzz": 1})
    assert caught.value.path == "b"


def test_a_defaultdict_makes_up_no_fields():
    schema = schema_of(record({"name": "a", "type": "int"}))
    with pytest.raises(EncodeError, match="got nothing"):
        compile_encoder(schema)(defaultdict(int))


def test_keys_that_are_no_fields_are_ignored_unless_strict():
    schema = schema_of(record({"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 2}))
    assert compile_encoder(schema)({"a": 1, "b": 2, "c": 3}) == b"\x02\x04"
    for value in ({"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 3}):
        with pytest.raises(EncodeError, match="only fields of R; got 'c'"):
            compile_encoder(schema, strict=True)(value)
    assert compile_encoder(schema, strict=True)({"a": 1}) == b"\x02\x04"


def test_a_value_inside_itself_is_refused():
    schema = schema_of(record({"name": "next", "type": ["null", "R"]}))
    loop = {}
    loop["next"] = loop
    with pytest.raises(EncodeError, match="nested less deeply"):
        compile_encoder(schema)(loop)


# --- unions --------------------------------------------------------------------------------------------------

CAT = record({"name": "name", "type": "string"}, {"name": "lives", "type": "int", "default": 9}, name="Cat")
DOG = record({"name": "name", "type": "string"}, {"name": "tricks", "type": "int", "default": 0}, name="Dog")


@pytest.mark.parametrize(
    ("union", "value", "index"),
    [
        (["int", "long"], 1, 0),
        (["int", "long"], 2**40, 1),
        (["long", "double"], 2**70, 1),
        (["float", "double"], 1.5, 1),
        (["float", "double"], 1, 1),
        (["string", {"type": "enum", "name": "E", "symbols": ["A"]}], "A", 0),
        ([{"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "enum", "name": "G", "symbols": ["B"]}], "B", 1),
        (["null", "boolean", "int"], True, 1),
        (["null", "boolean", "int"], 1, 2),
        (["int", logical("long", "timestamp-millis")], 5, 0),
        (["int", logical("long", "timestamp-micros")], INSTANT, 1),
        ([logical("int", "date"), logical("long", "timestamp-micros")], INSTANT, 1),
        ([logical("int", "date"), logical("long", "timestamp-millis")], dt.date(2024, 1, 1), 0),
        (["bytes", fixed(4)], b"1234", 0),
        ([fixed(4), fixed(8, name="G")], b"12345678", 1),
        (["string", logical("bytes", "decimal", precision=4)], Decimal(5), 1),
        ([CAT, DOG], {"name": "Tom", "lives": 8}, 0),
        ([CAT, DOG], {"name": "Rex", "tricks": 1}, 1),
        ([CAT, DOG], {"name": "Rex", "tricks": 1, "owner": "Ann"}, 1),
        ([CAT, {"type": "map", "values": "int"}], {"x": 1}, 1),
        (["null", {"type": "array", "items": "string"}], ("Cat", "x"), 1),
    ],
)
def test_a_value_goes_to_the_branch_of_its_type(union, value, index):
    schema = schema_of(record({"name": "u", "type": union}))
    assert compile_encoder(schema)({"u": value})[0] == 2 * index


@pytest.mark.parametrize(
    ("union", "value", "names"),
    [
        ([CAT, DOG], {"name": "Rex"}, "Cat and Dog"),
        ([fixed(4), fixed(4, name="G")], b"1234", "F and G"),
        ([record({"name": "a", "type": "int"}), {"type": "map", "values": "int"}], {"a": 1}, "R and map"),
    ],
)
def test_an_ambiguous_value_is_refused_and_the_candidates_are_named(union, value, names):
    with pytest.raises(EncodeError, match=names) as caught:
        compile_encoder(schema_of(union))(value)
    assert 'say which, as in ("' in str(caught.value)


@pytest.mark.parametrize("hinted", [("Dog", {"name": "Rex"}), {"-type": "Dog", "name": "Rex"}])
def test_a_hint_says_which(hinted):
    for union in ([CAT, DOG], ["null", DOG]):
        schema = schema_of(union)
        assert compile_decoder(schema)(compile_encoder(schema)(hinted)) == {"name": "Rex", "tricks": 0}


def test_a_hint_that_names_no_branch_is_refused():
    with pytest.raises(EncodeError, match="the name of a branch"):
        compile_encoder(schema_of([CAT, DOG]))(("Cow", {"name": "Elsa"}))


def test_what_was_read_goes_back_to_the_same_branch():
    schema = schema_of([CAT, DOG])
    encode, decode = compile_encoder(schema), compile_decoder(schema)
    for name in ("Cat", "Dog"):
        data = encode((name, {"name": "x"}))
        assert encode(decode(data)) == data


def test_a_long_chain_through_an_ambiguous_union_ends_quickly():
    left = record({"name": "next", "type": ["null", "Left", "Right"]}, name="Left")
    right = record({"name": "next", "type": ["null", "Left", "Right"]}, name="Right")
    left["fields"][0]["type"][2] = right
    value = {"next": None}
    for _ in range(60):
        value = {"next": value}
    with pytest.raises(EncodeError, match="Left and Right"):
        compile_encoder(schema_of(left))(value)
