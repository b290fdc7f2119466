"""The schemas that certainly describe a JSON value: a schema, and those beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
from counterfoil.schema.steps import OutOfSteps
from counterfoil.sdk.serde.json_codec.read_text import exact_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.marks import Choice
    from counterfoil.schema.formats.jsonschema.view.facts import Facts, Schema

_UNKNOWN: Final = object()
MAX_STEPS: Final = 200_000
"""How many steps an evaluator takes at most to find the branches that a value fits."""


def applicable(schema: Schema, value: Any, evaluator: Evaluator) -> Iterator[Schema]:
    """Yield ``schema`` and the schemas beside it that certainly describe ``value``, each once."""
    found: dict[Schema, None] = {}
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found[each] = None
        yield each
        facts = each.facts
        waiting += facts.all_of
        branches = [*(facts.any_of or ()), *(facts.one_of or ())]
        waiting += [branch for branch in branches if _fits(branch, value, evaluator)]
        if facts.condition is not None:
            holds = _fits(facts.condition, value, evaluator)
            chosen = (facts.condition, facts.consequence) if holds else (facts.alternative,)
            waiting += [one for one in chosen if one is not None]
        waiting += [
            needed for name, needed in facts.needed_schemas.items() if isinstance(value, dict) and name in value
        ]


class Fitting:
    """Finds, for the values of one message, the branches that they fit; its cost is bounded for the whole message.

    It fails closed: if it is not known whether a value fits a branch, it does, and a value that fits no branch has all.
    """

    def __init__(self) -> None:
        self._evaluator = Evaluator(MAX_STEPS)
        self._exact: list[Any] = []  # the evaluator knows values by identity, so that they must stay

    def choice(self, value: Any) -> Choice:
        """Return the choice of schemas for a value."""
        return _Choice(self, value)

    def exact(self, value: Any) -> Any:
        """Return a value with exact numbers, as the evaluator needs it."""
        exact = exact_numbers(value)
        self._exact.append(exact)
        return exact

    def may_fit(self, schema: Schema, exact: Any) -> bool:
        """Return False only if a value certainly does not fit a schema."""
        try:
            return self._evaluator.accepts(schema, exact) is not False
        except (OutOfSteps, RecursionError):
            return True


class _Choice:
    """The schemas that describe one value."""

    def __init__(self, fitting: Fitting, value: Any) -> None:
        self._fitting = fitting
        self._value = value
        self._known: Any = _UNKNOWN

    @property
    def _exact(self) -> Any:
        if self._known is _UNKNOWN:
            self._known = self._fitting.exact(self._value)
        return self._known

    def branches(self, branches: Sequence[Schema]) -> Iterable[Schema]:
        return [each for each in branches if self._fitting.may_fit(each, self._exact)] or branches

    def conditional(self, facts: Facts) -> Iterable[Schema]:
        if facts.condition is None:
            return ()
        chosen = (
            (facts.condition, facts.consequence)
            if self._fitting.may_fit(facts.condition, self._exact)
            else (facts.alternative,)
        )
        return [each for each in chosen if each is not None]

    def needed(self, name: str) -> bool:
        return isinstance(self._value, dict) and name in self._value

    def contains(self, schema: Schema, index: int) -> bool:
        return self._fitting.may_fit(schema, self._exact[index])


def _fits(schema: Schema, value: Any, evaluator: Evaluator) -> bool:
    try:
        return evaluator.accepts(schema, exact_numbers(value)) is True
    except (OutOfSteps, RecursionError):
        return False
