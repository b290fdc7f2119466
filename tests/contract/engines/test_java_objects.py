"""The engine ``java`` for Avro schemas that only objects can convert: unions of records, recursion, earlier writers."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.schema.languages.avro.types import AvroRecord
from counterfoil.schema.wire import frame
from counterfoil.sdk.errors import IncompatibleReader
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.serde.avro.numbers import encode_long
from strategies.avro.bytes import Endless, avro_bytes
from strategies.avro.seeded import seeded_pairs
from strategies.avro.unions import Unions, branched, changed
from strategies.engines.cases import record
from strategies.engines.conversions import SOURCE_ID, TARGET_ID, avro, broken, conversion_of, covers, schema
from strategies.engines.java import check

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.parsed import ParsedSchema
    from strategies.engines.java import Convert

EARLIER_ID = 6


@given(seed=st.integers(0, 2**32))
def test_java_is_the_reference_for_random_avro_schemas(seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    for texts in seeded_pairs(seed, 3):
        source, other = (avro(json.loads(text)) for text in texts)
        for target in (source, other):
            if (
                not isinstance(source.root, AvroRecord)
                or not isinstance(target.root, AvroRecord)
                or not is_writable(target)
            ):
                continue
            conversion = conversion_of(source, target)
            if conversion is not None:
                writers = {SOURCE_ID: source} | ({EARLIER_ID: other} if is_readable(other, source) else {})
                check_random_avro(rng, Conversion(conversion.plan, writers, TARGET_ID), convert)


def check_random_avro(rng: random.Random, conversion: Conversion, convert: Convert) -> None:
    with suppress(Endless):
        wholes = [
            frame(schema_id, avro_bytes(rng, writer.root))  # type: ignore[attr-defined]  # the writers are Avro schemas
            for schema_id, writer in conversion.writer_by_id.items()
            for _ in range(3)
        ]
        if covers(conversion):
            check(conversion, [each for whole in wholes for each in (whole, broken(rng, whole))], convert)


@given(seed=st.integers(0, 2**32))
def test_java_keeps_the_branch_of_every_value(seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    source = Unions(rng).root()
    target, namespaces = changed(rng, source)
    conversion = conversion_of(avro(source), avro(target))
    if conversion is None:
        return
    wholes = [avro_bytes(rng, conversion.writer_by_id[SOURCE_ID].root) for _ in range(4)]  # type: ignore[attr-defined]  # an Avro schema
    values = [frame(SOURCE_ID, each) for each in wholes]
    answers = check(conversion, [*values, *(broken(rng, each) for each in values)], convert)
    for whole, (made, _) in zip(wholes, answers, strict=False):
        assert made is not None
        assert branched(target, made[5:]) == branched(source, whole, namespaces)


def test_java_converts_unions_at_the_top(convert: Convert) -> None:
    cash, card = (record(("x", "int"), name=name) for name in ("Cash", "Card"))
    source = [cash, "null", card, "long", "int", "bytes"]
    target = ["int", "bytes", record(("x", "long"), name="Card"), cash, "null", "long"]
    bodies = [b"\x00\x06", b"\x02", b"\x04\x06", b"\x06\x06", b"\x08\x06", b"\x0a\x02q"]
    values = [frame(SOURCE_ID, body) for body in bodies]
    assert [value[5:] for value, _ in check(avro_conversion(source, source), values, convert) if value] == bodies
    made = [value[5:] for value, _ in check(avro_conversion(source, target), values, convert) if value]
    assert made == [b"\x06\x06", b"\x08", b"\x04\x06", b"\x0a\x06", b"\x00\x06", b"\x02\x02q"]


def test_java_makes_oneofs_of_unions_and_unions_of_oneofs(convert: Convert) -> None:
    cash, card = (record(("x", "int"), name=name) for name in ("Cash", "Card"))
    union = avro(record(("u", ["null", cash, card, "long", "int", "string"])))
    fields = "Card card = 1; Cash cash = 2; int32 i = 3; int64 l = 4; string s = 5;"
    oneof = schema(
        f'syntax = "proto3"; message R {{ oneof u {{ {fields} }} }} message Card {{ int32 x = 1; }} '
        "message Cash { int32 x = 1; }"
    )
    there, back = conversion_of(union, oneof), conversion_of(oneof, union)
    assert there is not None
    assert back is not None
    bodies = [b"\x00", b"\x02\x06", b"\x04\x06", b"\x06\x06", b"\x08\x06", b"\x0a\x02q"]
    made = check(there, [frame(SOURCE_ID, body) for body in bodies], convert)
    answers = check(back, [frame(SOURCE_ID, value[5:]) for value, _ in made if value is not None], convert)
    assert [value and value[5:] for value, _ in answers] == bodies


def test_java_has_points_in_time_of_the_years_1_to_9999(convert: Convert) -> None:
    proto = schema(
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message R { google.protobuf.Timestamp at = 1; }'
    )
    texts = ["9999-12-31 12:00:00.123456", "0001-01-01 00:00:00.000000", "2024-05-01 00:00:00.000001"]
    rule = {"parse": "at", "as": "yyyy-MM-dd HH:mm:ss.SSSSSS", "zone": "Europe/Paris"}
    parsed = conversion_of(avro(record(("at", "string"))), proto, {"at": rule})
    assert parsed is not None
    answers = check(parsed, [frame(SOURCE_ID, encode_long(len(text)) + text.encode()) for text in texts], convert)
    assert [failure and failure[0] for _, failure in answers] == [None, "out-of-range", None]
    for unit, ticks in (("millis", 10**3), ("micros", 10**6)):
        other = avro(record(("at", {"type": "long", "logicalType": f"timestamp-{unit}"})))
        first, last = -62_135_596_800 * ticks, 253_402_300_800 * ticks - 1
        there, back = conversion_of(other, proto), conversion_of(proto, other)
        assert there is not None
        assert back is not None
        numbers = [first - 1, first, -1, 0, 1, last, last + 1, 2**63 - 1, -(2**63)]
        answers = check(there, [frame(SOURCE_ID, encode_long(number)) for number in numbers], convert)
        assert [number for number, (made, _) in zip(numbers, answers, strict=True) if made] == [first, -1, 0, 1, last]
        check(back, [frame(SOURCE_ID, made[5:]) for made, _ in answers if made is not None], convert)


def is_writable(target: AvroSchema) -> bool:
    try:
        compile_encoder(target)
    except RecursionError:  # a record whose default contains the record
        return False
    return True


def is_readable(writer: AvroSchema, source: AvroSchema) -> bool:
    try:
        compile_decoder(writer, source)
    except IncompatibleReader:
        return False
    return True


LEFT, RIGHT = record(("x", "int"), ("y", "string"), name="Left"), record(("z", "long"), name="Right")
TREE = record(("value", "int"), ("kids", {"type": "array", "items": "Tree"}), ("next", ["null", "Tree"]), name="Tree")


def avro_conversion(source: Any, target: Any, *earlier: Any) -> Conversion:
    """The plan between Avro schemas, with the schema of an earlier writer."""
    made = conversion_of(avro(source), avro(target))
    assert made is not None
    writers = dict(zip((SOURCE_ID, EARLIER_ID), map(avro, (source, *earlier)), strict=False))
    return Conversion(made.plan, writers, TARGET_ID)


ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}


@pytest.mark.parametrize(
    ("source", "target", "values"),
    [
        (avro("string"), avro("string"), [b"\x04ab", b"\x00", b"\x02\xff"]),
        (avro("bytes"), avro("bytes"), [b"\x04a\xff", b""]),
        (avro("string"), avro("bytes"), [b"\x04ab"]),
        (avro("int"), avro("double"), [b"\x02", b"\xfe\xff\xff\xff\x0f"]),
        (avro(ENUM), avro("string"), [b"\x02", b"\x04"]),
        (avro("string"), schema({"type": "string", "maxLength": 1}), [b"\x02a", b"\x04ab"]),
        (schema({"type": "string"}), avro("string"), [b'"a\\u00e9"', b"null", b"1", b'{"a":1}']),
        (schema({"type": "integer"}), avro("long"), [b"7", b"7.5", b"1e400", b" 7 "]),
    ],
)
def test_values_without_parts_are_converted_as_a_whole(
    source: ParsedSchema, target: ParsedSchema, values: list[bytes], convert: Convert
) -> None:
    conversion, rng = conversion_of(source, target), random.Random(1)
    assert conversion is not None
    framed = [frame(SOURCE_ID, value) for value in values]
    made = check(conversion, [*framed, *(broken(rng, each) for each in framed * 20)], convert)
    assert made[0][1] is None


def test_a_whole_number_of_an_earlier_version_is_rounded_without_a_record(convert: Convert) -> None:
    conversion = avro_conversion("float", "double", "long")
    check(conversion, [frame(EARLIER_ID, encode_long(number)) for number in (1, 2**24 + 1, 2**62 + 1)], convert)


@pytest.mark.parametrize("node", [["null", LEFT, RIGHT, "string"], {"type": "map", "values": [RIGHT, LEFT, "int"]}])
def test_unions_of_records_are_copied_in_any_order_of_their_fields(node: Any, convert: Convert) -> None:
    other = json.loads(json.dumps(node).replace(json.dumps(LEFT["fields"]), json.dumps(LEFT["fields"][::-1])))
    conversion = avro_conversion(record(("u", node), ("i", "int")), record(("i", "long"), ("u", other)))
    rng = random.Random(7)
    wholes = [frame(SOURCE_ID, avro_bytes(rng, conversion.writer_by_id[SOURCE_ID].root)) for _ in range(40)]  # type: ignore[attr-defined]  # an Avro schema
    answers = check(conversion, wholes, convert)
    assert all(value is not None for value, _ in answers)


def test_a_record_becomes_one_of_several_records_also_from_another_language(convert: Convert) -> None:
    target = avro(record(("u", ["null", LEFT, RIGHT])))
    sources = [
        (avro(record(("u", LEFT))), b"\x06\x02q"),
        (
            schema('syntax = "proto3"; message R { message Left { int32 x = 1; string y = 2; } Left u = 1; }'),
            b"\x00\x0a\x05\x08\x03\x12\x01q",
        ),
    ]
    for source, body in sources:
        conversion = conversion_of(source, target)
        assert conversion is not None
        ((value, _),) = check(conversion, [frame(SOURCE_ID, body)], convert)
        assert value == frame(TARGET_ID, b"\x02\x06\x02q")


def test_records_that_contain_themselves_are_copied_and_end(convert: Convert) -> None:
    conversion = avro_conversion(record(("t", TREE), ("i", "int")), record(("i", "int"), ("t", TREE)))

    def nested(depth: int) -> bytes:
        return frame(SOURCE_ID, b"\x02\x00\x02" * depth + b"\x04\x00\x00" + b"\x0e")

    answers = check(conversion, [nested(depth) for depth in (0, 1, 100)] + [nested(3)[:-2]], convert)
    assert [value is not None for value, _ in answers] == [True, True, True, False]
    ((value, failure),) = convert(conversion, [nested(1_000_000)])
    assert (value, failure) == (None, ("undecodable", ""))


def test_earlier_writers_are_resolved_as_by_the_codec(convert: Convert) -> None:
    source = record(
        ("u", ["null", LEFT, RIGHT, "string"]),
        ("f", "float"),
        ("d", ["double", "string"]),
        {"name": "colour", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "B"}},
        {"name": "renamed", "type": "long", "aliases": ["was"]},
        ("added", {"type": "array", "items": "Left"}, [{"x": 7, "y": "é"}]),
    )
    earlier = record(
        ("was", "int"),
        ("u", ["int", "string", RIGHT]),
        ("gone", {"type": "map", "values": ["null", TREE]}),
        ("d", "int"),
        ("colour", {"type": "enum", "name": "E", "symbols": ["C", "A"]}),
        ("f", "int"),
    )
    conversion = avro_conversion(source, source, earlier)
    rng = random.Random(11)
    wholes = [frame(EARLIER_ID, avro_bytes(rng, avro(earlier).root)) for _ in range(60)]
    answers = check(conversion, [each for whole in wholes for each in (whole, broken(rng, whole))], convert)
    assert sum(value is not None for value, _ in answers) > 20
    assert {"undecodable", "trailing-bytes"} <= {failure[0] for _, failure in answers if failure}


def test_values_that_several_branches_take_keep_their_branch(convert: Convert) -> None:
    fixed = [{"type": "fixed", "name": name, "size": 2} for name in "XY"]
    enums = [{"type": "enum", "name": name, "symbols": ["A", f"B{name}"]} for name in "EF"]
    sides = [record(("x", "int"), name=name) for name in ("Left", "Right")]
    node = [*fixed, *enums, "int", "float", "long", *sides, {"type": "map", "values": "int"}]
    conversion = avro_conversion(record(("u", node)), record(("u", node)))
    bodies = [
        b"ab",
        b"ab",
        b"\x00",
        b"\x02",
        b"\x06",
        b"\x00\x00\x80\x3f",
        b"\x06",
        b"\x02",
        b"\x02",
        b"\x02\x02x\x04\x00",
    ]
    values = [frame(SOURCE_ID, encode_long(index) + body) for index, body in enumerate(bodies)]
    values.append(frame(SOURCE_ID, encode_long(6) + encode_long(2**40)))
    answers = check(conversion, values, convert)
    assert [value and value[5:] for value, _ in answers] == [value[5:] for value in values]
