"""What a rule says about a conversion of times and numbers: unit, zone, rounding, and a factor."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from counterfoil.schema.plans.model import Rounding

_SECOND: Final = 1_000_000_000
NANOS_BY_UNIT: Final = {
    "nanos": 1,
    "micros": 1_000,
    "millis": 1_000_000,
    "seconds": _SECOND,
    "minutes": 60 * _SECOND,
    "hours": 3_600 * _SECOND,
    "days": 86_400 * _SECOND,
}
"""The units of numbers, by their names."""


@dataclass(frozen=True, slots=True)
class MomentWords:
    """What a rule says about a conversion of times and numbers; ``times`` is what a number is multiplied by."""

    unit: str | None = None
    zone: str | None = None
    rounding: Rounding | None = None
    times: Decimal | None = None

    @property
    def are_given(self) -> bool:
        """Whether the rule says anything."""
        return (self.unit, self.zone, self.rounding, self.times) != (None, None, None, None)


NO_WORDS: Final = MomentWords()
