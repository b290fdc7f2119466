"""Which types, and which steps of reading, have the same bytes for the same values, so that spans can be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.evolution.types import split_null
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.sdk.serde.avro_codec.plan import (
    ArrayStep,
    BooleanStep,
    BytesStep,
    EnumStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RealStep,
    RecordStep,
    TextStep,
    UnionStep,
)

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.sdk.serde.avro_codec.plan import Step

_WIDER = {(Kind.INT, Kind.LONG), (Kind.STRING, Kind.BYTES)}
_REAL_SIZE = {Kind.FLOAT: 4, Kind.DOUBLE: 8}


def is_same_wire(source: AvroType, target: AvroType) -> bool:
    """Return whether every value of ``source`` is written with the same bytes as ``target``.

    No for unions of several types besides null, which may contain themselves.
    """
    if isinstance(split_null(source)[1], Union):
        return False
    if isinstance(source, Record) and isinstance(target, Record):
        return [member.name for member in source.fields] == [member.name for member in target.fields] and all(
            is_same_wire(left.type, right.type) for left, right in zip(source.fields, target.fields, strict=True)
        )
    if isinstance(source, Array) and isinstance(target, Array):
        return is_same_wire(source.items, target.items)
    if isinstance(source, Map) and isinstance(target, Map):
        return is_same_wire(source.values, target.values)
    if isinstance(source, Union) and isinstance(target, Union):
        return len(source.branches) == len(target.branches) and all(
            is_same_wire(left, right) for left, right in zip(source.branches, target.branches, strict=True)
        )
    if isinstance(source, Enum) and isinstance(target, Enum):
        return list(source.symbols) == list(target.symbols[: len(source.symbols)])
    if isinstance(source, Fixed) and isinstance(target, Fixed):
        return source.size == target.size
    return source.kind is target.kind


def widens_on_wire(source: AvroType, target: AvroType) -> bool:
    """Return whether the larger type ``target`` has the same bytes for every value of ``source``."""
    if isinstance(source, Union) and isinstance(target, Union):
        return len(source.branches) == len(target.branches) and all(
            is_same_wire(left, right) or widens_on_wire(left, right)
            for left, right in zip(source.branches, target.branches, strict=True)
        )
    return (source.kind, target.kind) in _WIDER


def is_read_as_written(step: Step, node: AvroType) -> bool:
    """Return whether the bytes that ``step`` reads are those with which its value is written as ``node``."""
    match step:
        case UnionStep(branches=branches):
            return (
                isinstance(node, Union)
                and len(branches) == len(node.branches)
                and all(map(is_read_as_written, branches, node.branches))
            )
        case RecordStep(fields=fields):
            return (
                isinstance(node, Record)
                and [one.target for one in fields] == [member.name for member in node.fields]
                and all(is_read_as_written(one.step, m.type) for one, m in zip(fields, node.fields, strict=True))
            )
        case ArrayStep(items=items):
            return isinstance(node, Array) and is_read_as_written(items, node.items)
        case MapStep(values=values):
            return isinstance(node, Map) and is_read_as_written(values, node.values)
        case EnumStep(values=values):
            return isinstance(node, Enum) and list(values) == list(node.symbols[: len(values)])
        case FixedStep(size=size):
            return isinstance(node, Fixed) and node.size == size
        case _:
            return _is_scalar_as_written(step, node.kind)


def _is_scalar_as_written(step: Step, kind: Kind) -> bool:
    match step:
        case NullStep():
            return kind is Kind.NULL
        case BooleanStep():
            return kind is Kind.BOOLEAN
        case IntegerStep():
            return kind in {Kind.INT, Kind.LONG}
        case RealStep(size=size):
            return _REAL_SIZE.get(kind) == size
        case BytesStep() | TextStep():
            return kind in {Kind.BYTES, Kind.STRING}
        case _:
            return False
