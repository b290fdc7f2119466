"""Rules about many records at once: how many there are, how many are duplicates, how old the newest is.

Source: Open Data Contract Standard 3.1.0, the metrics of ``quality`` of the type ``library``; ours is the argument
``window``, a duration in ISO 8601, for each of whose windows of time the rule holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.constraints import MISSING
from counterfoil.contracts.testing.checks import Check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.contracts.constraints import Constraint
    from counterfoil.schema.paths.model import FieldPath


class Metric(StrEnum):
    """The metrics that the standard defines."""

    NULL = "nullValues"
    MISSING = "missingValues"
    INVALID = "invalidValues"
    DUPLICATE = "duplicateValues"
    ROWS = "rowCount"


@dataclass(frozen=True, slots=True)
class QualityCheck(Check):
    """A rule with a metric. ``paths`` are the fields that it counts, or that must differ together.

    ``window_ms`` is 0 for a rule about all records. ``constraint`` is what a value that is not counted fits.
    """

    metric: Metric = Metric.ROWS
    paths: tuple[FieldPath, ...] = ()
    window_ms: int = 0
    limits: tuple[tuple[str, Any], ...] = ()
    is_percent: bool = False
    constraint: Constraint | NotListed | None = None

    def measure(self, count: int, records: int) -> float:
        """Return a count in the unit of the limits."""
        if not self.is_percent:
            return count
        return 100 * count / records if records else 0.0

    def is_kept(self, measured: float) -> bool:
        """Return whether what was measured is within the limits."""
        return all(_HOLDS[name](measured, limit) for name, limit in self.limits)

    @property
    def words(self) -> str:
        """The limits in words."""
        return " and ".join(f"{_WORDS[name]} {_shown(limit)}" for name, limit in self.limits)


@dataclass(frozen=True, slots=True)
class FreshnessCheck(Check):
    """The newest record must not be older than this; its time is at ``path``, without one that of the broker."""

    path: FieldPath = ()
    age_ms: int = 0


@dataclass(frozen=True, slots=True)
class NotListed:
    """What ``missingValues`` does not count: values that are not among those that stand for a missing one."""

    values: tuple[Any, ...]

    def fits(self, value: Any) -> bool:
        """Return whether the value stands for itself."""
        return (None if value is MISSING else value) not in self.values


def _between(measured: float, limit: Any) -> bool:
    low, high = limit
    return bool(low <= measured <= high)


_HOLDS: Final[Mapping[str, Any]] = {
    "mustBe": lambda measured, limit: measured == limit,
    "mustNotBe": lambda measured, limit: measured != limit,
    "mustBeGreaterThan": lambda measured, limit: measured > limit,
    "mustBeGreaterOrEqualTo": lambda measured, limit: measured >= limit,
    "mustBeLessThan": lambda measured, limit: measured < limit,
    "mustBeLessOrEqualTo": lambda measured, limit: measured <= limit,
    "mustBeBetween": _between,
    "mustNotBeBetween": lambda measured, limit: not _between(measured, limit),
}
_WORDS: Final = {
    "mustBe": "exactly",
    "mustNotBe": "not",
    "mustBeGreaterThan": "more than",
    "mustBeGreaterOrEqualTo": "at least",
    "mustBeLessThan": "less than",
    "mustBeLessOrEqualTo": "at most",
    "mustBeBetween": "between",
    "mustNotBeBetween": "not between",
}
LIMITS: Final = frozenset(_HOLDS)
"""The keys of limits that are understood."""


def _shown(limit: Any) -> str:
    return " and ".join(map(str, limit)) if isinstance(limit, list | tuple) else str(limit)
