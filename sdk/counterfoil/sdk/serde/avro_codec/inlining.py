"""Which parts of a schema become functions of their own, and which are written in place.

A record that contains itself must be a function. A record that takes many lines is one, so that the code is not longer
than in proportion to the schema; everything else is written in place, which is fastest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.sdk.serde.avro_codec.plan import EncodeRecordStep, RecordStep, children_of, contains_itself, steps_of

if TYPE_CHECKING:
    from counterfoil.sdk.serde.avro_codec.plan import Step

_MAX_WEIGHT: Final = 60


class Inlining:
    """The decision for every step of a plan; only records become functions."""

    def __init__(self, plan: Step) -> None:
        self._recursive = {id(one) for one in steps_of(plan) if _is_record(one) and contains_itself(one)}
        self._weights: dict[int, int] = {}

    def is_function(self, step: Step) -> bool:
        """Return whether the step becomes a function that is called."""
        return id(step) in self._recursive or (_is_record(step) and self._weight(step) > _MAX_WEIGHT)

    def _weight(self, step: Step) -> int:
        """Return about how many lines the step takes in place, where each call counts as one."""
        if id(step) not in self._weights:
            self._weights[id(step)] = 1  # for a recursive step, which is called
            inner = sum(self._cost(one) for one in children_of(step))
            self._weights[id(step)] = 1 + inner
        return self._weights[id(step)]

    def _cost(self, step: Step) -> int:
        weight = self._weight(step)
        return 1 if self.is_function(step) else weight


def _is_record(step: Step) -> bool:
    return isinstance(step, (RecordStep, EncodeRecordStep))
