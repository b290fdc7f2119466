"""The source fields that rules read: their paths, whether they may be null, and whether they were used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from counterfoil.schema.plans.branches import BranchTable, BranchTables
from counterfoil.schema.plans.formulas import BranchSegment, Path, spell, target_path
from counterfoil.schema.plans.tree import ArrayType, FieldIndexes, MapType, Node, RecordType, UnionType
from counterfoil.schema.plans.types import split_null

_MAX_DEPTH: Final = 8
_MOST_PATHS: Final = 10_000
"""How many paths are looked at for one that is similar to an unknown one."""
ITSELF: Final = "value"
"""The name of an item, a value of a map, or a branch's value, that is no record, in the rules for it."""


@dataclass(slots=True)
class _Shared:
    """The state that all views of one scope share."""

    used: set[Path] = field(default_factory=set)
    entered: set[Path] = field(default_factory=set)
    elements: dict[Path, SourceScope] = field(default_factory=dict)
    fields: FieldIndexes = field(default_factory=FieldIndexes)
    tables: BranchTables = field(default_factory=BranchTables)

    def inside(self, node: Node | None, step: str) -> Node | None:
        """Return the type of a record's field, or of a union's branch; None if there is none."""
        _, inner = split_null(node) if node is not None else (False, None)
        if isinstance(step, BranchSegment):
            index = self.tables.of(inner).index_of(step) if isinstance(inner, UnionType) else None
            return None if index is None or not isinstance(inner, UnionType) else inner.branches[index]
        if not isinstance(inner, RecordType):
            return None
        found = self.fields.of(inner).by_name.get(step)
        return None if found is None else found.type


class SourceScope:
    """The record (or the element of an array or map, or the value of a branch) that paths start at.

    ``prefix`` is put before a printed path, such as ``stops[].``. Used fields are marked, so that :func:`unused_paths`
    can list the others afterwards.
    """

    def __init__(self, root: Node, *, place: str = "") -> None:
        self.root = root
        self.place = place
        self.prefix = f"{place}." if place else ""
        self._not_null: frozenset[Path] = frozenset()
        """The paths that are not null: the guards, and all paths that lead to them."""
        self._shared = _Shared()

    def guarded(self, path: Path) -> SourceScope:
        """Return the same scope for operations in which the value at ``path`` is known not to be null."""
        view = SourceScope(self.root, place=self.place)
        view._not_null = self._not_null.union(path[:end] for end in range(len(path) + 1))
        view._shared = self._shared
        return view

    def element(self, path: Path, segment: str, root: Node, *, is_same_place: bool = False) -> SourceScope:
        """Return the scope of the items (``segment`` is ``[]``), the values (``{}``), or a branch, at ``path``.

        ``is_same_place``: the value at the path is of no union, and its own only branch.
        """
        self.enter(path)
        key = (*path, segment)
        if key not in self._shared.elements:
            self._shared.elements[key] = SourceScope(root, place=self.spelt(path if is_same_place else key))
        return self._shared.elements[key]

    def spelt(self, path: Path) -> str:
        """Return the text of a path from the whole record on."""
        if path and (path[0] in {"[]", "{}"} or isinstance(path[0], BranchSegment)):
            first, rest = path[0], path[1:]
            step = spell((first,)) if isinstance(first, BranchSegment) else first
            inside = spell(rest)
            return f"{self.place}{step}{'' if not rest or inside[0] in '[{<' else '.'}{inside}"
        return self.prefix + spell(path) if path else self.place

    @property
    def is_record(self) -> bool:
        """Whether paths start with the name of a field; else ``value`` is the value itself."""
        return isinstance(split_null(self.root)[1], RecordType)

    @property
    def is_branch(self) -> bool:
        """Whether the value, which is of no union, becomes a branch of one, so that its parts have another scope."""
        return any(len(key) == 1 and isinstance(key[0], BranchSegment) for key in self._shared.elements)

    def inside(self, path: Path) -> Path:
        """Return a path of a rule as it is read: without the word for the value itself."""
        return path[1:] if path[:1] == (ITSELF,) and not self.is_record else path

    def found(self, path: Path) -> Path:
        """Return a path that exists, as it is read: branches have their index."""
        made: list[str] = []
        node: Node | None = self.root
        for step in self.inside(path):
            _, inner = split_null(node) if node is not None else (False, None)
            if isinstance(step, BranchSegment) and inner is not None:
                table = self._shared.tables.of(inner)
                made.append(table.segment(table.index_of(step) or 0))
            else:
                made.append(step)
            node = self._shared.inside(node, step)
        return tuple(made)

    def type_at(self, path: Path) -> Node | None:
        """Return the type at ``path``, ignoring null on the way; None when there is no such field."""
        node: Node | None = self.root
        for step in self.inside(path):
            node = self._shared.inside(node, step)
        return node

    def oneof_at(self, path: Path) -> tuple[Path, str] | None:
        """Return which oneof the field at ``path`` is one of, as its place and its name; None for other fields."""
        around = self.type_at(path[:-1]) if path else None
        _, record = split_null(around) if around is not None else (False, None)
        members = record.fields if isinstance(record, RecordType) else ()
        oneof = next((each.oneof for each in members if each.name == path[-1]), None)
        return None if oneof is None else (path[:-1], oneof)

    def is_nullable(self, path: Path) -> bool:
        """Return whether the value at ``path``, or a record on the way to it, may be null, or of another branch."""
        path = self.inside(path)
        node: Node | None = self.root
        for end in range(len(path) + 1):
            if node is None:
                return False
            if path[:end] not in self._not_null and (split_null(node)[0] or _is_branch(path[:end])):
                return True
            if end < len(path):
                node = self._shared.inside(node, path[end])
        return False

    def use(self, path: Path) -> None:
        """Mark the field at ``path`` and everything inside it as used."""
        self._shared.used.add(path)

    def enter(self, path: Path) -> None:
        """Mark that the fields of the record at ``path`` are used separately."""
        self._shared.entered.add(path)

    def names(self) -> list[str]:
        """Return the names that a path may start with."""
        _, inner = split_null(self.root)
        if isinstance(inner, RecordType):
            return [member.name for member in inner.fields]
        return [ITSELF] if self.place else []

    def similar_paths(self) -> list[str]:
        """Return the paths of fields, without those inside of elements, for the one that may have been meant."""
        return [spell(path) for path in islice(self.paths(()), _MOST_PATHS)]

    def all_paths(self) -> Iterator[str]:
        """Yield paths in their printed form, including elements."""
        yield from (self.spelt(path) for path in islice(self.paths(()), _MOST_PATHS))
        for below in self._shared.elements.values():
            yield from below.all_paths()

    def paths(self, path: Path) -> Iterator[Path]:
        """Yield every path below ``path``, to a limited depth."""
        node = self.type_at(path)
        _, inner = split_null(node) if node is not None else (False, None)
        if inner is None or len(path) >= _MAX_DEPTH:
            return
        for step in self._steps(inner):
            yield (*path, step)
            yield from self.paths((*path, step))

    def _steps(self, inner: Node) -> list[str]:
        """Return the steps into a record or a union of several types."""
        if isinstance(inner, RecordType):
            return [member.name for member in inner.fields]
        if not isinstance(inner, UnionType):
            return []
        table = self._shared.tables.of(inner)
        return [table.segment(index) for index in table.values()]

    def unused(self, path: Path = ()) -> Iterator[str]:
        """Yield the fields at and below ``path`` that were not used: the outermost of each."""
        shared = self._shared
        if path in shared.used:
            return
        node = self.type_at(path)
        _, inner = split_null(node) if node is not None else (False, None)
        single = () if inner is None or isinstance(inner, UnionType) else (shared.tables.of(inner).segment(0),)
        elements = [(*path, segment) for segment in ("[]", "{}", *single) if (*path, segment) in shared.elements]
        if elements:
            yield from (each for key in elements for each in shared.elements[key].unused())
        elif inner is not None and self._is_touched(path) and (steps := self._steps(inner)):
            for key in ((*path, step) for step in steps):
                yield from shared.elements[key].unused() if key in shared.elements else self.unused(key)
        elif not (isinstance(inner, RecordType) and not inner.fields and self._is_touched(path)):
            yield self.spelt(path)

    def _is_touched(self, path: Path) -> bool:
        shared = self._shared
        return any(used[: len(path)] == path for used in (*shared.used, *shared.entered))


def _is_branch(path: Path) -> bool:
    return bool(path) and isinstance(path[-1], BranchSegment)


def unused_paths(scope: SourceScope) -> Iterator[str]:
    """Yield the printed paths of unused source fields; an unused record is one path, without its fields."""
    _, inner = split_null(scope.root)
    if isinstance(inner, RecordType) and not scope.is_branch:
        for member in inner.fields:
            yield from scope.unused((member.name,))
    elif isinstance(inner, RecordType | UnionType):
        yield from scope.unused()


def has_path(root: Node, path: Path) -> bool:
    """Return whether a type has a part at a path, in which branches may be left out."""
    nodes = [root]
    for step in path:
        found: list[Node] = []
        for node in nodes:
            inner = split_null(node)[1]
            if isinstance(inner, UnionType) and not isinstance(step, BranchSegment):
                found += [part for branch in inner.branches for part in _part(branch, step)]
            elif inner is not None:
                found += _part(inner, step)
        nodes = list({id(node): node for node in found}.values())
    return bool(nodes)


def _part(node: Node, step: str) -> list[Node]:
    match node:
        case UnionType() if isinstance(step, BranchSegment):
            index = BranchTable(node).index_of(step)
            return [] if index is None else [node.branches[index]]
        case RecordType() if not isinstance(step, BranchSegment):
            return [member.type for member in node.fields if member.name == step]
        case ArrayType() if step == "[]":
            return [node.items]
        case MapType() if step == "{}":
            return [node.values]
    return []


def is_within(path: str, listed: str) -> bool:
    """Return whether a path is one that is listed, or inside of it; what is listed may leave out branches."""
    steps, wanted = target_path(path), target_path(listed)
    without = tuple(step for step in steps if not isinstance(step, BranchSegment))
    return steps[: len(wanted)] == wanted or without[: len(wanted)] == wanted
