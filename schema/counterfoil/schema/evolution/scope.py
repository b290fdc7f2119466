"""The source fields of a rule: their paths, whether they may be null, and whether they were used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil.schema.evolution.field_paths import spell
from counterfoil.schema.evolution.tree import Record
from counterfoil.schema.evolution.types import split_null

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.evolution.tree import Node

Path = tuple[str, ...]

_MAX_DEPTH = 8


@dataclass(slots=True)
class _Shared:
    """The state that all views of one scope share."""

    used: set[Path] = field(default_factory=set)
    entered: set[Path] = field(default_factory=set)
    elements: dict[Path, Scope] = field(default_factory=dict)


class Scope:
    """The record (or the element of an array or map) that paths start at.

    ``prefix`` is put before a printed path, such as ``stops[].``. Used fields are marked, so that :func:`unused_paths`
    can list the others afterwards.
    """

    def __init__(self, root: Node, *, prefix: str = "", place: str = "") -> None:
        self.root = root
        self.prefix = prefix
        self.place = place
        self._not_null: frozenset[Path] = frozenset()
        """The paths that are not null: the guards, and all paths that lead to them."""
        self._shared = _Shared()

    def guarded(self, path: Path) -> Scope:
        """Return the same scope for operations in which the value at ``path`` is known not to be null."""
        view = Scope(self.root, prefix=self.prefix, place=self.place)
        view._not_null = self._not_null.union(path[:end] for end in range(len(path) + 1))
        view._shared = self._shared
        return view

    def element(self, path: Path, segment: str, root: Node) -> Scope:
        """Return the scope of the items (``segment`` is ``[]``) or values (``{}``) of the field at ``path``."""
        spelt = spell(path)
        place = f"{self.prefix}{spelt}{segment}" if spelt else f"{self.place}{segment}"
        self.enter(path)
        return self._shared.elements.setdefault(path, Scope(root, prefix=f"{place}.", place=place))

    def type_at(self, path: Path) -> Node | None:
        """Return the type at ``path``, ignoring null on the way; None when there is no such field."""
        node: Node | None = self.root
        for name in path:
            _, inner = split_null(node) if node is not None else (False, None)
            if not isinstance(inner, Record):
                return None
            node = next((member.type for member in inner.fields if member.name == name), None)
        return node

    def oneof_at(self, path: Path) -> tuple[Path, str] | None:
        """Return which oneof the field at ``path`` is one of, as its place and its name; None for other fields."""
        around = self.type_at(path[:-1]) if path else None
        _, record = split_null(around) if around is not None else (False, None)
        members = record.fields if isinstance(record, Record) else ()
        oneof = next((each.oneof for each in members if each.name == path[-1]), None)
        return None if oneof is None else (path[:-1], oneof)

    def is_nullable(self, path: Path) -> bool:
        """Return whether the value at ``path``, or a record on the way to it, may be null."""
        node: Node | None = self.root
        for end in range(len(path) + 1):
            if node is None:
                return False
            may_be_null, inner = split_null(node)
            if may_be_null and path[:end] not in self._not_null:
                return True
            if end == len(path) or not isinstance(inner, Record):
                return False
            node = next((member.type for member in inner.fields if member.name == path[end]), None)
        return False

    def use(self, path: Path) -> None:
        """Mark the field at ``path`` and everything inside it as used."""
        self._shared.used.add(path)

    def enter(self, path: Path) -> None:
        """Mark that the fields of the record at ``path`` are used separately."""
        self._shared.entered.add(path)

    def names(self) -> list[str]:
        """Return the names of the fields that a path may start with."""
        _, inner = split_null(self.root)
        return [member.name for member in inner.fields] if isinstance(inner, Record) else []

    def all_paths(self) -> Iterator[str]:
        """Yield every path in its printed form, including elements."""
        yield from (self.prefix + spell(path) for path in self.paths(()))
        for below in self._shared.elements.values():
            yield from below.all_paths()

    def paths(self, path: Path) -> Iterator[Path]:
        """Yield every path below ``path``, to a limited depth."""
        node = self.type_at(path)
        _, inner = split_null(node) if node is not None else (False, None)
        if isinstance(inner, Record) and len(path) < _MAX_DEPTH:
            for member in inner.fields:
                yield (*path, member.name)
                yield from self.paths((*path, member.name))

    def unused(self, path: Path = ()) -> Iterator[str]:
        """Yield the fields at and below ``path`` that were not used: the outermost of each."""
        shared = self._shared
        if path in shared.used:
            return
        node = self.type_at(path)
        _, inner = split_null(node) if node is not None else (False, None)
        is_touched = any(used[: len(path)] == path for used in (*shared.used, *shared.entered))
        if path in shared.elements:
            yield from shared.elements[path].unused()
        elif isinstance(inner, Record) and is_touched:
            for member in inner.fields:
                yield from self.unused((*path, member.name))
        elif path:
            yield self.prefix + spell(path)
        else:
            yield self.place


def unused_paths(scope: Scope) -> Iterator[str]:
    """Yield the printed paths of unused source fields; an unused record is one path, without its fields."""
    _, inner = split_null(scope.root)
    if isinstance(inner, Record):
        for member in inner.fields:
            yield from scope.unused((member.name,))
