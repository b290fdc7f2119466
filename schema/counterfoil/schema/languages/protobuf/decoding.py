"""The bytes of Protobuf messages one by one, and what another schema makes of them by Google's runtime.

Values are JSON as ``counterfoil decode`` writes them: fields have the names of the ``.proto`` file, enums are symbols,
64-bit integers are numbers, bytes are base64. Fields that the schema does not have are listed by number and wire type,
and are no part of the value.

Source: the Protocol Buffers encoding guide.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from google.protobuf.message import DecodeError

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.byte_walk import (
    MASKED,
    ByteWalk,
    ReadValue,
    ValueTree,
    WalkedBytes,
    named,
    path_text,
    shown_boolean,
    shown_bytes,
    shown_real,
    shown_text,
    text_of,
)
from counterfoil.schema.languages.protobuf.messages import (
    RuntimeRefuses,
    losses,
    plain_json,
    quote,
    runtime_name,
    runtime_of,
)
from counterfoil.schema.languages.protobuf.runtime import AnyField, AnyMessage, PoolRefuses, is_map, pooled_file
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import (
    ENTRY_KEY,
    ENTRY_VALUE,
    UNPACKABLE,
    FieldValueType,
    MessageType,
    NumberedField,
)
from counterfoil.schema.paths import VALUES, Step, member, value
from counterfoil.schema.texts import excerpt

_VARINT, _FIXED64, _DELIMITED, _START, _END, _FIXED32 = range(6)
_WORDS_BY_WIRE: Final = {
    _VARINT: "varint",
    _FIXED64: "64 bits",
    _DELIMITED: "length-delimited",
    _START: "start of a group",
    _END: "end of a group",
    _FIXED32: "32 bits",
}
_TAG_BITS: Final = 32
_FIXED: Final = {
    "double": struct.Struct("<d"),
    "float": struct.Struct("<f"),
    "fixed64": struct.Struct("<Q"),
    "sfixed64": struct.Struct("<q"),
    "fixed32": struct.Struct("<I"),
    "sfixed32": struct.Struct("<i"),
}
_WIRE_BY_SCALAR: Final[Mapping[str, int]] = {
    **dict.fromkeys(("double", "fixed64", "sfixed64"), _FIXED64),
    **dict.fromkeys(("float", "fixed32", "sfixed32"), _FIXED32),
    **dict.fromkeys(UNPACKABLE, _DELIMITED),
}
_BITS_OF_INT32: Final = 32
_LONGEST_WORDS: Final = 200
_MOST_MISSING: Final = 100
"""The number of required fields that are not there and are remembered."""


def decode_body(schema: ProtobufSchema, walk: ByteWalk, indexes: Sequence[int]) -> ValueTree:
    """Return the message at ``indexes``; raise ``DecodingStopped`` where the bytes are none."""
    message = message_at(schema, indexes)
    if message is None:
        walk.stop(f"The schema has no message with the indexes {[*indexes]}", "the indexes of a message of the schema")
    return _ProtobufDecoder(schema, walk).whole(message)


def message_at(schema: ProtobufSchema, indexes: Sequence[int]) -> MessageType | None:
    """Return the message type at a path of indexes from the file inwards; None if there is none."""
    first, *inner = indexes
    messages = [*schema.types.root.messages.values()]
    if not 0 <= first < len(messages):
        return None
    found = messages[first]
    if not inner:
        return found
    try:
        descriptor = pooled_file(schema, schema.text).message_types_by_name[found.local_name]
        for index in inner:
            descriptor = descriptor.nested_types[index]
    except (PoolRefuses, IndexError, KeyError):
        return None
    prefix = schema.types.root.file.package_prefix
    return schema.types.root.message_by_local_name(descriptor.full_name.removeprefix(prefix))


@dataclass(frozen=True, slots=True)
class _Tag:
    """The tag of a field: its number, its wire type, and where it begins."""

    number: int
    wire: int
    first: int


@dataclass(slots=True)
class _MessageSoFar:
    """A message whose end has not been read: its fields as a tree, and the number of items of each repeated field."""

    type: MessageType | None
    tree: dict[str, ValueTree]
    counts: dict[int, int] = field(default_factory=dict)

    def next_item(self, number: int) -> int:
        """Return the number of the next item of a repeated field."""
        index = self.counts.get(number, 0)
        self.counts[number] = index + 1
        return index


class _ProtobufDecoder:
    """Reads messages of one schema from one walk."""

    def __init__(self, schema: ProtobufSchema, walk: ByteWalk) -> None:
        self._schema = schema
        self._walk = walk
        self._required: dict[int, frozenset[int]] = {}
        self._missing: dict[tuple[tuple[Step | int, ...], int], str] = {}

    def whole(self, message: MessageType) -> ValueTree:
        """Return the message that takes all bytes."""
        walk = self._walk
        masks = walk.enter(None, message.full_name)
        walk.begin(_words(f"message {message.local_name}"))
        tree: dict[str, ValueTree] = {}
        self._fields(_MessageSoFar(message, tree))
        walk.finish()
        for (path, _), name in self._missing.items():
            walk.path[:] = path
            walk.note(f"The required field {name} is not there", f"the required field {name}")
        walk.path.clear()
        return walk.leave(None, message.full_name, walk.built(tree), masks=masks)

    # Messages and their fields.

    def _fields(self, so_far: _MessageSoFar, group: int | None = None) -> None:
        """Add the fields until the end of the walk, or the end of the group with this number."""
        walk, message = self._walk, so_far.type
        missing = set(self._required_of(message)) if message is not None else set()
        while walk.left:
            tag = self._tag()
            if tag.wire == _END:
                if tag.number != group:
                    expected = "a field" if group is None else f"a field, or the end of group {group}"
                    walk.stop(f"The end of group {tag.number}, which did not begin", expected, offset=tag.first)
                walk.leaf(tag.first, "end of a group", tag.number, str)
                break
            missing.discard(tag.number)
            known = self._field_of(message, tag.number)
            if known is None or not self._known(so_far, known, tag):
                self._unknown(tag)
        else:
            if group is not None:
                walk.stop(f"The data ends inside group {group}", f"the end of group {group}")
        if message is not None:
            self._note_missing(message, missing)

    def _required_of(self, message: MessageType) -> frozenset[int]:
        known = self._required.get(id(message))
        if known is None:
            numbers = frozenset(number for number, each in message.fields.items() if each.is_required)
            known = self._required[id(message)] = numbers
        return known

    def _note_missing(self, message: MessageType, missing: set[int]) -> None:
        """Remember required fields that are not there; a later part of the same message may have them."""
        path = tuple(self._walk.path)
        for number in self._required_of(message):
            if number not in missing:
                self._missing.pop((path, number), None)
            elif len(self._missing) < _MOST_MISSING:
                self._missing[path, number] = message.fields[number].name

    def _field_of(self, message: MessageType | None, number: int) -> NumberedField | None:
        if message is None:
            return None
        return message.fields.get(number) or self._extensions.get((message.full_name, number))

    @cached_property
    def _extensions(self) -> Mapping[tuple[str, int], NumberedField]:
        return {(name, each.number): each for name, each in self._schema.types.root.extensions()}

    def _tag(self) -> _Tag:
        walk, first = self._walk, self._walk.offset
        raw = walk.varint("the tag of a field: its number and its wire type", bits=_TAG_BITS)
        number, wire = raw >> 3, raw & 7
        if number == 0:
            walk.stop("A field with the number 0", "the number of a field, 1 or more", offset=first)
        if wire not in _WORDS_BY_WIRE:
            walk.stop(f"There is no wire type {wire}", "a wire type from 0 to 5", offset=first)
        return _Tag(number, wire, first)

    def _varint(self, expected: str) -> int:
        """Return the next number; decoders of Protobuf ignore the bits beyond 64."""
        return self._walk.varint(expected, wraps=True)

    def _known(self, so_far: _MessageSoFar, known: NumberedField, tag: _Tag) -> bool:
        """Read a field of the schema; return False if its wire type is another one than the schema's."""
        expected = _wire_of(known)
        is_packed = tag.wire == _DELIMITED and known.is_repeated and expected not in (_DELIMITED, _START)
        if tag.wire != expected and not is_packed:
            return False
        walk, step, tree = self._walk, member(_name_of(known)), so_far.tree
        full_name = f"{known.scope}.{known.name}"
        masks = walk.enter(step, full_name)
        for each in known.oneof.fields if known.oneof is not None else ():
            if each.number != known.number:
                tree.pop(each.name, None)
        before = tree.get(step.name)
        if is_packed:
            found = self._packed(so_far, known, tag, before)
        elif known.holds.is_map:
            found = self._entry(known, tag, before)
        elif known.is_repeated:
            found = self._item(so_far, known, tag, before)
        else:
            found = self._value(known, known.holds, tag, before)
        tree[step.name] = walk.leave(step, full_name, found, masks=masks)
        return True

    # Repeated fields and maps.

    def _item(self, so_far: _MessageSoFar, known: NumberedField, tag: _Tag, before: ValueTree | None) -> ValueTree:
        items = before if isinstance(before, list) else []
        self._walk.path.append(so_far.next_item(known.number))
        items.append(self._value(known, known.holds, tag, None))
        self._walk.path.pop()
        return self._walk.built(items)

    def _packed(self, so_far: _MessageSoFar, known: NumberedField, tag: _Tag, before: ValueTree | None) -> ValueTree:
        walk = self._walk
        items = before if isinstance(before, list) else []
        end = self._begin(tag, f"packed {_words(known.holds.words)}")
        scalar = _Tag(tag.number, _wire_of(known), walk.offset)
        while walk.left:
            walk.path.append(so_far.next_item(known.number))
            items.append(self._scalar(known, known.holds, scalar, walk.offset))
            walk.path.pop()
        self._finish(end)
        return walk.built(items)

    def _entry(self, known: NumberedField, tag: _Tag, before: ValueTree | None) -> ValueTree:
        """Read one entry of a map: a message with a key and a value."""
        walk, holds = self._walk, known.holds
        entries = before if isinstance(before, dict) else {}
        end = self._begin(tag, f"entry of {_words(holds.words)}")
        parts: dict[int, ValueTree] = {}
        walk.path.append(VALUES)
        while walk.left:
            inner = self._tag()
            type_of_part = (
                holds.key if inner.number == ENTRY_KEY else holds.value if inner.number == ENTRY_VALUE else None
            )
            if type_of_part is None or inner.wire != _wire_of_value(type_of_part):
                self._unknown(inner)
                continue
            part = "key" if inner.number == ENTRY_KEY else "value"
            parts[inner.number] = self._value(known, type_of_part, inner, parts.get(inner.number), part=part)
            if inner.number == ENTRY_KEY and not walk.is_masked:
                walk.path[-1] = named(value, _key_text(parts[ENTRY_KEY]))
        walk.path.pop()
        self._finish(end)
        key = _key_text(parts.get(ENTRY_KEY, _unset(holds.key)))
        entries[key] = parts.get(ENTRY_VALUE, _unset(holds.value))
        return walk.built(entries)

    # Single values.

    def _value(
        self, known: NumberedField, holds: FieldValueType, tag: _Tag, before: ValueTree | None, *, part: str = ""
    ) -> ValueTree:
        """Read a value whose tag has been read; a message is merged into the one ``before``."""
        if holds.message is None or holds.is_map:
            return self._scalar(known, holds, tag, tag.first, part=part)
        walk, message = self._walk, holds.message
        tree = before if isinstance(before, dict) else {}
        masks = walk.enter(None, message.full_name)
        words = _words(f"message {message.local_name}")
        if tag.wire == _START:
            walk.leaf(tag.first, f"start of a group, field {tag.number}", tag.number, str)
            walk.begin(words)
            self._fields(_MessageSoFar(message, tree), tag.number)
            walk.finish()
        else:
            end = self._begin(tag, words)
            self._fields(_MessageSoFar(message, tree))
            self._finish(end)
        return walk.leave(None, message.full_name, walk.built(tree), masks=masks)

    def _begin(self, tag: _Tag, words: str) -> int:
        """Read the length of a value with parts, and let the walk end with it; return where the walk ended before."""
        walk = self._walk
        size = self._varint("a length in bytes")
        if size > walk.left:
            message = f"The data ends early: {size} bytes are announced and {walk.left} are left"
            walk.stop(message, "a length within the data", offset=tag.first)
        walk.leaf(tag.first, f"field {tag.number}, length in bytes", size, str)
        walk.begin(words)
        end, walk.end = walk.end, walk.offset + size
        return end

    def _finish(self, end: int) -> None:
        self._walk.finish()
        self._walk.end = end

    def _scalar(
        self, known: NumberedField, holds: FieldValueType, tag: _Tag, first: int, *, part: str = ""
    ) -> ValueTree:
        words = f"{part or f'field {tag.number}'}, {_words(holds.words)}"
        read, show = self._read(known, holds, tag)
        return self._walk.leaf(first, words, read, show)

    def _read(self, known: NumberedField, holds: FieldValueType, tag: _Tag) -> tuple[Datum, Callable[[Datum], str]]:
        """Return a scalar and the function that shows it."""
        walk, scalar = self._walk, holds.scalar or ""
        if scalar in _FIXED:
            form = _FIXED[scalar]
            (number,) = form.unpack(walk.take(form.size, f"the {form.size} bytes of a {scalar}"))
            return number, shown_real if scalar in ("double", "float") else str
        if tag.wire == _DELIMITED:
            return self._read_text(known, scalar)
        raw = self._varint(f"a number ({scalar or holds.words})")
        if holds.enum is not None:
            return _signed(raw, _BITS_OF_INT32), _EnumNames(holds.enum.name_by_number).show
        if scalar == "bool":
            return raw != 0, shown_boolean
        return _number(raw, scalar), str

    def _read_text(self, known: NumberedField, scalar: str) -> tuple[Datum, Callable[[Datum], str]]:
        walk = self._walk
        size = self._varint(f"the length of {scalar} in bytes")
        if scalar == "string" and known.features.checks_utf8:
            return walk.text(size, "the text announced"), shown_text
        raw = walk.take(size, f"the {scalar} announced")
        if scalar == "string":
            try:
                return raw.decode(), shown_text
            except UnicodeDecodeError:  # the first version of the language does not check
                return raw, shown_bytes
        return raw, shown_bytes

    # Fields that the schema does not have.

    def _unknown(self, tag: _Tag) -> None:
        """Read a field by its wire type alone."""
        walk = self._walk
        walk.unknown += 1
        walk.path.append(member(str(tag.number)))
        words = f"unknown field {tag.number}, {_WORDS_BY_WIRE[tag.wire]}"
        match tag.wire:
            case 0:
                walk.leaf(tag.first, words, self._varint("a number"), str)
            case 1 | 5:
                size = 8 if tag.wire == _FIXED64 else 4
                walk.leaf(tag.first, words, walk.take(size, f"{size} bytes"), shown_bytes)
            case 2:
                raw = walk.take(self._varint("a length in bytes"), "the bytes announced")
                walk.leaf(tag.first, words, raw, shown_bytes)
            case _:
                walk.leaf(tag.first, words, tag.number, str)
                walk.begin(f"unknown group {tag.number}")
                self._fields(_MessageSoFar(None, {}), tag.number)
                walk.finish()
        walk.path.pop()


@dataclass(frozen=True, slots=True)
class _EnumNames:
    """The symbols of an enum by number; a number without one is shown as it is."""

    names: Mapping[int, str]

    def show(self, number: int) -> str:
        """Return a number's symbol as JSON."""
        return shown_text(self.names[number]) if number in self.names else str(number)


def _words(text: str) -> str:
    return excerpt(text, _LONGEST_WORDS)


def _name_of(known: NumberedField) -> str:
    """Return the name of a field in values; of an extension the full name in brackets, as in Protobuf's JSON."""
    return f"[{known.scope}.{known.name}]".replace("[.", "[") if known.is_extension else known.name


def _wire_of(known: NumberedField) -> int:
    return _START if known.is_delimited else _wire_of_value(known.holds)


def _wire_of_value(holds: FieldValueType) -> int:
    if holds.message is not None or holds.is_map:
        return _DELIMITED
    return _WIRE_BY_SCALAR.get(holds.scalar or "", _VARINT)


def _number(raw: int, scalar: str) -> int:
    bits = _BITS_OF_INT32 if scalar.endswith("32") else 64
    raw &= (1 << bits) - 1
    if scalar.startswith("sint"):
        return (raw >> 1) ^ -(raw & 1)
    return raw if scalar.startswith("uint") else _signed(raw, bits)


def _signed(raw: int, bits: int) -> int:
    raw &= (1 << bits) - 1
    return raw - (1 << bits) if raw >> (bits - 1) else raw


def _key_text(tree: ValueTree) -> str:
    """Return the key of a map as a key of JSON."""
    if not isinstance(tree, str) or not tree:
        return ""
    return str(json.loads(tree)) if tree.startswith('"') else tree


def _unset(holds: FieldValueType | None) -> ValueTree:
    """Return the value of a part of a map's entry that is not there."""
    if holds is None or holds.message is not None:
        return {}
    if holds.enum is not None:
        return shown_text(holds.enum.first_name or "")
    if holds.scalar in UNPACKABLE:
        return '""'
    return {"bool": "false", "double": "0.0", "float": "0.0"}.get(holds.scalar or "", "0")


# What a reader with another schema makes of the same bytes: Google's runtime parses them.


def read_as(reader: ProtobufSchema, writer: ProtobufSchema, walked: WalkedBytes) -> ReadValue:
    """Return what Google's runtime makes of a body of ``writer`` for ``reader``: the message of the same name.

    Without such a message, it is the first one of the reader's file.
    """
    body, hidden = walked.body, walked.hidden
    wrote = message_at(writer, walked.indexes)
    mine = reader.types.root
    expects = (wrote and mine.message_by_local_name(wrote.local_name)) or next(iter(mine.messages.values()), None)
    if wrote is None or expects is None:
        return ReadValue(fault="the reader's schema has no message")
    try:
        written, read = (
            runtime_of(schema).new(message.full_name) for schema, message in ((writer, wrote), (reader, expects))
        )
        read.ParseFromString(body)
        written.ParseFromString(body)
    except RuntimeRefuses as refused:
        return ReadValue(fault=str(refused))
    except (DecodeError, UnicodeDecodeError) as failure:
        return ReadValue(fault=f"{runtime_name()} says: {quote(failure)}")
    absent = read.FindInitializationErrors()
    if absent:
        return ReadValue(fault=f"the required field {absent[0]} is not there", path=absent[0])
    lost = next(iter(losses(written, read)), None)
    fault, path = ("", "") if lost is None else (lost.text, _path_of(wrote, lost.numbers))
    if hidden.is_all:
        return ReadValue(text_of(MASKED), "" if lost is None else "a value is not read as it was written", path)
    is_hidden = _withhold(read, wrote, hidden.names)
    if is_hidden and lost is not None:
        fault = "a value is not read as it was written"
    return ReadValue(plain_json(read), fault, path)


def _path_of(message: MessageType, numbers: Sequence[int]) -> str:
    """Return the path of the writer's field at the end of field numbers."""
    steps: list[Step] = []
    inside: MessageType | None = message
    for number in numbers:
        found = None if inside is None else inside.fields.get(number)
        steps.append(member(str(number) if found is None else found.name))
        inside = None if found is None else found.holds.message
    return path_text(tuple(steps))


def _withhold(read: AnyMessage, wrote: MessageType | None, hidden: frozenset[str]) -> bool:
    """Remove the fields that are withheld on either side from a message; return whether there was one."""
    removed = False
    for known, held in read.ListFields():
        theirs = None if wrote is None else wrote.fields.get(known.number)
        names = {known.full_name, *([f"{theirs.scope}.{theirs.name}"] if theirs is not None else [])}
        inner = known.message_type
        if inner is not None:
            names.add(inner.full_name)
        if names & hidden:
            read.ClearField(known.name)
            removed = True
        elif inner is not None:
            message = None if theirs is None else _message_in(theirs)
            for each in _messages_in(known, held):
                removed = _withhold(each, message, hidden) or removed
    return removed


def _message_in(known: NumberedField) -> MessageType | None:
    holds = known.holds
    return holds.value.message if holds.value is not None else holds.message


def _messages_in(known: AnyField, held: Datum) -> Iterable[AnyMessage]:
    """Return the messages that a field has, or the values of its map that are messages."""
    if is_map(known):
        return held.values() if known.message_type.fields_by_name["value"].message_type is not None else ()
    return held if known.is_repeated else (held,)
