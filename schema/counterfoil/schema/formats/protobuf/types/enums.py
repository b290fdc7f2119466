"""The enums of a schema, for comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.types.declared import DeclaredType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.protobuf.read.ast import Enum, ProtoFile


@dataclass(eq=False)
class EnumType(DeclaredType):
    """An enum: its names, its file and its features.

    ``local_name`` is the full name without the package. ``is_in_own_file`` is whether the schema's own file declares
    it, and not an import.
    """

    node: Enum
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
