"""Messages that the protobuf runtime makes, writes and reads: minimal, samples, and ones that readers differ on."""

from __future__ import annotations

import json
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, Final

from google.protobuf import __version__ as _version
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.protobuf.runtime import PoolRefuses, is_map, pooled_file
from counterfoil.schema.languages.protobuf.types import ENTRY_VALUE
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, AnyMessage
    from counterfoil.schema.languages.protobuf.schema import ProtobufSchema


# Messages whose strings are not UTF-8, which a writer that does not check its strings may write.
#
# The runtime refuses to set a field to such a text, but parses and serializes it, so these messages are parsed from
# bytes.
#
# Source: the Protocol Buffers encoding guide, and the behaviour of the Python package ``protobuf``.

_LENGTH_DELIMITED: Final = 2
_NO_UTF8: Final = b"\xff"
_LOW_BITS: Final = 0x7F
_MORE: Final = 0x80


def with_unchecked_text(descriptor: AnyDescriptor, field: AnyField) -> Iterator[AnyMessage]:
    """Yield messages with bytes that are not UTF-8 in ``field``, or, if it is a map, in its keys or values.

    Yields nothing if the field holds no string, if the runtime checks its strings, and for a field of a map's entry.
    """
    if descriptor.GetOptions().map_entry:
        return
    for body in _bodies(field):
        message: AnyMessage = GetMessageClass(descriptor)()
        try:
            message.ParseFromString(body)
        except (DecodeError, UnicodeDecodeError):
            continue
        yield message


def has_unchecked_text(message: AnyMessage) -> bool:
    """Return whether a string of the message or of an inner one is not UTF-8; the runtime returns it as bytes."""
    return any(_is_unchecked(field, value) for field, value in message.ListFields())


def _is_unchecked(field: AnyField, value: Any) -> bool:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        by_name = field.message_type.fields_by_name
        return any(_is_unchecked(by_name["value"], value[key]) for key in value)
    values = value if field.is_repeated else (value,)
    if field.message_type is not None:
        return any(map(has_unchecked_text, values))
    return field.type == FieldDescriptor.TYPE_STRING and any(isinstance(each, bytes) for each in values)


def _bodies(field: AnyField) -> Iterator[bytes]:
    if field.type == FieldDescriptor.TYPE_STRING:
        yield _delimited(field.number, _NO_UTF8)
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        for inner in field.message_type.fields:
            for body in _bodies(inner):
                yield _delimited(field.number, body)


def _delimited(number: int, body: bytes) -> bytes:
    """Return the encoding of a length-delimited field: its tag, the length of ``body``, and ``body``."""
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > _LOW_BITS:
        found.append(number & _LOW_BITS | _MORE)
        number >>= 7
    return bytes([*found, number])


# The protobuf runtime, a decoder of another project: it creates, writes and reads messages.
#
# Source of the behaviour: the Python package ``protobuf``.

_CACHE_CHARS: Final = 500_000
"""The characters of the schemas whose message classes are cached."""


class RuntimeRefuses(CounterfoilError):
    """The runtime refuses a schema or a message, which is no result about the reader."""


class Runtime:
    """The message classes of one schema in the runtime."""

    def __init__(self, schema: ProtobufSchema) -> None:
        try:
            self._pool = pooled_file(schema).pool
        except PoolRefuses as refused:
            raise RuntimeRefuses(f"protobuf does not take the schema: {refused}") from refused

    def new(self, full_name: str) -> AnyMessage:
        """Return an empty message of this name; raise ``RuntimeRefuses`` if there is none."""
        try:
            descriptor = self._pool.FindMessageTypeByName(full_name)
        except KeyError as refused:
            raise RuntimeRefuses(f"protobuf finds no message {full_name}") from refused
        return message_factory.GetMessageClass(descriptor)()


@cached_by_size(_CACHE_CHARS, size_of=lambda _, schema: len(schema.text))
def runtime_of(schema: ProtobufSchema) -> Runtime:
    """Return the runtime of a schema, cached; raise ``RuntimeRefuses`` if it does not accept the schema."""
    return Runtime(schema)


def write(message: AnyMessage) -> bytes:
    """Return the bytes of a message; raise ``RuntimeRefuses`` if a required field is missing."""
    try:
        return bytes(message.SerializeToString(deterministic=True))
    except Exception as refused:
        raise RuntimeRefuses(f"protobuf does not write it: {quote(refused)}") from refused


def read(message: AnyMessage, body: bytes) -> str | None:
    """Parse ``body`` into ``message``; return the error as a text, or None on success."""
    try:
        message.ParseFromString(body)
    except (DecodeError, UnicodeDecodeError) as failure:
        return quote(failure)
    return None


def unknown_numbers(message: AnyMessage) -> set[int]:
    """Return the numbers of the unknown fields of a parsed message."""
    fields: Any = UnknownFieldSet(message)
    return {field.field_number for field in fields}


def plain_json(message: AnyMessage) -> str:
    """Return the message in JSON, by its proto3 mapping, on one line.

    A message without such a form, for example with text that is not UTF-8, is returned as a JSON string with its text
    format.
    """
    try:
        if not has_unchecked_text(message):
            return str(json_format.MessageToJson(message, indent=None, ensure_ascii=False))
    except Exception:  # noqa: BLE001, S110 - the runtime raises many kinds for values that JSON cannot hold
        pass
    return json.dumps(" ".join(str(message).split()), ensure_ascii=False)


def runtime_name() -> str:
    """Return the runtime and its version, such as ``protobuf 6.31.0 (upb)``."""
    return f"protobuf {_version} ({api_implementation.Type()})"


def quote(exception: Exception) -> str:
    """Return the class and message of an exception on one line, cut to 200 characters."""
    return excerpt(" ".join(f"{type(exception).__name__}: {exception}".split()), 200)


# Construction of messages: minimal ones, and ones with values that different readers read differently.

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
    if not in_map and message.IsInitialized():
        return message  # it has no required fields; to look at each would cost as much as the type has fields
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


# Sample messages of a writer's schema, the same on every call.

_SEED: Final = 20_240_501
_MAX_SAMPLE_DEPTH: Final = 3
_CHANCE_TO_SET: Final = 0.6
_CHANCE_OF_MANY: Final = 0.3


def samples(descriptor: AnyDescriptor) -> Iterator[AnyMessage]:
    """Yield messages without end: the minimal one, each field set to each of its test values, then random ones.

    Raises ``NoMessage`` if no message of finite size exists.
    """
    yield minimal(descriptor)
    for field in sorted(descriptor.fields, key=lambda each: each.number):
        try:
            yield from probes(descriptor, field.number)
        except NoMessage:
            continue
    random = Random(_SEED)  # noqa: S311 - the values must be the same on every call, and are not secret
    while True:
        yield _mixed(descriptor, random, 0)


def _mixed(descriptor: AnyDescriptor, random: Random, depth: int) -> AnyMessage:
    """Return a message with about half of its fields set, and so its inner messages."""
    message = minimal(descriptor)
    for field in descriptor.fields:
        if random.random() > _CHANCE_TO_SET or (field.message_type is not None and depth == _MAX_SAMPLE_DEPTH):
            continue
        try:
            choices = list(islice(fillings(field, 0), 12))
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                count = 1 + int(field.is_repeated and random.random() < _CHANCE_OF_MANY)
                choices = [[_mixed(field.message_type, random, depth + 1) for _ in range(count)]]
        except NoMessage:
            continue
        fill(message, field, random.choice(choices))
    return message
