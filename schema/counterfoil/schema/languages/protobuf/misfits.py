"""The misfits of two Protobuf schemas: the pairs of messages and enums that a parser enters, at each place of a record.

Fields are matched by number, and named as the reader names them; a member of a oneof is a branch of it. A field whose
name is written under another number is another field. A field that is not written at all is unset, which a parser
accepts unless the field is required.

A parser refuses a whole message without a required field, with a string that is not UTF-8 where that is checked, and
with bytes that are no message, or no packed numbers, where it reads those. All else that does not fit is skipped, or
read as another value.

Source: the Protocol Buffers encoding guide, "Updating a message type", and the behaviour of its runtime.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from counterfoil.schema.compatibility import Steps, steps_for
from counterfoil.schema.compatibility.misfits import MISSING, Misfit, MisfitEffect, Misfits, PairMisfits, stated_by
from counterfoil.schema.languages.protobuf.compare import confluent_rules as rules
from counterfoil.schema.languages.protobuf.compare import rules as sound
from counterfoil.schema.languages.protobuf.compare.findings import ProtobufDifference
from counterfoil.schema.languages.protobuf.compare.sound import extensions_by_message, renamed_first, walk_sound
from counterfoil.schema.languages.protobuf.read.symbols import EnumType
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import (
    ENTRY_KEY,
    ENTRY_VALUE,
    FieldValueType,
    MessageType,
    NumberedField,
)
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, Step, StepKind, branch, member, print_path

_Key: TypeAlias = tuple[int, int]

_STEPS_A_PAIR: Final = 15
_STEPS_A_PART: Final = 6
"""The steps for each field or symbol of a pair: it is looked at several times."""

_BYTES_OF_FIXED: Final = {"fixed32": 4, "sfixed32": 4, "float": 4, "fixed64": 8, "sfixed64": 8, "double": 8}
_VARINTS: Final = frozenset({"bool", "int32", "int64", "uint32", "uint64", "sint32", "sint64"})
_REFUSED: Final = frozenset({sound.BYTES_TO_STRING, sound.UTF8_VALIDATION_ADDED})
_OF_TYPES: Final = frozenset(
    {rules.FIELD_KIND_CHANGED, rules.FIELD_SCALAR_KIND_CHANGED, rules.FIELD_NAMED_TYPE_CHANGED}
)
_TEXTS: Final = frozenset({"string", "bytes"})


@dataclass(frozen=True, slots=True)
class _Pair:
    """A pair of messages, or of enums; the pair of the two files has neither."""

    reader: MessageType | EnumType | None = None
    writer: MessageType | EnumType | None = None


_FILES: Final = _Pair()


def find_misfits(reader: ProtobufSchema, writer: ProtobufSchema) -> Misfits:
    """Return the misfits of a reader and a writer; raise ``OutOfSteps``, as they do where the steps do not suffice."""
    steps = steps_for(reader, writer)
    return PairMisfits(_ProtobufPairs(reader, writer, steps), steps)


class _ProtobufPairs:
    """The pairs of the messages and enums of two schemas. A record may be of any message that no other one contains."""

    def __init__(self, reader: ProtobufSchema, writer: ProtobufSchema, steps: Steps) -> None:
        self._steps = steps
        self._reader = reader.types.root
        self._writer = writer.types.root
        self._differences: dict[_Key, list[ProtobufDifference]] = {}
        for found in walk_sound(reader, writer, steps_for(reader, writer)):
            if found.rule != sound.INVALID_FILE.id:
                sides = found.place.enums or (found.place.reader, found.place.writer)
                self._differences.setdefault((id(sides[0]), id(sides[1])), []).append(found)
        self._extensions = (extensions_by_message(reader), extensions_by_message(writer))
        self._own: dict[Hashable, tuple[Misfit, ...]] = {}
        self._inside: dict[Hashable, list[tuple[FieldPath, _Pair]]] = {}

    def root(self) -> _Pair:
        """Return the pair of the two files."""
        return _FILES

    def key(self, pair: _Pair) -> _Key:
        """Return the identities of the two types."""
        return id(pair.reader), id(pair.writer)

    def own(self, pair: _Pair) -> Sequence[Misfit]:
        """Return the misfits of the two types themselves."""
        key = self.key(pair)
        if key not in self._own:
            self._spend_for(pair)
            self._own[key] = tuple(self._misfits(pair))
        return self._own[key]

    def inside(self, pair: _Pair) -> Sequence[tuple[FieldPath, _Pair]]:
        """Return the pairs inside the two types."""
        key = self.key(pair)
        if key not in self._inside:
            self._spend_for(pair)
            self._inside[key] = self._records if pair is _FILES else list(self._held_pairs(pair))
        return self._inside[key]

    def _spend_for(self, pair: _Pair) -> None:
        """Spend the steps of a look at two messages, or enums."""
        sides = (pair.reader, pair.writer)
        parts = sum(len(each.fields) for each in sides if isinstance(each, MessageType))
        values = sum(len(each.names_by_number) for each in sides if isinstance(each, EnumType))
        self._steps.spend(_STEPS_A_PAIR + _STEPS_A_PART * (parts + values))

    def spelled(self, path: FieldPath) -> FieldPath:
        """Return a path that names no first message, and members of oneofs as their branches."""
        first = next(iter(self._reader.messages.values()), None)
        steps: list[Step] = []
        message, rest = first, [*path]
        if rest and rest[0].kind is StepKind.MEMBER and rest[0].name in self._reader.messages:
            message = self._reader.messages[rest.pop(0).name]
            steps += [member(message.node.name)] if message is not first else []
        while rest:
            step = rest.pop(0)
            field = None if message is None else _field(message, step, rest)
            if field is not None:
                steps += _steps_to(field)
                message = _message_of(field.holds)
            else:
                steps.append(step)
                message = message if step.kind in (StepKind.ITEM, StepKind.VALUE) else None
        return tuple(steps)

    @cached_property
    def _records(self) -> list[tuple[FieldPath, _Pair]]:
        """The pairs of messages that records may be: the first ones, and those of one name that nothing contains."""
        mine = next(iter(self._reader.messages.values()), None)
        if mine is None:
            return []
        renamed = renamed_first(self._reader, self._writer)
        theirs = renamed[1] if renamed is not None else self._writer.messages.get(mine.node.name)
        first = _Pair(mine, theirs)
        found: list[tuple[FieldPath, _Pair]] = [((), first)] if theirs is not None else []
        contained = self._contained(first)
        for name, other in self._reader.messages.items():
            known = self._writer.messages.get(name)
            if other is not mine and known is not None and id(other) not in contained:
                found.append(((member(name),), _Pair(other, known)))
        return found

    def _contained(self, first: _Pair) -> set[int]:
        """Return the identities of the reader's messages inside the first one."""
        seen: set[int] = set()
        waiting = [first.reader]
        while waiting:
            message = waiting.pop()
            if isinstance(message, MessageType) and id(message) not in seen:
                seen.add(id(message))
                waiting += [_message_of(field.holds) for field in message.fields.values()]
        return seen

    def _held_pairs(self, pair: _Pair) -> Iterator[tuple[FieldPath, _Pair]]:
        """Yield the messages and enums that the fields of two messages hold, with the steps to them."""
        reader, writer = pair.reader, pair.writer
        if not isinstance(reader, MessageType) or not isinstance(writer, MessageType):
            return
        moved = {each.place for each in _moved(reader, writer)} | _taken(reader, writer)
        fields, written = (
            message.fields | known.get(message.full_name, {})
            for message, known in zip((reader, writer), self._extensions, strict=True)
        )
        for number in fields.keys() & written.keys():
            steps = _steps_to(fields[number])
            held = _held_pair(fields[number].holds, written[number].holds)
            if held is not None and steps not in moved:
                around = (VALUES,) if fields[number].holds.is_map else (ITEMS,) if fields[number].is_repeated else ()
                yield (*steps, *around), held

    def _misfits(self, pair: _Pair) -> Iterator[Misfit]:
        differences = self._differences.get(self.key(pair), ())
        reader, writer = pair.reader, pair.writer
        if pair is _FILES:
            for (mine, _), found in self._differences.items():
                if mine == id(None):
                    yield from (misfit for each in found for misfit in _stated(each, ()))
        elif isinstance(reader, EnumType) and isinstance(writer, EnumType):
            yield from (misfit for each in differences for misfit in _stated(each, ()))
            yield from _unknown_numbers(reader, writer)
        elif isinstance(reader, MessageType) and isinstance(writer, MessageType):
            moved = tuple(_moved(reader, writer))
            gone = {each.place for each in moved} | _taken(reader, writer)
            yield from moved
            for each in differences:
                steps = _place_of(each)
                if (steps not in gone or _is_refused(each)) and not _is_about_symbols(each):
                    yield from _stated(each, steps)
            yield from (each for each in _read_as_bytes(reader, writer) if gone.isdisjoint(_ways_to(each.place)))


def _held_pair(reader: FieldValueType, writer: FieldValueType) -> _Pair | None:
    """Return the messages or enums that two fields hold; None if they hold other types, or one message."""
    mine, theirs = _part_of(reader, writer), _part_of(writer, reader)
    if mine is None or theirs is None:
        return None
    if mine.enum is not None and theirs.enum is not None:
        return _Pair(mine.enum, theirs.enum)
    if mine.message is None or theirs.message is None or mine.message.node is theirs.message.node:
        return None
    return _Pair(mine.message, theirs.message)


def _part_of(held: FieldValueType, other: FieldValueType) -> FieldValueType | None:
    """Return what is compared of a field: the values of a map, or of messages in the form of its entries."""
    if held.is_map:
        return held.value
    if other.is_map and held.message is not None:
        value = held.message.fields.get(ENTRY_VALUE)
        return value.holds if value is not None else None
    return held


def _message_of(held: FieldValueType) -> MessageType | None:
    """Return the message that a field, its items or its values hold."""
    inner = held.value if held.is_map else held
    return None if inner is None else inner.message


def _steps_to(field: NumberedField) -> FieldPath:
    oneof = field.oneof_name
    return (member(field.name),) if oneof is None else (member(oneof), branch(field.name))


def _field(message: MessageType, step: Step, rest: list[Step]) -> NumberedField | None:
    """Return the field of a step; that of a oneof's branch takes the next step, too."""
    if step.kind is not StepKind.MEMBER:
        return None
    for field in message.fields.values():
        if field.name == step.name:
            return field
        if field.oneof_name == step.name and rest and rest[0] == branch(field.name):
            rest.pop(0)
            return field
    return None


def _moved(reader: MessageType, writer: MessageType) -> Iterator[Misfit]:
    """Yield the fields of the reader whose names the writer has under other numbers.

    What is written, for a reader, is what stands under its own number: whichever other number the name has got. Nothing
    there is the same as a field that is gone.
    """
    written = {field.name: field for field in writer.fields.values()}
    for field in reader.fields.values():
        other = written.get(field.name)
        if other is not None and other.number != field.number:
            name = print_path((member(field.name),))
            text = f"{name} is written as field {other.number}, and the consumer reads field {field.number}"
            there = writer.fields.get(field.number)
            now = MISSING if there is None else f"{there.holds.words} {there.name}"
            yield Misfit(_steps_to(field), f"field {field.number}", now, text, other.pointer, is_moved=True)


def _taken(reader: MessageType, writer: MessageType) -> set[FieldPath]:
    """Return the fields of the reader under whose numbers the writer has another field of the reader.

    They are not written: that field has moved, and has a misfit of its own.
    """
    numbers = {field.name: field.number for field in reader.fields.values()}
    return {
        _steps_to(field)
        for number, field in reader.fields.items()
        if (there := writer.fields.get(number)) is not None and numbers.get(there.name, number) != number
    }


def _read_as_bytes(reader: MessageType, writer: MessageType) -> Iterator[Misfit]:
    """Yield the fields and values of maps whose messages a reader takes for bytes: it gets all, and not what they say.

    The values of a map are compared with those of messages in the form of its entries, too.
    """
    for number, mine in reader.fields.items():
        theirs = writer.fields.get(number)
        if theirs is None:
            continue
        read, written = _part_of(mine.holds, theirs.holds), _part_of(theirs.holds, mine.holds)
        if read is not None and written is not None and read.scalar == "bytes" and written.message is not None:
            text = f"The reader has bytes in field {mine.name} = {number}, the writer {written.words}"
            place = (*_steps_to(mine), VALUES) if mine.holds.is_map else _steps_to(mine)
            yield Misfit(place, "bytes", written.words, text, theirs.pointer)


def _ways_to(place: FieldPath) -> Iterator[FieldPath]:
    """Yield a place, and the field whose value it is in a map."""
    yield place
    if place[-1] == VALUES:
        yield place[:-1]


def _place_of(found: ProtobufDifference) -> FieldPath:
    """Return the steps from a pair of messages to a difference: to a field, to a oneof, or none."""
    field = found.place.reader_field or found.place.writer_field
    if field is not None:
        return _steps_to(field)
    name = found.facts.get("name")
    return (member(str(name)),) if found.kind in _ABOUT_ONEOFS else ()


_ABOUT_ONEOFS: Final = frozenset(
    {rules.ONEOF_REMOVED, rules.MULTIPLE_FIELDS_MOVED_TO_ONEOF, rules.FIELD_MOVED_TO_EXISTING_ONEOF}
)


def _is_about_symbols(found: ProtobufDifference) -> bool:
    """Return whether a difference of fields is one of the symbols of their enums, which has places of its own."""
    writer = found.place.writer_field
    held = None if writer is None else (writer.holds.value if writer.holds.is_map else writer.holds)
    return found.kind is sound.CLOSED_ENUM_LOSES_VALUE and held is not None and held.enum is not None


def _unknown_numbers(reader: EnumType, writer: EnumType) -> Iterator[Misfit]:
    """Yield the writer's numbers that the reader's enum lacks: an open enum keeps them, a closed one loses them."""
    for number, names in writer.names_by_number.items():
        if number not in reader.names_by_number:
            what = "loses it" if reader.is_closed else "keeps the number"
            text = f"The reader's enum {reader.local_name} lacks {names[0]} = {number}, and {what}"
            pointer = (*writer.pointer, names[0]) if writer.is_in_own_file else ()
            effect = MisfitEffect.MISREAD if reader.is_closed else MisfitEffect.KEPT
            written = f"{names[0]} = {number}"
            yield Misfit((), reader.local_name, written, text, pointer, effect, symbol=names[0])


def _stated(found: ProtobufDifference, place: FieldPath) -> Iterator[Misfit]:
    effect = MisfitEffect.REFUSED if _is_refused(found) else MisfitEffect.MISREAD
    for expected, said in stated_by(found):
        written = f"{_label_of(found)}{said}"
        yield Misfit(place, expected, written, found.text, found.writer_pointer, effect)


def _label_of(found: ProtobufDifference) -> str:
    """Return how values of another type are written, where the reader takes them for one value."""
    reader, writer = found.place.reader_field, found.place.writer_field
    is_list = reader is not None and writer is not None and writer.is_repeated and not reader.is_repeated
    if found.kind not in _OF_TYPES or not is_list or (writer is not None and writer.holds.is_map):
        return ""
    return "repeated packed " if writer is not None and writer.is_packed else "repeated "


def _is_refused(found: ProtobufDifference) -> bool:
    """Return whether a parser may refuse the whole message for a difference."""
    if found.kind in _REFUSED:
        return True
    reader, writer = found.place.reader_field, found.place.writer_field
    if reader is not None and reader.is_required and (writer is None or not writer.is_required):
        return True
    if found.kind not in _OF_TYPES or reader is None or writer is None:
        return False
    mine, theirs = reader.holds, writer.holds
    if mine.is_map or theirs.is_map:
        pairs = zip(_entry_of(mine), _entry_of(theirs), strict=True)
        if (mine.is_map or mine.message is not None) and (theirs.is_map or theirs.message is not None):
            return any(a is not None and b is not None and _is_unparsable(a, b) for a, b in pairs)
    elif mine.message is not None and theirs.message is not None:
        return False  # whether its bytes are refused is found of what is inside
    if writer.is_packed and _are_parsed_alike(mine.scalar, theirs.scalar):
        return False
    if writer.is_delimited or not (_has_length(theirs) or writer.is_packed):
        return False
    return not reader.is_delimited and (_parses(mine) or (reader.is_repeated and mine.scalar != "bytes"))


def _are_parsed_alike(reader: str | None, writer: str | None) -> bool:
    """Return whether packed numbers of one type are always packed numbers of another, if not the same ones."""
    if reader in _BYTES_OF_FIXED and writer in _BYTES_OF_FIXED:
        return _BYTES_OF_FIXED[writer] % _BYTES_OF_FIXED[reader] == 0
    return {reader, writer} <= _VARINTS


def _entry_of(held: FieldValueType) -> tuple[FieldValueType | None, FieldValueType | None]:
    """Return the key and the value of a map, or what a message has in their place."""
    if held.is_map:
        return held.key, held.value
    fields = {} if held.message is None else held.message.fields
    key, value = (fields.get(number) for number in (ENTRY_KEY, ENTRY_VALUE))
    return (None if key is None else key.holds), (None if value is None else value.holds)


def _is_unparsable(reader: FieldValueType, writer: FieldValueType) -> bool:
    is_same = reader.scalar == writer.scalar and (reader.message is None) == (writer.message is None)
    return not is_same and _has_length(writer) and _parses(reader)


def _has_length(held: FieldValueType) -> bool:
    """Return whether a value is written as bytes with their length in front; not for groups, and packed numbers."""
    return held.is_map or held.message is not None or held.scalar in _TEXTS


def _parses(held: FieldValueType) -> bool:
    """Return whether a reader parses the bytes of a value: as a message, or as text in UTF-8."""
    return held.is_map or held.message is not None or held.scalar == "string"
