"""The misfits of two schemas that are graphs of types: pairs of types, with the steps from one pair to the next.

Two graphs with cycles have about as many pairs as the product of their sizes, and a type that is used many times has
many places. So each visit of a pair, and each place in proportion to its depth, spends steps.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from counterfoil.schema.compatibility.misfits import Misfit
    from counterfoil.schema.paths.model import FieldPath, Step
    from counterfoil.schema.steps import Steps

_DEEP: Final = 16
"""The length of paths that takes about as long to copy as one step."""
MAX_PLACES: Final = 1000
"""The largest number of places that are listed below one path; of further ones, each pair of types is listed once."""
MAX_VISITS: Final = 20_000
"""The largest number of visits of pairs below one path."""

PairT = TypeVar("PairT")


class Pairs(Protocol[PairT]):
    """The pairs of types that a reader and a writer have at the same places of a record."""

    def root(self) -> PairT:
        """Return the pair of the whole record."""

    def key(self, pair: PairT) -> Hashable:
        """Return what identifies a pair."""

    def own(self, pair: PairT) -> Sequence[Misfit]:
        """Return the misfits of a pair itself; their places begin at the pair."""

    def inside(self, pair: PairT) -> Sequence[tuple[FieldPath, PairT]]:
        """Return the pairs that a pair contains, each with the steps to it."""

    def spelled(self, path: FieldPath) -> FieldPath:
        """Return a path in the spelling of the places: with or without the branches that may be left out."""


class _Left(NamedTuple):
    """The end of the visit of a pair: its key, and the number of steps to the pair around it."""

    key: Hashable
    depth: int


class PairMisfits(Generic[PairT]):
    """The misfits of all places of a record, found by following pairs from the record's own.

    ``steps`` are those of all calls together; each method raises ``OutOfSteps`` where they do not suffice.
    """

    decodes_without_reader = False

    def __init__(self, pairs: Pairs[PairT], steps: Steps) -> None:
        self.pairs = pairs
        self.steps = steps
        self._known: dict[FieldPath, tuple[Misfit, ...]] = {}

    def at(self, path: FieldPath) -> Sequence[Misfit]:
        """Return the misfits that a reader of ``path`` meets; see :class:`~.misfits.Misfits`."""
        if not self._broken:
            return ()
        if path not in self._known:
            found = {(each.place, each.expected, each.written): each for each in self._along(path)}
            self._known[path] = tuple(found.values())
        return self._known[path]

    def written_at(self, path: FieldPath) -> FieldPath | None:
        """Return None: see :class:`~.misfits.Misfits`."""
        del path
        return None

    def _along(self, path: FieldPath) -> Iterator[Misfit]:
        whole = self.pairs.spelled(path)
        waiting: list[tuple[PairT, FieldPath, FieldPath]] = [(self.pairs.root(), (), whole)]
        met: set[tuple[Hashable, FieldPath, int]] = set()
        while waiting:
            pair, place, rest = waiting.pop()
            self._spend_at(place)
            reached = (self.pairs.key(pair), place, len(rest))
            if reached in met:
                continue  # several branches of a union lead to one pair
            met.add(reached)
            if not rest:
                yield from self._below(pair, place)
                continue
            for misfit in self.pairs.own(pair):
                if is_prefix(rest, misfit.place):
                    yield misfit.below(place)
                elif is_prefix(misfit.place, rest):
                    yield replace(misfit.below(place), lost=whole)
            for steps, inner in self.pairs.inside(pair):
                self.steps.spend()
                if is_prefix(steps, rest):
                    waiting.append((inner, (*place, *steps), rest[len(steps) :]))
                elif is_prefix(rest, steps):
                    yield from self._below(inner, (*place, *steps))

    def _below(self, pair: PairT, place: FieldPath) -> Iterator[Misfit]:
        """Yield the misfits of a pair and of all pairs inside it; a pair inside itself is not entered again."""
        visits = places = 0
        at: list[Step] = [*place]
        entered: set[Hashable] = set()
        waiting: list[tuple[PairT, FieldPath] | _Left] = [(pair, ())]
        while waiting:
            entry = waiting.pop()
            if isinstance(entry, _Left):
                entered.discard(entry.key)
                del at[entry.depth :]
                continue
            around, steps = entry
            self.steps.spend()
            key = self.pairs.key(around)
            if key in entered or key not in self._broken:
                continue
            visits += 1
            waiting.append(_Left(key, len(at)))
            at += steps
            entered.add(key)
            for misfit in self.pairs.own(around):
                places += 1
                self._spend_at(at)
                yield misfit.below(tuple(at))
            if places > MAX_PLACES or visits > MAX_VISITS:
                yield from self._once_below(pair, place)
                return
            waiting += reversed([(inner, further) for further, inner in self.pairs.inside(around)])

    def _once_below(self, pair: PairT, place: FieldPath) -> Iterator[Misfit]:
        """Yield the misfits of each pair inside a pair once, at the nearest of its places."""
        seen: set[Hashable] = set()
        waiting = deque([(pair, place)])
        while waiting:
            around, at = waiting.popleft()
            key = self.pairs.key(around)
            if key not in seen and key in self._broken:
                seen.add(key)
                for misfit in self.pairs.own(around):
                    self._spend_at(at)
                    yield misfit.below(at)
                for steps, inner in self.pairs.inside(around):
                    self._spend_at(at)
                    waiting.append((inner, (*at, *steps)))

    def _spend_at(self, place: Sequence[Step]) -> None:
        self.steps.spend(1 + len(place) // _DEEP)

    @cached_property
    def _broken(self) -> frozenset[Hashable]:
        """The keys of the pairs that have a misfit, or contain a pair that has one."""
        leading_to: dict[Hashable, list[Hashable]] = {}
        seen: set[Hashable] = set()
        broken: list[Hashable] = []
        waiting = [self.pairs.root()]
        while waiting:
            pair = waiting.pop()
            key = self.pairs.key(pair)
            if key in seen:
                continue
            seen.add(key)
            if self.pairs.own(pair):
                broken.append(key)
            for _, inner in self.pairs.inside(pair):
                self.steps.spend()
                leading_to.setdefault(self.pairs.key(inner), []).append(key)
                waiting.append(inner)
        found: set[Hashable] = set()
        while broken:
            key = broken.pop()
            if key not in found:
                found.add(key)
                broken += leading_to.get(key, ())
        return frozenset(found)


def is_prefix(steps: FieldPath, path: FieldPath) -> bool:
    """Return whether a path begins with some steps."""
    return path[: len(steps)] == steps
