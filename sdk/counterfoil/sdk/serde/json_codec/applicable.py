"""The schemas that certainly describe a JSON value: a schema, and those beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.steps import OutOfSteps
from counterfoil.sdk.serde.json_codec.read_text import exact_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
    from counterfoil.schema.formats.jsonschema.view.facts import Schema

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


def _fits(schema: Schema, value: Any, evaluator: Evaluator) -> bool:
    try:
        return evaluator.accepts(schema, exact_numbers(value)) is True
    except (OutOfSteps, RecursionError):
        return False
