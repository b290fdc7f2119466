"""A bridge, as its document declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from counterfoil.schema.model import SchemaType
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.plans.rules import PlanRules


class Partitioning(StrEnum):
    """Where on the target a record goes."""

    SAME = "same"
    """To the partition with the number it came from; both topics have equally many."""
    BY_KEY = "by-key"
    """To the partition that Kafka's own partitioner gives its key."""


class Timestamps(StrEnum):
    """What becomes of a record's timestamp."""

    KEEP = "keep"
    """It is in the header ``bridge.src``, and with ``delivery: exactly-once`` it is the new record's own timestamp."""
    NOW = "now"
    """It is left out."""


class Framing(StrEnum):
    """What is before the body of a topic's values."""

    ID = "id"
    """The schema id, as serializers write it."""
    NONE = "none"
    """Nothing: the value is plain JSON."""


class DeliveryGuarantee(StrEnum):
    """How often a record may be on the outputs after a run that was interrupted."""

    AT_LEAST_ONCE = "at-least-once"
    """Records of an unfinished batch are written again; ``bridge.src`` identifies the repeats."""
    RESTART_FILTER = "restart-filter"
    """Once: before an unfinished batch is repeated, the outputs are read, and what is there is left out."""
    EXACTLY_ONCE = "exactly-once"
    """Once for consumers that read committed records: records and source offsets are written in transactions."""


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

    ``target_version`` is None for the newest; ``source_message`` and ``target_message`` are full names of Protobuf
    messages, None for the first of the file; ``rules`` is what ``fields`` and ``drop`` say. ``progress_topic`` is the
    topic in which the latest progress of the bridge is published, if any. ``keys`` is the same bridge with the subjects
    and rules of keys; None: keys are copied. ``positions`` are those of the rules in the document, by target field, and
    of ``drop``.
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
    delivery: DeliveryGuarantee = DeliveryGuarantee.RESTART_FILTER
    stop_above: StopAbove = StopAbove(rate=0.01)
    progress_topic: str | None = None
    source_framing: Framing = Framing.ID
    target_framing: Framing = Framing.ID
    source_message: str | None = None
    target_message: str | None = None
    keys: BridgeFile | None = field(default=None, repr=False)
    positions: Mapping[str, Position] = field(default_factory=dict, repr=False, compare=False)

    @property
    def keeps_timestamps(self) -> bool:
        """Whether a new record has the timestamp of its original, not the time of writing."""
        return self.delivery is DeliveryGuarantee.EXACTLY_ONCE and self.timestamps is Timestamps.KEEP

    def key_warning(self) -> str | None:
        """Return what to know about the partitions of converted keys; None if keys are copied."""
        if self.keys is None:
            return None
        if self.partitioning is Partitioning.BY_KEY:
            return (
                "keys are converted, and Kafka's partitioner takes the hash of their new bytes: a key is on another "
                "partition than with key: copy, and records of one source partition go to several ones"
            )
        return (
            "keys are converted and keep the number of their partition (partition: same), which is not the one that "
            "Kafka's partitioner computes from their new bytes: consumers that join topics by partition, and producers "
            "of the same keys, need partition: by-key"
        )

    def language_problems(self, source: SchemaType, target: SchemaType) -> tuple[str, ...]:
        """Return what the file says that schemas of these languages do not have, as sentences."""
        sides = (
            ("source", self.source_framing, self.source_message, f"{self.source_subject} is {source}", source),
            ("target", self.target_framing, self.target_message, f"{self.target_subject} is {target}", target),
        )
        unframed = [
            f"{side}: framing: none is for JSON Schema, whose messages are plain JSON; {fact}"
            for side, framing, _, fact, language in sides
            if framing is Framing.NONE and language is not SchemaType.JSON
        ]
        named = [
            f"{side}: message: {message} is for Protobuf, whose files have several messages; {fact}"
            for side, _, message, fact, language in sides
            if message is not None and language is not SchemaType.PROTOBUF
        ]
        return (*unframed, *named)
