"""The place where bytes stop being a message: the runtime reports only that they do.

Source: the Protocol Buffers encoding guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor import FieldDescriptor

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyField

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
class Fault:
    """What is wrong with the bytes, at which offset, in which field."""

    problem: str
    offset: int
    path: str


class _Found(Exception):
    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset


def find_fault(descriptor: AnyDescriptor, data: bytes, offset: int) -> Fault | None:
    """Return the first place from ``offset`` on that is no part of a message; None if every field can be read."""
    walk = _Walk(data)
    try:
        walk.message(descriptor, offset, len(data), group=None)
    except _Found as found:
        return Fault(found.problem, found.offset, ".".join(walk.path))
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
