"""Conversion of a file's descriptor, with its options, to its syntax tree."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    MAX_TAG,
    SPECIAL_OPTIONS,
    Aggregate,
    AggregateEntry,
    EnumConstant,
    Extend,
    ExtensionRange,
    ImportKind,
    Label,
    ListValue,
    OptionValue,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoImport,
    ProtoMapType,
    ProtoMessage,
    ProtoOneOf,
    ProtoOption,
    ProtoRange,
    Reserved,
    Rpc,
    ScalarLiteral,
    Service,
    ValueKind,
    json_name_of,
)
from counterfoil.schema.languages.protobuf.read.tokens import INT32_MAX, Cursor, read_value, unescape_bytes

if TYPE_CHECKING:
    from google.protobuf import descriptor_pb2 as pb


# Conversion of the options in descriptors to those of syntax trees.
#
# Source: ``google/protobuf/descriptor.proto``; the text format specification.

if TYPE_CHECKING:
    Described = (
        pb.FileDescriptorProto
        | pb.DescriptorProto
        | pb.DescriptorProto.ExtensionRange
        | pb.FieldDescriptorProto
        | pb.OneofDescriptorProto
        | pb.EnumDescriptorProto
        | pb.EnumValueDescriptorProto
        | pb.ServiceDescriptorProto
        | pb.MethodDescriptorProto
    )

_UNINTERPRETED: Final = "uninterpreted_option"
_FEATURES: Final = "features"
_NOT_WRITTEN: Final = frozenset(("map_entry",))
_BOOLEANS: Final = ("true", "false")
_SINGLE: Final = (str, bytes, int, float, Message)
_FLOAT_DIGITS: Final = range(6, 10)


def read_options(proto: Described) -> tuple[ProtoOption, ...]:
    """Return the options of a descriptor message: those that the runtime knows, then the uninterpreted ones."""
    return tuple(_options(proto)) if proto.HasField("options") else ()


def _options(proto: Described) -> Iterator[ProtoOption]:
    for field, value in proto.options.ListFields():
        if field.name == _UNINTERPRETED or (field.name in _NOT_WRITTEN and not field.is_extension):
            continue
        if field.name == _FEATURES and not field.is_extension:
            yield from _features(field.name, value)
            continue
        name = f"({field.full_name})" if field.is_extension else field.name
        for each in (value,) if isinstance(value, _SINGLE) else value:
            yield ProtoOption(name, _value(field, each))
    for option in proto.options.uninterpreted_option:
        yield ProtoOption(_uninterpreted_name(option), _uninterpreted_value(option))


def _features(path: str, message: Message) -> Iterator[ProtoOption]:
    """Yield one option for each feature, as written in files: ``features.field_presence = EXPLICIT``."""
    for field, value in message.ListFields():
        name = f"{path}.({field.full_name})" if field.is_extension else f"{path}.{field.name}"
        if isinstance(value, Message):
            yield from _features(name, value)
        else:
            yield ProtoOption(name, _value(field, value))


def _value(field: FieldDescriptor, value: object) -> OptionValue:
    if isinstance(value, Message):
        return Aggregate(tuple(_entries(value)))
    if isinstance(value, str):
        return ScalarLiteral(ValueKind.STRING, value)
    if isinstance(value, bytes):
        return ScalarLiteral(ValueKind.STRING, value.decode("utf-8", "surrogateescape"))
    if isinstance(value, bool):
        return ScalarLiteral(ValueKind.BOOLEAN, "true" if value else "false")
    if isinstance(value, float) and field.type == FieldDescriptor.TYPE_FLOAT:
        return ScalarLiteral(ValueKind.NUMBER, _shortest_float(value))
    values = None if field.enum_type is None else field.enum_type.values_by_number
    symbol = values.get(value) if values is not None and isinstance(value, int) else None
    return (
        ScalarLiteral(ValueKind.NUMBER, repr(value)) if symbol is None else ScalarLiteral(ValueKind.WORD, symbol.name)
    )


def _shortest_float(value: float) -> str:
    """Return the shortest decimal text that has this value as a 32-bit float."""
    for digits in _FLOAT_DIGITS:
        text = f"{value:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", value):
            return text
    return repr(value)


def _entries(message: Message) -> Iterator[AggregateEntry]:
    for field, value in message.ListFields():
        name = f"[{field.full_name}]" if field.is_extension else field.name
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            yield from (AggregateEntry(name, entry) for entry in _map_entries(field, value))
        elif isinstance(value, _SINGLE):
            yield AggregateEntry(name, _value(field, value))
        else:
            yield AggregateEntry(name, ListValue(tuple(_value(field, each) for each in value)))


def _map_entries(field: FieldDescriptor, values: Mapping[Datum, object]) -> Iterator[Aggregate]:
    if field.message_type is None:
        return
    parts = field.message_type.fields_by_name
    for key, value in sorted(values.items()):
        yield Aggregate(
            (AggregateEntry("key", _value(parts["key"], key)), AggregateEntry("value", _value(parts["value"], value)))
        )


def _uninterpreted_name(option: pb.UninterpretedOption) -> str:
    parts = (f"({part.name_part})" if part.is_extension else part.name_part for part in option.name)
    return ".".join(parts)


def _uninterpreted_value(option: pb.UninterpretedOption) -> OptionValue:
    if option.HasField("identifier_value"):
        kind = ValueKind.BOOLEAN if option.identifier_value in _BOOLEANS else ValueKind.WORD
        return ScalarLiteral(kind, option.identifier_value)
    if option.HasField("string_value"):
        return ScalarLiteral(ValueKind.STRING, option.string_value.decode("utf-8", "surrogateescape"))
    if option.HasField("aggregate_value"):
        return read_value(Cursor(f"{{{option.aggregate_value}}}"))
    if option.HasField("double_value"):
        return ScalarLiteral(ValueKind.NUMBER, repr(option.double_value))
    number = option.negative_int_value if option.HasField("negative_int_value") else option.positive_int_value
    return ScalarLiteral(ValueKind.NUMBER, str(number))


# Conversion of a file's descriptor to its syntax tree.
#
# Type names are full names, as in descriptors. Positions are not known: print the tree and parse the text to get them.
#
# Source: ``google/protobuf/descriptor.proto``.

_LABEL_BY_NUMBER: Final = {
    FieldDescriptorProto.LABEL_OPTIONAL: Label.OPTIONAL,
    FieldDescriptorProto.LABEL_REQUIRED: Label.REQUIRED,
    FieldDescriptorProto.LABEL_REPEATED: Label.REPEATED,
}
_NAMED_TYPES: Final = frozenset(
    (FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.TYPE_ENUM, FieldDescriptorProto.TYPE_GROUP)
)
_QUOTED: Final = frozenset((FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES))
_EDITION_PREFIX: Final = "EDITION_"
_VISIBILITY_BY_NUMBER: Final = {1: "local", 2: "export"}


def file_from_descriptor(proto: FileDescriptorProto, *, path: str = "") -> ProtoFile:
    """Return the tree of the file that ``proto`` describes; ``proto`` must be complete, as runtimes require."""
    return _DescriptorReader(proto).read(path)


class _DescriptorReader:
    """A reader of one file descriptor."""

    def __init__(self, proto: FileDescriptorProto) -> None:
        self._proto = proto
        self._edition = self._edition_name()
        self._has_labels = proto.syntax in {"", "proto2"}

    def read(self, path: str) -> ProtoFile:
        proto = self._proto
        groups = _group_names(proto.extension)
        return ProtoFile(
            path=path,
            syntax=None if self._edition else (proto.syntax or None),
            edition=self._edition,
            package=proto.package,
            imports=tuple(self._imports()),
            options=read_options(proto),
            messages=tuple(self._message(each) for each in proto.message_type if each.name not in groups),
            enums=tuple(_enum(each, has_bare_names=self._edition is not None) for each in proto.enum_type),
            extends=self._extends(proto.extension, ()),
            services=tuple(map(_service, proto.service)),
        )

    def _edition_name(self) -> str | None:
        if self._proto.syntax != "editions":
            return None
        return Edition.Name(self._proto.edition).removeprefix(_EDITION_PREFIX)

    def _imports(self) -> Iterable[ProtoImport]:
        public, weak = set(self._proto.public_dependency), set(self._proto.weak_dependency)
        for index, path in enumerate(self._proto.dependency):
            kind = ImportKind.PUBLIC if index in public else ImportKind.WEAK if index in weak else ImportKind.PLAIN
            yield ProtoImport(path, kind)
        for path in getattr(self._proto, "option_dependency", ()):
            yield ProtoImport(path, ImportKind.OPTION)

    def _message(self, proto: DescriptorProto) -> ProtoMessage:
        entries = {nested.name: nested for nested in proto.nested_type if nested.options.map_entry}
        groups = _group_names((*proto.field, *proto.extension))
        fields = [self._field(field, proto.nested_type, entries) for field in proto.field]
        outside = [each for each, field in zip(fields, proto.field, strict=True) if not _is_in_oneof(field)]
        return ProtoMessage(
            name=proto.name,
            fields=tuple(outside),
            oneofs=tuple(self._oneofs(proto, fields)),
            messages=tuple(
                self._message(nested)
                for nested in proto.nested_type
                if nested.name not in entries and nested.name not in groups
            ),
            enums=tuple(_enum(each, has_bare_names=self._edition is not None) for each in proto.enum_type),
            extends=self._extends(proto.extension, proto.nested_type),
            options=read_options(proto),
            reserved=_reserved(
                proto.reserved_name,
                [(each.start, each.end - 1) for each in proto.reserved_range],
                has_bare_names=self._edition is not None,
            ),
            extensions=_extensions(proto),
            all_fields=tuple(fields),
            visibility=_visibility(proto),
        )

    @staticmethod
    def _oneofs(proto: DescriptorProto, fields: Sequence[ProtoField]) -> Iterable[ProtoOneOf]:
        synthetic = {field.oneof_index for field in proto.field if field.proto3_optional}
        for index, oneof in enumerate(proto.oneof_decl):
            if index not in synthetic:
                members = tuple(
                    each
                    for each, field in zip(fields, proto.field, strict=True)
                    if _is_in_oneof(field) and field.oneof_index == index
                )
                yield ProtoOneOf(oneof.name, members, read_options(oneof))

    def _field(
        self,
        proto: FieldDescriptorProto,
        nested: Iterable[DescriptorProto],
        entries: dict[str, DescriptorProto],
    ) -> ProtoField:
        entry = entries.get(proto.type_name.rpartition(".")[2]) if proto.type_name else None
        options = (*read_options(proto), *_special_options(proto))
        if entry is not None and proto.label == FieldDescriptorProto.LABEL_REPEATED:
            key, value = (_type_name(field) for field in sorted(entry.field, key=lambda field: field.number))
            return ProtoField(
                None, f"map<{key}, {value}>", proto.name, proto.number, options, map=ProtoMapType(key, value)
            )
        label = self._label(proto)
        if proto.type == FieldDescriptorProto.TYPE_GROUP:
            name = proto.type_name.rpartition(".")[2]
            group = next((self._message(each) for each in nested if each.name == name), ProtoMessage(name))
            return ProtoField(label, "group", name, proto.number, options, group=group)
        return ProtoField(label, _type_name(proto), proto.name, proto.number, options)

    def _label(self, proto: FieldDescriptorProto) -> Label | None:
        if _is_in_oneof(proto):
            return None
        is_implied = proto.label == FieldDescriptorProto.LABEL_OPTIONAL and not proto.proto3_optional
        return None if is_implied and not self._has_labels else _LABEL_BY_NUMBER[proto.label]

    def _extends(
        self, extensions: Iterable[FieldDescriptorProto], nested: Iterable[DescriptorProto]
    ) -> tuple[Extend, ...]:
        """Return the extensions, consecutive ones of one message in one block."""
        blocks: list[tuple[str, list[ProtoField]]] = []
        for proto in extensions:
            if not blocks or blocks[-1][0] != proto.extendee:
                blocks.append((proto.extendee, []))
            blocks[-1][1].append(self._field(proto, nested or self._proto.message_type, {}))
        return tuple(Extend(extendee, tuple(fields)) for extendee, fields in blocks)


def _group_names(fields: Iterable[FieldDescriptorProto]) -> set[str]:
    """Return the names of the messages that are bodies of groups."""
    groups = (field for field in fields if field.type == FieldDescriptorProto.TYPE_GROUP)
    return {field.type_name.rpartition(".")[2] for field in groups}


def _is_in_oneof(proto: FieldDescriptorProto) -> bool:
    return proto.HasField("oneof_index") and not proto.proto3_optional


def _type_name(proto: FieldDescriptorProto) -> str:
    if proto.type_name and (proto.type in _NAMED_TYPES or not proto.HasField("type")):
        return proto.type_name
    return FieldDescriptorProto.Type.Name(proto.type).removeprefix("TYPE_").lower()


def _special_options(proto: FieldDescriptorProto) -> Iterable[ProtoOption]:
    """Yield the default and the JSON name, the latter only if it differs from the derived one."""
    default, json_name = SPECIAL_OPTIONS
    if proto.HasField("default_value"):
        text = proto.default_value
        if proto.type == FieldDescriptorProto.TYPE_BYTES:
            text = unescape_bytes(text)
        yield ProtoOption(default, ScalarLiteral(ValueKind.STRING if proto.type in _QUOTED else ValueKind.WORD, text))
    if proto.HasField("json_name") and proto.json_name != json_name_of(proto.name) and not proto.extendee:
        yield ProtoOption(json_name, ScalarLiteral(ValueKind.STRING, proto.json_name))


def _enum(proto: EnumDescriptorProto, *, has_bare_names: bool) -> ProtoEnum:
    return ProtoEnum(
        name=proto.name,
        constants=tuple(EnumConstant(value.name, value.number, read_options(value)) for value in proto.value),
        options=read_options(proto),
        reserved=_reserved(
            proto.reserved_name,
            [(each.start, each.end) for each in proto.reserved_range],
            has_bare_names=has_bare_names,
        ),
        visibility=_visibility(proto),
    )


def _visibility(proto: DescriptorProto | EnumDescriptorProto) -> str:
    return _VISIBILITY_BY_NUMBER.get(getattr(proto, "visibility", 0), "")


def _service(proto: ServiceDescriptorProto) -> Service:
    return Service(proto.name, tuple(map(_rpc, proto.method)), read_options(proto))


def _rpc(proto: MethodDescriptorProto) -> Rpc:
    return Rpc(
        proto.name,
        proto.input_type,
        proto.output_type,
        proto.client_streaming,
        proto.server_streaming,
        read_options(proto),
    )


def _reserved(names: Sequence[str], ranges: Sequence[tuple[int, int]], *, has_bare_names: bool) -> tuple[Reserved, ...]:
    """Return up to two statements: one of the numbers, one of the names."""
    numbers = tuple(_range(start, end) for start, end in ranges)
    return tuple(Reserved(values, has_bare_names=has_bare_names) for values in (numbers, tuple(names)) if values)


def _extensions(proto: DescriptorProto) -> tuple[ExtensionRange, ...]:
    """Return one statement per range that has options, and one for the others."""
    plain = [each for each in proto.extension_range if not each.HasField("options")]
    statements = [ExtensionRange(tuple(_range(each.start, each.end - 1) for each in plain))] if plain else []
    statements.extend(
        ExtensionRange((_range(each.start, each.end - 1),), read_options(each))
        for each in proto.extension_range
        if each.HasField("options")
    )
    return tuple(statements)


def _range(start: int, end: int) -> int | ProtoRange:
    return start if start == end else ProtoRange(start, end, is_max=end in {MAX_TAG, INT32_MAX, INT32_MAX - 1})
