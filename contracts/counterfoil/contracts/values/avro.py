"""Avro's values as JSON.

=======================================  ===========================================================================
type                                     JSON
=======================================  ===========================================================================
null, boolean, int, long, string, enum   the value
float, double                            a number, or the text ``NaN``, ``Infinity`` or ``-Infinity``
bytes, fixed, duration                   base64
decimal, uuid                            a text
date, time-…, timestamp-…                ISO 8601; a timestamp with its zone, a local timestamp without
array, map, record                       an array, an object, an object
union of null and one type               null, or the value
union of types with different JSON       the value
other unions                             ``null``, or an object with one key, the name of the type: ``{"int": 5}``
=======================================  ===========================================================================

Two types have different JSON if no value of one looks like one of the other: both ``bytes`` and ``string`` are texts,
two records are both objects, and a double may be a text. Values in nanoseconds are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final
from uuid import UUID

from counterfoil.contracts.values import misfit_at_top, read_bytes, read_real, shown_bytes, shown_real
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    branch_name,
)
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde import misfit, placed
from counterfoil.sdk.serde.avro.coders import compile_hinted_decoder
from counterfoil.sdk.serde.avro.encode_walk import EncodeWalk, describe
from counterfoil.sdk.serde.avro.logical_types import conversion_of
from counterfoil.sdk.serde.avro.values import branch_named, is_optional
from counterfoil.sdk.serde.codec import AnyCodec, Decode

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


_NANOSECONDS: Final = re.compile(r"[.,]\d{6}\d*[1-9]")
"""Digits below microseconds, which Python would drop without an error."""


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(_in_microseconds(text))


def _time_of_day(text: str) -> time:
    return time.fromisoformat(_in_microseconds(text))


def _in_microseconds(text: str) -> str:
    if _NANOSECONDS.search(text):
        raise misfit("at most six digits of a second, since Python has microseconds", text)
    return text


_TEXT_FORM: Final[dict[type, tuple[Callable[[Datum], str], Callable[[str], Datum]]]] = {
    datetime: (datetime.isoformat, _instant),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, _time_of_day),
    Decimal: (str, Decimal),
    UUID: (str, UUID),
}
"""How the values of logical types are written as texts and read; the others are written as their base type's values."""

_JSON_TYPES: Final = {
    AvroKind.NULL: {"null"},
    AvroKind.BOOLEAN: {"boolean"},
    AvroKind.INT: {"number"},
    AvroKind.LONG: {"number"},
    AvroKind.FLOAT: {"number", "string"},
    AvroKind.DOUBLE: {"number", "string"},
    AvroKind.BYTES: {"string"},
    AvroKind.STRING: {"string"},
    AvroKind.FIXED: {"string"},
    AvroKind.ENUM: {"string"},
    AvroKind.ARRAY: {"array"},
    AvroKind.MAP: {"object"},
    AvroKind.RECORD: {"object"},
}
_PYTHON_TYPES: Final = {
    "null": type(None),
    "boolean": bool,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}


class AvroForm:
    """The form of Avro's values."""

    options: Final[Mapping[str, Datum]] = {}

    def decoder(self, codec: AnyCodec, writer: AvroSchema, reader: AvroSchema | None, suffix: bytes) -> Decode:
        """Return a function that reads data as JSON."""
        del codec, suffix
        read = compile_hinted_decoder(writer, reader)
        root = (reader or writer).root

        def decode(data: bytes, offset: int, /) -> Datum:
            return _shown(root, read(data, offset))

        return decode

    def value(self, parsed: AvroSchema, given: object, message: str | None = None) -> Datum:
        """Return the value for an encoder; a value of a union has the hint that names its type."""
        del message
        try:
            return _value(parsed.root, given)
        except EncodeError as error:
            raise misfit_at_top(error) from None
        except RecursionError:
            raise misfit_at_top(misfit("a value that is nested less deeply", given)) from None


def _shown(node: AvroType, value: Datum) -> Datum:
    """Return the JSON of a value that may have hints."""
    match node:
        case AvroUnion():
            return _shown_branch(node, value)
        case AvroRecord():
            return {field.name: _shown(field.type, value[field.name]) for field in node.fields}
        case AvroArray():
            return [_shown(node.items, item) for item in value]
        case AvroMap():
            return {key: _shown(node.values, item) for key, item in value.items()}
    conversion = conversion_of(node)
    if conversion is not None and type(value) in _TEXT_FORM:
        return _TEXT_FORM[type(value)][0](value)
    base = value if conversion is None else conversion.encode(value)
    if isinstance(base, bytes):
        return shown_bytes(base)
    return shown_real(base) if isinstance(base, float) else base


def _shown_branch(union: AvroUnion, value: object) -> Datum:
    if value is None:
        return None
    if isinstance(value, tuple):
        name, value = value
        branch = union.branches[branch_named(union, name) or 0]
    else:  # the only type besides null, or a default of the reader's, which no message names
        branch = union.branches[EncodeWalk(strict=True, exact=False).choose(union, value)[0]]
    shown = _shown(branch, value)
    return {branch_name(branch): shown} if is_named(union) else shown


def is_named(union: AvroUnion) -> bool:
    """Return whether two types of the union have the same JSON."""
    types = [name for branch in union.branches for name in _json_types(branch)]
    return not is_optional(union) and len(types) != len(set(types))


def _json_types(node: AvroType) -> set[str]:
    conversion = conversion_of(node)
    return {"string"} if conversion is not None and conversion.native in _TEXT_FORM else _JSON_TYPES[node.kind]


def _value(node: AvroType, given: object) -> Datum:
    match node:
        case AvroUnion():
            return _branch_value(node, given)
        case AvroRecord():
            return _record_value(node, given)
        case AvroArray():
            if not isinstance(given, list):
                raise misfit("an array", given)
            return [_under(f"[{index}]", node.items, item) for index, item in enumerate(given)]
        case AvroMap():
            if not isinstance(given, dict):
                raise misfit("an object", given)
            return {key: _under(f"[{key!r}]", node.values, item) for key, item in given.items()}
    return _scalar(node, given)


def _under(part: str, node: AvroType, given: object) -> Datum:
    try:
        return _value(node, given)
    except EncodeError as error:
        raise placed(error, part) from None


def _record_value(record: AvroRecord, given: object) -> dict[str, Datum]:
    if not isinstance(given, dict):
        raise misfit(f"an object ({record.full_name})", given)
    names = {field.name for field in record.fields}
    for key in given:
        if key not in names:
            raise misfit(f"only fields of {record.full_name}", key)
    for field in record.fields:
        if field.name not in given and not field.has_default:
            expected = f"{describe(field.type)}, since the field has no default"
            raise EncodeError(f"expected {expected}; got nothing", path=field.name, expected=expected, got="nothing")
    return {
        field.name: _under(field.name, field.type, given[field.name]) for field in record.fields if field.name in given
    }


def _branch_value(union: AvroUnion, given: Datum) -> Datum:
    if is_named(union):
        if given is None and branch_named(union, "null") is not None:
            return None
        names = [branch_name(branch) for branch in union.branches]
        index = branch_named(union, next(iter(given))) if isinstance(given, dict) and len(given) == 1 else None
        if index is None:
            raise misfit(f"null or an object with one key, the name of the type: {', '.join(names)}", given)
        return names[index], _under(names[index], union.branches[index], given[names[index]])
    named = _in_avro_json(union, given)
    for branch in union.branches:
        if any(_is_json(given, name) for name in _json_types(branch)):
            try:
                return _as_branch(union, branch, given)
            except EncodeError:
                if named is None:
                    raise
    if named is None:
        raise misfit(" or ".join(map(describe, union.branches)), given)
    return _as_branch(union, named, next(iter(given.values())))


def _as_branch(union: AvroUnion, branch: AvroType, given: object) -> Datum:
    value = _value(branch, given)
    return value if is_optional(union) else (branch_name(branch), value)


def _in_avro_json(union: AvroUnion, given: object) -> AvroType | None:
    """Return the branch that an object with one key names, which is how Avro's own JSON writes values of unions."""
    name = next(iter(given)) if isinstance(given, dict) and len(given) == 1 else None
    index = branch_named(union, name) if isinstance(name, str) else None
    return None if index is None else union.branches[index]


def _is_json(given: object, name: str) -> bool:
    return isinstance(given, _PYTHON_TYPES[name]) and (name == "boolean" or not isinstance(given, bool))  # type: ignore[arg-type] # a type or a tuple of types


def _scalar(node: AvroType, given: object) -> Datum:
    conversion = conversion_of(node)
    if conversion is not None and conversion.native in _TEXT_FORM and isinstance(given, str):
        return _logical(node, conversion.native, conversion.expected, given)
    if node.kind in (AvroKind.BYTES, AvroKind.FIXED) and conversion is not None and conversion.native is Decimal:
        return _logical(node, Decimal, conversion.expected, repr(given))
    if node.kind in (AvroKind.BYTES, AvroKind.FIXED):
        return read_bytes(given)
    if node.kind in (AvroKind.FLOAT, AvroKind.DOUBLE):
        given = read_real(given)
    try:
        EncodeWalk(strict=True).write(node, given)
    except EncodeError as error:
        raise misfit(error.expected or describe(node), given) from None
    return given


def _logical(node: AvroType, native: type, expected: str, text: str) -> Datum:
    try:
        value = _TEXT_FORM[native][1](text)
    except (ValueError, InvalidOperation):
        raise misfit(f"the text of {expected}", text) from None
    logical = node.logical_type.name if node.logical_type else ""
    if isinstance(value, datetime) and logical.startswith("timestamp") and value.tzinfo is None:
        raise misfit("a time with its zone, such as 2026-01-31T12:00:00+00:00", text)
    return value
