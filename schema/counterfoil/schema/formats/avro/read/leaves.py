"""A cache of the nodes that most versions of most schemas have in common: unnamed types, and their fields.

A thousand versions of one schema have mostly the same fields at the same places. Such nodes never change, and no code
depends on their identity, so that schemas may share them; this saves time and memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.formats.avro.types import NO_DEFAULT, Array, Field, Primitive, Union

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Json, Kind, NoDefault
    from counterfoil.schema.pointer import Pointer

MAX_SHARED: Final = 50_000

_FieldKey: TypeAlias = "tuple[str, str | tuple[str, ...], bool, Pointer]"
_Leaf: TypeAlias = Primitive | Array | Union


class Leaves:
    """A cache of nodes by content and pointer.

    ``most`` is the largest number of nodes of a kind: 0 for texts whose pointers will change.
    """

    def __init__(self, *, most: int = MAX_SHARED) -> None:
        self._most = most
        self._primitives: dict[tuple[Kind, Pointer], Primitive] = {}
        self._arrays: dict[tuple[Kind, Pointer], Array] = {}
        self._unions: dict[tuple[tuple[str, ...], Pointer], Union] = {}
        self._fields: dict[tuple[str, AvroType, bool], Field] = {}
        self._valid_fields: dict[_FieldKey, Field] = {}
        self._kept: set[AvroType] = set()

    def primitive(self, kind: Kind, pointer: Pointer) -> Primitive:
        """Return the primitive type without properties at ``pointer``."""
        found = self._primitives.get((kind, pointer))
        if found is None:
            found = Primitive(kind, pointer=pointer)
            if self._keeps(found):
                self._primitives[kind, pointer] = found
        return found

    def array(self, kind: Kind, pointer: Pointer) -> Array:
        """Return the array of a primitive type, without properties, at ``pointer``."""
        found = self._arrays.get((kind, pointer))
        if found is None:
            found = Array(self.primitive(kind, (*pointer, "items")), pointer=pointer)
            if self._keeps(found):
                self._arrays[kind, pointer] = found
        return found

    def union(self, words: tuple[str, ...], pointer: Pointer) -> Union | None:
        """Return the cached union of primitive types for ``words`` at ``pointer``, or None."""
        return self._unions.get((words, pointer))

    def keep_union(self, words: tuple[str, ...], union: Union) -> None:
        """Cache ``union``, which has only primitive types without properties."""
        if self._keeps(union):
            self._unions[words, union.pointer] = union

    def field(
        self, name: str, field_type: AvroType, pointer: Pointer, *, default: NoDefault | None = NO_DEFAULT
    ) -> Field:
        """Return the field at ``pointer`` with a name and a type, and at most a null default.

        It is cached if its type is.
        """
        key = (name, field_type, default is None)
        found = self._fields.get(key)
        if found is None:
            found = Field(name, field_type, default, pointer=pointer)
            if field_type in self._kept and len(self._fields) < self._most:
                self._fields[key] = found
        return found

    def known_field(self, value: Json, pointer: Pointer) -> Field | None:
        """Return the cached valid field for a JSON object equal to ``value`` at ``pointer``, or None."""
        key = _key_of_field(value, pointer)
        return None if key is None else self._valid_fields.get(key)

    def keep_field(self, value: Json, field: Field) -> None:
        """Cache ``field``, which is valid and was read from ``value``, if its type is cached."""
        key = _key_of_field(value, field.pointer)
        if key is not None and field.type in self._kept and len(self._valid_fields) < self._most:
            self._valid_fields[key] = field

    def _keeps(self, leaf: _Leaf) -> bool:
        """Return whether there is room for another node; then it is counted as cached."""
        if len(self._kept) >= self._most:
            return False
        self._kept.add(leaf)
        return True


def _key_of_field(value: Json, pointer: Pointer) -> _FieldKey | None:
    """Return the cache key of a field with a name, a type of plain names, and at most a null default; else None."""
    if type(value) is not dict or value.get("default") is not None or len(value) != 2 + ("default" in value):
        return None
    name, written = value.get("name"), value.get("type")
    if type(name) is not str:
        return None
    if type(written) is list:
        words = tuple(written)
        return (name, words, "default" in value, pointer) if set(map(type, words)) == {str} else None
    return (name, written, "default" in value, pointer) if type(written) is str else None


SHARED: Final = Leaves()
