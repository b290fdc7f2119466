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

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.values import TYPES
from counterfoil.schema.formats.jsonschema.values.answers import EMPTY, UNKNOWN, Answer
from counterfoil.schema.formats.jsonschema.values.arrays import array_values
from counterfoil.schema.formats.jsonschema.values.choices import Choices
from counterfoil.schema.formats.jsonschema.values.numbers import number_values
from counterfoil.schema.formats.jsonschema.values.objects import object_values
from counterfoil.schema.formats.jsonschema.values.state import State
from counterfoil.schema.formats.jsonschema.values.texts import text_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from counterfoil.schema.formats.jsonschema.values.answers import Answering
    from counterfoil.schema.formats.jsonschema.values.coverage import Literal
    from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator

MAX_CANDIDATES: Final = 24
"""How many values are made in one place before nothing more is expected."""

MAX_LOOKED_AHEAD: Final = 8
"""How many choices are looked at, those with the fewest options first, for one of which no option is possible."""

MAX_STATES: Final = 600
"""How many combinations of choices are looked at for one question and type."""

MAX_DEPTH: Final = 24
"""How deep values nest that are looked at."""

MAX_WAYS_LOOKED_AT: Final = 400
"""How many choices are made to find what values may be like."""

_NO_ASSUMPTION: Final = 1_000_000


class Solver:
    """Answers whether values exist; one of it shares its steps and what it has found."""

    def __init__(self, evaluator: Evaluator, *, trusts_unknown: bool = False) -> None:
        self.evaluator = evaluator
        self.choices = Choices()
        self._trusts_unknown = trusts_unknown
        self._known: dict[frozenset[tuple[object, bool]], tuple[Answer, Sequence[Literal]]] = {}
        self._depth_by_active: dict[frozenset[tuple[object, bool]], int] = {}
        self._assumed = _NO_ASSUMPTION

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

    def ways(self, literals: Iterable[Literal], kind: str) -> Iterator[State]:
        """What a value of a type may be like, with every choice made; of what must not be, only what leaves none."""
        state = State(self.choices, self.evaluator, kind)
        if all(map(state.add, literals)):
            yield from _leaves(state, iter(range(MAX_WAYS_LOOKED_AT)))

    def is_found(self, literals: Iterable[Literal], value: Any) -> bool:
        """Whether ``value`` counts as one of which all ``literals`` are true."""
        fits = self.fits(literals, value)
        return self._trusts_unknown if fits is None else fits

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
        state = State(self.choices, self.evaluator, kind)
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
        given, failing = ([[*state.children(choice)] for choice in choices] for choices in state.choices())
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

    def _settled(self, state: State) -> Answer:
        """What is known without another choice."""
        self._solver.evaluator.spend(1 + len(state.facts))
        self._left -= 1
        if self._left < 0:
            return UNKNOWN
        if state.listed is not None or state.kind in ("null", "boolean"):
            return self._among(state.listed_values())
        candidates = _VALUES_BY_KIND[state.kind](self._solver, state)
        if candidates is None:
            return EMPTY
        for value in islice(candidates, MAX_CANDIDATES):
            if self._solver.is_found(self._asked, value):
                return Answer(values=(value,))
        return UNKNOWN

    def _among(self, values: Iterable[Any]) -> Answer:
        result = EMPTY
        for value in values:
            fits = self._solver.fits(self._asked, value)
            if fits:
                return Answer(values=(value,))
            if fits is None:
                result = UNKNOWN
        return result


def _leaves(state: State, budget: Iterator[int]) -> Iterator[State]:
    choices, _ = state.choices()
    if not choices:
        yield state
        return
    for child in state.children(choices[0]):
        if next(budget, None) is None:
            return
        yield from _leaves(child, budget)


_VALUES_BY_KIND: Final[Mapping[str, Callable[[Answering, State], Iterator[Any] | None]]] = {
    "number": number_values,
    "string": text_values,
    "array": array_values,
    "object": object_values,
}
