"""Reading of a schema: its text or descriptor as a syntax tree, its imports, the requirements of a new schema."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.describe.known_files import known_file
from counterfoil.schema.languages.protobuf.printing import print_file
from counterfoil.schema.languages.protobuf.read.parser import parse_file
from counterfoil.schema.languages.protobuf.read.symbols import MAP_KEYS, SCALARS, FileWithImports, missing_imports
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    Extend,
    Label,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ScalarLiteral,
    Service,
    ValueKind,
)
from counterfoil.schema.model import ResolvedReference
from counterfoil.schema.texts import Pointer, Position, excerpt, print_pointer

# Reading of a schema's text, or of its descriptor in base64, as a syntax tree.
#
# A text that is not a ``.proto`` file may be a ``FileDescriptorProto``, or a ``FileDescriptorSet`` whose last file is
# the schema and whose others are imports, in base64.

MAX_CHARACTERS: Final = 4_000_000
"""The largest length of a text. Registries store schemas in Kafka records, by default up to a quarter of that size."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]++={0,2}\s*+")
_SHORTEST: Final = 4


@dataclass(frozen=True, slots=True)
class ReadText:
    """A syntax tree, and the files that were in the same descriptor set, by import path."""

    file: ProtoFile
    imports: Mapping[str, ProtoFile] = field(default_factory=dict)


def read_text(text: str, *, path: str = "") -> ReadText:
    """Return the tree of a text, which is a ``.proto`` file or a descriptor in base64.

    Raises ``SchemaParseError`` with line and column.
    """
    _check_size(text)
    _check_characters(text)
    if is_descriptor(text):
        found = _read_base64(text, path)
        if found is not None:
            return found
    file = parse_file(text, path=path)
    if _is_empty(file):
        raise SchemaParseError("the text declares nothing", expected="a file of Protobuf")
    return ReadText(file)


def is_descriptor(text: str) -> bool:
    """Return whether a text is a descriptor in base64: a ``.proto`` file with a declaration has other characters."""
    return len(text) >= _SHORTEST and _BASE64.fullmatch(text) is not None


def _check_size(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise SchemaParseError(
            f"the text has {len(text):,} characters", expected=f"at most {MAX_CHARACTERS:,}, more than a log can hold"
        )


def _check_characters(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaParseError(
            f"half a surrogate pair at character {error.start + 1}", expected="text that UTF-8 can carry"
        ) from None


def _is_empty(file: ProtoFile) -> bool:
    heads = (file.syntax, file.edition, file.package, file.imports, file.options)
    return not any((*heads, file.messages, file.enums, file.extends, file.services))


def _read_base64(text: str, path: str) -> ReadText | None:
    try:
        data = b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None
    from counterfoil.schema.languages.protobuf.describe.descriptors import files_of_descriptor

    try:
        files = files_of_descriptor(data)
        if not files:
            return None
        *others, last = files
        # Printed and parsed again, so that every node has a position and the tree is that of the stored text.
        imports = {each.path: parse_file(print_file(each), path=each.path) for each in others}
        return ReadText(parse_file(print_file(last), path=path), imports)
    except SchemaParseError as error:
        problem, expected = error.problem, error.expected
    except (ValueError, KeyError) as error:  # names that are not UTF-8, map entries without a key
        problem, expected = str(error), "a whole descriptor"
    raise SchemaParseError(f"the descriptor declares what no file can: {problem}", expected=expected)


# The files that a schema imports: from its references, from its descriptor set, or built in.


def resolve_imports(read: ReadText, references: Sequence[ResolvedReference]) -> Mapping[str, ProtoFile]:
    """Return every file that the schema imports, directly or not, by import path.

    A reference is found by its name, which is the import path; it takes precedence over a file of the descriptor set,
    and that over a built-in file. A path without a file is left out. Raises ``SchemaParseError`` with the name of the
    reference if its text cannot be parsed.
    """
    files = dict(read.imports)
    for reference in references:
        files[reference.reference.name] = _read_reference(reference)
    found: dict[str, ProtoFile] = {}
    waiting = [item.path for item in read.file.imports]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        file = files[path] if path in files else known_file(path)
        if file is not None:
            found[path] = file
            waiting.extend(item.path for item in file.imports)
    return found


def _read_reference(reference: ResolvedReference) -> ProtoFile:
    name = reference.reference.name
    try:
        return read_text(reference.text, path=name).file
    except SchemaParseError as error:
        subject, version = reference.reference.subject, reference.reference.version
        raise SchemaParseError(
            f"in the reference {name!r} (subject {subject}, version {version}): {error.problem}",
            position=error.position,
            path=error.path,
            expected=error.expected,
        ) from None


# The requirements of a new schema: known type names, each declared once, and a canonical text that can be parsed.
#
# Source: the schemas that Confluent Schema Registry 8.5 accepts; it does not check all rules of the language
# (:mod:`~counterfoil.schema.languages.protobuf.warnings` has the others).

_MAP: Final = "map<"
_REFUSED: Final = "which registries refuse"
_SPELLABLE: Final = re.compile(r"[A-Za-z0-9_.\-]+")


def check_valid(schema: FileWithImports, *, can_be_stored: bool = True) -> None:
    """Raise ``SchemaParseError`` for the first violated requirement of a new schema.

    Without ``can_be_stored``, what the language permits and registries alone refuse is no violation.
    """
    _Checker(schema, can_be_stored=can_be_stored).check()


class _Checker:
    """The check of one schema."""

    def __init__(self, schema: FileWithImports, *, can_be_stored: bool) -> None:
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

    def _check_message(self, message: ProtoMessage, scope: str) -> None:
        _check_once((*message.messages, *message.enums))
        for each in message.all_fields:
            if each.options or each.type not in SCALARS or each.label is not None:
                self._check_field(each, scope)
        for oneof in message.oneofs:
            group = next((field for field in oneof.fields if field.group is not None), None)
            if group is not None and self._can_be_stored:
                _fail(f"a group in a oneof, {_REFUSED}", group, expected="a field of a message type")
        for nested in message.messages:
            self._check_message(nested, f"{scope}.{nested.name}")
        self._check_extends(message.extends, scope)

    def _check_field(self, field: ProtoField, scope: str) -> None:
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

    def _check_map(self, written: str, field: ProtoField, scope: str) -> None:
        """Check the types of a map as written, ``map<string, A>``; its values may be maps, too."""
        key, _, value = written.removeprefix(_MAP).removesuffix(">").partition(", ")
        if key not in MAP_KEYS:
            problem = f"a map with keys of type {excerpt(key.partition('<')[0], 200)}"
            _fail(problem, field, expected="keys that are strings, booleans or whole numbers")
        if value.startswith(_MAP):
            self._check_map(value, field, scope)
        else:
            self._check_type(value, scope, field.position, field.pointer)

    def _check_label(self, field: ProtoField) -> None:
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
            for each in extend.fields:
                self._check_field(each, scope)

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


def _check_once(nodes: Iterable[ProtoMessage | ProtoEnum | Service]) -> None:
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


def _check_group(group: ProtoMessage) -> None:
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


def _check_default(field: ProtoField, *, can_be_stored: bool) -> None:
    """Raise ``SchemaParseError`` if a default that is stored without its quotes is not one word.

    Defaults of bytes are valid in a file that is not to be stored.
    """
    if field.type == "bytes" and not can_be_stored:
        return
    default = next((option for option in field.options if option.name == "default"), None)
    if default is None or not isinstance(default.value, ScalarLiteral) or default.value.kind is not ValueKind.STRING:
        return
    if field.type != "string" and _SPELLABLE.fullmatch(default.value.text) is None:
        _fail(
            f"a default of {field.type} that is not one word, which registries cannot store",
            field,
            expected="letters, digits, '_', '.' or '-'",
        )


def _fail(problem: str, field: ProtoField, *, expected: str) -> NoReturn:
    raise SchemaParseError(problem, position=field.position, path=print_pointer(field.pointer), expected=expected)
