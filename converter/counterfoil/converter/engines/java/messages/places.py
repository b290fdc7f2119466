"""Where a generated method finds the source's values: below a Java object of a type of the plan's tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.schema.evolution.tree import Record
from counterfoil.schema.evolution.types import split_null

if TYPE_CHECKING:
    from counterfoil.converter.engines.java.source import JavaClass
    from counterfoil.schema.evolution.tree import Node


@lru_cache(maxsize=32)
def _index_by_name(record: Record) -> dict[str, int]:
    return {member.name: index for index, member in enumerate(record.fields)}


@dataclass(frozen=True)
class Place:
    """A Java variable with a value of a type; with ``may_be_null`` it may be null."""

    name: str
    node: Node
    may_be_null: bool = False

    @classmethod
    def of(cls, name: str, node: Node) -> Place:
        """Return the place of any value of a type."""
        has_null, inner = split_null(node)
        return cls(name, inner if inner is not None else node, has_null)

    def find(self, path: tuple[str, ...], java: JavaClass) -> tuple[list[str], Place]:
        """Return the statements that find the value at ``path``, and its place."""
        lines: list[str] = []
        here = self
        for step in path:
            if not isinstance(here.node, Record):
                raise EngineCannot(ENGINE, field=".".join(path), why="a path into a value that is no record")
            index = _index_by_name(here.node)[step]
            below = Place.of(java.fresh("t"), here.node.fields[index].type)
            read = f"((Object[]) {here.name})[{index}]"
            value = f"{here.name} == null ? null : {read}" if here.may_be_null else read
            lines.append(f"Object {below.name} = {value};")
            here = Place(below.name, below.node, below.may_be_null or here.may_be_null)
        return lines, here
