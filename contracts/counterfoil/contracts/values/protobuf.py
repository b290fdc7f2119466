"""Protobuf's values as JSON.

Fields have the names of the ``.proto`` file; enums are symbols, 64-bit integers are numbers, bytes are base64, floats
that JSON does not have are the texts ``NaN``, ``Infinity`` and ``-Infinity``. A ``Timestamp`` is a time in ISO 8601
with microseconds, a ``Duration`` seconds such as ``1.5s``, a wrapper its value, a decimal message a text, ``Any`` an
object with the key ``@type``. Unknown fields are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from counterfoil.contracts.values import misfit_at_top, read_bytes, read_real, shown_bytes, shown_real
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, is_map
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde import misfit, placed
from counterfoil.sdk.serde.codec import AnyCodec, Decode
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes
from counterfoil.sdk.serde.protobuf.well_known import ANY, CONVERSION_BY_NAME, WRAPPERS

_TYPE_URL: Final = "@type"
_BOOLEANS: Final = {"true": True, "false": False}


class ProtobufForm:
    """The form of Protobuf's values."""

    options: Final[Mapping[str, Datum]] = {"as_dict": True}

    def decoder(self, codec: AnyCodec, writer: object, reader: object, suffix: bytes) -> Decode:
        """Return a function that reads data as JSON."""
        read = codec.decoder(writer, reader, suffix)

        def decode(data: bytes, offset: int, /) -> Datum:
            return _shown(read(data, offset))

        return decode

    def value(self, parsed: MessageTypes, given: object, message: str | None = None) -> Datum:
        """Return the dict for an encoder."""
        descriptor = parsed.find(message)
        try:
            return given if descriptor is None else _value(descriptor, given)
        except EncodeError as error:
            raise misfit_at_top(error) from None
        except RecursionError:
            raise misfit_at_top(misfit("a value that is nested less deeply", given)) from None


def _shown(value: object) -> Datum:
    match value:
        case dict():
            return {shown_key(key): _shown(item) for key, item in value.items()}
        case list():
            return [_shown(item) for item in value]
        case bytes():
            return shown_bytes(value)
        case float():
            return shown_real(value)
        case datetime():
            return value.isoformat()
        case timedelta():
            return shown_duration(value)
        case Decimal():
            return str(value)
    return value


def shown_key(key: object) -> str:
    """Return the key of a map as a key of JSON."""
    return str(key).lower() if isinstance(key, bool) else str(key)


def shown_duration(value: timedelta) -> str:
    """Return a duration as Protobuf's JSON has it."""
    micros = value // timedelta(microseconds=1)
    seconds, rest = divmod(abs(micros), 1_000_000)
    digits = f".{rest:06}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}{seconds}{digits}s"


def _value(descriptor: AnyDescriptor, given: object) -> Datum:
    """Return a value of a message type; a value that an encoder reads in the same way stays as it is."""
    name = descriptor.full_name
    if name in WRAPPERS:
        return given if isinstance(given, dict) else _single(descriptor.fields_by_name["value"], given)
    if name == ANY:
        return _any_value(descriptor, given)
    if name in CONVERSION_BY_NAME:
        return _decimal(given) if name.endswith(".Decimal") and isinstance(given, str) else given
    if not isinstance(given, dict):
        raise misfit(f"an object ({name})", given)
    fields = {key: field for field in descriptor.fields for key in (field.json_name, field.name)}
    return {key: _under(str(key), fields[key], item) if key in fields else item for key, item in given.items()}


def _under(part: str, field: AnyField, given: object) -> Datum:
    try:
        return _field_value(field, given)
    except EncodeError as error:
        raise placed(error, part) from None


def _field_value(field: AnyField, given: object) -> Datum:
    if is_map(field):
        if not isinstance(given, dict):
            return given
        parts = field.message_type.fields_by_name
        return {_key(parts["key"], key): _placed(f"[{key!r}]", parts["value"], item) for key, item in given.items()}
    if field.is_repeated and isinstance(given, list):
        return [_placed(f"[{index}]", field, item) for index, item in enumerate(given)]
    return _single(field, given)


def _placed(part: str, field: AnyField, given: object) -> Datum:
    try:
        return _single(field, given)
    except EncodeError as error:
        raise placed(error, part) from None


def _single(field: AnyField, given: object) -> Datum:
    if given is None:
        return None
    if field.message_type is not None:
        return _value(field.message_type, given)
    if field.type == field.TYPE_BYTES:
        return read_bytes(given)
    return read_real(given) if field.type in (field.TYPE_DOUBLE, field.TYPE_FLOAT) else given


def _key(field: AnyField, key: str) -> Datum:
    if field.type == field.TYPE_STRING:
        return key
    if field.type == field.TYPE_BOOL:
        return _BOOLEANS.get(key, key)
    try:
        return int(key)
    except ValueError:
        return key  # the encoder names the place and the type that it expects


def _decimal(given: str) -> Decimal:
    try:
        return Decimal(given)
    except InvalidOperation:
        raise misfit("a decimal number", given) from None


def _any_value(descriptor: AnyDescriptor, given: object) -> Datum:
    if not isinstance(given, dict) or not isinstance(given.get(_TYPE_URL), str):
        raise misfit(f"an object with the key {_TYPE_URL}", given)
    url, rest = given[_TYPE_URL], {key: item for key, item in given.items() if key != _TYPE_URL}
    try:
        inner = descriptor.file.pool.FindMessageTypeByName(url.rpartition("/")[2])
    except KeyError:
        return {_TYPE_URL: url, **{key: read_bytes(item) if key == "value" else item for key, item in rest.items()}}
    if inner.full_name in CONVERSION_BY_NAME or inner.full_name in WRAPPERS:
        return {_TYPE_URL: url, "value": _value(inner, rest.get("value"))}
    return {_TYPE_URL: url, **_value(inner, rest)}
