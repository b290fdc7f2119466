"""The search for a value that fits some schemas and does not fit others: it finds a value, or proves that none exists.

The constraints are taken apart, for values of one type at a time: each option of each choice is tried until only
limits, properties and items are left. Then either two constraints contradict each other, or a value is generated. A
constraint is left out only if it cannot be expressed; since that only allows more values, a proof that none exists is
always valid. A value is returned only after an evaluation of the schemas confirms it. Otherwise the result is unknown.

A search that occurs again inside itself has the result "no value exists": the smallest value that fits would contain a
smaller one that fits.

Method: analytic tableaux (Smullyan, First-Order Logic); for schemas that contain themselves, Pierce, Types and
Programming Languages, chapter 21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.json_values import TYPES
from counterfoil.schema.languages.jsonschema.values.containers import array_values, object_values
from counterfoil.schema.languages.jsonschema.values.scalars import number_values, text_values
from counterfoil.schema.languages.jsonschema.values.state import (
    EMPTY,
    UNKNOWN,
    Answering,
    SchemaChoices,
    SolverAnswer,
    ValueState,
)
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import Literal

MAX_CANDIDATES: Final = 24
"""The largest number of candidates that are tried for one state."""

MAX_LOOKED_AHEAD: Final = 8
"""The largest number of choices that are checked in advance for one without a possible option."""

MAX_STATES: Final = 600
"""The largest number of states that are tried for one search and type."""

MAX_DEPTH: Final = 24
"""The largest depth of nested searches."""

MAX_WAYS_LOOKED_AT: Final = 400
"""The largest number of options that :meth:`Solver.ways` tries."""

_NO_ASSUMPTION: Final = 1_000_000


class Solver:
    """The search for values; a solver caches its results, and all its searches share the steps of one evaluator.

    With ``trusts_unknown``, a value counts as found if the evaluator cannot decide about it.
    """

    def __init__(self, evaluator: Evaluator, *, trusts_unknown: bool = False) -> None:
        self.evaluator = evaluator
        self.choices = SchemaChoices(evaluator.work)
        self._trusts_unknown = trusts_unknown
        self._known: dict[frozenset[tuple[object, bool]], tuple[SolverAnswer, Sequence[Literal]]] = {}
        self._depth_by_active: dict[frozenset[tuple[object, bool]], int] = {}
        self._assumed = _NO_ASSUMPTION

    def solve(self, literals: Iterable[Literal]) -> SolverAnswer:
        """Search for a value for which all ``literals`` hold, and return the result."""
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
        if not answer.is_empty or rests_on >= depth:  # a result that depends on an open assumption is not cached
            self._known[key] = (answer, asked)
        return answer

    def value(self, literals: Iterable[Literal]) -> list[Json]:
        """Return a list of one value for which all ``literals`` hold, or an empty list if none is found."""
        return [*self.solve(literals).values]

    def is_empty(self, literals: Iterable[Literal]) -> bool:
        """Return whether it is proved that no value exists for which all ``literals`` hold."""
        return self.solve(literals).is_empty

    def fits(self, literals: Iterable[Literal], value: object) -> bool | None:
        """Return whether all ``literals`` hold for ``value``; None if unknown."""
        result: bool | None = True
        for schema, holds in literals:
            accepted = self.evaluator.accepts(schema, value)
            if accepted is None:
                result = None
            elif accepted is not holds:
                return False
        return result

    def ways(self, literals: Iterable[Literal], kind: str) -> Iterator[ValueState]:
        """Yield the states of a value of a type after all choices of schemas that hold.

        Of the choices about schemas that do not hold, only those with a single option are made.
        """
        state = ValueState(self.choices, self.evaluator, kind)
        if all(map(state.add, literals)):
            yield from _leaves(state, iter(range(MAX_WAYS_LOOKED_AT)))

    def is_found(self, literals: Iterable[Literal], value: object) -> bool:
        """Return whether all ``literals`` hold for ``value``; an unknown result counts as ``trusts_unknown``."""
        fits = self.fits(literals, value)
        return self._trusts_unknown if fits is None else fits

    def _solve(self, asked: Sequence[Literal]) -> SolverAnswer:
        result = EMPTY
        for kind in TYPES:
            answer = self._of_kind(asked, kind)
            if answer.values:
                return answer
            if not answer.is_empty:
                result = UNKNOWN
        return result

    def _of_kind(self, asked: Sequence[Literal], kind: str) -> SolverAnswer:
        state = ValueState(self.choices, self.evaluator, kind)
        if not all(state.add(literal) for literal in asked):
            return EMPTY
        return _Branching(self, asked).answer(state)


class _Branching:
    """The choices of one search, whose options are tried one after the other."""

    def __init__(self, solver: Solver, asked: Sequence[Literal]) -> None:
        self._solver = solver
        self._asked = asked
        self._left = MAX_STATES

    def answer(self, state: ValueState) -> SolverAnswer:
        """Return the result of the search for a value that fits ``state``."""
        answer = self._settled(state)
        return answer if answer.values or answer.is_empty else self._chosen(state)

    def _chosen(self, state: ValueState) -> SolverAnswer:
        """Return the result after trying the options of one choice."""
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

    def _afterwards(self, state: ValueState) -> SolverAnswer:
        """Return the result after adding the postponed literals; for a state without choices."""
        is_possible = state.add_afterwards()
        if is_possible is None:
            return UNKNOWN
        return self.answer(state) if is_possible else EMPTY

    def _settled(self, state: ValueState) -> SolverAnswer:
        """Return the result that follows without another choice."""
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
                return SolverAnswer(values=(value,))
        return UNKNOWN

    def _among(self, values: Iterable[object]) -> SolverAnswer:
        result = EMPTY
        for value in values:
            fits = self._solver.fits(self._asked, value)
            if fits:
                return SolverAnswer(values=(value,))
            if fits is None:
                result = UNKNOWN
        return result


def _leaves(state: ValueState, budget: Iterator[int]) -> Iterator[ValueState]:
    choices, _ = state.choices()
    if not choices:
        yield state
        return
    for child in state.children(choices[0]):
        if next(budget, None) is None:
            return
        yield from _leaves(child, budget)


_VALUES_BY_KIND: Final[Mapping[str, Callable[[Answering, ValueState], Iterator[Json] | None]]] = {
    "number": number_values,
    "string": text_values,
    "array": array_values,
    "object": object_values,
}
