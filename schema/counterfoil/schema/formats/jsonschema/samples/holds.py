"""Whether a value fits a schema, as candidates are sifted: what is not known counts as fitting.

What is let through is confirmed by a validator that is not ours; so this costs a candidate, never a truth.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.jsonschema.sound.evaluate import Evaluator, OutOfSteps
from counterfoil.schema.formats.jsonschema.sound.facts import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.jsonschema.read.sites import Site
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema


class OutOfBudget(Exception):
    """The search has looked at as much as it may."""


class Sieve:
    """Decides whether values fit, with the evaluator of SOUND, until ``budget`` steps are taken."""

    def __init__(self, budget: int) -> None:
        self._evaluator = Evaluator(budget, remembers=False)
        self._source_by_whole: dict[JsonSchema, Source] = {}

    def step(self) -> None:
        """Count one step that was taken elsewhere; raises ``OutOfBudget`` where none is left."""
        try:
            self._evaluator.spend()
        except OutOfSteps as out:
            raise OutOfBudget from out

    def spend(self, steps: int) -> None:
        """Count steps that were taken elsewhere; where none are left, the next value raises ``OutOfBudget``."""
        with suppress(OutOfSteps):
            self._evaluator.spend(steps)

    def refill(self, budget: int) -> None:
        """Allow for so many steps from now on."""
        self._evaluator.refill(budget)

    def fits_all(self, value: Any, sites: Sequence[Site]) -> bool:
        """Whether ``value`` fits every one of ``sites``; raises ``OutOfBudget``."""
        return all(self.fits(value, site) for site in sites)

    def fits(self, value: Any, site: Site) -> bool:
        """Whether ``value`` fits the schema at ``site``; False where references lead too deep to be followed.

        Raises ``OutOfBudget``.
        """
        source = self._source_by_whole.get(site.whole)
        if source is None:
            source = self._source_by_whole[site.whole] = Source(site.whole.document, site.whole.resolver)
        try:
            return self._evaluator.accepts(source.at(site.value, site.base, ""), value) is not False
        except OutOfSteps as out:
            raise OutOfBudget from out
        except RecursionError:
            return False


def dependency_keywords(site: Site) -> tuple[str, ...]:
    """The keywords that say what a property asks for, in the draft that is in force."""
    return ("dependentRequired", "dependentSchemas") if site.base.draft.is_modern else ("dependencies",)
