"""What the codec takes and gives: logical types, unions, defaults, and what it refuses."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
from collections import OrderedDict, UserDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from uuid import UUID

import pytest

from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.avro_codec import compile_decoder, compile_encoder
from counterfoil.sdk.serde.avro_codec.decode_code import decoder_source
from counterfoil.sdk.serde.avro_codec.duration import Duration
from counterfoil.sdk.serde.avro_codec.encode_code import encoder_source
from counterfoil.sdk.serde.avro_codec.encode_plan import plan_encoding
from counterfoil.sdk.serde.avro_codec.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro_codec.logical import EPOCH, LOCAL_EPOCH
from counterfoil.sdk.serde.avro_codec.resolve import resolve

pytestmark = pytest.mark.usefixtures("each_tier")

UTC = dt.UTC
INSTANT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
LOCAL = INSTANT.replace(tzinfo=None)
IDENTITY = UUID("89791762-2336-4186-9674-299b90a802e2")


def schema_of(document):
    return parse_avro(json.dumps(document))


def logical(base, name, **more):
    return {"type": base, "logicalType": name, **more}


def record(*fields, name="R", **more):
    return {"type": "record", "name": name, "fields": list(fields), **more}


def there_and_back(document, value):
    schema = schema_of(document)
    return compile_decoder(schema, whole=True)(compile_encoder(schema)(value))


def fixed(size, name="F", **more):
    return {"type": "fixed", "name": name, "size": size, **more}


# --- logical types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "value"),
    [
        (logical("int", "date"), dt.date(1, 1, 1)),
        (logical("int", "date"), dt.date(9999, 12, 31)),
        (logical("int", "time-millis"), dt.time(23, 59, 59, 999000)),
        (logical("long", "time-micros"), dt.time(23, 59, 59, 999999)),
        (logical("long", "timestamp-millis"), INSTANT.replace(microsecond=123000)),
        (logical("long", "timestamp-micros"), INSTANT),
        (logical("long", "timestamp-micros"), dt.datetime(1, 1, 1, tzinfo=UTC)),
        (logical("long", "timestamp-micros"), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        (logical("long", "local-timestamp-millis"), LOCAL.replace(microsecond=123000)),
        (logical("long", "local-timestamp-micros"), LOCAL),
        (logical("long", "timestamp-nanos"), 1_709_209_815_123_456_789),
        (logical("string", "uuid"), IDENTITY),
        (logical("bytes", "decimal", precision=9, scale=2), Decimal("-1234567.89")),
        (logical("bytes", "decimal", precision=60, scale=30), Decimal(1).scaleb(-30)),
        (fixed(8, logicalType="decimal", precision=18, scale=0), Decimal(-(10**17))),
        (fixed(16, logicalType="uuid"), IDENTITY),
        (fixed(12, logicalType="duration"), Duration(months=0, days=2**32 - 1, millis=1)),
        (logical("bytes", "big-decimal"), Decimal("-1234567.8900")),
        (logical("bytes", "big-decimal"), Decimal("12E+40")),
        (logical("bytes", "big-decimal"), Decimal(0)),
        (logical("bytes", "big-decimal"), Decimal("7E-2147483647")),
    ],
)
def test_logical_types_round_trip(document, value):
    again = there_and_back(document, value)
    assert (again, type(again)) == (value, type(value))


def test_a_duration_is_written_from_its_bytes_too_and_nothing_else():
    assert there_and_back(fixed(12, logicalType="duration"), bytes(range(12))) == Duration.from_bytes(bytes(range(12)))
    schema = schema_of(record({"name": "took", "type": fixed(12, logicalType="duration")}))
    for value in (dt.timedelta(days=1), b"short", 7):
        with pytest.raises(EncodeError) as caught:
            compile_encoder(schema)({"took": value})
        assert caught.value.path == "took"
    for months in (-1, 2**32, 1.0, True):
        with pytest.raises(ValueError, match="months"):
            Duration(months=months)


def test_a_big_decimal_has_its_own_scale_in_the_message():
    schema = schema_of(logical("bytes", "big-decimal"))  # at the top level without its length
    assert compile_encoder(schema)(Decimal("-1.05")).hex(" ") == "02 97 04"  # the number -105 and the scale 2
    assert compile_decoder(schema)(bytes.fromhex("02 97 04")).as_tuple() == Decimal("-1.05").as_tuple()
    inside = schema_of(record({"name": "n", "type": logical("bytes", "big-decimal")}))
    for value in (Decimal("NaN"), Decimal("-Infinity"), Decimal("1E+3000000000"), Decimal(1 << 8192), 1.5, 1, "1"):
        with pytest.raises(EncodeError) as caught:
            compile_encoder(inside)({"n": value})
        assert caught.value.path == "n"


@pytest.mark.parametrize("body", ["", "02", "02 97", "04 97 04", "02 97 04 00", "03", "02 97 80 80 80 80 20", "fe 40"])
def test_bytes_that_are_no_big_decimal_are_refused(body):
    schema = schema_of(record({"name": "n", "type": logical("bytes", "big-decimal")}))
    raw = bytes.fromhex(body)
    with pytest.raises(DecodeError, match="cannot be read as Decimal") as caught:
        compile_decoder(schema)(bytes([2 * len(raw)]) + raw)
    assert caught.value.path == "n"


@pytest.mark.parametrize("zone", ["", "local-"])
def test_nanoseconds_and_other_units_are_the_same_instant(zone):
    def read(writer, reader, number):
        schemas = [
            schema_of(record({"name": "at", "type": logical("long", f"{zone}timestamp-{unit}")}))
            for unit in (writer, reader)
        ]
        return compile_decoder(*schemas)(compile_encoder(schemas[0])({"at": number}))["at"]

    instant = LOCAL if zone else INSTANT
    nanos = 1_709_209_815_123_456_789
    assert read("nanos", "nanos", nanos) == nanos
    assert read("nanos", "micros", nanos) == instant  # rounded down
    assert read("nanos", "millis", nanos) == instant
    assert read("micros", "nanos", nanos // 1000) == nanos // 1000 * 1000
    assert read("millis", "nanos", nanos // 10**6) == nanos // 10**6 * 10**6
    assert read("nanos", "micros", -1) == (LOCAL_EPOCH if zone else EPOCH) - dt.timedelta(microseconds=1)


def test_a_datetime_is_written_as_nanoseconds_in_a_union_too():
    for branches in (["null", logical("long", "timestamp-nanos")], [logical("long", "timestamp-nanos"), "string"]):
        document = record({"name": "at", "type": branches}, {"name": "n", "type": "long", "default": 1})
        assert there_and_back(document, UserDict(at=INSTANT)) == {"at": 1_709_209_815_123_456_000, "n": 1}


def test_an_instant_is_the_same_in_every_zone():
    zone = dt.timezone(dt.timedelta(hours=5, minutes=30))
    again = there_and_back(logical("long", "timestamp-micros"), INSTANT.astimezone(zone))
    assert (again, again.tzinfo) == (INSTANT, UTC)


def test_a_naive_datetime_is_local_time():
    schema = schema_of(logical("long", "timestamp-micros"))
    assert compile_decoder(schema)(compile_encoder(schema)(LOCAL)) == LOCAL.astimezone(UTC)


def test_numbers_stand_for_dates_and_times_as_they_are_on_the_wire():
    assert there_and_back(logical("int", "date"), 1) == dt.date(1970, 1, 2)
    assert there_and_back(logical("int", "date"), "2024-02-29") == dt.date(2024, 2, 29)
    assert there_and_back(logical("long", "timestamp-millis"), 1) == dt.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)
    assert there_and_back(logical("long", "timestamp-nanos"), INSTANT) == 1_709_209_815_123_456_000
    assert there_and_back(logical("string", "uuid"), str(IDENTITY).upper()) == IDENTITY


@pytest.mark.parametrize("name", ["timestamp-millis", "timestamp-micros", "local-timestamp-micros", "timestamp-nanos"])
@pytest.mark.parametrize("value", [1_709_209_815.5, 1.0, True, "2024-02-29", dt.date(2024, 2, 29), None])
def test_no_instant_is_guessed_from_another_kind_of_value(name, value):
    schema = schema_of(record({"name": "at", "type": logical("long", name)}))
    with pytest.raises(EncodeError) as caught:
        compile_encoder(schema)({"at": value})
    assert caught.value.path == "at"


@pytest.mark.parametrize(
    ("precision", "scale", "value"),
    [
        (4, 2, Decimal("1.005")),
        (4, 2, Decimal("100.00")),
        (4, 0, Decimal("NaN")),
        (4, 0, Decimal("Infinity")),
        (4, 2, 1.5),
        (4, 2, 1),
        (4, 2, "1.50"),
    ],
)
def test_a_decimal_is_neither_rounded_nor_cut(precision, scale, value):
    for base in ("bytes", {"type": "fixed", "name": "F", "size": 8}):
        document = logical(base, "decimal", precision=precision, scale=scale)
        if base != "bytes":
            document = {**base, "logicalType": "decimal", "precision": precision, "scale": scale}
        with pytest.raises(EncodeError, match=f"at most {precision} digits, {scale} of them after the point"):
            compile_encoder(schema_of(document))(value)


def test_a_decimal_may_be_written_with_fewer_or_more_zeros():
    document = logical("bytes", "decimal", precision=6, scale=2)
    assert there_and_back(document, Decimal("1.5")) == Decimal("1.50")
    assert there_and_back(document, Decimal("1.500")) == Decimal("1.50")
    assert str(there_and_back(document, Decimal("1E+2"))) == "100.00"


def test_a_decimal_longer_than_its_precision_can_need_is_damage():
    schema = schema_of(logical("bytes", "decimal", precision=4))
    inside = schema_of(record({"name": "d", "type": logical("bytes", "decimal", precision=4)}))
    with pytest.raises(DecodeError, match="its precision needs no more than"):
        compile_decoder(schema)(b"\x01" * 1000)
    with pytest.raises(DecodeError, match="its precision needs no more than"):
        compile_decoder(inside)(b"\xd0\x0f" + b"\x01" * 1000)


@pytest.mark.parametrize(
    ("document", "data"),
    [
        (logical("long", "timestamp-micros"), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        (logical("int", "date"), b"\xfe\xff\xff\xff\x0f"),
        (logical("int", "time-millis"), b"\x01"),
        (logical("long", "time-micros"), b"\x80\xc0\xcb\xac\xf6\x06"),
        (logical("string", "uuid"), b"\x08nope"),
    ],
)
def test_what_python_has_no_value_for_is_a_decode_error(document, data):
    with pytest.raises(DecodeError, match="cannot be read as"):
        compile_decoder(schema_of(document))(data)


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
        (["int", logical("long", "timestamp-millis")], INSTANT, 1),
        ([logical("int", "date"), logical("long", "timestamp-millis")], INSTANT, 1),
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


# --- damage and malice -----------------------------------------------------------------------------------------

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
