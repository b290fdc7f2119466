"""Arrays and objects that fit the constraints of a state, or the proof that there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product
from typing import Final

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.languages.jsonschema.json_values import are_equal
from counterfoil.schema.languages.jsonschema.values.literals import Repetition, SomeItem, SomeProperty
from counterfoil.schema.languages.jsonschema.values.state import Answering, ValueState
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts, Literal, listing

# Arrays that fit the constraints of a state: the proof that none exists, and candidates.

MAX_MADE: Final = 300
"""The largest number of items of a generated array, and of properties of a generated object."""

_MAX_ARRANGEMENTS: Final = 10


def array_values(solver: Answering, state: ValueState) -> Iterator[Json] | None:
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

    def _is_too_rare(self, contained: tuple[ConstrainedSchema, Json]) -> bool:
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

    def _is_too_frequent(self, contained: tuple[ConstrainedSchema, Json]) -> bool:
        """Return whether more items must fit the schema under ``contains`` than ``maxContains`` allows."""
        schema, most = contained
        sure = 0
        if self._least > most:
            for index in self._indexes():
                if index < self._least and self._solver.is_empty((*self.item(index), (schema, False))):
                    sure += 1 if index < self.behind else self._least - self.behind
        return bool(sure > most)

    def made(self) -> Iterator[list[Json]]:
        """Yield candidates, the shortest first."""
        if self._least > MAX_MADE:
            return
        places = [self._places(some.start, some.literal) for some in self._somewhere]
        longest = MAX_MADE if self._most is None else min(self._most, MAX_MADE)
        lengths = [length for length in range(self._least, self._least + 4) if length <= longest]
        for length in lengths:
            for arrangement in islice(product(*places), _MAX_ARRANGEMENTS):
                yield from self._arranged(arrangement, length)

    def smallest(self) -> list[Json] | None:
        """Return the smallest array, or None if none is found."""
        return None if self.are_impossible() else next(self.made(), None)

    def of_size(self, size: int) -> list[Json] | None:
        """Return an array of ``size`` items, or None if none is found."""
        return next(self._filled(size, {}, self._contained(), spare=True), None)

    def _contained(self) -> list[ConstrainedSchema]:
        """Return the schemas that items must fit (``contains``), each as often as ``minContains`` requires."""
        return [schema for schema, least in self._at_least for _ in range(min(int(least), MAX_MADE))]

    def _arranged(self, arrangement: Sequence[int], length: int) -> Iterator[list[Json]]:
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
    ) -> Iterator[list[Json]]:
        """Yield one array of ``size`` items, or none.

        With ``spare``, items fit no schema whose number ``maxContains`` limits, where that is possible.
        """
        made: list[Json] = []
        waiting = list(wanted)
        for index in range(size):
            asked = [*self.item(min(index, self.behind)), *extra.get(index, ())]
            taken = self._taken(made)
            value: list[Json] = []
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

    def _taken(self, made: list[Json]) -> list[Literal]:
        return [(listing([*made]), False)] if self._is_unique and made else []

    def _with_repetition(self, made: list[Json]) -> Iterator[list[Json]]:
        """Yield variants of ``made`` in which two items are equal."""
        if any(are_equal(left, right) for at, left in enumerate(made) for right in made[:at]):
            yield made
        for right in range(len(made)):
            for left in range(right):
                both = (*self.item(min(left, self.behind)), *self.item(min(right, self.behind)))
                for value in self._solver.value(both):
                    yield [value if index in (left, right) else item for index, item in enumerate(made)]


# Objects that fit the constraints of a state: the proof that none exists, and candidates.

MAX_PATTERNS: Final = 6
"""The largest number of patterns for which every combination of matching and not matching is tried."""

_MAX_PROPERTY_ARRANGEMENTS: Final = 12
_UNDECLARED: Final = "\0"


def object_values(solver: Answering, state: ValueState) -> Iterator[Json] | None:
    """Return candidates for objects that fit ``state``; None if it is proved that none exists."""
    objects = Objects(solver, state)
    return None if objects.are_impossible() else objects.made()


@dataclass(frozen=True, slots=True)
class _Property:
    """A possible property: its ``name`` (None: any other name), and the literals that must also hold for its value."""

    name: str | None
    asked: tuple[Literal, ...]


class Objects:
    """The objects that fit a state."""

    def __init__(self, solver: Answering, state: ValueState) -> None:
        self._solver = solver
        self._state = state
        facts = state.facts
        self._required = sorted({name for each in facts for name in each.required})
        self.declared = sorted(
            {name for each in facts for name in (*each.properties, *each.required, *each.needed_names)}
        )
        patterns = [pattern for each in facts for pattern in each.patterns]
        self._somewhere = state.demands(SomeProperty)
        for some in self._somewhere:
            patterns += [*([some.pattern] if some.pattern is not None else []), *sorted(some.outside)]
        self.patterns = [*dict.fromkeys(patterns)]
        self.names = tuple((each.names, True) for each in facts if each.names is not None)
        least = [each.min_properties for each in facts if each.min_properties is not None]
        most = [each.max_properties for each in facts if each.max_properties is not None]
        self._least = max(-int(-max([0, *least]) // 1), len(self._required), 1 if self._somewhere else 0)
        self._most = int(min(most) // 1) if most else None
        self._places: list[list[_Property]] = []
        self._property_by_name: dict[str, tuple[Literal, ...]] = {}

    def are_impossible(self) -> bool:
        """Return whether it is proved that no such object exists."""
        if self._most is not None and (self._least > self._most or self._most < 0):
            return True
        if any(not self._may_be_there(name) for name in self._required):
            return True
        for some in self._somewhere:
            places = [*self._places_for(some)]
            if not places:
                return True
            self._places.append(places)
        if self._least == 0 and any(each == {} for each in self._state.excluded):
            self._least = 1
        if self._most is not None and self._least > self._most:
            return True
        return self._least > len(self._required) and self._has_too_few_names()

    def _has_too_few_names(self) -> bool:
        known = [name for name in self.declared if self._may_be_there(name)]
        return len(known) < self._least and not any(self._unknown_places((), (), frozenset(), ()))

    def _may_be_there(self, name: str) -> bool:
        return self.may_be_called(name) and not self._solver.is_empty(self.property(name))

    def may_be_called(self, name: str) -> bool:
        """Return whether the constraints on names allow a property ``name``."""
        return self._solver.fits(self.names, name) is not False

    def property(self, name: str) -> tuple[Literal, ...]:
        """Return the literals that must hold for the value of the property ``name``."""
        known = self._property_by_name.get(name)
        if known is None:
            self._solver.evaluator.spend(len(self._state.facts))
            matches = {pattern: self._solver.evaluator.holds_match(pattern, name) for pattern in self.patterns}
            known = self._property_by_name[name] = tuple(
                (schema, True) for each in self._state.facts for schema in each.property(name, matches)
            )
        return known

    def _places_for(self, some: SomeProperty) -> Iterator[_Property]:
        """Yield the properties that can fulfil the demand ``some``."""
        has_no_more = self._most is not None and self._most <= len(self._required)
        for name in self._required if has_no_more else self.declared:
            if self._is_called_so(some, name) and self.may_be_called(name):
                asked = (*self.property(name), *some.of_value)
                if not self._solver.is_empty(asked):
                    yield _Property(name, some.of_value)
        if not has_no_more:
            needed = () if some.pattern is None else (some.pattern,)
            yield from self._unknown_places(needed, some.of_value, some.outside, some.of_name)

    def _is_called_so(self, some: SomeProperty, name: str) -> bool:
        if name in some.other_than or self._solver.fits(some.of_name, name) is False:
            return False
        if some.pattern is not None and self._solver.evaluator.holds_match(some.pattern, name) is False:
            return False
        return not any(self._solver.evaluator.holds_match(pattern, name) for pattern in some.outside)

    def _unknown_places(
        self,
        needed: Sequence[str],
        of_value: tuple[Literal, ...],
        outside: frozenset[str],
        of_name: tuple[Literal, ...],
    ) -> Iterator[_Property]:
        """Yield properties of undeclared names: one for each possible combination of matching patterns."""
        open_ = [pattern for pattern in self.patterns if pattern not in needed and pattern not in outside]
        if len(open_) > MAX_PATTERNS:
            yield _Property(None, of_value)
            return
        for size in range(len(open_) + 1):
            for more in combinations(open_, size):
                self._solver.evaluator.spend(len(self._state.facts) + len(self.patterns))
                matches: dict[str, bool | None] = {pattern: pattern in {*needed, *more} for pattern in self.patterns}
                schemas = [schema for each in self._state.facts for schema in each.property(_UNDECLARED, matches)]
                asked = (*((schema, True) for schema in schemas), *of_value)
                if self._solver.is_empty(asked):
                    continue
                answer = self._solver.solve(self._name_literals(matches, of_name, self.declared))
                if not answer.is_empty:
                    yield _Property(answer.values[0] if answer.values else None, of_value)

    def _name_literals(
        self, matches: dict[str, bool | None], of_name: tuple[Literal, ...], other_than: Sequence[str]
    ) -> Iterator[Literal]:
        yield STRING, True
        yield from self.names
        yield from of_name
        yield from ((_matching(pattern), bool(is_match)) for pattern, is_match in matches.items())
        if other_than:
            yield listing([*other_than], text=f"one of {sorted(other_than)}"), False

    def made(self) -> Iterator[JsonObject]:
        """Yield candidates, the smallest first."""
        if self._least > max(MAX_MADE, len(self._required)):
            return
        for arrangement in islice(product(*self._places), _MAX_PROPERTY_ARRANGEMENTS):
            extra: dict[str, list[Literal]] = {name: [] for name in self._required}
            for place in arrangement:
                if place.name is not None:
                    extra.setdefault(place.name, []).extend(place.asked)
            yield from self._filled(extra)
        if not self._somewhere:
            yield from self._fuller()

    def smallest(self) -> JsonObject | None:
        """Return the smallest object, its properties in the order of their declaration.

        None if none is found.
        """
        made = None if self.are_impossible() else next(self.made(), None)
        if made is None:
            return None
        declared = [name for each in self._state.facts for name in each.properties]
        return {name: made[name] for name in (*declared, *made) if name in made}

    def values_of(self, name: str) -> list[Json]:
        """Return a list of one value that the property ``name`` may have, or an empty list if none is found."""
        return self._solver.value(self.property(name)) if self.may_be_called(name) else []

    def completed(self, given: JsonObject, size: int = 0) -> JsonObject | None:
        """Return an object with the properties ``given``, all required ones, and up to ``size`` properties if possible.

        None if a required property has no value, or if too few properties are found.
        """
        made = dict(given)
        for name in self._required:
            if name not in made:
                value = self._solver.value(self.property(name))
                if not value:
                    return None
                made[name] = value[0]
        self._fill(made, max(size, self._least))
        return made if len(made) >= self._least else None

    def _filled(self, extra: dict[str, list[Literal]]) -> Iterator[JsonObject]:
        made: JsonObject = {}
        for name, asked in extra.items():
            value = self._solver.value((*self.property(name), *asked))
            if not value:
                return
            made[name] = value[0]
        self._fill(made, self._least)
        yield made
        if self._state.excluded:
            more = dict(made)
            self._fill(more, len(made) + 1)
            yield more

    def _fuller(self) -> Iterator[JsonObject]:
        """Yield an object with all declared properties for which a value is found."""
        made: JsonObject = {}
        for name in self.declared:
            if len(made) < MAX_MADE and self.may_be_called(name):
                made |= dict.fromkeys([name], *value) if (value := self._solver.value(self.property(name))) else {}
        yield made

    def _fill(self, made: JsonObject, size: int) -> None:
        """Add properties to ``made`` until it has ``size``, as far as names and values are found."""
        for name in chain(self.declared, self._fresh_names(made)):
            if len(made) >= size:
                return
            if name not in made and self.may_be_called(name):
                value = self._solver.value(self.property(name))
                if value:
                    made[name] = value[0]

    def _fresh_names(self, made: JsonObject) -> Iterator[str]:
        yield from ("zz", "other", "a", "b", "x", "0")
        places = [place.name for place in self._unknown_places((), (), frozenset(), ()) if place.name is not None]
        yield from places
        if self.names or self.patterns:
            for pattern in (None, *self.patterns):
                taken = {*made, *self.declared}
                for _ in range(MAX_MADE):
                    matches: dict[str, bool | None] = {} if pattern is None else {pattern: True}
                    found = self._solver.value([*self._name_literals(matches, (), sorted(taken))])
                    if not found:
                        break
                    taken |= {found[0]}
                    yield found[0]
        yield from (f"p{index}" for index in range(MAX_MADE))


STRING: Final = ConstrainedSchema(KeywordFacts(types=frozenset({"string"})), text="a string")


def _matching(pattern: str) -> ConstrainedSchema:
    """Return a schema of the strings that match ``pattern``."""
    return ConstrainedSchema(
        KeywordFacts(types=frozenset({"string"}), pattern=pattern), text=f"a string that matches {pattern}"
    )
