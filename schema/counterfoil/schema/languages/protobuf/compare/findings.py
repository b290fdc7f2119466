"""Findings of a pair walk of two Protobuf schemas, their places, and the differences of oneofs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from counterfoil.schema.compatibility.findings import CompatibilityRule, Difference, DifferenceOrigin
from counterfoil.schema.languages.protobuf.compare import confluent_rules as rules
from counterfoil.schema.languages.protobuf.read.symbols import EnumType, option_pointer, path_at
from counterfoil.schema.languages.protobuf.types import MessageType, NumberedField
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.texts import Pointer

# Findings of a pair walk of two Protobuf schemas, and their places.


@dataclass(frozen=True, slots=True)
class MessagePair:
    """A pair of messages, and the pair of fields in them if the place is a field; a side that has none is None.

    ``steps`` are those of Confluent's path: the names of messages, of a oneof or an enum, the number of a field.
    ``parent`` is the field that holds the messages; None for those of the schemas' own files. ``enums`` is the pair of
    enums if the place is in an enum.
    """

    steps: tuple[str, ...] = ()
    reader: MessageType | None = None
    writer: MessageType | None = None
    reader_field: NumberedField | None = None
    writer_field: NumberedField | None = None
    parent: MessagePair | None = None
    enums: tuple[EnumType, EnumType] | None = None

    def at_field(self, reader: NumberedField | None, writer: NumberedField | None, oneof: str | None) -> MessagePair:
        """Return the place of a field of these messages; ``oneof`` is the name of its oneof in the path."""
        one = reader or writer
        steps = (*self.steps, *filter(None, [oneof]), str(one.number if one else ""))
        return MessagePair(steps, self.reader, self.writer, reader, writer, self.parent)

    def at(self, *names: str) -> MessagePair:
        """Return the place of a oneof, type or constant inside, by its name or number."""
        return MessagePair((*self.steps, *names), self.reader, self.writer, parent=self.parent, enums=self.enums)

    @property
    def reader_pointer(self) -> Pointer:
        """The pointer in the reader's text: of the field, the message, or the field that holds an imported message."""
        return (
            _pointer(self.reader, self.reader_field)
            or (self.parent.reader_pointer if self.parent else ())
            or (_use(self.reader, self.reader_field))
        )

    @property
    def writer_pointer(self) -> Pointer:
        """The pointer in the writer's text; see :attr:`reader_pointer`."""
        return (
            _pointer(self.writer, self.writer_field)
            or (self.parent.writer_pointer if self.parent else ())
            or (_use(self.writer, self.writer_field))
        )

    def option_pointers(self, name: str) -> tuple[Pointer, Pointer]:
        """Return the pointers of an option of the two fields, or of the fields if they do not have it."""
        return option_pointer(self.reader_pointer, name), option_pointer(self.writer_pointer, name)

    def pointers_to(self, reader: Pointer, writer: Pointer) -> tuple[Pointer, Pointer]:
        """Return the given pointers of two inner elements; for a side in another file, the pointer of the place."""
        is_mine = self.reader is None or self.reader.is_in_own_file
        is_theirs = self.writer is None or self.writer.is_in_own_file
        return (reader if is_mine else self.reader_pointer, writer if is_theirs else self.writer_pointer)


def _pointer(message: MessageType | None, field: NumberedField | None) -> Pointer:
    """Return the pointer of the field or of its message in the schema's own file; empty if it is in another file."""
    if field is not None and field.types is field.types.index.root:
        return field.pointer
    return message.pointer if message is not None and message.is_in_own_file else ()


def _use(message: MessageType | None, field: NumberedField | None) -> Pointer:
    """Return the pointer of the element in the schema's own file that uses the message, or the file of the field."""
    if message is not None:
        return message.types.index.uses.pointer_to(message)
    return () if field is None else field.types.index.uses.pointer_to_file(field.types.file)


ROOT = MessagePair()
"""The file itself."""


@dataclass(eq=False, slots=True)
class ProtobufDifference(Difference):
    """A difference at ``place``.

    ``pointers`` are those of reader and writer if the difference is about a part of the place, such as a oneof.
    ``is_of_writer`` selects the writer's path as the element; otherwise it is the longer path.
    """

    place: MessagePair
    pointers: tuple[Pointer, Pointer] | None = None
    is_of_writer: bool = False

    @property
    def path(self) -> str:
        """Confluent's path of the place: ``#/Outer/Inner`` for a message, ``#/Outer/3`` for a field."""
        return f"#/{'/'.join(self.place.steps)}"

    @property
    def reader_pointer(self) -> Pointer:
        """The pointer in the reader's text."""
        return self.place.reader_pointer if self.pointers is None else self.pointers[0]

    @property
    def writer_pointer(self) -> Pointer:
        """The pointer in the writer's text."""
        return self.place.writer_pointer if self.pointers is None else self.pointers[1]

    @property
    def reader_path(self) -> FieldPath:
        """The path of names in the reader's file."""
        return path_at(self.reader_pointer)

    @property
    def writer_path(self) -> FieldPath:
        """The path of names in the writer's file."""
        return path_at(self.writer_pointer)

    @property
    def element(self) -> FieldPath:
        """The longer of both paths, the reader's if both have the same length; the writer's if ``is_of_writer``."""
        if self.is_of_writer:
            return path_at(self.place.writer_pointer)
        return max(self.reader_path, self.writer_path, key=len)

    @property
    def reader_origin(self) -> DifferenceOrigin | None:
        """The reader's message or enum that contains the place."""
        return _origin(self.place.enums[0] if self.place.enums else self.place.reader, self.place.steps)

    @property
    def writer_origin(self) -> DifferenceOrigin | None:
        """The writer's message or enum that contains the place."""
        return _origin(self.place.enums[1] if self.place.enums else self.place.writer, self.place.steps)


def _origin(holder: MessageType | EnumType | None, steps: tuple[str, ...]) -> DifferenceOrigin | None:
    """Return the message or enum that contains a place, and the steps from there."""
    if holder is None:
        return None
    is_inside = steps[: len(holder.names)] == holder.names
    inside = steps[len(holder.names) :] if is_inside else steps
    return DifferenceOrigin(holder.full_name, inside, is_own=holder.is_in_own_file)


def found_at(
    place: MessagePair,
    rule: CompatibilityRule,
    *,
    facts: Mapping[str, object],
    gist: str = "{name}",
    pointers: tuple[Pointer, Pointer] | None = None,
    is_of_writer: bool = False,
) -> ProtobufDifference:
    """Return the finding of ``rule`` at ``place``; see :class:`ProtobufDifference`."""
    return ProtobufDifference(rule, facts, gist, place, pointers, is_of_writer)


# Differences of oneofs: fields that moved into one, and fields that left one.
#
# Fields are compared by number over the whole message; the oneof that a field belongs to is a property of the field. So
# a field is also compared if it moves into a oneof or out of one.
#
# Source: recorded answers of Confluent Schema Registry 8.5.


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


def oneof_origins(reader: MessageType, writer: MessageType, name: str) -> list[list[NumberedField]]:
    """Return the writer's fields that are in the reader's oneof ``name``, grouped by the writer's oneofs.

    Fields of one oneof of the writer can never be set together and are one group; each field outside oneofs is a group
    of its own. Fields that the writer does not have are left out.
    """
    origins: dict[str | int, list[NumberedField]] = {}
    for field in reader.oneofs[name].fields:
        source = writer.fields.get(field.number)
        if source is not None and field.group is None and source.node.group is None:
            origins.setdefault(source.oneof_name or source.number, []).append(source)
    return list(origins.values())


def is_oneof_gone(field: NumberedField, reader: MessageType) -> bool:
    """Return whether the reader has neither the oneof of the writer's ``field`` nor any of its members."""
    oneof = field.oneof
    if oneof is None or oneof.name in reader.oneofs:
        return False
    return not any(member.number in reader.fields for member in oneof.fields)


def oneof_field_removed(writer: NumberedField, place: MessagePair) -> ProtobufDifference:
    """Return the finding that the reader lacks a member of a oneof, at the oneof if the reader has that."""
    facts = {"name": writer.name, "tag": writer.number, "oneof": writer.oneof_name}
    kept = place.reader.oneofs.get(writer.oneof_name or "") if place.reader is not None else None
    reader_pointer = kept.pointer if kept is not None else place.reader_pointer
    pointers = place.pointers_to(reader_pointer, place.writer_pointer)
    return found_at(place, rules.ONEOF_FIELD_REMOVED, facts=facts, pointers=pointers, is_of_writer=True)


def _united(origins: list[list[NumberedField]], name: str, place: MessagePair) -> ProtobufDifference:
    alone = sum(1 for fields in origins if fields[0].oneof is None)
    rule = rules.MULTIPLE_FIELDS_MOVED_TO_ONEOF if alone > 1 else rules.FIELD_MOVED_TO_EXISTING_ONEOF
    names = ", ".join(field.name for fields in origins for field in fields)
    reader = place.reader.oneofs[name].pointer if place.reader else ()
    pointers = place.pointers_to(reader, origins[-1][0].pointer)
    return found_at(place.at(name), rule, facts={"name": name, "fields": names}, gist="{fields}", pointers=pointers)
