"""Avro schemas as trees; base schemas and base values: schemas and values without logical types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final
from uuid import UUID

from counterfoil.schema.datum import Datum, Json
from counterfoil.schema.languages.avro import types as avro
from counterfoil.schema.languages.avro.schema import AvroSchema, parse_avro
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    NamedType,
    branch_name,
)
from counterfoil.schema.parsed import Validation
from counterfoil.schema.plans import ConversionError, FailureCode, shown
from counterfoil.schema.plans.model import Scalar
from counterfoil.schema.plans.tree import (
    NO_DEFAULT,
    ArrayType,
    Leaf,
    MapType,
    Node,
    NullType,
    RecordField,
    RecordType,
    UnionType,
)
from counterfoil.schema.plans.types import are_distinct

# Base schemas and base values: schemas and values without logical types.
#
# A plan works on base values, so that a point in time is copied as the number in the message, with any size and unit,
# and so that an engine without a type for it converts the same bytes.

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LOCAL_EPOCH: Final = datetime.fromordinal(_EPOCH_DAY)
_MICROSECOND: Final = timedelta(microseconds=1)
_MICROS_BY_UNIT: Final = {"millis": 1000, "micros": 1}


def base_schema(schema: AvroSchema) -> AvroSchema:
    """Return the schema without logical types, with references resolved: its values have the same bytes."""
    return parse_avro(base_text(schema.root), validation=Validation.LENIENT)


def base_text(root: AvroType) -> str:
    """Return the text of a base schema: names, fields, defaults, aliases and symbols; no docs, no properties."""
    return json.dumps(_Writer(logical_types=False).write(root))


def meaning_text(root: AvroType) -> str:
    """Return a text that is equal for schemas whose values have the same meaning: the base text with logical types."""
    return json.dumps(_Writer(logical_types=True).write(root), sort_keys=True)


class _Writer:
    """Writes a type tree as JSON, each named type once."""

    def __init__(self, *, logical_types: bool) -> None:
        self._logical_types = logical_types
        self._known: set[str] = set()

    def write(self, node: AvroType) -> Json:
        if isinstance(node, AvroUnion):
            return [self.write(branch) for branch in node.branches]
        if isinstance(node, (AvroRecord, AvroEnum, AvroFixed)):
            return self._named(node)
        written: dict[str, Json] = {"type": node.kind.value, **self._annotation(node)}
        if isinstance(node, AvroArray):
            written["items"] = self.write(node.items)
        elif isinstance(node, AvroMap):
            written["values"] = self.write(node.values)
        return written

    def _named(self, node: NamedType) -> Json:
        if node.full_name in self._known:
            return node.full_name if "." in node.full_name else {"type": f".{node.full_name}"}["type"].lstrip(".")
        self._known.add(node.full_name)
        written: dict[str, Json] = {
            "type": node.kind.value,
            "name": node.name,
            "namespace": node.namespace or "",
            **self._annotation(node),
        }
        if node.aliases:
            written["aliases"] = list(node.aliases)
        if isinstance(node, AvroRecord):
            written["fields"] = [self._field(member) for member in node.fields]
        elif isinstance(node, AvroEnum):
            written["symbols"] = list(node.symbols)
            if node.default is not None:
                written["default"] = node.default
        else:
            written["size"] = node.size
        return written

    def _field(self, member: Datum) -> dict[str, Json]:
        written = {"name": member.name, "type": self.write(member.type)}
        if member.has_default:
            written["default"] = member.default
        if member.aliases:
            written["aliases"] = list(member.aliases)
        return written

    def _annotation(self, node: AvroType) -> dict[str, Json]:
        logical = node.logical_type
        if logical is None or not self._logical_types:
            return {}
        return {"logicalType": logical.name, "precision": logical.precision, "scale": logical.scale}


def is_tagged(union: AvroUnion) -> bool:
    """Return whether the base values of a union are pairs with the index of their branch."""
    return not are_distinct(union.branches)


def base_value(node: AvroType, value: Datum) -> Datum:
    """Return the base value of a decoded value; a base value is returned unchanged.

    Where the value does not tell the branch of a union, ``(name, value)`` does, or the key ``-type`` of a dict.
    """
    if value is None:
        return None
    if isinstance(node, AvroRecord):
        return {member.name: base_value(member.type, value[member.name]) for member in node.fields}
    if isinstance(node, AvroArray):
        return [base_value(node.items, item) for item in value]
    if isinstance(node, AvroMap):
        return {key: base_value(node.values, item) for key, item in value.items()}
    if isinstance(node, AvroUnion):
        return _tagged(node, value) if is_tagged(node) else _base_of_branch(node, value)
    return _base_scalar(node, value) if node.logical_type else value


def hinted_value(node: AvroType, value: Datum) -> Datum:
    """Return a base value with ``(name, value)`` instead of the index of a branch, as encoders take it."""
    if value is None:
        return None
    if isinstance(node, AvroRecord):
        return {member.name: hinted_value(member.type, value[member.name]) for member in node.fields}
    if isinstance(node, AvroArray):
        return [hinted_value(node.items, item) for item in value]
    if isinstance(node, AvroMap):
        return {key: hinted_value(node.values, item) for key, item in value.items()}
    if isinstance(node, AvroUnion) and is_tagged(node):
        index, inner = value
        return branch_name(node.branches[index]), hinted_value(node.branches[index], inner)
    if isinstance(node, AvroUnion) and isinstance(value, dict | list):
        wanted = AvroArray if isinstance(value, list) else AvroRecord | AvroMap
        return hinted_value(next(branch for branch in node.branches if isinstance(branch, wanted)), value)
    return value


def _tagged(node: AvroUnion, value: object) -> tuple[int, Datum]:
    """Return the value of a tagged union: the branch is the one that is named, else the only one that fits best."""
    if isinstance(value, tuple):
        name, inner = value
        index = name if isinstance(name, int) else _named(node, name)
        return index, base_value(node.branches[index], inner)
    if isinstance(value, dict) and "-type" in value:
        index = _named(node, value["-type"])
        return index, base_value(node.branches[index], {key: each for key, each in value.items() if key != "-type"})
    ranked = [(rank, index) for index, branch in enumerate(node.branches) if (rank := _rank(branch, value)) is not None]
    best = [index for rank, index in ranked if rank == min(ranked)[0]]
    if len(best) != 1:
        names = " or ".join(branch_name(node.branches[index]) for index in best or range(len(node.branches)))
        problem = f"{shown(value)} does not tell its branch: give (name, value) with the name {names}"
        raise ConversionError(FailureCode.UNDECODABLE, "", problem)
    return best[0], base_value(node.branches[best[0]], value)


def _named(node: AvroUnion, name: str) -> int:
    names = [branch_name(branch) for branch in node.branches]
    if name not in names:
        problem = f"the union has no branch {name}; it has {', '.join(names)}"
        raise ConversionError(FailureCode.UNDECODABLE, "", problem)
    return names.index(name)


_KINDS_BY_CLASS: Final[dict[type, tuple[AvroKind, ...]]] = {
    bool: (AvroKind.BOOLEAN,),
    int: (AvroKind.INT, AvroKind.LONG, AvroKind.DOUBLE, AvroKind.FLOAT),
    float: (AvroKind.DOUBLE, AvroKind.FLOAT),
    str: (AvroKind.STRING, AvroKind.ENUM),
    bytes: (AvroKind.BYTES, AvroKind.FIXED),
    list: (AvroKind.ARRAY,),
    dict: (AvroKind.RECORD, AvroKind.MAP),
}
"""The types that values of each class may have, the closest first."""
_INT_VALUES: Final = range(-(2**31), 2**31)


def _rank(branch: AvroType, value: Datum) -> int | None:
    """Return how closely a branch fits a value, 0 for the closest; None if it does not."""
    based = _base_scalar(branch, value) if branch.logical_type else value
    kinds = _KINDS_BY_CLASS.get(type(based), ())
    if branch.kind not in kinds:
        return None
    does_fit = {
        AvroKind.INT: lambda: based in _INT_VALUES,
        AvroKind.ENUM: lambda: isinstance(branch, AvroEnum) and based in branch.symbols,
        AvroKind.FIXED: lambda: isinstance(branch, AvroFixed) and len(based) == branch.size,
        AvroKind.RECORD: lambda: (
            isinstance(branch, AvroRecord) and {member.name for member in branch.fields} == set(based)
        ),
    }.get(branch.kind)
    return kinds.index(branch.kind) if does_fit is None or does_fit() else None


def _base_of_branch(node: AvroUnion, value: object) -> Datum:
    """Return the base value for the branch of the value's class."""
    branches = [branch for branch in node.branches if branch.kind is not AvroKind.NULL]
    for branch in branches:
        is_whole = isinstance(value, dict) and isinstance(branch, AvroRecord | AvroMap)
        if is_whole or (isinstance(value, list) and isinstance(branch, AvroArray)):
            return base_value(branch, value)
    for branch in branches:
        if branch.logical_type:
            based = base_value(branch, value)
            if based is not value:
                return based
    return value


def _base_scalar(node: AvroType, value: object) -> Datum:
    """Return a scalar's base value."""
    turn = _BASE_BY_CLASS.get(value.__class__)
    return value if turn is None else turn(node, value)


def _unit(node: AvroType) -> int:
    name = node.logical_type.name if node.logical_type else ""
    return _MICROS_BY_UNIT.get(name.rpartition("-")[2], 1)


def _of_datetime(node: AvroType, value: datetime) -> int:
    epoch = _LOCAL_EPOCH if value.tzinfo is None else _EPOCH
    return (value - epoch) // _MICROSECOND // _unit(node)


def _of_date(_node: AvroType, value: date) -> int:
    return value.toordinal() - _EPOCH_DAY


def _of_time(node: AvroType, value: time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return (seconds * 1_000_000 + value.microsecond) // _unit(node)


def _of_decimal(node: AvroType, value: Decimal) -> bytes:
    scale = node.logical_type.scale if node.logical_type else 0
    return decimal_bytes(int(value.scaleb(scale)), node.size if isinstance(node, AvroFixed) else None)


def _of_uuid(node: AvroType, value: UUID) -> str | bytes:
    return value.bytes if isinstance(node, AvroFixed) else str(value)


def decimal_bytes(unscaled: int, size: int | None = None) -> bytes:
    """Return two's complement, big-endian: the fewest bytes, or ``size`` of them.

    Raises ``OverflowError`` beyond ``size``.
    """
    fewest = ((unscaled + 1 if unscaled < 0 else unscaled).bit_length() + 8) // 8
    return unscaled.to_bytes(fewest if size is None else size, "big", signed=True)


_BASE_BY_CLASS: Final[dict[type, Callable[[AvroType, Datum], Datum]]] = {
    datetime: _of_datetime,
    date: _of_date,
    time: _of_time,
    Decimal: _of_decimal,
    UUID: _of_uuid,
}


def types_of(root: AvroType) -> Iterator[AvroType]:
    """Yield each type in a schema; a record once."""
    seen: set[int] = set()
    waiting: list[AvroType] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting.extend(_parts(node))


def _parts(node: AvroType) -> list[AvroType]:
    """Return the types directly inside a type."""
    if isinstance(node, AvroRecord):
        return [member.type for member in node.fields]
    if isinstance(node, AvroUnion):
        return list(node.branches)
    if isinstance(node, AvroArray):
        return [node.items]
    return [node.values] if isinstance(node, AvroMap) else []


# Avro schemas as trees.
#
# The bytes of a union say the branch of its value. Where the class of the value says it as well, a value is its own
# tag; any other union is tagged, such as one of two records, of ``int`` and ``long``, or of a text and an enum.


def tree_of(schema: AvroSchema) -> Node:
    """Return the schema's top-level type."""
    return _Reader().node(schema.root)


def meaning_of(schema: AvroSchema) -> str:
    """Return the schema's text without docs and properties, with logical types."""
    return meaning_text(schema.root)


def base_function(schema: AvroSchema) -> Callable[[Datum], Datum] | None:
    """Return the function from decoded values, with logical types or without, to base values."""
    root = schema.root
    if not any(node.logical_type is not None or _is_tagged(node) for node in types_of(root)):
        return None
    return lambda value: base_value(root, value)


def decoded_function(schema: AvroSchema) -> Callable[[Datum], Datum] | None:
    """Return the function from base values to values of the base schema that an encoder takes."""
    root = schema.root
    return (lambda value: hinted_value(root, value)) if any(map(_is_tagged, types_of(root))) else None


def _is_tagged(node: avro.AvroType) -> bool:
    return isinstance(node, avro.AvroUnion) and is_tagged(node)


class _Reader:
    """Reads the types of one schema; a record that occurs twice is one node."""

    def __init__(self) -> None:
        self._records: dict[int, RecordType] = {}

    def node(self, node: avro.AvroType) -> Node:
        if isinstance(node, avro.AvroUnion):
            return UnionType([self.node(branch) for branch in node.branches], is_tagged(node))
        if isinstance(node, avro.AvroRecord):
            return self._record(node)
        if isinstance(node, avro.AvroArray):
            return ArrayType(self.node(node.items))
        if isinstance(node, avro.AvroMap):
            return MapType(self.node(node.values))
        if node.kind is avro.AvroKind.NULL:
            return NullType()
        if isinstance(node, (avro.AvroEnum, avro.AvroFixed)):
            default = node.default if isinstance(node, avro.AvroEnum) else None
            scalar = scalar_of(node)
            return Leaf(scalar, node.name, node.full_name, default, range(len(scalar.symbols)))
        return Leaf(scalar_of(node))

    def _record(self, node: avro.AvroRecord) -> RecordType:
        known = self._records.get(id(node))
        if known is not None:
            return known
        made = self._records[id(node)] = RecordType(node.name, node.full_name)
        made.fields = [
            RecordField(
                member.name,
                self.node(member.type),
                member.default if member.has_default else NO_DEFAULT,
                tuple(member.aliases),
            )
            for member in node.fields
        ]
        return made


def scalar_of(node: avro.AvroPrimitive | avro.AvroEnum | avro.AvroFixed) -> Scalar:
    """Return a type without parts as it is named in operations."""
    base = node.kind.value
    size = node.size if isinstance(node, avro.AvroFixed) else None
    symbols = tuple(node.symbols) if isinstance(node, avro.AvroEnum) else ()
    logical = node.logical_type
    if logical is None or (base, logical.name) == ("fixed", "uuid"):
        return Scalar(base, base, symbols, size=size)
    return Scalar(logical.name, base, symbols, precision=logical.precision, scale=logical.scale, size=size)
