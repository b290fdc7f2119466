"""One message, taken apart: frame, schema, value, and what a given reader makes of it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from counterfoil.contracts.baselines.registry import read_schema
from counterfoil.contracts.reports.diff import DiffReport
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import DecodeError, SerdeError
from counterfoil.sdk.serde.languages import LANGUAGES
from counterfoil.sdk.serde.reading import fetch_writer, frame_of, read_header_of

if TYPE_CHECKING:
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.rest.versions import SubjectVersion
    from counterfoil.schema.wire import Frame
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.serde.codec import Codec
    from counterfoil.sdk.serde.reading import Header


@dataclass(frozen=True, slots=True)
class Reading:
    """A message read with one schema: its ``value``, or the ``error`` that says where and why it cannot be read."""

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
    frame = frame_of(data if named is None else named)
    schema = registry.run(fetch_writer(registry.calls, frame))
    codec = LANGUAGES[schema.schema_type].plain_codec()
    header = read_header_of(codec, data, named=named)
    writer = read_schema(registry, schema, shown_frame(frame))
    if writer.problem is not None:
        raise DecodeError(f"The writer's schema cannot be read: {writer.problem.text}", data=data)
    parsed = _parsed(codec, writer)
    return TakenApart(
        data,
        named,
        header,
        writer,
        codec.record_name(parsed, header.suffix),
        () if frame.schema_id is None else registry.versions_of_id(frame.schema_id),
        _read(codec, parsed, None, header, data),
        None
        if reader is None
        else (DiffReport.of(writer, reader), _read(codec, parsed, _parsed(codec, reader), header, data)),
    )


def shown_frame(frame: Frame) -> str:
    """Return the schema's identity in a frame, in words."""
    return f"guid {frame.guid}" if frame.guid else f"id {frame.schema_id}"


def json_value(value: Any) -> Any:
    """Return a value as JSON: bytes in base64, numbers and times of logical types as texts."""
    return json.loads(json.dumps(value, default=_plain, ensure_ascii=False))


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
    return repr(value)


def _parsed(codec: Codec[Any], found: ReadSchema) -> Any:
    schema = Schema(found.content[0], codec.schema_type)
    try:
        return codec.parse(schema, found.references, validation=Validation.LENIENT)
    except InvalidSchema as error:
        raise DecodeError(f"The schema of {found.label} cannot be read: {error}") from error


def _read(codec: Codec[Any], writer: Any, reader: Any, header: Header, data: bytes) -> Reading:
    try:
        return Reading(codec.decoder(writer, reader, header.suffix)(data, header.offset))
    except SerdeError as error:
        return Reading(error=error)
