"""Bytes that are decoded part by part as fuzzing's input: faults are values, and the parts are the bytes in order.

The first byte of an input chooses the schema; the rest is the body.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from counterfoil.schema.decoding import DecodingQuestion, decode_bytes, find_frame
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from strategies.languages.decoded import check_partition, decoded, version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.schema.parsed import ParsedSchema

SCHEMAS: Final[Mapping[SchemaType, Sequence[str]]] = {
    SchemaType.AVRO: (
        """{"type": "record", "name": "A", "fields": [
            {"name": "next", "type": ["null", "A"]},
            {"name": "mail", "type": "string", "confluent:tags": ["PII"]},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 3}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "size", "type": {"type": "enum", "name": "E", "symbols": ["S", "M"]}},
            {"name": "rows", "type": {"type": "array", "items": {"type": "map", "values": ["int", "long", "double"]}}},
            {"name": "none", "type": {"type": "array", "items": "null"}}]}""",
        '{"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}',
        '["null", "boolean", "float", {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}]',
    ),
    SchemaType.PROTOBUF: (
        """syntax = "proto2"; message A {
            optional A next = 1; required int32 n = 2; map<string, A> rows = 3;
            repeated sint64 many = 4 [packed = true];
            optional group G = 5 { optional bytes raw = 1; } oneof o { string s = 6; fixed64 f = 7; }
            optional E size = 8; enum E { S = 0; M = 3; } }""",
        'syntax = "proto3"; message A { repeated A a = 1; string s = 2; }',
    ),
    SchemaType.JSON: (
        '{"properties": {"a": {"type": "integer"}, "mail": {"confluent:tags": ["PII"]}}, "additionalProperties": {}}',
        '{"items": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}, {"$ref": "#"}]}}',
    ),
}
BODIES: Final[Mapping[SchemaType, Sequence[bytes]]] = {
    SchemaType.AVRO: (
        bytes.fromhex("00 00 02 6d 04 04d2 80a0d5edee66 02 02 02 02 6b 02 05 00 00 06 00"),
        b"\x06\x00",
        b"\x06" + bytes(12),
    ),
    SchemaType.PROTOBUF: (
        bytes.fromhex("00 0a0210001007 1a07 0a016b 12021001 2203 010203 2b 0a01ff 2c 320178 4003"),
        bytes.fromhex("01 0a04 0a00 1200 12016b"),
    ),
    SchemaType.JSON: (b'\x00{"a": 1, "mail": "x\\u00e9", "c": [1.5e3, null, true]}', b'\x01["a", null, ["abc"]]'),
}


@cache
def _schemas(schema_type: SchemaType) -> Sequence[ParsedSchema]:
    return [parse_schema(text, schema_type) for text in SCHEMAS[schema_type]]


def check_parts(schema_type: SchemaType, data: bytes) -> None:
    """Decode a body with all its parts, withheld and shown, as the body of another schema, and with whatever frame."""
    schemas = _schemas(schema_type)
    schema, body = schemas[(data[0] if data else 0) % len(schemas)], data[1:]
    for shows in (False, True):
        check_partition(decoded(schema, body, shows_masked=shows, reader=version(1, schemas[0])), body)
    decode_bytes(DecodingQuestion(data, find_frame(data), writer=schema))
    named = [version(number, each) for number, each in enumerate(schemas)]
    decode_bytes(DecodingQuestion(body, find_frame(data), candidates=named))


def bodies(schema_type: SchemaType) -> Iterator[bytes]:
    """Inputs to begin with."""
    yield from BODIES[schema_type]
