"""The requirements of a new schema: known type names, each declared once, and a canonical text that can be parsed.

Source: the schemas that Confluent Schema Registry 8.5 accepts; it does not check all rules of the language
(:mod:`~counterfoil.schema.formats.protobuf.warnings` has the others).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.protobuf.read.ast import Label, Scalar, ValueKind
from counterfoil.schema.formats.protobuf.read.files import missing_imports
from counterfoil.schema.formats.protobuf.read.symbols import MAP_KEYS, SCALARS
from counterfoil.schema.pointer import print_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.formats.protobuf.read.ast import Enum, Extend, Field, Message, ProtoFile, Service
    from counterfoil.schema.formats.protobuf.read.files import SchemaFiles
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position

_MAP: Final = "map<"
_REFUSED: Final = "which registries refuse"
_SPELLABLE: Final = re.compile(r"[A-Za-z0-9_.\-]+")


def check_valid(schema: SchemaFiles, *, can_be_stored: bool = True) -> None:
    """Raise ``SchemaParseError`` for the first violated requirement of a new schema.

    Without ``can_be_stored``, what the language permits and registries alone refuse is no violation.
    """
    _Checker(schema, can_be_stored=can_be_stored).check()


class _Checker:
    """The check of one schema."""

    def __init__(self, schema: SchemaFiles, *, can_be_stored: bool) -> None:
        self._can_be_stored = can_be_stored
        self._file = schema.file
        self._imports = schema.imports
        self._symbols = schema.symbols

    def check(self) -> None:
        file, scope = self._file, self._file.package
        _check_once((*file.messages, *file.enums))
        _check_once(file.services)
        for message in file.messages:
            self._check_message(message, file.package_prefix + message.name)
        self._check_extends(file.extends, scope)
        for service in file.services:
            for rpc in service.rpcs:
                for name in (rpc.request, rpc.response):
                    self._check_type(name, scope, rpc.position, rpc.pointer)

    def _check_message(self, message: Message, scope: str) -> None:
        _check_once((*message.messages, *message.enums))
        for field in message.all_fields:
            if field.options or field.type not in SCALARS or field.label is not None:
                self._check_field(field, scope)
        for oneof in message.oneofs:
            group = next((field for field in oneof.fields if field.group is not None), None)
            if group is not None and self._can_be_stored:
                _fail(f"a group in a oneof, {_REFUSED}", group, expected="a field of a message type")
        for nested in message.messages:
            self._check_message(nested, f"{scope}.{nested.name}")
        self._check_extends(message.extends, scope)

    def _check_field(self, field: Field, scope: str) -> None:
        self._check_label(field)
        _check_default(field, can_be_stored=self._can_be_stored)
        if field.group is not None:
            if self._can_be_stored:
                _check_group(field.group)
            self._check_message(field.group, f"{scope}.{field.name}".lstrip("."))
        elif field.map is not None:
            self._check_map(field.type, field, scope)
        elif field.type not in SCALARS:
            self._check_type(field.type, scope, field.position, field.pointer)

    def _check_map(self, written: str, field: Field, scope: str) -> None:
        """Check the types of a map as written, ``map<string, A>``; its values may be maps, too."""
        key, _, value = written.removeprefix(_MAP).removesuffix(">").partition(", ")
        if key not in MAP_KEYS:
            problem = f"a map with keys of type {excerpt(key.partition('<')[0], 200)}"
            _fail(problem, field, expected="keys that are strings, booleans or whole numbers")
        if value.startswith(_MAP):
            self._check_map(value, field, scope)
        else:
            self._check_type(value, scope, field.position, field.pointer)

    def _check_label(self, field: Field) -> None:
        if field.label is Label.REQUIRED and self._file.is_proto3:
            _fail("a required field in proto3", field, expected="'optional', 'repeated' or no label")
        if self._file.edition and (field.label in {Label.REQUIRED, Label.OPTIONAL} or field.group is not None):
            what = "group" if field.group is not None else f"label {field.label}"
            _fail(
                f"the {what} in edition {self._file.edition}",
                field,
                expected="the feature 'field_presence' or 'message_encoding'",
            )

    def _check_extends(self, extends: Iterable[Extend], scope: str) -> None:
        for extend in extends:
            self._check_type(extend.extendee, scope, extend.position, extend.pointer)
            for field in extend.fields:
                self._check_field(field, scope)

    def _check_type(self, name: str, scope: str, position: Position, pointer: Pointer) -> None:
        if name in SCALARS or self._symbols.resolve(name, scope) is not None:
            return
        raise SchemaParseError(
            f"no type {excerpt(name, 200)!r} is known{_why_missing(self._file, self._imports)}",
            position=position,
            path=print_pointer(pointer),
            expected="a scalar type, or a message or enum of this file or of a file that it imports",
        )


def _why_missing(file: ProtoFile, imports: Mapping[str, ProtoFile]) -> str:
    """Return a text with the missing imports, the files that import them, and the known imports; empty for none."""
    missing = missing_imports(file, imports)
    if not missing:
        return ""
    asked = ", ".join(f"{item.path!r} (imported by {asker or 'the schema'})" for item, asker in missing)
    known = ", ".join(repr(path) for path in sorted(imports)) or "none"
    return f", and no reference supplies {asked}; imports that were found: {known}"


def _check_once(nodes: Iterable[Message | Enum | Service]) -> None:
    seen: dict[str, Position] = {}
    for node in nodes:
        if node.name in seen:
            first = min(seen[node.name], node.position)
            raise SchemaParseError(
                f"{node.name!r} is declared twice, first at line {first.line}, column {first.column}",
                position=max(seen[node.name], node.position),
                path=print_pointer(node.pointer),
                expected="another name",
            )
        seen[node.name] = node.position


def _check_group(group: Message) -> None:
    inner = next((field for field in group.all_fields if field.group is not None), None)
    if inner is not None:
        _fail(f"a group in a group, {_REFUSED}", inner, expected="a field of a message type")
    others = (group.oneofs, group.messages, group.enums, group.extends, group.options, group.reserved, group.extensions)
    first = next((each[0].position for each in others if each), group.empty_statement)
    if first is not None:
        raise SchemaParseError(
            f"a group with more than fields in it, {_REFUSED}",
            position=first,
            path=print_pointer(group.pointer),
            expected="fields",
        )


def _check_default(field: Field, *, can_be_stored: bool) -> None:
    """Raise ``SchemaParseError`` if a default that is stored without its quotes is not one word.

    Defaults of bytes are valid in a file that is not to be stored.
    """
    if field.type == "bytes" and not can_be_stored:
        return
    default = next((option for option in field.options if option.name == "default"), None)
    if default is None or not isinstance(default.value, Scalar) or default.value.kind is not ValueKind.STRING:
        return
    if field.type != "string" and _SPELLABLE.fullmatch(default.value.text) is None:
        _fail(
            f"a default of {field.type} that is not one word, which registries cannot store",
            field,
            expected="letters, digits, '_', '.' or '-'",
        )


def _fail(problem: str, field: Field, *, expected: str) -> NoReturn:
    raise SchemaParseError(problem, position=field.position, path=print_pointer(field.pointer), expected=expected)
