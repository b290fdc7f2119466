"""Whether a consumer can read the records of a new schema: the compatibility of schemas, projected onto its reads.

A reader's schema that has only the fields which are read differs from the writer's in their places alone. So the
differences of the whole schemas are found once, by the engine of all other checks, and those outside of the reads left
out; no text of a smaller schema is made in any language.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.agreements.model import OnUnknownEnum
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.judgement.judge import judge
from counterfoil.schema.paths import KEY, PathNotFound, resolve_path
from counterfoil.schema.reads.model import Offer, ReadFinding
from counterfoil.schema.reads.stated import stated_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.reads.model import Reader
    from counterfoil.schema.reads.stated import Stated

_INVALID_FILE: Final = "invalid-protobuf-file"
"""The rule of SOUND about a Protobuf file that its own specification forbids: it says nothing of records."""


def unread_by(offer: Offer, schema: ParsedSchema) -> tuple[Difference, ...]:
    """Return why records of an offer cannot be read with ``schema``, or are read as other values.

    The policy is SOUND, since consumers are told what happens to records. Faults of the files themselves are left out.
    """
    judged = judge(offer.schema, [Earlier(schema)], CompatibilityLevel.FORWARD, policy=CompatibilityPolicy.SOUND)
    found = (each.difference for each in judged.incompatibilities)
    return tuple(each for each in found if each.rule != _INVALID_FILE)


def unread_keys(offer: Offer, schema: ParsedSchema) -> tuple[Difference, ...]:
    """Return why keys of an offer cannot be read with ``schema``; nothing if nothing is known of the keys."""
    key = offer.key_schema
    return () if key is None or key.schema_type is not schema.schema_type else unread_by(Offer(key), schema)


def unreadable_keys(differences: Iterable[Difference], reader: Reader, schema: ParsedSchema) -> Iterator[ReadFinding]:
    """Yield why ``reader``, who reads keys with ``schema``, cannot read what it reads of them."""
    expectation = reader.expectation
    reads = expectation.reads
    if reads is not None:
        reads = tuple(replace(each, path=each.path[1:]) for each in reads if each.path[:1] == (KEY,))
    of_key = replace(reader, expectation=replace(expectation, reads=reads))
    for each in unreadable(differences, of_key, schema):
        yield replace(each, element=(KEY, *each.element), place=(KEY, *each.place))


def unreadable(differences: Iterable[Difference], reader: Reader, schema: ParsedSchema) -> Iterator[ReadFinding]:
    """Yield why ``reader``, who reads with ``schema``, cannot read what it reads, for these differences of schemas."""
    expectation = reader.expectation
    ignores_enums = expectation.on_unknown_enum is not OnUnknownEnum.FAIL
    for difference in differences:
        if ignores_enums and "enum" in difference.rule:
            continue
        path = without_message(difference.element, schema)
        if expectation.reads is None:
            for facts in stated_by(difference):
                yield _finding("consumer-incompatible", difference, path, path, facts)
            continue
        reads = (read for read in expectation.reads if _is_touched(read.path, path, difference.reader_pointer, schema))
        touched = next(reads, None)
        if touched is not None:
            for facts in stated_by(difference):
                yield _finding("consumer-type-narrowed", difference, touched.path, path, facts)


def _finding(rule: str, difference: Difference, element: FieldPath, place: FieldPath, facts: Stated) -> ReadFinding:
    return ReadFinding(rule, difference.text, element, place, facts.expected, facts.written, difference.writer_pointer)


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
