"""What is written is what was given: a value of which a type holds only a part is refused, unless that is allowed.

The judge is the value that is read back: a value is refused exactly if it comes back as another one.
"""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.model import Rule, RuleSet, Schema
from counterfoil.schema.wire import ID_PREFIX_BYTES
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    AvroType,
    DecodeError,
    EncodeError,
    InvalidSettings,
    JsonSerializer,
    ModelError,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerializationContext,
)
from counterfoil.sdk import schema_of as schema_of_model
from counterfoil.sdk.confluent import AvroSerializer as ConfluentAvroSerializer
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.serde.protobuf.well_known import DatetimeWithNanoseconds, TimedeltaWithNanoseconds
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.avro.codec_schemas import fixed, logical, record, schema_of

pytestmark = pytest.mark.usefixtures("each_tier")

CTX = SerializationContext("losses", "value")
ZONES = st.sampled_from(
    [None, dt.UTC, dt.timezone(dt.timedelta(hours=-5)), dt.timezone(dt.timedelta(microseconds=500))]
)
COARSE = st.sampled_from([0, 1, 999, 1000, 123_000, 123_456, 999_999])
TIMES = st.builds(dt.time, st.integers(0, 23), st.integers(0, 59), st.just(7), COARSE, st.sampled_from([None, dt.UTC]))
INSTANTS = st.builds(
    dt.datetime,
    st.sampled_from([1, 1969, 2026, 9998]),
    st.just(7),
    st.just(9),
    st.sampled_from([0, 11]),
    st.just(0),
    st.just(0),
    COARSE,
    ZONES,
)
NUMBERS = st.one_of(
    *(st.integers(middle - 3, middle + 3) for edge in (2**24, 2**53, 2**60) for middle in (edge, -edge)),
    st.integers(),
    st.floats(allow_nan=False, width=32),
    st.fractions(max_denominator=8),
)
LOCAL = [logical("long", f"local-timestamp-{unit}") for unit in ("millis", "micros", "nanos")]
INSTANT = [logical("long", f"timestamp-{unit}") for unit in ("millis", "micros", "nanos")]


def places(kind: Any) -> list[Any]:
    """A type by itself, twice in a record (written together), among others in a union, and in an array."""
    field = {"name": "a", "type": kind}
    return [kind, record(field, {**field, "name": "b"}), ["null", "boolean", kind], {"type": "array", "items": kind}]


def at(place: Any, value: Any) -> Any:
    if isinstance(place, dict) and place["type"] == "record":
        return {"a": value, "b": value}
    return [value] if isinstance(place, dict) and place["type"] == "array" else value


def read_back(place: Any, value: Any) -> Any:
    """The value that comes back when losses are allowed."""
    schema = schema_of(place)
    found = compile_decoder(schema)(compile_encoder(schema, exact=False)(at(place, value)))
    return found["a"] if isinstance(found, dict) else found[0] if isinstance(found, list) else found


def check(kind: Any, value: Any, *, keeps: Any) -> None:
    """Write a value everywhere; ``keeps`` says of what comes back whether it is the same."""
    for place in places(kind):
        encode = compile_encoder(schema_of(place))
        if keeps(read_back(place, value)):
            assert encode(at(place, value)) == compile_encoder(schema_of(place), exact=False)(at(place, value))
        else:
            with pytest.raises(EncodeError, match="allow_rounding=True"):
                encode(at(place, value))


@given(st.sampled_from(["float", "double"]), NUMBERS)
def test_a_number_is_written_exactly_or_refused(kind, number):
    if kind == "float" and isinstance(number, float):
        assert compile_encoder(schema_of(kind))(number)
    elif abs(number) < 2**100:  # larger ones have an error of their own
        check(kind, number, keeps=lambda found: found == number)


@given(st.sampled_from(["time-millis", "time-micros"]), TIMES)
def test_a_time_keeps_its_microseconds_and_has_no_zone_to_lose(name, time):
    check(logical("int" if name == "time-millis" else "long", name), time, keeps=lambda found: found == time)


@given(st.sampled_from(INSTANT), INSTANTS)
def test_an_instant_keeps_its_microseconds(kind, instant):
    instant = instant.replace(year=2026)
    as_aware = instant if instant.tzinfo else instant.astimezone(dt.UTC)

    def keeps(found: Any) -> bool:
        if isinstance(found, int):  # nanoseconds, in a long
            return found == (as_aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) * 1000
        return bool(found == as_aware)

    check(kind, instant, keeps=keeps)


@given(st.sampled_from(LOCAL), INSTANTS)
def test_a_local_timestamp_has_no_zone_to_lose(kind, instant):
    instant = instant.replace(year=2026)
    shown = instant.replace(tzinfo=None)

    def keeps(found: Any) -> bool:
        if isinstance(found, int):
            found = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=found // 1000)  # noqa: DTZ001 - without a zone
        return bool(found == shown) and instant.tzinfo is None

    check(kind, instant, keeps=keeps)


@given(INSTANTS)
def test_a_date_takes_a_datetime_only_at_midnight_without_a_zone(instant):
    is_date = instant.tzinfo is None and instant.time() == dt.time()
    check(logical("int", "date"), instant, keeps=lambda _: is_date)


@pytest.mark.parametrize("decimal", ["1.005", "12345.67", "NaN"])
def test_a_decimal_is_never_rounded(decimal):
    for kind in (
        logical("bytes", "decimal", precision=6, scale=2),
        {**fixed(4), "logicalType": "decimal", "precision": 6, "scale": 2},
    ):
        for exact in (True, False):
            with pytest.raises(EncodeError):
                compile_encoder(schema_of(kind), exact=exact)(Decimal(decimal))


def test_a_float_of_python_is_the_nearest_of_32_bits():
    assert compile_encoder(schema_of("float"))(0.1) == bytes.fromhex("cdcccc3d")


def test_numbers_and_times_of_other_libraries_keep_what_they_have():
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    nanos = pandas.Timestamp("2026-01-02T00:00:00.000000001Z")
    assert compile_encoder(schema_of("double"))(numpy.float32(0.1)) == compile_encoder(schema_of("double"))(
        float(numpy.float32(0.1))
    )
    for kind, value in [
        ("double", numpy.int64(2**53 + 1)),
        ("float", numpy.int32(2**24 + 1)),
        (INSTANT[0], nanos),
        (INSTANT[1], nanos),
        (logical("int", "date"), nanos.tz_localize(None)),
        (LOCAL[1], nanos.tz_localize(None)),
    ]:
        with pytest.raises(EncodeError, match="allow_rounding=True"):
            compile_encoder(schema_of(kind))(value)
    for kind, value in ((INSTANT[2], nanos), (LOCAL[2], nanos.tz_localize(None))):
        schema = schema_of(kind)
        assert compile_decoder(schema)(compile_encoder(schema)(value)) == nanos.value


def test_the_serializer_rounds_if_it_is_told_to_and_the_drop_in_always():
    registry = InMemoryRegistry().client(retries=0)
    text = json.dumps(record({"name": "at", "type": INSTANT[0]}))
    value = {"at": dt.datetime(2026, 1, 2, 3, 4, 5, 678_901, dt.UTC)}
    with pytest.raises(EncodeError) as caught:
        AvroSerializer(registry, text)(value, CTX)
    assert caught.value.path == "at"
    assert "whole milliseconds" in str(caught.value)
    rounded = AvroSerializer(registry, text, allow_rounding=True)(value, CTX)
    assert ConfluentAvroSerializer(registry, text)(value, CTX) == rounded
    assert AvroDeserializer(registry)(rounded, CTX)["at"].microsecond == 678_000
    with pytest.raises(InvalidSettings):
        AvroSerializer(registry, text, allow_rounding="yes")  # type: ignore[arg-type]  # the case
    with pytest.raises(InvalidSettings):
        ProtobufSerializer(registry, "message M {}", allow_rounding=1)  # type: ignore[arg-type]  # the case


@pytest.mark.slow
@pytest.mark.parametrize("where", ["d", "f", "ds", "by", "wrapped"])
def test_numbers_in_dicts_of_protobuf_are_not_rounded(where):
    registry = InMemoryRegistry().client(retries=0)
    text = (
        'syntax = "proto3"; import "google/protobuf/wrappers.proto"; message M { double d = 1; float f = 2; '
        "repeated double ds = 3; map<string, float> by = 4; google.protobuf.DoubleValue wrapped = 5; }"
    )
    around = {"ds": lambda number: [number], "by": lambda number: {"k": number}}.get(where, lambda number: number)
    for number in (2**53 + 1, Fraction(1, 3), Decimal("0.1")):
        with pytest.raises(EncodeError, match="allow_rounding=True"):
            ProtobufSerializer(registry, text)({where: around(number)}, CTX)
        assert ProtobufSerializer(registry, text, allow_rounding=True)({where: around(number)}, CTX)
    for number in (2**24, 0.1, Fraction(1, 2)):
        assert ProtobufSerializer(registry, text)({where: around(number)}, CTX)


# --- dates and times that Python does not have -------------------------------------------------------------------


FAR = {"date": 10**7, "time": 86_400_000, "at": 10**15, "local": -(10**18), "near": 0}
TIMES_OF_FAR = record(
    {"name": "date", "type": logical("int", "date")},
    {"name": "time", "type": logical("int", "time-millis")},
    {"name": "at", "type": ["null", INSTANT[0]]},
    {"name": "local", "type": LOCAL[1]},
    {"name": "near", "type": INSTANT[1]},
)


def test_a_date_or_time_that_python_does_not_have_is_its_number_if_that_is_wanted():
    registry = InMemoryRegistry().client(retries=0)
    data = AvroSerializer(registry, json.dumps(TIMES_OF_FAR))(FAR, CTX)
    with pytest.raises(DecodeError):
        AvroDeserializer(registry)(data, CTX)
    found = AvroDeserializer(registry, out_of_range="number")(data, CTX)
    assert found == {**FAR, "near": dt.datetime(1970, 1, 1, tzinfo=dt.UTC)}
    assert AvroSerializer(registry, json.dumps(TIMES_OF_FAR))(found, CTX) == data
    with pytest.raises(InvalidSettings):
        AvroDeserializer(registry, out_of_range="text")  # type: ignore[arg-type]  # the case


def test_far_times_of_protobuf_are_nanoseconds_if_that_is_wanted():
    registry = InMemoryRegistry().client(retries=0)
    text = (
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; '
        "message M { google.protobuf.Timestamp at = 1; repeated google.protobuf.Timestamp all = 2; }"
    )
    far = Timestamp(seconds=10**12, nanos=5)
    data = ProtobufSerializer(registry, text)({"at": far, "all": [Timestamp(), far]}, CTX)
    with pytest.raises(DecodeError):
        ProtobufDeserializer(registry, values="dict")(data, CTX)
    found = ProtobufDeserializer(registry, values="dict", out_of_range="number")(data, CTX)
    assert found == {"at": 10**21 + 5, "all": [dt.datetime(1970, 1, 1, tzinfo=dt.UTC), 10**21 + 5]}


# --- defaults of models ------------------------------------------------------------------------------------------


Millis = Annotated[dt.datetime, AvroType("timestamp-millis")]
Single = Annotated[float, AvroType("float")]


@pytest.mark.parametrize(
    ("annotation", "default", "is_kept"),
    [
        (Millis, dt.datetime(2026, 1, 2, 3, 4, 5, 678_901, dt.UTC), False),
        (Millis, dt.datetime(2026, 1, 2, 3, 4, 5, 678_000, dt.UTC), True),
        (dt.time, dt.time(1, tzinfo=dt.UTC), False),
        (dt.time, dt.time(1), True),
        (float, 2**53 + 1, False),
        (float, 2**53, True),
        (Single, 2**24 + 1, False),
        (Single, 2**24, True),
        (dt.datetime, dt.datetime(2026, 1, 2), False),  # noqa: DTZ001 - the case
    ],
)
def test_a_default_that_the_schema_would_hold_only_in_part_is_refused(annotation, default, is_kept):
    from dataclasses import make_dataclass

    model = make_dataclass("Ride", [("at", annotation, default)])
    if is_kept:
        assert schema_of_model(model)
        return
    with pytest.raises(ModelError, match="at"):
        schema_of_model(model)


def test_a_frame_is_read_as_it_was_written():
    """The prefix of a frame does not change what is refused."""
    registry = InMemoryRegistry().client(retries=0)
    write = AvroSerializer(registry, '"double"')
    assert write(2**53, CTX)[ID_PREFIX_BYTES:] == compile_encoder(schema_of("double"))(2**53)
    with pytest.raises(EncodeError):
        write(2**53 + 1, CTX)


def test_a_message_that_rules_migrate_to_larger_units_stays_readable():
    registry = InMemoryRegistry().client(retries=0)
    registry.set_config("losses-value", "NONE")
    texts = [json.dumps(record({"name": name, "type": kind})) for name, kind in (("a", INSTANT[1]), ("b", INSTANT[0]))]
    first, second = texts
    instant = dt.datetime(2026, 1, 2, 3, 4, 5, 678_901, dt.UTC)
    data = AvroSerializer(registry, first)({"a": instant}, CTX)
    up = Rule("up", "JSONATA", mode="UPGRADE", expr='{"b": a}')
    registry.register("losses-value", Schema(second, rule_set=RuleSet(migration_rules=(up,))))
    read = AvroDeserializer(registry, latest=True)(data, CTX)
    assert read == {"b": instant.replace(microsecond=678_000)}


def test_a_value_of_the_only_type_of_a_union_has_the_error_of_that_type():
    for union in (["null", INSTANT[0]], [INSTANT[0]], ["null", "string", INSTANT[0]]):
        with pytest.raises(EncodeError, match="whole milliseconds"):
            compile_encoder(schema_of(union))(dt.datetime(2026, 1, 2, 3, 4, 5, 1, dt.UTC))


NANOSECONDS = """syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
message M { google.protobuf.Timestamp at = 1; repeated google.protobuf.Duration spans = 2; }"""


@given(at=st.integers(-62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1), span=st.integers(-(10**18), 10**18))
def test_dicts_of_protobuf_have_the_nanoseconds_of_times(at: int, span: int) -> None:
    registry = InMemoryRegistry().client(retries=0)
    moment, length = Timestamp(), Duration()
    moment.FromNanoseconds(at)
    length.FromNanoseconds(span)
    serialize = ProtobufSerializer(registry, NANOSECONDS)
    message = serialize({"at": moment, "spans": [length]}, CTX)
    found = ProtobufDeserializer(registry, values="dict")(message, CTX)
    (read,) = found["spans"]
    assert (read // dt.timedelta(microseconds=1)) * 1000 + getattr(read, "nanoseconds", 0) == span
    assert getattr(found["at"], "nanosecond", 0) == at % 1000
    assert serialize(found, CTX) == message
    for each in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert (each, serialize(each, CTX)) == (found, message)
    assert found["at"].replace() == found["at"]


def test_times_with_nanoseconds_are_ordered_by_them() -> None:
    plain = dt.datetime(2026, 1, 31, tzinfo=dt.UTC)
    first, second = (DatetimeWithNanoseconds.of(plain, count) for count in (1, 2))
    assert sorted([second, first, plain]) == [plain, first, second]
    assert first != plain
    assert first.astimezone(dt.timezone(dt.timedelta(hours=5))) == first
    assert (str(first), first.isoformat()) == (
        "2026-01-31 00:00:00.000000001+00:00",
        "2026-01-31T00:00:00.000000001+00:00",
    )
    assert first.isoformat(timespec="seconds") == plain.isoformat(timespec="seconds")
    data = JsonSerializer(InMemoryRegistry().client(retries=0), "{}")({"at": first}, CTX)
    assert data[ID_PREFIX_BYTES:] == b'{"at":"2026-01-31T00:00:00.000000001+00:00"}'
    short, longer = (TimedeltaWithNanoseconds.of(dt.timedelta(1), count) for count in (1, 2))
    assert sorted([longer, short, dt.timedelta(1)]) == [dt.timedelta(1), short, longer]
    assert (short <= longer, short >= longer, first <= second, first >= second) == (True, False, True, False)
