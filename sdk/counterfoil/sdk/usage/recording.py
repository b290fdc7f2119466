"""Values that note which of their fields are read."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from counterfoil.sdk.usage.places import Place

    class Note(Protocol):
        """What is called with the paths of a field that is read."""

        def __call__(self, texts: tuple[str, ...], /) -> None:
            """Note the paths."""


WHOLE: Final = ("*",)
"""The path of a value of which it is not known what is read: all of it may be."""


_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})


class RecordingDict(dict[Any, Any]):
    """A dict that notes which keys are read; everything else is as in a dict. Copies and pickles are plain dicts."""

    __slots__ = ("_note", "_place")

    def __init__(self, value: dict[Any, Any], place: Place, note: Note) -> None:
        super().__init__(value)
        for key, item in value.items():
            if type(item) not in _SCALARS:
                dict.__setitem__(self, key, recording(item, place.field(key), note))
        self._place = place
        self._note = note

    def _read(self, key: Any) -> None:
        if dict.__contains__(self, key):
            self._note(self._place.field(key).texts)

    def _read_all(self) -> None:
        for key in dict.keys(self):
            self._read(key)

    def __getitem__(self, key: Any) -> Any:
        self._read(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        self._read(key)
        return dict.__contains__(self, key)

    def __iter__(self) -> Iterator[Any]:
        return dict.__iter__(self)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        self._read(key)
        return dict.get(self, key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key and return its value, or the default."""
        self._read(key)
        return dict.pop(self, key, *default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, which is the default if there was none."""
        self._read(key)
        return dict.setdefault(self, key, default)

    def popitem(self) -> tuple[Any, Any]:
        """Remove the last entry and return it."""
        self._read_all()
        return dict.popitem(self)

    def items(self) -> Any:
        """Return the entries."""
        self._read_all()
        return dict.items(self)

    def values(self) -> Any:
        """Return the values."""
        self._read_all()
        return dict.values(self)

    def copy(self) -> dict[Any, Any]:
        """Return a plain dict with the same entries."""
        return dict(self.items())

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self.items()),)


def recording(value: Any, place: Place, note: Note) -> Any:
    """Return the value, in which every dict notes what is read; of objects all fields are noted at once."""
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


def recorded(value: Any, place: Place, note: Note) -> Any:
    """Return a whole value, as :func:`recording` does; ``*`` is noted for one of which it is not known what is read."""
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
