"""What is known of one value of one type, as far as choices have been made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.jsonschema.sound.facts import Facts, NegatedSchema
from counterfoil.schema.formats.jsonschema.sound.literals import (
    NOTHING,
    Absence,
    MisfitProperty,
    NoInteger,
    NoMatch,
    NoMultiple,
    NoneOf,
    Repetition,
    SomeItem,
    SomeProperty,
    knows_kind,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.jsonschema.sound.coverage import Literal
    from counterfoil.schema.formats.jsonschema.sound.literals import Demand, Option
    from counterfoil.schema.formats.jsonschema.sound.solver import Solver


class State:
    """What one value must be like: ``facts`` hold, and what else is asked; ``listed`` are all values that are left.

    ``choices`` are open: of each, one option is so; those that schemas give which hold come before those of schemas
    which do not.
    """

    def __init__(self, solver: Solver, kind: str) -> None:
        self.kind = kind
        self.facts: list[Facts] = []
        self.listed: list[Any] | None = None
        self.excluded: list[Any] = []
        self.no_integers: list[NoInteger] = []
        self.no_multiples: list[NoMultiple] = []
        self.no_matches: list[str] = []
        self.is_repeated = False
        self.some_items: list[SomeItem] = []
        self.some_properties: list[SomeProperty] = []
        self._solver = solver
        self._choices: list[Sequence[Option]] = []
        self._failing: list[Sequence[Option]] = []
        self._seen: set[tuple[object, bool]] = set()

    def without(self, choice: Sequence[Option]) -> State:
        """A copy in which a choice is made already."""
        other = State(self._solver, self.kind)
        other.listed, other.is_repeated = self.listed, self.is_repeated
        other.facts, other.excluded = [*self.facts], [*self.excluded]
        other.no_integers, other.no_multiples = [*self.no_integers], [*self.no_multiples]
        other.no_matches = [*self.no_matches]
        other.some_items, other.some_properties = [*self.some_items], [*self.some_properties]
        other._choices = [options for options in self._choices if options is not choice]  # noqa: SLF001 - its own class
        other._failing = [options for options in self._failing if options is not choice]  # noqa: SLF001 - likewise
        other._seen = {*self._seen}  # noqa: SLF001 - likewise
        return other

    def add(self, part: Literal | Demand) -> bool:
        """Add what is asked; False where it contradicts what is known."""
        self._solver.evaluator.spend()
        match part:
            case (named, is_so):
                schema, is_plain = named.stands_for
                holds = is_so is is_plain
                if schema.accepts_everything:
                    return holds
                key = schema.text or id(schema)
                if (key, not holds) in self._seen:
                    return False
                if (key, holds) in self._seen:
                    return True
                self._seen.add((key, holds))
                return self._add_facts(schema.facts) if holds else self._add_failures(schema.facts)
            case NoneOf():
                self.excluded += part.values
            case NoInteger():
                self.no_integers.append(part)
            case NoMultiple():
                self.no_multiples.append(part)
            case NoMatch():
                self.no_matches.append(part.pattern)
            case Repetition():
                self.is_repeated = True
            case SomeItem():
                self.some_items.append(part)
            case SomeProperty():
                self.some_properties.append(part)
            case Absence():
                return self._add_absence(part.name)
            case MisfitProperty():
                return self._add_misfit(part)
        return True

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

    def choices(self) -> list[Sequence[Option]]:
        """The choices that are left, the one to be made first in front."""
        self._choices = [options for options in self._choices if not any(map(self._is_given, options))]
        self._failing = [options for options in self._failing if not any(map(self._is_given, options))]
        return [*sorted(self._choices, key=len), *sorted(self._failing, key=len)]

    def _is_given(self, option: Option) -> bool:
        return all(isinstance(part, tuple) and (part[0].text or id(part[0]), part[1]) in self._seen for part in option)

    def _add_facts(self, facts: Facts) -> bool:
        if facts.is_false or not knows_kind(facts, self.kind):
            return False
        if facts.values is not None and self.listed is None:
            self.listed = facts.values
        self.facts.append(facts)
        ways = self._solver.ways(facts, self.kind)
        beside = () if ways is not None else facts.all_of
        if not all(self.add((schema, True)) for schema in beside):
            return False
        if facts.refused is not None and not self.add((facts.refused, False)):
            return False
        for options in self._solver.alternatives(facts, self.kind):
            if len(options) > 1:
                self._choices.append(options)
            elif not options or not all(map(self.add, options[0])):
                return False
        return True

    def _add_failures(self, facts: Facts) -> bool:
        options = self._solver.failures(facts, self.kind)
        if len(options) == 1:
            return all(map(self.add, options[0]))
        self._failing += [options] if options else []
        return bool(options)
