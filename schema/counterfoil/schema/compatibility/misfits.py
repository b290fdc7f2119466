"""Misfits: the places at which records of a writer do not give a reader what its own schema says."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from counterfoil.schema.compatibility import Steps
from counterfoil.schema.compatibility.findings import Difference, Sentence, show
from counterfoil.schema.paths import FieldPath, Step
from counterfoil.schema.texts import Pointer

# A difference of two schemas is at a type; a misfit is at a place of a record, so that a type which several fields use
# has one at each of them. Each language finds its own (``languages/<language>/misfits.py``).

MISSING: Final = "missing"
"""The fact that nothing is written or promised."""
NULLABLE: Final = "nullable"
"""The fact that records may be without a value."""
OPTIONAL: Final = "optional"
"""The fact that records may be without the field."""


class MisfitEffect(Enum):
    """What happens to a reader at a misfit."""

    REFUSED = "refused"
    """The decoder or validator raises for the whole record, whatever is read of it."""
    MISREAD = "misread"
    """The value is lost, or read as another one, without an error."""
    KEPT = "kept"
    """The language keeps a symbol of an enum that the reader does not know, or reads the enum's default instead."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place at which a record does not give the reader what it expects.

    ``place`` is named as the reader names it. ``expected`` and ``written`` are facts: a type, ``missing``,
    ``nullable``, ``field 3``, a symbol. ``pointer`` is the place in the writer's own text. ``symbol`` is the name of a
    symbol of the writer that is none of the reader's; empty where the misfit is about something else. ``is_moved``:
    the field is written under another number. ``lost`` is the path that is read, where the place is on the way to it,
    so that nothing but it is lost; None where the place is at the path or inside it. It is spelled as places are.
    """

    place: FieldPath
    expected: str
    written: str
    text: str
    pointer: Pointer = ()
    effect: MisfitEffect = MisfitEffect.MISREAD
    symbol: str = ""
    is_moved: bool = False
    lost: FieldPath | None = None

    def below(self, around: FieldPath) -> Misfit:
        """Return the misfit with ``around`` before its place."""
        return replace(self, place=(*around, *self.place)) if around else self


class Misfits(Protocol):
    """The misfits of one reader and one writer."""

    @property
    def decodes_without_reader(self) -> bool:
        """Whether records are decoded without the reader's schema, so that only who declares one refuses them."""

    def at(self, path: FieldPath) -> Sequence[Misfit]:
        """Return the misfits that a reader of ``path`` meets: on the way to it, there, and inside; once for each place.

        The empty path is the whole record. What the reader's schema does not have at ``path`` has none.
        """

    def written_at(self, path: FieldPath) -> FieldPath | None:
        """Return the path by which the writer calls what the reader's schema has at ``path``.

        None where it is not written, or where the language reads by names alone.
        """


# What a difference of two schemas states of its place, as facts: what the reader expects, and what is written.
#
# The facts are those of the difference, never its sentence, so that they are the same in every wording.

_FIXED: Final[Mapping[str, tuple[str, str]]] = {
    "reader-field-missing-default": ("present", MISSING),
    "required-field-added": ("required", MISSING),
    "field-made-required": ("required", "optional"),
    "packed-repeated-to-singular": ("singular", "repeated packed"),
    "repeated-to-singular": ("singular", "repeated"),
    "bytes-to-string": ("string", "bytes"),
    "bytes-read-as-string": ("string", "bytes"),
    "message-removed": (MISSING, "message"),
    "oneof-field-removed": (MISSING, "field of a oneof"),
}
"""The facts of rules that apply to one pair of facts alone."""
_PREFIX: Final[Mapping[str, str]] = {
    "default-value-changed": "default ",
    "name-mismatch": "name ",
    "fixed-size-mismatch": "size ",
    "message-moved": "number ",
}
"""What the values of a rule are, where they are no types."""
_LISTS: Final = ("symbols", "values")
"""The facts that list what the reader does not know."""
_RENUMBERED: Final = "enum-value-renumbered"
_RENAMED: Final = "enum-value-renamed"


class Stated(NamedTuple):
    """What is expected and what is written at one place."""

    expected: str
    written: str


def stated_by(difference: Difference) -> Iterator[Stated]:
    """Yield what a difference states: one for each symbol of an enum that the reader does not know, else one."""
    facts, rule = difference.facts, difference.rule
    lists = [facts[name] for name in _LISTS if isinstance(facts.get(name), tuple)]
    if rule in _FIXED:
        yield Stated(*_FIXED[rule])
    elif lists:
        known = show(facts.get("name", "known"))
        yield from (Stated(known, str(each)) for listed in lists if isinstance(listed, tuple) for each in listed)
    elif rule in (_RENUMBERED, _RENAMED):
        sides = (facts["reader"], facts["writer"])
        is_renamed = rule == _RENAMED
        yield Stated(*(f"{each} = {facts['number']}" if is_renamed else f"{facts['name']} = {each}" for each in sides))
    elif "reader" in facts and "writer" in facts:
        prefix = _PREFIX.get(rule, "")
        expected, written = (f"{prefix}{show(facts[side])}" for side in ("reader", "writer"))
        yield Stated(expected, NULLABLE if written == "null" else written)
    else:
        told = [
            show(each) for name, each in sorted(facts.items()) if name != "value" and not isinstance(each, Sentence)
        ]
        yield Stated("", " ".join([rule, *told]))


# The misfits of two schemas that are graphs of types: pairs of types, with the steps from one pair to the next.
#
# Two graphs with cycles have about as many pairs as the product of their sizes, and a type that is used many times has
# many places. So each visit of a pair, and each place in proportion to its depth, spends steps.

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
