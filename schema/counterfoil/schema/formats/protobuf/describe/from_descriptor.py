"""Conversion of a file's descriptor to its syntax tree.

Type names are full names, as in descriptors. Positions are not known: print the tree and parse the text to get them.

Source: ``google/protobuf/descriptor.proto``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor_pb2 import Edition, FieldDescriptorProto, FileDescriptorProto

from counterfoil.schema.formats.protobuf.describe.option_messages import read_options
from counterfoil.schema.formats.protobuf.read.ast import (
    MAX_TAG,
    SPECIAL_OPTIONS,
    Enum,
    EnumConstant,
    Extend,
    ExtensionRange,
    Field,
    Import,
    ImportKind,
    Label,
    MapType,
    Message,
    OneOf,
    Option,
    ProtoFile,
    Range,
    Reserved,
    Rpc,
    Scalar,
    Service,
    ValueKind,
)
from counterfoil.schema.formats.protobuf.read.literals import INT32_MAX, unescape_bytes
from counterfoil.schema.formats.protobuf.read.naming import json_name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from google.protobuf.descriptor_pb2 import (
        DescriptorProto,
        EnumDescriptorProto,
        MethodDescriptorProto,
        ServiceDescriptorProto,
    )

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

    def _imports(self) -> Iterable[Import]:
        public, weak = set(self._proto.public_dependency), set(self._proto.weak_dependency)
        for index, path in enumerate(self._proto.dependency):
            kind = ImportKind.PUBLIC if index in public else ImportKind.WEAK if index in weak else ImportKind.PLAIN
            yield Import(path, kind)
        for path in getattr(self._proto, "option_dependency", ()):
            yield Import(path, ImportKind.OPTION)

    def _message(self, proto: DescriptorProto) -> Message:
        entries = {nested.name: nested for nested in proto.nested_type if nested.options.map_entry}
        groups = _group_names((*proto.field, *proto.extension))
        fields = [self._field(field, proto.nested_type, entries) for field in proto.field]
        outside = [each for each, field in zip(fields, proto.field, strict=True) if not _is_in_oneof(field)]
        return Message(
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
    def _oneofs(proto: DescriptorProto, fields: Sequence[Field]) -> Iterable[OneOf]:
        synthetic = {field.oneof_index for field in proto.field if field.proto3_optional}
        for index, oneof in enumerate(proto.oneof_decl):
            if index not in synthetic:
                members = tuple(
                    each
                    for each, field in zip(fields, proto.field, strict=True)
                    if _is_in_oneof(field) and field.oneof_index == index
                )
                yield OneOf(oneof.name, members, read_options(oneof))

    def _field(
        self,
        proto: FieldDescriptorProto,
        nested: Iterable[DescriptorProto],
        entries: dict[str, DescriptorProto],
    ) -> Field:
        entry = entries.get(proto.type_name.rpartition(".")[2]) if proto.type_name else None
        options = (*read_options(proto), *_special_options(proto))
        if entry is not None and proto.label == FieldDescriptorProto.LABEL_REPEATED:
            key, value = (_type_name(field) for field in sorted(entry.field, key=lambda field: field.number))
            return Field(None, f"map<{key}, {value}>", proto.name, proto.number, options, map=MapType(key, value))
        label = self._label(proto)
        if proto.type == FieldDescriptorProto.TYPE_GROUP:
            name = proto.type_name.rpartition(".")[2]
            group = next((self._message(each) for each in nested if each.name == name), Message(name))
            return Field(label, "group", name, proto.number, options, group=group)
        return Field(label, _type_name(proto), proto.name, proto.number, options)

    def _label(self, proto: FieldDescriptorProto) -> Label | None:
        if _is_in_oneof(proto):
            return None
        is_implied = proto.label == FieldDescriptorProto.LABEL_OPTIONAL and not proto.proto3_optional
        return None if is_implied and not self._has_labels else _LABEL_BY_NUMBER[proto.label]

    def _extends(
        self, extensions: Iterable[FieldDescriptorProto], nested: Iterable[DescriptorProto]
    ) -> tuple[Extend, ...]:
        """Return the extensions, consecutive ones of one message in one block."""
        blocks: list[tuple[str, list[Field]]] = []
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


def _special_options(proto: FieldDescriptorProto) -> Iterable[Option]:
    """Yield the default and the JSON name, the latter only if it differs from the derived one."""
    default, json_name = SPECIAL_OPTIONS
    if proto.HasField("default_value"):
        text = proto.default_value
        if proto.type == FieldDescriptorProto.TYPE_BYTES:
            text = unescape_bytes(text)
        yield Option(default, Scalar(ValueKind.STRING if proto.type in _QUOTED else ValueKind.WORD, text))
    if proto.HasField("json_name") and proto.json_name != json_name_of(proto.name) and not proto.extendee:
        yield Option(json_name, Scalar(ValueKind.STRING, proto.json_name))


def _enum(proto: EnumDescriptorProto, *, has_bare_names: bool) -> Enum:
    return Enum(
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


def _range(start: int, end: int) -> int | Range:
    return start if start == end else Range(start, end, is_max=end in {MAX_TAG, INT32_MAX, INT32_MAX - 1})
