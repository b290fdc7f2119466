"""The codec with damaged and hostile data, and with schemas that code generation must survive."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.serde.avro.decode_code import decoder_source
from counterfoil.sdk.serde.avro.encode_code import encoder_source
from counterfoil.sdk.serde.avro.encode_plan import plan_encoding
from counterfoil.sdk.serde.avro.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro.resolve import resolve
from strategies.avro.codec_schemas import fixed, record, schema_of, there_and_back

pytestmark = pytest.mark.usefixtures("each_tier")

HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"  # 2**62 - 1


@pytest.mark.parametrize(
    ("document", "data"),
    [
        ({"type": "array", "items": "null"}, HUGE),
        ({"type": "array", "items": "string"}, HUGE),
        ({"type": "array", "items": fixed(8)}, HUGE),
        ({"type": "array", "items": fixed(0)}, HUGE),
        ({"type": "array", "items": {"type": "array", "items": "null"}}, b"\x80\x01" + b"\x80\x80\x7a\x00" * 64),
        ({"type": "map", "values": "null"}, HUGE),
        ("string", HUGE),
        ("string", b"\x01"),
        ("bytes", b""),
        (["null", "int"], b"\x04"),
        (["null", "int"], b"\x01"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x01"),
        ("boolean", b"\x02"),
        ("long", b"\xff" * 11),
        ("long", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        ("int", b"\x80\x80\x80\x80\x10"),
        ("string", b"\x02\xff"),
        (record({"name": "r", "type": "R"}), b""),
    ],
)
def test_damaged_data_is_refused_at_once(document, data):
    inside = record({"name": "f", "type": document}, name="Outer")
    with pytest.raises(DecodeError) as caught:
        compile_decoder(schema_of(inside))(data)
    assert caught.value.offset is not None
    dropping = parse_avro(json.dumps(record(name="Outer")))
    for whole in (True, False):
        try:
            compile_decoder(schema_of(inside), dropping, whole=whole)(data)
        except DecodeError:
            continue


def test_a_deep_chain_is_an_error_and_no_crash():
    schema = schema_of(record({"name": "next", "type": ["null", "R"]}))
    with pytest.raises(DecodeError, match="nested too deeply"):
        compile_decoder(schema)(b"\x02" * 100_000)


def test_overlong_numbers_are_read():
    schema = schema_of(record({"name": "u", "type": ["null", "int"]}, {"name": "f", "type": "float"}))
    assert compile_decoder(schema, whole=True)(b"\x82\x00\x82\x80\x00\x00\x00\x00\x00") == {"u": 1, "f": 0.0}


def test_blocks_with_sizes_are_read_and_passed_over():
    items = record({"name": "a", "type": {"type": "array", "items": "int"}}, {"name": "b", "type": "int"})
    data = b"\x03\x04\x02\x04\x02\x06\x00\x0a"  # two items in two bytes, one item, the end; then b
    assert compile_decoder(schema_of(items), whole=True)(data) == {"a": [1, 2, 3], "b": 5}
    only_b = schema_of(record({"name": "b", "type": "int"}))
    assert compile_decoder(schema_of(items), only_b, whole=True)(data) == {"b": 5}


def test_empty_items_are_counted_and_not_paid_for():
    schema = schema_of({"type": "array", "items": "null"})
    encode, decode = compile_encoder(schema), compile_decoder(schema, whole=True)
    assert decode(encode([None] * 5000)) == [None] * 5000
    with pytest.raises(DecodeError, match="that take no bytes"):
        decode(encode([None] * 1_000_001))


def test_bytes_behind_the_value_are_ignored_unless_the_whole_is_asked_for():
    schema = schema_of("int")
    assert compile_decoder(schema)(b"\x02\x02") == 1
    with pytest.raises(DecodeError, match="1 byte is left behind the value"):
        compile_decoder(schema, whole=True)(b"\x02\x02")


@pytest.mark.parametrize("data", ["text", None, 7, ["x"]])
def test_data_that_is_no_bytes_is_refused(data):
    with pytest.raises(DecodeError, match="expected bytes"):
        compile_decoder(schema_of("int"))(data)


def test_a_value_decoded_from_other_buffers_is_made_of_bytes():
    schema = schema_of(record({"name": "b", "type": "bytes"}))
    for wrap in (bytes, bytearray, memoryview):
        assert type(compile_decoder(schema)(wrap(b"\x02x"))["b"]) is bytes


def test_schema_text_never_becomes_code():
    evil = "x': __import__('os').abort(), 'y"
    schema = parse_avro(
        json.dumps(
            record(
                {"name": evil, "type": {"type": "enum", "name": "E", "symbols": [evil]}},
                {"name": "q\n\"'\\{}", "type": {"type": "string", "x": evil}, "default": '"\n{evil}'},
                name="N",
                namespace="a'b",
            )
        ),
        validation=Validation.LENIENT,
    )
    value = {evil: evil}
    assert compile_decoder(schema)(compile_encoder(schema)(value)) == {evil: evil, "q\n\"'\\{}": '"\n{evil}'}


# --- shapes of schemas that code generation must survive -----------------------------------------------------------


def test_deeply_nested_schemas_compile():
    document = "int"
    for depth in range(40):
        document = {"type": "array", "items": ["null", document]} if depth % 2 else {"type": "map", "values": document}
    value = 1
    for depth in range(40):
        value = [value, None] if depth % 2 else {"k": value}
    assert there_and_back(document, value) == value


def test_wide_and_branching_schemas_compile_to_code_of_their_own_size():
    document = record(*({"name": f"f{n}", "type": "int"} for n in range(4)), name="R0")
    known = "R0"
    for level in range(1, 25):  # written in place, the innermost record would stand there 2**24 times
        fields = [{"name": "a", "type": document}, {"name": "b", "type": known}]
        document, known = record(*fields, {"name": "c", "type": ["null", known]}, name=f"R{level}"), f"R{level}"
    schema = schema_of(document)
    compile_encoder(schema)
    compile_decoder(schema)


def test_a_record_that_holds_itself_in_many_places_compiles_to_little_code():
    places = [{"name": f"f{n}", "type": ["null", "R", "int", {"type": "array", "items": "R"}]} for n in range(8)]
    root = schema_of(record(*places)).root
    plan = resolve(schema_of(record(*places)))
    for source in (
        encoder_source(plan_encoding(root, strict=False), EncodeWalk(strict=False).choose),
        decoder_source(plan, whole=False),
    ):
        assert source.size < 500


def test_a_record_of_many_fields():
    fields = [{"name": f"f{n}", "type": ["string", "int", "double", "boolean"][n % 4]} for n in range(600)]
    value = {f"f{n}": ["x", n, n / 2, n % 8 == 3][n % 4] for n in range(600)}
    assert there_and_back(record(*fields), value) == value


def test_unions_and_enums_of_more_than_one_byte():
    symbols = [f"S{n}" for n in range(300)]
    branches = [record({"name": "v", "type": "int"}, name=f"B{n}") for n in range(150)]
    schema = schema_of(
        record(
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": symbols}}, {"name": "u", "type": branches}
        )
    )
    value = {"e": "S299", "u": ("B149", {"v": 1})}
    assert compile_decoder(schema)(compile_encoder(schema)(value)) == {"e": "S299", "u": {"v": 1}}


def test_recursive_types_that_call_one_another():
    leaf = record({"name": "tree", "type": ["null", "Tree"]}, name="Leaf")
    document = record({"name": "leaves", "type": {"type": "array", "items": leaf}}, name="Tree")
    value = {"leaves": [{"tree": None}, {"tree": {"leaves": [{"tree": None}]}}]}
    assert there_and_back(document, value) == value


def test_strings_and_sizes_around_the_edges_of_the_tables():
    schema = schema_of({"type": "array", "items": "string"})
    for size in (0, 1, 63, 64, 127, 128, 2047, 2048, 8191, 8192, 1_100_000):
        value = ["x" * size]
        assert compile_decoder(schema, whole=True)(compile_encoder(schema)(value)) == value


def test_longs_around_every_power_of_two():
    schema = schema_of({"type": "array", "items": "long"})
    near = [sign * (2**bits) + delta for bits in range(64) for sign in (1, -1) for delta in (-1, 0, 1)]
    value = [number for number in near if -(2**63) <= number < 2**63]
    assert compile_decoder(schema, whole=True)(compile_encoder(schema)(value)) == value
