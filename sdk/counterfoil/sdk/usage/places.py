"""The places of values in a schema, as the paths of contracts: names of the schema alone, never a key of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.paths.model import ITEMS, VALUES, branch, member
from counterfoil.schema.paths.resolve import Fault
from counterfoil.schema.paths.text import print_path

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath, Step


class Place:
    """The places of one value: several if a union has several types with the same field, none if no schema names it."""

    def __init__(self, schema: ParsedSchema, paths: tuple[FieldPath, ...]) -> None:
        self.schema = schema
        self._paths = paths
        self._fields: dict[str, Place] = {}
        self.texts = tuple(print_path(path) for path in paths)

    @classmethod
    def root(cls, schema: ParsedSchema) -> Place:
        """Return the place of a whole value."""
        return cls(schema, ((),))

    def field(self, name: Any) -> Place:
        """Return the place of a field; of an entry of a map it is that of all entries."""
        found = self._fields.get(name)
        if found is None:
            found = self._inside(member(str(name)))
            if not found.texts:
                return self._inside(VALUES)  # not kept: there are as many names as keys in the data
            self._fields[str(name)] = found
        return found

    def items(self) -> Place:
        """Return the place of the items of an array."""
        return self._inside(ITEMS)

    def _inside(self, step: Step) -> Place:
        return Place(self.schema, tuple(path for outer in self._paths for path in self._steps(outer, step)))

    def _steps(self, outer: FieldPath, step: Step) -> list[FieldPath]:
        if self._has((*outer, step)):
            return [(*outer, step)]
        paths = ((*outer, branch(name), step) for name in self._branches(outer))
        return [path for path in paths if self._has(path)]

    def _branches(self, path: FieldPath) -> list[str]:
        from counterfoil.schema.formats.avro.paths import short_name
        from counterfoil.schema.formats.avro.types import Union

        node = self.schema.target_of(path).node
        return [short_name(one) for one in node.branches] if isinstance(node, Union) else []

    def _has(self, path: FieldPath) -> bool:
        try:
            self.schema.target_of(path)
        except Fault:
            return False
        return True
