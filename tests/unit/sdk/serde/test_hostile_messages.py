"""Avro and Protobuf messages, values, models and rules that were made to hurt: an error is one of the SDK."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerdeError,
    SerializationContext,
)
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde.rules.cel import read_expression
from counterfoil.sdk.serde.rules.cel.executors import CelError, compile_program
from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.cases.depth import IS_DEEP, times_the_examples

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT = SerializationContext("t", "value")


def logical(base: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


def record(*types: Any, name: str = "R") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": "abcdefgh"[index], "type": each} for index, each in enumerate(types)],
    }


LIST = {"type": "record", "name": "L", "fields": [{"name": "a", "type": ["null", "L"]}, {"name": "b", "type": "int"}]}
MODELLED = record(["null", "long"], ["null", "string"], ["null", {"type": "array", "items": "string"}], name="M")
AVRO_SCHEMAS: list[Any] = [
    LIST,
    record("long", ["null", "int", "double", "string"], {"type": "array", "items": "string"}),
    MODELLED,
    record({"type": "map", "values": {"type": "array", "items": "null"}}, {"type": "array", "items": "boolean"}),
    record(logical("bytes", "decimal", precision=20, scale=4), logical("int", "date"), logical("long", "time-micros")),
    record(logical("long", "timestamp-millis"), logical("long", "timestamp-micros"), logical("string", "uuid")),
    record(
        {"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"},
        {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "A"},
        logical("long", "local-timestamp-millis"),
    ),
    ["null", record("int"), record("string", name="S"), "bytes"],
    "bytes",
    {"type": "array", "items": {"type": "fixed", "name": "G", "size": 0}},
]
PROTOBUF_SCHEMA = """syntax = "proto3"; package p;
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/any.proto";
import "google/protobuf/struct.proto"; import "google/protobuf/wrappers.proto";
import "google/protobuf/field_mask.proto";
import "confluent/type/decimal.proto"; import "google/type/decimal.proto";
message R {
  R a = 1; int32 b = 2; repeated R c = 3; map<string, R> d = 4; google.protobuf.Timestamp e = 5;
  google.protobuf.Duration f = 6; google.protobuf.Value g = 7; google.protobuf.Any h = 8; string i = 9; bytes j = 10;
  confluent.type.Decimal k = 11; google.type.Decimal l = 12; google.protobuf.FieldMask m = 13; K n = 14;
  oneof o { double p = 15; float q = 16; uint64 r = 17; } repeated sint64 s = 18 [packed = true];
  google.protobuf.Int32Value t = 19; map<bool, fixed32> u = 20; optional string v = 21;
  enum K { X = 0; Y = 2; } message I { string a = 1; }
}
message S { repeated int32 a = 1; }"""


def in_registry(text: str, language: SchemaType) -> Any:
    registry = InMemoryRegistry().client(retries=0)
    registry.register("t-value", Schema(text, language))
    return registry


@dataclasses.dataclass
class Plain:
    a: int | None = None
    b: str | None = "b"
    c: list[str] | None = None


class Checked(pydantic.BaseModel):
    a: int | None = None
    b: str | None = "b"
    c: list[str] | None = None


class Struct(msgspec.Struct):
    a: int | None = None
    b: str | None = "b"
    c: list[str] | None = None


MODELS = (None, Plain, Checked, Struct)


def avro_readers() -> list[Callable[[bytes], Any]]:
    made: list[Callable[[bytes], Any]] = []
    for schema in AVRO_SCHEMAS:
        registry = in_registry(json.dumps(schema), SchemaType.AVRO)
        for model in MODELS:
            for latest in (False, True):
                if model is not None and (latest or schema is not MODELLED):
                    continue
                read = AvroDeserializer(registry, **({} if model is None else {"model": model}), latest=latest)
                made.append(lambda data, read=read: read(data, CONTEXT))
                made.append(lambda data, read=read: list(read.many([data, data], topic="t", field="value")))
    return made


def protobuf_readers() -> list[Callable[[bytes], Any]]:
    registry = in_registry(PROTOBUF_SCHEMA, SchemaType.PROTOBUF)
    made: list[Callable[[bytes], Any]] = []
    for options in ({}, {"values": "dict"}, {"latest": True}):
        read = ProtobufDeserializer(registry, **options)  # type: ignore[arg-type]  # of several types
        made.append(lambda data, read=read: read(data, CONTEXT))
    return made


AVRO_READERS = avro_readers()
PROTOBUF_READERS = protobuf_readers()

# --- bytes ------------------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    found = bytearray()
    value &= 2**64 - 1
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


sizes = st.sampled_from([0, 1, 2, 3, -1, 7, 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63), 2**62, 128, 300, 70_000])
depths = st.sampled_from([1, 2, 50, 99, 100, 101, 150, 151, 300, 990, 5_000, 60_000])
scraps = st.one_of(
    st.binary(max_size=12),
    sizes.map(lambda size: varint(size * 2 if size >= 0 else -size * 2 - 1)),
    sizes.map(varint),
    st.just(b"\xff" * 11),
    st.just(b"\x02\xff"),
    st.just("é\ud800".encode("utf-8", "surrogatepass")),
    st.sampled_from([b"\x00" * 9, b"\x80" * 20, b"a" * 5_000]),
)


@st.composite
def avro_bytes(draw: st.DrawFn) -> bytes:
    """Draw what may look like a record: scraps, counts of blocks, and values nested deep."""
    nested = b"\x02" * draw(depths) if draw(st.integers(0, 3)) == 0 else b""
    return nested + b"".join(draw(st.lists(scraps, max_size=6)))


@st.composite
def protobuf_bytes(draw: st.DrawFn) -> bytes:
    """Draw fields with lengths that may be wrong, groups, and messages nested deep."""
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        number, wire = draw(st.integers(0, 22)), draw(st.integers(0, 7))
        body = draw(scraps)
        length = varint(len(body)) if draw(st.booleans()) else varint(draw(sizes))
        parts.append(varint(number << 3 | wire) + (length if wire == 2 else b"") + body)
    data = b"".join(parts)
    for _ in range(draw(depths) if draw(st.integers(0, 3)) == 0 else 0):
        if len(data) > 100_000:
            break
        data = b"\x0a" + varint(len(data)) + data
    return data


def frame_of(draw: Callable[[Any], Any], body: bytes, indexes: bytes) -> bytes:
    return (
        draw(st.sampled_from([b"\x00\x00\x00\x00\x01"] * 9 + [b"\x00\x00\x00\x00\x63", b"\x01", b""])) + indexes + body
    )


@pytest.mark.slow
@times_the_examples(8)
@given(st.data())
def test_only_our_errors_come_of_hostile_avro(data: st.DataObject):
    message = frame_of(data.draw, data.draw(avro_bytes()), b"")
    for read in AVRO_READERS:
        refuses(read, message)


INDEXES = [b"\x00"] * 5 + [
    b"\x02\x00",
    b"\x02\x02",
    b"\x04\x00\x00",
    b"\x04\x00\x08",
    b"\x80" * 9,
    b"\xfe\xff\xff\xff\x0f",
    b"",
]


@pytest.mark.slow
@times_the_examples(8)
@given(st.data())
def test_only_our_errors_come_of_hostile_protobuf(data: st.DataObject):
    indexes = data.draw(st.sampled_from(INDEXES))
    message = frame_of(data.draw, data.draw(protobuf_bytes()), indexes)
    for read in PROTOBUF_READERS:
        refuses(read, message)


def refuses(work: Callable[..., Any], *arguments: Any) -> None:
    """Call a serializer or a deserializer: a result, or an error of the SDK; anything else is raised."""
    try:
        work(*arguments)
    except SerdeError:
        return


# --- values -----------------------------------------------------------------------------------------------------------


class Sized:
    def __len__(self) -> int:
        return 3


scalars = st.sampled_from(
    [
        *(0, 1, -1, 2**31, 2**63, -(2**63) - 1, 10**400, True, None, 1.5, float("nan"), float("inf"), 1e308, -0.0),
        *("", "a", "\ud800", "é\x00", "A", "9" * 5_000, b"", b"\xff" * 12, bytearray(b"abc"), memoryview(b"abc")),
        *(
            Decimal("NaN"),
            Decimal("sNaN"),
            Decimal("Infinity"),
            Decimal("1e999999"),
            Decimal("1e-999999"),
            Decimal("1.23456"),
        ),
        *(
            datetime.min.replace(tzinfo=UTC).replace(tzinfo=None),
            datetime.max.replace(tzinfo=UTC).replace(tzinfo=None),
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
            datetime.now(UTC),
        ),
        *(
            datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
            date.min,
            date.max,
            time.max,
            timedelta.max,
            timedelta.min,
        ),
        *(
            UUID(int=0),
            object(),
            int,
            {1},
            frozenset(),
            range(3),
            Ellipsis,
            1j,
            Sized(),
            ("R", {}),
            ("x", 1),
            (1, 2, 3),
            iter(()),
        ),
    ]
)
names = st.sampled_from([*"abcdefghijklmnopqrstuv", "", "\ud800", "null", "seconds", "@type", "value"])
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(names, inner, max_size=4),
        st.dictionaries(st.sampled_from([1, None, b"a", "a"]), inner, max_size=2),
    ),
    max_leaves=8,
)


@st.composite
def hostile_values(draw: st.DrawFn) -> Any:
    value = draw(values)
    for _ in range(draw(st.sampled_from([1, 50, 100, 150, 300, 990, 3_000])) if draw(st.integers(0, 3)) == 0 else 0):
        value = {"a": value, "b": 1}
    return value


def avro_writers() -> list[Callable[[Any], Any]]:
    made = []
    for schema in AVRO_SCHEMAS:
        registry = in_registry(json.dumps(schema), SchemaType.AVRO)
        for strict in (False, True):
            write = AvroSerializer(registry, json.dumps(schema), strict=strict)
            made.append(lambda value, write=write: write(value, CONTEXT))
    return made


AVRO_WRITERS = avro_writers()
PROTOBUF_WRITER = ProtobufSerializer(in_registry(PROTOBUF_SCHEMA, SchemaType.PROTOBUF), PROTOBUF_SCHEMA, message="p.R")


@pytest.mark.slow
@times_the_examples(8 if IS_DEEP else 3)
@given(hostile_values())
def test_only_our_errors_come_of_values_for_avro(value: Any):
    for write in AVRO_WRITERS:
        refuses(write, value)


@pytest.mark.slow
@times_the_examples(8)
@given(hostile_values())
def test_only_our_errors_come_of_values_for_protobuf(value: Any):
    refuses(PROTOBUF_WRITER, value, CONTEXT)


@pytest.mark.parametrize("text", ["\ud800", "X\udfff", "\x00", "Ä", ""])
def test_a_text_that_no_symbol_can_have_is_refused(text: str):
    with pytest.raises(EncodeError, match=r"a symbol of p\.R\.K: X, Y"):
        PROTOBUF_WRITER({"n": text}, CONTEXT)


MODEL_WRITERS = [
    AvroSerializer(in_registry(json.dumps(MODELLED), SchemaType.AVRO), json.dumps(MODELLED), model=model)
    for model in MODELS[1:]
]


@pytest.mark.slow
@times_the_examples(8)
@given(st.lists(st.one_of(scalars, values), min_size=3, max_size=3), st.sampled_from(MODELS[1:]))
def test_only_our_errors_come_of_models_with_hostile_values(parts: list[Any], model: Any):
    fields = dict(zip("abc", parts, strict=True))
    made = model.model_construct(**fields) if model is Checked else model(**fields)
    for write in MODEL_WRITERS:
        refuses(write, made, CONTEXT)


# --- CEL --------------------------------------------------------------------------------------------------------------

OPERANDS = [
    *(
        "message.a",
        "message.b",
        "message.c",
        "message",
        "message.a.a.a.a",
        "message['a']",
        "message.c[0]",
        "message.c[-1]",
    ),
    *(
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615u",
        "1e308",
        "'a'",
        "b'\\xff'",
        "null",
        "[]",
        "{}",
    ),
    *(
        "'9999999999h'",
        "'1e999999'",
        "'(a+)+$'",
        "'%s%d%f%x'",
        "'2024-13-45T99:99:99Z'",
        "['a', 1]",
        "0",
        "true",
        "dyn(1)",
    ),
]
CALLS = [
    *(
        "int({})",
        "uint({})",
        "double({})",
        "string({})",
        "bytes({})",
        "timestamp({})",
        "duration({})",
        "decimal({})",
        "-{}",
    ),
    *(
        "!{}",
        "size({})",
        "{}.size()",
        "type({})",
        "{}.getFullYear()",
        "{}.getMilliseconds()",
        "has({}.a)",
        "{}.isEmail()",
    ),
    *("isUri({})", "{}.exists(x, x == 1)", "{}.map(x, [x, x])", "isIpv6({})", "string(decimal({}))", "{}.format([{}])"),
]
OPERATORS = ["+", "-", "*", "/", "%", "==", "<", "in", "&&", "||"]


def of_parts(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda call, part: call.replace("{}", f"({part})"), st.sampled_from(CALLS), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("({}).matches({})".format, inner, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("decimals.div(decimal({}), decimal({}))".format, inner, inner),
        st.builds(
            "decimals.round(decimal({}), {})".format, inner, st.sampled_from(["-1", "999999999", "2", "message.b"])
        ),
    )


expressions = st.recursive(st.sampled_from(OPERANDS), of_parts, max_leaves=5)


@pytest.mark.slow
@times_the_examples(16)
@given(expressions, values)
def test_only_our_errors_come_of_hostile_expressions(source: str, value: Any):
    from counterfoil.sdk.serde.rules.cel import Unsupported, convert

    message = {"a": value, "b": 1, "c": [value, "a" * 200]}
    expression = read_expression(source, ("message",), FUNCTIONS)
    for engine in (None, "python"):
        try:
            program = compile_program(expression, engine)
            program({name: convert(message, parts) for name, parts in expression.reads.items()})
        except (CelError, Unsupported):
            continue
