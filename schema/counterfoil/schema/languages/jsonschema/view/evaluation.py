"""The evaluation of a value against a schema, in bounded time, and the schemas that every value of a place fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.json_values import are_equal, is_integer, is_multiple, type_of
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts
from counterfoil.schema.patterns.matching import CountedPatterns, holds_match

# The evaluation of a value against a schema: accepted, refused, or unknown; always in bounded time.
#
# Source: the validation and applicator vocabularies of draft-04 to 2020-12. Formats and contents are annotations.
# Unknown are dynamic references between several resources, references that cannot be resolved, and patterns that take
# too long.

STEPS_A_LOOK: Final = 5
"""The steps of a judgement that each step here takes: a schema is looked at, and a constraint is added."""


class Evaluator:
    """An evaluator of values against schemas, with a limit on the steps of everything that uses it.

    With ``remembers``, the result for a value and a schema is cached; without it, each evaluation costs the steps that
    a validator takes. ``steps``, if given, are those of the judgement, which are spent as well.
    """

    def __init__(self, max_steps: int, *, remembers: bool = True, steps: Steps | None = None) -> None:
        self._remembers = remembers
        self._steps = steps
        self._patterns = None if steps is None else CountedPatterns(steps)
        self._left = max_steps
        self._active: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], bool | None] = {}

    def spend(self, steps: int = 1) -> None:
        """Count steps; raise ``OutOfSteps`` if none are left."""
        self._left -= steps
        if self._steps is not None:
            self._steps.spend(steps * STEPS_A_LOOK)
        if self._left < 0:
            raise OutOfSteps

    def spend_each(self, times: int) -> None:
        """Count one step as many times as given, or as often as there are steps; raise ``OutOfSteps`` as ``spend``."""
        possible = min(times, self._left + 1)
        if self._steps is not None:
            possible = min(possible, self._steps.left // STEPS_A_LOOK + 1)
        if possible > 0:
            self.spend(possible)

    def work(self, steps: int) -> None:
        """Count work that is no look at a schema, such as the copies of a state, as steps of the judgement alone."""
        if self._steps is not None:
            self._steps.spend(steps)

    def count_patterns(self, patterns: Iterable[str]) -> None:
        """Count the steps that it takes to compile each of the patterns, once for all schemas and values."""
        if self._patterns is not None:
            for pattern in patterns:
                self._patterns.count(pattern)

    def holds_match(self, pattern: str, text: str) -> bool | None:
        """Return whether ``text`` contains a match of a pattern; None if unknown."""
        return holds_match(pattern, text) if self._patterns is None else self._patterns.holds_match(pattern, text)

    @property
    def left(self) -> int:
        """The number of steps that are left."""
        return self._left

    def refill(self, steps: int) -> None:
        """Set the number of steps that are left."""
        self._left = steps

    def accepts(self, schema: ConstrainedSchema, value: object) -> bool | None:
        """Return whether ``schema`` accepts ``value``; None if unknown."""
        self.spend()
        if schema.accepts_everything:
            return True
        key = (id(schema), id(value))
        if key in self._active:
            return None
        known = self._known.get(key)
        if known is not None:
            return known
        self._active.add(key)
        try:
            judgement = _all(self._judgements(schema.facts, value))
        finally:
            self._active.discard(key)
            if not self._active:
                self._known.clear()  # a later value may have the same id
        if self._active and self._remembers:
            self._known[key] = judgement
        return judgement

    def may_accept(self, schema: ConstrainedSchema, value: object) -> bool:
        """Return whether ``schema`` accepts ``value`` or that is unknown; False if references nest too deeply."""
        try:
            return self.accepts(schema, value) is not False
        except RecursionError:
            return False

    def _judgements(self, facts: KeywordFacts, value: Json) -> Iterator[bool | None]:
        yield not facts.is_false
        if facts.is_opaque:
            yield None
        kind = type_of(value)
        if facts.types is not None:
            yield kind in facts.types or (
                kind == "number"
                and "integer" in facts.types
                and is_integer(value, with_fraction=facts.counts_fractions)
            )
        if facts.values is not None:
            yield self._is_listed(facts, kind, value)
        match kind:
            case "number":
                yield from self._number(facts, value)
            case "string":
                yield from self._text(facts, value)
            case "array":
                yield from self._array(facts, value)
            case "object":
                yield from self._object(facts, value)
        yield from self._combined(facts, value)
        if kind == "object" and facts.unevaluated_properties is not None:
            yield from self._rest(facts, facts.unevaluated_properties, value, value)
        elif kind == "array" and facts.unevaluated_items is not None:
            yield from self._rest(facts, facts.unevaluated_items, value, dict(enumerate(value)))

    def _rest(
        self, facts: KeywordFacts, schema: ConstrainedSchema, value: object, parts: Mapping[Json, object]
    ) -> Iterator[bool | None]:
        """Yield whether ``schema`` accepts each property or item that no other keyword has evaluated."""
        if schema.accepts_everything:
            return
        sure, possible = self._evaluated(replace(facts, unevaluated_properties=None, unevaluated_items=None), value)
        for step, part in parts.items():
            if step not in sure:
                yield self.accepts(schema, part) or (None if step in possible else False)

    def _evaluated(self, facts: KeywordFacts, value: Json) -> tuple[set[Json], set[Json]]:
        """Return the names or indexes that a schema which holds has certainly evaluated, and those that it may have."""
        self.spend()
        sure, possible = (
            _own_names(facts, value, self.holds_match) if isinstance(value, dict) else self._own_indexes(facts, value)
        )
        if facts.is_opaque:
            possible = set(value if isinstance(value, dict) else range(len(value)))
        for schema, holds in self._beside(facts, value):
            if holds is not False:
                inner = self._evaluated(schema.facts, value)
                possible |= inner[1]
                if holds:
                    sure |= inner[0]
        return sure, possible

    def _beside(self, facts: KeywordFacts, value: object) -> Iterator[tuple[ConstrainedSchema, bool | None]]:
        """Yield the schemas that apply to the same value, each with whether it holds."""
        yield from ((schema, True) for schema in facts.all_of)
        for branch in (*(facts.any_of or ()), *(facts.one_of or ())):
            yield branch, self.accepts(branch, value)
        if facts.condition is not None:
            holds = self.accepts(facts.condition, value)
            yield facts.condition, holds
            if facts.consequence is not None:
                yield facts.consequence, holds
            if facts.alternative is not None:
                yield facts.alternative, None if holds is None else not holds
        for name, schema in facts.needed_schemas.items():
            if isinstance(value, dict) and name in value:
                yield schema, True

    def _own_indexes(self, facts: KeywordFacts, value: list[Json]) -> tuple[set[int], set[int]]:
        if facts.items is not None or facts.unevaluated_items is not None:
            return set(range(len(value))), set(range(len(value)))
        sure = set(range(min(len(facts.prefix), len(value))))
        if facts.contains is None or not facts.marks_contained:
            return sure, set(sure)
        judged = [self.accepts(facts.contains, item) for item in value]
        taken = {index for index, judgement in enumerate(judged) if judgement}
        return sure | taken, sure | {index for index, judgement in enumerate(judged) if judgement is not False}

    def _is_listed(self, facts: KeywordFacts, kind: str, value: object) -> bool:
        if kind not in {"array", "object"}:
            return (kind, value) in facts.scalars
        self.spend(len(facts.values or ()))
        return any(are_equal(each, value) for each in facts.values or ())

    def _number(self, facts: KeywordFacts, value: Json) -> Iterator[bool | None]:
        if facts.minimum is not None:
            limit, is_exclusive = facts.minimum
            yield value > limit if is_exclusive else value >= limit
        if facts.maximum is not None:
            limit, is_exclusive = facts.maximum
            yield value < limit if is_exclusive else value <= limit
        if facts.multiple_of is not None:
            yield is_multiple(value, facts.multiple_of)

    def _text(self, facts: KeywordFacts, value: str) -> Iterator[bool | None]:
        yield _is_within(len(value), facts.min_length, facts.max_length)
        if facts.pattern is not None:
            yield self.holds_match(facts.pattern, value)

    def _array(self, facts: KeywordFacts, value: list[Json]) -> Iterator[bool | None]:
        yield _is_within(len(value), facts.min_items, facts.max_items)
        for index, item in enumerate(value):
            schema = facts.prefix[index] if index < len(facts.prefix) else facts.items
            if schema is not None:
                yield self.accepts(schema, item)
        if facts.has_unique_items:
            self.spend(len(value) ** 2)
            yield not any(are_equal(left, right) for at, left in enumerate(value) for right in value[:at])
        if facts.contains is not None:
            judged = [self.accepts(facts.contains, item) for item in value]
            sure, possible = judged.count(True), len(judged) - judged.count(False)
            least = _is_within(sure, facts.min_contains, facts.max_contains)
            yield least if least == _is_within(possible, facts.min_contains, facts.max_contains) else None

    def _object(self, facts: KeywordFacts, value: Mapping[str, object]) -> Iterator[bool | None]:
        yield _is_within(len(value), facts.min_properties, facts.max_properties)
        yield facts.required <= value.keys()
        for name, item in value.items():
            yield from self._property(facts, name, item)
            if facts.names is not None:
                yield self.accepts(facts.names, name)
        for name, needed in facts.needed_names.items():
            yield name not in value or needed <= value.keys()
        for name, schema in facts.needed_schemas.items():
            if name in value:
                yield self.accepts(schema, value)

    def _property(self, facts: KeywordFacts, name: str, item: object) -> Iterator[bool | None]:
        declared = facts.properties.get(name)
        if declared is not None:
            yield self.accepts(declared, item)
        self.spend(len(facts.patterns))
        matches = {pattern: self.holds_match(pattern, name) for pattern in facts.patterns}
        for pattern, schema in facts.patterns.items():
            if matches[pattern] is not False:
                accepted = self.accepts(schema, item)
                yield accepted if matches[pattern] or accepted else None
        if declared is None and facts.additional is not None and True not in matches.values():
            accepted = self.accepts(facts.additional, item)
            yield accepted if None not in matches.values() or accepted else None

    def _combined(self, facts: KeywordFacts, value: object) -> Iterator[bool | None]:
        for schema in facts.all_of:
            yield self.accepts(schema, value)
        if facts.any_of is not None:
            judged = self._judged(facts.any_of, value, enough=1)
            yield True if True in judged else None if None in judged else False
        if facts.one_of is not None:
            judged = self._judged(facts.one_of, value, enough=2)
            yield False if judged.count(True) > 1 else None if None in judged else judged.count(True) == 1
        if facts.refused is not None:
            accepted = self.accepts(facts.refused, value)
            yield None if accepted is None else not accepted
        if facts.condition is not None:
            yield self._condition(facts, facts.condition, value)

    def _judged(self, schemas: Iterable[ConstrainedSchema], value: object, *, enough: int) -> list[bool | None]:
        """Return the results of ``schemas`` in order, up to the one at which ``enough`` have accepted the value."""
        judged: list[bool | None] = []
        for schema in schemas:
            judged.append(self.accepts(schema, value))
            if judged[-1] and judged.count(True) == enough:
                break
        return judged

    def _condition(self, facts: KeywordFacts, condition: ConstrainedSchema, value: object) -> bool | None:
        holds = self.accepts(condition, value)
        then = True if facts.consequence is None else self.accepts(facts.consequence, value)
        otherwise = True if facts.alternative is None else self.accepts(facts.alternative, value)
        if holds is None:
            return then if then == otherwise else None
        return then if holds else otherwise


def _own_names(
    facts: KeywordFacts, value: Mapping[str, object], holds: Callable[[str, str], bool | None]
) -> tuple[set[str], set[str]]:
    if facts.additional is not None or facts.unevaluated_properties is not None:
        return set(value), set(value)
    sure = value.keys() & facts.properties.keys()
    matches = {name: {holds(pattern, name) for pattern in facts.patterns} for name in value.keys() - sure}
    sure |= {name for name, found in matches.items() if True in found}
    return sure, sure | {name for name, found in matches.items() if None in found}


def _is_within(count: int, least: Json, most: Json) -> bool:
    return (least is None or count >= least) and (most is None or count <= most)


def _all(judgements: Iterable[bool | None]) -> bool | None:
    result: bool | None = True
    for judgement in judgements:
        if judgement is False:
            return False
        if judgement is None:
            result = None
    return result


# The schemas that every value of a place of a JSON schema fits, and whether a text may be such a value.
#
# A value fits what a schema requires without a condition: its ``allOf`` and references, and a branch of ``anyOf`` or
# ``oneOf`` if the other branches are for values of other types, as in ``{"anyOf": [{"type": "object", …}, {"type":
# "null"}]}``.

Certain: TypeAlias = "tuple[ConstrainedSchema, ...]"
"""Schemas that all values of a place fit; they need not be all such schemas."""

_MOST: Final = 100
_MAX_STEPS: Final = 20_000
_CONTAINERS: Final = frozenset({"object", "array"})


def certain_beside(schemas: Certain) -> Certain:
    """Return schemas and those beside them that an object or an array which fits them certainly fits, at most 100."""
    found: dict[ConstrainedSchema, None] = {}
    waiting = [*schemas]
    while waiting and len(found) < _MOST:
        each = waiting.pop()
        if each not in found:
            found[each] = None
            facts = each.facts
            waiting += facts.all_of
            for branches in (facts.any_of or (), facts.one_of or ()):
                waiting += _only_container(branches)
    return tuple(found)


def certain_of_property(around: Certain, name: str) -> Certain:
    """Return the schemas that the property ``name`` of an object which fits ``around`` fits."""
    found: dict[ConstrainedSchema, None] = {}
    for each in around:
        facts = each.facts
        declared = facts.properties.get(name)
        matching = [schema for pattern, schema in facts.patterns.items() if holds_match(pattern, name)]
        found |= dict.fromkeys(matching if declared is None else (declared, *matching))
        if declared is None and not facts.patterns and facts.additional is not None:
            found[facts.additional] = None
    return tuple(found)


def certain_of_unlisted(around: Certain, schema: ConstrainedSchema) -> Certain:
    """Return ``schema`` if it is for properties that are not listed by name, of objects which fit ``around``."""
    for each in around:
        facts = each.facts
        if schema in (*facts.patterns.values(), facts.additional, facts.unevaluated_properties):
            return (schema,)
    return ()


def certain_of_item(around: Certain, index: int) -> Certain:
    """Return the schemas that the item at ``index`` of an array which fits ``around`` fits."""
    found: dict[ConstrainedSchema, None] = {}
    for each in around:
        prefix, items = each.facts.prefix, each.facts.items
        schema = prefix[index] if index < len(prefix) else items
        if schema is not None:
            found[schema] = None
    return tuple(found)


def may_be_text(certain: Certain) -> Callable[[str], bool] | None:
    """Return a function that returns False for texts that do not fit all of the schemas; None if all texts do."""
    limiting = [each for each in certain if not each.accepts_everything]
    if not limiting or any(_CONTAINERS & (each.facts.types or frozenset()) for each in limiting):
        return None

    def may_be(text: str) -> bool:
        evaluator = Evaluator(_MAX_STEPS)
        try:
            return all(evaluator.accepts(each, text) is not False for each in limiting)
        except (OutOfSteps, RecursionError):
            return True

    return may_be


def _only_container(branches: Sequence[ConstrainedSchema]) -> Iterator[ConstrainedSchema]:
    """Yield the branch that an object or an array fits, if no other branch is for one."""
    containing = [each for each in branches if _types(each) is None or _CONTAINERS & (_types(each) or frozenset())]
    if len(containing) == 1:
        yield containing[0]


def _types(schema: ConstrainedSchema) -> frozenset[str] | None:
    """Return the types that a schema permits; None if all."""
    waiting, seen = [schema], 0
    while waiting and seen < _MOST:
        seen += 1
        facts = waiting.pop(0).facts
        if facts.types is not None:
            return facts.types
        waiting += facts.all_of
    return None
