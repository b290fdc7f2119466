"""Many sample values that fit some schemas, each once, ordered to find one that another schema refuses.

Every choice of the schemas is made in turn: scalars near the limits, objects of the required properties and one more,
arrays with as few items as possible. Nested values are checked before they are put into larger ones. ``steps`` limits
the variation to one place: the path from the root to the value that is varied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Final, NamedTuple, TypeAlias

from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.languages.jsonschema.json_values import TYPES, alike, plain
from counterfoil.schema.languages.jsonschema.values.containers import STRING, Arrays, Objects
from counterfoil.schema.languages.jsonschema.values.scalars import number_values, text_values
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.values.state import ValueState
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts, Literal, spread
from counterfoil.schema.patterns.samples import matching_strings

MAX_DEPTH: Final = 14
"""The largest nesting depth of a value."""

MAX_VARIATIONS: Final = 60
"""The largest number of values of one property or item that are put into the surrounding value."""

MAX_BUILT: Final = 6_000
"""The largest number of values that are built for one search, including nested ones."""

MAX_MISSES: Final = 300
"""The number of consecutive values that do not fit (or repeat) after which a search ends."""

MAX_MIXED: Final = 20
"""The largest number of values of each property for objects in which all properties vary."""

MAX_PAIRS: Final = 10
"""The largest number of pairs of ``oneOf`` branches that are tried at one place."""

MAX_WAYS: Final = 24
"""The largest number of combinations of choices that are tried at one place for one type."""

MAX_FURTHER: Final = 250
"""The number of further numbers or strings after those near the limits."""

MAX_NAMES: Final = 8
"""The largest number of names that are generated for a pattern, or for a schema of names."""

MAX_SIZE: Final = 300
"""The largest number of properties or items of a value."""

_STEPS_A_SCHEMA: Final = 3
"""The steps of a look at what one schema says about one property."""

_FRESH_NAMES: Final = ("other", "n", "")

Step: TypeAlias = str | int | None
"""The name of a property, the index of an item, or None for all undeclared names or indexes."""


class _Aim(NamedTuple):
    """The aim of values: ``near`` are the schemas to break, ``steps`` lead to the varied place at nesting ``depth``."""

    near: list[KeywordFacts]
    steps: tuple[Step, ...]
    depth: int


class Sampler:
    """A generator of sample values, within a budget of values."""

    def __init__(self, solver: Solver, *, budget: int = MAX_BUILT, variations: int = MAX_VARIATIONS) -> None:
        self._solver = solver
        self._left = budget
        self._variations = variations

    def values(
        self,
        literals: Sequence[Literal],
        near: Iterable[ConstrainedSchema],
        steps: tuple[Step, ...] = (),
        depth: int = 0,
    ) -> Iterator[Json]:
        """Yield values that fit all ``literals``, as far as the solver knows, varied near the limits of ``near``.

        Only the place at the end of ``steps``, and everything inside it, is varied. Raises ``OutOfSteps``.
        """
        if depth > MAX_DEPTH:
            return
        aim = _Aim([schema.facts for schema in spread(near)], steps, depth)
        kinds = ("array", "object") if steps else TYPES
        sources = [
            self._of_state(state, aim)
            for kind in kinds
            for state in islice(self._solver.ways(literals, kind), MAX_WAYS)
        ]
        if not steps:
            sources += self._refused(literals, aim)
        seen: set[Json] = set()
        misses = 0
        for value in _in_turn(sources):
            self._left -= 1
            if self._left < 0:
                raise OutOfSteps
            if misses > MAX_MISSES:
                return
            key = alike(value)
            if key in seen or not self._solver.is_found(literals, value):
                misses += 1
                continue
            misses = 0
            seen.add(key)
            yield value

    def _refused(self, literals: Sequence[Literal], aim: _Aim) -> Iterator[Iterator[Json]]:
        """Yield sources of values that ``near`` refuses by ``not``, or that fit two branches of its ``oneOf``."""
        unwanted: list[tuple[ConstrainedSchema, ...]] = []
        for facts in aim.near:
            unwanted += [(facts.refused,)] if facts.refused is not None else []
            unwanted += islice(combinations(facts.one_of or (), 2), MAX_PAIRS)
        for schemas in unwanted[:MAX_PAIRS]:
            both = (*literals, *((schema, True) for schema in schemas))
            yield islice(self.values(both, (), (), aim.depth + 1), MAX_VARIATIONS)

    def _of_state(self, state: ValueState, aim: _Aim) -> Iterator[Json]:
        if state.listed is not None:
            yield from map(plain, state.listed_values())
            return
        match state.kind:
            case "number":
                yield from number_values(self._solver, state, aim.near, further=MAX_FURTHER) or ()
            case "string":
                yield from text_values(self._solver, state, aim.near, further=MAX_FURTHER) or ()
            case "array":
                yield from self._arrays(state, aim)
            case "object":
                yield from self._objects(state, aim)
            case _:
                yield from state.listed_values()

    def _objects(self, state: ValueState, aim: _Aim) -> Iterator[JsonObject]:
        objects = Objects(self._solver, state)
        base = objects.smallest()
        if base is None:
            return
        if not aim.steps:
            yield base
        names = [*islice(filter(objects.may_be_called, dict.fromkeys(self._names(objects, aim))), MAX_SIZE)]
        sources = [] if aim.steps else [self._of_sizes(objects, base, names, aim)]
        for start in _starts(objects, base, aim.near):
            sources += [_with_property(objects, start, name, self._of_property(objects, name, aim)) for name in names]
        yield from _in_turn(sources)
        if not aim.steps:
            yield from self._mixed(objects, base, names, aim)

    def _mixed(self, objects: Objects, base: JsonObject, names: list[str], aim: _Aim) -> Iterator[JsonObject]:
        """Yield objects in which all properties vary, each with a period of its own."""
        values = {
            name: [*islice(self.values(objects.property(name), (), (), aim.depth + 1), MAX_MIXED)] for name in names
        }
        choices = {name: found for name, found in values.items() if found}
        for index in range(MAX_VARIATIONS * MAX_MIXED if choices else 0):
            mixed = dict(base)
            for place, (name, found) in enumerate(choices.items()):
                turn = index // (place + 1) + place
                if name in base or turn % (len(found) + 1):
                    mixed[name] = found[turn % len(found)]
            yield mixed

    def _of_property(self, objects: Objects, name: str, aim: _Aim) -> Iterator[Json]:
        self._solver.evaluator.work(_STEPS_A_SCHEMA * len(aim.near))
        watching = [schema for facts in aim.near for schema in facts.property(name)]
        return islice(self.values(objects.property(name), watching, aim.steps[1:], aim.depth + 1), self._variations)

    def _of_sizes(self, objects: Objects, base: JsonObject, names: list[str], aim: _Aim) -> Iterator[JsonObject]:
        """Yield objects with one property more than ``near`` allows, and one with all ``names``."""
        sizes = sorted(int(each.max_properties) + 1 for each in aim.near if each.max_properties is not None)
        for size in sizes:
            grown = objects.completed(base, size) if size < MAX_SIZE else None
            yield from [grown] if grown is not None else []
        full = dict(base)
        for name in names:
            if name not in full:
                full |= dict.fromkeys([name], *found) if (found := objects.values_of(name)) else {}
        yield full

    def _names(self, objects: Objects, aim: _Aim) -> Iterator[str]:
        """Yield the names for the next step: its own; for None all, undeclared ones first; without a step all."""
        step = aim.steps[0] if aim.steps else ""
        declared = dict.fromkeys((*_declared(aim.near), *objects.declared))
        if not aim.steps:
            yield from (*declared, *self._undeclared_names(objects, aim))
        elif isinstance(step, str):
            yield step
        elif step is None:
            yield from (name for name in self._undeclared_names(objects, aim) if name not in declared)
            yield from declared

    def _undeclared_names(self, objects: Objects, aim: _Aim) -> Iterator[str]:
        """Yield names that match patterns, names near the limits of schemas for names, and some fixed ones."""
        for pattern in dict.fromkeys((*(pattern for each in aim.near for pattern in each.patterns), *objects.patterns)):
            self._solver.evaluator.count_patterns([pattern])
            yield from matching_strings(pattern)[:MAX_NAMES]
        watching = [each.names for each in aim.near if each.names is not None]
        if watching or objects.names:
            yield from islice(self.values((*objects.names, (STRING, True)), watching, (), aim.depth + 1), MAX_NAMES)
        yield from _FRESH_NAMES

    def _arrays(self, state: ValueState, aim: _Aim) -> Iterator[list[Json]]:
        arrays = Arrays(self._solver, state)
        base = arrays.smallest()
        if base is None:
            return
        if not aim.steps:
            yield base
        indexes = _indexes(
            aim.steps[0] if aim.steps else None, base, max([arrays.behind, *(len(each.prefix) for each in aim.near)])
        )
        sources = [] if aim.steps else [self._of_lengths(arrays, base, aim)]
        sources += [_with_item(arrays, base, index, self._of_item(arrays, index, aim)) for index in indexes]
        yield from _in_turn(sources)
        if not aim.steps:
            items = [*islice(self.values(arrays.item(len(base)), (), (), aim.depth + 1), MAX_MIXED)]
            for size in range(2, len(items)):
                yield from ([*base, *items[start : start + size]] for start in range(len(items) - size))

    def _of_item(self, arrays: Arrays, index: int, aim: _Aim) -> Iterator[Json]:
        watching = [schema for each in aim.near for schema in (each.item(index), each.contains) if schema is not None]
        return islice(self.values(arrays.item(index), watching, aim.steps[1:], aim.depth + 1), self._variations)

    def _of_lengths(self, arrays: Arrays, base: list[Json], aim: _Aim) -> Iterator[list[Json]]:
        """Yield arrays just outside the lengths that ``near`` allows, with equal items, and with other ``contains``."""
        lengths = [int(each.min_items) - 1 for each in aim.near if each.min_items is not None]
        lengths += [int(each.max_items) + 1 for each in aim.near if each.max_items is not None]
        lengths += [len(each.prefix) + 1 for each in aim.near]
        for length in dict.fromkeys((*lengths, arrays.behind + 1, len(base) + 1, 2, 3)):
            made = arrays.of_size(length) if len(base) <= length <= MAX_SIZE else None
            yield from [made] if made is not None else []
        for value in islice(self.values(arrays.item(len(base)), (), (), aim.depth + 1), 2):
            yield from ([*base, value, value], [value] * max(len(base), 2))
        for each in aim.near:
            if each.contains is not None:
                yield from self._containing(arrays, base, each, each.contains)

    def _containing(
        self, arrays: Arrays, base: list[Json], facts: KeywordFacts, contained: ConstrainedSchema
    ) -> Iterator[list[Json]]:
        """Yield arrays in which no items, one less than the minimum, or one more than the maximum fit ``contained``."""
        counts = [0, int(facts.min_contains) - 1]
        counts += [] if facts.max_contains is None else [int(facts.max_contains) + 1]
        for count in counts:
            wanted = [True] * min(count, MAX_SIZE) + [False] * (len(base) - count)
            made = [self._solver.value((*arrays.item(index), (contained, holds))) for index, holds in enumerate(wanted)]
            yield [value for found in made for value in found]


def _declared(near: list[KeywordFacts]) -> Iterator[str]:
    """Yield every property name that a keyword of ``near`` mentions."""
    for each in near:
        yield from (*each.properties, *each.needed_names, *each.needed_schemas, *sorted(each.required))


def _starts(objects: Objects, base: JsonObject, near: list[KeywordFacts]) -> Iterator[JsonObject]:
    """Yield ``base``, and the smallest objects with a property on which ``near`` makes a schema depend."""
    yield base
    for name in (name for each in near for name in each.needed_schemas if name not in base):
        for value in objects.values_of(name):
            grown = objects.completed({**base, name: value})
            yield from [grown] if grown is not None else []


def _indexes(step: Step, base: list[Json], behind: int) -> list[int]:
    """Return the indexes for a step.

    For None, each index up to ``behind``, and the one after the base.
    """
    if step is None:
        return [*range(behind + 1), *([len(base)] if len(base) > behind else [])]
    return [step] if isinstance(step, int) else []


def _with_property(objects: Objects, base: JsonObject, name: str, values: Iterator[object]) -> Iterator[JsonObject]:
    for value in values:
        grown = objects.completed({**base, name: value})
        yield from [grown] if grown is not None else []


def _with_item(arrays: Arrays, base: list[Json], index: int, values: Iterator[object]) -> Iterator[list[Json]]:
    before = base[:index] if index <= len(base) else arrays.of_size(index)
    yield from ([*before, value, *base[index + 1 :]] for value in values if before is not None)


def _in_turn(sources: list[Iterator[Json]]) -> Iterator[Json]:
    """Yield the first value of each source, then the second of each, and so on."""
    while sources:
        left = []
        for source in sources:
            for value in source:
                yield value
                left.append(source)
                break
        sources = left
