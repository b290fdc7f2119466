"""Where the tested records come from, and which of them were taken: a topic, or a file."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.errors import InputNotFound, UsageMistake
from counterfoil.contracts.records.topic import Topic
from counterfoil.contracts.testing.batches import RecordBatch
from counterfoil.schema.documents.blocks import likely
from counterfoil.schema.sampling.moments import FORMS, read_moment_ms
from counterfoil.schema.sampling.selection import Strategy, choose_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.contracts.testing.promises import TopicTest
    from counterfoil.schema.sampling.selection import Bounds, Offsets
    from counterfoil.sdk.kafka.access import KafkaAccess

_SINCE: Final = "since"
FILE: Final = "file"
"""The strategy of records in a file: all of them."""


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """Which records of a topic are read: at most ``limit`` and ``limit_bytes``; ``since_ms`` is the earliest moment."""

    strategy: Strategy = Strategy.NEWEST
    limit: int = 1000
    limit_bytes: int | None = None
    seed: int = 0
    since_ms: int | None = None

    @classmethod
    def parse(cls, text: str, *, limit: int, limit_bytes: int | None = None, seed: int = 0) -> SampleChoice:
        """Return the choice that ``--sample`` names; raise ``UsageMistake``."""
        name, separator, moment = text.partition("=")
        if name == _SINCE and separator:
            try:
                since_ms = read_moment_ms(moment, now_s=time.time())
            except ValueError:
                raise UsageMistake(f"--sample {text} names no moment; expected {FORMS}") from None
            return cls(Strategy.OLDEST, limit, limit_bytes, seed, since_ms)
        try:
            return cls(Strategy(text), limit, limit_bytes, seed)
        except ValueError:
            names = [*Strategy, _SINCE]
            raise UsageMistake(f"--sample {text}: {likely(name, names)}; since needs a moment: since=36h") from None

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return _SINCE if self.since_ms is not None else self.strategy.value


@dataclass(slots=True)
class Sample:
    """What was taken, and from where: ``source`` in words, offsets by partition, and the moment of the first request.

    ``bounds`` are the offsets that there were. ``is_cut``: the limit of bytes ended it early. ``has_ids``: the schema
    ids of the records are those of a registry.
    """

    source: str
    strategy: str
    seed: int = 0
    limit: int | None = None
    since_ms: int | None = None
    offsets: Offsets = field(default_factory=dict)
    bounds: Bounds = field(default_factory=dict)
    taken_ms: int = 0
    is_cut: bool = False
    has_ids: bool = True

    @property
    def is_complete(self) -> bool:
        """Whether every record was taken."""
        whole = {number: (each,) for number, each in self.bounds.items() if each[0] < each[1]}
        return not self.is_cut and (self.strategy == FILE or dict(self.offsets) == whole)

    @property
    def is_random(self) -> bool:
        """Whether the sample says something about all records."""
        return self.strategy == Strategy.RANDOM and not self.is_cut

    @property
    def reaches_end(self) -> bool:
        """Whether the newest record of every partition was taken."""
        ends = {number: end for number, (first, end) in self.bounds.items() if first < end}
        reached = {number: ranges[-1][1] for number, ranges in self.offsets.items() if ranges}
        return not self.is_cut and bool(self.bounds) and ends == reached

    @property
    def is_contiguous(self) -> bool:
        """Whether one range of each partition was taken, so that windows of time can be complete."""
        return not self.is_cut and bool(self.offsets) and all(len(ranges) == 1 for ranges in self.offsets.values())


def choose_sample(topic: Topic, choice: SampleChoice, *, source: str) -> Sample:
    """Return the sample of a topic, whose bounds are requested now."""
    bounds = {number: topic.bounds(number) for number in topic.partitions()}
    wanted: Mapping[int, tuple[int, int]] = bounds
    if choice.since_ms is not None:
        first = topic.offsets_at(choice.since_ms)
        wanted = {number: (max(low, first.get(number, high)), high) for number, (low, high) in bounds.items()}
    return Sample(
        source,
        choice.name,
        choice.seed,
        None if choice.strategy is Strategy.ALL else choice.limit,
        choice.since_ms,
        choose_offsets(wanted, choice.strategy, limit=choice.limit, seed=choice.seed),
        bounds,
        int(time.time() * 1000),
    )


def open_topic(access: KafkaAccess, test: TopicTest) -> Topic:
    """Return the topic of a test; raise ``InputNotFound`` with the contract that names it if there is none."""
    topic = Topic(access, test.topic)
    try:
        topic.partitions()
    except InputNotFound as missing:
        topic.__exit__()
        where = f"{test.file}:{test.position}" if test.position else test.file
        raise InputNotFound(f"{missing}; the contract {test.contract} names it ({where})") from None
    return topic


def batches_of(topic: Topic, sample: Sample, *, limit_bytes: int | None = None) -> Iterator[RecordBatch]:
    """Yield the records of a sample; with a limit of bytes it ends with the batch that exceeds it."""
    read = 0
    for messages in topic.sample(sample.offsets):
        batch = RecordBatch.of_messages(messages)
        yield batch
        if limit_bytes is not None:
            read += batch.size_bytes
            if read >= limit_bytes:
                sample.is_cut = True
                return
