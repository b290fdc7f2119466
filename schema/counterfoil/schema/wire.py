"""The wire format: the prefix before the body of a message, which names its schema.

::

    00 | schema id, 4 bytes big-endian       | [message indexes] | body
    01 | schema guid, 16 bytes big-endian    | [message indexes] | body

Message indexes belong to Protobuf alone: the path from the file to the message type, each step a zigzag varint.

Source: the public wire format of Confluent's serializers; varints as in Kafka's ``ByteUtils``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from uuid import UUID

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Bytes in any of Python's three wrappings."""

MAGIC_ID: Final = 0
MAGIC_GUID: Final = 1
ID_PREFIX_BYTES: Final = 5
GUID_PREFIX_BYTES: Final = 17
MAX_SCHEMA_ID: Final = 2**31 - 1
MAX_MESSAGE_INDEXES: Final = 64

KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"

_MAX_VARINT_BYTES: Final = 5
_MAX_INDEX: Final = 2**31 - 1
_VARINT_BITS: Final = 32


class WireError(CounterfoilError):
    """Bytes that are not the wire format. ``offset`` counts from the start of the data."""

    def __init__(self, problem: str, *, offset: int = 0) -> None:
        super().__init__(f"{problem} (offset {offset})")
        self.problem = problem
        self.offset = offset


class WrongMagic(WireError):
    """The first byte is not a magic byte of the wire format."""


class ShortFrame(WireError):
    """The data ends inside the frame."""


class BadMessageIndexes(WireError):
    """The message indexes are not a path: a varint too long, too many steps, or a negative step."""


class InvalidSchemaId(CounterfoilError):
    """A number that no registry issues as a schema id: ids are 1 to 2147483647. ``schema_id`` is the number."""

    def __init__(self, schema_id: int) -> None:
        super().__init__(f"{schema_id} is no schema id; expected a whole number from 1 to {MAX_SCHEMA_ID}")
        self.schema_id = schema_id


@dataclass(frozen=True, slots=True)
class Frame:
    """The content of a prefix: ``schema_id`` or ``guid`` (one is None), and the ``offset`` of the bytes after it.

    After it comes the body, or for Protobuf the message indexes and then the body.
    """

    schema_id: int | None
    guid: UUID | None
    offset: int


def id_prefix(schema_id: int) -> bytes:
    """Return the five bytes of a prefix with a schema id. Raises ``InvalidSchemaId``."""
    if schema_id.__class__ is not int or not 1 <= schema_id <= MAX_SCHEMA_ID:
        raise InvalidSchemaId(schema_id)
    return b"\x00" + schema_id.to_bytes(4)


def guid_prefix(guid: UUID) -> bytes:
    """Return the seventeen bytes of a prefix with a guid; they are also the value of a schema id header."""
    return b"\x01" + guid.bytes


def frame(schema_id: int, body: bytes) -> bytes:
    """Return the body with the prefix of ``schema_id`` before it. Raises ``InvalidSchemaId``."""
    return id_prefix(schema_id) + body


def read_frame(data: Buffer) -> Frame:
    """Read the prefix of ``data``.

    Accepts both prefixes and any id, since another registry may have issued it: an id is read unsigned. Raises
    ``WrongMagic`` or ``ShortFrame``.
    """
    if not data:
        raise ShortFrame("No data; expected a magic byte, 0 or 1")
    magic = data[0]
    if magic == MAGIC_ID:
        _require(data, ID_PREFIX_BYTES, "a schema id of 4 bytes")
        return Frame(int.from_bytes(data[1:ID_PREFIX_BYTES]), None, ID_PREFIX_BYTES)
    if magic == MAGIC_GUID:
        _require(data, GUID_PREFIX_BYTES, "a schema guid of 16 bytes")
        from uuid import UUID

        return Frame(None, UUID(bytes=bytes(data[1:GUID_PREFIX_BYTES])), GUID_PREFIX_BYTES)
    raise WrongMagic(f"The first byte is {magic:#04x}; expected the magic byte 0x00 (id) or 0x01 (guid)")


def _require(data: Buffer, size_bytes: int, what: str) -> None:
    if len(data) < size_bytes:
        raise ShortFrame(
            f"The data has {counted(len(data), 'byte')}; expected {what} after the magic byte", offset=len(data)
        )


def encode_message_indexes(path: Sequence[int]) -> bytes:
    """Return a message's path as bytes; ``[0]``, the first message of the file, is the single byte 0.

    ``path`` leads from the file through nested messages, counted from 0. Raises ``BadMessageIndexes`` for an empty or
    too long path and for steps that are not 0 to 2147483647.
    """
    if not 1 <= len(path) <= MAX_MESSAGE_INDEXES:
        raise BadMessageIndexes(
            f"A path of {counted(len(path), 'message index', 'message indexes')}; expected 1 to {MAX_MESSAGE_INDEXES}"
        )
    for step in path:
        if not 0 <= step <= _MAX_INDEX:
            raise BadMessageIndexes(f"{step} is no message index; expected 0 to {_MAX_INDEX}")
    if list(path) == [0]:
        return b"\x00"
    return b"".join(map(_encode_varint, (len(path), *path)))


def read_message_indexes(data: Buffer, offset: int = 0) -> tuple[list[int], int]:
    """Return the path at ``offset``, and the offset after it.

    A count of 0 stands for ``[0]``. Raises ``ShortFrame`` at the end of data and ``BadMessageIndexes`` otherwise.
    """
    start = offset
    count, offset = _read_varint(data, offset)
    if not 0 <= count <= MAX_MESSAGE_INDEXES:
        problem = f"{count} message indexes; expected 0 to {MAX_MESSAGE_INDEXES}"
        raise BadMessageIndexes(problem, offset=start)
    path: list[int] = []
    for _ in range(count):
        start = offset
        step, offset = _read_varint(data, offset)
        if step < 0:
            raise BadMessageIndexes(f"{step} is no message index; expected 0 or more", offset=start)
        path.append(step)
    return path or [0], offset


def _encode_varint(value: int) -> bytes:
    rest = value << 1  # zigzag of a number that is not negative
    out = bytearray()
    while rest > 0x7F:  # noqa: PLR2004 - seven bits are a varint's byte
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _read_varint(data: Buffer, offset: int) -> tuple[int, int]:
    raw = 0
    for index, byte in enumerate(data[offset : offset + _MAX_VARINT_BYTES]):
        raw |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004 - the top bit says that more follows
            if raw >> _VARINT_BITS:
                raise BadMessageIndexes("A message index of more than 32 bits", offset=offset)
            return (raw >> 1) ^ -(raw & 1), offset + index + 1
    if len(data) - offset < _MAX_VARINT_BYTES:
        raise ShortFrame("The data ends inside the message indexes", offset=len(data))
    problem = f"A message index of more than {_MAX_VARINT_BYTES} bytes"
    raise BadMessageIndexes(problem, offset=offset)
