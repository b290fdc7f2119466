"""The message types of a schema: places in its file, fields that two types read differently, the place of a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from google.protobuf.descriptor import FieldDescriptor, FileDescriptor
from google.protobuf.message_factory import GetMessageClass

from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, MessageClass

# The message types of one schema in Google's runtime, and their places in the schema's file.
#
# A message's place is its path of message indexes: its number among the messages of the file, then among those nested
# in that message, and so on. A map field has a nested message of its own, the type of its entries. Writers that work
# with descriptors count these messages; others count the messages that the text declares. So a path may have two
# meanings.
#
# Source: the wire format of Confluent's serializers; ``google/protobuf/descriptor.proto``.

Path: TypeAlias = tuple[int, ...]
"""Message indexes."""


class MessageTypes:
    """The message types that the file of a schema declares, in the pool of this file."""

    def __init__(self, file: FileDescriptor) -> None:
        self.file = file

    @cached_property
    def declared(self) -> dict[str, AnyDescriptor]:
        """The message types by full name, outer ones before those that they contain; without those of map entries."""
        return {each.full_name: each for each in _with_nested(self.file.message_types_by_name.values())}

    def find(self, full_name: str | None) -> AnyDescriptor | None:
        """Return the message type of this name, or for None the first of the file; None if there is none."""
        if full_name is None:
            return next(iter(self.declared.values()), None)
        return self.declared.get(full_name)

    def at(self, path: Sequence[int]) -> list[AnyDescriptor]:
        """Return the message types that a path may mean, the one that counts map entries first; never a map entry."""
        found = (self._step(path, is_counted) for is_counted in (_is_any, _is_declared))
        return list(dict.fromkeys(each for each in found if each is not None and _is_declared(each)))

    def _step(self, path: Sequence[int], is_counted: Callable[[AnyDescriptor], bool]) -> AnyDescriptor | None:
        nested = list(self.file.message_types_by_name.values())
        found = None
        for index in path:
            if index >= len(nested):
                return None
            found = nested[index]
            nested = [each for each in found.nested_types if is_counted(each)]
        return found


def path_of(descriptor: AnyDescriptor) -> Path:
    """Return the path of a message type; entries of maps are counted, as by Confluent's serializers."""
    path: list[int] = []
    inner = descriptor
    while inner.containing_type is not None:
        path.append([each.full_name for each in inner.containing_type.nested_types].index(inner.full_name))
        inner = inner.containing_type
    path.append(list(descriptor.file.message_types_by_name).index(inner.name))
    return tuple(reversed(path))


def class_of(descriptor: AnyDescriptor) -> MessageClass:
    """Return the class of a message type in the pool of the descriptor."""
    return GetMessageClass(descriptor)


def _with_nested(descriptors: Iterable[AnyDescriptor]) -> Iterator[AnyDescriptor]:
    for each in descriptors:
        if _is_declared(each):
            yield each
            yield from _with_nested(each.nested_types)


def _is_any(descriptor: AnyDescriptor) -> bool:
    _ = descriptor
    return True


def _is_declared(descriptor: AnyDescriptor) -> bool:
    return not descriptor.GetOptions().map_entry


# Fields of one number whose bytes two message types understand as different values.
#
# A field that only one type has is no misreading, nor is one whose bytes the other type puts among its unknown fields.
#
# Source: the Protocol Buffers encoding guide.

_GROUP_BY_TYPE: Final = {
    **dict.fromkeys(
        (
            *(FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT32),
            *(FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_BOOL, FieldDescriptor.TYPE_ENUM),
        ),
        ("varint", "plain"),
    ),
    **dict.fromkeys((FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64), ("varint", "zigzag")),
    **dict.fromkeys((FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_SFIXED32), ("32 bits", "integer")),
    FieldDescriptor.TYPE_FLOAT: ("32 bits", "float"),
    **dict.fromkeys((FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64), ("64 bits", "integer")),
    FieldDescriptor.TYPE_DOUBLE: ("64 bits", "float"),
    **dict.fromkeys((FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES), ("length", "text")),
    FieldDescriptor.TYPE_MESSAGE: ("length", "message"),
    FieldDescriptor.TYPE_GROUP: ("group", "message"),
}
"""The wire type of each type, and the meaning of its bytes."""


@dataclass(frozen=True, slots=True)
class MisreadField:
    """A field, by its path in the writer's type, and the two types."""

    path: str
    writer: str
    reader: str


def find_misreading(reader: AnyDescriptor, writer: AnyDescriptor) -> MisreadField | None:
    """Return the first field of ``writer`` that ``reader`` understands otherwise; None if there is none."""
    waiting = [(reader, writer, "")]
    seen = set()
    while waiting:
        mine, theirs, path = waiting.pop()
        if (mine.full_name, theirs.full_name) in seen:
            continue
        seen.add((mine.full_name, theirs.full_name))
        for field in theirs.fields:
            other = mine.fields_by_number.get(field.number)
            place = f"{path}.{field.name}" if path else field.name
            if other is None:
                continue
            if _is_misread(other, field):
                return MisreadField(place, _words(field), _words(other))
            if other.message_type is not None and field.message_type is not None:
                waiting.append((other.message_type, field.message_type, place))
    return None


def _is_misread(reader: AnyField, writer: AnyField) -> bool:
    wire_type, meaning = _GROUP_BY_TYPE[writer.type]
    other_wire_type, other_meaning = _GROUP_BY_TYPE[reader.type]
    return wire_type == other_wire_type and meaning != other_meaning


def _words(field: AnyField) -> str:
    if field.message_type is not None:
        return str(field.message_type.full_name)
    return NAME_BY_TYPE[field.type]


NAME_BY_TYPE: Final = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}
"""The name of each type, as it is written in ``.proto`` files."""


# The place where bytes stop being a message: the runtime reports only that they do.
#
# Source: the Protocol Buffers encoding guide.

_VARINT, _FIXED64, _LENGTH, _GROUP, _END_GROUP, _FIXED32 = range(6)
_SIZE_BY_WIRE_TYPE: Final = {_FIXED64: 8, _FIXED32: 4}
_SIZE_BY_TYPE: Final = {
    **dict.fromkeys(
        (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64),
        _SIZE_BY_WIRE_TYPE[_FIXED64],
    ),
    **dict.fromkeys(
        (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_SFIXED32),
        _SIZE_BY_WIRE_TYPE[_FIXED32],
    ),
}
_UNPACKED: Final = frozenset(
    {
        FieldDescriptor.TYPE_STRING,
        FieldDescriptor.TYPE_BYTES,
        FieldDescriptor.TYPE_MESSAGE,
        FieldDescriptor.TYPE_GROUP,
    }
)
_MAX_VARINT_BYTES: Final = 10
_MAX_DEPTH: Final = 100
_MAX_NUMBER: Final = 2**29 - 1


@dataclass(frozen=True, slots=True)
class MessageFault:
    """The mistake in the bytes, its offset, and its field."""

    problem: str
    offset: int
    path: str


class _Found(Exception):
    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset


def find_fault(descriptor: AnyDescriptor, data: bytes, offset: int) -> MessageFault | None:
    """Return the first place from ``offset`` on that is no part of a message; None if every field can be read."""
    walk = _Walk(data)
    try:
        walk.message(descriptor, offset, len(data), group=None)
    except _Found as found:
        return MessageFault(found.problem, found.offset, ".".join(walk.path))
    return None


class _Walk:
    """A walk over the fields; ``path`` is the current place."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.path: list[str] = []
        self._depth = 0

    def message(self, descriptor: AnyDescriptor | None, offset: int, end: int, *, group: int | None) -> int:
        """Walk over the fields of a message up to ``end``, or of a group up to its end tag; return the offset after."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Found(f"Messages are nested more than {_MAX_DEPTH} deep", offset)
        while offset < end:
            start = offset
            tag, offset = self._varint(offset, end)
            number = tag >> 3
            if not 1 <= number <= _MAX_NUMBER:
                raise _Found(f"{number} is no field number", start)
            if tag & 7 == _END_GROUP:
                if number != group:
                    raise _Found(f"The end of group {number}, which is not open", start)
                self._depth -= 1
                return offset
            field = descriptor.fields_by_number.get(number) if descriptor is not None else None
            self.path.append(str(number) if field is None else field.name)
            offset = self._value(field, tag, offset, end)
            self.path.pop()
        if group is not None:
            raise _Found(f"The data ends inside group {group}", end)
        self._depth -= 1
        return offset

    def _value(self, field: AnyField | None, tag: int, offset: int, end: int) -> int:
        number, wire_type = tag >> 3, tag & 7
        inner = None if field is None else field.message_type
        if wire_type == _VARINT:
            return self._varint(offset, end)[1]
        if wire_type in _SIZE_BY_WIRE_TYPE:
            return self._skip(offset, _SIZE_BY_WIRE_TYPE[wire_type], end)
        if wire_type == _GROUP:
            return self.message(inner, offset, end, group=number)
        if wire_type != _LENGTH:
            raise _Found(f"{wire_type} is no wire type", offset - 1)
        size, offset = self._varint(offset, end)
        after = self._skip(offset, size, end)
        if field is not None and field.type == FieldDescriptor.TYPE_MESSAGE:
            self.message(inner, offset, after, group=None)
        elif field is not None and field.type == FieldDescriptor.TYPE_STRING:
            self._check_text(offset, after)
        elif field is not None and field.is_repeated and field.type not in _UNPACKED:
            self._check_packed(_SIZE_BY_TYPE.get(field.type), offset, after)
        return after

    def _check_packed(self, size: int | None, offset: int, end: int) -> None:
        """Check the numbers of a packed field, each of ``size`` bytes or, without one, a varint."""
        while offset < end:
            offset = self._varint(offset, end)[1] if size is None else self._skip(offset, size, end)

    def _varint(self, offset: int, end: int) -> tuple[int, int]:
        value = 0
        for index, byte in enumerate(self._data[offset : min(end, offset + _MAX_VARINT_BYTES)]):
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:  # noqa: PLR2004 - the top bit says that more follows
                return value, offset + index + 1
        if end - offset < _MAX_VARINT_BYTES:
            raise _Found("The data ends inside a number", end)
        raise _Found(f"A number of more than {_MAX_VARINT_BYTES} bytes", offset)

    @staticmethod
    def _skip(offset: int, size: int, end: int) -> int:
        if size > end - offset:
            raise _Found(f"A value of {size} bytes, and the message has {end - offset} more", offset)
        return offset + size

    def _check_text(self, offset: int, end: int) -> None:
        try:
            self._data[offset:end].decode()
        except UnicodeDecodeError as error:
            raise _Found("A string that is not UTF-8", offset + error.start) from None
