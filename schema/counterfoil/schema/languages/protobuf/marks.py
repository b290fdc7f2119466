"""How tags mark the fields of Protobuf messages.

Confluent's clients know the tags of fields, and follow fields of messages, also repeated ones, in maps and in a
``oneof``. They ignore the tags of files, messages and enums, and the fields of well-known types, groups and extensions.
The tags of an option are read whatever pool declares it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, MessageClass, is_map, pooled_file
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.marks import FieldTags, Mark, TaggedPlace, WalkLimit
from counterfoil.schema.parsed import Validation

VALUE_PACKAGES: Final = ("google.protobuf.", "google.type.", "confluent.type.")
"""The packages of messages that stand for a value."""

_META: Final = """syntax = "proto3";
import "confluent/meta.proto";
message Options { confluent.Meta meta = 1088; }
"""

TYPE_BY_NUMBER: Final[Mapping[int, str]] = {
    FieldDescriptor.TYPE_STRING: "STRING",
    FieldDescriptor.TYPE_BYTES: "BYTES",
    FieldDescriptor.TYPE_ENUM: "ENUM",
    FieldDescriptor.TYPE_BOOL: "BOOLEAN",
    FieldDescriptor.TYPE_FLOAT: "FLOAT",
    FieldDescriptor.TYPE_DOUBLE: "DOUBLE",
    FieldDescriptor.TYPE_INT32: "INT",
    FieldDescriptor.TYPE_SINT32: "INT",
    FieldDescriptor.TYPE_UINT32: "INT",
    FieldDescriptor.TYPE_FIXED32: "INT",
    FieldDescriptor.TYPE_SFIXED32: "INT",
    FieldDescriptor.TYPE_INT64: "LONG",
    FieldDescriptor.TYPE_SINT64: "LONG",
    FieldDescriptor.TYPE_UINT64: "LONG",
    FieldDescriptor.TYPE_FIXED64: "LONG",
    FieldDescriptor.TYPE_SFIXED64: "LONG",
}
"""The types of scalars by the names of field rules."""


class ProtobufMarks:
    """Follows marks through the message types of a schema whose fields have ``tags``."""

    def __init__(self, tags: FieldTags) -> None:
        self._tags = tags

    def at_root(self, message: AnyDescriptor) -> Mark:
        """Return the mark of whole messages."""
        return self.of_message(message, Mark())

    def of_message(self, message: AnyDescriptor, mark: Mark) -> Mark:
        """Return the mark of messages of a type; ``mark`` is that of the place at which they are."""
        if is_value(message):
            return mark.beyond()
        inline = (*meta_of(message).tags, *meta_of(message.file).tags)
        return mark.joined(self._tags.of_type(message.full_name, inline))

    def inside(self, message: AnyDescriptor, mark: Mark) -> Mark:
        """Return what the marks of the fields of a message have in common; ``mark`` is that of the message."""
        if is_value(message):
            return mark
        return Mark(outer=mark.tags, is_beyond=mark.is_beyond)

    def of_field(self, field: AnyField, inside: Mark) -> Mark:
        """Return the mark of a field of a message whose fields have ``inside``; that of a value is the same."""
        if is_value(field.containing_type):
            return inside
        own = self._tags.of(field.full_name, meta_of(field).tags)
        is_beyond = inside.is_beyond or field.is_extension or field.type == FieldDescriptor.TYPE_GROUP
        enum = value_field(field).enum_type
        outer = inside.outer if enum is None else inside.outer.union(_enum_tags(enum))
        return Mark(field.full_name, field.name, own, outer, is_beyond)


def is_value(message: AnyDescriptor) -> bool:
    """Return whether a message stands for a value, as ``google.protobuf.StringValue`` does."""
    return bool(message.full_name.startswith(VALUE_PACKAGES))


def value_field(field: AnyField) -> AnyField:
    """Return the field itself, or the field with the values of a map."""
    return field.message_type.fields_by_name["value"] if is_map(field) else field


def meta_of(descriptor: Datum) -> Datum:
    """Return the option ``confluent.field_meta``, ``message_meta``, ``file_meta`` …, whatever pool declares it."""
    options = descriptor.GetOptions()
    return _options_class().FromString(options.SerializeToString()).meta


def extensions_of(message: AnyDescriptor) -> list[AnyField]:
    """Return the extensions of a message type that the files of its pool declare."""
    found: list[AnyField] = message.file.pool.FindAllExtensions(message)
    return found


def places(schema: ProtobufSchema, tags: FieldTags) -> Iterator[TaggedPlace]:
    """Yield the places of the scalar fields of all message types of a file's text, and of those that they use."""
    for message in _declared(pooled_file(schema, schema.text).message_types_by_name.values()):
        yield from places_of(message, tags)


def places_of(root: AnyDescriptor, tags: FieldTags) -> Iterator[TaggedPlace]:
    """Yield the places of the scalar fields of a message type, and of the types that it uses, with their marks.

    After very many steps the places end with one that has all tags of the fields that were found.
    """
    marks, steps, seen = ProtobufMarks(tags), WalkLimit(), set()
    waiting: list[tuple[AnyDescriptor, Mark]] = [(root, marks.at_root(root))]
    found: frozenset[str] = frozenset()
    while waiting:
        message, mark = waiting.pop()
        inside = marks.inside(message, mark)
        if (message.full_name, inside) in seen:
            continue
        seen.add((message.full_name, inside))
        fields = [*message.fields, *extensions_of(message)]
        for field in fields:
            of_field = marks.of_field(field, inside)
            found |= of_field.tags
            if not steps.take():
                yield TaggedPlace(Mark(outer=found, is_beyond=True), "COMBINED")
                return
            inner = value_field(field)
            if inner.message_type is None:
                yield TaggedPlace(of_field, TYPE_BY_NUMBER[inner.type])
            elif is_value(inner.message_type):
                yield TaggedPlace(of_field.beyond(), "RECORD", f"in {inner.message_type.full_name} of")
            else:
                waiting.append((inner.message_type, marks.of_message(inner.message_type, of_field)))


def places_in(message: AnyDescriptor, tags: FieldTags) -> Iterator[TaggedPlace]:
    """Yield the places of a message type, and of all others of its file."""
    yield from places_of(message, tags)
    for each in _declared(message.file.message_types_by_name.values()):
        yield from places_of(each, tags)


def _declared(messages: Datum) -> Iterator[AnyDescriptor]:
    for each in messages:
        if not each.GetOptions().map_entry:
            yield each
            yield from _declared(each.nested_types)


def _enum_tags(enum: Datum) -> frozenset[str]:
    return frozenset(meta_of(enum).tags).union(*(meta_of(each).tags for each in enum.values))


@cache
def _options_class() -> MessageClass:
    from counterfoil.schema.languages.protobuf.schema import parse_protobuf

    file = pooled_file(parse_protobuf(_META, (), validation=Validation.LENIENT), _META)
    return GetMessageClass(file.message_types_by_name["Options"])
