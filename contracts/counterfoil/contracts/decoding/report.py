"""The parts of a message, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.decoding.message import shown_frame
from counterfoil.contracts.reports.diff import json_diff, text_diff
from counterfoil.contracts.values.form import one_line
from counterfoil.sdk.errors import DecodeError

if TYPE_CHECKING:
    from counterfoil.contracts.decoding.message import Reading, TakenApart
    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.sdk.errors import SerdeError

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
    document: dict[str, Any] = {
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


def _document(reading: Reading) -> dict[str, Any]:
    return {"value": reading.value} if reading.error is None else {"error": json_problem(reading.error)}


def json_problem(error: SerdeError) -> dict[str, Any]:
    """Return what was wrong with a message, and where in it."""
    path, offset = (error.path, error.offset) if isinstance(error, DecodeError) else (None, None)
    return {"problem": error.problem, "path": path or None, "offset": offset}


def _shown(reading: Reading) -> str:
    if reading.error is None:
        return one_line(reading.value)
    return f"cannot be read: {reading.error}"


def _hex(data: bytes) -> str:
    return data[:_SHOWN_BYTES].hex(" ") + ("…" if len(data) > _SHOWN_BYTES else "")
