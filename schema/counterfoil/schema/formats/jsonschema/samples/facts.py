"""What a value must be like to fit several schemas at once: one way at a time.

Each way takes one branch of every anyOf and oneOf, one side of every condition, and decides of each dependency whether
its property is there. References are followed; a schema that is met again says nothing new, so recursion ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.drafts import Draft
from counterfoil.schema.formats.jsonschema.read.sites import Site, alike, is_reachable
from counterfoil.schema.formats.jsonschema.samples.holds import dependency_keywords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_WAYS: Final = 24
"""How many ways to fit are looked at."""

MAX_STEPS: Final = 2_000
"""How many schemas are looked at to find them."""

ALL_TYPES: Final = ("null", "boolean", "number", "string", "array", "object")


@dataclass(slots=True)
class Facts:
    """One way to fit. ``parts`` are the schemas that hold side by side, combinations and references resolved.

    ``types`` are the JSON types that are left, ``is_whole`` whether numbers must be; ``choices`` the values that are
    left where they are listed. ``required`` names properties that must be there, ``absent`` those that must not.
    """

    types: tuple[str, ...] = ALL_TYPES
    is_whole: bool = False
    choices: list[Any] | None = None
    parts: list[Site] = field(default_factory=list)
    required: dict[str, None] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    seen: frozenset[int] = frozenset()

    def limits(self, keyword: str) -> list[Any]:
        """Every number that a keyword is given."""
        return [value for part in self.parts if is_reachable(value := part.keywords.get(keyword))]

    def properties(self, name: str) -> list[Site]:
        """The schemas that a property must fit."""
        return [site for part in self.parts for site in part.properties(name)]

    def items(self, index: int) -> list[Site]:
        """The schemas that an item must fit."""
        return [site for part in self.parts for site in part.items(index)]

    def patterns(self) -> list[str]:
        """The patterns that a string must hold."""
        return [pattern for part in self.parts if isinstance(pattern := part.keywords.get("pattern"), str)]


_Choice = tuple[list[tuple[list[Site], tuple[str, bool] | None]], ...]


def ways_to_fit(sites: list[Site]) -> list[Facts]:
    """The ways, in the order of the schema, at most ``MAX_WAYS``; none where nothing fits."""
    budget = iter(range(MAX_STEPS))
    return [*islice(_ways(Facts(), sites, (), budget), MAX_WAYS)]


def _ways(facts: Facts, sites: list[Site], choices: _Choice, budget: Iterator[int]) -> Iterator[Facts]:
    facts = replace(facts, parts=[*facts.parts], required=dict(facts.required))
    waiting = sites[::-1]
    while waiting:
        site = waiting.pop()
        if site.value is False or next(budget, None) is None:
            return
        if not isinstance(site.value, dict) or id(site.value) in facts.seen:
            continue
        facts.seen |= {id(site.value)}
        waiting.extend(reversed([*site.referred(), *site.children("allOf")]))
        if not _absorb(facts, site):
            return
        choices += tuple(_choices(site))
    if not choices:
        yield facts
        return
    for more, dependency in choices[0]:
        way = _with_dependency(facts, dependency)
        if way is not None:
            yield from _ways(way, more, choices[1:], budget)


def _absorb(facts: Facts, site: Site) -> bool:
    """Add what a schema says by itself; False where nothing can fit any more."""
    keywords = site.keywords
    facts.parts.append(site)
    named = keywords.get("type")
    if named is not None:
        names = set(named if isinstance(named, list) else [named])
        if "integer" in names and "number" not in names:
            facts.is_whole = True
        facts.types = tuple(name for name in facts.types if name in names or (name == "number" and "integer" in names))
    _choose(facts, keywords)
    required = keywords.get("required")
    facts.required.update(dict.fromkeys(name for name in _list(required) if isinstance(name, str)))
    return bool(facts.types) and facts.choices != [] and not facts.absent & facts.required.keys()


def _choose(facts: Facts, keywords: Mapping[str, Any]) -> None:
    for listed in (keywords.get("enum"), [keywords["const"]] if "const" in keywords else None):
        if isinstance(listed, list):
            keys = {alike(value) for value in listed}
            kept = listed if facts.choices is None else facts.choices
            facts.choices = [value for value in kept if alike(value) in keys]


def _choices(site: Site) -> Iterator[list[tuple[list[Site], tuple[str, bool] | None]]]:
    for keyword in ("anyOf", "oneOf"):
        if keyword in site.keywords:
            yield [([branch], None) for branch in site.children(keyword)]
    condition = site.one("if")
    if condition:
        then, otherwise = site.one("then"), site.one("else")
        yield [([condition, *([then] if then else [])], None), ([otherwise] if otherwise else [], None)]
    if site.base.draft is Draft.DRAFT_4 or "dependencies" in site.keywords or site.base.draft.is_modern:
        yield from _dependencies(site)


def _dependencies(site: Site) -> Iterator[list[tuple[list[Site], tuple[str, bool] | None]]]:
    for keyword in dependency_keywords(site):
        held = site.keywords.get(keyword)
        for name, dependent in held.items() if isinstance(held, dict) else ():
            asked = {"required": dependent} if isinstance(dependent, list) else dependent
            there = site.child(asked, keyword, name)
            yield [([], (name, False)), ([there], (name, True))]


def _with_dependency(facts: Facts, dependency: tuple[str, bool] | None) -> Facts | None:
    """The same facts, a property decided to be there or not; None where that contradicts them."""
    if dependency is None:
        return facts
    name, is_there = dependency
    if is_there:
        if name in facts.absent:
            return None
        return replace(facts, required={**facts.required, name: None})
    return None if name in facts.required else replace(facts, absent=facts.absent | {name})


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
