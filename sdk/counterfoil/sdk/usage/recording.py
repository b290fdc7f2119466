"""Values that note which of their fields are read, and the places of these in a schema."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.paths import ITEMS, VALUES, PathFault, branch, member, print_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths import FieldPath, Step


# Values that note which of their fields are read.

if TYPE_CHECKING:

    class Note(Protocol):
        """A function that is called with the path of a field that is read."""

        def __call__(self, texts: tuple[str, ...], /) -> None:
            """Note the paths."""


WHOLE: Final = ("*",)
"""The path of a value of which it is not known what is read: all of it may be."""


_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})


class RecordingDict(dict[Datum, Datum]):
    """A dict that notes which keys are read; everything else is as in a dict. Copies and pickles are plain dicts."""

    __slots__ = ("_note", "_place")

    def __init__(self, value: dict[Datum, Datum], place: ObservedPlace, note: Note) -> None:
        super().__init__(value)
        for key, item in value.items():
            if type(item) not in _SCALARS:
                dict.__setitem__(self, key, recording(item, place.field(key), note))
        self._place = place
        self._note = note

    def _read(self, key: object) -> None:
        if dict.__contains__(self, key):
            self._note(self._place.field(key).texts)

    def _read_all(self) -> None:
        for key in dict.keys(self):
            self._read(key)

    def __getitem__(self, key: object) -> Datum:
        self._read(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        self._read(key)
        return dict.__contains__(self, key)

    def __iter__(self) -> Iterator[Datum]:
        return dict.__iter__(self)

    def get(self, key: object, default: object = None) -> Datum:
        """Return the value of a key, or the default."""
        self._read(key)
        return dict.get(self, key, default)

    def pop(self, key: object, *default: object) -> Datum:
        """Remove a key and return its value, or the default."""
        self._read(key)
        return dict.pop(self, key, *default)

    def setdefault(self, key: object, default: object = None) -> Datum:
        """Return the value of a key, which is the default if there was none."""
        self._read(key)
        return dict.setdefault(self, key, default)

    def popitem(self) -> tuple[Datum, Datum]:
        """Remove the last entry and return it."""
        self._read_all()
        return dict.popitem(self)

    def items(self) -> Datum:
        """Return the entries."""
        self._read_all()
        return dict.items(self)

    def values(self) -> Datum:
        """Return the values."""
        self._read_all()
        return dict.values(self)

    def copy(self) -> dict[Datum, Datum]:
        """Return a plain dict with the same entries."""
        return dict(self.items())

    def __or__(self, other: Datum) -> Datum:
        return self.copy() | other

    def __ror__(self, other: Datum) -> Datum:
        return other | self.copy()

    def __reduce__(self) -> tuple[Datum, ...]:
        return dict, (dict(self.items()),)


def recording(value: object, place: ObservedPlace, note: Note) -> Datum:
    """Return the value, in which every dict notes its reads; of objects all fields are noted at once."""
    if type(value) is dict:
        return RecordingDict(value, place, note)
    if type(value) is list:
        if all(type(item) in _SCALARS for item in value):
            return value
        inner = place.items()
        return [recording(item, inner, note) for item in value]
    names = _field_names(type(value))  # type: ignore[arg-type] # classes are hashable
    for name in names:
        inner = place.field(name)
        note(inner.texts)
        recording(getattr(value, name, None), inner, note)
    return value


def recorded(value: object, place: ObservedPlace, note: Note) -> Datum:
    """Return a whole value, as :func:`recording` does; ``*`` is noted for one whose reads are not known."""
    if type(value) in {dict, list} or _field_names(type(value)):  # type: ignore[arg-type] # classes are hashable
        return recording(value, place, note)
    note(WHOLE)  # a scalar, or a message of Protobuf
    return value


@lru_cache(maxsize=256)
def _field_names(kind: type) -> tuple[str, ...]:
    """Return the fields of a class of models: a dataclass, or one of msgspec, pydantic or attrs."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    for name in ("__struct_fields__", "model_fields"):
        found = getattr(kind, name, None)
        if found is not None:
            return tuple(found)
    return tuple(field.name for field in getattr(kind, "__attrs_attrs__", ()))


# The places of values in a schema, as the paths of contracts: names of the schema alone, never a key of the data.


class ObservedPlace:
    """The places of one value: several if a union has several types with the same field, none if no schema names it."""

    def __init__(self, schema: ParsedSchema, paths: tuple[FieldPath, ...]) -> None:
        self.schema = schema
        self._paths = paths
        self._fields: dict[str, ObservedPlace] = {}
        self.texts = tuple(print_path(path) for path in paths)

    @classmethod
    def root(cls, schema: ParsedSchema) -> ObservedPlace:
        """Return the place of a whole value."""
        return cls(schema, ((),))

    def field(self, name: Datum) -> ObservedPlace:
        """Return the place of a field; of an entry of a map it is that of all entries."""
        found = self._fields.get(name)
        if found is None:
            found = self._inside(member(str(name)))
            if not found.texts:
                return self._inside(VALUES)  # not kept: there are as many names as keys in the data
            self._fields[str(name)] = found
        return found

    def items(self) -> ObservedPlace:
        """Return the place of the items of an array."""
        return self._inside(ITEMS)

    def _inside(self, step: Step) -> ObservedPlace:
        return ObservedPlace(self.schema, tuple(path for outer in self._paths for path in self._steps(outer, step)))

    def _steps(self, outer: FieldPath, step: Step) -> list[FieldPath]:
        if self._has((*outer, step)):
            return [(*outer, step)]
        paths = ((*outer, branch(name), step) for name in self._branches(outer))
        return [path for path in paths if self._has(path)]

    def _branches(self, path: FieldPath) -> list[str]:
        from counterfoil.schema.languages.avro.paths import short_name
        from counterfoil.schema.languages.avro.types import AvroUnion

        node = self.schema.target_of(path).node
        return [short_name(one) for one in node.branches] if isinstance(node, AvroUnion) else []

    def _has(self, path: FieldPath) -> bool:
        try:
            self.schema.target_of(path)
        except PathFault:
            return False
        return True
