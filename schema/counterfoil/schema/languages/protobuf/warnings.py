"""Violations of the language in a file that the reference registry accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import Final

from counterfoil.schema.languages.protobuf.read.symbols import (
    MAP_KEYS,
    SCALARS,
    Features,
    FileWithImports,
    Symbol,
    features_of,
    import_pointer,
    missing_imports,
    with_options,
)
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    MAX_TAG,
    EnumConstant,
    Extend,
    ExtensionRange,
    Label,
    OptionValue,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoOneOf,
    ProtoRange,
    Reserved,
    Rpc,
    ScalarLiteral,
    Service,
    ValueKind,
    json_name_of,
)
from counterfoil.schema.languages.protobuf.read.tokens import parse_int
from counterfoil.schema.parsed import SchemaWarning

# The check that a default fits the type of its field.
#
# Source: the Protocol Buffers language specification, proto2, "Fields" and "Default values".

_SIGNED: Final = frozenset(("int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64"))
_UNSIGNED: Final = frozenset(("uint32", "fixed32", "uint64", "fixed64"))
_FLOATS: Final = frozenset(("float", "double"))


def default_problem(field: ProtoField, value: OptionValue, named: Symbol | None) -> str:
    """Return what is wrong with a field's default, as the end of a sentence; ``""`` if it is valid.

    ``named`` is the message or enum that the field's type names.
    """
    if not isinstance(value, ScalarLiteral):
        return "is no single value"
    if field.label is Label.REPEATED or field.map is not None or field.group is not None:
        return "is on a field that holds several values or a message"
    if named is not None:
        return _enum_problem(value.text, named)
    return _scalar_problem(field.type, value)


def _enum_problem(text: str, named: Symbol) -> str:
    if not isinstance(named.node, ProtoEnum):
        return "is on a field that holds a message"
    if any(constant.name == text for constant in named.node.constants):
        return ""
    return f"is {text}, which is no constant of {named.full_name}"


def _scalar_problem(kind: str, value: ScalarLiteral) -> str:
    text = value.text
    if kind == "string":
        return "" if value.kind is ValueKind.STRING else f"is {text}, without quotes"
    if kind == "bytes":
        return ""
    if kind == "bool":
        return "" if value.kind is ValueKind.BOOLEAN else f"is {text}, not true or false"
    if kind in _FLOATS:
        return "" if _is_number(text) else f"is {text}, which is no number"
    number = parse_int(text)
    low, high = _bounds(kind)
    if number is None:
        return f"is {text}, which is no whole number"
    return "" if low <= number <= high else f"is {text}, which {kind} cannot hold"


def _bounds(kind: str) -> tuple[int, int]:
    bits = int(kind[-2:]) if kind in _SIGNED or kind in _UNSIGNED else 64
    return (0, 2**bits - 1) if kind in _UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return parse_int(text) is not None
    return True


# The rules of the language.
#
# For every rule here ``protoc`` refuses the file. If the runtime refuses a file for a reason without a rule, that is
# one more warning, ``descriptor-refused``.
#
# Source: the Protocol Buffers language specifications, proto2, proto3 and editions, and the behaviour of ``protoc``.

Named = ProtoMessage | ProtoField | ProtoOneOf | ProtoEnum | EnumConstant | Service | Rpc

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RUNTIME_TAGS: Final = range(19_000, 20_000)
_OPTIONS_PREFIX: Final = "google.protobuf."
_SETTLED: Final = frozenset({
    "duplicate-constant-name",
    "duplicate-constant-number",
    "duplicate-field-name",
    "duplicate-method-name",
    "empty-oneof",
    "explicit-map-entry",
    "group-name",
    "invalid-name",
    "json-name-conflict",
    "lite-extension",
    "map-in-oneof",
    "method-of-enum",
    "overlapping-ranges",
    "proto2-enum-in-proto3",
    "proto3-extension",
    "proto3-extension-range",
    "proto3-group",
    "field-number-of-runtime",
    "required-extension",
    "reserved-constant",
    "reserved-field",
})  # fmt: skip
"""The rules of faults that leave no doubt about what the bytes of a record mean."""
_EXTENSION_NUMBERS: Final = frozenset({"extension-number-not-declared", "field-number-of-extensions"})
_OPTIONS_OF_BYTES: Final = ("packed", "message_set_wire_format", "features", "map_entry")
"""The options that determine how values are written."""


def find_warnings(schema: FileWithImports) -> list[SchemaWarning]:
    """Return the violations that ``protoc`` refuses, in the order of the tree, or else the runtime's error."""
    from counterfoil.schema.languages.protobuf.describe.descriptors import find_refusals

    finder = _Finder(schema)
    found = [_settled(each, finder) for each in list(finder.find())]
    refusals = find_refusals(schema)
    for option in refusals.unknown_options:
        text = f"The option {option.name} is not known there, or its value does not fit"
        of_bytes = option.name.partition(".")[0] in _OPTIONS_OF_BYTES
        found.append(SchemaWarning("unknown-option", text, option.pointer, leaves_open=of_bytes))
    if not found and refusals.runtime:
        found.append(SchemaWarning("descriptor-refused", f"The runtime refuses the file: {refusals.runtime}", ()))
    return found


def _settled(warning: SchemaWarning, finder: _Finder) -> SchemaWarning:
    """Return the warning, which says whether the fault leaves open what the bytes of a record mean."""
    if (
        warning.rule in _SETTLED
        or (warning.rule == "missing-import" and not finder.uses_unknown_types)
        or (warning.rule in _EXTENSION_NUMBERS and not finder.has_contested_numbers)
    ):
        return replace(warning, leaves_open=False)
    return warning


class _Finder:
    """The search for the warnings of one schema.

    After it, ``uses_unknown_types`` is whether the type of a field, or of the values of a map, is in no known file, and
    ``has_contested_numbers`` whether an extension has the number of a field of its message, or of another extension.
    """

    def __init__(self, schema: FileWithImports) -> None:
        self.uses_unknown_types = False
        self._numbers: list[tuple[str, int]] = []
        self._schema = schema
        self._file = schema.file
        self._symbols = schema.symbols

    @property
    def has_contested_numbers(self) -> bool:
        """Whether a number of a message belongs to two fields, one of which is an extension."""
        return len(set(self._numbers)) < len(self._numbers)

    def find(self) -> Iterator[SchemaWarning]:
        file, scope = self._file, self._file.package
        for item, asker in missing_imports(file, self._schema.imports):
            text = f"No file is known for the import {item.path!r} of {asker or 'the schema'}"
            yield SchemaWarning("missing-import", text, () if asker else import_pointer(item.path))
        features = features_of(file)
        for message in file.messages:
            yield from self._message(message, file.package_prefix + message.name, features)
        for enum in file.enums:
            yield from self._enum(enum, features)
        yield from self._constants_in_scope(file.enums)
        yield from self._extends(file.extends, scope, features)
        for service in file.services:
            yield from self._service(service, scope)

    def _service(self, service: Service, scope: str) -> Iterator[SchemaWarning]:
        yield from _invalid_name(service, "service")
        yield from _twice(service.rpcs, "duplicate-method-name", "methods")
        for rpc in service.rpcs:
            yield from _invalid_name(rpc, "method")
            for name in (rpc.request, rpc.response):
                found = self._symbols.resolve(name, scope)
                if found is not None and found.is_enum:
                    text = f"The method {rpc.name} takes or gives the enum {found.full_name}"
                    yield SchemaWarning("method-of-enum", text, rpc.pointer)

    def _message(self, message: ProtoMessage, scope: str, around: Features) -> Iterator[SchemaWarning]:
        features = with_options(around, message.options)
        self._numbers += {(scope, field.number) for field in message.all_fields}
        yield from _invalid_name(message, "message")
        if any(option.name == "map_entry" for option in message.options):
            text = f"The message {message.name} says that it holds the entries of a map, which only a map may"
            yield SchemaWarning("explicit-map-entry", text, message.pointer)
        yield from _twice((*message.all_fields, *message.oneofs), "duplicate-field-name", "fields or oneofs")
        yield from _numbers(message)
        if features.allows_json:
            yield from _json_names(message)
        for field in message.all_fields:
            yield from self._field(field, scope, features)
        for oneof in message.oneofs:
            yield from self._oneof(oneof)
        yield from self._extension_ranges(message)
        yield from _overlaps(message)
        for nested in message.messages:
            yield from self._message(nested, f"{scope}.{nested.name}", features)
        for enum in message.enums:
            yield from self._enum(enum, features)
        yield from self._constants_in_scope(message.enums)
        yield from self._extends(message.extends, scope, features)

    @staticmethod
    def _oneof(oneof: ProtoOneOf) -> Iterator[SchemaWarning]:
        yield from _invalid_name(oneof, "oneof")
        if not oneof.fields:
            yield SchemaWarning("empty-oneof", f"The oneof {oneof.name} has no fields", oneof.pointer)
        for field in oneof.fields:
            if field.map is not None:
                text = f"The map {field.name} is in the oneof {oneof.name}"
                yield SchemaWarning("map-in-oneof", text, field.pointer)

    def _extension_ranges(self, message: ProtoMessage) -> Iterator[SchemaWarning]:
        if message.extensions and self._file.is_proto3:
            text = f"The message {message.name} is open for extensions, which proto3 does not have"
            yield SchemaWarning("proto3-extension-range", text, message.pointer)

    def _field(self, field: ProtoField, scope: str, features: Features) -> Iterator[SchemaWarning]:
        yield from _invalid_name(field, "field")
        yield from _number(field)
        yield from self._default(field, scope)
        if field.map is not None:
            yield from self._map(field, scope)
        elif field.group is not None:
            if not field.name[0].isupper():
                text = f"The name of the group {field.name} does not start with a capital letter"
                yield SchemaWarning("group-name", text, field.pointer)
            if self._file.is_proto3:
                text = f"The group {field.name} is in a file of proto3"
                yield SchemaWarning("proto3-group", text, field.pointer)
            yield from self._message(field.group, f"{scope}.{field.name}".lstrip("."), features)
        else:
            yield from self._closed_enum(field.type, field, scope)

    def _map(self, field: ProtoField, scope: str) -> Iterator[SchemaWarning]:
        if field.map is None:
            return
        if field.map.value.startswith("map<"):
            yield SchemaWarning("nested-map", f"The values of the map {field.name} are maps", field.pointer)
        else:
            yield from self._closed_enum(field.map.value, field, scope)
        if field.map.key not in MAP_KEYS:
            text = f"The keys of the map {field.name} are of type {field.map.key}"
            yield SchemaWarning("map-key-type", text, field.pointer)

    def _closed_enum(self, name: str, field: ProtoField, scope: str) -> Iterator[SchemaWarning]:
        found = self._symbols.resolve(name, scope)
        self.uses_unknown_types = self.uses_unknown_types or (found is None and name not in SCALARS)
        if self._file.is_proto3 and found is not None and found.is_enum and found.file.syntax in {None, "proto2"}:
            if found.file.edition:
                return
            text = f"The field {field.name} of proto3 uses the enum {found.full_name} of proto2"
            yield SchemaWarning("proto2-enum-in-proto3", text, field.pointer)

    def _default(self, field: ProtoField, scope: str) -> Iterator[SchemaWarning]:
        default = next((option for option in field.options if option.name == "default"), None)
        if default is None:
            return
        if self._file.is_proto3:
            text = f"The field {field.name} has a default, which proto3 does not have"
            yield SchemaWarning("proto3-default", text, field.pointer)
        problem = default_problem(field, default.value, self._symbols.resolve(field.type, scope))
        if problem:
            yield SchemaWarning("invalid-default", f"The default of the field {field.name} {problem}", field.pointer)

    def _enum(self, enum: ProtoEnum, features: Features) -> Iterator[SchemaWarning]:
        yield from _invalid_name(enum, "enum")
        for constant in enum.constants:
            yield from _invalid_name(constant, "constant")
            if _is_among(constant.number, enum.reserved) or _is_among(constant.name, enum.reserved):
                text = f"The constant {constant.name} of the enum {enum.name} uses what is reserved"
                yield SchemaWarning("reserved-constant", text, constant.pointer)
        if not enum.constants:
            yield SchemaWarning("empty-enum", f"The enum {enum.name} has no constants", enum.pointer)
        elif enum.constants[0].number != 0 and not with_options(features, enum.options).has_closed_enums:
            text = f"The first constant of the enum {enum.name} is {enum.constants[0].number}, not 0"
            yield SchemaWarning("first-constant-not-zero", text, enum.constants[0].pointer)
        if not _allows_alias(enum):
            yield from _repeated(
                ((constant.number, constant) for constant in enum.constants),
                "duplicate-constant-number",
                "Several constants of the enum " + enum.name + " are {}",
            )

    @staticmethod
    def _constants_in_scope(enums: Iterable[ProtoEnum]) -> Iterator[SchemaWarning]:
        """Yield names of constants that occur twice in the enums of one scope, which is the scope of the names."""
        return _twice(chain.from_iterable(enum.constants for enum in enums), "duplicate-constant-name", "constants")

    def _extends(self, extends: Iterable[Extend], scope: str, features: Features) -> Iterator[SchemaWarning]:
        for extend in extends:
            extended = self._symbols.resolve(extend.extendee, scope)
            full_name = "" if extended is None else extended.full_name
            is_options = full_name.startswith(_OPTIONS_PREFIX) and full_name.endswith("Options")
            if extended is not None and _is_lite(self._file) and not _is_lite(extended.file):
                text = f"A file for the lite runtime extends {extended.full_name}, which is not for it"
                yield SchemaWarning("lite-extension", text, extend.pointer)
            for field in extend.fields:
                self._numbers.append((full_name or extend.extendee, field.number))
                yield from self._field(field, scope, features)
                if field.label is Label.REQUIRED:
                    text = f"The extension {field.name} is required"
                    yield SchemaWarning("required-extension", text, field.pointer)
                if self._file.is_proto3 and not is_options:
                    text = f"The extension {field.name} of proto3 extends {extend.extendee}, no options message"
                    yield SchemaWarning("proto3-extension", text, field.pointer)
                node = None if extended is None else extended.node
                if isinstance(node, ProtoEnum) or (node is not None and not _is_among(field.number, node.extensions)):
                    text = f"The message {extend.extendee} is not open for an extension with number {field.number}"
                    yield SchemaWarning("extension-number-not-declared", text, field.pointer)


def _invalid_name(node: Named, kind: str) -> Iterator[SchemaWarning]:
    if _NAME.fullmatch(node.name) is None:
        text = f"The {kind} {node.name} has a name that is not letters, digits and '_', or that starts with a digit"
        yield SchemaWarning("invalid-name", text, node.pointer)


def _number(field: ProtoField) -> Iterator[SchemaWarning]:
    if not 1 <= field.number <= MAX_TAG:
        text = f"The number {field.number} of the field {field.name} is not from 1 to {MAX_TAG}"
        yield SchemaWarning("field-number-out-of-range", text, field.pointer)
    elif field.number in _RUNTIME_TAGS:
        text = f"The number {field.number} of the field {field.name} is kept for the runtime (19000 to 19999)"
        yield SchemaWarning("field-number-of-runtime", text, field.pointer)


def _numbers(message: ProtoMessage) -> Iterator[SchemaWarning]:
    yield from _repeated(
        ((field.number, field) for field in message.all_fields),
        "duplicate-field-number",
        f"Several fields of the message {message.name} have the number {{}}",
    )
    for field in message.all_fields:
        if _is_among(field.number, message.reserved) or _is_among(field.name, message.reserved):
            text = f"The field {field.name} uses a number or name that is reserved"
            yield SchemaWarning("reserved-field", text, field.pointer)
        if _is_among(field.number, message.extensions):
            text = f"The number {field.number} of the field {field.name} is kept for extensions"
            yield SchemaWarning("field-number-of-extensions", text, field.pointer)


def _overlaps(message: ProtoMessage) -> Iterator[SchemaWarning]:
    """Yield a warning for each overlap of ranges that are reserved or declared for extensions."""
    kept = (*(each.values for each in message.reserved), *(each.values for each in message.extensions))
    values = (value for each in kept for value in each if not isinstance(value, str))
    bounds = sorted((value.start, value.end) if isinstance(value, ProtoRange) else (value, value) for value in values)
    for (_, end), (start, _) in pairwise(bounds):
        if start <= end:
            text = f"The message {message.name} keeps the number {start} twice, reserved or for extensions"
            yield SchemaWarning("overlapping-ranges", text, message.pointer)


def _is_lite(file: ProtoFile) -> bool:
    return any(
        option.name == "optimize_for"
        and isinstance(option.value, ScalarLiteral)
        and option.value.text == "LITE_RUNTIME"
        for option in file.options
    )


def _json_names(message: ProtoMessage) -> Iterator[SchemaWarning]:
    names = {field.pointer: _json_name(field) for field in message.all_fields}
    yield from _repeated(
        ((names[field.pointer], field) for field in message.all_fields),
        "json-name-conflict",
        f"Several fields of the message {message.name} are called {{}} in JSON",
    )


def _json_name(field: ProtoField) -> str:
    given = next((option.value for option in field.options if option.name == "json_name"), None)
    return given.text if isinstance(given, ScalarLiteral) else json_name_of(field.name)


def _twice(nodes: Iterable[Named], rule: str, kinds: str) -> Iterator[SchemaWarning]:
    return _repeated(((node.name, node) for node in nodes), rule, f"Several {kinds} are called {{}}")


def _repeated(pairs: Iterable[tuple[int | str, Named]], rule: str, text: str) -> Iterator[SchemaWarning]:
    """Yield one warning for each key that occurs again, at its second node; ``text`` is formatted with the key."""
    seen: set[int | str] = set()
    reported: set[int | str] = set()
    for key, node in pairs:
        if key in seen and key not in reported:
            reported.add(key)
            yield SchemaWarning(rule, text.format(key), node.pointer)
        seen.add(key)


def _is_among(value: int | str, statements: Iterable[Reserved] | Iterable[ExtensionRange]) -> bool:
    return any(_contains(each, value) for statement in statements for each in statement.values)


def _contains(declared: int | ProtoRange | str, value: int | str) -> bool:
    if isinstance(declared, ProtoRange):
        return isinstance(value, int) and declared.start <= value <= declared.end
    return declared == value


def _allows_alias(enum: ProtoEnum) -> bool:
    return any(
        option.name == "allow_alias" and isinstance(option.value, ScalarLiteral) and option.value.text == "true"
        for option in enum.options
    )
