"""Encoders: functions from a message, or a dict, to bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from google.protobuf.message import EncodeError as RuntimeEncodeError
from google.protobuf.message import Message

from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde.misfits import misfit, placed
from counterfoil.sdk.serde.protobuf_codec.dict_writer import DictWriter
from counterfoil.sdk.serde.protobuf_codec.message_types import class_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyMessage, MessageClass


def compile_encoder(
    descriptor: AnyDescriptor, class_: MessageClass | None = None, *, exact: bool = True
) -> Callable[..., bytes]:
    """Return a function ``(value, prefix)`` that returns the prefix and the bytes of a message.

    Values are messages of ``class_`` (by default the class of the descriptor), other messages of the same full name,
    and mappings from field names to values; with ``exact`` a number in these that would be rounded is an error. Raises
    ``EncodeError`` with path, expected and got.
    """
    class_ = class_of(descriptor) if class_ is None else class_
    serialize: Callable[[Any], bytes] = class_.SerializeToString
    build = _builder(descriptor, class_, DictWriter(exact=exact))

    def encode(value: Any, prefix: bytes = b"", /) -> bytes:
        message = value if type(value) is class_ else build(value)  # slower: value.__class__, which may be a field
        try:
            return prefix + serialize(message)
        except (RuntimeEncodeError, ValueError, TypeError) as error:
            _refuse(message, error)

    return encode


def _builder(descriptor: AnyDescriptor, class_: MessageClass, writer: DictWriter) -> Callable[[Any], AnyMessage]:
    name = descriptor.full_name
    fill = writer.fill(class_.DESCRIPTOR)

    def build(value: Any) -> AnyMessage:
        if isinstance(value, class_):
            return value
        if not isinstance(value, Mapping) and not _is_named(value, name):
            raise _in_words(misfit(f"a message of {name}, or a dict", value))
        message = class_()
        try:
            fill(message, value)
        except EncodeError as error:
            raise _in_words(error) from error.__cause__
        except RecursionError:
            raise EncodeError("The value is nested too deep: it may contain itself") from None
        return message

    return build


def _is_named(value: object, full_name: str) -> bool:
    return isinstance(value, Message) and value.DESCRIPTOR.full_name == full_name


def _in_words(error: EncodeError) -> EncodeError:
    error.problem = f"{error.path or 'The value'}: {error.problem}"
    return error


def _refuse(message: AnyMessage, error: Exception) -> NoReturn:
    missing = message.FindInitializationErrors()
    if missing:
        lacking = EncodeError("expected a value, since the field is required; got none", expected="a value", got="none")
        raise _in_words(placed(lacking, missing[0])) from error
    raise EncodeError(f"The message cannot be written: {error}") from error
