"""Messages whose strings are not UTF-8, which a writer that does not check its strings may write.

The runtime refuses to set a field to such a text, but parses and serializes it, so these messages are parsed from
bytes.

Source: the Protocol Buffers encoding guide, and the behaviour of the Python package ``protobuf``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyField, AnyMessage

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
