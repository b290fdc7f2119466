"""Many values that schemas accept, each once, in an order made to break another schema.

Every choice that the schemas leave is made in turn: scalars near the limits, objects of the properties that must be
there and one more, arrays of as few items as may be. Only those that may fit come out, so that they can be put into
larger ones. ``steps`` narrow the search down to one place: the way from the root to the value that is to be varied.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.schema.formats.jsonschema.read.matching import matching_strings
from counterfoil.schema.formats.jsonschema.read.values import TYPES, alike, plain
from counterfoil.schema.formats.jsonschema.values.arrays import Arrays
from counterfoil.schema.formats.jsonschema.values.numbers import number_values
from counterfoil.schema.formats.jsonschema.values.objects import STRING, Objects
from counterfoil.schema.formats.jsonschema.values.texts import text_values
from counterfoil.schema.formats.jsonschema.view.evaluate import OutOfSteps
from counterfoil.schema.formats.jsonschema.view.facts import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.values.coverage import Literal
    from counterfoil.schema.formats.jsonschema.values.solver import Solver
    from counterfoil.schema.formats.jsonschema.values.state import State
    from counterfoil.schema.formats.jsonschema.view.facts import Facts, Schema

MAX_DEPTH: Final = 14
"""How deep a value may nest."""

MAX_VARIATIONS: Final = 60
"""How many values of one property, or item, are put into the value around it."""

MAX_BUILT: Final = 6_000
"""How many values are built for one search, nested ones counted."""

MAX_MISSES: Final = 300
"""How many values in a row may fail to fit before nothing more is expected."""

MAX_MIXED: Final = 20
"""How many values of each property go into objects in which everything changes."""

MAX_PAIRS: Final = 10
"""How many pairs of branches of oneOf are looked at in one place."""

MAX_WAYS: Final = 24
"""How many ways to make the choices are followed in one place, for one type."""

MAX_FURTHER: Final = 250
"""How many numbers, or strings, follow those that are likely to show something."""

MAX_NAMES: Final = 8
"""How many names that match a pattern, or what is asked of names, are properties worth having."""

MAX_SIZE: Final = 300
"""How many properties or items a value may have."""

_FRESH_NAMES: Final = ("other", "n", "")

Step: TypeAlias = str | int | None
"""The name of a property, the index of an item; None for any name or index that nothing is declared for."""


class _Aim(NamedTuple):
    """What values are made for: those who look at them, the place that is to be varied, and how deep it is."""

    near: list[Facts]
    steps: tuple[Step, ...]
    depth: int


class Sampler:
    """Makes values of what a solver finds possible, within a budget."""

    def __init__(self, solver: Solver, *, budget: int = MAX_BUILT, variations: int = MAX_VARIATIONS) -> None:
        self._solver = solver
        self._left = budget
        self._variations = variations

    def values(
        self, literals: Sequence[Literal], near: Iterable[Schema], steps: tuple[Step, ...] = (), depth: int = 0
    ) -> Iterator[Any]:
        """Values of which all ``literals`` are true, as far as is known, varied where ``near`` looks at them.

        Only what lies along ``steps``, and below, is varied. Raises ``OutOfSteps``.
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
        seen: set[Any] = set()
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

    def _refused(self, literals: Sequence[Literal], aim: _Aim) -> Iterator[Iterator[Any]]:
        """Values that those who look say must not be, or that fit two branches of which they must fit one."""
        unwanted: list[tuple[Schema, ...]] = []
        for facts in aim.near:
            unwanted += [(facts.refused,)] if facts.refused is not None else []
            unwanted += islice(combinations(facts.one_of or (), 2), MAX_PAIRS)
        for schemas in unwanted[:MAX_PAIRS]:
            both = (*literals, *((schema, True) for schema in schemas))
            yield islice(self.values(both, (), (), aim.depth + 1), MAX_VARIATIONS)

    def _of_state(self, state: State, aim: _Aim) -> Iterator[Any]:
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

    def _objects(self, state: State, aim: _Aim) -> Iterator[dict[str, Any]]:
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

    def _mixed(self, objects: Objects, base: dict[str, Any], names: list[str], aim: _Aim) -> Iterator[dict[str, Any]]:
        """Objects in which every property changes from one to the next, each at its own pace."""
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

    def _of_property(self, objects: Objects, name: str, aim: _Aim) -> Iterator[Any]:
        watching = [schema for facts in aim.near for schema in facts.property(name)]
        return islice(self.values(objects.property(name), watching, aim.steps[1:], aim.depth + 1), self._variations)

    def _of_sizes(
        self, objects: Objects, base: dict[str, Any], names: list[str], aim: _Aim
    ) -> Iterator[dict[str, Any]]:
        """Objects of the numbers of properties at which ``near`` looks, and of every declared property."""
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
        """The names that the next step stands for; None for those that nobody declares, then all others."""
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
        """Names that match patterns, that are as is asked of names, or nearly, and any."""
        for pattern in dict.fromkeys((*(pattern for each in aim.near for pattern in each.patterns), *objects.patterns)):
            yield from matching_strings(pattern)[:MAX_NAMES]
        watching = [each.names for each in aim.near if each.names is not None]
        if watching or objects.names:
            yield from islice(self.values((*objects.names, (STRING, True)), watching, (), aim.depth + 1), MAX_NAMES)
        yield from _FRESH_NAMES

    def _arrays(self, state: State, aim: _Aim) -> Iterator[list[Any]]:
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

    def _of_item(self, arrays: Arrays, index: int, aim: _Aim) -> Iterator[Any]:
        watching = [schema for each in aim.near for schema in (each.item(index), each.contains) if schema is not None]
        return islice(self.values(arrays.item(index), watching, aim.steps[1:], aim.depth + 1), self._variations)

    def _of_lengths(self, arrays: Arrays, base: list[Any], aim: _Aim) -> Iterator[list[Any]]:
        """Arrays of the lengths at which ``near`` looks, of equal items, and with or without what it contains."""
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

    def _containing(self, arrays: Arrays, base: list[Any], facts: Facts, contained: Schema) -> Iterator[list[Any]]:
        """Arrays with one item more than may be contained, with one less, and with none."""
        counts = [0, int(facts.min_contains) - 1]
        counts += [] if facts.max_contains is None else [int(facts.max_contains) + 1]
        for count in counts:
            wanted = [True] * min(count, MAX_SIZE) + [False] * (len(base) - count)
            made = [self._solver.value((*arrays.item(index), (contained, holds))) for index, holds in enumerate(wanted)]
            yield [value for found in made for value in found]


def _declared(near: list[Facts]) -> Iterator[str]:
    """Every name that ``near`` speaks of."""
    for each in near:
        yield from (*each.properties, *each.needed_names, *each.needed_schemas, *sorted(each.required))


def _starts(objects: Objects, base: dict[str, Any], near: list[Facts]) -> Iterator[dict[str, Any]]:
    """The smallest object, and the smallest that hold what ``near`` makes other properties depend on."""
    yield base
    for name in (name for each in near for name in each.needed_schemas if name not in base):
        for value in objects.values_of(name):
            grown = objects.completed({**base, name: value})
            yield from [grown] if grown is not None else []


def _indexes(step: Step, base: list[Any], behind: int) -> list[int]:
    """The indexes that a step stands for; None for one of each kind up to ``behind``, and one that follows the base."""
    if step is None:
        return [*range(behind + 1), *([len(base)] if len(base) > behind else [])]
    return [step] if isinstance(step, int) else []


def _with_property(
    objects: Objects, base: dict[str, Any], name: str, values: Iterator[Any]
) -> Iterator[dict[str, Any]]:
    for value in values:
        grown = objects.completed({**base, name: value})
        yield from [grown] if grown is not None else []


def _with_item(arrays: Arrays, base: list[Any], index: int, values: Iterator[Any]) -> Iterator[list[Any]]:
    before = base[:index] if index <= len(base) else arrays.of_size(index)
    yield from ([*before, value, *base[index + 1 :]] for value in values if before is not None)


def _in_turn(sources: list[Iterator[Any]]) -> Iterator[Any]:
    """The first of each, then the second of each, and so on."""
    while sources:
        left = []
        for source in sources:
            for value in source:
                yield value
                left.append(source)
                break
        sources = left
