"""Whether a consumer can read the records of a new schema: the compatibility of schemas, projected onto its reads.

A reader's schema that has only the fields which are read differs from the writer's in their places alone. So the
differences of the whole schemas are found once, by the engine of all other checks, and those outside of the reads left
out; no text of a smaller schema is made in any language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.agreements.model import OnUnknownEnum
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.judgement.judge import judge
from counterfoil.schema.paths import PathNotFound, resolve_path
from counterfoil.schema.reads.model import ReadFinding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.reads.model import Reader


def unreadable(writer: ParsedSchema, reader: Reader, schema: ParsedSchema) -> Iterator[ReadFinding]:
    """Yield why ``reader``, who reads with ``schema``, cannot read what it reads of records of ``writer``."""
    judged = judge(writer, [Earlier(schema)], CompatibilityLevel.FORWARD)
    expectation = reader.expectation
    ignores_enums = expectation.on_unknown_enum is not OnUnknownEnum.FAIL
    for each in judged.incompatibilities:
        difference = each.difference
        if ignores_enums and "enum" in difference.rule:
            continue
        path = without_message(difference.element, schema)
        if expectation.reads is None:
            yield ReadFinding("consumer-incompatible", difference.text, path, difference.writer_pointer)
            continue
        reads = (read for read in expectation.reads if _is_touched(read.path, path, difference.reader_pointer, schema))
        touched = next(reads, None)
        if touched is not None:
            yield ReadFinding("consumer-type-narrowed", difference.text, touched.path, difference.writer_pointer)


def _is_touched(read: FieldPath, place: FieldPath, pointer: Pointer, schema: ParsedSchema) -> bool:
    """Return whether a difference concerns a read: it is there, inside it, or around it.

    In Protobuf, places are named by the message that declares them, so that the fields on the way are looked up.
    """
    if read[: len(place)] == place or place[: len(read)] == read:
        return True
    names_places = format_for(schema.schema_type).pointers_are_names
    ways = [read[:length] for length in range(1, len(read) + 1)] if names_places else [read]
    return any((found := _pointer(schema, way)) and pointer[: len(found)] == found for way in ways)


def _pointer(schema: ParsedSchema, path: FieldPath) -> Pointer:
    try:
        return resolve_path(schema, path).pointer
    except PathNotFound:
        return ()


def without_message(path: FieldPath, schema: ParsedSchema) -> FieldPath:
    """Return the path without the name of the message with which the paths of differences in Protobuf begin."""
    name = (schema.name or "").rpartition(".")[2]
    return path[1:] if path and path[0].name == name and path[0].name not in schema.field_names() else path
