"""The problems of a reader's field with the bytes that a writer's field of the same number writes.

Source: the Protocol Buffers encoding guide, "Updating a message type", and the behaviour of its runtime.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.compare import rules
from counterfoil.schema.formats.protobuf.compare import sound_rules as sound
from counterfoil.schema.formats.protobuf.compare.differences import is_in_group, scalar_of
from counterfoil.schema.formats.protobuf.compare.utf8 import newly_checked_strings
from counterfoil.schema.formats.protobuf.compare.values import default_of, is_inside, read_range, written_range
from counterfoil.schema.formats.protobuf.types.index import ENTRY_KEY, ENTRY_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.protobuf.types.enums import EnumType
    from counterfoil.schema.formats.protobuf.types.index import FieldType, Held


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a pair of fields breaks, and the facts for its sentence beside name and number."""

    rule: CompatibilityRule
    facts: Mapping[str, object] = field(default_factory=dict)


def field_problems(reader: FieldType, writer: FieldType) -> Iterator[BrokenRule]:
    """Yield every loss or change of a value, for any message of the writer that sets the field or leaves it out.

    The messages that both fields hold are not compared, nor are the symbols of their enums.
    """
    if reader.is_required and not writer.is_required:
        yield BrokenRule(sound.FIELD_MADE_REQUIRED)
    if what := newly_checked_strings(reader, writer):
        yield BrokenRule(sound.UTF8_VALIDATION_ADDED, {"what": what})
    of_types = list(_held_problems(reader.holds, writer.holds))
    yield from of_types or _encoding_problems(reader, writer)


def enum_renumberings(reader: EnumType, writer: EnumType) -> Iterator[tuple[str, int, int]]:
    """Yield the writer's symbols whose number has another meaning in the reader: name, reader's and writer's number."""
    reader_numbers = {constant.name: constant.number for constant in reader.node.constants}
    for number, names in writer.names_by_number.items():
        known = reader.names_by_number.get(number, ())
        moved = [name for name in names if reader_numbers.get(name, number) != number]
        if moved and not set(names).intersection(known):
            yield moved[0], reader_numbers[moved[0]], number


def enum_renamings(reader: EnumType, writer: EnumType) -> Iterator[tuple[int, str, str]]:
    """Yield the numbers with another name in the reader, if it lacks the writer's: number, reader's and writer's name.

    Numbers that only one of the two enums has, or for which both have a name in common, are left out.
    """
    names = {constant.name for constant in reader.node.constants}
    for number, written in writer.names_by_number.items():
        known = reader.names_by_number.get(number, ())
        if known and not names.intersection(written):
            yield number, known[0], written[0]


def _held_problems(reader: Held, writer: Held) -> Iterator[BrokenRule]:
    mine, theirs = scalar_of(reader), scalar_of(writer)
    if reader.key and writer.key and reader.value and writer.value:
        yield from _held_problems(reader.key, writer.key)
        yield from _held_problems(reader.value, writer.value)
    elif mine and theirs and not is_in_group(mine, theirs):
        yield BrokenRule(rules.FIELD_SCALAR_KIND_CHANGED, _types(reader, writer))
    elif mine and theirs:
        yield from _scalar_problems(reader, writer)
    elif (mine or theirs or reader.is_map != writer.is_map) and not _is_kept_whole(reader, writer):
        yield BrokenRule(rules.FIELD_KIND_CHANGED, _types(reader, writer))


def _scalar_problems(reader: Held, writer: Held) -> Iterator[BrokenRule]:
    if reader.scalar == "string" and writer.scalar == "bytes":
        yield BrokenRule(sound.BYTES_TO_STRING)
    written, read = written_range(writer), read_range(reader)
    if written is not None and read is not None and not is_inside(written, read):
        yield BrokenRule(sound.INTEGER_NARROWED, _types(reader, writer))
    elif reader.enum is not None and reader.enum.is_closed and (missing := _missing_numbers(reader.enum, writer)):
        yield BrokenRule(sound.CLOSED_ENUM_LOSES_VALUE, {"values": missing})


def _missing_numbers(reader: EnumType, writer: Held) -> str:
    """Return the numbers that a closed enum of the reader lacks, in words; empty if there are none."""
    known = reader.names_by_number
    if writer.enum is not None:
        names = writer.enum.names_by_number.items()
        return ", ".join(f"{names[0]} = {number}" for number, names in names if number not in known)
    if writer.scalar == "bool":
        return ", ".join(word for number, word in enumerate(("false", "true")) if number not in known)
    return f"most numbers of {writer.scalar}"


def _encoding_problems(reader: FieldType, writer: FieldType) -> Iterator[BrokenRule]:
    """Yield the problems of fields whose types fit: the encoding of messages, repeated or not, the default value."""
    if reader.is_delimited != writer.is_delimited:
        words = ("enclosed as a group", "with its length in front")
        facts = {"reader": words[not reader.is_delimited], "writer": words[not writer.is_delimited]}
        yield BrokenRule(sound.MESSAGE_ENCODING_CHANGED, facts)
    elif writer.is_repeated and not reader.is_repeated:
        yield BrokenRule(sound.PACKED_REPEATED_TO_SINGULAR if writer.is_packed else sound.REPEATED_TO_SINGULAR)
    elif _have_other_defaults(reader, writer):
        mine, theirs = default_of(reader), default_of(writer)
        yield BrokenRule(sound.DEFAULT_VALUE_CHANGED, {"reader": _said(mine), "writer": _said(theirs)})


def _have_other_defaults(reader: FieldType, writer: FieldType) -> bool:
    """Return whether a field that is not set has another default value in the reader."""
    if (
        reader.is_repeated
        or writer.is_repeated
        or writer.is_required
        or not (scalar_of(reader.holds) and scalar_of(writer.holds))
    ):
        return False
    mine, theirs = default_of(reader), default_of(writer)
    return mine is not None and theirs is not None and mine != theirs


def _said(value: str | float | None) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _is_entry_of(message: Held, map_: Held) -> bool:
    """Return whether the message has the fields of the map's entries, so that neither side loses a value of the other.

    Either field may be a member of a oneof, but not both of the same one: an entry sets both fields.
    """
    fields = message.message.fields if message.message else {}
    if fields.keys() != {ENTRY_KEY, ENTRY_VALUE} or any(map(_is_unlike_entry, fields.values())):
        return False
    key, value = fields[ENTRY_KEY], fields[ENTRY_VALUE]
    if key.oneof is not None and key.oneof is value.oneof:
        return False
    return map_.key == key.holds and _is_same_value(map_.value, value.holds)


def _is_unlike_entry(field: FieldType) -> bool:
    return field.is_repeated or field.is_delimited or field.is_required


def _is_same_value(one: Held | None, other: Held) -> bool:
    if one is None:
        return False
    if one.message and other.message:
        return one.message.local_name == other.message.local_name
    if one.enum and other.enum:
        return one.enum.local_name == other.enum.local_name
    return one.scalar is not None and one.scalar == other.scalar


def _is_kept_whole(reader: Held, writer: Held) -> bool:
    """Return whether the reader has messages in the form of a map's entries, or reads a message as its bytes."""
    if writer.is_map:
        return reader.message is not None and _is_entry_of(reader, writer)
    return reader.scalar == "bytes" and writer.message is not None


def _types(reader: Held, writer: Held) -> dict[str, object]:
    return {"reader": reader.words, "writer": writer.words}
