"""Values that fit a schema, in an order made to break another one.

A value is built for one way to fit at a time: scalars near the limits, objects of the properties that must be there
and one more, arrays of as few items as may be. Only those that fit come out, so that they can be put into larger ones.
``steps`` narrow the search down to one place: the way from the root to the value that is to be varied.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.sites import Site, alike, count_of, is_reachable, plain, spread
from counterfoil.schema.formats.jsonschema.samples.facts import ways_to_fit
from counterfoil.schema.formats.jsonschema.samples.holds import OutOfBudget, Sieve, dependency_keywords
from counterfoil.schema.formats.jsonschema.samples.property_names import (
    MAX_REFUSED,
    MAX_SIZE,
    Step,
    asked_for,
    many_names,
    names_for,
    telling_names,
)
from counterfoil.schema.formats.jsonschema.samples.scalars import numbers, strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.jsonschema.samples.facts import Facts

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


class ValueSource:
    """Builds values, within a budget."""

    def __init__(self, sieve: Sieve, *, budget: int = MAX_BUILT, variations: int = MAX_VARIATIONS) -> None:
        self._sieve = sieve
        self._left = budget
        self._variations = variations
        self._smallest_by_sites: dict[tuple[int, ...], list[Any]] = {}

    def values(
        self,
        sites: list[Site],
        other: list[Site],
        steps: tuple[Step, ...] = (),
        depth: int = 0,
        *,
        is_refused: bool = False,
    ) -> Iterator[Any]:
        """Values that fit all of ``sites``, each once, varied where those of ``other`` look at them.

        Only what lies along ``steps``, and below, is varied; ``is_refused`` says that the values are themselves what
        another schema must not have, so that those which these must not have are left out. Raises ``OutOfBudget``.
        """
        if depth > MAX_DEPTH:
            return
        seen: set[Any] = set()
        looking = spread(other)
        sources = [self._one_way(facts, looking, steps, depth) for facts in ways_to_fit(sites)]
        if looking and not steps and not is_refused:
            sources.append(self._refused(looking, sites, depth))
        misses = 0
        for value in _in_turn(sources):
            self._left -= 1
            if self._left < 0:
                raise OutOfBudget
            if misses > MAX_MISSES:
                return
            key = alike(value)
            if key in seen or not self._sieve.fits_all(value, sites):
                misses += 1
                continue
            misses = 0
            seen.add(key)
            yield value

    def _refused(self, looking: list[Site], sites: list[Site], depth: int) -> Iterator[Any]:
        """Values that the other side says must not be, or that fit two branches of which they must fit one."""
        pairs: list[list[Site]] = []
        for site in looking:
            refused = site.one("not")
            pairs += [[refused]] if refused else []
            pairs += [[*pair] for pair in islice(combinations(site.children("oneOf"), 2), MAX_PAIRS)]
        values = [self.values(pair, sites, (), depth + 1, is_refused=True) for pair in pairs[:MAX_PAIRS]]
        sources = [islice(source, MAX_VARIATIONS) for source in values]
        yield from _in_turn([*sources])

    def smallest(self, sites: list[Site], depth: int = 0) -> list[Any]:
        """The first value that fits all of ``sites``, in a list; an empty list where none is found."""
        key = tuple(id(site.value) if isinstance(site.value, dict) else int(site.value) for site in sites)
        known = self._smallest_by_sites.get(key)
        if known is None:
            self._smallest_by_sites[key] = []  # met again below itself: no value is that small
            known = [*islice(self.values(sites, [], (), depth), 1)]
            if known or depth == 0:
                self._smallest_by_sites[key] = known
            else:
                del self._smallest_by_sites[key]
        return known

    def _one_way(self, facts: Facts, other: list[Site], steps: tuple[Step, ...], depth: int) -> Iterator[Any]:
        if facts.choices is not None:
            yield from (plain(choice) for choice in facts.choices)
            return
        makers = {"number": numbers, "string": strings}
        kinds: list[Iterator[Any]] = []
        for name in facts.types:
            match name:
                case "null":
                    kinds.append(iter([None]))
                case "boolean":
                    kinds.append(iter([False, True]))
                case "array":
                    kinds.append(self._arrays(facts, other, steps, depth))
                case "object":
                    kinds.append(self._objects(facts, other, steps, depth))
                case _:
                    kinds.append(makers[name](facts, other))
        if steps:  # only objects and arrays lead on
            kinds = kinds[-2:] if facts.types[-2:] == ("array", "object") else kinds[-1:]
        yield from _in_turn(kinds)

    def _objects(
        self, facts: Facts, other: list[Site], steps: tuple[Step, ...], depth: int
    ) -> Iterator[dict[str, Any]]:
        base = self._grown({}, facts, [*facts.required], depth)
        if base is None:
            return
        if not steps:
            yield base
        names = [*dict.fromkeys(telling_names(facts, other))] if not steps else [*names_for(steps[0], facts, other)]
        names = [name for name in names if self._may_be_there(name, facts)][:MAX_SIZE]
        sources = [self._of_sizes(base, names, facts, other, depth)] if not steps else []
        for start in self._starts(base, facts, other, depth):
            sources += [self._with_property(start, name, (facts, other), steps[1:], depth) for name in names]
        yield from _in_turn(sources)
        if not steps:
            yield from self._mixed(base, names, facts, depth)

    def _mixed(self, base: dict[str, Any], names: list[str], facts: Facts, depth: int) -> Iterator[dict[str, Any]]:
        """Objects in which every property changes from one to the next, each at its own pace."""
        values = {name: [*islice(self.values(facts.properties(name), [], (), depth + 1), MAX_MIXED)] for name in names}
        choices = {name: found for name, found in values.items() if found}
        for index in range(MAX_VARIATIONS * MAX_MIXED if choices else 0):
            mixed = dict(base)
            for place, (name, found) in enumerate(choices.items()):
                turn = index // (place + 1) + place
                if name in base or turn % (len(found) + 1):
                    mixed[name] = found[turn % len(found)]
            yield mixed

    def _starts(self, base: dict[str, Any], facts: Facts, other: list[Site], depth: int) -> Iterator[dict[str, Any]]:
        """The smallest object, and the smallest that holds what the other side makes other properties depend on."""
        yield base
        for site in other:
            for keyword in dependency_keywords(site):
                held = site.keywords.get(keyword)
                for name, asked in held.items() if isinstance(held, dict) else ():
                    if isinstance(asked, dict) and name not in base and self._may_be_there(name, facts):
                        start = self._grown(base, facts, [name], depth)
                        if start is not None:
                            yield start

    def _with_property(
        self,
        base: dict[str, Any],
        name: str,
        sides: tuple[Facts, list[Site]],
        steps: tuple[Step, ...],
        depth: int,
    ) -> Iterator[dict[str, Any]]:
        facts, other = sides
        looking = [site for whole in other for site in whole.properties(name)]
        sites = facts.properties(name)
        for value in islice(self.values(sites, looking, steps, depth + 1), self._variations):
            grown = self._grown({**base, name: value}, facts, [name], depth)
            if grown is not None:
                yield grown

    def _grown(self, given: dict[str, Any], facts: Facts, names: Iterable[str], depth: int) -> dict[str, Any] | None:
        """An object with these properties, with those that they ask for, and with as many as there must be."""
        grown = dict(given)
        waiting = [*names]
        while waiting:
            name = waiting.pop(0)
            if name not in grown and not self._add(grown, name, facts, depth):
                return None
            waiting += [asked for asked in asked_for(name, facts) if asked not in grown and asked not in waiting]
        least = max((count_of(limit) for limit in facts.limits("minProperties")), default=0)
        if least > MAX_SIZE:
            return None
        self._fill(grown, least, many_names(facts, []), facts, depth)
        return grown if len(grown) >= least else None

    def _fill(self, grown: dict[str, Any], size: int, names: Iterator[str], facts: Facts, depth: int) -> None:
        """Add properties up to a size; give up when one name after the other cannot be had."""
        refused = 0
        for name in names:
            if len(grown) >= size or refused > MAX_REFUSED:
                return
            if name not in grown:
                is_added = self._may_be_there(name, facts) and self._add(grown, name, facts, depth)
                refused = 0 if is_added else refused + 1

    def _add(self, grown: dict[str, Any], name: str, facts: Facts, depth: int) -> bool:
        smallest = self.smallest(facts.properties(name), depth + 1) if depth < MAX_DEPTH else []
        if smallest:
            grown[name] = smallest[0]
        return bool(smallest)

    def _may_be_there(self, name: str, facts: Facts) -> bool:
        if name in facts.absent:
            return False
        return self._sieve.fits_all(name, [names for part in facts.parts if (names := part.one("propertyNames"))])

    def _of_sizes(
        self, base: dict[str, Any], names: list[str], facts: Facts, other: list[Site], depth: int
    ) -> Iterator[dict[str, Any]]:
        """Objects of every declared property, and of the numbers of properties that the other side looks at."""
        full = dict(base)
        wanted = sorted(
            count_of(limit) + 1
            for site in other
            if is_reachable(limit := site.keywords.get("maxProperties")) and limit < MAX_SIZE
        )
        for size in wanted:
            grown = dict(base)
            self._fill(grown, size, many_names(facts, other), facts, depth)
            yield grown
        for name in names:
            if name not in full:
                self._add(full, name, facts, depth)
        yield full

    def _arrays(self, facts: Facts, other: list[Site], steps: tuple[Step, ...], depth: int) -> Iterator[list[Any]]:
        least = max((count_of(limit) for limit in facts.limits("minItems")), default=0)
        base = self._items(facts, least, depth)
        if base is None:
            return
        if not steps:
            yield base
        if steps:
            indexes = _indexes_for(steps[0], facts, other)
        else:
            indexes = range(max((len(site.prefix()) for site in (*facts.parts, *other)), default=0) + 1)
        sources = [self._of_lengths(base, facts, other, depth)] if not steps else []
        sources += [self._with_item(base, index, (facts, other), steps[1:], depth) for index in indexes]
        yield from _in_turn(sources)
        if not steps:
            yield from self._mixed_items(base, facts, depth)

    def _mixed_items(self, base: list[Any], facts: Facts, depth: int) -> Iterator[list[Any]]:
        """Arrays of several different items."""
        items = [*islice(self.values(facts.items(len(base)), [], (), depth + 1), MAX_MIXED)]
        for size in range(2, len(items)):
            for start in range(len(items) - size):
                yield [*base, *items[start : start + size]]

    def _with_item(
        self,
        base: list[Any],
        index: int,
        sides: tuple[Facts, list[Site]],
        steps: tuple[Step, ...],
        depth: int,
    ) -> Iterator[list[Any]]:
        facts, other = sides
        before = self._items(facts, index, depth)
        if before is None:
            return
        looking = [site for whole in other for site in whole.items(index)]
        looking += [wanted for whole in other if (wanted := whole.one("contains"))]
        for value in islice(self.values(facts.items(index), looking, steps, depth + 1), self._variations):
            yield [*before, value, *base[index + 1 :]]
            if len(before) != len(base[:index]):
                yield [*base[:index], value, *base[index + 1 :]]

    def _of_lengths(self, base: list[Any], facts: Facts, other: list[Site], depth: int) -> Iterator[list[Any]]:
        """Arrays of the lengths that the other side looks at, and of equal items."""
        lengths = [count_of(limit) - 1 for site in other if is_reachable(limit := site.keywords.get("minItems"))]
        lengths += [count_of(limit) + 1 for site in other if is_reachable(limit := site.keywords.get("maxItems"))]
        lengths += [len(site.prefix()) + 1 for site in (*other, *facts.parts)]
        lengths += [*facts.limits("maxItems"), len(base) + 1, 2, 3]
        for length in dict.fromkeys(count_of(length) for length in lengths):
            if len(base) <= length <= MAX_SIZE and (items := self._items(facts, length, depth)) is not None:
                yield items
        yield from self._with_equals(facts, max(len(base), 2), depth)
        for site in other:
            yield from self._containing(site, base, facts, depth)

    def _containing(self, site: Site, base: list[Any], facts: Facts, depth: int) -> Iterator[list[Any]]:
        """Arrays with one item more than may be contained for the other side, with one less, and with none."""
        contained, most = site.one("contains"), site.keywords.get("maxContains")
        least = site.keywords.get("minContains", 1)
        counts = [count_of(most) + 1] if is_reachable(most) else []
        counts += [count_of(least) - 1] if is_reachable(least) else []
        for count in counts if contained else []:
            items: list[Any] = []
            while contained and len(items) < min(count, MAX_SIZE):
                if not self._append(items, [contained, *facts.items(len(items))], depth, is_unique=False):
                    break
            yield [*items, *base[len(items) :]]

    def _with_equals(self, facts: Facts, length: int, depth: int) -> Iterator[list[Any]]:
        items = self._items(facts, length, depth) if length <= MAX_SIZE else None
        for value in items[:1] if items else []:
            yield [value, value, *(items or [])[2:]]
            yield [value] * length
        for value in islice(self.values(facts.items(length), [], (), depth + 1), 2):
            yield [*(items or [])[:length], value, value]

    def _items(self, facts: Facts, length: int, depth: int) -> list[Any] | None:
        """So many items, of which enough are what must be contained; different ones where they must be."""
        if length > MAX_SIZE or depth >= MAX_DEPTH:
            return None
        items: list[Any] = []
        wanted = [part for part in facts.parts if part.one("contains")]
        is_unique = any(part.keywords.get("uniqueItems") is True for part in facts.parts)
        for part in wanted:
            contained = part.one("contains")
            copies = part.keywords.get("minContains", 1) if part.base.draft.is_modern else 1
            for _ in range(min(count_of(copies), MAX_SIZE) if contained and is_reachable(copies) else 0):
                if contained and not self._append(
                    items, [contained, *facts.items(len(items))], depth, is_unique=is_unique
                ):
                    return None
        while len(items) < length:
            if not self._append(items, facts.items(len(items)), depth, is_unique=is_unique):
                return None
        return items

    def _append(self, items: list[Any], sites: list[Site], depth: int, *, is_unique: bool) -> bool:
        found = self.smallest(sites, depth + 1)
        if found and not (is_unique and alike(found[0]) in {alike(item) for item in items}):
            items.append(found[0])
            return True
        taken = {alike(item) for item in items}
        for value in self.values(sites, [], (), depth + 1) if found else ():
            if alike(value) not in taken:
                items.append(value)
                return True
        return False


def _indexes_for(step: Step, facts: Facts, other: list[Site]) -> range:
    if isinstance(step, int):
        return range(step, step + 1)
    if step is None:
        behind = max((len(site.prefix()) for site in (*facts.parts, *other)), default=0)
        return range(behind + 1)
    return range(0)


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
