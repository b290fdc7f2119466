"""The type of a table's rows, independent of the schema's language.

Source: the type systems of Apache Iceberg (format version 2) and Apache Flink SQL, as far as they agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.compatibility.report import Origin

if TYPE_CHECKING:
    from counterfoil.schema.pointer import Pointer

_ROOT = Origin("", (), is_own=True)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parts, such as ``boolean``, ``int``, ``long``, ``double``, ``decimal`` or ``string``.

    ``precision`` and ``scale`` are set for ``decimal``, ``size_bytes`` for ``fixed``.
    """

    name: str
    precision: int = 0
    scale: int = 0
    size_bytes: int = 0

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision}, {self.scale})"
        return f"fixed({self.size_bytes})" if self.name == "fixed" else self.name


@dataclass(frozen=True, slots=True)
class Column:
    """A place of a value: a column, an array's element, a map's value.

    The pointers are into the schema's own text: ``pointer`` to the column, ``type_pointer`` to its type, and
    ``required_pointer`` to the declaration that it is required, empty if there is none. ``is_optional`` is whether it
    is nullable because it may be left out. ``origin`` is the declaration that contains it.
    """

    name: str
    type: TableType
    nullable: bool = False
    has_default: bool = False
    pointer: Pointer = ()
    type_pointer: Pointer = ()
    required_pointer: Pointer = ()
    is_optional: bool = False
    origin: Origin = field(default=_ROOT, compare=False)


@dataclass(frozen=True, slots=True)
class Row:
    """Columns, in order; ``pointer`` is that of their list, ``origin`` the declaration that contains them."""

    columns: tuple[Column, ...]
    pointer: Pointer = ()
    origin: Origin = field(default=_ROOT, compare=False)

    def __str__(self) -> str:
        return "row"


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array."""

    element: Column

    def __str__(self) -> str:
        return "array"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map."""

    key: Scalar
    value: Column

    def __str__(self) -> str:
        return f"map of {self.key}"


TableType: TypeAlias = Scalar | Row | ListOf | MapOf


class NotATable(Exception):
    """A schema has no table type; ``reason`` is why, ``pointer`` the place."""

    def __init__(self, reason: str, pointer: Pointer) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pointer = pointer
