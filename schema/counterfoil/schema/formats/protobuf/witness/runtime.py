"""The protobuf runtime, a decoder of another project: it creates, writes and reads messages.

Source of the behaviour: the Python package ``protobuf``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from google.protobuf import __version__ as _version
from google.protobuf import json_format, message_factory
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.protobuf.describe.pools import PoolRefuses, pooled_file
from counterfoil.schema.formats.protobuf.witness.unchecked_text import has_unchecked_text

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyMessage
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema

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
