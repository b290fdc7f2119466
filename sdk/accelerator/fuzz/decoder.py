"""A fuzz target for the accelerator: it and the generated Python code read the same bytes with the same result.

    make fuzz-accelerator [FUZZ_SECONDS=60] [SANITIZER=address]

Coverage-guided (atheris, libFuzzer) by the branches of the generated code, which has one meaning with the accelerator.
An input is the number of a schema and the bytes of a message. Both tiers must return the same value or raise the same
``DecodeError``, the columns of ``arrow()`` must accept the message exactly if it can be read, and both must write the
value again as the same bytes. The bytes are also read as a JSON text, with and without the accelerator.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import atheris

with atheris.instrument_imports(include=["counterfoil.sdk.serde.avro.coders"]):
    from counterfoil.sdk.errors import DecodeError, EncodeError, SerdeError
    from counterfoil.sdk.serde.arrow.avro_rows import AvroRowSource
    from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.sdk.serde.accelerator import REQUIRED, USED
from counterfoil.sdk.serde.json.coders import compile_decoder as compile_json_decoder
from counterfoil.sdk.serde.json.coders import compile_encoder as compile_json_encoder

if TYPE_CHECKING:
    from collections.abc import Callable

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


@dataclass(frozen=True)
class Tier:
    """The functions of one tier; ``write`` is None for a pair of schemas, of which it would need the reader's."""

    read: Any
    write: Any


@dataclass(frozen=True)
class Target:
    """Both tiers for one pair of schemas, and what makes rows with the accelerator, if its values are rows."""

    generated: Tier
    accelerated: Tier
    source: AvroRowSource | None


def tier(name: str, compiled: Callable[[], Tier]) -> Tier:
    """Return the functions that are compiled with the accelerator ``on`` or ``off``."""
    os.environ.update({USED: name, REQUIRED: "1"})
    return compiled()


def avro_target(writer: Any, reader: Any) -> Target:
    """Return the target of a pair of schemas."""
    schemas = parse_avro(json.dumps(writer)), parse_avro(json.dumps(reader)) if reader else None

    def compiled() -> Tier:
        return Tier(compile_decoder(*schemas, whole=True), compile_encoder(schemas[0]) if reader is None else None)

    target = Target(
        tier("off", compiled), tier("on", compiled), None if writer is CHAIN else AvroRowSource(*schemas, whole=True)
    )
    if target.source is not None:
        target.source.rows()  # compiled now, by this tier
    return target


def json_target() -> Target:
    """Return the target of JSON texts, which are not validated."""

    def compiled() -> Tier:
        return Tier(compile_json_decoder(None), compile_json_encoder(None))

    return Target(tier("off", compiled), tier("on", compiled), None)


TARGETS = [*(avro_target(*pair) for pair in PAIRS), json_target()]


def outcome(work: Callable[..., Any], *arguments: Any) -> tuple[str, Any]:
    """Return the result as text and itself, or the error and its place as text."""
    try:
        result = work(*arguments)
    except (DecodeError, EncodeError) as error:
        return f"{error} at {getattr(error, 'offset', None)}, {error.path}", None
    return repr(result), result


def compared(one: Callable[..., Any], other: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result that both functions have; None if they raise the same error."""
    (expected, result), (found, _) = outcome(one, *arguments), outcome(other, *arguments)
    if found != expected:
        raise AssertionError(f"{found}\n!= {expected}")
    return result


def read(data: bytes) -> None:
    """Compare the tiers on one input."""
    if not data:
        return
    target = TARGETS[data[0] % len(TARGETS)]
    body = data[1:]
    value = compared(target.generated.read, target.accelerated.read, body, 0)
    if target.generated.write is not None and value is not None:
        compared(target.generated.write, target.accelerated.write, value, b"")
    if target.source is not None:
        compare_rows(target.source, body)


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
