"""Values of a schema: which branch of a union fits one, its name, defaults of fields, and fields that are left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.datum import Datum, Json
from counterfoil.schema.languages.avro.types import (
    NO_DEFAULT,
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    branch_name,
)
from counterfoil.sdk.serde.avro.logical_types import conversion_of
from counterfoil.sdk.serde.avro.numbers import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, Duration
from counterfoil.sdk.serde.avro.plan import TYPE_KEY

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


# Which branches of a union fit a Python value, and how closely.
#
# A branch whose own Python type the value has is preferred to one that would also accept it: text is a ``string``
# before it is an enum's symbol, a float is a ``double`` before it is a ``float``, a whole number is an ``int`` before
# it is a ``long``, a ``long`` before a ``double``, and a dict is the record with exactly its keys before one that would
# need defaults or leave keys out.

Rank: TypeAlias = tuple[int, ...]
"""How closely a branch fits a value; the smallest rank is the closest."""

_SAME: Final = (0,)
_OTHER: Final = (9,)

_RANK_BY_TYPE: Final[dict[type, dict[AvroKind, Rank]]] = {
    type(None): {AvroKind.NULL: _SAME},
    bool: {AvroKind.BOOLEAN: _SAME},
    int: {AvroKind.INT: (0,), AvroKind.LONG: (1,), AvroKind.DOUBLE: (2,), AvroKind.FLOAT: (3,)},
    float: {AvroKind.DOUBLE: (0,), AvroKind.FLOAT: (1,)},
    str: {AvroKind.STRING: (0,), AvroKind.ENUM: (1,)},
    bytes: {AvroKind.BYTES: (0,), AvroKind.FIXED: (1,)},
    list: {AvroKind.ARRAY: _SAME},
    dict: {AvroKind.RECORD: _SAME, AvroKind.MAP: _SAME},
}

_LOGICAL_FROM: Final[dict[type, tuple[type, ...]]] = {
    int: (date, datetime),
    str: (date,),
    bytes: (Decimal, Duration),
    datetime: (date, int),  # nanoseconds are read as int
}


def branch_named(union: AvroUnion, name: str) -> int | None:
    """Return the number of the branch that a hint names: a full name, or the kind of a type without one."""
    return next((index for index, branch in enumerate(union.branches) if name == branch_name(branch)), None)


def is_optional(union: AvroUnion) -> bool:
    """Return whether the union has at most one type besides null, so that its values need no hint."""
    return sum(branch.kind is not AvroKind.NULL for branch in union.branches) <= 1


def branch_by_type(union: AvroUnion) -> dict[type, int]:
    """Return the branch by Python type, for the types whose values fit only one branch."""
    natives = {conversion.native for branch in union.branches if (conversion := conversion_of(branch))}
    table: dict[type, int] = {}
    for python_type in (*_RANK_BY_TYPE, *natives):
        ranks = [(rank, index) for index, branch in enumerate(union.branches) if (rank := _rank(branch, python_type))]
        closest = min(ranks, default=None)
        if closest is not None and sum(rank == closest[0] for rank, _ in ranks) == 1:
            table[python_type] = closest[1]
    return table


def rank_of(branch: AvroType, value: object, *, strict: bool) -> Rank | None:
    """Return how closely the branch fits the value; None when it does not fit."""
    if isinstance(value, Mapping):
        if isinstance(branch, AvroRecord):
            return _rank_record(branch, value, strict=strict)
        return _SAME if branch.kind is AvroKind.MAP else None
    rank = _rank(branch, type(value))
    if rank is None and branch.kind is AvroKind.ARRAY and isinstance(value, Sequence):
        return None if isinstance(value, (str, bytes, bytearray, memoryview)) else _OTHER
    return rank or _rank_of_subclass(branch, value)


def _rank(branch: AvroType, python_type: type) -> Rank | None:
    conversion = conversion_of(branch)
    if conversion is None:
        return _RANK_BY_TYPE.get(python_type, {}).get(branch.kind)
    if python_type is conversion.native:
        return _SAME
    base = _RANK_BY_TYPE.get(python_type, {}).get(branch.kind)
    if base is not None:
        return (4, *base)
    return (5,) if conversion.native in _LOGICAL_FROM.get(python_type, ()) else None


def _rank_of_subclass(branch: AvroType, value: object) -> Rank | None:
    """Return the rank of a value whose type is not built in: a str enum, a number of another library."""
    if isinstance(value, bool):  # a subclass of int in Python, but not in Avro
        return None
    for python_type in type(value).__mro__[1:]:
        rank = _rank(branch, python_type)
        if rank is not None:
            return rank
    is_number = hasattr(value, "__index__") or hasattr(value, "__float__")
    return (
        _OTHER if is_number and branch.kind in (AvroKind.INT, AvroKind.LONG, AvroKind.FLOAT, AvroKind.DOUBLE) else None
    )


def _rank_record(record: AvroRecord, value: Mapping[object, object], *, strict: bool) -> Rank | None:
    names = {field.name for field in record.fields}
    keys = value.keys()
    if keys == names:
        return _SAME
    extra = keys - names
    if any(field.name not in value and not field.has_default for field in record.fields) or (extra and strict):
        return None
    return (6,) if not extra else (7, -len(keys & names))


# The names of records in unions, for rules: the fields of a value alone may not say which branch it is.
#
# Two records may have the same fields, and a map the keys of a record. Where a union has such branches, rules see the
# dicts of records with their full names, under the key of :data:`TYPE_KEY`; the program gets them without.

_DICTS: Final = (AvroRecord, AvroMap)


def needs_names(root: AvroType) -> bool:
    """Return whether a schema has a union with a record, and with another record or a map."""
    seen: set[str] = set()
    waiting = [root]
    while waiting:
        match waiting.pop():
            case AvroRecord() as record if record.full_name not in seen:
                seen.add(record.full_name)
                waiting += [field.type for field in record.fields]
            case AvroArray(items=inner) | AvroMap(values=inner):
                waiting.append(inner)
            case AvroUnion(branches=branches):
                dicts = [branch for branch in branches if isinstance(branch, _DICTS)]
                if len(dicts) > 1:
                    return True
                waiting += branches
    return False


def without_names(root: AvroType) -> Callable[[Datum], Datum]:
    """Return a function from values of a schema whose records have their names to values without names."""
    return lambda value: _bare(root, value)


def _bare(avro_type: AvroType, value: object) -> Datum:
    match avro_type:
        case AvroRecord() if isinstance(value, dict):
            types = {field.name: field.type for field in avro_type.fields}
            kept = ((name, item) for name, item in value.items() if name != TYPE_KEY)
            return {name: _bare(types[name], item) if name in types else item for name, item in kept}
        case AvroArray(items=items) if isinstance(value, list):
            return [_bare(items, item) for item in value]
        case AvroMap(values=values) if isinstance(value, dict):
            return {key: _bare(values, item) for key, item in value.items()}
        case AvroUnion(branches=branches) if isinstance(value, (dict, list)):
            branch = _branch(avro_type, branches, value)
            return value if branch is None else _bare(branch, value)
    return value


def _branch(union: AvroUnion, branches: Sequence[AvroType], value: dict[str, Datum] | list[Datum]) -> AvroType | None:
    if isinstance(value, list):
        return next((branch for branch in branches if isinstance(branch, AvroArray)), None)
    name = value.get(TYPE_KEY)
    index = branch_named(union, name) if isinstance(name, str) else None
    if index is not None:
        return branches[index]
    maps = (branch for branch in branches if isinstance(branch, AvroMap))
    return next(maps, None) or next((branch for branch in branches if _has_names(branch, value)), None)


def _has_names(branch: AvroType, value: dict[str, Datum]) -> bool:
    return isinstance(branch, AvroRecord) and value.keys() <= {field.name for field in branch.fields}


# Field defaults as Python values: the values for fields that the writer does not have.
#
# Source: Apache Avro 1.12 specification, "Complex Types": bytes and fixed defaults are strings whose code points 0 to
# 255 stand for bytes.

_FLOAT_WORDS = {"NaN": math.nan, "INF": math.inf, "Infinity": math.inf, "-INF": -math.inf, "-Infinity": -math.inf}


class InvalidDefault(Exception):
    """A default that is no value of its type; the caller names the field."""


def value_of_default(avro_type: AvroType, default: Json) -> Datum:
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


def default_with_branches(avro_type: AvroType, default: Json, mark: Callable[[AvroUnion, int, Datum], Datum]) -> Datum:
    """Return the value of a default like :func:`value_of_default`, with each value of a union marked.

    ``mark(union, index, value)`` returns what stands for a value of the branch with that index. Raises
    ``InvalidDefault``.
    """
    match avro_type, default:
        case AvroUnion(branches=branches), _:
            for index, branch in enumerate(branches):
                try:
                    value = default_with_branches(branch, default, mark)
                except InvalidDefault:
                    continue
                return mark(avro_type, index, value)
        case AvroArray(items=items), list():
            return [default_with_branches(items, item, mark) for item in default]
        case AvroMap(values=values), dict():
            return {key: default_with_branches(values, item, mark) for key, item in default.items()}
        case AvroRecord(fields=fields), dict() if all(field.name in default or field.has_default for field in fields):
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
    low, high = (INT_MIN, INT_MAX) if avro_type.kind is AvroKind.INT else (LONG_MIN, LONG_MAX)
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


def _fixed(avro_type: AvroFixed, default: Json) -> bytes:
    value = _bytes(avro_type, default)
    if len(value) != avro_type.size:
        raise _invalid(avro_type, default)
    return value


def _string(avro_type: AvroType, default: Json) -> str:
    if not isinstance(default, str):
        raise _invalid(avro_type, default)
    return default


def _enum(avro_type: AvroEnum, default: Json) -> str:
    if not isinstance(default, str) or default not in avro_type.symbols:
        raise _invalid(avro_type, default)
    return default


def _array(avro_type: AvroArray, default: Json) -> list[Datum]:
    if not isinstance(default, list):
        raise _invalid(avro_type, default)
    return [value_of_default(avro_type.items, item) for item in default]


def _map(avro_type: AvroMap, default: Json) -> dict[str, Datum]:
    if not isinstance(default, dict):
        raise _invalid(avro_type, default)
    return {key: value_of_default(avro_type.values, item) for key, item in default.items()}


def _union(avro_type: AvroUnion, default: Json) -> Datum:
    for branch in avro_type.branches:
        try:
            return value_of_default(branch, default)
        except InvalidDefault:
            continue
    raise _invalid(avro_type, default)


def _record(avro_type: AvroRecord, default: Json) -> dict[str, Datum]:
    if not isinstance(default, dict):
        raise _invalid(avro_type, default)
    value = {}
    for field in avro_type.fields:
        if field.name not in default and not field.has_default:
            raise _invalid(avro_type, default)
        value[field.name] = value_of_default(field.type, default.get(field.name, field.default))
    return value


_BY_KIND: dict[AvroKind, Datum] = {
    AvroKind.NULL: _null,
    AvroKind.BOOLEAN: _boolean,
    AvroKind.INT: _integer,
    AvroKind.LONG: _integer,
    AvroKind.FLOAT: _real,
    AvroKind.DOUBLE: _real,
    AvroKind.BYTES: _bytes,
    AvroKind.STRING: _string,
    AvroKind.FIXED: _fixed,
    AvroKind.ENUM: _enum,
    AvroKind.ARRAY: _array,
    AvroKind.MAP: _map,
    AvroKind.UNION: _union,
    AvroKind.RECORD: _record,
}


# Fields that a value may leave out although they have no default: those that may be null, as for confluent-kafka.


def with_null_for_missing(schema: AvroSchema) -> AvroSchema:
    """Return the schema with the default null for each field that has no default and may be null.

    It is for writing values alone: it is never registered, and its text is that of ``schema``.
    """
    found = copy(schema)
    found.root = _Copying().copied(schema.root)
    return found


class _Copying:
    """One walk over a type tree; a record is copied once, since it may contain itself."""

    def __init__(self) -> None:
        self._records: dict[int, AvroRecord] = {}

    def copied(self, avro_type: AvroType) -> AvroType:
        match avro_type:
            case AvroRecord():
                return self._record(avro_type)
            case AvroUnion():
                union = copy(avro_type)
                union.branches = [self.copied(branch) for branch in avro_type.branches]
                return union
            case AvroArray():
                array = copy(avro_type)
                array.items = self.copied(avro_type.items)
                return array
            case AvroMap():
                values = copy(avro_type)
                values.values = self.copied(avro_type.values)
                return values
            case _:
                return avro_type

    def _record(self, record: AvroRecord) -> AvroRecord:
        known = self._records.get(id(record))
        if known is None:
            known = self._records[id(record)] = copy(record)
            known.fields = [self._field(field) for field in record.fields]
        return known

    def _field(self, field: AvroField) -> AvroField:
        found = copy(field)
        found.type = self.copied(field.type)
        if field.default is NO_DEFAULT and _may_be_null(field.type):
            found.default = None
        return found


def _may_be_null(avro_type: AvroType) -> bool:
    branches = avro_type.branches if isinstance(avro_type, AvroUnion) else [avro_type]
    return any(branch.kind is AvroKind.NULL for branch in branches)
