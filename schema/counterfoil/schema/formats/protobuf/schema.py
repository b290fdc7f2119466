"""A parsed Protobuf schema: the file's tree, the files it imports, and its texts."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.read.places import position_by_pointer
from counterfoil.schema.formats.protobuf.read.symbols import SymbolTable
from counterfoil.schema.formats.protobuf.read.weak_imports import has_weak_imports, without_unused_weak_imports
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.protobuf.read.ast import ProtoFile
    from counterfoil.schema.formats.protobuf.types.index import TypeIndex
    from counterfoil.schema.model import Reference
    from counterfoil.schema.parsed import SchemaWarning
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.paths.resolve import Target
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position


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
        from counterfoil.schema.formats.protobuf.types.index import TypeIndex

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
        from counterfoil.schema.formats.protobuf.describe.descriptors import serialized

        return serialized(self.canonical(), self.imports)

    def warnings(self) -> Sequence[SchemaWarning]:
        return list(self._warnings)

    def locate(self, pointer: Pointer) -> Position | None:
        while pointer and pointer not in self._positions:
            pointer = pointer[:-1]
        return self._positions[pointer] if pointer else self.file.position

    def path_at(self, pointer: Pointer) -> FieldPath:
        from counterfoil.schema.formats.protobuf.read.places import path_at

        return path_at(pointer)

    def target_of(self, path: FieldPath) -> Target:
        from counterfoil.schema.formats.protobuf.paths import target_of

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
        from counterfoil.schema.formats.protobuf.warnings import find_warnings

        return tuple(find_warnings(self))

    @cached_property
    def _canonical(self) -> str:
        from counterfoil.schema.formats.protobuf.print.printing import print_file

        return print_file(self._stored_file)

    @cached_property
    def _normalized(self) -> str:
        from counterfoil.schema.formats.protobuf.print.normalized import normalize_file
        from counterfoil.schema.formats.protobuf.print.printing import print_file

        return print_file(normalize_file(self._stored_file, self.symbols))
