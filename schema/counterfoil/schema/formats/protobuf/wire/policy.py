"""The policies WIRE and WIRE_JSON: the results of ``buf breaking`` in its categories of these names.

Files are matched by their path (a schema's own file with the other's), messages, enums and services by their full names
over the schema's file and those of its references, fields and constants by number, methods by name. A map is a repeated
message with a name derived from the field's, as in a descriptor.

Source: the results of ``buf breaking`` 1.75, which refuses files with message sets; those are compared here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.protobuf.compare.findings import ROOT, MessagePair, found_at
from counterfoil.schema.formats.protobuf.compare.sound import message_set_differences
from counterfoil.schema.formats.protobuf.read.ast import Field, Label, MapType, Message
from counterfoil.schema.formats.protobuf.read.naming import map_entry_name
from counterfoil.schema.formats.protobuf.read.places import PACKAGE_POINTER, reserved_pointer
from counterfoil.schema.formats.protobuf.types.index import ENTRY_KEY, ENTRY_VALUE, MessageType
from counterfoil.schema.formats.protobuf.wire import rules
from counterfoil.schema.formats.protobuf.wire.fields import entry_name, field_differences
from counterfoil.schema.formats.protobuf.wire.reserved import no_longer_reserved, reserved_names, reserved_ranges
from counterfoil.schema.formats.protobuf.wire.rpcs import rpc_differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.schema.formats.protobuf.compare.findings import ProtobufDifference
    from counterfoil.schema.formats.protobuf.read.ast import Reserved
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
    from counterfoil.schema.formats.protobuf.types.enums import EnumType
    from counterfoil.schema.formats.protobuf.types.index import FieldType, FileTypes, Uses
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.steps import Steps

_ALIAS_REMOVED: Final = replace(rules.ENUM_VALUE_SAME_NAME, is_of_change=True)
"""The rule where the name that is written, the first one, is there, and another one of the number is not."""


def walk_wire(reader: ProtobufSchema, writer: ProtobufSchema, steps: Steps) -> list[ProtobufDifference]:
    """Return every difference that breaks under WIRE, under WIRE_JSON, or under both; raise ``OutOfSteps``."""
    mine, theirs = _files(reader), _files(writer)
    found = [*_packages(mine, theirs)]
    messages = _by_full_name(mine), _by_full_name(theirs)
    for name, message in messages[1].items():
        steps.spend(1 + len(message.fields))
        if name in messages[0]:
            found += _message(messages[0][name], message)
    found += _extensions(mine, theirs)
    enums = _enums_by_full_name(mine), _enums_by_full_name(theirs)
    for name, enum in enums[1].items():
        steps.spend(1 + len(enum.enum.names_by_number))
        if name in enums[0]:
            found += _enum(enums[0][name], enum)
    return found + list(rpc_differences(mine.values(), theirs.values()))


def _files(schema: ProtobufSchema) -> dict[str, FileTypes]:
    """Return the schema's own file, and the files of its references, by path."""
    index = schema.types
    return {"": index.root} | {
        path: index.types_of(schema.imports[path]) for path in schema.references if path in schema.imports
    }


def _packages(reader: Mapping[str, FileTypes], writer: Mapping[str, FileTypes]) -> Iterator[ProtobufDifference]:
    for path, theirs in writer.items():
        mine = reader.get(path)
        if mine is not None and mine.file.package != theirs.file.package:
            said = {"reader": mine.file.package or "empty", "writer": theirs.file.package or "empty"}
            pointers = (_package_pointer(mine), _package_pointer(theirs))
            yield found_at(ROOT, rules.FILE_SAME_PACKAGE, facts=said, gist="{writer} to {reader}", pointers=pointers)


def _package_pointer(types: FileTypes) -> Pointer:
    return types.index.uses.pointer_to_file(types.file) or PACKAGE_POINTER


def _by_full_name(files: Mapping[str, FileTypes]) -> dict[str, MessageType]:
    found: dict[str, MessageType] = {}
    for types in files.values():
        for message in types.all_messages():
            found[message.full_name] = message
            found.update((entry_name(field), _entry(field, message)) for field in _maps(message))
    return found


def _maps(message: MessageType) -> Iterator[FieldType]:
    return (field for field in message.fields.values() if field.node.map is not None)


def _entry(field: FieldType, message: MessageType) -> MessageType:
    """Return the message of a map's entries, as in a descriptor."""
    types = field.node.map or MapType("", "")
    key = Field(None, types.key, "key", ENTRY_KEY, pointer=field.pointer)
    fields = (key, Field(None, types.value, "value", ENTRY_VALUE, pointer=field.pointer))
    node = Message(map_entry_name(field.name), fields=fields, all_fields=fields, pointer=field.pointer)
    local_name = f"{message.local_name}.{node.name}"
    return MessageType(node, message.file, entry_name(field), local_name, message.features, message.types, message)


class _Sided(NamedTuple):
    """An enum, and the places at which its schema uses imported types."""

    enum: EnumType
    uses: Uses

    def pointer(self, constant: str = "") -> Pointer:
        """Return the pointer of the enum, or of a constant; for an imported enum, of the element that uses it."""
        pointer = self.uses.pointer_to(self.enum)
        return (*pointer, constant) if constant and self.uses.is_own(self.enum.file) else pointer


def _enums_by_full_name(files: Mapping[str, FileTypes]) -> dict[str, _Sided]:
    return {enum.full_name: _Sided(enum, types.index.uses) for types in files.values() for enum in types.all_enums()}


def _message(reader: MessageType, writer: MessageType) -> Iterator[ProtobufDifference]:
    place = MessagePair(reader.names, reader, writer)
    yield from message_set_differences(reader, writer, place)
    for number, theirs in writer.fields.items():
        mine = reader.fields.get(number)
        if mine is None:
            yield from _deleted(theirs, place)
        else:
            yield from field_differences(mine, theirs, place.at_field(mine, theirs, mine.oneof_name))
    yield from _required(reader, writer, place)
    name = {"name": reader.local_name}
    for what in no_longer_reserved(reader.node.reserved, writer.node.reserved):
        pointers = (place.reader_pointer, _reserved(writer.node.reserved, what, place.writer_pointer))
        facts = {**name, "what": what}
        yield found_at(place, rules.RESERVED_MESSAGE_NO_DELETE, facts=facts, gist="{what}", pointers=pointers)
    if writer.features.allows_json and not reader.features.allows_json:
        yield found_at(place, rules.MESSAGE_SAME_JSON_FORMAT, facts=name)


def _deleted(field: FieldType, place: MessagePair) -> Iterator[ProtobufDifference]:
    at = place.at_field(None, field, field.oneof_name)
    facts = {"name": field.name, "tag": field.number}
    kept = place.reader.node.reserved if place.reader else ()
    if not any(field.number in numbers for numbers in reserved_ranges(kept)):
        yield found_at(at, rules.FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED, facts=facts)
    if field.name not in reserved_names(kept):
        yield found_at(at, rules.FIELD_NO_DELETE_UNLESS_NAME_RESERVED, facts=facts)


def _required(reader: MessageType, writer: MessageType, place: MessagePair) -> Iterator[ProtobufDifference]:
    """Yield the fields that only one side requires, by the written label."""
    mine, theirs = (
        {number for number, field in side.fields.items() if field.node.label is Label.REQUIRED}
        for side in (reader, writer)
    )
    for number in sorted(mine ^ theirs):
        at = place.at_field(reader.fields.get(number), writer.fields.get(number), None)
        field = reader.fields.get(number) or writer.fields[number]
        facts = {"name": field.name, "tag": number, "side": Sentence("the reader" if number in mine else "the writer")}
        yield found_at(at, rules.MESSAGE_SAME_REQUIRED_FIELDS, facts=facts)


def _extensions(reader: Mapping[str, FileTypes], writer: Mapping[str, FileTypes]) -> Iterator[ProtobufDifference]:
    mine, theirs = (
        {(name, field.number): field for types in side.values() for name, field in types.extensions()}
        for side in (reader, writer)
    )
    for key, field in theirs.items():
        if key in mine:
            place = MessagePair((key[0], str(key[1])), reader_field=mine[key], writer_field=field)
            yield from field_differences(mine[key], field, place)


def _reserved(statements: Sequence[Reserved], what: str, pointer: Pointer) -> Pointer:
    """Return the pointer of the statement that reserves ``what`` in the message or enum at ``pointer``."""
    index = next(index for index, each in enumerate(statements) if what in no_longer_reserved((), (each,)))
    return reserved_pointer(pointer, index)


def _enum(reader: _Sided, writer: _Sided) -> Iterator[ProtobufDifference]:
    mine, theirs = reader.enum, writer.enum
    place = MessagePair(mine.names, enums=(mine, theirs))
    for number, names in theirs.names_by_number.items():
        yield from _constant(reader, writer, number, names, place.at(str(number)))
    name = {"name": mine.local_name}
    for what in no_longer_reserved(mine.node.reserved, theirs.node.reserved):
        facts = {**name, "what": what}
        pointers = (reader.pointer(), _reserved(theirs.node.reserved, what, writer.pointer()))
        yield found_at(place, rules.RESERVED_ENUM_NO_DELETE, facts=facts, gist="{what}", pointers=pointers)
    if theirs.allows_json and not mine.allows_json:
        pointers = (reader.pointer(), writer.pointer())
        yield found_at(place, rules.ENUM_SAME_JSON_FORMAT, facts=name, pointers=pointers)


def _constant(
    reader: _Sided, writer: _Sided, number: int, names: Sequence[str], place: MessagePair
) -> Iterator[ProtobufDifference]:
    """Yield the differences of one number of the writer's enum, which has ``names`` for it."""
    enum = reader.enum
    known = enum.names_by_number.get(number)
    listed = ", ".join(names)
    facts = {"enum": enum.local_name, "number": number, "name": listed}
    if known is not None:
        if not set(names) <= set(known):
            said = {**facts, "reader": ", ".join(known), "writer": listed}
            pointers = (reader.pointer(_other(known, names)), writer.pointer(_other(names, known)))
            rule = rules.ENUM_VALUE_SAME_NAME if names[0] not in known else _ALIAS_REMOVED
            yield found_at(place, rule, facts=said, pointers=pointers)
        return
    pointers = (reader.pointer(), writer.pointer(names[0]))
    reserved = enum.node.reserved
    if not any(number in numbers for numbers in reserved_ranges(reserved)):
        rule = rules.ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED
        yield found_at(place, rule, facts=facts, pointers=pointers)
    if not set(names) <= set(reserved_names(reserved)):
        rule = rules.ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED
        yield found_at(place, rule, facts=facts, pointers=pointers)


def _other(names: Sequence[str], others: Sequence[str]) -> str:
    """Return the first of ``names`` that is not among ``others``; the first one if all are."""
    return next((name for name in names if name not in others), names[0])
