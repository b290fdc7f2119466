"""The key and the value of a record: framed with a schema, a text, or any bytes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from counterfoil.contracts.decoding.message import open_message
from counterfoil.contracts.values.form import shown_bytes
from counterfoil.schema.fingerprint import content_guid
from counterfoil.sdk.errors import DecodeError, SerdeError
from counterfoil.sdk.serde.reading import frame_of, read_header_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from counterfoil.contracts.decoding.message import OpenedMessage
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.model import Schema
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.serde.codec import Decode


class PartForm(StrEnum):
    """How a key or a value is written in a line: as JSON by its schema, as a text, or as base64."""

    SCHEMA = "schema"
    TEXT = "text"
    BASE64 = "base64"


@dataclass(frozen=True, slots=True)
class Part:
    """A key or a value as it is printed; ``form`` is None for null.

    ``schema_id`` and ``guid`` name the schema that it was written with. With an ``error`` it is printed as base64.
    """

    form: PartForm | None = None
    shown: Any = None
    schema_id: int | None = None
    guid: UUID | None = None
    error: SerdeError | None = None


class PartReader:
    """Reads keys, or values, in one form, or without one as what they are: framed, a text, or bytes.

    ``reader`` is the schema with which framed data is read. The registry is opened when it is first needed.
    """

    def __init__(
        self, registry: Callable[[], Registry], form: PartForm | None, *, reader: ReadSchema | None = None
    ) -> None:
        self._registry = registry
        self._form = form
        self._reader = reader
        self._opened: dict[bytes, OpenedMessage] = {}
        self._decoders: dict[bytes, Decode] = {}

    def read(self, data: bytes | None, named: bytes | None) -> Part:
        """Return the part; an error of the data is in the result, and the errors of the registry's client are raised.

        ``named`` is the header of the record that names the schema.
        """
        if data is None:
            return Part()
        if self._form is PartForm.BASE64:
            return Part(PartForm.BASE64, shown_bytes(data))
        if self._form is PartForm.TEXT or (self._form is None and named is None and data[:1] not in {b"\0", b"\1"}):
            return self._text(data)
        try:
            return self._value(data, named)
        except SerdeError as error:
            if self._form is None and named is None:
                return self._text(data)
            return Part(PartForm.BASE64, shown_bytes(data), error=error)

    def _text(self, data: bytes) -> Part:
        try:
            return Part(PartForm.TEXT, data.decode())
        except UnicodeDecodeError as error:
            bad = None
            if self._form is PartForm.TEXT:
                bad = DecodeError(f"The data is no text in UTF-8 ({error.reason})", offset=error.start)
            return Part(PartForm.BASE64, shown_bytes(data), error=bad)

    def _value(self, data: bytes, named: bytes | None) -> Part:
        framed = data if named is None else named
        key = framed[: frame_of(framed).offset]
        opened = self._opened.get(key)
        if opened is None:
            opened = self._opened[key] = open_message(data, named=named, registry=self._registry())
        header = read_header_of(opened.codec, data, named=named)
        decode = self._decoders.get(header.prefix)
        if decode is None:
            decode = opened.decoder(header.suffix, self._reader)
            self._decoders[header.prefix] = decode
        shown = decode(data, header.offset)
        return Part(PartForm.SCHEMA, shown, header.frame.schema_id, header.frame.guid or guid_of(opened.schema))


def guid_of(schema: Schema) -> UUID:
    """Return the guid of a schema of a registry."""
    return content_guid(schema.text, schema.references, schema.metadata, schema.rule_set)
