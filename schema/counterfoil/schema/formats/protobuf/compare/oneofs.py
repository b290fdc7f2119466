"""Differences of oneofs: fields that moved into one, and fields that left one.

Fields are compared by number over the whole message; the oneof that a field belongs to is a property of the field. So a
field is also compared if it moves into a oneof or out of one.

Source: recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.compare import rules
from counterfoil.schema.formats.protobuf.compare.findings import found_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.protobuf.compare.findings import MessagePair, ProtobufDifference
    from counterfoil.schema.formats.protobuf.types.index import FieldType, MessageType


def oneof_differences(reader: MessageType, writer: MessageType, place: MessagePair) -> Iterator[ProtobufDifference]:
    """Yield the differences of the oneofs of a pair of messages; differences of their fields are not among them."""
    for name in reader.oneofs:
        origins = oneof_origins(reader, writer, name)
        if len(origins) > 1:
            yield _united(origins, name, place)
    for name, gone in writer.oneofs.items():
        if name not in reader.oneofs:
            pointers = place.pointers_to(place.reader_pointer, gone.pointer)
            yield found_at(place.at(name), rules.ONEOF_REMOVED, facts={"name": name}, pointers=pointers)
    for name, new in reader.oneofs.items():
        if name not in writer.oneofs:
            pointers = place.pointers_to(new.pointer, place.writer_pointer)
            yield found_at(place.at(name), rules.ONEOF_ADDED, facts={"name": name}, pointers=pointers)


def oneof_origins(reader: MessageType, writer: MessageType, name: str) -> list[list[FieldType]]:
    """Return the writer's fields that are in the reader's oneof ``name``, grouped by the writer's oneofs.

    Fields of one oneof of the writer can never be set together and are one group; each field outside oneofs is a group
    of its own. Fields that the writer does not have are left out.
    """
    origins: dict[str | int, list[FieldType]] = {}
    for field in reader.oneofs[name].fields:
        source = writer.fields.get(field.number)
        if source is not None and field.group is None and source.node.group is None:
            origins.setdefault(source.oneof_name or source.number, []).append(source)
    return list(origins.values())


def is_oneof_gone(field: FieldType, reader: MessageType) -> bool:
    """Return whether the reader has neither the oneof of the writer's ``field`` nor any of its members."""
    oneof = field.oneof
    if oneof is None or oneof.name in reader.oneofs:
        return False
    return not any(member.number in reader.fields for member in oneof.fields)


def oneof_field_removed(writer: FieldType, place: MessagePair) -> ProtobufDifference:
    """Return the finding that the reader lacks a member of a oneof, at the oneof if the reader has that."""
    facts = {"name": writer.name, "tag": writer.number, "oneof": writer.oneof_name}
    kept = place.reader.oneofs.get(writer.oneof_name or "") if place.reader is not None else None
    reader_pointer = kept.pointer if kept is not None else place.reader_pointer
    pointers = place.pointers_to(reader_pointer, place.writer_pointer)
    return found_at(place, rules.ONEOF_FIELD_REMOVED, facts=facts, pointers=pointers, is_of_writer=True)


def _united(origins: list[list[FieldType]], name: str, place: MessagePair) -> ProtobufDifference:
    alone = sum(1 for fields in origins if fields[0].oneof is None)
    rule = rules.MULTIPLE_FIELDS_MOVED_TO_ONEOF if alone > 1 else rules.FIELD_MOVED_TO_EXISTING_ONEOF
    names = ", ".join(field.name for fields in origins for field in fields)
    reader = place.reader.oneofs[name].pointer if place.reader else ()
    pointers = place.pointers_to(reader, origins[-1][0].pointer)
    return found_at(place.at(name), rule, facts={"name": name, "fields": names}, gist="{fields}", pointers=pointers)
