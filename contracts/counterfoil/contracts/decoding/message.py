"""One message, taken apart: frame, schema, value, and what a given reader makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.contracts.baselines.registry import read_schema
from counterfoil.contracts.reports.diff import DiffReport
from counterfoil.contracts.values.form import form_of
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import DecodeError, SerdeError
from counterfoil.sdk.serde.languages import LANGUAGES
from counterfoil.sdk.serde.reading import fetch_writer, frame_of, read_header_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.model import SchemaType
    from counterfoil.schema.rest.versions import SubjectVersion
    from counterfoil.schema.wire import Frame
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.serde.codec import Codec, Decode
    from counterfoil.sdk.serde.reading import Header


@dataclass(frozen=True, slots=True)
class Reading:
    """A message read with one schema: its ``value`` as JSON, or the ``error`` that says where and why it has none."""

    value: Any = None
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
    header: Header
    writer: ReadSchema
    record_name: str | None
    versions: tuple[SubjectVersion, ...]
    written: Reading
    reader: tuple[DiffReport, Reading] | None = None


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
    """What a message's frame leads to: the schema of its writer, read and parsed by ``codec``."""

    frame: Frame
    schema: Schema
    writer: ReadSchema
    codec: Codec[Any]
    parsed: Any

    def decoder(self, suffix: bytes, reader: ReadSchema | None) -> Decode:
        """Return the function that reads messages with this suffix as JSON, as values of ``reader`` if there is one.

        Raises ``DecodeError`` if no data of the writer could be read.
        """
        expected = None if reader is None else self._reader(reader)
        return form_of(self.codec.schema_type).decoder(self.codec, self.parsed, expected, suffix)

    def _reader(self, reader: ReadSchema) -> Any:
        if reader.schema and reader.schema.schema_type is not self.codec.schema_type:
            languages = f"{reader.label} is {reader.schema.schema_type}, the message {self.codec.schema_type}"
            raise DecodeError(f"The message cannot be read with the reader's schema: {languages}")
        return parse_read(self.codec, reader)


@dataclass(frozen=True, slots=True)
class OpenedMessage(OpenedWriter):
    """A message's writer, and what stands before its value."""

    header: Header


def open_message(
    data: bytes,
    *,
    named: bytes | None,
    registry: Registry,
    make_codec: Callable[[SchemaType], Codec[Any]] = lambda language: LANGUAGES[language].plain_codec(),
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
    make_codec: Callable[[SchemaType], Codec[Any]] = lambda language: LANGUAGES[language].plain_codec(),
) -> OpenedWriter:
    """Return the schema that a frame leads to; what stands between the frame and the value is not read.

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


def parse_read(codec: Codec[Any], found: ReadSchema) -> Any:
    """Return what the codec makes of a schema that was read; raise ``DecodeError`` if it refuses it."""
    schema = Schema(found.content[0], codec.schema_type)
    try:
        return codec.parse(schema, found.references, validation=Validation.LENIENT)
    except InvalidSchema as error:
        raise DecodeError(f"The schema of {found.label} cannot be read: {error}") from error


def _read(opened: OpenedMessage, reader: ReadSchema | None, data: bytes) -> Reading:
    try:
        return Reading(opened.decoder(opened.header.suffix, reader)(data, opened.header.offset))
    except SerdeError as error:
        return Reading(error=error)
