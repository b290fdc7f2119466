"""What is known of one value of one type, as far as choices have been made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.jsonschema.sound.literals import (
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
    from counterfoil.schema.formats.jsonschema.sound.facts import Facts
    from counterfoil.schema.formats.jsonschema.sound.literals import Demand, Option
    from counterfoil.schema.formats.jsonschema.sound.solver import Solver


class State:
    """What one value must be like: ``facts`` hold, and what else is asked; ``listed`` are all values that are left."""

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
        self._seen: set[tuple[object, bool]] = set()

    def copy(self) -> State:
        """The same, to know more without a change to this one."""
        other = State(self._solver, self.kind)
        other.listed, other.is_repeated = self.listed, self.is_repeated
        other.facts, other.excluded = [*self.facts], [*self.excluded]
        other.no_integers, other.no_multiples = [*self.no_integers], [*self.no_multiples]
        other.no_matches = [*self.no_matches]
        other.some_items, other.some_properties = [*self.some_items], [*self.some_properties]
        other._choices, other._seen = [*self._choices], {*self._seen}  # noqa: SLF001 - its own class
        return other

    def add(self, part: Literal | Demand) -> bool:
        """Add what is asked; False where it contradicts what is known."""
        match part:
            case (schema, holds):
                if schema.accepts_everything:
                    return bool(holds)
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
        return True

    def next_choice(self) -> Sequence[Option] | None:
        """The choice with the fewest options, which is then made; None where none is left."""
        self._choices = [options for options in self._choices if not any(map(self._is_given, options))]
        if not self._choices:
            return None
        index = min(range(len(self._choices)), key=lambda at: len(self._choices[at]))
        return self._choices.pop(index)

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
        self._choices += self._solver.alternatives(facts, self.kind)
        return True

    def _add_failures(self, facts: Facts) -> bool:
        options = self._solver.failures(facts, self.kind)
        if len(options) == 1:
            return all(map(self.add, options[0]))
        self._choices += [options] if options else []
        return bool(options)
