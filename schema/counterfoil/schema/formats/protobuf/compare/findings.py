"""What a pair walk of two Protobuf schemas finds, and where."""

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


@dataclass(frozen=True, slots=True)
class Place:
    """A pair of messages, and the pair of fields in them where one is meant; a side that has none is None.

    ``steps`` are those of the path as Confluent counts it: the names of messages, of a oneof or an enum, the number of
    a field. ``parent`` is the field through which the messages were entered; None for those that were met in the
    schemas' own files. ``enums`` is the pair of enums where such are meant.
    """

    steps: tuple[str, ...] = ()
    reader: MessageType | None = None
    writer: MessageType | None = None
    reader_field: FieldType | None = None
    writer_field: FieldType | None = None
    parent: Place | None = None
    enums: tuple[EnumType, EnumType] | None = None

    def at_field(self, reader: FieldType | None, writer: FieldType | None, oneof: str | None) -> Place:
        """The place of a field of these messages; ``oneof`` is the oneof whose member it is counted as."""
        one = reader or writer
        steps = (*self.steps, *filter(None, [oneof]), str(one.number if one else ""))
        return Place(steps, self.reader, self.writer, reader, writer, self.parent)

    def at(self, *names: str) -> Place:
        """The place of a oneof, type or constant inside, by its name or number."""
        return Place((*self.steps, *names), self.reader, self.writer, parent=self.parent, enums=self.enums)

    @property
    def reader_pointer(self) -> str:
        """Where it stands in the reader's text: the field, the message, or the field that led into another file."""
        return (
            _pointer(self.reader, self.reader_field)
            or (self.parent.reader_pointer if self.parent else "")
            or (_use(self.reader, self.reader_field))
        )

    @property
    def writer_pointer(self) -> str:
        """The same for the writer's text."""
        return (
            _pointer(self.writer, self.writer_field)
            or (self.parent.writer_pointer if self.parent else "")
            or (_use(self.writer, self.writer_field))
        )

    def option_pointers(self, name: str) -> tuple[str, str]:
        """The pointers of an option of the two fields, or of the fields where they do not have it."""
        return option_pointer(self.reader_pointer, name), option_pointer(self.writer_pointer, name)

    def pointers_to(self, reader: str, writer: str) -> tuple[str, str]:
        """The pointers of two things inside, where the schemas' own files declare them; else those of the place."""
        is_mine = self.reader is None or self.reader.is_in_own_file
        is_theirs = self.writer is None or self.writer.is_in_own_file
        return (reader if is_mine else self.reader_pointer, writer if is_theirs else self.writer_pointer)


def _pointer(message: MessageType | None, field: FieldType | None) -> str:
    """The pointer of the field or of its message in the schema's own file; empty where that is another file."""
    if field is not None and field.types is field.types.index.root:
        return field.pointer
    return message.pointer if message is not None and message.is_in_own_file else ""


def _use(message: MessageType | None, field: FieldType | None) -> str:
    """The pointer of what leads to the message, or to the file of the field, in the schema's own file."""
    if message is not None:
        return message.types.index.uses.pointer_to(message)
    return "" if field is None else field.types.index.uses.pointer_to_file(field.types.file)


ROOT = Place()
"""The file itself."""


@dataclass(eq=False, slots=True)
class Found(Difference):
    """A difference at ``place``.

    ``pointers`` are those of reader and writer where something smaller than the place is meant, such as a oneof.
    ``is_of_writer`` says that it is called after the place in the writer; else after the one that is further inside.
    """

    place: Place
    pointers: tuple[str, str] | None = None
    is_of_writer: bool = False

    @property
    def path(self) -> str:
        """The place as Confluent counts it: ``#/Outer/Inner`` for a message, ``#/Outer/3`` for a field."""
        return f"#/{'/'.join(self.place.steps)}"

    @property
    def reader_pointer(self) -> str:
        """Where it stands in the reader's text."""
        return self.place.reader_pointer if self.pointers is None else self.pointers[0]

    @property
    def writer_pointer(self) -> str:
        """Where it stands in the writer's text."""
        return self.place.writer_pointer if self.pointers is None else self.pointers[1]

    @property
    def reader_path(self) -> FieldPath:
        """The names on the way to it in the reader's file."""
        return path_at(self.reader_pointer)

    @property
    def writer_path(self) -> FieldPath:
        """The names on the way to it in the writer's file."""
        return path_at(self.writer_pointer)

    @property
    def element(self) -> FieldPath:
        """The path that leads further inside, the reader's where both are as long."""
        if self.is_of_writer:
            return path_at(self.place.writer_pointer)
        return max(self.reader_path, self.writer_path, key=len)

    @property
    def reader_origin(self) -> Origin | None:
        """The reader's message or enum that it is in."""
        return _origin(self.place.enums[0] if self.place.enums else self.place.reader, self.place.steps)

    @property
    def writer_origin(self) -> Origin | None:
        """The writer's message or enum that it is in."""
        return _origin(self.place.enums[1] if self.place.enums else self.place.writer, self.place.steps)


def _origin(holder: MessageType | EnumType | None, steps: tuple[str, ...]) -> Origin | None:
    """The message or enum that a place is in, and the steps from there."""
    if holder is None:
        return None
    is_inside = steps[: len(holder.names)] == holder.names
    inside = steps[len(holder.names) :] if is_inside else steps
    return Origin(holder.full_name, inside, is_own=holder.is_in_own_file)


def found_at(
    place: Place,
    rule: CompatibilityRule,
    *,
    facts: Mapping[str, object],
    gist: str = "{name}",
    pointers: tuple[str, str] | None = None,
    is_of_writer: bool = False,
) -> Found:
    """The finding of ``rule`` at ``place``; see :class:`Found`."""
    return Found(rule, facts, gist, place, pointers, is_of_writer)
