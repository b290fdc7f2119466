"""A fuzz target for the accelerator: it and the generated Python code read the same bytes with the same result.

    make fuzz-accelerator [FUZZ_SECONDS=60]

Coverage-guided (atheris, libFuzzer) by the branches of the generated code, which has one meaning with the accelerator.
An input is the number of a schema and the bytes of a message. Both tiers must return the same value or raise the same
``DecodeError``, and the columns of ``arrow()`` must accept the message exactly if it can be read.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import atheris

with atheris.instrument_imports(include=["counterfoil.sdk.serde.avro_codec"]):
    from counterfoil.sdk.errors import DecodeError, SerdeError
    from counterfoil.sdk.serde.arrow.avro_rows import AvroRowSource
    from counterfoil.sdk.serde.avro_codec import compile_decoder

from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.sdk.serde.tier import REQUIRED, USED

PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [{"name": "lat", "type": "double"}, {"name": "names", "type": {"type": "array", "items": "string"}}],
}
ALL = {
    "type": "record",
    "name": "All",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "number", "type": "int"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "data", "type": "bytes"},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 3}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["A", "B"]}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "places", "type": {"type": "array", "items": PLACE}},
        {"name": "labels", "type": {"type": "map", "values": ["null", "long", "Place"]}},
        {"name": "nothing", "type": {"type": "array", "items": "null"}},
    ],
}
LATER = {
    "type": "record",
    "name": "All",
    "fields": [
        {"name": "number", "type": "double"},
        {"name": "text", "type": ["null", "string", "bytes"]},
        {"name": "places", "type": {"type": "array", "items": {**PLACE, "fields": PLACE["fields"][1:]}}},
        {"name": "added", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
    ],
}
CHAIN = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}
PAIRS: list[tuple[Any, Any]] = [
    (ALL, None),
    (ALL, LATER),
    (CHAIN, None),
    ("bytes", None),
    (["int", "string", PLACE], None),
]


def decoders(writer: Any, reader: Any) -> tuple[Any, Any, AvroRowSource | None]:
    """Return the decoder of each tier, and what makes rows with the accelerator."""
    schemas = parse_avro(json.dumps(writer)), parse_avro(json.dumps(reader)) if reader else None
    os.environ[USED] = "off"
    generated = compile_decoder(*schemas, whole=True)
    os.environ.update({USED: "on", REQUIRED: "1"})
    source = AvroRowSource(*schemas, whole=True) if writer is not CHAIN else None
    if source is not None:
        source.rows()  # compiled now, by this tier
    return generated, compile_decoder(*schemas, whole=True), source


TARGETS = [decoders(*pair) for pair in PAIRS]


def outcome(decode: Any, data: bytes) -> str:
    """Return the value, or the error and its place, as text."""
    try:
        return repr(decode(data, 0))
    except DecodeError as error:
        return f"{error} at {error.offset}, {error.path}"


def read(data: bytes) -> None:
    """Compare the tiers on one input."""
    if not data:
        return
    generated, accelerated, source = TARGETS[data[0] % len(TARGETS)]
    body = data[1:]
    expected = outcome(generated, body)
    found = outcome(accelerated, body)
    if found != expected:
        raise AssertionError(f"{found}\n!= {expected}")
    if source is not None:
        compare_rows(source, body)


def compare_rows(source: AvroRowSource, body: bytes) -> None:
    """Check that a message leaves columns that are valid, whether it is read or not."""
    rows = source.rows()
    try:
        if not rows.extend([body], 0, b""):
            rows.append(body, 0)
    except SerdeError:
        rows.append_null()
    table = rows.table(None)
    table.validate(full=True)
    if table.num_rows != 1:
        raise AssertionError(f"{table.num_rows} rows of one message")


if __name__ == "__main__":
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()
