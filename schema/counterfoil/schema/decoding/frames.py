"""Frames: how bytes name the schema that wrote them.

Source: the wire format in :mod:`counterfoil.schema.wire`; Apache Avro 1.12 specification, "Single-object encoding".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from counterfoil.schema.languages.byte_walk import shown_text
from counterfoil.schema.rest.comparisons import DecodedNode, FrameKind
from counterfoil.schema.texts import counted
from counterfoil.schema.wire import GUID_PREFIX_BYTES, ID_PREFIX_BYTES, MAGIC_GUID, MAGIC_ID, WireError, read_frame

SINGLE_OBJECT_MARK: Final = b"\xc3\x01"
_FINGERPRINT_BYTES: Final = 8
_SINGLE_OBJECT_BYTES: Final = len(SINGLE_OBJECT_MARK) + _FINGERPRINT_BYTES


@dataclass(frozen=True, slots=True)
class FoundFrame:
    """How bytes name their schema, and the ``offset`` of the bytes behind it.

    There the body begins, in Protobuf after the message indexes, which for a frame in a header are ``indexes``.
    ``fingerprint`` is CRC-64-AVRO as it is in a single object, lowest byte first. ``problem`` says what is wrong with
    bytes that begin like a frame and are none.
    """

    kind: FrameKind
    offset: int = 0
    id: int | None = None
    guid: UUID | None = None
    fingerprint: bytes = b""
    indexes: bytes = b""
    problem: str = ""


def find_frame(data: bytes, *, header: bytes | None = None) -> FoundFrame:
    """Return how ``data`` names its schema; ``header`` is the value of the record's header for it, if there is one.

    >>> find_frame(bytes.fromhex("000000126708")).id
    4711
    """
    if header is not None:
        return _of_header(header)
    if data[:1] in (bytes([MAGIC_ID]), bytes([MAGIC_GUID])):
        try:
            found = read_frame(data)
        except WireError as error:
            return FoundFrame(FrameKind.NONE, problem=error.problem)
        kind = FrameKind.ID if found.guid is None else FrameKind.GUID
        return FoundFrame(kind, found.offset, found.schema_id, found.guid)
    if data.startswith(SINGLE_OBJECT_MARK):
        if len(data) < _SINGLE_OBJECT_BYTES:
            problem = f"The data has {counted(len(data), 'byte')}; expected a fingerprint of 8 bytes after C3 01"
            return FoundFrame(FrameKind.NONE, problem=problem)
        fingerprint = data[len(SINGLE_OBJECT_MARK) : _SINGLE_OBJECT_BYTES]
        return FoundFrame(FrameKind.SINGLE_OBJECT, _SINGLE_OBJECT_BYTES, fingerprint=fingerprint)
    return FoundFrame(FrameKind.NONE)


NO_FRAME: Final = FoundFrame(FrameKind.NONE)
"""What bytes have that are a body from the first one on."""


def _of_header(header: bytes) -> FoundFrame:
    try:
        found = read_frame(header)
    except WireError as error:
        return FoundFrame(FrameKind.NONE, problem=f"the header names no schema: {error.problem}")
    return FoundFrame(FrameKind.HEADER, 0, found.schema_id, found.guid, indexes=header[found.offset :])


def frame_nodes(data: bytes, frame: FoundFrame) -> tuple[DecodedNode, ...]:
    """Return the parts of a frame before the body."""
    match frame.kind:
        case FrameKind.ID:
            return (
                DecodedNode(0, 1, "", "magic byte: a schema id follows", str(MAGIC_ID)),
                DecodedNode(1, ID_PREFIX_BYTES, "", "schema id", str(frame.id)),
            )
        case FrameKind.GUID:
            return (
                DecodedNode(0, 1, "", "magic byte: a guid follows", str(MAGIC_GUID)),
                DecodedNode(1, GUID_PREFIX_BYTES, "", "schema guid", shown_text(str(frame.guid))),
            )
        case FrameKind.SINGLE_OBJECT:
            mark = len(SINGLE_OBJECT_MARK)
            return (
                DecodedNode(0, mark, "", "mark of a single object", shown_text(data[:mark].hex())),
                DecodedNode(
                    mark, _SINGLE_OBJECT_BYTES, "", "fingerprint of the schema", shown_text(frame.fingerprint.hex())
                ),
            )
    return ()
