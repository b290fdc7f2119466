"""The elements of a Protobuf schema as rows: fields, oneofs, extensions, methods, declared types.

The first message of a file is the schema: its fields have paths without its name. Every other message whose fields are
not in it begins with its own name. Messages that are built in, such as ``google.protobuf.Timestamp``, are not expanded.
Comments are read from the text as it was given; a registry stores texts without comments.

Source: the Protocol Buffers language specifications, proto2, proto3 and editions 2023 and 2024.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from counterfoil.schema.languages.element_rows import (
    ElementEntry,
    ElementPlace,
    ElementTags,
    InnerType,
    element_rows,
    few,
    shortened,
)
from counterfoil.schema.languages.protobuf.describe.known_files import KNOWN_PATHS
from counterfoil.schema.languages.protobuf.diff import range_words
from counterfoil.schema.languages.protobuf.outline import tags_written
from counterfoil.schema.languages.protobuf.read.symbols import EnumType
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    EnumConstant,
    ProtoFile,
    ProtoOneOf,
    ProtoOption,
    Rpc,
    ScalarLiteral,
    Service,
    ValueKind,
)
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import UNPACKABLE, FieldValueType, MessageType, NumberedField
from counterfoil.schema.marks import EntityKind
from counterfoil.schema.paths import ITEMS, VALUES, item, member
from counterfoil.schema.rest.inspection import ElementKind, ElementRow
from counterfoil.schema.texts import Pointer, counted, print_pointer

_JSON_NUMBER: Final = frozenset("-0123456789.eE")


def find_elements(schema: ProtobufSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
    """Return the fields, oneofs, extensions and methods of a schema; the fields of the first message come first."""
    elements = _Elements(schema, ElementTags(tags_by_path))
    return element_rows(schema, elements.at_root)


def declared_types(schema: ProtobufSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
    """Return the types and services of a file in the order of its text, then those of references that it uses.

    The constants of an enum follow it.
    """
    return tuple(_Elements(schema, ElementTags(tags_by_path)).declared())


class _Elements:
    """The elements of one schema."""

    def __init__(self, schema: ProtobufSchema, tags: ElementTags) -> None:
        self._schema = schema
        self._types = schema.types.root
        self._tags = tags
        self._entered: set[int] = set()

    # Elements.

    def at_root(self) -> Iterator[ElementEntry]:
        """Yield the elements that are in no other one."""
        self._entered = set()
        for message in self._types.all_messages():
            if id(message.node) not in self._entered and id(message.node) not in self._groups:
                yield ElementEntry(None, (self._inner(message, self._place_of(message)),))
        for extendee, field in self._types.extensions():
            yield self._field(field, ElementPlace().inside(item(extendee)), extendee=extendee)
        for service in self._types.file.services:
            for rpc in service.rpcs:
                yield ElementEntry(self._method(service, rpc))

    def _place_of(self, message: MessageType) -> ElementPlace:
        """Return the place of the fields of a message: that of the schema itself for the first message."""
        if message is self._first_without_name:
            return ElementPlace()
        place = ElementPlace()
        for name in message.names:
            place = place.inside(member(name))
        return place

    @cached_property
    def _first_without_name(self) -> MessageType | None:
        """The first message, unless it has a field with the name of a type.

        The name of a type at the beginning of a path is that type.
        """
        first = next(iter(self._types.messages.values()), None)
        declared = {*self._types.messages, *self._types.enums, *(each.name for each in self._types.file.services)}
        has_name = first is not None and any(each.name in declared for each in first.fields.values())
        return None if has_name else first

    @cached_property
    def _groups(self) -> frozenset[int]:
        """The bodies of groups, which are found under their fields."""
        messages = self._types.all_messages()
        return frozenset(id(field.group) for message in messages for field in message.node.all_fields if field.group)

    def _fields(self, message: MessageType, place: ElementPlace) -> Iterator[ElementEntry]:
        self._entered.add(id(message.node))
        oneof_by_field = {id(field): oneof for oneof in message.node.oneofs for field in oneof.fields}
        begun: set[int] = set()
        for node in message.node.all_fields:
            oneof = oneof_by_field.get(id(node))
            if oneof is not None and id(oneof) not in begun:
                begun.add(id(oneof))
                yield ElementEntry(self._oneof(oneof, message, place))
            inside = place if oneof is None else place.deeper
            yield self._field(message.field_of(node, oneof), inside)

    def _field(self, field: NumberedField, around: ElementPlace, *, extendee: str = "") -> ElementEntry:
        place = around.inside(member(field.name))
        holds, node = field.holds, field.node
        full_name = f"{field.scope}.{node.name}".lstrip(".")
        row = ElementRow(
            place.path,
            ElementKind.FIELD,
            type_words(field),
            types=_names_in(holds),
            default=_default_of(field),
            doc="\n".join(filter(None, (node.doc, node.trailing_doc))),
            tags=self._tags.of(tags_written(node.options, EntityKind.FIELD), full_name),
            constraints=tuple(_facts_of(field, extendee)),
            symbols=_symbols_in(holds),
            required=field.is_required or None,
            number=field.number,
            label=_label_of(field),
            reference=self._reference(field.types.file),
            pointer=self._pointer(field.pointer, field.types.file),
            depth=place.depth,
            is_deprecated=_is_deprecated(node.options),
        )
        return ElementEntry(row, self._inside(field, place.deeper))

    def _inside(self, field: NumberedField, place: ElementPlace) -> tuple[InnerType, ...]:
        """Return the message that a field, its items or its values hold."""
        holds = field.holds
        if field.is_repeated:
            place = place.inside(VALUES if holds.is_map else ITEMS)
        message = (holds.value or holds).message
        if message is None or self._is_built_in(message.file):
            return ()
        return (self._inner(message, place),)

    def _inner(self, message: MessageType, place: ElementPlace) -> InnerType:
        return InnerType(id(message.node), lambda: self._fields(message, place))

    def _oneof(self, oneof: ProtoOneOf, message: MessageType, around: ElementPlace) -> ElementRow:
        names = ", ".join(each.name for each in oneof.fields)
        return ElementRow(
            around.inside(member(oneof.name)).path,
            ElementKind.FIELD,
            "oneof",
            doc=oneof.doc,
            constraints=(shortened(f"at most one of {names}"),),
            reference=self._reference(message.file),
            pointer=self._pointer(oneof.pointer, message.file),
            depth=around.depth,
            is_deprecated=_is_deprecated(oneof.options),
        )

    def _method(self, service: Service, rpc: Rpc) -> ElementRow:
        sides = ((rpc.request, rpc.request_streaming), (rpc.response, rpc.response_streaming))
        named = [self._full_name(name) for name, _ in sides]
        said = [f"{'stream ' * is_streaming}{name}" for name, (_, is_streaming) in zip(named, sides, strict=True)]
        return ElementRow(
            ElementPlace().inside(member(service.name)).inside(member(rpc.name)).path,
            ElementKind.FIELD,
            shortened(f"method ({said[0]}) returns ({said[1]})"),
            types=tuple(dict.fromkeys(named)),
            doc=rpc.doc,
            pointer=print_pointer(rpc.pointer),
            is_deprecated=_is_deprecated(rpc.options),
        )

    def _full_name(self, name: str) -> str:
        found = self._schema.types.message(name, self._types.file.package)
        return name if found is None else found.full_name

    # Declared types.

    def declared(self) -> Iterator[ElementRow]:
        """Yield the rows of the types and services of the file, then those of other files that it uses."""
        own: list[MessageType | EnumType | Service] = [*self._types.all_messages(), *self._types.all_enums()]
        own += self._types.file.services
        for each in sorted(own, key=lambda one: (one if isinstance(one, Service) else one.node).position):
            yield from self._declared(each)
        for used in self._used_elsewhere():
            yield from self._declared(used)

    def _declared(self, declared: MessageType | EnumType | Service) -> Iterator[ElementRow]:
        if isinstance(declared, MessageType):
            yield self._message(declared)
        elif isinstance(declared, Service):
            yield self._service(declared)
        else:
            yield self._enum(declared)
            yield from (self._constant(each, declared) for each in declared.node.constants)

    def _message(self, message: MessageType) -> ElementRow:
        node = message.node
        ranges = (("reserved", range_words(node.reserved)), ("extensions", range_words(node.extensions)))
        return ElementRow(
            message.full_name,
            ElementKind.TYPE,
            "message",
            doc=node.doc,
            tags=self._tags.of(tags_written(node.options, EntityKind.RECORD), message.full_name),
            constraints=(
                counted(len(node.all_fields), "field"),
                *(shortened(f"{word} {said}") for word, said in ranges if said),
            ),
            reference=self._reference(message.file),
            pointer=self._pointer(message.pointer, message.file),
            is_deprecated=_is_deprecated(node.options),
        )

    def _enum(self, enum: EnumType) -> ElementRow:
        node = enum.node
        reserved = range_words(node.reserved)
        return ElementRow(
            enum.full_name,
            ElementKind.TYPE,
            "enum",
            doc=node.doc,
            constraints=(
                counted(len(node.constants), "constant"),
                "closed: other numbers count as unknown fields" if enum.is_closed else "open: other numbers are kept",
                *((shortened(f"reserved {reserved}"),) if reserved else ()),
            ),
            symbols=tuple(each.name for each in node.constants),
            reference=self._reference(enum.file),
            pointer=self._pointer(enum.pointer, enum.file),
            is_deprecated=_is_deprecated(node.options),
        )

    def _constant(self, constant: EnumConstant, enum: EnumType) -> ElementRow:
        return ElementRow(
            f"{enum.full_name}.{constant.name}",
            ElementKind.SYMBOL,
            enum.full_name,
            types=(enum.full_name,),
            doc="\n".join(filter(None, (constant.doc, constant.trailing_doc))),
            number=constant.number,
            reference=self._reference(enum.file),
            pointer=self._pointer(constant.pointer, enum.file),
            depth=1,
            is_deprecated=_is_deprecated(constant.options),
        )

    def _service(self, service: Service) -> ElementRow:
        return ElementRow(
            f"{self._types.file.package_prefix}{service.name}",
            ElementKind.TYPE,
            "service",
            doc=service.doc,
            constraints=(counted(len(service.rpcs), "method"),),
            pointer=print_pointer(service.pointer),
            is_deprecated=_is_deprecated(service.options),
        )

    def _used_elsewhere(self) -> Iterator[MessageType | EnumType]:
        """Yield the types of other files that the file uses, those of built-in files left out; each once."""
        seen: set[int] = set()
        waiting = [field for message in self._types.all_messages() for field in message.fields.values()]
        waiting += [field for _, field in self._types.extensions()]
        waiting.reverse()
        while waiting:
            holds = waiting.pop().holds
            used = (holds.value or holds).message or (holds.value or holds).enum
            if used is None or used.file is self._types.file or id(used.node) in seen or self._is_built_in(used.file):
                continue
            seen.add(id(used.node))
            yield used
            waiting += reversed(used.fields.values() if isinstance(used, MessageType) else ())

    # Files.

    def _reference(self, file: ProtoFile) -> str:
        return "" if file is self._types.file else file.path

    def _pointer(self, pointer: Pointer, file: ProtoFile) -> str:
        return print_pointer(pointer) if file is self._types.file else ""

    def _is_built_in(self, file: ProtoFile) -> bool:
        return file.path in KNOWN_PATHS and self._schema.types.reference(file) is None


# Types and facts in words.


def type_words(field: NumberedField) -> str:
    """Return the type of a field in words, with full names: ``repeated shop.Line``, ``map<string, int64>``."""
    words = _words(field.holds)
    return shortened(f"repeated {words}" if field.is_repeated and not field.holds.is_map else words)


def _words(holds: FieldValueType) -> str:
    if holds.key is not None and holds.value is not None:
        return f"map<{_words(holds.key)}, {_words(holds.value)}>"
    return holds.scalar or next(iter(_names_in(holds)), holds.name)


def _names_in(holds: FieldValueType) -> tuple[str, ...]:
    held = holds.value or holds
    declared = held.message or held.enum
    return () if declared is None else (declared.full_name,)


def _symbols_in(holds: FieldValueType) -> tuple[str, ...]:
    enum = (holds.value or holds).enum
    return () if enum is None else few([each.name for each in enum.node.constants])


def _label_of(field: NumberedField) -> str:
    if field.oneof is not None:
        return f"oneof {field.oneof.name}"
    return "" if field.node.label is None else field.node.label.value


def _default_of(field: NumberedField) -> str | None:
    """Return the default that is written as JSON: a text for a string and for an enum's constant."""
    for option in field.node.options:
        if option.name == "default" and isinstance(option.value, ScalarLiteral):
            literal = option.value
            is_plain = literal.kind is ValueKind.BOOLEAN or _is_json_number(literal)
            is_quoted = field.holds.scalar in UNPACKABLE or field.holds.enum is not None
            return literal.text if is_plain and not is_quoted else json.dumps(literal.text, ensure_ascii=False)
    return None


def _is_json_number(literal: ScalarLiteral) -> bool:
    """Return whether a number is spelled as in JSON: ``0x1F``, ``inf`` and ``.5`` are not."""
    if literal.kind is not ValueKind.NUMBER or not _JSON_NUMBER.issuperset(literal.text):
        return False
    try:
        json.loads(literal.text)
    except ValueError:
        return False
    return True


def _facts_of(field: NumberedField, extendee: str) -> Iterator[str]:
    holds = field.holds
    if extendee:
        yield f"extension of {shortened(extendee)}"
    if field.is_repeated and not holds.is_map and not holds.message and holds.scalar not in UNPACKABLE:
        yield "packed" if field.is_packed else "not packed"
    if not field.is_repeated and field.oneof is None and holds.message is None and not field.is_required:
        yield "presence is known" if field.has_presence else "not set means the zero value"
    if field.is_delimited:
        yield "encoded as a group"
    for name, word in (("json_name", "in JSON"), ("jstype", "in JavaScript"), ("ctype", "in C++")):
        written = field.option(name)
        if written is not None:
            yield f"{word}: {shortened(written)}"


def _is_deprecated(options: Iterable[ProtoOption]) -> bool:
    return any(
        each.name == "deprecated" and isinstance(each.value, ScalarLiteral) and each.value.text == "true"
        for each in options
    )
