"""Which branches of a union fit a Python value, and how closely.

A branch whose own Python type the value has is preferred to one that would also accept it: text is a ``string`` before
it is an enum's symbol, a float is a ``double`` before it is a ``float``, a whole number is an ``int`` before it is a
``long``, a ``long`` before a ``double``, and a dict is the record with exactly its keys before one that would need
defaults or leave keys out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.formats.avro.types import Kind, Record, branch_name
from counterfoil.sdk.serde.avro_codec.duration import Duration
from counterfoil.sdk.serde.avro_codec.logical import conversion_of

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Union

Rank: TypeAlias = tuple[int, ...]
"""How closely a branch fits a value; the smallest rank is the closest."""

_SAME: Final = (0,)
_OTHER: Final = (9,)

_RANK_BY_TYPE: Final[dict[type, dict[Kind, Rank]]] = {
    type(None): {Kind.NULL: _SAME},
    bool: {Kind.BOOLEAN: _SAME},
    int: {Kind.INT: (0,), Kind.LONG: (1,), Kind.DOUBLE: (2,), Kind.FLOAT: (3,)},
    float: {Kind.DOUBLE: (0,), Kind.FLOAT: (1,)},
    str: {Kind.STRING: (0,), Kind.ENUM: (1,)},
    bytes: {Kind.BYTES: (0,), Kind.FIXED: (1,)},
    list: {Kind.ARRAY: _SAME},
    dict: {Kind.RECORD: _SAME, Kind.MAP: _SAME},
}

_LOGICAL_FROM: Final[dict[type, tuple[type, ...]]] = {
    int: (date, datetime),
    str: (date,),
    bytes: (Decimal, Duration),
    datetime: (date, int),  # nanoseconds are read as int
}


def branch_named(union: Union, name: str) -> int | None:
    """Return the number of the branch that a hint names: a full name, or the kind of a type without one."""
    return next((index for index, branch in enumerate(union.branches) if name == branch_name(branch)), None)


def is_optional(union: Union) -> bool:
    """Return whether the union has at most one type besides null, so that its values need no hint."""
    return sum(branch.kind is not Kind.NULL for branch in union.branches) <= 1


def branch_by_type(union: Union) -> dict[type, int]:
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
        if isinstance(branch, Record):
            return _rank_record(branch, value, strict=strict)
        return _SAME if branch.kind is Kind.MAP else None
    rank = _rank(branch, type(value))
    if rank is None and branch.kind is Kind.ARRAY and isinstance(value, Sequence):
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
    return _OTHER if is_number and branch.kind in (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE) else None


def _rank_record(record: Record, value: Mapping[object, object], *, strict: bool) -> Rank | None:
    names = {field.name for field in record.fields}
    keys = value.keys()
    if keys == names:
        return _SAME
    extra = keys - names
    if any(field.name not in value and not field.has_default for field in record.fields) or (extra and strict):
        return None
    return (6,) if not extra else (7, -len(keys & names))
