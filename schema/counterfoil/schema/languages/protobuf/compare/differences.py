"""The pair walk: a reader's and a writer's file, compared by Confluent's rules.

The results are those of Confluent's checker, including its errors, since clients parse them:

- Messages and enums are matched by name at each level, fields by number over the whole message. Groups are not
  compared, nor are options, extensions, services and reserved numbers and names.
- Labels are compared only if both sides write one, only for numbers, strings and bytes, and only if the type is equal.
- A field that holds a message of the schema's own file is compared by that message's name without the package; the
  message itself is compared where it is declared. A message of an imported file is compared at a field of that type,
  unless both sides took the file from the same subject and version.
- A pair of messages that is reached again while it is being compared counts as compatible.

Source: recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from counterfoil.schema.compatibility import CompatibilityPolicy, Steps, steps_for
from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.jsontext import java_hash_order
from counterfoil.schema.languages.protobuf.compare import confluent_rules as rules
from counterfoil.schema.languages.protobuf.compare.findings import (
    ROOT,
    MessagePair,
    ProtobufDifference,
    found_at,
    is_oneof_gone,
    oneof_differences,
    oneof_field_removed,
)
from counterfoil.schema.languages.protobuf.read.symbols import PACKAGE_POINTER, SCALARS, EnumType
from counterfoil.schema.languages.protobuf.read.syntax_tree import Label
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import FieldValueType, MessageType, NumberedField, TypeIndex

MAX_DIFFERENCES: Final = 1000
"""The largest number of reported differences; imported messages that use each other could repeat one without limit."""

MAX_REPEATED: Final = 1000
"""The largest number of differences of imported messages that are reported again, at further fields of their types.

Messages that use each other would otherwise repeat one difference without limit.
"""
MAX_IMPORT_DEPTH: Final = 40
"""The largest depth of imported messages inside each other; of deeper ones only the verdict is reported."""

_GROUPS: Final = (
    frozenset({"int32", "int64", "uint32", "uint64", "bool", "enum"}),
    frozenset({"sint32", "sint64"}),
    frozenset({"fixed32", "sfixed32"}),
    frozenset({"fixed64", "sfixed64"}),
    frozenset({"float"}),
    frozenset({"double"}),
    frozenset({"string", "bytes"}),
)
_GROUP_BY_SCALAR: Final = {scalar: group for group in _GROUPS for scalar in group}
_TEXTS: Final = _GROUP_BY_SCALAR["string"]


def walk(reader: ProtobufSchema, writer: ProtobufSchema, steps: Steps | None = None) -> list[ProtobufDifference]:
    """Return every difference that Confluent counts between two schemas, also those that break no reader.

    Their order is fixed, as in Confluent's checker: the package, the enums, then the messages, each with its oneofs,
    its fields by number and its nested types. Raises ``InvalidSchema`` for schemas that are nested too deep, and
    ``OutOfSteps``.
    """
    try:
        return [*_Walk(reader.types, writer.types, steps or steps_for(reader, writer)).files()]
    except RecursionError:
        raise InvalidSchema("Invalid schema: its messages are nested too deep to be compared; flatten them") from None


_Pair: TypeAlias = "tuple[MessageType, MessageType]"


class _Walk:
    """One comparison of two files.

    For imported messages, ``_is_broken_by_pair`` is computed first, without recursion: whether a pair has a breaking
    difference (meanwhile ``_met`` collects the pairs that a message's fields hold). Only broken pairs are then reported
    in detail. ``_depth_by_open_pair`` has the pairs that are being compared, ``_outermost_met`` the least depth among
    them that was reached again, ``_found_by_pair`` the findings, ``_seen`` the compared pairs, ``_repeatable`` how many
    more findings may be repeated.
    """

    def __init__(self, reader: TypeIndex, writer: TypeIndex, steps: Steps) -> None:
        self._steps = steps
        self._reader = reader
        self._writer = writer
        self._is_broken_by_pair: dict[_Pair, bool] = {}
        self._met: list[_Pair] | None = None
        self._depth_by_open_pair: dict[_Pair, int] = {}
        self._outermost_met = 0
        self._found_by_pair: dict[_Pair, tuple[ProtobufDifference, ...]] = {}
        self._seen: set[_Pair] = set()
        self._repeatable = MAX_REPEATED

    def files(self) -> Iterator[ProtobufDifference]:
        reader, writer = self._reader.root, self._writer.root
        if reader.file.package != writer.file.package:
            said = {"reader": reader.file.package or "empty", "writer": writer.file.package or "empty"}
            pointers = (PACKAGE_POINTER, PACKAGE_POINTER)
            yield found_at(ROOT, rules.PACKAGE_CHANGED, facts=said, gist="{writer} to {reader}", pointers=pointers)
        yield from self._enums(reader.enums, writer.enums, ROOT)
        yield from self._messages(reader.messages, writer.messages, ROOT)

    def _messages(
        self, reader: Mapping[str, MessageType], writer: Mapping[str, MessageType], place: MessagePair
    ) -> Iterator[ProtobufDifference]:
        for name in java_hash_order([*writer, *reader]):
            mine, theirs, steps = reader.get(name), writer.get(name), (*place.steps, name)
            if mine is not None and theirs is not None:
                yield from self._message(mine, theirs, MessagePair(steps, mine, theirs, parent=place.parent))
            elif mine is not None:
                at = MessagePair(steps, mine, place.writer, parent=place.parent)
                yield found_at(at, rules.MESSAGE_ADDED, facts={"name": mine.local_name})
            elif theirs is not None and not theirs.is_map_entry:
                at = MessagePair(steps, place.reader, theirs, parent=place.parent)
                yield message_removed(at, theirs, self._reader)

    def _message(self, reader: MessageType, writer: MessageType, place: MessagePair) -> Iterator[ProtobufDifference]:
        """Yield the differences of two messages, including their nested types."""
        self._steps.spend(1 + len(reader.fields) + len(writer.fields))
        if reader.index != writer.index:
            facts = {"name": reader.local_name, "reader": reader.index, "writer": writer.index}
            yield found_at(place, rules.MESSAGE_MOVED, facts=facts, gist="{writer} to {reader}")
        yield from oneof_differences(reader, writer, place)
        for number in sorted(reader.fields.keys() | writer.fields.keys()):
            yield from self._field(_without_group(reader, number), _without_group(writer, number), place)
        yield from self._enums(reader.enums, writer.enums, place)
        yield from self._messages(reader.messages, writer.messages, place)

    def _field(
        self, reader: NumberedField | None, writer: NumberedField | None, place: MessagePair
    ) -> Iterator[ProtobufDifference]:
        if reader is None:
            if writer is not None:
                yield from _field_removed(writer, place)
        elif writer is None:
            yield _field_added(reader, place)
        elif not _is_unchanged(reader, writer):  # for speed only: true of most fields
            at = place.at_field(reader, writer, reader.oneof_name)
            if writer.oneof is not None and reader.oneof is None:
                facts = {**_facts(reader), "oneof": writer.oneof_name}
                yield found_at(at, rules.ONEOF_FIELD_MOVED_TO_TOP_LEVEL, facts=facts)
            yield from self._both(reader, writer, at)

    def _both(self, reader: NumberedField, writer: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
        if reader.name != writer.name:
            facts = {"tag": reader.number, "reader": reader.name, "writer": writer.name}
            yield found_at(place, rules.FIELD_NAME_CHANGED, facts=facts, gist="{writer} to {reader}")
        retyped = list(self._types(reader.holds, writer.holds, place))
        yield from retyped or _labels(reader, writer, place)

    def _types(
        self, reader: FieldValueType, writer: FieldValueType, place: MessagePair
    ) -> Iterator[ProtobufDifference]:
        if _kind(reader) != _kind(writer):
            yield _type_changed(rules.FIELD_KIND_CHANGED, reader, writer, place)
        elif reader.key and writer.key and reader.value and writer.value:
            yield from self._types(reader.key, writer.key, place)
            yield from self._types(reader.value, writer.value, place)
        elif _kind(reader) == _SCALAR:
            if not is_in_group(scalar_of(reader), scalar_of(writer)):
                yield _type_changed(rules.FIELD_SCALAR_KIND_CHANGED, reader, writer, place)
        elif reader.local_name != writer.local_name:
            yield _type_changed(rules.FIELD_NAMED_TYPE_CHANGED, reader, writer, place)
        elif reader.message and writer.message:
            yield from self._imported(reader, writer, place)

    def _imported(
        self, reader: FieldValueType, writer: FieldValueType, place: MessagePair
    ) -> Iterator[ProtobufDifference]:
        """Yield the differences of two messages of one name, at least one of which is imported."""
        mine, theirs = reader.message, writer.message
        if mine is None or theirs is None or self._is_compared_elsewhere(mine, theirs):
            return
        pair = (mine, theirs)
        if self._met is not None:
            self._met.append(pair)
        elif not self._is_broken(pair):
            return
        elif pair in self._depth_by_open_pair:
            self._outermost_met = min(self._outermost_met, self._depth_by_open_pair[pair])
        else:
            found = self._inside(pair, place)
            if found is None or any(_is_breaking(each) for each in found):
                yield from found or ()
                yield _type_changed(rules.FIELD_NAMED_TYPE_CHANGED, reader, writer, place)

    def _inside(self, pair: _Pair, place: MessagePair) -> tuple[ProtobufDifference, ...] | None:
        """Return the differences of a pair of imported messages; None if they are left out after too many repetitions.

        They are cached for further fields of this type, unless they depend on a pair that is still being compared: then
        they may be incomplete.
        """
        known = self._found_by_pair.get(pair)
        if known is not None:
            self._repeatable -= len(known)
            return known if self._repeatable >= 0 else None
        depth = len(self._depth_by_open_pair)
        if depth == MAX_IMPORT_DEPTH or (pair in self._seen and self._repeatable <= 0):
            return None
        self._depth_by_open_pair[pair] = depth
        met_before, self._outermost_met = self._outermost_met, depth
        found = tuple(self._message(*pair, _imported_place(pair, place)))
        del self._depth_by_open_pair[pair]
        if self._outermost_met >= depth:
            self._found_by_pair[pair] = found
        self._outermost_met = min(met_before, self._outermost_met)
        self._repeatable -= len(found) if pair in self._seen else 0
        self._seen.add(pair)
        return found

    def _is_broken(self, pair: _Pair) -> bool:
        """Return whether a pair of imported messages, or one that can be reached from it, has a breaking difference."""
        if pair not in self._is_broken_by_pair:
            self._judge_all_from(pair)
        return self._is_broken_by_pair[pair]

    def _judge_all_from(self, first: _Pair) -> None:
        leading_to: dict[_Pair, list[_Pair]] = {}
        broken: list[_Pair] = []
        waiting = [first]
        while waiting:
            pair = waiting.pop()
            if pair in self._is_broken_by_pair:
                continue
            self._met = []
            self._is_broken_by_pair[pair] = False
            if any(_is_breaking(found) for found in [*self._message(*pair, _imported_place(pair, None))]):
                broken.append(pair)
            for met in self._met:
                leading_to.setdefault(met, []).append(pair)
                if self._is_broken_by_pair.get(met):
                    broken.append(pair)
            waiting += self._met
        self._met = None
        while broken:
            pair = broken.pop()
            self._is_broken_by_pair[pair] = True
            broken += [each for each in leading_to.pop(pair, ()) if not self._is_broken_by_pair[each]]

    def _is_compared_elsewhere(self, reader: MessageType, writer: MessageType) -> bool:
        if reader.file is self._reader.root.file and writer.file is self._writer.root.file:
            return True
        source = self._reader.reference(reader.file)
        return source is not None and source == self._writer.reference(writer.file)

    def _enums(
        self, reader: Mapping[str, EnumType], writer: Mapping[str, EnumType], place: MessagePair
    ) -> Iterator[ProtobufDifference]:
        for name, gone in writer.items():
            if name not in reader:
                pointers = place.pointers_to(place.reader_pointer, gone.pointer)
                facts = {"name": gone.local_name, "enum": name}
                yield found_at(place.at(name), rules.ENUM_REMOVED, facts=facts, gist="{enum}", pointers=pointers)
        for name, new in reader.items():
            if name not in writer:
                pointers = place.pointers_to(new.pointer, place.writer_pointer)
                facts = {"name": new.local_name, "enum": name}
                yield found_at(place.at(name), rules.ENUM_ADDED, facts=facts, gist="{enum}", pointers=pointers)
        for name, mine in reader.items():
            if name in writer:
                yield from _constants(mine, writer[name], place)


def message_removed(place: MessagePair, writer: MessageType, reader: TypeIndex) -> ProtobufDifference:
    """Return the finding that the reader lacks a message.

    If the reader has it in another file, the reader's pointer is that of the element that uses it.
    """
    moved = reader.message(f".{writer.full_name}", "") if place.reader is None else None
    mine = place.reader_pointer if moved is None else reader.uses.pointer_to(moved)
    pointers, facts = (mine, place.writer_pointer), {"name": writer.local_name}
    return found_at(place, rules.MESSAGE_REMOVED, facts=facts, pointers=pointers, is_of_writer=True)


_SCALAR, _MESSAGE, _MAP = "scalar", "message", "map"


def _is_breaking(found: ProtobufDifference) -> bool:
    return CompatibilityPolicy.STRICT in found.kind.breaks


def _imported_place(pair: _Pair, parent: MessagePair | None) -> MessagePair:
    return MessagePair(pair[0].names, *pair, parent=parent)


def _kind(held: FieldValueType) -> str:
    if held.is_map:
        return _MAP
    return _SCALAR if held.scalar or held.enum else _MESSAGE


def scalar_of(held: FieldValueType) -> str:
    """Return the scalar type of a field, ``enum`` for an enum; empty for a message."""
    return held.scalar or ("enum" if held.enum else "")


def is_in_group(reader: str, writer: str) -> bool:
    """Return whether Confluent counts two scalar types as one kind."""
    return writer in _GROUP_BY_SCALAR[reader]


def _is_unchanged(reader: NumberedField, writer: NumberedField) -> bool:
    """Return whether both are the same scalar, outside oneofs."""
    mine, theirs = reader.node, writer.node
    return (
        mine.type == theirs.type
        and mine.type in SCALARS
        and mine.name == theirs.name
        and mine.label is theirs.label
        and reader.oneof is writer.oneof is None
    )


def _without_group(message: MessageType, number: int) -> NumberedField | None:
    field = message.fields.get(number)
    return None if field is None or field.node.group is not None else field


def _labels(reader: NumberedField, writer: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
    mine, theirs = reader.node.label, writer.node.label
    scalar = scalar_of(reader.holds)
    if mine is None or theirs is None or mine is theirs or not scalar:
        return
    is_text = scalar in _TEXTS
    rule = rules.FIELD_STRING_OR_BYTES_LABEL_CHANGED if is_text else rules.FIELD_NUMERIC_LABEL_CHANGED
    facts = {**_facts(reader), "reader": mine.value, "writer": theirs.value}
    yield found_at(place, rule, facts=facts, gist="{writer} to {reader}")


def _type_changed(
    rule: CompatibilityRule, reader: FieldValueType, writer: FieldValueType, place: MessagePair
) -> ProtobufDifference:
    is_named = rule is rules.FIELD_NAMED_TYPE_CHANGED
    mine, theirs = (_full_name(held) if is_named else held.words for held in (reader, writer))
    field = place.reader_field
    facts = {**(_facts(field) if field else {}), "reader": mine, "writer": theirs}
    return found_at(place, rule, facts=facts, gist="{writer} to {reader}")


def _full_name(held: FieldValueType) -> str:
    return held.message.full_name if held.message else held.name


def _facts(field: NumberedField) -> dict[str, object]:
    return {"name": field.name, "tag": field.number}


def _field_added(reader: NumberedField, place: MessagePair) -> ProtobufDifference:
    at = place.at_field(reader, None, reader.oneof_name)
    facts = {**_facts(reader), "oneof": reader.oneof_name}
    if reader.oneof is not None:
        return found_at(at, rules.ONEOF_FIELD_ADDED, facts=facts)
    is_required = reader.node.label is Label.REQUIRED
    rule = rules.REQUIRED_FIELD_ADDED if is_required else rules.FIELD_ADDED
    return found_at(at, rule, facts=facts)


def _field_removed(writer: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
    at = place.at_field(None, writer, writer.oneof_name)
    if writer.oneof is None:
        is_required = writer.node.label is Label.REQUIRED
        rule = rules.REQUIRED_FIELD_REMOVED if is_required else rules.FIELD_REMOVED
        yield found_at(at, rule, facts=_facts(writer))
    elif place.reader is not None and not is_oneof_gone(writer, place.reader):
        yield oneof_field_removed(writer, at)


def _constants(reader: EnumType, writer: EnumType, place: MessagePair) -> Iterator[ProtobufDifference]:
    mine, theirs = reader.name_by_number, writer.name_by_number
    for number in sorted(mine.keys() | theirs.keys()):
        new, old = mine.get(number), theirs.get(number)
        if new == old:
            continue
        changed = rules.ENUM_CONST_CHANGED if new and old else rules.ENUM_CONST_ADDED
        rule = rules.ENUM_CONST_REMOVED if new is None else changed
        facts = {"enum": reader.local_name, "number": number, "name": new or old, "reader": new, "writer": old}
        at = place.at(reader.node.name, str(number))
        in_reader = (*reader.pointer, new) if new else reader.pointer
        in_writer = (*writer.pointer, old) if old else writer.pointer
        pointers = place.pointers_to(in_reader, in_writer)
        yield found_at(at, rule, facts=facts, gist="{name} = {number}", pointers=pointers)
