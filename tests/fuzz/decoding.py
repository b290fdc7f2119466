"""Bytes of messages as fuzzing's input: the tiers of the Avro codec must return the same value or the same error.

The first byte of an input chooses the schemas and whether bytes may be left behind the value; the rest is the message.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from strategies.avro.codec_outcomes import of_each_tier, outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class TiersDiffer(AssertionError):
    """Two tiers make different things of one input."""


def _record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _logical(base: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


_SCALARS: Final = _record(
    {"name": "flag", "type": "boolean"},
    {"name": "count", "type": "int"},
    {"name": "total", "type": "long"},
    {"name": "ratio", "type": "float"},
    {"name": "share", "type": "double"},
    {"name": "text", "type": "string"},
    {"name": "raw", "type": "bytes"},
    {"name": "pair", "type": {"type": "fixed", "name": "Pair", "size": 2}},
    {"name": "size", "type": {"type": "enum", "name": "Size", "symbols": ["S", "M", "L"], "default": "S"}},
)
_SCALAR: Final = {
    "flag": True,
    "count": -1,
    "total": 2**40,
    "ratio": 0.5,
    "share": 0.1,
    "text": "ä",
    "raw": b"\0",
    "pair": b"ab",
    "size": "L",
}
_LOGICAL: Final = _record(
    {"name": "day", "type": _logical("int", "date")},
    {"name": "clock", "type": _logical("int", "time-millis")},
    {"name": "at", "type": _logical("long", "timestamp-micros")},
    {"name": "local", "type": _logical("long", "local-timestamp-millis")},
    {"name": "nanos", "type": _logical("long", "timestamp-nanos")},
    {"name": "price", "type": _logical("bytes", "decimal", precision=9, scale=2)},
    {"name": "wide", "type": _logical("bytes", "decimal", precision=60, scale=30)},
    {"name": "id", "type": _logical("string", "uuid")},
    {"name": "key", "type": {"type": "fixed", "name": "Key", "size": 16, "logicalType": "uuid"}},
)
_MOMENT: Final = dt.datetime(2024, 2, 29, 1, 2, 3, 4000, dt.UTC)
_LOGICAL_VALUE: Final = {
    "day": _MOMENT.date(),
    "clock": _MOMENT.time(),
    "at": _MOMENT,
    "local": _MOMENT.replace(tzinfo=None),
    "nanos": 1,
    "price": Decimal("-1.23"),
    "wide": Decimal(1),
    "id": UUID(int=7),
    "key": UUID(int=8),
}
_TREE: Final = _record(
    {"name": "kids", "type": {"type": "array", "items": "Node"}},
    {"name": "notes", "type": {"type": "map", "values": ["null", "int", "string"]}},
    {"name": "nulls", "type": {"type": "array", "items": "null"}},
    {"name": "next", "type": ["null", "Node"]},
    name="Node",
)
_LEAF: Final = {"kids": [], "notes": {"a": None, "b": 1, "c": "x"}, "nulls": [None], "next": None}
_EVOLVED: Final = _record(
    {"name": "share", "type": ["null", "double"]},
    {"name": "sum", "type": "double", "aliases": ["total"]},
    {"name": "added", "type": {"type": "array", "items": "int"}, "default": [1]},
    {"name": "size", "type": {"type": "enum", "name": "Size", "symbols": ["S", "XL"], "default": "S"}},
    {"name": "raw", "type": "string"},
)
_SHORT: Final = _record({"name": "next", "type": ["null", "Node"]}, name="Node")

_CASES: Final[tuple[tuple[Any, Any, Any], ...]] = (
    (_SCALARS, None, _SCALAR),
    (_LOGICAL, None, _LOGICAL_VALUE),
    (_TREE, None, {**_LEAF, "kids": [_LEAF, _LEAF], "next": _LEAF}),
    (_SCALARS, _EVOLVED, _SCALAR),
    (_LOGICAL, _record(), _LOGICAL_VALUE),
    (_TREE, _SHORT, {**_LEAF, "kids": [_LEAF], "next": _LEAF}),
    (_logical("bytes", "decimal", precision=9), None, Decimal(1)),
    ({"type": "map", "values": _SCALARS}, {"type": "map", "values": _EVOLVED}, {"k": _SCALAR}),
)
"""Writer, reader if any, and a value."""


def compare_tiers(data: bytes) -> None:
    """Read one input in every tier. Raises ``TiersDiffer``."""
    chosen, message = data[:1] or b"\0", data[1:]
    case, whole = divmod(chosen[0], 2)
    decoders = _decoders(case % len(_CASES), whole=bool(whole))
    outcomes = {name: outcome(lambda decode=decode: decode(message, 0)) for name, decode in decoders.items()}
    if len(set(outcomes.values())) > 1:
        raise TiersDiffer(f"{outcomes}")


def messages() -> Iterator[bytes]:
    """Return a valid input for every case."""
    for number, (writer, _, value) in enumerate(_CASES):
        for whole in (0, 1):
            yield bytes([2 * number + whole]) + compile_encoder(parse_avro(json.dumps(writer)))(value)


@cache
def _decoders(number: int, *, whole: bool) -> Mapping[str, Callable[[bytes, int], Any]]:
    writer, reader, _ = _CASES[number]
    schema = parse_avro(json.dumps(writer))
    other = parse_avro(json.dumps(reader)) if reader else None
    return of_each_tier(lambda: compile_decoder(schema, other, whole=whole))
