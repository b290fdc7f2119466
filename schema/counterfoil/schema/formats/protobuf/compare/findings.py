"""What a pair walk of two Protobuf schemas finds, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.report import Difference, Origin
from counterfoil.schema.formats.protobuf.read.places import option_pointer
from counterfoil.schema.jsontext.document import pointer_steps
from counterfoil.schema.place import member

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.report import Origins
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.protobuf.types.enums import EnumType
    from counterfoil.schema.formats.protobuf.types.index import FieldType, MessageType


@dataclass(frozen=True, slots=True)
class Place:
    """A pair of messages, and the pair of fields in them where one is meant; a side that has none is None.

    ``path`` is the path as Confluent counts it, ``#/Outer/Inner`` for a message. ``parent`` is the field through
    which the messages were entered; None for those that were met in the schemas' own files. ``enums`` is the pair of
    enums where such are meant.
    """

    path: str
    reader: MessageType | None = None
    writer: MessageType | None = None
    reader_field: FieldType | None = None
    writer_field: FieldType | None = None
    parent: Place | None = None
    enums: tuple[EnumType, EnumType] | None = None

    def at_field(self, reader: FieldType | None, writer: FieldType | None, oneof: str | None) -> Place:
        """The place of a field of these messages; ``oneof`` is the oneof whose member it is counted as."""
        one = reader or writer
        steps = [self.path, *filter(None, [oneof]), str(one.number if one else "")]
        return Place("/".join(steps), self.reader, self.writer, reader, writer, self.parent)

    def at(self, *names: str) -> Place:
        """The place of a oneof, type or constant inside, by its name or number."""
        base = "" if self.path == ROOT.path else self.path.removeprefix("#")
        spelt = "/".join(["#" + base, *names])
        return Place(spelt, self.reader, self.writer, parent=self.parent, enums=self.enums)

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


ROOT = Place("#/")
"""The file itself."""


def _origin(holder: MessageType | EnumType | None, path: str) -> Origin | None:
    """The message or enum that a place is in, and the steps from there."""
    if holder is None:
        return None
    own = "#/" + holder.local_name.replace(".", "/")
    inside = path.removeprefix(own) if path == own or path.startswith(f"{own}/") else path
    return Origin(holder.full_name, tuple(inside.split("/")[1:]), is_own=holder.is_in_own_file)


def _origins(place: Place) -> Origins:
    reader, writer = place.enums or (place.reader, place.writer)
    return _origin(reader, place.path), _origin(writer, place.path)


@dataclass(frozen=True, slots=True)
class Found:
    """A difference, the rule behind it, and its place."""

    rule: CompatibilityRule
    difference: Difference
    place: Place


def found_at(
    place: Place,
    rule: CompatibilityRule,
    *,
    detail: str,
    facts: Mapping[str, object],
    pointers: tuple[str, str] | None = None,
    named: str | None = None,
) -> Found:
    """The finding of ``rule`` at ``place``; ``facts`` fill its sentence.

    ``pointers`` are those of reader and writer where something smaller than the place is meant, such as a oneof.
    ``named`` is the pointer of what the finding is called after, where that is not the longer one of these.
    """
    reader_pointer, writer_pointer = pointers or (place.reader_pointer, place.writer_pointer)
    difference = Difference(
        rule=rule.id,
        error_type=rule.error_type,
        path=place.path,
        detail=detail,
        sentence=rule.about(facts),
        reader_pointer=reader_pointer,
        writer_pointer=writer_pointer,
        origins=lambda: _origins(place),
        place=None if named is None else tuple(member(name) for name in pointer_steps(named)),
    )
    return Found(rule, difference, place)
