"""Base schemas and base values: what is left of a schema and of a value when its logical types are taken off.

A plan works on base values, so that a point in time is copied as the number that it is on the wire, whatever its size
and unit, and so that an engine without a type for it converts the same bytes.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType, Json, NamedType

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LOCAL_EPOCH: Final = datetime.fromordinal(_EPOCH_DAY)
_MICROSECOND: Final = timedelta(microseconds=1)
_MICROS_BY_UNIT: Final = {"millis": 1000, "micros": 1}


def base_schema(schema: AvroSchema) -> AvroSchema:
    """The same schema without logical types, references resolved: equal bytes, base values."""
    return parse_avro(base_text(schema.root), validation=Validation.LENIENT)


def base_text(root: AvroType) -> str:
    """The text of a base schema: names, fields, defaults, aliases and symbols; no docs, no properties."""
    return json.dumps(_Writer(logical_types=False).write(root))


def meaning_text(root: AvroType) -> str:
    """A text that is equal for two schemas whose values mean the same: the base text with logical types."""
    return json.dumps(_Writer(logical_types=True).write(root), sort_keys=True)


class _Writer:
    """Writes a type tree as JSON, each named type once."""

    def __init__(self, *, logical_types: bool) -> None:
        self._logical_types = logical_types
        self._known: set[str] = set()

    def write(self, node: AvroType) -> Json:
        if isinstance(node, Union):
            return [self.write(branch) for branch in node.branches]
        if isinstance(node, (Record, Enum, Fixed)):
            return self._named(node)
        written: dict[str, Json] = {"type": node.kind.value, **self._annotation(node)}
        if isinstance(node, Array):
            written["items"] = self.write(node.items)
        elif isinstance(node, Map):
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
        if isinstance(node, Record):
            written["fields"] = [self._field(member) for member in node.fields]
        elif isinstance(node, Enum):
            written["symbols"] = list(node.symbols)
            if node.default is not None:
                written["default"] = node.default
        else:
            written["size"] = node.size
        return written

    def _field(self, member: Any) -> dict[str, Json]:
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


def base_value(node: AvroType, value: Any) -> Any:
    """A decoded value with its logical types taken off; one that is a base value already stays as it is."""
    if value is None:
        return None
    if isinstance(node, Record):
        return {member.name: base_value(member.type, value[member.name]) for member in node.fields}
    if isinstance(node, Array):
        return [base_value(node.items, item) for item in value]
    if isinstance(node, Map):
        return {key: base_value(node.values, item) for key, item in value.items()}
    if isinstance(node, Union):
        return _base_of_branch(node, value)
    return _base_scalar(node, value) if node.logical_type else value


def _base_of_branch(node: Union, value: Any) -> Any:
    """The value by the first branch that can have it."""
    branches = [branch for branch in node.branches if branch.kind is not Kind.NULL]
    if isinstance(value, dict):
        keys = set(value)
        for branch in branches:
            if isinstance(branch, Map) or (
                isinstance(branch, Record) and {member.name for member in branch.fields} == keys
            ):
                return base_value(branch, value)
    for branch in branches:
        if isinstance(value, list) == isinstance(branch, Array) and (branch.logical_type or len(branches) == 1):
            based = base_value(branch, value)
            if based is not value:
                return based
    return value


def _base_scalar(node: AvroType, value: Any) -> Any:
    """A scalar's base value."""
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
    return decimal_bytes(int(value.scaleb(scale)), node.size if isinstance(node, Fixed) else None)


def _of_uuid(node: AvroType, value: UUID) -> str | bytes:
    return value.bytes if isinstance(node, Fixed) else str(value)


def decimal_bytes(unscaled: int, size: int | None = None) -> bytes:
    """Two's complement, big-endian: the fewest bytes, or ``size`` of them. Raises ``OverflowError`` beyond ``size``."""
    fewest = ((unscaled + 1 if unscaled < 0 else unscaled).bit_length() + 8) // 8
    return unscaled.to_bytes(fewest if size is None else size, "big", signed=True)


_BASE_BY_CLASS: Final[dict[type, Callable[[AvroType, Any], Any]]] = {
    datetime: _of_datetime,
    date: _of_date,
    time: _of_time,
    Decimal: _of_decimal,
    UUID: _of_uuid,
}


def has_logical_types(root: AvroType) -> bool:
    """Whether a value of the schema may hold anything but base values."""
    seen: set[int] = set()
    waiting: list[AvroType] = [root]
    while waiting:
        node = waiting.pop()
        if node.logical_type is not None:
            return True
        if id(node) in seen or isinstance(node, Primitive):
            continue
        seen.add(id(node))
        waiting.extend(_parts(node))
    return False


def _parts(node: AvroType) -> list[AvroType]:
    """The types that a type is made of."""
    if isinstance(node, Record):
        return [member.type for member in node.fields]
    if isinstance(node, Union):
        return list(node.branches)
    if isinstance(node, Array):
        return [node.items]
    return [node.values] if isinstance(node, Map) else []
