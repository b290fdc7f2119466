"""A bridge, as its document declares it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.schema.evolution import PlanRules


class Partitioning(StrEnum):
    """Where on the target a record goes."""

    SAME = "same"
    """To the partition with the number it came from; both topics have equally many."""
    BY_KEY = "by-key"
    """To the partition that Kafka's own partitioner gives its key."""


class Timestamps(StrEnum):
    """What becomes of a record's timestamp."""

    KEEP = "keep"
    """It travels in the header ``bridge.ts``; Spark's Kafka sink cannot set a record's own."""
    NOW = "now"
    """It stays behind (``bridge.src`` still has it)."""


@dataclass(frozen=True, slots=True)
class StopAbove:
    """When a run gives up because of dead letters: above a ``rate`` (0 to 1), above a ``count``, or never."""

    rate: float | None = None
    count: int | None = None

    def is_exceeded(self, *, dead_letters: int, records: int) -> bool:
        """Whether ``dead_letters`` of ``records`` are too many."""
        if self.count is not None:
            return dead_letters > self.count
        return self.rate is not None and dead_letters > self.rate * records

    def __str__(self) -> str:
        if self.count is not None:
            return str(self.count)
        return "never" if self.rate is None else f"{self.rate * 100:g}%"


@dataclass(frozen=True, slots=True)
class BridgeFile:
    """What a bridge file says, with its defaults filled in.

    ``target_version`` is None for the newest; ``rules`` is what ``fields`` and ``drop`` say.
    """

    name: str
    source_topic: str
    source_subject: str
    target_topic: str
    target_subject: str
    dead_letter_topic: str
    rules: PlanRules = field(repr=False)
    target_version: int | None = None
    partitioning: Partitioning = Partitioning.SAME
    timestamps: Timestamps = Timestamps.KEEP
    stop_above: StopAbove = StopAbove(rate=0.01)
