"""The types that a file may name, with the files that it imports: full names, features, enums, positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Final, Protocol

from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    Aggregate,
    Extend,
    ImportKind,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoImport,
    ProtoMessage,
    ProtoOption,
    Reserved,
    ScalarLiteral,
)
from counterfoil.schema.model import Reference
from counterfoil.schema.paths import FieldPath, member
from counterfoil.schema.texts import Pointer, Position

# The types that a file may name, by full name, and the resolution of names as written.
#
# Source: the Protocol Buffers language guide, "Packages and Name Resolution": a name is searched in the innermost scope
# first, then outwards; a name with a leading dot is a full name.

SCALARS: Final = frozenset(
    (
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
    )
)
"""The names of the scalar types."""

MAP_KEYS: Final = SCALARS - {"double", "float", "bytes"}
"""The types that the keys of a map may have."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A message or enum by its ``full_name`` (no leading dot), and the file that declares it."""

    full_name: str
    node: ProtoMessage | ProtoEnum
    file: ProtoFile

    @property
    def is_enum(self) -> bool:
        """Whether it is an enum."""
        return isinstance(self.node, ProtoEnum)


class SymbolTable:
    """The types that one file can name: its own, those of its imports, and those that these import publicly."""

    def __init__(self, file: ProtoFile, imports: Mapping[str, ProtoFile]) -> None:
        self._by_name: dict[str, Symbol] = {}
        self._extensions: dict[str, ProtoField] = {}
        for visible in (file, *visible_files(file, imports)):
            self._add_file(visible)

    def find(self, full_name: str) -> Symbol | None:
        """Return the type with this full name, with or without a leading dot; None if there is none."""
        return self._by_name.get(full_name.removeprefix("."))

    def resolve(self, name: str, scope: str) -> Symbol | None:
        """Return the type of ``name`` inside ``scope`` (the full name of a message or a package, or ``""``).

        ``name`` is as written in the file; None for a scalar and for an unknown name.
        """
        if name in SCALARS:
            return None
        for candidate in _candidates(name, scope):
            found = self._by_name.get(candidate)
            if found is not None:
                return found
        return None

    def absolute(self, name: str, scope: str) -> str:
        """Return the full name of a type with a dot before it; a scalar or an unknown name as it is written."""
        found = self.resolve(name, scope)
        return name if found is None else f".{found.full_name}"

    def resolve_extension(self, name: str, scope: str) -> str | None:
        """Return the full name of the extension ``name`` inside ``scope``; None if there is none."""
        return next((full for full in _candidates(name, scope) if full in self._extensions), None)

    def extension(self, full_name: str) -> ProtoField | None:
        """Return the field that declares an extension; None if there is none."""
        return self._extensions.get(full_name)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._by_name.values())

    def _add_file(self, file: ProtoFile) -> None:
        for enum in file.enums:
            self._add(Symbol(file.package_prefix + enum.name, enum, file))
        for message in file.messages:
            self._add_message(file.package_prefix + message.name, message, file)
        for extend in file.extends:
            self._add_extensions(file.package_prefix, extend, file)

    def _add_message(self, full_name: str, message: ProtoMessage, file: ProtoFile) -> None:
        self._add(Symbol(full_name, message, file))
        for enum in message.enums:
            self._add(Symbol(f"{full_name}.{enum.name}", enum, file))
        for nested in message.messages:
            self._add_message(f"{full_name}.{nested.name}", nested, file)
        for field in message.all_fields:
            if field.group is not None:
                self._add_message(f"{full_name}.{field.group.name}", field.group, file)
        for extend in message.extends:
            self._add_extensions(f"{full_name}.", extend, file)

    def _add_extensions(self, prefix: str, extend: Extend, file: ProtoFile) -> None:
        for field in extend.fields:
            self._extensions.setdefault(prefix + field.name, field)
            if field.group is not None:
                self._add_message(prefix + field.name, field.group, file)

    def _add(self, symbol: Symbol) -> None:
        self._by_name.setdefault(symbol.full_name, symbol)


def visible_files(file: ProtoFile, imports: Mapping[str, ProtoFile]) -> Iterator[ProtoFile]:
    """Yield the files whose types ``file`` may name: its imports, and those that these import publicly; each once."""
    seen: set[str] = set()
    waiting = [item.path for item in reversed(file.imports)]
    while waiting:
        path = waiting.pop()
        found = imports.get(path)
        if path in seen or found is None:
            continue
        seen.add(path)
        yield found
        waiting.extend(item.path for item in reversed(found.imports) if item.kind is ImportKind.PUBLIC)


def _candidates(name: str, scope: str) -> Iterator[str]:
    """Yield the possible full names of ``name``, the innermost first."""
    if name.startswith("."):
        yield name[1:]
        return
    while scope:
        yield f"{scope}.{name}"
        scope = scope.rpartition(".")[0]
    yield name


# A file with the files that it imports: the parts of a parsed schema.


class FileWithImports(Protocol):
    """The files of one schema; :class:`~counterfoil.schema.languages.protobuf.schema.ProtobufSchema` is one."""

    @property
    def file(self) -> ProtoFile:
        """The tree of the schema's own text."""

    @property
    def imports(self) -> Mapping[str, ProtoFile]:
        """The files that it imports, directly or not, by import path."""

    @property
    def references(self) -> Mapping[str, Reference]:
        """The references (subject and version) by import path."""

    @property
    def symbols(self) -> SymbolTable:
        """The types that the schema's own file can name."""


def missing_imports(file: ProtoFile, imports: Mapping[str, ProtoFile]) -> list[tuple[ProtoImport, str]]:
    """Return the imports without a file, each with the path of the importing file, ``""`` for the schema."""
    asking = (file, *imports.values())
    return [(item, each.path) for each in asking for item in each.imports if item.path not in imports]


# The features of fields and enums that follow from the syntax, the edition and the feature options of a file.
#
# Source: the Protocol Buffers guide, "Feature settings for editions": the defaults of proto2, proto3, 2023 and 2024,
# and inheritance from the file through the outer messages to the field itself.

_PREFIX: Final = "features"


@dataclass(frozen=True, slots=True)
class Features:
    """The features that apply to one place of a file.

    ``presence`` is ``EXPLICIT``, ``IMPLICIT`` or ``LEGACY_REQUIRED``; ``has_closed_enums`` whether an enum holds only
    its own numbers; ``is_packed`` whether repeated numbers are one block of bytes; ``is_delimited`` whether messages
    are encoded with start and end tags, as groups are; ``checks_utf8`` whether a string must be UTF-8; ``allows_json``
    whether the JSON form is supported.
    """

    presence: str = "EXPLICIT"
    has_closed_enums: bool = False
    is_packed: bool = True
    is_delimited: bool = False
    checks_utf8: bool = True
    allows_json: bool = True


PROTO2: Final = Features(has_closed_enums=True, is_packed=False, checks_utf8=False, allows_json=False)
PROTO3: Final = Features(presence="IMPLICIT")
EDITION: Final = Features()


def features_of(file: ProtoFile) -> Features:
    """Return the features of a whole file."""
    if file.edition is None:
        return PROTO3 if file.is_proto3 else PROTO2
    return with_options(EDITION, file.options)


def with_options(features: Features, options: Iterable[ProtoOption]) -> Features:
    """Return the features inside an element with ``options``; ``features`` are those of its parent."""
    for name, value in _feature_values(options):
        match name:
            case "field_presence":
                features = replace(features, presence=value)
            case "enum_type":
                features = replace(features, has_closed_enums=value == "CLOSED")
            case "repeated_field_encoding":
                features = replace(features, is_packed=value == "PACKED")
            case "message_encoding":
                features = replace(features, is_delimited=value == "DELIMITED")
            case "utf8_validation":
                features = replace(features, checks_utf8=value == "VERIFY")
            case "json_format":
                features = replace(features, allows_json=value == "ALLOW")
    return features


def is_feature(option: ProtoOption) -> bool:
    """Return whether an option sets features: all of ``features``, or one of them."""
    return option.name == _PREFIX or option.name.startswith(f"{_PREFIX}.")


def _feature_values(options: Iterable[ProtoOption]) -> Iterator[tuple[str, str]]:
    for option in options:
        if option.name == _PREFIX and isinstance(option.value, Aggregate):
            for entry in option.value.entries:
                if isinstance(entry.value, ScalarLiteral):
                    yield entry.name, entry.value.text
        elif option.name.startswith(f"{_PREFIX}.") and isinstance(option.value, ScalarLiteral):
            yield option.name.removeprefix(f"{_PREFIX}."), option.value.text


# Pointers and positions of the elements of a file.
#
# The pointer of an element without a name ends with a step that begins with ``#``, which no name can contain.

PACKAGE_POINTER: Final[Pointer] = ("#package",)
"""The pointer of a file's ``package`` statement."""


def import_pointer(path: str) -> Pointer:
    """Return the pointer of the import of a file."""
    return (f"#import {path}",)


def option_pointer(pointer: Pointer, name: str) -> Pointer:
    """Return the pointer of an option of the element at ``pointer``."""
    return (*pointer, f"#{name}")


def reserved_pointer(pointer: Pointer, index: int) -> Pointer:
    """Return the pointer of one of the ``reserved`` statements of the message or enum at ``pointer``."""
    return (*pointer, f"#reserved {index}")


def path_at(pointer: Pointer) -> FieldPath:
    """Return the field path of the element at ``pointer``; of its parent, if it has no name.

    >>> [step.name for step in path_at(("Order", "Line", "price", "#default"))]
    ['Order', 'Line', 'price']
    """
    return tuple(map(member, takewhile(lambda name: not name.startswith("#"), map(str, pointer))))


def position_by_pointer(file: ProtoFile) -> Mapping[Pointer, Position]:
    """Return the position of every element that findings may refer to, by its pointer.

    Of a name that is declared twice, it is the first position.
    """
    found: dict[Pointer, Position] = {}
    for pointer, position in _in_file(file):
        found.setdefault(pointer, position)
    return found


def _in_file(file: ProtoFile) -> Iterator[tuple[Pointer, Position]]:
    if file.package_position is not None:
        yield PACKAGE_POINTER, file.package_position
    for option in file.options:
        yield option_pointer((), option.name), option.position
    for item in file.imports:
        yield import_pointer(item.path), item.position
    for message in file.messages:
        yield from _in_message(message)
    for enum in file.enums:
        yield from _in_enum(enum)
    for extend in file.extends:
        yield from _in_extend(extend)
    for service in file.services:
        yield service.pointer, service.position
        for rpc in service.rpcs:
            yield rpc.pointer, rpc.position
            for option in rpc.options:
                yield option_pointer(rpc.pointer, option.name), option.position


def _in_message(message: ProtoMessage) -> Iterator[tuple[Pointer, Position]]:
    yield message.pointer, message.position
    yield from _reserved(message.pointer, message.reserved)
    for field in message.all_fields:
        yield from _in_field(field)
        if field.group is not None:
            yield from _in_message(field.group)
    for oneof in message.oneofs:
        yield oneof.pointer, oneof.position
    for nested in message.messages:
        yield from _in_message(nested)
    for enum in message.enums:
        yield from _in_enum(enum)
    for extend in message.extends:
        yield from _in_extend(extend)


def _in_enum(enum: ProtoEnum) -> Iterator[tuple[Pointer, Position]]:
    yield enum.pointer, enum.position
    yield from _reserved(enum.pointer, enum.reserved)
    for constant in enum.constants:
        yield constant.pointer, constant.position


def _in_extend(extend: Extend) -> Iterator[tuple[Pointer, Position]]:
    for field in extend.fields:
        yield from _in_field(field)


def _in_field(field: ProtoField) -> Iterator[tuple[Pointer, Position]]:
    yield field.pointer, field.position
    for option in field.options:
        yield option_pointer(field.pointer, option.name), option.position


def _reserved(pointer: Pointer, statements: Sequence[Reserved]) -> Iterator[tuple[Pointer, Position]]:
    for index, statement in enumerate(statements):
        yield reserved_pointer(pointer, index), statement.position


# Names and pointer of a declared type, which messages and enums share.


class DeclaredType:
    """A message or an enum; ``local_name`` is its full name without the package."""

    node: ProtoMessage | ProtoEnum
    local_name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The parts of its local name: outer messages first, its own name last."""
        return tuple(self.local_name.split("."))

    @property
    def pointer(self) -> Pointer:
        """Its pointer in the file that declares it."""
        return self.node.pointer or self.names


# The enums of a schema, for comparisons.


@dataclass(eq=False)
class EnumType(DeclaredType):
    """An enum: its names, its file and its features.

    ``local_name`` is the full name without the package. ``is_in_own_file`` is whether the schema's own file declares
    it, and not an import.
    """

    node: ProtoEnum
    file: ProtoFile
    full_name: str
    local_name: str
    is_closed: bool
    allows_json: bool
    is_in_own_file: bool

    @cached_property
    def name_by_number(self) -> Mapping[int, str]:
        """The symbol of each number; the last one if several share it."""
        return {constant.number: constant.name for constant in self.node.constants}

    @property
    def first_name(self) -> str | None:
        """The symbol that an unset field has: the first one; None for an enum without symbols."""
        return self.node.constants[0].name if self.node.constants else None

    @cached_property
    def names_by_number(self) -> Mapping[int, Sequence[str]]:
        """Every number with its symbols, in the order written."""
        names: dict[int, list[str]] = {}
        for constant in self.node.constants:
            names.setdefault(constant.number, []).append(constant.name)
        return names
