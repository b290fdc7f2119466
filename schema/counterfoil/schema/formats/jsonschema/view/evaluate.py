"""The evaluation of a value against a schema: accepted, refused, or unknown; always in bounded time.

Source: the validation and applicator vocabularies of draft-04 to 2020-12. Formats and contents are annotations. Unknown
are dynamic references between several resources, references that cannot be resolved, and patterns that take too long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.patterns import CountedPatterns, holds_match
from counterfoil.schema.formats.jsonschema.read.values import are_equal, is_integer, is_multiple, type_of
from counterfoil.schema.steps import OutOfSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from counterfoil.schema.formats.jsonschema.view.facts import Facts, Schema
    from counterfoil.schema.steps import Steps


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

    def accepts(self, schema: Schema, value: Any) -> bool | None:
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

    def may_accept(self, schema: Schema, value: Any) -> bool:
        """Return whether ``schema`` accepts ``value`` or that is unknown; False if references nest too deeply."""
        try:
            return self.accepts(schema, value) is not False
        except RecursionError:
            return False

    def _judgements(self, facts: Facts, value: Any) -> Iterator[bool | None]:
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

    def _rest(self, facts: Facts, schema: Schema, value: Any, parts: Mapping[Any, Any]) -> Iterator[bool | None]:
        """Yield whether ``schema`` accepts each property or item that no other keyword has evaluated."""
        if schema.accepts_everything:
            return
        sure, possible = self._evaluated(replace(facts, unevaluated_properties=None, unevaluated_items=None), value)
        for step, part in parts.items():
            if step not in sure:
                yield self.accepts(schema, part) or (None if step in possible else False)

    def _evaluated(self, facts: Facts, value: Any) -> tuple[set[Any], set[Any]]:
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

    def _beside(self, facts: Facts, value: Any) -> Iterator[tuple[Schema, bool | None]]:
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

    def _own_indexes(self, facts: Facts, value: list[Any]) -> tuple[set[int], set[int]]:
        if facts.items is not None or facts.unevaluated_items is not None:
            return set(range(len(value))), set(range(len(value)))
        sure = set(range(min(len(facts.prefix), len(value))))
        if facts.contains is None or not facts.marks_contained:
            return sure, set(sure)
        judged = [self.accepts(facts.contains, item) for item in value]
        taken = {index for index, judgement in enumerate(judged) if judgement}
        return sure | taken, sure | {index for index, judgement in enumerate(judged) if judgement is not False}

    def _is_listed(self, facts: Facts, kind: str, value: Any) -> bool:
        if kind not in {"array", "object"}:
            return (kind, value) in facts.scalars
        self.spend(len(facts.values or ()))
        return any(are_equal(each, value) for each in facts.values or ())

    def _number(self, facts: Facts, value: Any) -> Iterator[bool | None]:
        if facts.minimum is not None:
            limit, is_exclusive = facts.minimum
            yield value > limit if is_exclusive else value >= limit
        if facts.maximum is not None:
            limit, is_exclusive = facts.maximum
            yield value < limit if is_exclusive else value <= limit
        if facts.multiple_of is not None:
            yield is_multiple(value, facts.multiple_of)

    def _text(self, facts: Facts, value: str) -> Iterator[bool | None]:
        yield _is_within(len(value), facts.min_length, facts.max_length)
        if facts.pattern is not None:
            yield self.holds_match(facts.pattern, value)

    def _array(self, facts: Facts, value: list[Any]) -> Iterator[bool | None]:
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

    def _object(self, facts: Facts, value: Mapping[str, Any]) -> Iterator[bool | None]:
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

    def _property(self, facts: Facts, name: str, item: Any) -> Iterator[bool | None]:
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

    def _combined(self, facts: Facts, value: Any) -> Iterator[bool | None]:
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

    def _judged(self, schemas: Iterable[Schema], value: Any, *, enough: int) -> list[bool | None]:
        """Return the results of ``schemas`` in order, up to the one at which ``enough`` have accepted the value."""
        judged: list[bool | None] = []
        for schema in schemas:
            judged.append(self.accepts(schema, value))
            if judged[-1] and judged.count(True) == enough:
                break
        return judged

    def _condition(self, facts: Facts, condition: Schema, value: Any) -> bool | None:
        holds = self.accepts(condition, value)
        then = True if facts.consequence is None else self.accepts(facts.consequence, value)
        otherwise = True if facts.alternative is None else self.accepts(facts.alternative, value)
        if holds is None:
            return then if then == otherwise else None
        return then if holds else otherwise


def _own_names(
    facts: Facts, value: Mapping[str, Any], holds: Callable[[str, str], bool | None]
) -> tuple[set[str], set[str]]:
    if facts.additional is not None or facts.unevaluated_properties is not None:
        return set(value), set(value)
    sure = value.keys() & facts.properties.keys()
    matches = {name: {holds(pattern, name) for pattern in facts.patterns} for name in value.keys() - sure}
    sure |= {name for name, found in matches.items() if True in found}
    return sure, sure | {name for name, found in matches.items() if None in found}


def _is_within(count: int, least: Any, most: Any) -> bool:
    return (least is None or count >= least) and (most is None or count <= most)


def _all(judgements: Iterable[bool | None]) -> bool | None:
    result: bool | None = True
    for judgement in judgements:
        if judgement is False:
            return False
        if judgement is None:
            result = None
    return result
