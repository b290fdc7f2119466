"""Types that contain themselves: each pair of records is derived once, and its operation is repeated inside it.

The walk of a derivation meets such a pair again below itself. The place is a ``Repeat`` then, and the operation of the
first place becomes a ``Define`` when the plan is complete: only there it is known which operations are repeated, and a
plan in which none is has the operations that it always had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans.formulas import FieldValue, Path, spell
from counterfoil.schema.plans.model import (
    Arithmetic,
    BuildRecord,
    Define,
    MapBranches,
    MapItems,
    MapTagged,
    MapValues,
    Op,
    Read,
    Repeat,
)
from counterfoil.schema.plans.tree import RecordType

_T = TypeVar("_T")
_INNER = {
    MapItems: frozenset({"item"}),
    MapValues: frozenset({"value"}),
    MapBranches: frozenset({"branches"}),
    MapTagged: frozenset({"branches"}),
    Define: frozenset({"value"}),
}
"""The members of operations whose scope is another one."""


class OpenPair:
    """A pair of records whose operation is being derived, or was: its number, and the place where that began."""

    def __init__(self, number: int, where: str) -> None:
        self.number = number
        self.where = where
        self.is_repeated = False


class Recursion:
    """The pairs of records of one derivation that contain themselves."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], OpenPair] = {}
        self._done: dict[tuple[int, int], OpenPair] = {}
        self._made: list[tuple[OpenPair, BuildRecord, Path]] = []
        self._repeats = 0

    def met(self, source: RecordType, target: RecordType, *, has_rules: bool) -> OpenPair | None:
        """Return the pair if it is met again: inside itself, or without rules behind one that was."""
        pair = id(source), id(target)
        return self._open.get(pair) or (None if has_rules else self._done.get(pair))

    def is_open(self, pair: OpenPair) -> bool:
        """Return whether the operation of a pair is being derived."""
        return pair in self._open.values()

    def repeated(self, pair: OpenPair, of: Op) -> Repeat:
        """Return the operation for a value of a pair that was met again."""
        pair.is_repeated = True
        self._repeats += 1
        return Repeat(of, pair.number)

    def derived(
        self,
        records: tuple[RecordType, RecordType],
        where: str,
        path: Path,
        derive: Callable[[], BuildRecord],
        *,
        has_rules: bool,
    ) -> tuple[BuildRecord, OpenPair]:
        """Derive the operation of a pair of records, whose source is at ``path``."""
        key = id(records[0]), id(records[1])
        pair, before = OpenPair(len(self._made) + len(self._open), where), self._repeats
        self._open[key] = pair
        try:
            built = derive()
        finally:
            del self._open[key]
        self._made.append((pair, built, path))
        if self._repeats > before and not has_rules:
            self._done[key] = pair
        return built, pair

    def defined(self, root: Op) -> Op:
        """Return the operations of a plan, with those that are repeated as definitions."""
        made_by_id = {id(built): (pair, built, path) for pair, built, path in self._made if pair.is_repeated}
        return root if not made_by_id else _defined(root, made_by_id)


def _defined(value: _T, made_by_id: dict[int, tuple[OpenPair, BuildRecord, Path]]) -> _T:
    def turned(part: Datum) -> Datum:
        return _defined(part, made_by_id)

    changed = _with_parts(value, turned)
    if id(value) not in made_by_id or not isinstance(changed, BuildRecord):
        return changed
    pair, _, path = made_by_id[id(value)]
    inside = with_paths(BuildRecord(changed.fields), lambda each: each[len(path) :])
    return cast("_T", Define(Read(path), pair.number, inside))


def _with_parts(value: _T, turned: Callable[[Datum], Datum], without: frozenset[str] = frozenset()) -> _T:
    """Return a tuple or a dataclass with its parts turned."""
    if isinstance(value, tuple):
        return type(value)(turned(part) for part in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    parts = {each.name: getattr(value, each.name) for each in fields(value) if each.name not in without}
    held = {name: part for name, part in parts.items() if isinstance(part, tuple) or is_dataclass(part)}
    return replace(value, **{name: turned(part) for name, part in held.items()})


def with_paths(op: _T, turn: Callable[[Path], Path]) -> _T:
    """Return an operation that reads other paths of its scope; what has a scope of its own stays."""
    if isinstance(op, Read | FieldValue):
        return replace(op, path=turn(op.path))
    made = _with_parts(op, lambda part: with_paths(part, turn), _INNER.get(type(op), frozenset()))
    if isinstance(made, Arithmetic):
        return replace(made, integers=tuple(map(turn, made.integers)))
    return made


def paths_outside(op: BuildRecord, path: Path) -> list[str]:
    """Return the fields outside of the record at ``path`` that its operation reads."""
    found: list[str] = []

    def noted(each: Path) -> Path:
        if each[: len(path)] != path:
            found.append(spell(each))
        return each

    with_paths(op, noted)
    return found
