"""What decoding costs, in steps and memory: bounded by the size of the bytes, whatever they announce."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema.decoding import NO_FRAME, DecodingLimits, DecodingQuestion, decode_bytes
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.sdk.serde.avro.numbers import encode_long
from strategies.languages.decoded import version

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema

MANY = 100_000
EMPTY = '{"type": "record", "name": "E", "fields": []}'
LONG_NAME = "n" * 2_000


def array_of(items: str) -> ParsedSchema:
    return parse_schema(f'{{"type": "array", "items": {items}}}')


def test_items_without_bytes_end_by_the_steps():
    for items in ('"null"', EMPTY, '{"type": "fixed", "name": "F", "size": 0}'):
        for count in (2**60, 10**6):
            found = decode_bytes(DecodingQuestion(encode_long(count) + b"\x00", NO_FRAME, writer=array_of(items)))
            assert found.fault is not None
            assert "more than can be decoded here" in found.fault.message
            assert len(found.nodes) <= 2


@pytest.mark.slow
def test_items_without_bytes_inside_one_another_end_by_the_steps():
    inner = '{"type": "array", "items": "null"}'
    body = encode_long(3_000) + (encode_long(100) + b"\x00") * 3_000 + b"\x00"
    found = decode_bytes(DecodingQuestion(body, NO_FRAME, writer=array_of(inner)))
    assert found.fault is not None
    assert len(found.nodes) + found.nodes_left < 200_000 + 2 * len(body)


def test_each_part_takes_a_step():
    limits = DecodingLimits(nodes=10, steps=100)
    body = encode_long(98) + b"\x02" * 98 + b"\x00"
    found = decode_bytes(DecodingQuestion(body, NO_FRAME, writer=array_of('"int"')), limits)
    assert found.fault is not None
    assert (len(found.nodes), len(found.nodes) + found.nodes_left) == (10, 100)
    enough = decode_bytes(
        DecodingQuestion(body, NO_FRAME, writer=array_of('"int"')), DecodingLimits(nodes=10, steps=101)
    )
    assert enough.fault is None


RECORD = json.dumps({"type": "record", "name": "R", "fields": [{"name": LONG_NAME, "type": "boolean"}]})
PROTO = 'syntax = "proto3"; message A { repeated bool b = 1; repeated A a = 2; }'
LARGE = [
    pytest.param(array_of('"boolean"'), encode_long(MANY) + b"\x01" * MANY + b"\x00", id="items"),
    pytest.param(array_of(RECORD), encode_long(MANY) + b"\x01" * MANY + b"\x00", id="records-with-long-names"),
    pytest.param(parse_schema('"string"'), encode_long(MANY) + b"\x01" * MANY, id="text"),
    pytest.param(parse_schema('"bytes"'), encode_long(MANY) + b"\x01" * MANY, id="bytes"),
    pytest.param(parse_schema(PROTO, SchemaType.PROTOBUF), b"\x0a\xa0\x8d\x06" + b"\x01" * MANY, id="packed"),
    pytest.param(parse_schema(PROTO, SchemaType.PROTOBUF), b"\x12\x00" * (MANY // 2), id="messages"),
    pytest.param(parse_schema(PROTO, SchemaType.PROTOBUF), b"\x18\x00" * (MANY // 2), id="unknown"),
    pytest.param(parse_schema("{}", SchemaType.JSON), b"[" + b"1," * (MANY // 2) + b"1]", id="json-items"),
    pytest.param(parse_schema("{}", SchemaType.JSON), b'{"' + b"k" * MANY + b'": [[[[1]]]]}', id="json-name"),
    pytest.param(parse_schema("{}", SchemaType.JSON), b'"' + b"\\u0001" * (MANY // 6) + b'"', id="json-text"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "body"), LARGE)
def test_large_bytes_take_memory_in_proportion_to_their_size(schema: ParsedSchema, body: bytes):
    tracemalloc.start()
    try:
        found = decode_bytes(DecodingQuestion(body, NO_FRAME, writer=schema))
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.fault, found.rest) == (None, 0)
    assert most_bytes < 4_000_000 + 60 * len(body)
    assert len(found.nodes) <= 2_000
    assert sum(len(node.path) + len(node.value or "") for node in found.nodes) < 3_000_000
    assert found.value is None or len(found.value) < 300_000


@pytest.mark.slow
def test_a_reader_is_not_asked_about_a_value_with_very_many_parts():
    fields = [{"name": f"f{at}", "type": "int", "default": 0} for at in range(99)]
    narrow, wide = ({"type": "record", "name": "R", "fields": each} for each in ([], fields))
    writer, reader = array_of(json.dumps(narrow)), array_of(json.dumps(wide))
    body = encode_long(MANY) + b"\x00"
    found = decode_bytes(DecodingQuestion(body, NO_FRAME, writer=writer, reader=version(1, reader)))
    assert found.reader is not None
    assert found.reader.fault == "the value has too many parts to be read with another schema here"
