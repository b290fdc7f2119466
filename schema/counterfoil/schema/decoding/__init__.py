"""The decode lab: bytes of a record, how they name their schema, what each byte means, and what readers make of them.

Questions and answers are plain values, so that another process may work on them. Nothing here keeps or logs a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from counterfoil.schema.compatibility import Steps
from counterfoil.schema.decoding.frames import NO_FRAME, FoundFrame, find_frame, frame_nodes
from counterfoil.schema.decoding.given import GivenBytes, read_given
from counterfoil.schema.languages.byte_walk import ByteWalk, DecodedBody, HiddenNames, WalkedBytes
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.rest.comparisons import DecodedBytes, DecodedNode, DecodingFault, FrameKind, ReaderView
from counterfoil.schema.rest.inspection import VersionName
from counterfoil.schema.tags import hidden_by_tags
from counterfoil.schema.texts import counted
from counterfoil.schema.wire import WireError, read_message_indexes

__all__ = [
    "NO_FRAME",
    "DecodingLimits",
    "DecodingQuestion",
    "FoundFrame",
    "GivenBytes",
    "NamedSchema",
    "decode_bytes",
    "find_frame",
    "read_given",
]

# What is asked about bytes, and the limits of the work.

LEAST_STEPS: Final = 200_000
STEPS_A_BYTE: Final = 2
"""The steps of decoding; each part of a value takes one, and most parts have a byte at least."""
PII: Final = frozenset({"PII"})
"""The tags of elements whose values are withheld, unless others are asked for."""
_MOST_VIEWED: Final = 200_000_000
"""The largest product of a value's parts and a reader's characters: other decoders fill in what is not written."""


@dataclass(frozen=True, slots=True)
class NamedSchema:
    """A schema, and the version that it is."""

    name: VersionName
    schema: ParsedSchema


@dataclass(frozen=True, slots=True)
class DecodingQuestion:
    """What is asked about ``data``: its parts as ``writer`` reads them, and what ``reader`` makes of the same bytes.

    ``writers`` are the versions with the writer's schema. ``candidates`` are the schemas that may have written bytes
    without a frame, the most likely ones first; without a ``writer``, the first one that reads them to the last byte
    is. ``tags_by_path`` are the tags of the writer's metadata, ``masked_tags`` those whose elements are withheld unless
    ``shows_masked``.
    """

    data: bytes
    frame: FoundFrame
    writer: ParsedSchema | None = None
    writers: tuple[VersionName, ...] = ()
    reader: NamedSchema | None = None
    candidates: Sequence[NamedSchema] = ()
    tags_by_path: Mapping[str, Sequence[str]] = field(default_factory=dict)
    masked_tags: frozenset[str] = PII
    shows_masked: bool = False


@dataclass(frozen=True, slots=True)
class DecodingLimits:
    """The limits of decoding: ``nodes`` are listed, ``steps`` spent for each schema; None for those of the size."""

    nodes: int = 2_000
    steps: int | None = None


_DEFAULT_LIMITS: Final = DecodingLimits()


def decode_bytes(question: DecodingQuestion, limits: DecodingLimits = _DEFAULT_LIMITS) -> DecodedBytes:
    """Return what the bytes are; faults of the bytes are in the result."""
    return _Decoding(question, limits).run()


class _Decoding:
    """The work on one question."""

    def __init__(self, question: DecodingQuestion, limits: DecodingLimits) -> None:
        self._question = question
        self._limits = limits
        self._frame = question.frame
        found = limits.steps
        self._most_steps = LEAST_STEPS + STEPS_A_BYTE * len(question.data) if found is None else found

    def run(self) -> DecodedBytes:
        """Return the whole answer."""
        question, frame = self._question, self._frame
        candidates = self._candidates()
        writer, writers = question.writer, question.writers
        if writer is None and candidates:
            writer, writers = candidates[0].schema, (candidates[0].name,)
        result = DecodedBytes(
            hexadecimal=question.data.hex(),
            frame=frame.kind,
            id=frame.id,
            guid="" if frame.guid is None else str(frame.guid),
            writers=writers,
            nodes=frame_nodes(question.data, frame),
            candidates=tuple(each.name for each in candidates),
        )
        if writer is None:
            return replace(result, fault=self._without_writer(), rest=len(question.data) - frame.offset)
        return self._decoded(result, writer)

    def _without_writer(self) -> DecodingFault:
        question, frame = self._question, self._frame
        if frame.problem:
            return DecodingFault(0, "", "a frame, or the name of a schema", frame.problem)
        if question.candidates:
            message = f"None of the {counted(len(question.candidates), 'schema')} reads the bytes to the last one"
        else:
            message = "No schema is known that wrote the bytes"
        return DecodingFault(frame.offset, "", "the schema that wrote the bytes", message)

    def _decoded(self, result: DecodedBytes, writer: ParsedSchema) -> DecodedBytes:
        question = self._question
        hidden = self._hidden(writer, question.tags_by_path)
        if question.reader is not None:
            hidden = hidden.joined(self._hidden(question.reader.schema, {}))
        indexes, nodes, start, fault = self._indexes(writer)
        result = replace(result, schema_type=writer.schema_type.value, nodes=(*result.nodes, *nodes))
        if fault is not None:
            return replace(result, fault=fault, rest=len(question.data) - start)
        steps = Steps(self._most_steps)
        body = self._walked(writer, start, indexes, steps=steps, hidden=hidden, nodes=self._limits.nodes)
        decoded = replace(
            result,
            nodes=(*result.nodes, *body.nodes),
            value=body.value,
            fault=body.fault,
            rest=len(question.data) - body.end,
            nodes_left=body.nodes_left,
        )
        if question.reader is None:
            return decoded
        parts = len(body.nodes) + body.nodes_left
        walked = WalkedBytes(question.data[start : body.end], hidden, indexes, steps)
        return replace(decoded, reader=self._view(question.reader, writer, walked, fault=body.fault, parts=parts))

    def _walked(
        self,
        schema: ParsedSchema,
        start: int,
        indexes: Sequence[int],
        *,
        steps: Steps,
        hidden: HiddenNames,
        nodes: int,
    ) -> DecodedBody:
        data = self._question.data
        walk = ByteWalk(data, start, len(data), steps, nodes, hidden)
        return walk.run(lambda walk: language_for(schema.schema_type).decode(schema, walk, indexes))

    def _indexes(
        self, schema: ParsedSchema
    ) -> tuple[Sequence[int], tuple[DecodedNode, ...], int, DecodingFault | None]:
        """Return the message indexes of Protobuf, their part, the offset of the body, and what is wrong with them."""
        frame, data = self._frame, self._question.data
        if schema.schema_type is not SchemaType.PROTOBUF or frame.kind is FrameKind.NONE:
            return (0,), (), frame.offset, None
        if frame.kind is FrameKind.SINGLE_OBJECT:
            fault = DecodingFault(0, "", "a schema of Avro", "A single object of Avro cannot be read as Protobuf")
            return (), (), frame.offset, fault
        of_header = frame.kind is FrameKind.HEADER
        if of_header and not frame.indexes:
            return (0,), (), frame.offset, None
        try:
            indexes, end = read_message_indexes(frame.indexes if of_header else data, 0 if of_header else frame.offset)
        except WireError as error:
            at = 0 if of_header else error.offset
            return (), (), frame.offset, DecodingFault(at, "", "the indexes of a message", error.problem)
        if of_header:
            return indexes, (), frame.offset, None
        node = DecodedNode(frame.offset, end, "", "indexes of the message type in its file", str(indexes))
        return indexes, (node,), end, None

    # Candidates.

    def _candidates(self) -> list[NamedSchema]:
        """Return the candidates that read the bytes to the last one; those with fields that they know come first."""
        reading: list[tuple[int, NamedSchema]] = []
        for each in self._question.candidates:
            indexes, _, start, fault = self._indexes(each.schema)
            if fault is not None:
                continue
            steps = Steps(self._most_steps)
            body = self._walked(each.schema, start, indexes, steps=steps, hidden=HiddenNames(), nodes=0)
            if body.fault is None and body.end == len(self._question.data):
                reading.append((body.unknown, each))
        return [each for _, each in sorted(reading, key=lambda found: found[0])]

    # What is withheld, and the view of a reader.

    def _hidden(self, schema: ParsedSchema, by_path: Mapping[str, Sequence[str]]) -> HiddenNames:
        question = self._question
        if question.shows_masked or not question.masked_tags:
            return HiddenNames()
        references = schema.source.references if schema.source is not None else ()
        found = hidden_by_tags(schema, references, question.masked_tags.__contains__, by_path=by_path)
        names = found.names if schema.schema_type is SchemaType.JSON else found.paths
        return HiddenNames(names, is_all=found.is_all)

    def _view(
        self,
        reader: NamedSchema,
        writer: ParsedSchema,
        walked: WalkedBytes,
        *,
        fault: DecodingFault | None,
        parts: int,
    ) -> ReaderView:
        name = reader.name
        if reader.schema.schema_type is not writer.schema_type:
            problem = f"its schema is {reader.schema.schema_type}, the bytes are {writer.schema_type}"
        elif fault is not None:
            problem = "the bytes are no value of the schema that wrote them"
        elif parts * (len(reader.schema.text) + reader.schema.referenced_chars) > _MOST_VIEWED:
            problem = "the value has too many parts to be read with another schema here"
        else:
            found = language_for(writer.schema_type).read_as(reader.schema, writer, walked)
            return ReaderView(name.subject, name.version, found.value, found.fault, found.path)
        return ReaderView(name.subject, name.version, fault=problem)
