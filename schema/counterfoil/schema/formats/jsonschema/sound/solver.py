"""Whether a value exists of which some schemas are true and some are not: proofs that none does, and values.

What must be so is taken apart, for values of one type at a time: each choice is tried, until what is left asks for
limits, properties and items alone. Then either two things contradict each other, or a value is made. Nothing is left
out but what cannot be expressed; as that can only make more values possible, "there is none" is always true. A value
is returned only if an evaluation of the schemas confirms it. What is neither is not known.

A question that comes up again below itself is answered "there is none": the smallest value for the question would hold
a smaller one.

Method: analytic tableaux (Smullyan, First-Order Logic); for schemas that contain themselves, Pierce, Types and
Programming Languages, chapter 21.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.values import TYPES, type_of
from counterfoil.schema.formats.jsonschema.sound.array_values import array_values
from counterfoil.schema.formats.jsonschema.sound.coverage import TooManyWays, is_unevaluated_asked, ways_beside
from counterfoil.schema.formats.jsonschema.sound.literals import alternatives, failures
from counterfoil.schema.formats.jsonschema.sound.number_values import number_values
from counterfoil.schema.formats.jsonschema.sound.object_values import object_values
from counterfoil.schema.formats.jsonschema.sound.state import State
from counterfoil.schema.formats.jsonschema.sound.text_values import text_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.sound.coverage import Literal, Way
    from counterfoil.schema.formats.jsonschema.sound.evaluate import Evaluator
    from counterfoil.schema.formats.jsonschema.sound.facts import Facts
    from counterfoil.schema.formats.jsonschema.sound.literals import Demand, Option

MAX_CANDIDATES: Final = 24
"""How many values are made in one place before nothing more is expected."""

MAX_LOOKED_AHEAD: Final = 8
"""How many choices are looked at, those with the fewest options first, for one of which no option is possible."""

MAX_STATES: Final = 600
"""How many combinations of choices are looked at for one question and type."""

MAX_DEPTH: Final = 24
"""How deep values nest that are looked at."""

_NO_ASSUMPTION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether there is a value: surely none (``is_empty``), the one in ``values``, or not known."""

    is_empty: bool = False
    values: tuple[Any, ...] = ()


EMPTY: Final = Answer(is_empty=True)
UNKNOWN: Final = Answer()


class Solver:
    """Answers whether values exist; one of it shares its steps and what it has found."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._known: dict[frozenset[tuple[object, bool]], tuple[Answer, Sequence[Literal]]] = {}
        self._depth_by_active: dict[frozenset[tuple[object, bool]], int] = {}
        self._assumed = _NO_ASSUMPTION
        self._ways: dict[tuple[int, str], tuple[Facts, list[Way] | None]] = {}
        self._failures: dict[tuple[int, str], tuple[Facts, Sequence[Option]]] = {}
        self._alternatives: dict[tuple[int, str], tuple[Facts, list[list[Option]]]] = {}

    def solve(self, literals: Iterable[Literal]) -> Answer:
        """Whether there is a value of which all ``literals`` are true."""
        self.evaluator.spend()
        plain = dict.fromkeys((named.stands_for[0], holds is named.stands_for[1]) for named, holds in literals)
        asked = [(schema, holds) for schema, holds in plain if not (holds and schema.accepts_everything)]
        key = frozenset((schema.text or id(schema), holds) for schema, holds in asked)
        known = self._known.get(key)
        if known is not None:
            return known[0]
        depth = self._depth_by_active.get(key)
        if depth is not None:
            self._assumed = min(self._assumed, depth)
            return EMPTY
        depth = len(self._depth_by_active)
        if depth >= MAX_DEPTH:
            return UNKNOWN
        outer, self._assumed = self._assumed, _NO_ASSUMPTION
        self._depth_by_active[key] = depth
        try:
            answer = self._solve(asked)
        finally:
            del self._depth_by_active[key]
            rests_on, self._assumed = self._assumed, outer
        if rests_on < depth:
            self._assumed = min(outer, rests_on)
        if not answer.is_empty or rests_on >= depth:  # what rests on an open assumption is not kept
            self._known[key] = (answer, asked)
        return answer

    def value(self, literals: Iterable[Literal]) -> list[Any]:
        """A value of which all ``literals`` are true, in a list; an empty list where none is found."""
        return [*self.solve(literals).values]

    def is_empty(self, literals: Iterable[Literal]) -> bool:
        """Whether there is surely no value of which all ``literals`` are true."""
        return self.solve(literals).is_empty

    def fits(self, literals: Iterable[Literal], value: Any) -> bool | None:
        """Whether all ``literals`` are true of ``value``."""
        result: bool | None = True
        for schema, holds in literals:
            accepted = self.evaluator.accepts(schema, value)
            if accepted is None:
                result = None
            elif accepted is not holds:
                return False
        return result

    def ways(self, facts: Facts, kind: str) -> list[Way] | None:
        """The ways in which all holds that is beside an unevaluated schema; None where they are not asked, or many."""
        if not is_unevaluated_asked(facts, kind):
            return None
        key = (id(facts), kind)
        if key not in self._ways:
            try:
                self._ways[key] = (facts, ways_beside(facts, kind))
            except (TooManyWays, RecursionError):
                self._ways[key] = (facts, None)
        return self._ways[key][1]

    def failures(self, facts: Facts, kind: str) -> Sequence[Option]:
        """The ways for a value of a type not to fit a schema."""
        key = (id(facts), kind)
        if key not in self._failures:
            self._failures[key] = (facts, _distinct(failures(facts, kind, self.ways(facts, kind))))
        return self._failures[key][1]

    def alternatives(self, facts: Facts, kind: str) -> list[list[Option]]:
        """The choices that a schema gives to values of a type."""
        key = (id(facts), kind)
        if key not in self._alternatives:
            choices = alternatives(facts, kind, self.ways(facts, kind))
            self._alternatives[key] = (facts, [_distinct(options) for options in choices])
        return self._alternatives[key][1]

    def _solve(self, asked: Sequence[Literal]) -> Answer:
        result = EMPTY
        for kind in TYPES:
            answer = self._of_kind(asked, kind)
            if answer.values:
                return answer
            if not answer.is_empty:
                result = UNKNOWN
        return result

    def _of_kind(self, asked: Sequence[Literal], kind: str) -> Answer:
        state = State(self, kind)
        if not all(state.add(literal) for literal in asked):
            return EMPTY
        return _Branching(self, asked).answer(state)


class _Branching:
    """The choices that one question leaves open, tried one after the other."""

    def __init__(self, solver: Solver, asked: Sequence[Literal]) -> None:
        self._solver = solver
        self._asked = asked
        self._left = MAX_STATES

    def answer(self, state: State) -> Answer:
        """Whether a value exists for what ``state`` knows."""
        answer = self._settled(state)
        return answer if answer.values or answer.is_empty else self._chosen(state)

    def _chosen(self, state: State) -> Answer:
        """The same where a choice must be made."""
        given, failing = ([[*self._children(state, choice)] for choice in choices] for choices in state.choices())
        if not all(given) or not all(failing):
            return EMPTY
        given.sort(key=len)
        failing.sort(key=len)
        if not given and not failing:
            return self._afterwards(state)
        first, *others = [*given, *failing]
        tried = [(child, self._settled(child)) for child in first]
        for _, answer in tried:
            if answer.values:
                return answer
        closing = failing if given else others
        if any(all(self._settled(child).is_empty for child in choice) for choice in closing[:MAX_LOOKED_AHEAD]):
            return EMPTY
        result = EMPTY
        for child, known in tried:
            answer = known if known.is_empty else self._chosen(child)
            if answer.values:
                return answer
            if not answer.is_empty:
                result = UNKNOWN
        return result

    def _afterwards(self, state: State) -> Answer:
        """The same where no choice is left."""
        is_possible = state.add_afterwards()
        if is_possible is None:
            return UNKNOWN
        return self.answer(state) if is_possible else EMPTY

    def _children(self, state: State, choice: Sequence[Option]) -> Iterator[State]:
        """The states to which the options of a choice lead, but for those that contradict what is known."""
        for option in choice:
            child = state.without(choice)
            if all(child.add(part) for part in option):
                yield child

    def _settled(self, state: State) -> Answer:
        """What is known without another choice."""
        self._solver.evaluator.spend(1 + len(state.facts))
        self._left -= 1
        if self._left < 0:
            return UNKNOWN
        if state.listed is not None or state.kind in ("null", "boolean"):
            return self._among(self._listed(state))
        candidates = _VALUES_BY_KIND[state.kind](self._solver, state)
        if candidates is None:
            return EMPTY
        for value in islice(candidates, MAX_CANDIDATES):
            if self._solver.fits(self._asked, value):
                return Answer(values=(value,))
        return UNKNOWN

    def _listed(self, state: State) -> Iterator[Any]:
        if state.listed is None:
            yield from (None,) if state.kind == "null" else (True, False)
        else:
            yield from (value for value in state.listed if type_of(value) == state.kind)

    def _among(self, values: Iterable[Any]) -> Answer:
        result = EMPTY
        for value in values:
            fits = self._solver.fits(self._asked, value)
            if fits:
                return Answer(values=(value,))
            if fits is None:
                result = UNKNOWN
        return result


def _distinct(options: Sequence[Option]) -> list[Option]:
    """Options without those that say what one before them says."""
    return [*{tuple(map(_key, option)): option for option in reversed(options)}.values()][::-1]


def _key(part: Literal | Demand) -> object:
    if not isinstance(part, tuple):
        return part
    schema, is_plain = part[0].stands_for
    return schema.text or id(schema), part[1] is is_plain


_VALUES_BY_KIND: Final = {
    "number": number_values,
    "string": text_values,
    "array": array_values,
    "object": object_values,
}
