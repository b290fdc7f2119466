"""Avro messages part by part: fastavro reads the same values, and the parts are a partition of the bytes."""

from __future__ import annotations

import base64
import io
import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import fastavro
import pytest

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.sample_values import spell_writer
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import AvroArray, AvroKind, AvroMap, AvroRecord, AvroUnion, branch_name
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.serde.avro.numbers import encode_long
from strategies.avro.bytes import Endless, avro_bytes, has_items_without_bytes
from strategies.avro.codec_outcomes import damaged
from strategies.avro.seeded import seeded_document
from strategies.languages.decoded import check_partition, decoded, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.languages.avro.types import AvroType

REALS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def without_logical_types(document: Any) -> Any:
    match document:
        case dict():
            inner = {key: without_logical_types(value) for key, value in document.items()}
            return {key: value for key, value in inner.items() if key not in {"logicalType", "precision", "scale"}}
        case list():
            return [without_logical_types(each) for each in document]
    return document


def messages(seed: int, count: int) -> Iterator[tuple[AvroSchema, bytes]]:
    """Yield schemas without logical types, each with a message."""
    random = Random(seed)
    while count:
        document = without_logical_types(seeded_document(random))
        try:
            schema = parse_avro(json.dumps(document), validation=Validation.LENIENT)
            body = avro_bytes(random, schema.root)
        except (InvalidSchema, Endless):
            continue
        count -= 1
        yield schema, body


def read_by_fastavro(schema: AvroSchema, body: bytes) -> tuple[Any, int]:
    """Return the value that fastavro reads, and the number of bytes that it takes."""
    stream = io.BytesIO(body)
    return fastavro.schemaless_reader(stream, spell_writer(schema.root), None), stream.tell()


def is_same(node: AvroType, shown: Any, got: Any) -> bool:
    """Return whether JSON is the value that fastavro has."""
    match node:
        case AvroUnion():
            named = [each for each in node.branches if isinstance(shown, dict) and [*shown] == [branch_name(each)]]
            return any(is_same(each, shown[branch_name(each)], got) for each in named) or any(
                is_same(each, shown, got) for each in node.branches
            )
        case AvroRecord() if isinstance(shown, dict) and isinstance(got, dict):
            names = [each.name for each in node.fields]
            return [*shown] == [*got] == names and all(
                is_same(each.type, shown[each.name], got[each.name]) for each in node.fields
            )
        case AvroArray() if isinstance(shown, list) and isinstance(got, list):
            return len(shown) == len(got) and all(map(is_same, [node.items] * len(got), shown, got))
        case AvroMap() if isinstance(shown, dict) and isinstance(got, dict):
            return shown.keys() == got.keys() and all(is_same(node.values, shown[key], got[key]) for key in got)
        case AvroRecord() | AvroArray() | AvroMap():
            return False
    return is_same_scalar(node.kind, shown, got)


def is_same_scalar(kind: AvroKind, shown: Any, got: Any) -> bool:
    if kind in {AvroKind.FLOAT, AvroKind.DOUBLE}:
        real = REALS.get(shown, shown) if isinstance(shown, str) else shown
        are_reals = isinstance(real, float) and isinstance(got, float)
        return are_reals and (real == got or (math.isnan(real) and math.isnan(got)))
    if kind in {AvroKind.BYTES, AvroKind.FIXED}:
        return isinstance(got, bytes) and base64.b64encode(got).decode() == shown
    return type(shown) is type(got) and shown == got


@pytest.mark.slow
def test_a_message_is_what_fastavro_reads_and_its_parts_are_all_of_its_bytes():
    for schema, body in messages(1, 600):
        found = decoded(schema, body)
        check_partition(found, body)
        got, end = read_by_fastavro(schema, body)
        assert (found.fault, found.rest, end) == (None, 0, len(body))
        assert found.value is not None
        assert is_same(schema.root, json.loads(found.value), got), (schema.text, body)


def test_the_number_of_a_part_is_written_with_the_bytes_of_the_part():
    numbers = 0
    for schema, body in messages(2, 150):
        for node in leaves(decoded(schema, body)):
            if node.type in {"int", "long", "number of items", "end of the items", "size of the items in bytes"}:
                numbers += 1
                assert encode_long(int(node.value or "")) == body[node.first : node.end]
    assert numbers > 300


@pytest.mark.slow
def test_cut_bytes_have_a_fault_at_the_cut_and_the_same_parts_before_it():
    for schema, body in messages(3, 80):
        whole = leaves(decoded(schema, body))
        for cut in range(len(body)):
            found = decoded(schema, body[:cut])
            check_partition(found, body[:cut])
            before = leaves(found)
            assert found.fault is not None
            assert before == whole[: len(before)]
            is_next = len(before) == len(whole) or whole[len(before)].end > cut
            assert is_next, "a part that is there is not listed"


@pytest.mark.slow
def test_damaged_bytes_are_read_as_fastavro_reads_them_or_have_a_fault():
    random, read, refused = Random(4), 0, 0
    for schema, body in messages(4, 600):
        data = damaged(random, body)
        found = decoded(schema, data)
        check_partition(found, data)
        if has_items_without_bytes(schema.root):
            continue  # fastavro may read such items for years
        try:
            got, end = read_by_fastavro(schema, data)
        except Exception:  # noqa: BLE001 - whatever it is, fastavro reads no value
            assert found.fault is not None
            refused += 1
            continue
        if found.fault is None:
            read += 1
            assert end == len(data) - found.rest
            assert found.value is not None
            assert is_same(schema.root, json.loads(found.value), got)
        else:
            assert not is_written_so(schema, got, data[:end]), (schema.text, data, found.fault)
    assert min(read, refused) > 50


def is_written_so(schema: AvroSchema, got: Any, data: bytes) -> bool:
    """Return whether fastavro writes a value with these bytes, so that a decoder may not refuse them."""
    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, spell_writer(schema.root), got)
    except Exception:  # noqa: BLE001 - it read what it does not write, such as an int of more than 32 bits
        return False
    return out.getvalue() == data


MOMENT = datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)
LOGICAL = [
    pytest.param({"type": "int", "logicalType": "date"}, date(2026, 3, 4), "2026-03-04", id="date"),
    pytest.param({"type": "int", "logicalType": "time-millis"}, time(5, 6, 7), "05:06:07", id="time"),
    pytest.param({"type": "long", "logicalType": "timestamp-millis"}, MOMENT, "2026-03-04T05:06:07.089Z", id="moment"),
    pytest.param(
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        Decimal("-12.30"),
        "-12.30",
        id="number",
    ),
    pytest.param(
        {"type": "fixed", "size": 4, "name": "D", "logicalType": "decimal", "precision": 4, "scale": 1},
        Decimal("1.5"),
        "1.5",
        id="fixed-number",
    ),
    pytest.param({"type": "string", "logicalType": "uuid"}, UUID(int=7), str(UUID(int=7)), id="uuid"),
]


@pytest.mark.parametrize(("document", "value", "text"), LOGICAL)
def test_a_value_with_a_logical_type_is_shown_by_its_meaning(document: Any, value: Any, text: str):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(document), value)
    found = decoded(parse_avro(json.dumps(document)), out.getvalue())
    assert found.value == json.dumps(text)
    assert document["logicalType"] in found.nodes[0].type


def test_a_number_that_is_no_date_is_shown_as_the_number():
    schema = parse_avro('{"type": "bytes", "logicalType": "decimal", "precision": 4}')
    body = encode_long(600) + bytes(600)
    assert decoded(schema, body).value == json.dumps(base64.b64encode(bytes(600)).decode())


RECORD = """{"type": "record", "name": "shop.Order", "fields": [
  {"name": "id", "type": "long"},
  {"name": "email", "type": ["null", "string"]},
  {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
  {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
    {"name": "price", "type": "int"}]}}},
  {"name": "attrs", "type": {"type": "map", "values": ["int", "long"]}}]}"""


def test_each_part_has_its_path_its_type_and_its_bytes():
    body = bytes.fromhex("0a 02 04 68 69 02 02 06 00 02 02 6b 02 05 00")
    found = decoded(parse_avro(RECORD), body)
    assert [(node.first, node.end, node.path, node.type, node.value, node.depth) for node in found.nodes] == [
        (0, 15, "", "record shop.Order", None, 0),
        (0, 1, "id", "long", "5", 1),
        (1, 2, "email", "branch of a union", '"string"', 1),
        (2, 5, "email<string>", "string", '"hi"', 1),
        (5, 6, "state", "enum shop.State", '"PAID"', 1),
        (6, 9, "lines", "array<record shop.Line>", None, 1),
        (6, 7, "lines", "number of items", "1", 2),
        (7, 8, "lines[0]", "record shop.Line", None, 2),
        (7, 8, "lines[0].price", "int", "3", 3),
        (8, 9, "lines", "end of the items", "0", 2),
        (9, 15, "attrs", "map<int | long>", None, 1),
        (9, 10, "attrs", "number of items", "1", 2),
        (10, 12, "attrs{k}", "key of a map", '"k"', 2),
        (12, 13, "attrs{k}", "branch of a union", '"long"', 2),
        (13, 14, "attrs{k}<long>", "long", "-3", 2),
        (14, 15, "attrs", "end of the items", "0", 2),
    ]
    assert (
        found.value
        == '{"id": 5, "email": "hi", "state": "PAID", "lines": [{"price": 3}], "attrs": {"k": {"long": -3}}}'
    )


@pytest.mark.parametrize(
    ("document", "body", "offset", "expected"),
    [
        ('"boolean"', "02", 0, "0x00 or 0x01"),
        ('"int"', "8080808010", 0, "an int of 32 bits"),
        ('"long"', "ff" * 11, 0, "a number (long)"),
        ('"string"', "01", 0, "the size of a string, 0 or more"),
        ('"string"', "04ff61", 1, "text in UTF-8"),
        ('"bytes"', "0a6162", 1, "the bytes announced"),
        ('"double"', "0000", 0, "the 8 bytes of a double"),
        ('["null", "int"]', "04", 0, "a number from 0 to 1"),
        ('{"type": "enum", "name": "E", "symbols": ["A"]}', "02", 0, "a number from 0 to 0"),
        ('{"type": "array", "items": "int"}', "0202", 2, "the number of items of a block, or 0 at the end"),
        ('{"type": "array", "items": "int"}', "010100", 1, "the size of a block in bytes, 0 or more"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_be_right(document: str, body: str, offset: int, expected: str):
    found = decoded(parse_avro(document), bytes.fromhex(body))
    assert found.fault is not None
    assert (found.fault.offset, found.fault.expected) == (offset, expected)
    assert found.value is None


def test_a_list_that_holds_itself_ends_at_the_largest_depth():
    schema = parse_avro('{"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}')
    deep = decoded(schema, b"\x02" * 10_000 + b"\x00")
    assert deep.fault is not None
    assert "deeper than 100 levels" in deep.fault.message
    shallow = decoded(schema, b"\x02" * 99 + b"\x00")
    assert (shallow.fault, shallow.rest) == (None, 0)


def test_bytes_behind_the_value_are_counted_and_are_no_fault():
    found = decoded(parse_avro('"int"'), b"\x02\x00\x00")
    assert (found.fault, found.rest, found.value) == (None, 2, "1")
