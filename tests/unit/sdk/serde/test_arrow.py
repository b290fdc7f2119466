"""arrow(): batches of messages as Arrow tables, whose cells are the values that single messages have."""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from counterfoil.schema.errors import MissingExtra
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import AvroArray, AvroKind, AvroMap, AvroRecord, AvroUnion
from counterfoil.schema.model import Reference, Schema
from counterfoil.schema.wire import VALUE_HEADER
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    MultiDeserializer,
    ProtobufDeserializer,
    ProtobufSerializer,
)
from counterfoil.sdk.errors import DecodeError, IncompatibleReader, NotFramed, SerdeError, UnknownSchemaId
from counterfoil.sdk.serde import SerializationContext
from counterfoil.sdk.serde.arrow.avro_rows import AvroRowSource
from counterfoil.sdk.serde.arrow.avro_types import arrow_schema, optional_record
from counterfoil.sdk.serde.asynchronous import AsyncDeserializer
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.avro.codec_outcomes import damaged, of_each_tier
from strategies.avro.data import avro_data
from strategies.avro.edits import avro_pairs
from strategies.avro.schemas import avro_schemas

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
RIDES = SerializationContext("rides", "value")
PREFIX = b"frame"


def record(*fields, name="Ride", **more):
    return json.dumps({"type": "record", "name": name, "namespace": "taxi", "fields": list(fields), **more})


RIDE = record({"name": "id", "type": "long"}, {"name": "fare", "type": "double", "default": 0.0})
TIPPED = record(
    {"name": "id", "type": "long"},
    {"name": "tip", "type": ["null", "double"], "default": None},
    {"name": "zone", "type": "string", "default": "none"},
)


@pytest.fixture
def client():
    return InMemoryRegistry().client(retries=0)


def cell(avro_type, value):
    """Return the value of a single message as a cell of a table."""
    if value is None:
        return None
    match avro_type:
        case AvroRecord(fields=fields):
            return {one.name: cell(one.type, value[one.name]) for one in fields}
        case AvroArray(items=items):
            return [cell(items, one) for one in value]
        case AvroMap(values=values):
            return [(key, cell(values, one)) for key, one in value.items()]
        case AvroUnion(branches=branches):
            fitting = [one for one in branches if fits(one, value)]
            return cell(fitting[0], value)
    if avro_type.kind is AvroKind.FLOAT:
        return struct.unpack("f", struct.pack("f", value))[0]
    return value


def fits(avro_type, value):
    match avro_type:
        case AvroRecord(fields=fields):
            return isinstance(value, dict) and {one.name for one in fields} == {*value}
        case AvroMap():
            return isinstance(value, dict)
        case AvroArray():
            return isinstance(value, list)
    if avro_type.kind is AvroKind.NULL:
        return value is None
    is_plain = not isinstance(value, (dict, list))
    return is_plain and (isinstance(value, float) or avro_type.kind is not AvroKind.FLOAT)


def cells_of(root, values):
    whole = optional_record(root) or root
    if not isinstance(whole, AvroRecord):
        return [{"value": cell(root, value)} for value in values]
    nulls = {one.name: None for one in whole.fields}
    return [nulls if value is None else cell(whole, value) for value in values]


def shown(rows):
    """Return rows as text, since NaN is not equal to itself."""
    return repr(rows).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc")


def rows_or_error(source, messages):
    try:
        rows = source.rows()
    except SerdeError as error:
        return str(error)
    added = []
    for message in messages:
        if not rows.extend([message], 0, PREFIX):
            try:
                rows.append(message, len(PREFIX))
            except SerdeError as error:
                added.append(type(error).__name__)
                rows.append_null()
                continue
        added.append("row")
    table = rows.table(None)
    table.validate(full=True)
    return added, table


@pytest.mark.slow
@RELAXED
@given(avro_pairs(), st.integers(0, 2**32), st.data())
def test_the_cells_are_the_values_of_single_messages_in_both_tiers(pair, seed, data):
    reader, writer = map(parse_avro, pair)
    try:
        decode = compile_decoder(writer, reader, whole=True)
    except IncompatibleReader:
        assume(False)  # noqa: FBT003 - there is nothing to read
    encode, random = compile_encoder(writer), Random(seed)
    valid = [PREFIX + encode(data.draw(avro_data(writer))) for _ in range(3)]
    messages = [*valid, *(PREFIX + damaged(random, one[len(PREFIX) :]) for one in valid)]
    values = []
    for message in messages:
        try:
            values.append(decode(message, len(PREFIX)))
        except DecodeError as error:
            values.append(error)
    of_tier = of_each_tier(lambda: rows_or_error(AvroRowSource(writer, reader, whole=True), messages))
    (first, *others) = of_tier.values()
    if isinstance(first, str):
        assert others in ([], [first])
        return
    added, table = first
    for other_added, other in others:
        assert other_added == added
        assert shown(other.to_pylist()) == shown(table.to_pylist())
        assert other.schema == table.schema
    cells = [None if isinstance(one, DecodeError) else one for one in values]
    for outcome, value in zip(added, values, strict=True):
        assert (outcome == "DecodeError") == isinstance(value, DecodeError)
    kept = [value if outcome == "row" else None for value, outcome in zip(cells, added, strict=True)]
    assert shown(table.to_pylist()) == shown(cells_of(reader.root, kept))


@RELAXED
@given(avro_schemas(), st.data())
def test_a_union_of_any_types_has_its_values_in_both_tiers(text, data):
    schema = parse_avro(f'["null", "boolean", {{"type": "array", "items": {text}}}]')
    encode = compile_encoder(schema)
    decode = compile_decoder(schema)
    messages = [PREFIX + encode([value]) for value in data.draw(st.lists(avro_data(parse_avro(text)), max_size=2))]
    messages.append(PREFIX + encode(True))  # noqa: FBT003 - the value of the last message
    for outcome in of_each_tier(lambda: rows_or_error(AvroRowSource(schema, None, whole=True), messages)).values():
        if isinstance(outcome, str):
            assert "contains itself" in outcome
            continue
        added, table = outcome
        assert set(added) == {"row"}
        assert table.to_pylist()[-1] == {"value": True}
        for message, row in zip(messages[:-1], table.to_pylist(), strict=False):
            assert len(row["value"]) == len(decode(message, len(PREFIX)))


@pytest.mark.parametrize(
    ("avro_type", "arrow_type"),
    [
        ("string", pa.string()),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.string()),
        ({"type": "fixed", "name": "F", "size": 3}, pa.binary(3)),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("ms", "UTC")),
        ({"type": "long", "logicalType": "timestamp-nanos"}, pa.timestamp("ns", "UTC")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.timestamp("us")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 3}, pa.decimal128(38, 3)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 76, "scale": 3}, pa.decimal256(76, 3)),
        ({"type": "string", "logicalType": "uuid"}, pa.uuid()),
        (["null", "int"], pa.int32()),
        ({"type": "map", "values": "int"}, pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))),
        (["int", "string"], pa.dense_union([pa.field("int", pa.int32()), pa.field("string", pa.string())])),
    ],
)
def test_a_field_has_the_arrow_type_of_its_avro_type(avro_type, arrow_type):
    schema = arrow_schema(parse_avro(record({"name": "a", "type": avro_type})))
    assert schema == pa.schema([pa.field("a", arrow_type)])


@pytest.mark.parametrize(
    ("avro_type", "problem"),
    [
        (["null", "Ride"], "taxi.Ride contains itself"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 77}, "A decimal of 77 digits"),
    ],
)
def test_a_type_that_arrow_does_not_have_is_an_error(avro_type, problem):
    with pytest.raises(SerdeError, match=problem):
        arrow_schema(parse_avro(record({"name": "a", "type": avro_type})))


@pytest.mark.usefixtures("each_tier")
class TestAvro:
    def test_records_of_several_writers_are_rows_in_their_order(self, client):
        one, two = AvroSerializer(client, RIDE), AvroSerializer(client, TIPPED, subject="RECORD")
        messages = [
            None,
            one({"id": 1, "fare": 2.5}, RIDES),
            two({"id": 2, "tip": 0.5, "zone": "A"}, RIDES),
            None,
            one({"id": 3, "fare": 4.5}, RIDES),
            two({"id": 4, "tip": None, "zone": "B"}, RIDES),
        ]
        table = AvroDeserializer(client).arrow(messages, topic="rides")
        assert table.to_pydict() == {
            "id": [None, 1, 2, None, 3, 4],
            "fare": [None, 2.5, None, None, 4.5, None],
            "tip": [None, None, 0.5, None, None, None],
            "zone": [None, None, "A", None, None, "B"],
        }

    def test_a_reader_decides_about_the_columns(self, client):
        write = AvroSerializer(client, RIDE)
        messages = [write({"id": number, "fare": 2.5}, RIDES) for number in range(3)]
        deserialize = AvroDeserializer(client, reader=TIPPED)
        table = deserialize.arrow(messages, topic="rides")
        assert table.to_pydict() == {"id": [0, 1, 2], "tip": [None] * 3, "zone": ["none"] * 3}
        assert deserialize.arrow([]).schema == table.schema
        assert deserialize.arrow([None]).to_pylist() == [{"id": None, "tip": None, "zone": None}]

    def test_the_first_record_that_cannot_be_read_raises_its_error(self, client):
        write = AvroSerializer(client, RIDE)
        good = write({"id": 1, "fare": 2.5}, RIDES)
        with pytest.raises(DecodeError) as caught:
            AvroDeserializer(client).arrow([good, good[:-1]], topic="rides")
        assert (caught.value.topic, caught.value.schema_id, caught.value.path) == ("rides", 1, "fare")

    def test_errors_are_by_row_and_the_rows_are_null(self, client):
        write = AvroSerializer(client, RIDE)
        good = write({"id": 1, "fare": 2.5}, RIDES)
        errors = {}
        messages = [good, good[:-1], b"{}", "text", b"\0\0\0\0\x63", good]
        table = AvroDeserializer(client).arrow(messages, topic="rides", errors=errors)
        assert table.column("id").to_pylist() == [1, None, None, None, None, 1]
        kinds = {1: DecodeError, 2: NotFramed, 3: NotFramed, 4: UnknownSchemaId}
        assert {row: type(error) for row, error in errors.items()} == kinds
        returned = AvroDeserializer(client, on_error="return").arrow(messages, topic="rides")
        assert returned.equals(table)

    def test_records_of_kafka_clients_have_their_own_headers(self, client):
        headers = []
        write = AvroSerializer(client, RIDE, id_location="header")
        body = write({"id": 7, "fare": 1.5}, SimpleNamespace(topic="rides", field="value", headers=headers))
        framed = AvroSerializer(client, RIDE)({"id": 8, "fare": 1.5}, RIDES)
        assert headers[0][0] == VALUE_HEADER
        records = [
            SimpleNamespace(topic="rides", key=None, value=body, headers=headers),
            SimpleNamespace(topic="rides", key=None, value=body, headers=headers),
            SimpleNamespace(topic="rides", key=None, value=framed, headers=()),
            SimpleNamespace(topic="rides", key=None, value=None, headers=()),
            SimpleNamespace(error="broken", topic="rides", key=None, value=b"x", headers=()),
        ]
        errors = {}
        table = AvroDeserializer(client).arrow(records, errors=errors)
        assert table.column("id").to_pylist() == [7, 7, 8, None, None]
        assert [*errors] == [4]

    def test_columns_are_cast_to_the_schema_that_is_given(self, client):
        text = record(
            {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "count", "type": "int"},
        )
        ride: dict[str, Any] = {"id": UUID(int=7), "at": datetime(2024, 1, 2, tzinfo=UTC), "count": 3}
        message = AvroSerializer(client, text)(ride, RIDES)
        schema = pa.schema([("more", pa.string()), ("count", pa.int64()), ("id", pa.string()), ("at", pa.date32())])
        table = AvroDeserializer(client).arrow([message], schema=schema)
        assert table.schema == schema
        wanted = {"more": None, "count": 3, "id": str(UUID(int=7)), "at": ride["at"].date()}
        assert table.to_pylist() == [wanted]
        with pytest.raises(SerdeError, match="The column 'at' cannot be cast"):
            AvroDeserializer(client).arrow([message], schema=pa.schema([("at", pa.list_(pa.int8()))]))

    def test_values_beyond_a_columns_type_are_errors_of_their_record(self, client):
        text = record({"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 1}})
        write = AvroSerializer(client, text)
        good, wide = write({"a": Decimal("1.5")}, RIDES), b"\0\0\0\0\x01\x04\x7f\xff"
        errors = {}
        table = AvroDeserializer(client).arrow([good, good, wide, good], errors=errors)
        assert table.column("a").to_pylist() == [Decimal("1.5"), Decimal("1.5"), None, Decimal("1.5")]
        assert "cannot be stored as decimal128(2, 1)" in str(errors[2])

    def test_values_that_do_not_fit_the_given_schema_are_errors_of_their_record(self, client):
        write = AvroSerializer(client, RIDE)
        other = AvroSerializer(client, record({"name": "id", "type": "string"}))
        messages = [write({"id": number, "fare": 2.5}, RIDES) for number in (1, 2**40, 3)]
        messages[1:1] = [other({"id": text}, SerializationContext("others", "value")) for text in ("7", "x")]
        schema = pa.schema([("id", pa.int32()), ("fare", pa.float32())])
        errors = {}
        table = AvroDeserializer(client).arrow(messages, topic="rides", schema=schema, errors=errors)
        assert table.schema == schema
        assert table.column("id").to_pylist() == [1, 7, None, None, 3]
        assert table.column("fare").to_pylist() == [2.5, None, None, None, 2.5]
        assert sorted(errors) == [2, 3]
        assert "The column 'id' is int32, and 'x' does not fit" in str(errors[2])
        assert errors[3].topic == "rides"
        with pytest.raises(SerdeError, match="cannot be cast from int64 to int32"):
            AvroDeserializer(client).arrow(messages[3:], schema=schema)

    def test_json_values_that_do_not_fit_the_given_schema_are_errors_of_their_record(self, client):
        write = JsonSerializer(client, "{}")
        rows = [{"id": 1}, {"id": "text"}, {"id": {"a": 1}}, {"id": 2**70}, {"id": 4}]
        schema = pa.schema([("id", pa.int64())])
        errors = {}
        table = JsonDeserializer(client).arrow([write(each, RIDES) for each in rows], schema=schema, errors=errors)
        assert table.column("id").to_pylist() == [1, None, None, None, 4]
        assert sorted(errors) == [1, 2, 3]

    def test_a_value_that_is_no_record_is_one_column(self, client):
        write = AvroSerializer(client, '"string"')
        table = AvroDeserializer(client).arrow([write("a", RIDES), None, write("b", RIDES)])
        assert table.to_pydict() == {"value": ["a", None, "b"]}

    def test_records_without_fields_are_rows(self, client):
        write = AvroSerializer(client, record())
        assert AvroDeserializer(client).arrow([write({}, RIDES)] * 3).num_rows == 3
        assert AvroDeserializer(client).arrow([None, None]).num_rows == 2

    def test_schemas_with_references_are_read(self, client):
        client.register("place", Schema(record({"name": "zone", "type": "int"}, name="Place")))
        schema = Schema(
            record({"name": "at", "type": ["null", "taxi.Place"]}), references=(Reference("taxi.Place", "place", 1),)
        )
        message = AvroSerializer(client, schema)({"at": {"zone": 4}}, RIDES)
        assert AvroDeserializer(client).arrow([message]).to_pylist() == [{"at": {"zone": 4}}]

    def test_memory_of_the_program_is_copied(self, client):
        message = bytearray(AvroSerializer(client, record({"name": "a", "type": "string"}))({"a": "kept"}, RIDES))
        table = AvroDeserializer(client).arrow([message, memoryview(message)])
        message[-4:] = b"lost"
        assert table.to_pydict() == {"a": ["kept", "kept"]}


def test_an_async_registry_is_awaited_for_each_schema():
    memory = InMemoryRegistry()
    write = AvroSerializer(memory.client(), RIDE)
    other = AvroSerializer(memory.client(), TIPPED, subject="RECORD")
    messages = [write({"id": 1, "fare": 2.5}, RIDES), other({"id": 2, "tip": 1.0, "zone": ""}, RIDES)]

    async def read():
        deserializer = AsyncDeserializer(AvroDeserializer(memory.async_client()))
        return await deserializer.arrow([messages[0], None, messages[1]], topic="rides")

    assert asyncio.run(read()).column("id").to_pylist() == [1, None, 2]


def test_json_messages_have_the_columns_of_all_their_keys(client):
    write = JsonSerializer(client, '{"type": "object"}')
    messages = [write({"id": 1}, RIDES), None, write({"id": 2, "at": {"zone": "A"}}, RIDES)]
    deserializer = JsonDeserializer(client)
    table = deserializer.arrow(messages, topic="rides")
    assert table.to_pydict() == {"id": [1, None, 2], "at": [None, None, {"zone": "A"}]}
    small = deserializer.arrow(messages, schema=pa.schema([("id", pa.int16())]))
    assert small.column("id").to_pylist() == [1, None, 2]
    with pytest.raises(SerdeError, match="The column 'id' has values without a common type"):
        deserializer.arrow([*messages, write({"id": "x"}, RIDES)])


def test_protobuf_messages_become_columns_as_dicts(client):
    text = 'syntax = "proto3"; message Ride { int64 id = 1; repeated string zones = 2; }'
    write = ProtobufSerializer(client, text)
    messages = [write({"id": 1, "zones": ["A"]}, RIDES), write({"id": 2}, RIDES), None]
    table = ProtobufDeserializer(client).arrow(messages, topic="rides")
    assert table.to_pydict() == {"id": [1, 2, None], "zones": [["A"], [], None]}


def test_a_topic_of_several_formats_is_one_table(client):
    messages = [
        AvroSerializer(client, RIDE, subject="RECORD")({"id": 1, "fare": 2.5}, RIDES),
        JsonSerializer(client, '{"type": "object", "title": "r"}', subject="RECORD")({"id": 2}, RIDES),
    ]
    table = MultiDeserializer(client).arrow(messages, topic="rides")
    assert table.to_pydict() == {"id": [1, 2], "fare": [2.5, None]}


def test_without_pyarrow_the_extra_is_named(client, monkeypatch):
    for name in [*sys.modules]:
        if name == "pyarrow" or name.startswith("counterfoil.sdk.serde.arrow"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r'pip install "counterfoil\[arrow\]"'):
        AvroDeserializer(client).arrow([])


@pytest.mark.parametrize(
    ("column", "kept", "lost"),
    [
        (pa.int32(), 2.0, 1.5),
        (pa.int64(), -3, -0.25),
        (pa.timestamp("ms", "UTC"), "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678901Z"),
        (pa.timestamp("s", "UTC"), "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5Z"),
    ],
)
def test_a_column_of_a_schema_does_not_round(column: pa.DataType, kept: Any, lost: Any) -> None:
    """Values of JSON and Protobuf, whose types Arrow infers and casts."""
    registry = InMemoryRegistry().client(retries=0)
    schema = pa.schema([("a", column)])
    if isinstance(kept, str):
        imported = 'syntax = "proto3"; import "google/protobuf/timestamp.proto";'
        text = f"{imported} message M {{ google.protobuf.Timestamp a = 1; }}"
        write, read = ProtobufSerializer(registry, text).bind("t"), ProtobufDeserializer(registry)
    else:
        write, read = JsonSerializer(registry, "{}").bind("t"), JsonDeserializer(registry)
    good, bad = write({"a": kept}), write({"a": lost})
    errors: dict[int, Any] = {}
    found = read.arrow([good, bad, good], topic="t", schema=schema, errors=errors)
    assert list(errors) == [1]
    assert found.column("a").null_count == 1
    with pytest.raises(SerdeError):
        read.arrow([bad], topic="t", schema=schema)
