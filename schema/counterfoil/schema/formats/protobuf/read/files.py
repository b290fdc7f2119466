"""A file with the files that it imports: the parts of a parsed schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.protobuf.read.ast import Import, ProtoFile
    from counterfoil.schema.formats.protobuf.read.symbols import SymbolTable
    from counterfoil.schema.model import Reference


class SchemaFiles(Protocol):
    """The files of one schema; :class:`~counterfoil.schema.formats.protobuf.schema.ProtobufSchema` is one."""

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


def missing_imports(file: ProtoFile, imports: Mapping[str, ProtoFile]) -> list[tuple[Import, str]]:
    """Return the imports without a file, each with the path of the importing file, ``""`` for the schema."""
    asking = (file, *imports.values())
    return [(item, each.path) for each in asking for item in each.imports if item.path not in imports]
