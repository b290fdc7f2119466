"""Messages that the protobuf runtime makes, writes and reads, and the losses of a message that another schema reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isnan
from random import Random
from typing import Final

from google.protobuf import __version__ as _version
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.compatibility.findings import Sentence
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.protobuf.runtime import (
    AnyDescriptor,
    AnyField,
    AnyMessage,
    PoolRefuses,
    is_map,
    pooled_file,
)
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import ENTRY_VALUE, mean_different_things
from counterfoil.schema.texts import excerpt

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


def _is_unchecked(field: AnyField, value: Datum) -> bool:
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
    fields: Datum = UnknownFieldSet(message)
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
_VALUES_BY_TYPE: Final[dict[int, tuple[Datum, ...]]] = {
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


def fill(message: AnyMessage, field: AnyField, values: Sequence[object]) -> None:
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


def fillings(field: AnyField, depth: int) -> Iterator[list[Datum]]:
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


def _single_values(field: AnyField, depth: int) -> Iterator[Datum]:
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


def _scalars(field: AnyField) -> tuple[Datum, ...]:
    """Return values of a scalar field; of an enum, the default last."""
    if field.enum_type is not None:
        numbers = dict.fromkeys(value.number for value in field.enum_type.values)
        default = field.enum_type.values[0].number
        return tuple(sorted(numbers, key=lambda number: number == default))
    return _VALUES_BY_TYPE[field.type]


def _put(entries: Datum, entry: Datum) -> None:
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


# Losses and changes of a message: a comparison of the message as it was written with the message as it was read.
#
# Fields are matched by number. A field that the reader does not have is no loss, unless it is the set member of a oneof
# that the reader has. Symbols of enums are compared by name: a number with another name in the reader is read as
# another symbol, a number without a name there is kept as a number. Well-known types with different names have
# different meanings.

_WORDS_BY_TYPE: Final = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_") and isinstance(number, int)
}
_FORM_BY_WORDS: Final = {
    **dict.fromkeys(("double", "fixed64", "sfixed64"), "64 bits"),
    **dict.fromkeys(("float", "fixed32", "sfixed32"), "32 bits"),
    **dict.fromkeys(("string", "bytes", "message"), "length-delimited"),
    "group": "start and end marks",
}
_VARINT: Final = "varint"


@dataclass(frozen=True, slots=True)
class MessageLoss:
    """One lost or changed value: ``numbers`` are the field numbers that lead to it, ``sentence`` describes it.

    ``is_missing`` is true if values are lost, and false if a value is read as another one.
    """

    numbers: tuple[int, ...]
    sentence: Sentence
    is_missing: bool = False

    @property
    def text(self) -> str:
        """The sentence with the two sides called "the reader" and "the writer"."""
        return self.sentence.render(is_start=False)


def losses(
    written: AnyMessage, read: AnyMessage, above: tuple[int, ...] = (), *, only: Sequence[Collection[int]] = ()
) -> Iterator[MessageLoss]:
    """Yield every value of ``written`` that is lost or changed in ``read``, in the order of the field numbers.

    ``above`` are the field numbers that lead to the messages. ``only`` has, for each level, the numbers of the fields
    to compare; below its last level, all fields are compared.
    """
    known = read.DESCRIPTOR.fields_by_number
    set_numbers = {field.number for field, _ in written.ListFields()}
    for field in _fields(written, only[len(above)] if len(above) < len(only) else None):
        other = known.get(field.number)
        at = (*above, field.number)
        if field.number not in set_numbers:
            if other is not None and _have_defaults(field, other):
                yield from _Pair(written, field, read, other, at, only).of_unset()
        elif other is not None:
            yield from _Pair(written, field, read, other, at, only).of_set()
        elif _is_choice_lost(field, read):
            template = "field {number} is unknown to the reader, which sees nothing chosen in its oneof"
            yield MessageLoss(at, Sentence.of(template, {"number": field.number}))


@dataclass(frozen=True, slots=True)
class _Pair:
    """One field as it was written and as it was read."""

    written: AnyMessage
    field: AnyField
    read: AnyMessage
    other: AnyField
    at: tuple[int, ...]
    only: Sequence[Collection[int]]

    def of_unset(self) -> Iterator[MessageLoss]:
        """Yield the change of a field that was not written, if the reader has another default."""
        theirs, mine = (getattr(self.written, self.field.name), getattr(self.read, self.other.name))
        if not self._is_same(theirs, mine):
            template = "field {number} is not set: {theirs} for the writer, {mine} for the reader"
            facts = {"theirs": _shown(theirs, self.field), "mine": _shown(mine, self.other)}
            yield MessageLoss(self.at, Sentence.of(template, {"number": self.field.number, **facts}))

    def of_set(self) -> Iterator[MessageLoss]:
        """Yield the losses and changes of the values of a field."""
        try:
            theirs = _values(self.written, self.field)
        except UnicodeDecodeError:
            return  # the runtime does not return keys that are not UTF-8, so that nothing can be compared
        try:
            mine = _values(self.read, self.other)
        except UnicodeDecodeError as failure:
            yield self._loss(f"reading the value raises {type(failure).__name__}: {failure.reason}")
            return
        if is_map(self.other) != is_map(self.field):
            theirs, mine = (sorted(values, key=_key_of_entry) for values in (theirs, mine))
        if len(theirs) != len(mine):
            what = _shown(theirs[0], self.field)
            text = (
                f"of {len(theirs)} values {len(mine)} is kept" if mine else f"{what} is {self._whereabouts() or 'lost'}"
            )
            yield self._loss(text, is_missing=True)
            return
        for wrote, got in zip(theirs, mine, strict=True):
            yield from self._of_value(wrote, got)

    def _of_value(self, wrote: Datum, got: Datum) -> Iterator[MessageLoss]:
        if _is_message(self.field) and _is_message(self.other):
            if mean_different_things(wrote.DESCRIPTOR.full_name, got.DESCRIPTOR.full_name):
                yield self._loss(f"{_message_text(wrote)} is read as {_message_text(got)}")
                return
            yield from losses(wrote, got, self.at, only=self.only)
        elif not self._is_same(wrote, got):
            where = self._whereabouts()
            became = where or f"read as {_shown(got, self.other)}"
            yield self._loss(f"{_shown(wrote, self.field)} is {became}", is_missing=bool(where))

    def _is_same(self, wrote: Datum, got: Datum) -> bool:
        if self.field.enum_type and self.other.enum_type and not self._is_same_symbol(wrote):
            return False
        if _is_message(self.field):
            return isinstance(got, bytes) and type(wrote).FromString(got) == wrote
        if self.other.type == FieldDescriptor.TYPE_STRING and isinstance(got, bytes):
            return bool(self.field.type == FieldDescriptor.TYPE_STRING and wrote == got)  # a string that is not UTF-8
        if isinstance(wrote, str | bytes) or isinstance(got, str | bytes):
            return isinstance(got, str | bytes) and not isinstance(wrote, int | float) and _raw(wrote) == _raw(got)
        return not _is_message(self.other) and (wrote == got or (_is_nan(wrote) and _is_nan(got)))

    def _is_same_symbol(self, number: int) -> bool:
        """Return whether a number has a name in common on both sides.

        If one side has no name for it: whether the reader has none of the writer's names under another number.
        """
        names = {value.name for value in self.field.enum_type.values if value.number == number}
        known = {value.name for value in self.other.enum_type.values if value.number == number}
        elsewhere = {value.name for value in self.other.enum_type.values if value.number != number}
        return bool(names & known) if names and known else not names & elsewhere

    def _whereabouts(self) -> str:
        """Return in words why the reader's field has no value; empty if it was not lost in a known way."""
        oneof = self.other.containing_oneof
        chosen = self.read.WhichOneof(oneof.name) if oneof else None
        if chosen and chosen != self.other.name:
            return f"lost, since {chosen} of the same oneof came after it"
        return "kept as an unknown field, value lost" if self.other.number in unknown_numbers(self.read) else ""

    def _loss(self, text: str, *, is_missing: bool = False) -> MessageLoss:
        wrote, read = _written_as(self.field), _written_as(self.other)
        how = f"written and read as {wrote}" if wrote == read else f"written as {wrote}, read as {read}"
        facts = {"number": self.field.number, "how": how, "what": text}
        return MessageLoss(self.at, Sentence.of("field {number} {how}: {what}", facts), is_missing=is_missing)


def _fields(message: AnyMessage, numbers: Collection[int] | None) -> list[AnyField]:
    """Return the fields of a message that have one of ``numbers``, or all of them, in the order of the numbers."""
    descriptor = message.DESCRIPTOR
    if numbers is None:
        return sorted(descriptor.fields, key=_number_of)
    known = descriptor.fields_by_number
    return [known[number] for number in sorted(numbers) if number in known]


def _values(message: AnyMessage, field: AnyField) -> list[Datum]:
    """Return the values of a field, the entries of a map as messages; empty for an unset field with presence."""
    value = getattr(message, field.name)
    if is_map(field):
        return [_entry(field, key, value) for key in sorted(value, key=str)]
    if field.is_repeated:
        return [*value]
    return [value] if not field.has_presence or message.HasField(field.name) else []


def _entry(field: AnyField, key: Datum, values: Datum) -> AnyMessage:
    entry: AnyMessage = GetMessageClass(field.message_type)()
    entry.key = key
    if _is_message(field.message_type.fields_by_name["value"]):
        entry.value.CopyFrom(values[key])
        entry.value.SetInParent()
    else:
        entry.value = values[key]
    return entry


def _key_of_entry(value: object) -> str:
    """Return the sort key that gives messages the order of a map's entries."""
    if not isinstance(value, Message):
        return ""
    fields = value.DESCRIPTOR.fields_by_number
    return str(getattr(value, fields[1].name)) if 1 in fields else ""


def _is_choice_lost(field: AnyField, read: AnyMessage) -> bool:
    """Return whether the reader has the oneof of a written field that is unknown to it, or one of its members."""
    oneof = field.containing_oneof
    if oneof is None or _is_synthetic(field):
        return False
    descriptor = read.DESCRIPTOR
    known = descriptor.fields_by_number
    return oneof.name in descriptor.oneofs_by_name or any(member.number in known for member in oneof.fields)


def _have_defaults(*fields: AnyField) -> bool:
    """Return whether the defaults of unset fields can be compared: all numbers or all texts."""
    if len({field.cpp_type == FieldDescriptor.CPPTYPE_STRING for field in fields}) > 1:
        return False
    return not any(field.is_repeated or _is_message(field) for field in fields)


def _is_synthetic(field: AnyField) -> bool:
    """Return whether the oneof of a field is the synthetic one of an optional field."""
    return len(field.containing_oneof.fields) == 1 and field.containing_oneof.name.endswith(f"_{field.name}")


def _is_message(field: AnyField) -> bool:
    return field.message_type is not None


def _written_as(field: AnyField) -> str:
    words = _WORDS_BY_TYPE[field.type]
    form = "packed" if field.is_repeated and field.is_packed else _FORM_BY_WORDS.get(words, _VARINT)
    words = "map" if is_map(field) else f"repeated {words}" if field.is_repeated else words
    return f"{words} ({form})"


def _number_of(field: AnyField) -> int:
    return int(field.number)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and isnan(value)


def _raw(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _shown(value: Datum, field: AnyField) -> str:
    if field.enum_type is not None:
        return f"{_symbol(field, value)} ({value})"
    return excerpt(f"{{{' '.join(str(value).split())}}}" if isinstance(value, Message) else repr(value))


def _message_text(message: AnyMessage) -> str:
    """Return a message of a well-known type in its JSON form without quotes: ``2024-05-01T12:34:56Z``."""
    return plain_json(message).strip('"') or "{}"


def _symbol(field: AnyField, number: int) -> str:
    known = field.enum_type.values_by_number.get(number)
    return known.name if known else "an unknown number"
