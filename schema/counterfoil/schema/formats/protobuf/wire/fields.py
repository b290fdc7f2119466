"""Comparison of fields of one number by the rules of ``buf breaking``: type, cardinality, oneof, default and names.

Source: the results of ``buf breaking`` 1.75.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.compare.findings import found_at
from counterfoil.schema.formats.protobuf.compare.values import default_of
from counterfoil.schema.formats.protobuf.read.naming import json_name_of, map_entry_name
from counterfoil.schema.formats.protobuf.wire import rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.protobuf.compare.findings import MessagePair, ProtobufDifference
    from counterfoil.schema.formats.protobuf.types.enums import EnumType
    from counterfoil.schema.formats.protobuf.types.index import FieldType, Held

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


def field_differences(reader: FieldType, writer: FieldType, place: MessagePair) -> Iterator[ProtobufDifference]:
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


def json_name(field: FieldType) -> str:
    """Return the name that the field has in JSON."""
    written = field.option("json_name")
    return json_name_of(field.name) if written is None else written


def entry_name(field: FieldType) -> str:
    """Return the full name that the message of a map's entries has in a descriptor."""
    return f"{field.scope}.{map_entry_name(field.name)}"


def _names(reader: FieldType, writer: FieldType, place: MessagePair) -> Iterator[ProtobufDifference]:
    if _full_name(reader) != _full_name(writer):
        yield _found(rules.FIELD_SAME_NAME, place, reader=_full_name(reader), writer=_full_name(writer))
    if not reader.is_extension and json_name(reader) != json_name(writer):
        names = {"reader": json_name(reader), "writer": json_name(writer)}
        yield _found(rules.FIELD_SAME_JSON_NAME, place, **names, option="json_name")


def _full_name(field: FieldType) -> str:
    """Return the name inside a message; of an extension, the full name."""
    return ".".join(filter(None, [field.scope, field.name])) if field.is_extension else field.name


def _types(reader: FieldType, writer: FieldType, place: MessagePair) -> Iterator[ProtobufDifference]:
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


def _is_readable(reader: Held, writer: Held, names: tuple[str, str], *, is_json: bool) -> bool:
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


def _type_name(held: Held) -> str:
    return held.message.full_name if held.message else held.name.removeprefix(".")


def _cardinalities(reader: FieldType, writer: FieldType, place: MessagePair) -> Iterator[ProtobufDifference]:
    mine, theirs = _cardinality(reader), _cardinality(writer)
    facts = {"reader": mine, "writer": theirs}
    if mine != theirs:
        yield _found(rules.FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY, place, **facts)
    if mine.replace("as a map", "repeated") != theirs.replace("as a map", "repeated"):
        yield _found(rules.FIELD_WIRE_COMPATIBLE_CARDINALITY, place, **facts)


def _cardinality(field: FieldType) -> str:
    if field.is_repeated:
        return "as a map" if field.holds.is_map else "repeated"
    return "required" if field.is_required else "singular"


def _have_other_defaults(reader: FieldType, writer: FieldType) -> bool:
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
