"""The nodes that most versions of most schemas have in common, made once: primitive types, and fields of such types.

A thousand versions of one schema are mostly the same fields at the same places. Such nodes never change, and nothing
asks whether two of them are one, so that schemas may share them: less to make, to keep and to collect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.types import Field, Primitive, Union

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import Kind

MAX_SHARED: Final = 20_000


class Leaves:
    """Nodes by what they say and where; ``most`` is how many are kept, none for nodes whose place will change."""

    def __init__(self, *, most: int = MAX_SHARED) -> None:
        self._most = most
        self._primitives: dict[tuple[Kind, str], Primitive] = {}
        self._fields: dict[tuple[str, Kind, str], Field] = {}
        self._unions: dict[tuple[tuple[str, ...], str], Union] = {}

    def primitive(self, kind: Kind, pointer: str) -> Primitive:
        """The primitive type that is written as a bare word at ``pointer``."""
        found = self._primitives.get((kind, pointer))
        if found is None:
            found = Primitive(kind, pointer=pointer)
            if len(self._primitives) < self._most:
                self._primitives[kind, pointer] = found
        return found

    def field(self, name: str, kind: Kind, pointer: str) -> Field:
        """The field at ``pointer`` that says nothing but its name and a primitive type."""
        found = self._fields.get((name, kind, pointer))
        if found is None:
            found = Field(name, self.primitive(kind, f"{pointer}/type"), pointer=pointer)
            if len(self._fields) < self._most:
                self._fields[name, kind, pointer] = found
        return found

    def union(self, words: tuple[str, ...], pointer: str) -> Union | None:
        """The union of primitive types that is written as ``words`` at ``pointer``, where there was one before."""
        return self._unions.get((words, pointer))

    def keep_union(self, words: tuple[str, ...], union: Union) -> None:
        """Have ``union``, which holds primitive types alone, found from now on."""
        if len(self._unions) < self._most:
            self._unions[words, union.pointer] = union


SHARED: Final = Leaves()
