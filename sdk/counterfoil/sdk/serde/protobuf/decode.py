"""Decoders: functions from bytes to a message, or to a dict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from google.protobuf.message import DecodeError as RuntimeDecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, AnyMessage, MessageClass, is_map
from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.protobuf.message_types import class_of, find_fault
from counterfoil.sdk.serde.protobuf.well_known import ANY, CONVERSION_BY_NAME, TIMES, WRAPPERS, or_nanoseconds

# Messages as dicts of Python values.
#
# A field without presence is always in the dict, with its default when it is not set; a field with presence is there
# when it is set. Enums are their symbols, or numbers that have none; keys of extensions are ``[full.name]``. Unknown
# fields are only in messages.

Read: TypeAlias = "Callable[[Datum], Datum]"
"""Returns a message, or a value of a field, as a Python value. Raises ``DecodeError`` with the path."""


class DictReader:
    """Reads messages of one pool. The functions are built once per message type.

    With ``far_as_numbers``, a ``Timestamp`` or ``Duration`` that Python does not have is a number of nanoseconds.
    """

    def __init__(self, *, far_as_numbers: bool = False) -> None:
        self._far_as_numbers = far_as_numbers
        self._reads: dict[str, Read] = {}

    def read(self, descriptor: AnyDescriptor) -> Read:
        """Return the function that reads messages of the type."""
        found = self._reads.get(descriptor.full_name)
        return found if found is not None else self._reads.setdefault(descriptor.full_name, self._build(descriptor))

    def _build(self, descriptor: AnyDescriptor) -> Read:
        if descriptor.full_name in WRAPPERS:
            return lambda message: message.value
        if descriptor.full_name == ANY:
            return self._read_any
        convert = CONVERSION_BY_NAME.get(descriptor.full_name)
        if convert is None:
            return self._read_fields(descriptor)
        is_time = self._far_as_numbers and descriptor.full_name in TIMES
        return or_nanoseconds(convert.read) if is_time else _guarded(convert.read)

    def _read_fields(self, descriptor: AnyDescriptor) -> Read:
        fields = [(field.name, field.has_presence, self._value_of(field)) for field in descriptor.fields]

        def read(message: AnyMessage) -> dict[str, Datum]:
            value: dict[str, Datum] = {}
            name = ""
            try:
                for name, has_presence, convert in fields:
                    if not has_presence or message.HasField(name):
                        value[name] = convert(getattr(message, name))
                if descriptor.is_extendable:
                    for field, item in message.ListFields():
                        if field.is_extension:
                            name = f"[{field.full_name}]"
                            value[name] = self._value_of(field)(item)
            except DecodeError as error:
                error.path = f"{name}{'.' if error.path and not error.path.startswith('[') else ''}{error.path}"
                raise
            return value

        return read

    def _value_of(self, field: AnyField) -> Read:
        if is_map(field):
            convert = self._single(field.message_type.fields_by_name["value"])
            return lambda entries: {key: convert(entries[key]) for key in entries}
        single = self._single(field)
        return (lambda items: [single(item) for item in items]) if field.is_repeated else single

    def _single(self, field: AnyField) -> Read:
        if field.message_type is not None:
            return self._message_of(field.message_type)
        if field.enum_type is not None:
            symbols = {number: symbol.name for number, symbol in field.enum_type.values_by_number.items()}
            return lambda number: symbols.get(number, number)
        return _unchanged

    def _message_of(self, descriptor: AnyDescriptor) -> Read:
        """Return the function for an inner message, which is built with the first such message: types may be cyclic."""

        def read(message: AnyMessage) -> Datum:
            return self.read(descriptor)(message)

        return read

    def _read_any(self, message: AnyMessage) -> dict[str, Datum]:
        url = message.type_url
        try:
            inner = message.DESCRIPTOR.file.pool.FindMessageTypeByName(url.rpartition("/")[2])
        except KeyError:
            return {"@type": url, "value": message.value}
        try:
            value = self.read(inner)(class_of(inner).FromString(message.value))
        except RuntimeDecodeError as error:
            raise DecodeError(f"The content is no {inner.full_name}: {error}") from error
        is_plain = isinstance(value, dict) and inner.full_name not in CONVERSION_BY_NAME
        return {"@type": url, **value} if is_plain else {"@type": url, "value": value}


def _guarded(convert: Read) -> Read:
    def read(message: AnyMessage) -> Datum:
        try:
            return convert(message)
        except (ValueError, ArithmeticError) as error:
            raise DecodeError(f"The message is no valid {message.DESCRIPTOR.full_name}: {error}") from error

    return read


def _unchanged(value: object) -> Datum:
    return value


# Decoders for one writer and perhaps a reader.

Decode = Any

_PARSER: Final = "parser"


def compile_decoder(
    class_: MessageClass, *, as_dict: bool = False, far_as_numbers: bool = False
) -> Callable[[bytes, int], Datum]:
    """Return a function ``(data, offset)`` that reads the message after ``offset``.

    Unknown fields are kept in the message. ``far_as_numbers`` is that of :class:`DictReader`. Raises ``DecodeError``
    with offset and path.
    """
    parse = class_.FromString

    def decode(data: bytes, offset: int, /) -> Datum:
        try:
            return parse(data[offset:])
        except (RuntimeDecodeError, ValueError) as error:
            _refuse(class_.DESCRIPTOR, data, offset, error)

    if as_dict:
        return _as_dict(decode, class_.DESCRIPTOR, DictReader(far_as_numbers=far_as_numbers))
    setattr(decode, _PARSER, parse)
    return decode


def parser_of(decode: Callable[[bytes, int], Datum]) -> Callable[[bytes], Datum] | None:
    """Return the runtime's own function that a decoder of one class calls with the body; None for any other decoder."""
    parse: Callable[[bytes], Datum] | None = getattr(decode, _PARSER, None)
    return parse


def compile_choice(
    descriptors: Sequence[AnyDescriptor], decoder_of: Callable[[AnyDescriptor], Callable[[bytes, int], Datum]]
) -> Callable[[bytes, int], Datum]:
    """Return a function that reads messages of one of several types: the one that declares all fields of the bytes.

    Raises ``DecodeError`` if none or several do.
    """
    candidates = [(class_of(each).FromString, decoder_of(each)) for each in descriptors]
    names = " or ".join(each.full_name for each in descriptors)

    def decode(data: bytes, offset: int, /) -> Datum:
        fitting = [read for parse, read in candidates if _fits(parse, data[offset:])]
        if len(fitting) == 1:
            return fitting[0](data, offset)
        raise DecodeError(
            f"The message indexes mean {names}, since writers disagree on whether types of map entries are counted; "
            "name the message or its class to read it",
            offset=offset,
        )

    return decode


def _fits(parse: Callable[[bytes], Datum], body: bytes) -> bool:
    try:
        return len(UnknownFieldSet(parse(body))) == 0
    except (RuntimeDecodeError, ValueError):
        return False


def _as_dict(
    decode: Callable[[bytes, int], Datum], descriptor: AnyDescriptor, reader: DictReader
) -> Callable[[bytes, int], Datum]:
    read = reader.read(descriptor)

    def decode_dict(data: bytes, offset: int, /) -> Datum:
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
