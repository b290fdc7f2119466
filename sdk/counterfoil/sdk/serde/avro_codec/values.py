"""Field defaults as Python values: the values for fields that the writer does not have.

Source: Apache Avro 1.12 specification, "Complex Types": bytes and fixed defaults are strings whose code points 0 to
255 stand for bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.avro.types import Array, Kind, Map, Record, Union
from counterfoil.sdk.serde.avro_codec.logical import conversion_of
from counterfoil.sdk.serde.avro_codec.varint import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.formats.avro.types import AvroType, Enum, Fixed, Json

_FLOAT_WORDS = {"NaN": math.nan, "INF": math.inf, "Infinity": math.inf, "-INF": -math.inf, "-Infinity": -math.inf}


class InvalidDefault(Exception):
    """A default that is no value of its type; the caller names the field."""


def value_of_default(avro_type: AvroType, default: Json) -> Any:
    """Return the Python value of the JSON value ``default``, as the decoder would read it.

    Raises ``InvalidDefault``.
    """
    value = _BY_KIND[avro_type.kind](avro_type, default)
    conversion = conversion_of(avro_type)
    if conversion is None:
        return value
    try:
        return conversion.decode(value)
    except (ValueError, ArithmeticError, TypeError) as error:
        raise _invalid(avro_type, default) from error


def default_with_branches(avro_type: AvroType, default: Json, mark: Callable[[Union, int, Any], Any]) -> Any:
    """Return the value of a default like :func:`value_of_default`, with each value of a union marked.

    ``mark(union, index, value)`` returns what stands for a value of the branch with that index. Raises
    ``InvalidDefault``.
    """
    match avro_type, default:
        case Union(branches=branches), _:
            for index, branch in enumerate(branches):
                try:
                    value = default_with_branches(branch, default, mark)
                except InvalidDefault:
                    continue
                return mark(avro_type, index, value)
        case Array(items=items), list():
            return [default_with_branches(items, item, mark) for item in default]
        case Map(values=values), dict():
            return {key: default_with_branches(values, item, mark) for key, item in default.items()}
        case Record(fields=fields), dict() if all(field.name in default or field.has_default for field in fields):
            return {
                field.name: default_with_branches(field.type, default.get(field.name, field.default), mark)
                for field in fields
            }
    return value_of_default(avro_type, default)


def _invalid(avro_type: AvroType, default: Json) -> InvalidDefault:
    return InvalidDefault(f"the default {default!r} is no {avro_type.kind.value}")


def _null(avro_type: AvroType, default: Json) -> None:
    if default is not None:
        raise _invalid(avro_type, default)


def _boolean(avro_type: AvroType, default: Json) -> bool:
    if not isinstance(default, bool):
        raise _invalid(avro_type, default)
    return default


def _integer(avro_type: AvroType, default: Json) -> int:
    low, high = (INT_MIN, INT_MAX) if avro_type.kind is Kind.INT else (LONG_MIN, LONG_MAX)
    if isinstance(default, bool) or not isinstance(default, (int, float)) or not low <= default <= high:
        raise _invalid(avro_type, default)
    if default != int(default):
        raise _invalid(avro_type, default)
    return int(default)


def _real(avro_type: AvroType, default: Json) -> float:
    if isinstance(default, str) and default in _FLOAT_WORDS:
        return _FLOAT_WORDS[default]
    if isinstance(default, bool) or not isinstance(default, (int, float)):
        raise _invalid(avro_type, default)
    try:
        return float(default)
    except OverflowError as error:
        raise _invalid(avro_type, default) from error


def _bytes(avro_type: AvroType, default: Json) -> bytes:
    if not isinstance(default, str):
        raise _invalid(avro_type, default)
    try:
        return default.encode("latin-1")
    except UnicodeEncodeError as error:
        raise _invalid(avro_type, default) from error


def _fixed(avro_type: Fixed, default: Json) -> bytes:
    value = _bytes(avro_type, default)
    if len(value) != avro_type.size:
        raise _invalid(avro_type, default)
    return value


def _string(avro_type: AvroType, default: Json) -> str:
    if not isinstance(default, str):
        raise _invalid(avro_type, default)
    return default


def _enum(avro_type: Enum, default: Json) -> str:
    if not isinstance(default, str) or default not in avro_type.symbols:
        raise _invalid(avro_type, default)
    return default


def _array(avro_type: Array, default: Json) -> list[Any]:
    if not isinstance(default, list):
        raise _invalid(avro_type, default)
    return [value_of_default(avro_type.items, item) for item in default]


def _map(avro_type: Map, default: Json) -> dict[str, Any]:
    if not isinstance(default, dict):
        raise _invalid(avro_type, default)
    return {key: value_of_default(avro_type.values, item) for key, item in default.items()}


def _union(avro_type: Union, default: Json) -> Any:
    for branch in avro_type.branches:
        try:
            return value_of_default(branch, default)
        except InvalidDefault:
            continue
    raise _invalid(avro_type, default)


def _record(avro_type: Record, default: Json) -> dict[str, Any]:
    if not isinstance(default, dict):
        raise _invalid(avro_type, default)
    value = {}
    for field in avro_type.fields:
        if field.name not in default and not field.has_default:
            raise _invalid(avro_type, default)
        value[field.name] = value_of_default(field.type, default.get(field.name, field.default))
    return value


_BY_KIND: dict[Kind, Any] = {
    Kind.NULL: _null,
    Kind.BOOLEAN: _boolean,
    Kind.INT: _integer,
    Kind.LONG: _integer,
    Kind.FLOAT: _real,
    Kind.DOUBLE: _real,
    Kind.BYTES: _bytes,
    Kind.STRING: _string,
    Kind.FIXED: _fixed,
    Kind.ENUM: _enum,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.UNION: _union,
    Kind.RECORD: _record,
}
