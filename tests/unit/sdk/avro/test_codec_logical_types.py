"""What the codec makes of logical types: dates, times, decimals, durations, UUIDs."""

from __future__ import annotations

import datetime as dt
from collections import UserDict
from decimal import Decimal
from uuid import UUID

import pytest

from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.serde.avro.logical_types import EPOCH, LOCAL_EPOCH
from counterfoil.sdk.serde.avro.numbers import Duration
from strategies.avro.codec_schemas import fixed, logical, record, schema_of, there_and_back

pytestmark = pytest.mark.usefixtures("each_tier")

UTC = dt.UTC
INSTANT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
LOCAL = INSTANT.replace(tzinfo=None)
IDENTITY = UUID("89791762-2336-4186-9674-299b90a802e2")


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
