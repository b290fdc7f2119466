"""One message, taken apart: frame, schema, value, a reader's value; and the key and the value of a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from counterfoil.contracts.baselines.operands import read_schema
from counterfoil.contracts.project import ReadSchema
from counterfoil.contracts.reports import TextStyle
from counterfoil.contracts.reports.diff import DiffReport, json_diff, text_diff
from counterfoil.contracts.values import form_of, one_line, shown_bytes
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.versions import SubjectVersion
from counterfoil.schema.wire import Frame
from counterfoil.sdk.errors import DecodeError, SerdeError
from counterfoil.sdk.serde.codec import AnyCodec, Decode
from counterfoil.sdk.serde.multi import LANGUAGES
from counterfoil.sdk.serde.reading import MessageFrame, fetch_writer, frame_of, read_header_of

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry


# One message, taken apart: frame, schema, value, and what a given reader makes of it.


@dataclass(frozen=True, slots=True)
class MessageReading:
    """A message read with one schema: its ``value`` as JSON, or the ``error`` that says where and why it has none."""

    value: Datum = None
    error: SerdeError | None = None


@dataclass(frozen=True, slots=True)
class TakenApart:
    """The parts of a message. ``named`` is the header of the record that names the schema, if one does.

    ``writer`` is its schema, with the full name ``record_name`` of the value's type and the versions that have it;
    ``written`` is its value as it was written. ``reader`` is what a given schema makes of it: the changes from the
    writer's schema, and the value as it reads it.
    """

    data: bytes
    named: bytes | None
    header: MessageFrame
    writer: ReadSchema
    record_name: str | None
    versions: tuple[SubjectVersion, ...]
    written: MessageReading
    reader: tuple[DiffReport, MessageReading] | None = None


def take_apart(data: bytes, *, named: bytes | None, registry: Registry, reader: ReadSchema | None = None) -> TakenApart:
    """Return the parts of a message.

    Raises ``FrameError`` for bytes without a frame, ``UnknownSchemaId``, ``DecodeError`` for a schema that cannot be
    read, ``PreconditionFailed`` for a reader of another language, and the errors of the client.
    """
    opened = open_message(data, named=named, registry=registry)
    frame = opened.header.frame
    return TakenApart(
        data,
        named,
        opened.header,
        opened.writer,
        opened.codec.record_name(opened.parsed, opened.header.suffix),
        () if frame.schema_id is None else registry.versions_of_id(frame.schema_id),
        _read(opened, None, data),
        None if reader is None else (DiffReport.of(opened.writer, reader), _read(opened, reader, data)),
    )


@dataclass(frozen=True, slots=True)
class OpenedWriter:
    """The schema of a message's writer, to which its frame leads, read and parsed by ``codec``."""

    frame: Frame
    schema: Schema
    writer: ReadSchema
    codec: AnyCodec
    parsed: Any

    def decoder(self, suffix: bytes, reader: ReadSchema | None) -> Decode:
        """Return the function that reads messages with this suffix as JSON, as values of ``reader`` if there is one.

        Raises ``DecodeError`` if no data of the writer could be read.
        """
        expected = None if reader is None else self._reader(reader)
        return form_of(self.codec.schema_type).decoder(self.codec, self.parsed, expected, suffix)

    def _reader(self, reader: ReadSchema) -> Datum:
        if reader.schema and reader.schema.schema_type is not self.codec.schema_type:
            languages = f"{reader.label} is {reader.schema.schema_type}, the message {self.codec.schema_type}"
            raise DecodeError(f"The message cannot be read with the reader's schema: {languages}")
        return parse_read(self.codec, reader)


@dataclass(frozen=True, slots=True)
class OpenedMessage(OpenedWriter):
    """A message's writer, and the bytes before its value."""

    header: MessageFrame


def open_message(
    data: bytes,
    *,
    named: bytes | None,
    registry: Registry,
    make_codec: Callable[[SchemaType], AnyCodec] = lambda language: LANGUAGES[language].plain_codec(),
) -> OpenedMessage:
    """Return the schema of a message; ``named`` is the header of the record that names it.

    ``make_codec`` returns the codec of a language.

    Raises ``FrameError``, ``UnknownSchemaId``, ``DecodeError`` for a schema that cannot be read, and the errors of the
    client.
    """
    found = open_writer(data if named is None else named, registry=registry, make_codec=make_codec)
    header = read_header_of(found.codec, data, named=named)
    return OpenedMessage(found.frame, found.schema, found.writer, found.codec, found.parsed, header)


def open_writer(
    framed: bytes,
    *,
    registry: Registry,
    make_codec: Callable[[SchemaType], AnyCodec] = lambda language: LANGUAGES[language].plain_codec(),
) -> OpenedWriter:
    """Return the schema that a frame leads to; bytes between the frame and the value are not read.

    ``framed`` is a message, or the header of a record that names the schema. Raises what :func:`open_message` does.
    """
    frame = frame_of(framed)
    schema = registry.run(fetch_writer(registry.calls, frame))
    codec = make_codec(schema.schema_type)
    writer = read_schema(registry, schema, shown_frame(frame))
    if writer.problem is not None:
        raise DecodeError(f"The writer's schema cannot be read: {writer.problem.text}", data=framed)
    return OpenedWriter(frame, schema, writer, codec, parse_read(codec, writer))


def shown_frame(frame: Frame) -> str:
    """Return the schema's identity in a frame, in words."""
    return f"guid {frame.guid}" if frame.guid else f"id {frame.schema_id}"


def parse_read(codec: AnyCodec, found: ReadSchema) -> Datum:
    """Return the codec's form of a schema that was read; raise ``DecodeError`` if it refuses it."""
    schema = Schema(found.content[0], codec.schema_type)
    try:
        return codec.parse(schema, found.references, validation=Validation.LENIENT)
    except InvalidSchema as error:
        raise DecodeError(f"The schema of {found.label} cannot be read: {error}") from error


def _read(opened: OpenedMessage, reader: ReadSchema | None, data: bytes) -> MessageReading:
    try:
        return MessageReading(opened.decoder(opened.header.suffix, reader)(data, opened.header.offset))
    except SerdeError as error:
        return MessageReading(error=error)


# The parts of a message, as text and as JSON.

_SHOWN_BYTES: Final = 16


def text_decoded(message: TakenApart, style: TextStyle) -> str:
    """Return one line for each part, then the value, and with a reader the changes and the value as it is read."""
    schema = message.writer.schema
    versions = ", ".join(f"{use.subject} version {use.version}" for use in message.versions)
    where = "header" if message.named is not None else "prefix"
    language = schema.schema_type if schema else ""
    used = f" ({versions})" if versions else ""
    frame, body = message.header.frame, len(message.data) - message.header.offset
    lines = [
        f"frame   {where} {_hex(message.header.prefix)}: {shown_frame(frame)}",
        f"body    {body} bytes from offset {message.header.offset}",
        f"schema  {language} {message.record_name or 'without a name'}{used}",
        f"value   {_shown(message.written)}",
    ]
    text = "".join(f"{line}\n" for line in lines)
    if message.reader is not None:
        changes, reading = message.reader
        text += f"\nread with {changes.later.label}:\n{text_diff(changes, style)}value   {_shown(reading)}\n"
    return text


def json_decoded(message: TakenApart) -> str:
    """Return the parts as indented JSON; members are only ever added to this form."""
    schema, frame = message.writer.schema, message.header.frame
    document: dict[str, Datum] = {
        "schemaVersion": 1,
        "kind": "decoded",
        "frame": {
            "in": "header" if message.named is not None else "prefix",
            "bytes": message.header.prefix.hex(),
            "id": frame.schema_id,
            "guid": frame.guid and str(frame.guid),
            "bodyOffset": message.header.offset,
            "bodyBytes": len(message.data) - message.header.offset,
        },
        "schema": {
            "schemaType": schema and schema.schema_type,
            "name": message.record_name,
            "versions": [{"subject": use.subject, "version": use.version} for use in message.versions],
        },
        **_document(message.written),
    }
    if message.reader is not None:
        changes, reading = message.reader
        document["reader"] = {"changes": json.loads(json_diff(changes))["changes"], **_document(reading)}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _document(reading: MessageReading) -> dict[str, Datum]:
    return {"value": reading.value} if reading.error is None else {"error": json_problem(reading.error)}


def json_problem(error: SerdeError) -> dict[str, Datum]:
    """Return the mistake in a message, and its place."""
    path, offset = (error.path, error.offset) if isinstance(error, DecodeError) else (None, None)
    return {"problem": error.problem, "path": path or None, "offset": offset}


def _shown(reading: MessageReading) -> str:
    if reading.error is None:
        return one_line(reading.value)
    return f"cannot be read: {reading.error}"


def _hex(data: bytes) -> str:
    return data[:_SHOWN_BYTES].hex(" ") + ("…" if len(data) > _SHOWN_BYTES else "")


# The key and the value of a record: framed with a schema, a text, or any bytes.


class PartForm(StrEnum):
    """How a key or a value is written in a line: as JSON by its schema, as a text, or as base64."""

    SCHEMA = "schema"
    TEXT = "text"
    BASE64 = "base64"


@dataclass(frozen=True, slots=True)
class RecordPart:
    """A key or a value as it is printed; ``form`` is None for null.

    ``schema_id`` and ``guid`` name the schema that it was written with. With an ``error`` it is printed as base64.
    """

    form: PartForm | None = None
    shown: Datum = None
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

    def read(self, data: bytes | None, named: bytes | None) -> RecordPart:
        """Return the part; an error of the data is in the result, and the errors of the registry's client are raised.

        ``named`` is the header of the record that names the schema.
        """
        if data is None:
            return RecordPart()
        if self._form is PartForm.BASE64:
            return RecordPart(PartForm.BASE64, shown_bytes(data))
        if self._form is PartForm.TEXT or (self._form is None and named is None and data[:1] not in {b"\0", b"\1"}):
            return self._text(data)
        try:
            return self._value(data, named)
        except SerdeError as error:
            if self._form is None and named is None:
                return self._text(data)
            return RecordPart(PartForm.BASE64, shown_bytes(data), error=error)

    def _text(self, data: bytes) -> RecordPart:
        try:
            return RecordPart(PartForm.TEXT, data.decode())
        except UnicodeDecodeError as error:
            bad = None
            if self._form is PartForm.TEXT:
                bad = DecodeError(f"The data is no text in UTF-8 ({error.reason})", offset=error.start)
            return RecordPart(PartForm.BASE64, shown_bytes(data), error=bad)

    def _value(self, data: bytes, named: bytes | None) -> RecordPart:
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
        return RecordPart(PartForm.SCHEMA, shown, header.frame.schema_id, header.frame.guid or guid_of(opened.schema))


def guid_of(schema: Schema) -> UUID:
    """Return the guid of a schema of a registry."""
    return content_guid(schema.text, schema.references, schema.metadata, schema.rule_set)
