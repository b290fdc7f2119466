"""Construction of messages: minimal ones, and ones with values that different readers read differently."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.formats.protobuf.describe.dynamic import is_map
from counterfoil.schema.formats.protobuf.types.index import ENTRY_VALUE
from counterfoil.schema.formats.protobuf.witness.unchecked_text import with_unchecked_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyField, AnyMessage


_TYPE = FieldDescriptor
_SIGNED_32: Final = (_TYPE.TYPE_INT32, _TYPE.TYPE_SINT32, _TYPE.TYPE_SFIXED32)
_SIGNED_64: Final = (_TYPE.TYPE_INT64, _TYPE.TYPE_SINT64, _TYPE.TYPE_SFIXED64)
_UNSIGNED_32: Final = (_TYPE.TYPE_UINT32, _TYPE.TYPE_FIXED32)
_UNSIGNED_64: Final = (_TYPE.TYPE_UINT64, _TYPE.TYPE_FIXED64)
_VALUES_BY_TYPE: Final[dict[int, tuple[Any, ...]]] = {
    **dict.fromkeys(_SIGNED_32, (1, 2, -1, (1 << 31) - 1, -(1 << 31))),
    **dict.fromkeys(_SIGNED_64, (1, 2, -1, 1 << 40, (1 << 63) - 1, -(1 << 63))),
    **dict.fromkeys(_UNSIGNED_32, (1, 2, (1 << 32) - 1)),
    **dict.fromkeys(_UNSIGNED_64, (1, 2, 1 << 40, (1 << 64) - 1)),
    _TYPE.TYPE_BOOL: (True, False),
    _TYPE.TYPE_FLOAT: (1.5, -1.0),
    _TYPE.TYPE_DOUBLE: (1.5, -1.0),
    _TYPE.TYPE_STRING: ("a", "b"),
    _TYPE.TYPE_BYTES: (b"\xff", b"a"),
}
_TELLING_BY_NAME: Final = {
    "google.protobuf.Timestamp": {"seconds": 1_714_566_896, "nanos": 789_000_000},  # 1 May 2024, 12:34:56.789
    "google.protobuf.Duration": {"seconds": 90, "nanos": 500_000_000},
}
"""Typical values of well-known types, by full name."""
_MAX_INNER: Final = 60
_MAX_DEPTH: Final = 30


class NoMessage(CounterfoilError):
    """There is no such message of finite size."""


def minimal(descriptor: AnyDescriptor, depth: int = 0) -> AnyMessage:
    """Return a message with only its required fields, a map's entry with its value.

    Raises ``NoMessage`` if the required fields contain each other, so that no such message is finite.
    """
    if depth > _MAX_DEPTH:
        raise NoMessage("the writer cannot write it in a message of finite size")
    message: AnyMessage = GetMessageClass(descriptor)()
    in_map = descriptor.GetOptions().map_entry
    for field in descriptor.fields:
        if field.is_required or (in_map and field.number == ENTRY_VALUE and field.message_type is not None):
            if field.message_type is not None:
                sub = getattr(message, field.name)
                sub.CopyFrom(minimal(field.message_type, depth + 1))
                sub.SetInParent()
            else:
                setattr(message, field.name, _scalars(field)[0])
    return message


def probes(descriptor: AnyDescriptor, number: int, *, depth: int = 1) -> Iterator[AnyMessage]:
    """Yield messages with the field of this number set to each value, then to several at once.

    A field of a message type is set to the minimal message, and to those with one more field set, for ``depth`` levels.
    """
    field = descriptor.fields_by_number[number]
    for values in fillings(field, depth):
        message = minimal(descriptor)
        fill(message, field, values)
        yield message
    for unchecked in with_unchecked_text(descriptor, field):
        unchecked.MergeFrom(minimal(descriptor))
        yield unchecked


def fill(message: AnyMessage, field: AnyField, values: Sequence[Any]) -> None:
    """Set a field; a singular one takes the last of the values, a map takes messages of its entries."""
    if is_map(field):
        for entry in values:
            _put(getattr(message, field.name), entry)
    elif field.is_repeated:
        getattr(message, field.name).extend(values)
    elif field.message_type is not None:
        sub = getattr(message, field.name)
        sub.CopyFrom(values[-1])
        sub.SetInParent()
    else:
        setattr(message, field.name, values[-1])


def fillings(field: AnyField, depth: int) -> Iterator[list[Any]]:
    """Yield lists of values for a field: each value alone, then, if the field is repeated, several at once.

    ``depth`` is the number of levels of inner messages in which single fields are set.
    """
    values = list(islice(_single_values(field, depth), _MAX_INNER))
    yield from ([value] for value in values)
    if field.is_repeated and values:
        yield [values[0], values[min(1, len(values) - 1)]]
        yield [values[-1], values[-1]]


def wrap(descriptor: AnyDescriptor, number: int, inner: AnyMessage) -> AnyMessage:
    """Return a minimal message with ``inner`` in the field of this number, as the value of an entry if it is a map."""
    message = minimal(descriptor)
    field = descriptor.fields_by_number[number]
    if is_map(field):
        entry: AnyMessage = GetMessageClass(field.message_type)()
        entry.key = _scalars(field.message_type.fields_by_name["key"])[0]
        entry.value.CopyFrom(inner)
        entry.value.SetInParent()
        inner = entry
    fill(message, field, [inner])
    return message


def _single_values(field: AnyField, depth: int) -> Iterator[Any]:
    if field.message_type is None:
        yield from _scalars(field)
        return
    telling = _TELLING_BY_NAME.get(field.message_type.full_name)
    if telling is not None:
        yield GetMessageClass(field.message_type)(**telling)
    yield minimal(field.message_type, 1)
    if depth:
        for inner in field.message_type.fields:
            yield from probes(field.message_type, inner.number, depth=depth - 1)


def _scalars(field: AnyField) -> tuple[Any, ...]:
    """Return values of a scalar field; of an enum, the default last."""
    if field.enum_type is not None:
        numbers = dict.fromkeys(value.number for value in field.enum_type.values)
        default = field.enum_type.values[0].number
        return tuple(sorted(numbers, key=lambda number: number == default))
    return _VALUES_BY_TYPE[field.type]


def _put(entries: Any, entry: Any) -> None:
    if entry.DESCRIPTOR.fields_by_name["value"].message_type is not None:
        entries[entry.key].CopyFrom(entry.value)
    else:
        entries[entry.key] = entry.value
