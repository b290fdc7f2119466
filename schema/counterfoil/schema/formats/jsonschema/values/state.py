"""The constraints on one value of one type, after some choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.schema.formats.jsonschema.read.values import type_of
from counterfoil.schema.formats.jsonschema.values.literals import (
    NOTHING,
    Absence,
    Afterwards,
    MisfitProperty,
    NoneOf,
    knows_kind,
)
from counterfoil.schema.formats.jsonschema.view.facts import Facts, NegatedSchema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Sized

    from counterfoil.schema.formats.jsonschema.values.choices import Choices
    from counterfoil.schema.formats.jsonschema.values.coverage import Literal
    from counterfoil.schema.formats.jsonschema.values.literals import Demand, Option
    from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
    from counterfoil.schema.formats.jsonschema.view.facts import Schema

_COPIED_A_STEP: Final = 8
"""The number of constraints that are copied in about the time of one step."""

_STEPS_AN_OPTION: Final = 3
"""The steps of a look at one option of an open choice."""

_Demanded = TypeVar("_Demanded")


class State:
    """The constraints on one value: ``facts`` and demands; ``listed`` has all values that remain, if they are listed.

    Of each open choice, one option holds. Choices of schemas that hold are kept apart from those of schemas that do
    not.
    """

    def __init__(self, choices: Choices, evaluator: Evaluator, kind: str) -> None:
        self.kind = kind
        self.facts: list[Facts] = []
        self.listed: list[Any] | None = None
        self._of_schemas = choices
        self._evaluator = evaluator
        self._demands: list[Demand] = []
        self._afterwards: list[Afterwards] = []
        self._choices: list[Sequence[Option]] = []
        self._failing: list[Sequence[Option]] = []
        self._seen: set[tuple[object, bool]] = set()

    def without(self, choice: Sequence[Option]) -> State:
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
        other = State(self._of_schemas, self._evaluator, self.kind)
        other.listed, other.facts = self.listed, [*self.facts]
        other._demands, other._seen = [*self._demands], {*self._seen}
        other._afterwards = [*self._afterwards]
        other._choices = [options for options in self._choices if options is not choice]
        other._failing = [options for options in self._failing if options is not choice]
        return other

    def children(self, choice: Sequence[Option]) -> Iterator[State]:
        """Yield the states after each option of a choice, except those that contradict the constraints."""
        for option in choice:
            child = self.without(choice)
            if all(child.add(part) for part in option):
                yield child

    def listed_values(self) -> Iterator[Any]:
        """Yield all values that remain; for a state with listed values, or of the type null or boolean."""
        if self.listed is None:
            yield from (None,) if self.kind == "null" else (True, False)
        else:
            yield from (value for value in self.listed if type_of(value) == self.kind)

    def demands(self, kind: type[_Demanded]) -> list[_Demanded]:
        """Return the demands of one class."""
        return [each for each in self._demands if isinstance(each, kind)]

    @property
    def excluded(self) -> list[Any]:
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

    def _add_literal(self, schema: Schema, *, holds: bool) -> bool:
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
        self.facts.append(Facts(properties={name: NOTHING}))
        return True

    def _add_misfit(self, part: MisfitProperty) -> bool:
        text = part.schema.text
        for each in self.facts:
            declared = each.properties.get(part.name)
            if declared is not None and (declared is part.schema or (text is not None and declared.text == text)):
                return False
        there = Facts(required=frozenset([part.name]), properties={part.name: NegatedSchema(part.schema)})
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

    def _add_facts(self, facts: Facts) -> bool:
        if facts.is_false or not knows_kind(facts, self.kind):
            return False
        if facts.values is not None and self.listed is None:
            self.listed = facts.values
        self.facts.append(facts)
        ways = self._of_schemas.ways(facts, self.kind)
        beside = () if ways is not None else facts.all_of
        if not all(self.add((schema, True)) for schema in beside):
            return False
        if facts.refused is not None and not self.add((facts.refused, False)):
            return False
        for options in self._of_schemas.alternatives(facts, self.kind):
            if len(options) > 1:
                self._choices.append(options)
            elif not options or not all(map(self.add, options[0])):
                return False
        return True

    def _add_failures(self, facts: Facts) -> bool:
        options = self._of_schemas.failures(facts, self.kind)
        if len(options) == 1:
            return all(map(self.add, options[0]))
        self._failing += [options] if options else []
        return bool(options)
