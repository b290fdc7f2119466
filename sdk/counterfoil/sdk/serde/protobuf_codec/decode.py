"""Decoders: functions from bytes to a message, or to a dict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from google.protobuf.message import DecodeError as RuntimeDecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.protobuf_codec.dict_reader import DictReader
from counterfoil.sdk.serde.protobuf_codec.faults import find_fault
from counterfoil.sdk.serde.protobuf_codec.message_types import class_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, MessageClass

Decode = Any

_PARSER: Final = "parser"


def compile_decoder(
    class_: MessageClass, *, as_dict: bool = False, far_as_numbers: bool = False
) -> Callable[[bytes, int], Any]:
    """Return a function ``(data, offset)`` that reads the message after ``offset``.

    Unknown fields are kept in the message. ``far_as_numbers`` is that of :class:`DictReader`. Raises ``DecodeError``
    with offset and path.
    """
    parse = class_.FromString

    def decode(data: bytes, offset: int, /) -> Any:
        try:
            return parse(data[offset:])
        except (RuntimeDecodeError, ValueError) as error:
            _refuse(class_.DESCRIPTOR, data, offset, error)

    if as_dict:
        return _as_dict(decode, class_.DESCRIPTOR, DictReader(far_as_numbers=far_as_numbers))
    setattr(decode, _PARSER, parse)
    return decode


def parser_of(decode: Callable[[bytes, int], Any]) -> Callable[[bytes], Any] | None:
    """Return the runtime's own function that a decoder of one class calls with the body; None for any other decoder."""
    parse: Callable[[bytes], Any] | None = getattr(decode, _PARSER, None)
    return parse


def compile_choice(
    descriptors: Sequence[AnyDescriptor], decoder_of: Callable[[AnyDescriptor], Callable[[bytes, int], Any]]
) -> Callable[[bytes, int], Any]:
    """Return a function that reads messages of one of several types: the one that declares all fields of the bytes.

    Raises ``DecodeError`` if none or several do.
    """
    candidates = [(class_of(each).FromString, decoder_of(each)) for each in descriptors]
    names = " or ".join(each.full_name for each in descriptors)

    def decode(data: bytes, offset: int, /) -> Any:
        fitting = [read for parse, read in candidates if _fits(parse, data[offset:])]
        if len(fitting) == 1:
            return fitting[0](data, offset)
        raise DecodeError(
            f"The message indexes mean {names}, since writers disagree on whether types of map entries are counted; "
            "name the message or its class to read it",
            offset=offset,
        )

    return decode


def _fits(parse: Callable[[bytes], Any], body: bytes) -> bool:
    try:
        return len(UnknownFieldSet(parse(body))) == 0
    except (RuntimeDecodeError, ValueError):
        return False


def _as_dict(
    decode: Callable[[bytes, int], Any], descriptor: AnyDescriptor, reader: DictReader
) -> Callable[[bytes, int], Any]:
    read = reader.read(descriptor)

    def decode_dict(data: bytes, offset: int, /) -> Any:
        message = decode(data, offset)
        try:
            return read(message)
        except DecodeError as error:
            error.problem = f"{error.path}: {error.problem}" if error.path else error.problem
            raise

    return decode_dict


def _refuse(descriptor: AnyDescriptor, data: bytes, offset: int, error: Exception) -> NoReturn:
    fault = find_fault(descriptor, data, offset)
    if fault is None:
        raise DecodeError(f"The bytes are no {descriptor.full_name}: {error}", offset=offset) from error
    where = f"{descriptor.full_name}.{fault.path}" if fault.path else descriptor.full_name
    raise DecodeError(
        f"The bytes are no {descriptor.full_name}: {fault.problem} (at offset {fault.offset}, in {where})",
        offset=fault.offset,
        path=fault.path,
    ) from error
