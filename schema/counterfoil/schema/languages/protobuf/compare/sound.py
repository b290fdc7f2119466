"""The policy SOUND: differences by which a reader loses, changes or refuses a writer's message."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from counterfoil.schema.compatibility import CompatibilityPolicy, Steps
from counterfoil.schema.compatibility.findings import CompatibilityRule, Sentence
from counterfoil.schema.languages.protobuf.compare import confluent_rules as rules
from counterfoil.schema.languages.protobuf.compare import rules as sound
from counterfoil.schema.languages.protobuf.compare.differences import is_in_group, message_removed, scalar_of, walk
from counterfoil.schema.languages.protobuf.compare.findings import (
    ROOT,
    MessagePair,
    ProtobufDifference,
    found_at,
    is_oneof_gone,
    oneof_differences,
    oneof_field_removed,
)
from counterfoil.schema.languages.protobuf.read.symbols import EnumType
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import (
    ENTRY_KEY,
    ENTRY_VALUE,
    FieldValueType,
    FileTypes,
    MessageType,
    NumberedField,
    default_of,
    is_inside,
    mean_different_things,
    newly_checked_strings,
    read_range,
    written_range,
)
from counterfoil.schema.texts import Pointer

# The problems of a reader's field with the bytes that a writer's field of the same number writes.
#
# Source: the Protocol Buffers encoding guide, "Updating a message type", and the behaviour of its runtime.


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a pair of fields breaks, and the facts for its sentence beside name and number."""

    rule: CompatibilityRule
    facts: Mapping[str, object] = field(default_factory=dict)


def field_problems(reader: NumberedField, writer: NumberedField) -> Iterator[BrokenRule]:
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


def _held_problems(reader: FieldValueType, writer: FieldValueType) -> Iterator[BrokenRule]:
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


def _scalar_problems(reader: FieldValueType, writer: FieldValueType) -> Iterator[BrokenRule]:
    if reader.scalar == "string" and writer.scalar == "bytes":
        yield BrokenRule(sound.BYTES_TO_STRING)
    written, read = written_range(writer), read_range(reader)
    if written is not None and read is not None and not is_inside(written, read):
        yield BrokenRule(sound.INTEGER_NARROWED, _types(reader, writer))
    elif reader.enum is not None and reader.enum.is_closed and (missing := _missing_numbers(reader.enum, writer)):
        yield BrokenRule(sound.CLOSED_ENUM_LOSES_VALUE, {"values": missing})


def _missing_numbers(reader: EnumType, writer: FieldValueType) -> str:
    """Return the numbers that a closed enum of the reader lacks, in words; empty if there are none."""
    known = reader.names_by_number
    if writer.enum is not None:
        names = writer.enum.names_by_number.items()
        return ", ".join(f"{names[0]} = {number}" for number, names in names if number not in known)
    if writer.scalar == "bool":
        return ", ".join(word for number, word in enumerate(("false", "true")) if number not in known)
    return f"most numbers of {writer.scalar}"


def _encoding_problems(reader: NumberedField, writer: NumberedField) -> Iterator[BrokenRule]:
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


def _have_other_defaults(reader: NumberedField, writer: NumberedField) -> bool:
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


def _is_entry_of(message: FieldValueType, map_: FieldValueType) -> bool:
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


def _is_unlike_entry(field: NumberedField) -> bool:
    return field.is_repeated or field.is_delimited or field.is_required


def _is_same_value(one: FieldValueType | None, other: FieldValueType) -> bool:
    if one is None:
        return False
    if one.message and other.message:
        return one.message.local_name == other.message.local_name
    if one.enum and other.enum:
        return one.enum.local_name == other.enum.local_name
    return one.scalar is not None and one.scalar == other.scalar


def _is_kept_whole(reader: FieldValueType, writer: FieldValueType) -> bool:
    """Return whether the reader has messages in the form of a map's entries, or reads a message as its bytes."""
    if writer.is_map:
        return reader.message is not None and _is_entry_of(reader, writer)
    return reader.scalar == "bytes" and writer.message is not None


def _types(reader: FieldValueType, writer: FieldValueType) -> dict[str, object]:
    return {"reader": reader.words, "writer": writer.words}


# The walk of the policy over pairs of messages.
#
# Confluent's findings are included if a value is lost or changed at their place, and findings that Confluent does not
# have are added. Every pair of messages that a record can contain is compared: those of one name, and those that fields
# of one number hold, whatever their names.
#
# Differences of names alone are no findings: of packages, of messages that only fields use, of fields. The name of an
# enum's number defines the meaning of the number, and so does the name of a well-known type. A field that the reader
# does not have is no loss: it is skipped, and a reserved number is never used for another field.

_Pair: TypeAlias = "tuple[MessageType, MessageType]"
_Key: TypeAlias = "tuple[int, int, int | tuple[str, ...]]"


def walk_sound(reader: ProtobufSchema, writer: ProtobufSchema, steps: Steps) -> list[ProtobufDifference]:
    """Return the differences by which the reader loses, changes or refuses a message of the writer, file faults first.

    If Confluent has a finding at the same place, its finding is returned, with its error type. Raises ``InvalidSchema``
    for schemas that are nested too deep, and ``OutOfSteps``.
    """
    return [*_faults(reader, "reader"), *_faults(writer, "writer"), *_Walk(reader, writer, steps).run()]


def renamed_first(reader: FileTypes, writer: FileTypes) -> tuple[MessageType, MessageType] | None:
    """Return the first messages of both files if each has a name that the other file does not have, else None."""
    mine, theirs = (next(iter(side.messages.values()), None) for side in (reader, writer))
    if mine is None or theirs is None or mine.local_name in writer.messages or theirs.local_name in reader.messages:
        return None
    return mine, theirs


def _faults(schema: ProtobufSchema, side: str) -> Iterator[ProtobufDifference]:
    """Yield the faults of a file; those that leave nothing open count only while the file is the candidate."""
    for warning in schema.warnings():
        pointers = (warning.pointer, ()) if side == "reader" else ((), warning.pointer)
        facts = {"side": Sentence(f"the {side}'s"), "problem": warning.text}
        rule = sound.INVALID_FILE if warning.leaves_open else replace(sound.INVALID_FILE, of_side=side)
        yield found_at(ROOT, rule, facts=facts, gist="{problem}", pointers=pointers)


MAX_PAIRS: Final = 5000
"""The largest number of compared pairs of messages that fields hold; any further pair counts as different messages.

If many fields changed their messages, there may be a pair of every two messages.
"""

_CONFLUENT_BY_RULE: Final = {
    sound.FIELD_MADE_REQUIRED: rules.FIELD_NUMERIC_LABEL_CHANGED,
    sound.PACKED_REPEATED_TO_SINGULAR: rules.FIELD_NUMERIC_LABEL_CHANGED,
    sound.REPEATED_TO_SINGULAR: rules.FIELD_NUMERIC_LABEL_CHANGED,
}
"""Confluent's rule for the same difference, used if its finding is at the same place."""


class _Walk:
    """One walk over all pairs of messages that a record can contain."""

    def __init__(self, reader: ProtobufSchema, writer: ProtobufSchema, steps: Steps) -> None:
        self._steps = steps
        self._reader = reader.types.root
        self._writer = writer.types.root
        self._confluent: dict[tuple[_Key, str], dict[ProtobufDifference, ProtobufDifference]] = {}
        for found in walk(reader, writer, steps):
            self._confluent.setdefault((_key(found.place), found.kind.id), {}).setdefault(found, found)
        self._place_by_pair: dict[_Pair, MessagePair] = {}
        self._waiting: deque[_Pair] = deque()
        self._extensions = (extensions_by_message(reader), extensions_by_message(writer))
        self._enums: set[tuple[EnumType, EnumType]] = set()
        self._renamed: list[tuple[MessagePair, FieldValueType, FieldValueType]] = []
        self._broken: set[_Pair] = set()

    def run(self) -> Iterator[ProtobufDifference]:
        reported: set[tuple[_Key, str]] = set()
        for found in self._problems():
            place = _key(found.place)
            confluent = (place, _CONFLUENT_BY_RULE.get(found.kind, found.kind).id)
            key = confluent if confluent in self._confluent else (place, found.kind.id)
            if key not in reported:
                reported.add(key)
                yield from self._confluent[key].values() if key in self._confluent else (found,)

    def _problems(self) -> Iterator[ProtobufDifference]:
        yield from self._first_message()
        for mine in self._reader.all_messages():
            theirs = self._writer.message_by_local_name(mine.local_name)
            if theirs is not None:
                self._meet(mine, theirs, None)
        while self._waiting:
            pair = self._waiting.popleft()
            self._steps.spend(1 + len(pair[0].fields) + len(pair[1].fields))
            found = list(self._message(*pair, self._place_by_pair[pair]))
            if found:
                self._broken.add(pair)
            yield from found
        for place, read, written in self._renamed:
            if not self._is_same_shape(read, written):
                facts: dict[str, object] = {"reader": read.local_name, "writer": written.local_name}
                yield _field_found(rules.FIELD_NAMED_TYPE_CHANGED, place, facts)

    def _first_message(self) -> Iterator[ProtobufDifference]:
        """Yield the writer's first message, the type of its records, if the reader has none of that name."""
        theirs = next(iter(self._writer.messages.values()), None)
        if theirs is None or theirs.local_name in self._reader.messages:
            return
        renamed = renamed_first(self._reader, self._writer)
        if renamed is not None:
            self._meet(*renamed, None)
            if _have_common_fields(*renamed):
                return
        place = MessagePair(theirs.names, None, theirs)
        yield message_removed(place, theirs, self._reader.index)

    def _meet(self, reader: MessageType, writer: MessageType, parent: MessagePair | None) -> None:
        pair = (reader, writer)
        if pair in self._place_by_pair or (parent is not None and len(self._place_by_pair) >= MAX_PAIRS):
            return
        if reader.node is not writer.node:
            self._place_by_pair[pair] = MessagePair(reader.names, reader, writer, parent=parent)
            self._waiting.append(pair)

    def _message(self, reader: MessageType, writer: MessageType, place: MessagePair) -> Iterator[ProtobufDifference]:
        yield from message_set_differences(reader, writer, place)
        for found in oneof_differences(reader, writer, place):
            if CompatibilityPolicy.SOUND in found.kind.breaks:
                yield found
        in_reader = reader.fields | self._extensions[0].get(reader.full_name, {})
        in_writer = writer.fields | self._extensions[1].get(writer.full_name, {})
        for number in sorted(in_reader.keys() | in_writer.keys()):
            mine, theirs = in_reader.get(number), in_writer.get(number)
            one = mine or theirs
            at = place.at_field(mine, theirs, one.oneof_name if one else None)
            if mine is not None and theirs is not None:
                for problem in field_problems(mine, theirs):
                    yield _field_found(problem.rule, at, dict(problem.facts))
                yield from self._enter(mine.holds, theirs.holds, at)
            elif mine is not None and mine.is_required:
                yield _field_found(rules.REQUIRED_FIELD_ADDED, at, {})
            elif theirs is not None and theirs.oneof is not None and not is_oneof_gone(theirs, reader):
                yield oneof_field_removed(theirs, at)

    def _enter(
        self, reader: FieldValueType, writer: FieldValueType, place: MessagePair
    ) -> Iterator[ProtobufDifference]:
        """Yield the differences of the enums that two fields of one number hold, and add the messages to the queue."""
        if reader.is_map or writer.is_map:
            mine, theirs = _value_of_entry(reader), _value_of_entry(writer)
            if mine is not None and theirs is not None:
                yield from self._enter(mine, theirs, place)
        elif reader.enum is not None and writer.enum is not None:
            yield from self._symbols(reader.enum, writer.enum, place)
        elif reader.message is not None and writer.message is not None:
            self._meet(reader.message, writer.message, place)
        if _is_message(reader) and _is_message(writer) and reader.local_name != writer.local_name:
            self._renamed.append((place, reader, writer))

    def _symbols(self, reader: EnumType, writer: EnumType, place: MessagePair) -> Iterator[ProtobufDifference]:
        if (reader, writer) in self._enums:
            return
        self._enums.add((reader, writer))
        base = MessagePair(reader.names, parent=place, enums=(reader, writer))
        for name, mine, theirs in enum_renumberings(reader, writer):
            facts = {"enum": reader.local_name, "name": name, "reader": mine, "writer": theirs}
            pointers = self._symbol_pointers((reader, name), (writer, name), place)
            at, gist = base.at(str(theirs)), "{name}: {writer} to {reader}"
            yield found_at(at, sound.ENUM_VALUE_RENUMBERED, facts=facts, gist=gist, pointers=pointers)
        for number, new, old in enum_renamings(reader, writer):
            facts = {"enum": reader.local_name, "number": number, "reader": new, "writer": old}
            pointers = self._symbol_pointers((reader, new), (writer, old), place)
            at, gist = base.at(str(number)), "{writer}: {number} is {reader}"
            yield found_at(at, sound.ENUM_VALUE_RENAMED, facts=facts, gist=gist, pointers=pointers)

    def _symbol_pointers(
        self, reader: tuple[EnumType, str], writer: tuple[EnumType, str], place: MessagePair
    ) -> tuple[Pointer, Pointer]:
        """Return the pointers of symbols of the two enums; of the field, for an enum declared in another file."""
        (mine, new), (theirs, old) = reader, writer
        return (
            (*mine.pointer, new) if mine.file is self._reader.file else place.reader_pointer,
            (*theirs.pointer, old) if theirs.file is self._writer.file else place.writer_pointer,
        )

    def _is_same_shape(self, reader: FieldValueType, writer: FieldValueType) -> bool:
        """Return whether the reader's message reads the fields of the writer's without a loss beyond removed fields."""
        if reader.message is None or writer.message is None:
            return False
        pair = (reader.message, writer.message)
        if mean_different_things(reader.message.full_name, writer.message.full_name):
            return False
        if pair not in self._place_by_pair and reader.message.node is not writer.message.node:
            return False  # a pair beyond MAX_PAIRS, which was not compared
        return pair not in self._broken and _have_common_fields(*pair)


def extensions_by_message(schema: ProtobufSchema) -> dict[str, dict[int, NumberedField]]:
    """Return the extensions in the schema's own file and its references, by the extended message and by number."""
    index = schema.types
    files = [schema.file, *(schema.imports[path] for path in schema.references if path in schema.imports)]
    found: dict[str, dict[int, NumberedField]] = {}
    for file in files:
        for extendee, each in index.types_of(file).extensions():
            found.setdefault(extendee, {})[each.number] = each
    return found


def message_set_differences(
    reader: MessageType, writer: MessageType, place: MessagePair
) -> Iterator[ProtobufDifference]:
    """Yield the difference of a message whose extensions are written as a message set, and not read as one.

    The reverse is read: the parsers of message sets take extensions that are written as fields, too.
    """
    if writer.is_message_set and not reader.is_message_set:
        yield found_at(place, sound.MESSAGE_SET_READ_AS_FIELDS, facts={"name": writer.local_name})


def _have_common_fields(reader: MessageType, writer: MessageType) -> bool:
    """Return whether the writer's message has no fields, or both messages have a field of one number."""
    return not writer.fields or not reader.fields.keys().isdisjoint(writer.fields)


def _field_found(rule: CompatibilityRule, place: MessagePair, facts: dict[str, object]) -> ProtobufDifference:
    field = place.reader_field or place.writer_field
    named = {"name": field.name, "tag": field.number} if field else {}
    pointers = place.option_pointers("default") if rule is sound.DEFAULT_VALUE_CHANGED else None
    return found_at(place, rule, facts={**named, **facts}, gist="{name}" if field else "", pointers=pointers)


def _key(place: MessagePair) -> _Key:
    """Return the key of a place, equal in both walks: the pair of messages or enums, and the step inside them."""
    if place.enums is not None:
        return (id(place.enums[0]), id(place.enums[1]), place.steps)
    field = place.reader_field or place.writer_field
    return (id(place.reader), id(place.writer), field.number if field else place.steps)


def _is_message(held: FieldValueType) -> bool:
    return not held.is_map and not held.scalar and held.enum is None


def _value_of_entry(held: FieldValueType) -> FieldValueType | None:
    """Return the type of the second field of a map's entries, or of a message that has the form of entries."""
    if held.is_map or held.message is None:
        return held.value
    value = held.message.fields.get(ENTRY_VALUE)
    return value.holds if value else None
