"""The descriptor of a file, as ``protoc`` makes it, with its options."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from math import copysign
from typing import TYPE_CHECKING, Final

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    UninterpretedOption,
)
from google.protobuf.message import Error as MessageError
from google.protobuf.message import Message

from counterfoil.schema.languages.protobuf.read.symbols import SCALARS, SymbolTable, is_feature
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    SPECIAL_OPTIONS,
    Aggregate,
    Extend,
    ImportKind,
    Label,
    ListValue,
    OptionValue,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMapType,
    ProtoMessage,
    ProtoOption,
    ProtoRange,
    Reserved,
    ScalarLiteral,
    Service,
    ValueKind,
    bounds,
    json_name_of,
    map_entry_name,
    synthetic_oneof_name,
)
from counterfoil.schema.languages.protobuf.read.tokens import INT32_MAX, parse_int
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    from counterfoil.schema.languages.protobuf.describe.from_descriptor import Described


# Conversion of a file's options to those of descriptors: as fields, or uninterpreted if their extension is unknown.
#
# The runtime's parser of the text format converts the values, so that enums, nested messages and extensions are the
# same as for every other reader.
#
# Source: ``google/protobuf/descriptor.proto``; the text format specification.

_PART: Final = re.compile(r"\(([^)]*)\)|([^.()]+)")
_UNSIGNED: Final = 2**64


class OptionWriter:
    """A writer of the options of one file; those that need an extension are written by :meth:`write_custom`.

    ``unknown`` are the options that could not be interpreted: no such option, or a value that does not fit.
    """

    def __init__(self, symbols: SymbolTable) -> None:
        self._symbols = symbols
        self._waiting: list[tuple[Described, ProtoOption, str]] = []
        self.unknown: list[ProtoOption] = []

    def write(self, proto: Described, options: Iterable[ProtoOption], scope: str) -> None:
        """Write ``options`` into ``proto.options``; defer those that need an extension."""
        for option in options:
            if option.name in SPECIAL_OPTIONS:
                continue
            if "(" in option.name or not _merge(proto.options, _snippet(option, None)):
                self._waiting.append((proto, option, scope))

    def write_custom(self, class_of: Callable[[str], type[Message]] | None) -> None:
        """Write the deferred options.

        ``class_of`` returns the class of an options message by full name, from a runtime with the file's extensions;
        without it, and for an unknown extension, an option is written as uninterpreted.
        """
        for proto, option, scope in self._waiting:
            snippet = _snippet(option, partial(self._symbols.resolve_extension, scope=scope))
            known = None if class_of is None or not snippet else class_of(proto.options.DESCRIPTOR.full_name)()
            if known is not None and _merge(known, snippet):
                proto.options.MergeFromString(known.SerializePartialToString())
                continue
            proto.options.uninterpreted_option.append(_uninterpreted(option))
            if known is not None or not snippet:
                self.unknown.append(option)
        self._waiting.clear()

    @property
    def has_custom(self) -> bool:
        """Whether there are deferred options."""
        return bool(self._waiting)


def _merge(message: Message, snippet: str) -> bool:
    """Merge ``snippet`` into ``message`` and return whether that succeeded; if not, the message is unchanged."""
    if not snippet:
        return False
    fresh = type(message)()
    try:
        text_format.Parse(snippet, fresh)
        message.MergeFrom(fresh)
    except (text_format.ParseError, MessageError, ValueError, TypeError, KeyError):
        return False
    return True


def _snippet(option: ProtoOption, resolve: Callable[[str], str | None] | None) -> str:
    """Return the option in text format, the parts of its name nested; empty if an extension is not known."""
    parts: list[str] = []
    for extension, plain in _PART.findall(option.name):
        if plain:
            parts.append(plain)
            continue
        found = resolve(extension) if resolve is not None else None
        if found is None:
            return ""
        parts.append(f"[{found}]")
    opening = "".join(f"{part} {{ " for part in parts[:-1])
    text = _text(option.value)
    text = "0" if text == "-0" else text  # protoc has no negative zero here, but has one inside braces
    return f"{opening}{parts[-1]}: {text}{' }' * (len(parts) - 1)}"


def _text(value: OptionValue) -> str:
    if isinstance(value, Aggregate):
        return "{ " + " ".join(f"{entry.name}: {_text(entry.value)}" for entry in value.entries) + " }"
    if isinstance(value, ListValue):
        return "[" + ", ".join(map(_text, value.items)) + "]"
    if value.kind is ValueKind.STRING:
        return f'"{escape_bytes(value.text)}"'
    whole = parse_int(value.text) if value.kind is ValueKind.NUMBER else None
    if whole is None:
        return value.text
    return f"-{-whole}" if value.text.startswith("-") else str(whole)


def escape_bytes(text: str) -> str:
    """Return the bytes of a string's content in ASCII, as C escapes them."""
    return "".join(map(_escape_byte, text.encode("utf-8", "surrogateescape")))


_SHORT_ESCAPES: Final = {ord(c): e for c, e in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ('"', '\\"'))}
_SHORT_ESCAPES.update({ord("'"): "\\'", ord("\\"): "\\\\"})
_PRINTABLE: Final = range(0x20, 0x7F)


def _escape_byte(byte: int) -> str:
    return _SHORT_ESCAPES.get(byte) or (chr(byte) if byte in _PRINTABLE else f"\\{byte:03o}")


def _uninterpreted(option: ProtoOption) -> UninterpretedOption:
    found = UninterpretedOption()
    for extension, plain in _PART.findall(option.name):
        found.name.add(name_part=extension or plain, is_extension=bool(extension))
    value = option.value
    if not isinstance(value, ScalarLiteral):
        text = _text(value)
        found.aggregate_value = text[1:-1].strip() if isinstance(value, Aggregate) else text
    elif value.kind is ValueKind.STRING:
        found.string_value = value.text.encode("utf-8", "surrogateescape")
    elif value.kind is ValueKind.NUMBER:
        _write_number(found, value.text)
    else:
        found.identifier_value = value.text
    return found


def _write_number(option: UninterpretedOption, text: str) -> None:
    whole = parse_int(text)
    if whole is not None and 0 <= whole < _UNSIGNED and not text.startswith("-"):
        option.positive_int_value = whole
    elif whole is not None and -_UNSIGNED // 2 <= whole <= 0:
        option.negative_int_value = whole
    else:
        try:
            option.double_value = float(text)
        except ValueError:
            option.identifier_value = text


# The descriptor of a file, as ``protoc`` makes it.
#
# Source: ``google/protobuf/descriptor.proto``; the descriptors that ``protoc`` writes.

_LABELS: Final = {
    Label.OPTIONAL: FieldDescriptorProto.LABEL_OPTIONAL,
    Label.REQUIRED: FieldDescriptorProto.LABEL_REQUIRED,
    Label.REPEATED: FieldDescriptorProto.LABEL_REPEATED,
}
_TEXT_KINDS: Final = frozenset(
    (FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BOOL, FieldDescriptorProto.TYPE_ENUM)
)
_VISIBILITIES: Final = {"local": 1, "export": 2}
_DEFAULT: Final = "default"
_JSON_NAME: Final = "json_name"
_MESSAGE_SET: Final = "message_set_wire_format"


class DescriptorBuilder:
    """A builder of the descriptor of one file.

    ``proto`` is the descriptor; the options that need an extension are written by ``options.write_custom``.
    ``dependencies`` are the import paths that may be written; imports of other paths are left out.
    """

    def __init__(self, file: ProtoFile, symbols: SymbolTable, *, name: str, dependencies: Container[str]) -> None:
        self._file = file
        self._symbols = symbols
        self.options = OptionWriter(symbols)
        self.proto = FileDescriptorProto(name=name, package=file.package)
        if not file.package:
            self.proto.ClearField("package")
        self._build(dependencies)

    def _build(self, dependencies: Container[str]) -> None:
        file, proto = self._file, self.proto
        if file.edition:
            proto.syntax = "editions"
            proto.edition = Edition.Value(f"EDITION_{file.edition}")
        elif file.is_proto3:
            proto.syntax = "proto3"
        self._add_imports(dependencies)
        scope = file.package
        for name, message in _in_text_order(file.messages, _groups_of(file.extends)):
            if isinstance(message, ProtoMessage):
                self._add_message(proto.message_type.add(), message, file.package_prefix + name)
        for enum in file.enums:
            self._add_enum(proto.enum_type.add(), enum, scope)
        self._add_extends(proto.extension, file.extends, scope)
        for service in file.services:
            self._add_service(service, scope)
        self.options.write(proto, file.options, scope)

    def _add_imports(self, dependencies: Container[str]) -> None:
        proto = self.proto
        for item in self._file.imports:
            if item.path not in dependencies or item.path in proto.dependency:
                continue
            if item.kind is ImportKind.OPTION:
                proto.option_dependency.append(item.path)
                continue
            if item.kind is ImportKind.PUBLIC:
                proto.public_dependency.append(len(proto.dependency))
            elif item.kind is ImportKind.WEAK:
                proto.weak_dependency.append(len(proto.dependency))
            proto.dependency.append(item.path)

    def _add_message(self, proto: DescriptorProto, message: ProtoMessage, scope: str) -> None:
        proto.name = message.name
        oneof_of = {id(field): index for index, oneof in enumerate(message.oneofs) for field in oneof.fields}
        for oneof in message.oneofs:
            declared = proto.oneof_decl.add(name=oneof.name)
            self.options.write(declared, oneof.options, scope)
        for field in message.all_fields:
            self._add_field(proto.field.add(), field, scope, oneof_index=oneof_of.get(id(field)))
        self._add_synthetic_oneofs(proto)
        self._add_nested(proto, message, scope)
        for enum in message.enums:
            self._add_enum(proto.enum_type.add(), enum, scope)
        self._add_extends(proto.extension, message.extends, scope)
        self._add_extension_ranges(proto, message, scope)
        for start, end in _reserved_ranges(message.reserved):
            proto.reserved_range.add(start=start, end=end + 1)
        proto.reserved_name.extend(_reserved_names(message.reserved))
        _set_visibility(proto, message.visibility)
        self.options.write(proto, message.options, scope)

    def _add_nested(self, proto: DescriptorProto, message: ProtoMessage, scope: str) -> None:
        """Add the nested messages in the order of the text, including those of groups and of map entries."""
        fields = [*message.all_fields, *_groups_of(message.extends)]
        for name, nested in _in_text_order(message.messages, fields):
            if isinstance(nested, ProtoMessage):
                self._add_message(proto.nested_type.add(), nested, f"{scope}.{name}")
            elif nested.map is not None:
                self._add_map_entry(proto.nested_type.add(), nested, nested.map, scope)

    def _add_map_entry(self, proto: DescriptorProto, field: ProtoField, map_type: ProtoMapType, scope: str) -> None:
        """Write the message of a map's entries; features of the map apply to its keys and values."""
        proto.name = map_entry_name(field.name)
        proto.options.map_entry = True
        features = [option for option in field.options if is_feature(option)]
        for number, (part, type_name) in enumerate((("key", map_type.key), ("value", map_type.value)), start=1):
            inner = proto.field.add(name=part, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
            inner.json_name = part
            self._set_type(inner, type_name, scope)
            self.options.write(inner, features, scope)

    def _add_field(
        self, proto: FieldDescriptorProto, field: ProtoField, scope: str, *, oneof_index: int | None = None
    ) -> None:
        proto.name = field.name.lower() if field.group is not None else field.name
        proto.number = field.number
        proto.label = _LABELS[field.label or Label.OPTIONAL]
        if field.map is not None:
            proto.label = FieldDescriptorProto.LABEL_REPEATED
            proto.type = FieldDescriptorProto.TYPE_MESSAGE
            proto.type_name = f".{scope}.{map_entry_name(field.name)}"
        elif field.group is not None:
            proto.type = FieldDescriptorProto.TYPE_GROUP
            proto.type_name = "." + (f"{scope}.{field.name}" if scope else field.name)
        else:
            self._set_type(proto, field.type, scope)
        if oneof_index is not None:
            proto.oneof_index = oneof_index
        if self._file.is_proto3 and field.label is Label.OPTIONAL:
            proto.proto3_optional = True
        self._set_special(proto, field)
        self.options.write(proto, field.options, scope)

    def _set_type(self, proto: FieldDescriptorProto, name: str, scope: str) -> None:
        if name in SCALARS:
            proto.type = FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
            return
        found = self._symbols.resolve(name, scope)
        if found is None:
            proto.type_name = name
            return
        proto.type = FieldDescriptorProto.TYPE_ENUM if found.is_enum else FieldDescriptorProto.TYPE_MESSAGE
        proto.type_name = f".{found.full_name}"

    @staticmethod
    def _set_special(proto: FieldDescriptorProto, field: ProtoField) -> None:
        values = {
            option.name: option.value.text
            for option in field.options
            if option.name in {_DEFAULT, _JSON_NAME} and isinstance(option.value, ScalarLiteral)
        }
        proto.json_name = _as_utf8(values.get(_JSON_NAME, json_name_of(proto.name)))
        if _DEFAULT in values:
            proto.default_value = _default_text(proto.type, values[_DEFAULT])

    @staticmethod
    def _add_synthetic_oneofs(proto: DescriptorProto) -> None:
        """Add a oneof for each field that is optional in proto3, after the written ones."""
        taken = {*(field.name for field in proto.field), *(oneof.name for oneof in proto.oneof_decl)}
        for field in proto.field:
            if field.proto3_optional:
                name = synthetic_oneof_name(field.name, taken)
                taken.add(name)
                field.oneof_index = len(proto.oneof_decl)
                proto.oneof_decl.add(name=name)

    def _add_extends(
        self, protos: RepeatedCompositeFieldContainer[FieldDescriptorProto], extends: Iterable[Extend], scope: str
    ) -> None:
        for extend in extends:
            extendee = self._symbols.absolute(extend.extendee, scope)
            for field in extend.fields:
                proto = protos.add(extendee=extendee)
                self._add_field(proto, field, scope)

    def _add_extension_ranges(self, proto: DescriptorProto, message: ProtoMessage, scope: str) -> None:
        is_set = any(option.name == _MESSAGE_SET for option in message.options)
        for statement in message.extensions:
            for value in statement.values:
                start, end = bounds(value)
                if is_set and isinstance(value, ProtoRange) and value.is_max:
                    end = INT32_MAX - 1
                declared = proto.extension_range.add(start=start, end=end + 1)
                self.options.write(declared, statement.options, scope)

    def _add_enum(self, proto: EnumDescriptorProto, enum: ProtoEnum, scope: str) -> None:
        proto.name = enum.name
        for constant in enum.constants:
            value = proto.value.add(name=constant.name, number=constant.number)
            self.options.write(value, constant.options, scope)
        for start, end in _reserved_ranges(enum.reserved):
            proto.reserved_range.add(start=start, end=end)
        proto.reserved_name.extend(_reserved_names(enum.reserved))
        _set_visibility(proto, enum.visibility)
        self.options.write(proto, enum.options, scope)

    def _add_service(self, service: Service, scope: str) -> None:
        proto = self.proto.service.add(name=service.name)
        for rpc in service.rpcs:
            method = proto.method.add(name=rpc.name)
            method.input_type = self._symbols.absolute(rpc.request, scope)
            method.output_type = self._symbols.absolute(rpc.response, scope)
            if rpc.request_streaming:
                method.client_streaming = True
            if rpc.response_streaming:
                method.server_streaming = True
            self.options.write(method, rpc.options, scope)
        self.options.write(proto, service.options, scope)


def _in_text_order(
    messages: Iterable[ProtoMessage], fields: Iterable[ProtoField]
) -> list[tuple[str, ProtoMessage | ProtoField]]:
    """Return the messages, the bodies of groups and the map fields in the order of the text, each with its name."""
    found: list[tuple[Position, str, ProtoMessage | ProtoField]] = [
        (each.position, each.name, each) for each in messages
    ]
    declaring = (field for field in fields if field.group is not None or field.map is not None)
    found.extend((field.position, field.name, field.group or field) for field in declaring)
    found.sort(key=lambda each: each[0])
    return [(name, node) for _, name, node in found]


def _groups_of(extends: Iterable[Extend]) -> Iterator[ProtoField]:
    for extend in extends:
        yield from (field for field in extend.fields if field.group is not None)


def _set_visibility(proto: DescriptorProto | EnumDescriptorProto, visibility: str) -> None:
    if visibility and "visibility" in proto.DESCRIPTOR.fields_by_name:
        proto.visibility = _VISIBILITIES[visibility]  # type: ignore[assignment]  # the number of an enum's value


def _reserved_ranges(statements: Iterable[Reserved]) -> Iterator[tuple[int, int]]:
    for statement in statements:
        yield from (bounds(value) for value in statement.values if not isinstance(value, str))


def _reserved_names(statements: Iterable[Reserved]) -> Iterator[str]:
    for statement in statements:
        yield from (value for value in statement.values if isinstance(value, str))


def _default_text(kind: int, text: str) -> str:
    """Return a default as in descriptors: whole numbers in decimal, floats in shortest form, bytes escaped."""
    if kind == FieldDescriptorProto.TYPE_BYTES:
        return escape_bytes(text)
    if kind in {FieldDescriptorProto.TYPE_DOUBLE, FieldDescriptorProto.TYPE_FLOAT}:
        return _float_text(text, is_double=kind == FieldDescriptorProto.TYPE_DOUBLE)
    if kind in _TEXT_KINDS:
        return _as_utf8(text)
    whole = parse_int(text)
    return _as_utf8(text) if whole is None else str(whole)


def _as_utf8(text: str) -> str:
    """Return the text with bytes that are not UTF-8 replaced, since a descriptor's strings cannot hold them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _float_text(text: str, *, is_double: bool) -> str:
    whole = parse_int(text)
    try:
        value = float(text) if whole is None else copysign(whole, -1 if text.startswith("-") else 1)
        if is_double:
            short, long = f"{value:.15g}", f"{value:.17g}"
            return short if float(short) == value else long
        value = struct.unpack("<f", struct.pack("<f", value))[0]
        short, long = f"{value:.6g}", f"{value:.9g}"
        return short if struct.pack("<f", float(short)) == struct.pack("<f", value) else long
    except (ValueError, OverflowError):
        return _as_utf8(text)
