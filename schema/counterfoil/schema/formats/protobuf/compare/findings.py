"""Findings of a pair walk of two Protobuf schemas, and their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.report import Difference, Origin
from counterfoil.schema.formats.protobuf.read.places import option_pointer, path_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.protobuf.types.enums import EnumType
    from counterfoil.schema.formats.protobuf.types.index import FieldType, MessageType
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer


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
    reader_field: FieldType | None = None
    writer_field: FieldType | None = None
    parent: MessagePair | None = None
    enums: tuple[EnumType, EnumType] | None = None

    def at_field(self, reader: FieldType | None, writer: FieldType | None, oneof: str | None) -> MessagePair:
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


def _pointer(message: MessageType | None, field: FieldType | None) -> Pointer:
    """Return the pointer of the field or of its message in the schema's own file; empty if it is in another file."""
    if field is not None and field.types is field.types.index.root:
        return field.pointer
    return message.pointer if message is not None and message.is_in_own_file else ()


def _use(message: MessageType | None, field: FieldType | None) -> Pointer:
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
    def reader_origin(self) -> Origin | None:
        """The reader's message or enum that contains the place."""
        return _origin(self.place.enums[0] if self.place.enums else self.place.reader, self.place.steps)

    @property
    def writer_origin(self) -> Origin | None:
        """The writer's message or enum that contains the place."""
        return _origin(self.place.enums[1] if self.place.enums else self.place.writer, self.place.steps)


def _origin(holder: MessageType | EnumType | None, steps: tuple[str, ...]) -> Origin | None:
    """Return the message or enum that contains a place, and the steps from there."""
    if holder is None:
        return None
    is_inside = steps[: len(holder.names)] == holder.names
    inside = steps[len(holder.names) :] if is_inside else steps
    return Origin(holder.full_name, inside, is_own=holder.is_in_own_file)


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
