"""Schemas of shapes in Avro, and their records by fastavro."""

from __future__ import annotations

import io
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import fastavro

from strategies.fleets.samples import without_absent
from strategies.fleets.shapes import LOGICAL, Shape

if TYPE_CHECKING:
    from strategies.fleets.shapes import Field

NAME: Final = "AVRO"
KINDS: Final = (
    "string", "bytes", "boolean", "int", "long", "float", "double", "timestamp-millis", "timestamp-micros", "date",
)  # fmt: skip
_DEFAULTS: Final[dict[str, Any]] = {
    "string": "x", "bytes": "b", "boolean": False, "int": 5, "long": 5, "float": 5.0, "double": 5.0,
}  # fmt: skip


def text(shape: Shape) -> str:
    """Return the text of a schema."""
    return json.dumps(_type(shape, set(), is_logical=True))


def _type(shape: Shape, known: set[str], *, is_logical: bool) -> Any:
    found: Any
    if shape.kinds:
        found = [*shape.kinds]
    elif shape.name and shape.name in known:
        found = shape.name
    elif shape.kind == "record":
        known.add(shape.name)
        fields = [_field(each, known, is_logical=is_logical) for each in shape.fields]
        found = {"type": "record", "name": shape.name, "fields": fields}
    elif shape.symbols:
        known.add(shape.name)
        fallback = {"default": shape.fallback} if shape.fallback else {}
        found = {"type": "enum", "name": shape.name, "symbols": [name for name, _ in shape.symbols], **fallback}
    elif shape.item is not None:
        inside = _type(shape.item, known, is_logical=is_logical)
        found = {"type": "array", "items": inside} if shape.kind == "array" else {"type": "map", "values": inside}
    elif shape.kind in LOGICAL:
        base = LOGICAL[shape.kind]
        found = {"type": base, "logicalType": shape.kind} if is_logical else base
    else:
        found = shape.kind
    if shape.is_nullable:
        return ["null", *found] if isinstance(found, list) else ["null", found]
    return found


def _field(field: Field, known: set[str], *, is_logical: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"name": field.name, "type": _type(field.shape, known, is_logical=is_logical)}
    if has_default(field):
        made["default"] = _default(field.shape)
    if field.aliases:
        made["aliases"] = [*field.aliases]
    return made


def has_default(field: Field) -> bool:
    """Return whether a reader has a default for the field; a record has none here."""
    return field.has_default and (field.shape.is_nullable or field.shape.kind != "record")


def _default(shape: Shape) -> Any:
    if shape.is_nullable:
        return None
    if shape.item is not None:
        return [] if shape.kind == "array" else {}
    if shape.symbols:
        return shape.symbols[0][0]
    kind = shape.kinds[0] if shape.kinds else shape.kind
    return _DEFAULTS[LOGICAL.get(kind, kind)]


@lru_cache(4096)
def _parsed(shape: Shape) -> Any:
    """Return the schema for fastavro; logical types are compared by the judge, and not by the values of Python."""
    return fastavro.parse_schema(_type(shape, set(), is_logical=False))


def written(shape: Shape, value: Any) -> bytes:
    """Return the bytes of a record."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, _parsed(shape), without_absent(value))
    return stream.getvalue()


def read(data: bytes, writer: Shape, reader: Shape) -> Any:
    """Return the record in ``data``, resolved to the reader's schema."""
    with_schema = None if reader == writer else _parsed(reader)
    return fastavro.schemaless_reader(io.BytesIO(data), _parsed(writer), with_schema)
