"""Arrays that fit the constraints of a state: the proof that none exists, and candidates."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.languages.jsonschema.json_values import are_equal
from counterfoil.schema.languages.jsonschema.values.literals import Repetition, SomeItem
from counterfoil.schema.languages.jsonschema.view.facts import listing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.languages.jsonschema.values.state import Answering, ValueState
    from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, Literal


MAX_MADE: Final = 300
"""The largest number of items of a generated array."""

_MAX_ARRANGEMENTS: Final = 10


def array_values(solver: Answering, state: ValueState) -> Iterator[Any] | None:
    """Return candidates for arrays that fit ``state``; None if it is proved that none exists."""
    arrays = Arrays(solver, state)
    return None if arrays.are_impossible() else arrays.made()


class Arrays:
    """The arrays that fit a state."""

    def __init__(self, solver: Answering, state: ValueState) -> None:
        self._solver = solver
        self._state = state
        contained = [each for each in state.facts if each.contains is not None]
        self._at_least = [(each.contains, each.min_contains) for each in contained if each.contains]
        self._at_most = [
            (each.contains, each.max_contains) for each in contained if each.contains and each.max_contains is not None
        ]
        self._of_all = tuple((schema, False) for schema, most in self._at_most if 0 <= most < 1)
        self._somewhere = state.demands(SomeItem)
        self._is_repeated = bool(state.demands(Repetition))
        starts = [some.start for some in self._somewhere]
        self.behind = max([len(each.prefix) for each in state.facts] + starts, default=0)
        self._is_unique = any(each.has_unique_items for each in state.facts)
        least = [each.min_items for each in state.facts if each.min_items is not None]
        least += [some + 1 for some in starts]
        least += [2] if self._is_repeated else []
        least += [count for _, count in self._at_least]
        least += [1] if any(each == [] for each in state.excluded) else []
        most = [each.max_items for each in state.facts if each.max_items is not None]
        self._least: int = -int(-max([0, *least]) // 1)
        self._most = int(min(most) // 1) if most else None
        self._contained_everywhere: tuple[Literal, ...] = ()
        self._find_end()
        if self._most is not None:
            self._contained_everywhere = tuple(
                (schema, True) for schema, count in self._at_least if count >= self._most
            )

    @property
    def most(self) -> int | None:
        """The largest length; None without a limit."""
        return self._most

    def are_impossible(self) -> bool:
        """Return whether it is proved that no such array exists."""
        if self._most is not None and (self._least > self._most or self._most < 0):
            return True
        if any(most < 0 for _, most in self._at_most):
            return True
        if self._is_repeated and (self._is_unique or not self._may_repeat()):
            return True
        if any(not self._places(some.start, some.literal) for some in self._somewhere):
            return True
        return any(map(self._is_too_rare, self._at_least)) or any(map(self._is_too_frequent, self._at_most))

    def item(self, index: int) -> tuple[Literal, ...]:
        """Return the literals that must hold for the item at ``index``; the same for all items from ``behind`` on."""
        self._solver.evaluator.spend(len(self._state.facts))
        schemas = [schema for each in self._state.facts if (schema := each.item(index)) is not None]
        return (*((schema, True) for schema in schemas), *self._of_all, *self._contained_everywhere)

    def _find_end(self) -> None:
        for index in range(self.behind + 1):
            if self._most is not None and index >= self._most:
                return
            if self._solver.is_empty(self.item(index)):
                self._most = index
                return

    def _indexes(self, start: int = 0) -> range:
        """Return the indexes from ``start`` on whose items have different constraints, up to ``behind``."""
        end = self.behind + 1
        return range(start, end if self._most is None else min(end, self._most))

    def _places(self, start: int, literal: Literal) -> list[int]:
        """Return the indexes of ``_indexes`` at which an item may exist for which ``literal`` holds."""
        return [index for index in self._indexes(start) if not self._solver.is_empty((*self.item(index), literal))]

    def _may_repeat(self) -> bool:
        last = self.behind + 2
        end = last if self._most is None else min(last, self._most)
        pairs = ((left, right) for right in range(end) for left in range(right))
        return any(not self._solver.is_empty((*self.item(left), *self.item(right))) for left, right in pairs)

    def _is_too_rare(self, contained: tuple[ConstrainedSchema, Any]) -> bool:
        """Return whether fewer items can fit the schema under ``contains`` than ``minContains`` requires."""
        schema, least = contained
        if least <= 0:
            return False
        places = self._places(0, (schema, True))
        if self.behind in places:
            possible = None if self._most is None else len(places) - 1 + self._most - self.behind
        else:
            possible = len(places)
        if possible is not None and possible < least:
            return True
        return any(most < least and self._is_within(schema, other) for other, most in self._at_most)

    def _is_within(self, schema: ConstrainedSchema, other: ConstrainedSchema) -> bool:
        return all(
            self._solver.is_empty((*self.item(index), (schema, True), (other, False))) for index in self._indexes()
        )

    def _is_too_frequent(self, contained: tuple[ConstrainedSchema, Any]) -> bool:
        """Return whether more items must fit the schema under ``contains`` than ``maxContains`` allows."""
        schema, most = contained
        sure = 0
        if self._least > most:
            for index in self._indexes():
                if index < self._least and self._solver.is_empty((*self.item(index), (schema, False))):
                    sure += 1 if index < self.behind else self._least - self.behind
        return bool(sure > most)

    def made(self) -> Iterator[list[Any]]:
        """Yield candidates, the shortest first."""
        if self._least > MAX_MADE:
            return
        places = [self._places(some.start, some.literal) for some in self._somewhere]
        longest = MAX_MADE if self._most is None else min(self._most, MAX_MADE)
        lengths = [length for length in range(self._least, self._least + 4) if length <= longest]
        for length in lengths:
            for arrangement in islice(product(*places), _MAX_ARRANGEMENTS):
                yield from self._arranged(arrangement, length)

    def smallest(self) -> list[Any] | None:
        """Return the smallest array, or None if none is found."""
        return None if self.are_impossible() else next(self.made(), None)

    def of_size(self, size: int) -> list[Any] | None:
        """Return an array of ``size`` items, or None if none is found."""
        return next(self._filled(size, {}, self._contained(), spare=True), None)

    def _contained(self) -> list[ConstrainedSchema]:
        """Return the schemas that items must fit (``contains``), each as often as ``minContains`` requires."""
        return [schema for schema, least in self._at_least for _ in range(min(int(least), MAX_MADE))]

    def _arranged(self, arrangement: Sequence[int], length: int) -> Iterator[list[Any]]:
        """Yield arrays of one length; ``arrangement`` has the index of each item that a ``SomeItem`` requires."""
        extra: dict[int, list[Literal]] = {}
        for place, some in zip(arrangement, self._somewhere, strict=True):
            free = place
            while free >= self.behind and free in extra and free + 1 < MAX_MADE:
                free += 1
            if self._most is not None and free >= self._most:
                free = place
            extra.setdefault(free, []).append(some.literal)
        size = max([length, *(index + 1 for index in extra)])
        wanted = self._contained()
        yield from self._filled(size, extra, wanted, spare=True)
        yield from self._filled(size, extra, wanted, spare=False)
        if wanted:
            yield from self._filled(min(size + len(wanted), MAX_MADE), extra, wanted[::-1], spare=True)

    def _filled(
        self, size: int, extra: dict[int, list[Literal]], wanted: list[ConstrainedSchema], *, spare: bool
    ) -> Iterator[list[Any]]:
        """Yield one array of ``size`` items, or none.

        With ``spare``, items fit no schema whose number ``maxContains`` limits, where that is possible.
        """
        made: list[Any] = []
        waiting = list(wanted)
        for index in range(size):
            asked = [*self.item(min(index, self.behind)), *extra.get(index, ())]
            taken = self._taken(made)
            value: list[Any] = []
            for schema in dict.fromkeys(waiting):
                value = self._solver.value((*asked, (schema, True), *taken))
                if value:
                    break
            if not value and spare:
                value = self._solver.value((*asked, *taken, *((schema, False) for schema, _ in self._at_most)))
            value = value or self._solver.value((*asked, *taken)) or self._solver.value(asked)
            if not value:
                return
            for schema in dict.fromkeys(waiting):
                if self._solver.evaluator.accepts(schema, value[0]):
                    waiting.remove(schema)
            made += value
        if self._is_repeated and len(made) > 1:
            yield from self._with_repetition(made)
        else:
            yield made

    def _taken(self, made: list[Any]) -> list[Literal]:
        return [(listing([*made]), False)] if self._is_unique and made else []

    def _with_repetition(self, made: list[Any]) -> Iterator[list[Any]]:
        """Yield variants of ``made`` in which two items are equal."""
        if any(are_equal(left, right) for at, left in enumerate(made) for right in made[:at]):
            yield made
        for right in range(len(made)):
            for left in range(right):
                both = (*self.item(min(left, self.behind)), *self.item(min(right, self.behind)))
                for value in self._solver.value(both):
                    yield [value if index in (left, right) else item for index, item in enumerate(made)]
