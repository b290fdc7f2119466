"""The policies WIRE and WIRE_JSON: the results of ``buf breaking`` in its categories of these names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from counterfoil.schema.compatibility import Steps
from counterfoil.schema.compatibility.findings import CompatibilityRule, Sentence
from counterfoil.schema.languages.protobuf.compare import rules
from counterfoil.schema.languages.protobuf.compare.findings import ROOT, MessagePair, ProtobufDifference, found_at
from counterfoil.schema.languages.protobuf.compare.sound import message_set_differences
from counterfoil.schema.languages.protobuf.read.symbols import (
    PACKAGE_POINTER,
    EnumType,
    option_pointer,
    reserved_pointer,
)
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    Label,
    ProtoField,
    ProtoMapType,
    ProtoMessage,
    ProtoRange,
    Reserved,
    Rpc,
    ScalarLiteral,
    json_name_of,
    map_entry_name,
)
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import (
    ENTRY_KEY,
    ENTRY_VALUE,
    FieldValueType,
    FileTypes,
    MessageType,
    NumberedField,
    Uses,
    default_of,
)
from counterfoil.schema.texts import Pointer

# Comparison of fields of one number by the rules of ``buf breaking``: type, cardinality, oneof, default and names.
#
# Source: the results of ``buf breaking`` 1.75.

_WIRE_GROUPS: Final = (
    frozenset({"int32", "int64", "uint32", "uint64", "bool"}),
    frozenset({"sint32", "sint64"}),
    frozenset({"fixed32", "sfixed32"}),
    frozenset({"fixed64", "sfixed64"}),
)
_JSON_GROUPS: Final = (
    frozenset({"int32", "uint32"}),
    frozenset({"int64", "uint64"}),
    frozenset({"fixed32", "sfixed32"}),
    frozenset({"fixed64", "sfixed64"}),
)


def field_differences(reader: NumberedField, writer: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
    """Yield the differences of two fields of one number, for both categories."""
    yield from _names(reader, writer, place)
    yield from _types(reader, writer, place)
    yield from _cardinalities(reader, writer, place)
    if reader.oneof_name != writer.oneof_name:
        mine, theirs = (f"oneof {name}" if name else "no oneof" for name in (reader.oneof_name, writer.oneof_name))
        yield _found(rules.FIELD_SAME_ONEOF, place, reader=mine, writer=theirs)
    if _have_other_defaults(reader, writer):
        mine, theirs = str(default_of(reader)), str(default_of(writer))
        yield _found(rules.FIELD_SAME_DEFAULT, place, reader=mine, writer=theirs, option="default")


def json_name(field: NumberedField) -> str:
    """Return the name that the field has in JSON."""
    written = field.option("json_name")
    return json_name_of(field.name) if written is None else written


def entry_name(field: NumberedField) -> str:
    """Return the full name that the message of a map's entries has in a descriptor."""
    return f"{field.scope}.{map_entry_name(field.name)}"


def _names(reader: NumberedField, writer: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
    if _full_name(reader) != _full_name(writer):
        yield _found(rules.FIELD_SAME_NAME, place, reader=_full_name(reader), writer=_full_name(writer))
    if not reader.is_extension and json_name(reader) != json_name(writer):
        names = {"reader": json_name(reader), "writer": json_name(writer)}
        yield _found(rules.FIELD_SAME_JSON_NAME, place, **names, option="json_name")


def _full_name(field: NumberedField) -> str:
    """Return the name inside a message; of an extension, the full name."""
    return ".".join(filter(None, [field.scope, field.name])) if field.is_extension else field.name


def _types(reader: NumberedField, writer: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
    mine, theirs = reader.holds, writer.holds
    if reader.is_delimited != writer.is_delimited and mine.message and theirs.message:
        words = ("a group", "a message")
        facts = {"reader": words[not reader.is_delimited], "writer": words[not writer.is_delimited]}
        yield _found(rules.FIELD_WIRE_COMPATIBLE_TYPE, place, **facts)
        yield _found(rules.FIELD_WIRE_JSON_COMPATIBLE_TYPE, place, **facts)
        return
    names = tuple(entry_name(field) if field.node.map else _type_name(field.holds) for field in (reader, writer))
    for rule, is_json in ((rules.FIELD_WIRE_COMPATIBLE_TYPE, False), (rules.FIELD_WIRE_JSON_COMPATIBLE_TYPE, True)):
        if not _is_readable(mine, theirs, (names[0], names[1]), is_json=is_json):
            yield _found(rule, place, reader=mine.words, writer=theirs.words)


def _is_readable(reader: FieldValueType, writer: FieldValueType, names: tuple[str, str], *, is_json: bool) -> bool:
    if reader.scalar and writer.scalar:
        if not is_json and (writer.scalar, reader.scalar) == ("string", "bytes"):
            return True
        groups = _JSON_GROUPS if is_json else _WIRE_GROUPS
        one = reader.scalar == writer.scalar
        return one or any({reader.scalar, writer.scalar} <= group for group in groups)
    if reader.enum and writer.enum:
        return reader.enum.full_name == writer.enum.full_name or _is_moved(reader.enum, writer.enum)
    return not (reader.scalar or writer.scalar or reader.enum or writer.enum) and names[0] == names[1]


def _is_moved(reader: EnumType, writer: EnumType) -> bool:
    """Return whether the reader's enum has the name without scope of the writer's, and all of its constants."""
    known = {(constant.name, constant.number) for constant in reader.node.constants}
    theirs = {(constant.name, constant.number) for constant in writer.node.constants}
    return reader.node.name == writer.node.name and theirs <= known


def _type_name(held: FieldValueType) -> str:
    return held.message.full_name if held.message else held.name.removeprefix(".")


def _cardinalities(reader: NumberedField, writer: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
    mine, theirs = _cardinality(reader), _cardinality(writer)
    facts = {"reader": mine, "writer": theirs}
    if mine != theirs:
        yield _found(rules.FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY, place, **facts)
    if mine.replace("as a map", "repeated") != theirs.replace("as a map", "repeated"):
        yield _found(rules.FIELD_WIRE_COMPATIBLE_CARDINALITY, place, **facts)


def _cardinality(field: NumberedField) -> str:
    if field.is_repeated:
        return "as a map" if field.holds.is_map else "repeated"
    return "required" if field.is_required else "singular"


def _have_other_defaults(reader: NumberedField, writer: NumberedField) -> bool:
    for field in (reader, writer):
        if field.is_repeated or not (field.holds.scalar or field.holds.enum):
            return False
    mine, theirs = default_of(reader), default_of(writer)
    return mine != theirs and bool(mine or theirs)


def _found(
    rule: CompatibilityRule, place: MessagePair, *, reader: str, writer: str, option: str = ""
) -> ProtobufDifference:
    """Return the finding about the two fields of ``place``, at their option ``option`` if given."""
    field = place.reader_field or place.writer_field
    facts = {"name": field.name if field else "", "tag": field.number if field else ""}
    pointers = place.option_pointers(option) if option else None
    said = {**facts, "reader": reader, "writer": writer}
    return found_at(place, rule, facts=said, gist="{writer} to {reader}", pointers=pointers)


# Numbers and names that a message or enum reserves.


def reserved_ranges(statements: Iterable[Reserved]) -> list[range]:
    """Return the reserved numbers, one range for each written number or range."""
    values = [value for statement in statements for value in statement.values if not isinstance(value, str)]
    return [
        range(value.start, value.end + 1) if isinstance(value, ProtoRange) else range(value, value + 1)
        for value in values
    ]


def reserved_names(statements: Iterable[Reserved]) -> list[str]:
    """Return the reserved names."""
    return [value for statement in statements for value in statement.values if isinstance(value, str)]


def no_longer_reserved(reader: Sequence[Reserved], writer: Sequence[Reserved]) -> list[str]:
    """Return the numbers and names that only the writer reserves, as texts: ``5``, ``5 to 9``, ``"name"``."""
    known = _joined(reserved_ranges(reader))
    starts = [each.start for each in known]
    ranges = [_words(each) for each in reserved_ranges(writer) if not _is_covered(each, known, starts)]
    names = set(reserved_names(reader))
    return ranges + [f'"{name}"' for name in reserved_names(writer) if name not in names]


def _joined(ranges: Iterable[range]) -> list[range]:
    """Return the ranges merged into the fewest, in ascending order."""
    joined: list[range] = []
    for each in sorted(ranges, key=lambda each: each.start):
        if joined and each.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, each.stop))
        else:
            joined.append(each)
    return joined


def _is_covered(wanted: range, known: Sequence[range], starts: Sequence[int]) -> bool:
    """Return whether one of ``known``, which are merged and in order, holds every number of ``wanted``."""
    index = bisect_right(starts, wanted.start) - 1
    return index >= 0 and wanted.stop <= known[index].stop


def _words(numbers: range) -> str:
    return str(numbers.start) if len(numbers) == 1 else f"{numbers.start} to {numbers.stop - 1}"


# Comparison of methods by the rules of ``buf breaking``: request, response, streaming and idempotency level.
#
# Source: the results of ``buf breaking`` 1.75.

_UNKNOWN: Final = "IDEMPOTENCY_UNKNOWN"


def rpc_differences(reader: Iterable[FileTypes], writer: Iterable[FileTypes]) -> Iterator[ProtobufDifference]:
    """Yield the differences of the methods that both sides have, matched by the service's full name and their own."""
    mine = {name: (rpc, types) for name, rpc, types in _methods(reader)}
    for name, rpc, types in _methods(writer):
        if name in mine:
            yield from _method(name, mine[name], (rpc, types))


def _methods(files: Iterable[FileTypes]) -> Iterator[tuple[str, Rpc, FileTypes]]:
    for types in files:
        for service in types.file.services:
            for rpc in service.rpcs:
                yield f"{types.file.package_prefix}{service.name}.{rpc.name}", rpc, types


def _method(name: str, reader: tuple[Rpc, FileTypes], writer: tuple[Rpc, FileTypes]) -> Iterator[ProtobufDifference]:
    place = MessagePair(tuple(name.split(".")))
    mine, theirs = reader[0], writer[0]
    compared = (
        (rules.RPC_SAME_REQUEST_TYPE, _type(mine.request, reader[1]), _type(theirs.request, writer[1])),
        (rules.RPC_SAME_RESPONSE_TYPE, _type(mine.response, reader[1]), _type(theirs.response, writer[1])),
        (rules.RPC_SAME_CLIENT_STREAMING, _flow(mine.request_streaming), _flow(theirs.request_streaming)),
        (rules.RPC_SAME_SERVER_STREAMING, _flow(mine.response_streaming), _flow(theirs.response_streaming)),
        (rules.RPC_SAME_IDEMPOTENCY_LEVEL, _level(mine), _level(theirs)),
    )
    for rule, is_now, was in compared:
        if is_now != was:
            facts = {"name": name, "reader": is_now, "writer": was}
            option = "idempotency_level" if rule is rules.RPC_SAME_IDEMPOTENCY_LEVEL else ""
            pointers = (_pointer(*reader, option), _pointer(*writer, option))
            yield found_at(place, rule, facts=facts, gist="{writer} to {reader}", pointers=pointers)


def _pointer(rpc: Rpc, types: FileTypes, option: str) -> Pointer:
    """Return the pointer of the method or of its option ``option``; that of the import, if it is in another file."""
    pointer = types.index.uses.pointer_to_file(types.file) or rpc.pointer
    return option_pointer(pointer, option) if option else pointer


def _type(name: str, types: FileTypes) -> str:
    symbol = types.symbols.resolve(name, types.file.package) or types.index.find(name, types.file.package)
    return symbol.full_name if symbol else name.removeprefix(".")


def _flow(is_streaming: bool) -> str:  # noqa: FBT001 - the flag of the syntax tree, converted to words
    return "a stream" if is_streaming else "one message"


def _level(rpc: Rpc) -> str:
    for option in rpc.options:
        if option.name == "idempotency_level" and isinstance(option.value, ScalarLiteral):
            return option.value.text
    return _UNKNOWN


# The walk of the policies over files, messages, enums and services.
#
# Files are matched by their path (a schema's own file with the other's), messages, enums and services by their full
# names over the schema's file and those of its references, fields and constants by number, methods by name. A map is a
# repeated message with a name derived from the field's, as in a descriptor.
#
# Source: the results of ``buf breaking`` 1.75, which refuses files with message sets; those are compared here.

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


def _maps(message: MessageType) -> Iterator[NumberedField]:
    return (field for field in message.fields.values() if field.node.map is not None)


def _entry(field: NumberedField, message: MessageType) -> MessageType:
    """Return the message of a map's entries, as in a descriptor."""
    types = field.node.map or ProtoMapType("", "")
    key = ProtoField(None, types.key, "key", ENTRY_KEY, pointer=field.pointer)
    fields = (key, ProtoField(None, types.value, "value", ENTRY_VALUE, pointer=field.pointer))
    node = ProtoMessage(map_entry_name(field.name), fields=fields, all_fields=fields, pointer=field.pointer)
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


def _deleted(field: NumberedField, place: MessagePair) -> Iterator[ProtobufDifference]:
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
