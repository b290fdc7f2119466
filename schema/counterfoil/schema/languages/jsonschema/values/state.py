"""The constraints on one value of one type after some choices, the choices of schemas, the result of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.json_values import type_of
from counterfoil.schema.languages.jsonschema.values.literals import (
    NOTHING,
    WITHOUT_CONDITION,
    Absence,
    Afterwards,
    Demand,
    MisfitProperty,
    NoneOf,
    Option,
    alternatives,
    failures,
    knows_kind,
)
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import (
    ConstrainedSchema,
    HoldingWay,
    KeywordFacts,
    Literal,
    NegatedSchema,
    TooManyWays,
    is_unevaluated_asked,
    ways_beside,
)

# The constraints on one value of one type, after some choices.

_COPIED_A_STEP: Final = 8
"""The number of constraints that are copied in about the time of one step."""

_STEPS_AN_OPTION: Final = 3
"""The steps of a look at one option of an open choice."""

_Demanded = TypeVar("_Demanded")


class ValueState:
    """The constraints on one value: ``facts`` and demands; ``listed`` has all values that remain, if they are listed.

    Of each open choice, one option holds. Choices of schemas that hold are kept apart from those of schemas that do
    not.
    """

    def __init__(self, choices: SchemaChoices, evaluator: Evaluator, kind: str) -> None:
        self.kind = kind
        self.facts: list[KeywordFacts] = []
        self.listed: list[Json] | None = None
        self._of_schemas = choices
        self._evaluator = evaluator
        self._demands: list[Demand] = []
        self._afterwards: list[Afterwards] = []
        self._choices: list[Sequence[Option]] = []
        self._failing: list[Sequence[Option]] = []
        self._seen: set[tuple[object, bool]] = set()

    def without(self, choice: Sequence[Option]) -> ValueState:
        """Return a copy without one open choice."""
        parts: tuple[Sized, ...] = (
            self.facts,
            self._demands,
            self._seen,
            self._afterwards,
            self._choices,
            self._failing,
        )
        self._evaluator.work(1 + sum(map(len, parts)) // _COPIED_A_STEP)
        other = ValueState(self._of_schemas, self._evaluator, self.kind)
        other.listed, other.facts = self.listed, [*self.facts]
        other._demands, other._seen = [*self._demands], {*self._seen}
        other._afterwards = [*self._afterwards]
        other._choices = [options for options in self._choices if options is not choice]
        other._failing = [options for options in self._failing if options is not choice]
        return other

    def children(self, choice: Sequence[Option]) -> Iterator[ValueState]:
        """Yield the states after each option of a choice, except those that contradict the constraints."""
        for option in choice:
            child = self.without(choice)
            if all(child.add(part) for part in option):
                yield child

    def listed_values(self) -> Iterator[Json]:
        """Yield all values that remain; for a state with listed values, or of the type null or boolean."""
        if self.listed is None:
            yield from (None,) if self.kind == "null" else (True, False)
        else:
            yield from (value for value in self.listed if type_of(value) == self.kind)

    def demands(self, kind: type[_Demanded]) -> list[_Demanded]:
        """Return the demands of one class."""
        return [each for each in self._demands if isinstance(each, kind)]

    @property
    def excluded(self) -> list[Json]:
        """The values that the value must not equal."""
        return [value for each in self.demands(NoneOf) for value in each.values]

    def add(self, part: Literal | Demand) -> bool:
        """Add a constraint; return False if it contradicts the constraints."""
        self._evaluator.spend()
        match part:
            case (named, is_so):
                schema, is_plain = named.stands_for
                return self._add_literal(schema, holds=is_so is is_plain)
            case Absence():
                return self._add_absence(part.name)
            case MisfitProperty():
                return self._add_misfit(part)
            case Afterwards():
                self._afterwards.append(part)
            case _:
                self._demands.append(part)
        return True

    def _add_literal(self, schema: ConstrainedSchema, *, holds: bool) -> bool:
        if schema.accepts_everything:
            return holds
        key = schema.text or id(schema)
        if (key, not holds) in self._seen:
            return False
        if (key, holds) in self._seen:
            return True
        self._seen.add((key, holds))
        return self._add_facts(schema.facts) if holds else self._add_failures(schema.facts)

    def _add_absence(self, name: str) -> bool:
        if any(name in each.required for each in self.facts):
            return False
        self.facts.append(KeywordFacts(properties={name: NOTHING}))
        return True

    def _add_misfit(self, part: MisfitProperty) -> bool:
        text = part.schema.text
        for each in self.facts:
            declared = each.properties.get(part.name)
            if declared is not None and (declared is part.schema or (text is not None and declared.text == text)):
                return False
        there = KeywordFacts(required=frozenset([part.name]), properties={part.name: NegatedSchema(part.schema)})
        self.facts.append(there)
        return True

    def choices(self) -> tuple[list[Sequence[Option]], list[Sequence[Option]]]:
        """Return the open choices: those of schemas that hold, and those of schemas that do not hold."""
        self._evaluator.work(_STEPS_AN_OPTION * sum(map(len, (*self._choices, *self._failing))))
        self._choices = [options for options in self._choices if not any(map(self._is_given, options))]
        self._failing = [options for options in self._failing if not any(map(self._is_given, options))]
        return self._choices, self._failing

    def add_afterwards(self) -> bool | None:
        """Add the postponed literals; return False if they contradict the constraints, None if there were none."""
        parts, self._afterwards = self._afterwards, []
        return all(self.add(literal) for part in parts for literal in part.literals()) if parts else None

    def _is_given(self, option: Option) -> bool:
        return all(isinstance(part, tuple) and (part[0].text or id(part[0]), part[1]) in self._seen for part in option)

    def _add_facts(self, facts: KeywordFacts) -> bool:
        if facts.is_false or not knows_kind(facts, self.kind):
            return False
        if facts.values is not None and self.listed is None:
            self.listed = facts.values
        self.facts.append(facts)
        ways = self._of_schemas.ways(facts, self.kind)
        if ways is None and not self._add_all_of(facts.all_of):
            return False
        if facts.refused is not None and not self.add((facts.refused, False)):
            return False
        for options in self._of_schemas.alternatives(facts, self.kind):
            if len(options) > 1:
                self._choices.append(options)
            elif not options or not all(map(self.add, options[0])):
                return False
        return True

    def _add_all_of(self, schemas: Sequence[ConstrainedSchema]) -> bool:
        free = 0  # schemas that accept everything, which have nothing to add
        for schema in schemas:
            if schema.accepts_everything:
                free += 1
                continue
            self._evaluator.spend_each(free)
            free = 0
            if not self.add((schema, True)):
                return False
        self._evaluator.spend_each(free)
        return True

    def _add_failures(self, facts: KeywordFacts) -> bool:
        options = self._of_schemas.failures(facts, self.kind)
        if len(options) == 1:
            return all(map(self.add, options[0]))
        self._failing += [options] if options else []
        return bool(options)


# The choices that schemas allow, each computed once: which branch holds, and which cause makes a value not fit.

_STEPS_TO_COMPARE_OPTION: Final = 2
"""The steps of a look at one option of a choice."""

_FEW_BRANCHES: Final = 16
"""A number of branches for which it is not worth while to remember which of them are equal."""


class SchemaChoices:
    """The choices of schemas, cached by the schema's facts and the type of the values; ``work`` counts the steps."""

    def __init__(self, work: Callable[[int], None]) -> None:
        self._work = work
        self._ways: dict[tuple[int, str], tuple[KeywordFacts, list[HoldingWay] | None]] = {}
        self._failures: dict[tuple[int, str], tuple[KeywordFacts, Sequence[Option]]] = {}
        self._alternatives: dict[tuple[int, str], tuple[KeywordFacts, list[list[Option]]]] = {}
        self._branches: dict[int, tuple[KeywordFacts, KeywordFacts]] = {}
        self._parts: dict[int, tuple[KeywordFacts, KeywordFacts]] = {}

    def ways(self, facts: KeywordFacts, kind: str) -> list[HoldingWay] | None:
        """Return the ways in which everything holds but the unevaluated schema (see ``ways_beside``).

        None if the schema has no unevaluated schema for this type, or if there are too many ways.
        """
        if not is_unevaluated_asked(facts, kind):
            return None
        key = (id(facts), kind)
        if key not in self._ways:
            try:
                self._ways[key] = (facts, ways_beside(facts, kind))
            except (TooManyWays, RecursionError):
                self._ways[key] = (facts, None)
        return self._ways[key][1]

    def failures(self, facts: KeywordFacts, kind: str) -> Sequence[Option]:
        """Return the causes of which at least one makes a value of a type not fit a schema."""
        key = (id(facts), kind)
        if key not in self._failures:
            distinct = self._with_distinct_parts(facts)
            options = failures(distinct, kind, self.ways(facts, kind))
            if options is not WITHOUT_CONDITION:
                self._work(_STEPS_TO_COMPARE_OPTION * (len(facts.all_of) - len(distinct.all_of)))
            self._failures[key] = (facts, self._distinct(options))
        return self._failures[key][1]

    def alternatives(self, facts: KeywordFacts, kind: str) -> list[list[Option]]:
        """Return the choices that a schema has for values of a type; of each choice, one option holds."""
        key = (id(facts), kind)
        if key not in self._alternatives:
            choices = alternatives(self._with_distinct_branches(facts), kind, self.ways(facts, kind))
            self._alternatives[key] = (facts, [self._distinct(options) for options in choices])
        return self._alternatives[key][1]

    def _distinct(self, options: Sequence[Option]) -> list[Option]:
        """Return ``options`` without those that equal an earlier one."""
        self._work(_STEPS_TO_COMPARE_OPTION * len(options))
        return [*{tuple(map(_key, option)): option for option in reversed(options)}.values()][::-1]

    def _with_distinct_parts(self, facts: KeywordFacts) -> KeywordFacts:
        """Return the facts with each part of ``allOf`` once, which is found out once for all types of values."""
        if len(facts.all_of) <= _FEW_BRANCHES:
            return facts
        if id(facts) not in self._parts:
            parts = [*{_key((part, False)): part for part in reversed(facts.all_of)}.values()][::-1]
            self._parts[id(facts)] = (facts, replace(facts, all_of=tuple(parts)))
        return self._parts[id(facts)][1]

    def _with_distinct_branches(self, facts: KeywordFacts) -> KeywordFacts:
        """Return the facts with each branch of ``anyOf`` once, which is found out once for all types of values."""
        if facts.any_of is None or len(facts.any_of) <= _FEW_BRANCHES:
            return facts
        if id(facts) not in self._branches:
            self._work(_STEPS_TO_COMPARE_OPTION * len(facts.any_of))
            branches = [*{_key((branch, True)): branch for branch in reversed(facts.any_of)}.values()][::-1]
            self._branches[id(facts)] = (facts, replace(facts, any_of=tuple(branches)))
        return self._branches[id(facts)][1]


def _key(part: Literal | Demand) -> object:
    if not isinstance(part, tuple):
        return part
    schema, is_plain = part[0].stands_for
    return schema.text or id(schema), part[1] is is_plain


# The result of a search for a value, and the interface of the solver that the generators of one type call.


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """The result of a search: proof that no value exists (``is_empty``), a value in ``values``, or neither of them."""

    is_empty: bool = False
    values: tuple[Json, ...] = ()


EMPTY = SolverAnswer(is_empty=True)
UNKNOWN = SolverAnswer()


class Answering(Protocol):
    """The interface of the solver: the search for values of properties, property names and items."""

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator that checks values against schemas and counts the steps."""

    def solve(self, literals: Iterable[Literal]) -> SolverAnswer:
        """Search for a value for which all ``literals`` hold, and return the result."""

    def value(self, literals: Iterable[Literal]) -> list[Json]:
        """Return a list of one value for which all ``literals`` hold, or an empty list if none is found."""

    def is_empty(self, literals: Iterable[Literal]) -> bool:
        """Return whether it is proved that no value exists for which all ``literals`` hold."""

    def fits(self, literals: Iterable[Literal], value: object) -> bool | None:
        """Return whether all ``literals`` hold for ``value``; None if unknown."""
