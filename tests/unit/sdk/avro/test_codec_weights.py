"""What a small message may cost: values that take no bytes are counted over the whole message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.sdk.errors import DecodeError, IncompatibleReader
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.serde.avro.decode_walk import DecodeWalk
from counterfoil.sdk.serde.avro.numbers import encode_long
from counterfoil.sdk.serde.avro.plan import MAX_EMPTY_ITEMS, WEIGHT_OF_ITEM, RecordStep, steps_of, weight_of
from counterfoil.sdk.serde.avro.resolve import resolve
from strategies.avro.codec_schemas import record, schema_of
from strategies.avro.edits import avro_pairs

pytestmark = pytest.mark.usefixtures("each_tier")

TOO_MANY_ITEMS = "More than 10000 items that take no bytes"
TOO_HEAVY = "Too many defaults and nulls"


def field(name: str, document: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": document, **more}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


MAP_OF_INT = {"type": "map", "values": "int"}
HUNDRED = {str(index): index for index in range(100)}
EMPTY = record(field("a", "null"), name="N")
FIXED_0 = {"type": "fixed", "name": "F", "size": 0}
TWO_DOUBLES = record(field("d", "double"), field("e", "double"))
ONE_BYTE = record(field("b", "boolean"))
NODE = record(field("left", ["null", "Node"]), field("right", ["null", "Node"]), name="Node")
WITH_MAP = field("m", MAP_OF_INT, default=HUNDRED)
DROPPED = record(field("kept", "int"))


def with_field(document: dict[str, Any], *fields: Any) -> dict[str, Any]:
    return {**document, "fields": [*document["fields"], *fields]}


def tree(depth: int) -> bytes:
    return b"\x00\x00" if depth == 0 else b"\x02" + tree(depth - 1) + b"\x02" + tree(depth - 1)


def blocks(count: int, item: bytes) -> bytes:
    return encode_long(count) + item * count + b"\x00"


REFUSED = {
    # writer, reader, data, problem
    "one block of nulls": (array("null"), None, bytes.fromhex("fe887a00"), TOO_MANY_ITEMS),
    "one block of empty records": (array(EMPTY), None, bytes.fromhex("fe887a00"), TOO_MANY_ITEMS),
    "one block of nothing fixed": (array(FIXED_0), None, bytes.fromhex("fe887a00"), TOO_MANY_ITEMS),
    "a default for each": (array(EMPTY), array(with_field(EMPTY, WITH_MAP)), blocks(9_999, b""), TOO_HEAVY),
    "many blocks": (array("null"), None, b"\x28" * 200_000 + b"\x00", TOO_MANY_ITEMS),
    "many blocks with sizes": (array("null"), None, b"\x27\x00" * 200_000 + b"\x00", TOO_MANY_ITEMS),
    "many arrays": (array(array("null")), None, blocks(20_000, b"\x28\x00"), TOO_MANY_ITEMS),
    "many maps": (
        array({"type": "map", "values": array("null")}),
        None,
        blocks(200, b"\x02\x00\xc8\x01\x00\x00"),
        "More",
    ),
    "passed over": (
        record(field("gone", array("null")), field("kept", "int")),
        DROPPED,
        b"\x28" * 200_000 + b"\x00\x02",
        TOO_MANY_ITEMS,
    ),
    "passed over at once": (
        record(field("gone", array(EMPTY)), field("kept", "int")),
        DROPPED,
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x02",
        TOO_MANY_ITEMS,
    ),
    "a map for each byte": (array(ONE_BYTE), array(with_field(ONE_BYTE, WITH_MAP)), blocks(20_000, b"\x01"), TOO_HEAVY),
    "numbers for each byte": (
        array(ONE_BYTE),
        array(with_field(ONE_BYTE, *(field(f"d{index}", "int", default=1) for index in range(100)))),
        blocks(20_000, b"\x01"),
        TOO_HEAVY,
    ),
    "nulls for each byte": (
        array(with_field(ONE_BYTE, *(field(f"n{index}", "null") for index in range(100)))),
        None,
        blocks(20_000, b"\x01"),
        TOO_HEAVY,
    ),
    "in a map": (
        {"type": "map", "values": ONE_BYTE},
        {"type": "map", "values": with_field(ONE_BYTE, WITH_MAP)},
        blocks(20_000, b"\x02x\x01"),
        TOO_HEAVY,
    ),
    "in a union": (
        array(["null", ONE_BYTE]),
        array(["null", with_field(ONE_BYTE, WITH_MAP)]),
        blocks(20_000, b"\x02\x01"),
        TOO_HEAVY,
    ),
    "in a record that contains itself": (NODE, with_field(NODE, WITH_MAP), tree(14), TOO_HEAVY),
    "a chain": (
        record(field("next", ["null", "R"])),
        None,
        b"\x02" * 1_000_000,
        "nested too deeply",
    ),
}
READ = {
    # writer, reader, data, how many items
    "as many nulls as may be": (array("null"), None, blocks(10_000, b""), 10_000),
    "as many empty records": (array(EMPTY), None, b"\x27\x00" * 500 + b"\x00", 10_000),
    "nulls that take a byte": (array(["null", "int"]), None, blocks(100_000, b"\x00"), 100_000),
    "union with a heavy branch that is not there": (
        array(["null", ONE_BYTE]),
        array(["null", with_field(ONE_BYTE, WITH_MAP)]),
        blocks(100_000, b"\x00"),
        100_000,
    ),
    "defaults that bytes outweigh": (
        array(record(field("d", "double"), field("e", "double"))),
        array(
            record(field("d", "double"), field("e", "double"), *(field(f"x{i}", "int", default=i) for i in range(16)))
        ),
        blocks(20_000, b"\x00" * 16),
        20_000,
    ),
    "some defaults": (array(ONE_BYTE), array(with_field(ONE_BYTE, WITH_MAP)), blocks(500, b"\x01"), 500),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_values_that_take_no_bytes_are_limited_over_the_whole_message(case: str) -> None:
    writer, reader, data, problem = REFUSED[case]
    decode = compile_decoder(schema_of(writer), reader and schema_of(reader), whole=True)
    with pytest.raises(DecodeError, match=problem):
        decode(data)


@pytest.mark.parametrize("case", READ)
def test_what_the_bytes_pay_for_is_read(case: str) -> None:
    writer, reader, data, count = READ[case]
    value = compile_decoder(schema_of(writer), reader and schema_of(reader), whole=True)(data)
    assert len(value) == count


def test_the_number_of_items_is_a_setting() -> None:
    schema = schema_of(array("null"))
    assert compile_decoder(schema, max_empty_items=20_000)(blocks(20_000, b"")) == [None] * 20_000
    assert compile_decoder(schema, max_empty_items=0)(b"\x00") == []
    with pytest.raises(DecodeError, match="More than 0 items"):
        compile_decoder(schema, max_empty_items=0)(b"\x02\x00")


@pytest.mark.slow
def test_a_record_that_is_there_once_may_have_any_defaults() -> None:
    many = {str(index): index for index in range(30_000)}
    reader = schema_of(record(field("b", "boolean"), field("m", MAP_OF_INT, default=many)))
    assert len(compile_decoder(schema_of(ONE_BYTE), reader, max_empty_items=0)(b"\x01")["m"]) == 30_000


@pytest.mark.parametrize("data", [b"\x04\x01\x01\x00", b"\x84\x00\x01\x01\x00"], ids=["code", "walk"])
def test_no_two_records_share_a_default_that_can_be_changed(data: bytes) -> None:
    extra = field("x", array(MAP_OF_INT), default=[{"a": 1}])
    decode = compile_decoder(schema_of(array(ONE_BYTE)), schema_of(array(with_field(ONE_BYTE, extra))))
    first, second = decode(data)
    first["x"][0]["a"] = 2
    first["x"].append({})
    assert second["x"] == decode(data)[0]["x"] == [{"a": 1}]


def test_a_field_that_is_passed_over_is_checked_no_further_than_its_end() -> None:
    writer = record(field("gone", array(NODE)), field("n", array(EMPTY)), field("kept", "int"))
    data = b"\x02" + tree(3) + b"\x00" + blocks(3, b"") + b"\x02"
    decode = compile_decoder(schema_of(writer), schema_of(DROPPED), whole=True)
    assert decode(data) == {"kept": 1}
    assert decode(data[:-1] + b"\x82\x00") == {"kept": 1}  # a number longer than it need be: read by the walk
    with pytest.raises(DecodeError, match=r"in gone\b"):
        decode(data[:3])


@given(st.data())
def test_random_bytes_make_no_more_than_their_length_pays_for(data: st.DataObject) -> None:
    writer_text, reader_text = data.draw(avro_pairs())
    body = data.draw(st.binary(max_size=60) | st.lists(st.sampled_from(_TELLING), max_size=60).map(bytes))
    limit = data.draw(st.integers(0, 5))
    writer, reader = parse_avro(writer_text), parse_avro(reader_text)
    try:
        plan = resolve(writer, reader)
    except IncompatibleReader:
        return
    decode = compile_decoder(writer, reader, max_empty_items=limit)
    try:
        value = decode(body)
    except DecodeError:
        return
    once = sum(weight_of(step.defaults) + len(step.targets) for step in steps_of(plan) if isinstance(step, RecordStep))
    assert weight_of(value) <= 8 * (once + 2 * len(body) + limit * (1 + WEIGHT_OF_ITEM)) + 8
    assert repr(DecodeWalk(body, 0, max_empty_items=limit).read(plan)) == repr(value)


_TELLING = [0, 1, 2, 3, 4, 6, 0x28, 0x7F, 0x80, 0xFE, 0xFF]


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(0, 20))
def test_code_and_walk_count_alike(sizes: list[int], limit: int) -> None:
    schema = schema_of(array(array(EMPTY)))
    body = compile_encoder(schema)([[{"a": None}] * size for size in sizes])
    plan, decode = resolve(schema), compile_decoder(schema, max_empty_items=limit)
    for read in (decode, lambda data: DecodeWalk(data, 0, max_empty_items=limit).read(plan)):
        if sum(sizes) <= limit:
            assert [len(inner) for inner in read(body)] == sizes
        else:
            with pytest.raises(DecodeError, match=f"More than {limit} items"):
                read(body)


def test_the_default_is_ten_thousand() -> None:
    assert MAX_EMPTY_ITEMS == 10_000
