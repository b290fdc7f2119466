"""The texts of types and values in descriptions of changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, assert_never

from counterfoil.schema.formats.avro.types import NO_DEFAULT, Array, Enum, Fixed, Map, Primitive, Record, Union

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Json


def type_words(avro_type: AvroType) -> str:
    """Return the type in one line: ``null | string``, ``array<Item>``, ``decimal(9, 2) as bytes``, ``enum Status``."""
    words = _bare_words(avro_type)
    logical = avro_type.logical_type
    if logical is None:
        return words
    digits = f"({logical.precision}, {logical.scale})" if logical.precision is not None else ""
    return f"{logical.name}{digits} as {words}"


def _bare_words(avro_type: AvroType) -> str:
    match avro_type:
        case Primitive():
            return avro_type.kind.value
        case Array():
            return f"array<{type_words(avro_type.items)}>"
        case Map():
            return f"map<{type_words(avro_type.values)}>"
        case Union():
            return " | ".join(type_words(branch) for branch in avro_type.branches) or "empty union"
        case Record() | Enum() | Fixed():
            return f"{avro_type.kind.value} {avro_type.full_name}"
        case _:
            assert_never(avro_type)


def json_words(value: Json) -> str | None:
    """Return the value as JSON with sorted keys; None for no default."""
    return None if value is NO_DEFAULT else json.dumps(value, ensure_ascii=False, sort_keys=True)
