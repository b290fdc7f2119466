"""Field defaults: whether a JSON value can stand for a value of a type.

The rules are the reference registry's, a little wider than the specification's: a union's default may fit any branch,
an enum's or fixed's may be any string.

Source: Apache Avro 1.12 specification, "Complex Types", table of field default values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.types import Kind

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Json

_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63


def fits_default(avro_type: AvroType, value: Json) -> bool:
    """Whether ``value`` is a valid default of ``avro_type``."""
    match avro_type.kind:
        case Kind.NULL:
            return value is None
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.INT:
            return _is_integer(value, _INT_LIMIT)
        case Kind.LONG:
            return _is_integer(value, _LONG_LIMIT)
        case Kind.FLOAT | Kind.DOUBLE:
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case Kind.BYTES | Kind.STRING | Kind.FIXED | Kind.ENUM:
            return isinstance(value, str)
        case _:
            return _fits_container(avro_type, value)


def _fits_container(avro_type: AvroType, value: Json) -> bool:
    match avro_type.kind:
        case Kind.ARRAY:
            return isinstance(value, list) and all(fits_default(avro_type.items, item) for item in value)
        case Kind.MAP:
            return isinstance(value, dict) and all(fits_default(avro_type.values, item) for item in value.values())
        case Kind.UNION:
            return any(fits_default(branch, value) for branch in avro_type.branches)
        case _:
            return (
                isinstance(value, dict)
                and all(field.name in value or field.has_default for field in avro_type.fields)
                and all(
                    fits_default(field.type, value[field.name]) for field in avro_type.fields if field.name in value
                )
            )


def _is_integer(value: Json, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit


def describe_default(avro_type: AvroType) -> str:
    """What a default of this type looks like, for error messages."""
    words = {
        Kind.NULL: "null",
        Kind.BOOLEAN: "true or false",
        Kind.INT: "a whole number of 32 bits",
        Kind.LONG: "a whole number of 64 bits",
        Kind.FLOAT: "a number",
        Kind.DOUBLE: "a number",
        Kind.ARRAY: "an array of such items",
        Kind.MAP: "an object of such values",
        Kind.RECORD: "an object with a value for every field that has no default",
    }
    if avro_type.kind is Kind.UNION:
        return "a value of one of the branches"
    return words.get(avro_type.kind, "a string")
