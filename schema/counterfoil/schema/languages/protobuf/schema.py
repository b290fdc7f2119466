"""A parsed Protobuf schema: parsing, the file's tree, the files it imports, and its texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from counterfoil.schema.languages.protobuf.read.symbols import SymbolTable, position_by_pointer, visible_files
from counterfoil.schema.languages.protobuf.read.syntax_tree import Extend, ImportKind, ProtoFile, ProtoMessage
from counterfoil.schema.languages.protobuf.reading import check_valid, read_text, resolve_imports
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import ParsedSchema, SchemaWarning, Validation
from counterfoil.schema.paths import FieldPath, PathTarget
from counterfoil.schema.texts import Pointer, Position

if TYPE_CHECKING:
    from counterfoil.schema.languages.protobuf.types import TypeIndex

# Weak imports, which are in the stored text only if the file uses a type of one of them.


def without_unused_weak_imports(file: ProtoFile, imports: Mapping[str, ProtoFile], symbols: SymbolTable) -> ProtoFile:
    """Return the file as it is stored: without its weak imports, unless it names a type of one of them."""
    others = (item for item in file.imports if item.kind is not ImportKind.WEAK)
    stripped = replace(file, imports=tuple(others))
    seen = {id(file), *(id(each) for each in visible_files(stripped, imports))}
    for name, scope in _type_names(file):
        found = symbols.resolve(name, scope)
        if found is not None and id(found.file) not in seen:
            return file
    return stripped


def has_weak_imports(file: ProtoFile) -> bool:
    """Return whether the file has a weak import."""
    return any(item.kind is ImportKind.WEAK for item in file.imports)


def _type_names(file: ProtoFile) -> Iterator[tuple[str, str]]:
    """Yield every name of a type, and the scope in which it is resolved."""
    for message in file.messages:
        yield from _in_message(message, file.package_prefix + message.name)
    yield from _in_extends(file.extends, file.package)
    for service in file.services:
        for rpc in service.rpcs:
            yield from ((rpc.request, file.package), (rpc.response, file.package))


def _in_message(message: ProtoMessage, scope: str) -> Iterator[tuple[str, str]]:
    for field in message.all_fields:
        yield (field.type if field.map is None else field.map.value), scope
        if field.group is not None:
            yield from _in_message(field.group, f"{scope}.{field.name}")
    for nested in message.messages:
        yield from _in_message(nested, f"{scope}.{nested.name}")
    yield from _in_extends(message.extends, scope)


def _in_extends(extends: Iterable[Extend], scope: str) -> Iterator[tuple[str, str]]:
    for extend in extends:
        yield extend.extendee, scope
        yield from ((field.type, scope) for field in extend.fields)


# A parsed Protobuf schema: the file's tree, the files it imports, and its texts.


class ProtobufSchema(ParsedSchema):
    """A parsed Protobuf schema.

    ``file`` is the tree of the text; ``imports`` maps import paths to the files of references and the built-in files,
    including transitive ones; ``references`` has the reference (subject and version) by import path. If the text is a
    base64 descriptor, positions are those in the canonical text.
    """

    schema_type = SchemaType.PROTOBUF

    def __init__(
        self,
        text: str,
        file: ProtoFile,
        *,
        imports: Mapping[str, ProtoFile] | None = None,
        references: Mapping[str, Reference] | None = None,
    ) -> None:
        self.text = text
        self.file = file
        self.imports: Mapping[str, ProtoFile] = MappingProxyType(dict(imports or {}))
        self.references: Mapping[str, Reference] = MappingProxyType(dict(references or {}))

    @property
    def name(self) -> str | None:
        """The full name of the first message; None for a file without messages."""
        first = next(iter(self.file.messages), None)
        return None if first is None else f"{self.file.package_prefix}{first.name}"

    @cached_property
    def symbols(self) -> SymbolTable:
        """The types that the file can name: its own, and those of the files that it imports."""
        return SymbolTable(self.file, self.imports)

    @cached_property
    def types(self) -> TypeIndex:
        """The types of :attr:`symbols` with their fields by number, for comparisons; built once."""
        from counterfoil.schema.languages.protobuf.types import TypeIndex

        return TypeIndex(self)

    @property
    def stands_alone(self) -> bool:
        """Whether the schema has no references."""
        return not self.references

    def canonical(self) -> str:
        """Return the text that a registry stores and returns: one layout, no comments."""
        return self._canonical

    def normalized(self) -> str:
        """Return the canonical text with full type names and a fixed order of elements whose order has no meaning."""
        return self._normalized

    def formatted(self, form: str) -> str | None:
        return self.serialized() if form == "serialized" else None

    def field_names(self) -> Sequence[str]:
        first = next(iter(self.file.messages), None)
        return () if first is None else tuple(field.name for field in first.all_fields)

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether both have the same canonical text."""
        return isinstance(other, ProtobufSchema) and self.canonical() == other.canonical()

    def serialized(self) -> str:
        """Return the schema's descriptor in base64, as the registry returns it for ``format=serialized``."""
        from counterfoil.schema.languages.protobuf.describe.descriptors import serialized

        return serialized(self.canonical(), self.imports)

    def warnings(self) -> Sequence[SchemaWarning]:
        return list(self._warnings)

    def locate(self, pointer: Pointer) -> Position | None:
        while pointer and pointer not in self._positions:
            pointer = pointer[:-1]
        return self._positions[pointer] if pointer else self.file.position

    def path_at(self, pointer: Pointer) -> FieldPath:
        from counterfoil.schema.languages.protobuf.read.symbols import path_at

        return path_at(pointer)

    def target_of(self, path: FieldPath) -> PathTarget:
        from counterfoil.schema.languages.protobuf.paths import target_of

        return target_of(self.types.root, path)

    @cached_property
    def _positions(self) -> Mapping[Pointer, Position]:
        return position_by_pointer(self.file)

    @cached_property
    def _stored_file(self) -> ProtoFile:
        if not has_weak_imports(self.file):
            return self.file
        return without_unused_weak_imports(self.file, self.imports, self.symbols)

    @cached_property
    def _warnings(self) -> tuple[SchemaWarning, ...]:
        from counterfoil.schema.languages.protobuf.warnings import find_warnings

        return tuple(find_warnings(self))

    @cached_property
    def _canonical(self) -> str:
        from counterfoil.schema.languages.protobuf.printing import print_file

        return print_file(self._stored_file)

    @cached_property
    def _normalized(self) -> str:
        from counterfoil.schema.languages.protobuf.printing import normalize_file, print_file

        return print_file(normalize_file(self._stored_file, self.symbols))


# Parsing of a Protobuf schema's text and those of its references.


def parse_protobuf(
    text: str, references: Sequence[ResolvedReference] = (), *, validation: Validation = Validation.STRICT
) -> ProtobufSchema:
    """Return the schema that ``text`` declares: a ``.proto`` file, or a descriptor in base64.

    ``references`` are resolved, each with the path under which files import it as its name. Raises ``SchemaParseError``
    with line and column; unless validation is lenient, also for types that are not found and names declared twice, and
    for groups and defaults that registries do not accept, unless it is that of files.

    >>> parse_protobuf('syntax="proto3"; message A { int32 n=1; }').name
    'A'
    """
    read = read_text(text)
    imports = resolve_imports(read, references)
    by_name = {each.reference.name: each.reference for each in references}
    schema = ProtobufSchema(text, read.file, imports=imports, references=by_name)
    if validation is not Validation.LENIENT:
        check_valid(schema, can_be_stored=validation is not Validation.FILE)
    return schema
