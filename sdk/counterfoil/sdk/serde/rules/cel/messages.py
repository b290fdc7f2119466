"""Protobuf messages as CEL gets them.

A field that is not set has its default, and a message that is not set is an empty one where fields of it are read. An
enum is its number. Well-known types are the values that they stand for.

Source: the language definition of CEL, "Protocol Buffer Data Conversion".
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.serde.rules.cel.conversion import convert

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.rules.cel.expression import Parts

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _timestamp(message: Any) -> datetime:
    return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def _duration(message: Any) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def _decimal(message: Any) -> Decimal:
    return Decimal(int.from_bytes(message.value, "big", signed=True)).scaleb(-message.scale)


_KINDS: Final = ("String", "Bytes", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "Bool")
_WRAPPERS: Final = frozenset(f"google.protobuf.{kind}Value" for kind in _KINDS)
_VALUE_BY_NAME: Final[dict[str, Callable[[Any], Any]]] = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Duration": _duration,
    "confluent.type.Decimal": _decimal,
    **dict.fromkeys(_WRAPPERS, lambda message: message.value),
}


def convert_message(message: Any, parts: Parts) -> Any:
    """Return a message, or the parts of it that are read, as a dict; a well-known type as its value."""
    special = _VALUE_BY_NAME.get(message.DESCRIPTOR.full_name)
    if special is not None:
        return special(message)
    fields = message.DESCRIPTOR.fields_by_name
    if parts is None:
        return {field.name: _whole(message, field) for field in fields.values() if _is_there(message, field)}
    return {name: _part(message, fields[name], inner) for name, inner in parts.items() if name in fields}


def member(message: Any, name: str) -> tuple[bool, Any]:
    """Return whether a field is set, as ``has()`` defines it, and its value."""
    field = message.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        return False, None
    value = getattr(message, name)
    if field.has_presence:
        return message.HasField(name), value
    return (len(value) > 0 if field.is_repeated else value != field.default_value), value


def _is_there(message: Any, field: Any) -> bool:
    return field.containing_oneof is None or message.HasField(field.name)


def _whole(message: Any, field: Any) -> Any:
    return _part(message, field, None) if not _is_unset_message(message, field) else None


def _part(message: Any, field: Any, parts: Parts) -> Any:
    from google.protobuf.message_factory import GetMessageClass

    from counterfoil.schema.formats.protobuf.describe.dynamic import is_map

    if _is_unset_message(message, field):
        is_null = field.message_type.full_name in _WRAPPERS
        return None if is_null else convert(GetMessageClass(field.message_type)(), parts)
    value = getattr(message, field.name)
    if not field.is_repeated:
        return convert(value, parts)
    if is_map(field):
        return {key: convert(value[key]) for key in value}
    return [convert(item) for item in value]


def _is_unset_message(message: Any, field: Any) -> bool:
    return field.message_type is not None and not field.is_repeated and not message.HasField(field.name)
