"""What a pair walk of two Protobuf schemas finds, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.report import Difference, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.protobuf.type_index import EnumType, FieldType, MessageType


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
        if self.reader is not None and not self.reader.is_in_own_file:
            return self.parent.reader_pointer if self.parent else ""
        nearest = self.reader_field or self.reader
        return nearest.pointer if nearest else ""

    @property
    def writer_pointer(self) -> str:
        """The same for the writer's text."""
        if self.writer is not None and not self.writer.is_in_own_file:
            return self.parent.writer_pointer if self.parent else ""
        nearest = self.writer_field or self.writer
        return nearest.pointer if nearest else ""

    def pointers_to(self, reader: str, writer: str) -> tuple[str, str]:
        """The pointers of two things inside, where the schemas' own files declare them; else those of the place."""
        is_mine = self.reader is None or self.reader.is_in_own_file
        is_theirs = self.writer is None or self.writer.is_in_own_file
        return (reader if is_mine else self.reader_pointer, writer if is_theirs else self.writer_pointer)


ROOT = Place("#/")
"""The file itself."""


def _origin(holder: MessageType | EnumType | None, path: str) -> Origin | None:
    """The message or enum that a place is in, and the steps from there."""
    if holder is None:
        return None
    own = "#/" + holder.local_name.replace(".", "/")
    inside = path.removeprefix(own) if path == own or path.startswith(f"{own}/") else path
    return Origin(holder.full_name, tuple(inside.split("/")[1:]), is_own=holder.is_in_own_file)


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
) -> Found:
    """The finding of ``rule`` at ``place``; ``facts`` fill its sentence.

    ``pointers`` are those of reader and writer where something smaller than the place is meant, such as a oneof.
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
        reader_origin=_origin(place.enums[0] if place.enums else place.reader, place.path),
        writer_origin=_origin(place.enums[1] if place.enums else place.writer, place.path),
    )
    return Found(rule, difference, place)
