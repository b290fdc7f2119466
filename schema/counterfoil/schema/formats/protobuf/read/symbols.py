"""The types that a file may name, by full name, and the resolution of names as written.

Source: the Protocol Buffers language guide, "Packages and Name Resolution": a name is searched in the innermost scope
first, then outwards; a name with a leading dot is a full name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.read.ast import Enum, ImportKind, Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.formats.protobuf.read.ast import Extend, Field, ProtoFile

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
    node: Message | Enum
    file: ProtoFile

    @property
    def is_enum(self) -> bool:
        """Whether it is an enum."""
        return isinstance(self.node, Enum)


class SymbolTable:
    """The types that one file can name: its own, those of its imports, and those that these import publicly."""

    def __init__(self, file: ProtoFile, imports: Mapping[str, ProtoFile]) -> None:
        self._by_name: dict[str, Symbol] = {}
        self._extensions: dict[str, Field] = {}
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

    def extension(self, full_name: str) -> Field | None:
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

    def _add_message(self, full_name: str, message: Message, file: ProtoFile) -> None:
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
