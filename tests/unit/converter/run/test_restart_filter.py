from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.kafka.offsets import OffsetSet
from counterfoil.converter.run.checkpoint import CheckpointBatch
from counterfoil.converter.run.delivery import CLOCK_SKEW_MS, repeat_condition, written_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass
class FakeMessage:
    place: tuple[str, int, int]
    own: list[tuple[str, bytes | None]] | None
    timestamp_ms: int

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.own


@dataclass
class FakeCluster:
    messages: list[FakeMessage] = field(default_factory=list)

    def write(self, topic: str, partition: int, own: Any, *, timestamp_ms: int = 1_000_000) -> None:
        offset = sum(1 for each in self.messages if each.place[:2] == (topic, partition))
        self.messages.append(FakeMessage((topic, partition, offset), own, timestamp_ms))

    def _of(self, topic: str) -> list[FakeMessage]:
        return [each for each in self.messages if each.place[0] == topic]

    def settled_watermarks(self, topic: str) -> dict[int, tuple[int, int]]:
        return {number: (0, sum(1 for each in self._of(topic) if each.place[1] == number)) for number in (0, 1)}

    def offsets_since(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        def first(number: int) -> int:
            young = [e.place[2] for e in self._of(topic) if e.place[1] == number and e.timestamp_ms >= timestamp_ms]
            return min(young, default=self.settled_watermarks(topic)[number][1])

        return {number: first(number) for number in (0, 1)}

    def read(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[FakeMessage]:
        for each in self._of(topic):
            first, end = ranges[each.place[1]]
            if first <= each.place[2] < end:
                yield each


def own(origin: str, bridge: str = "b") -> list[tuple[str, bytes | None]]:
    return [("bridge.src", origin.encode()), ("bridge.via", bridge.encode())]


BATCH = CheckpointBatch(batch_id=3, started_ms=1_000_000, range_by_partition={0: (100, 200), 1: (50, 60)})


def written(cluster: FakeCluster) -> dict[int, list[int]]:
    found = written_of(BATCH, cluster, bridge="b", source_topic="in", outputs=("out", "dead"))
    return {partition: [n for n in range(300) if n in offsets] for partition, offsets in found.items()}


def test_both_outputs_count_and_only_the_batch():
    cluster = FakeCluster()
    cluster.write("out", 0, own("in/0/99/1"))  # the batch before
    cluster.write("out", 0, own("in/0/100/1"))
    cluster.write("out", 1, own("in/0/103/1"))
    cluster.write("dead", 0, own("in/0/101/1"))
    cluster.write("dead", 1, own("in/1/50/1"))
    cluster.write("out", 1, own("in/1/60/1"))  # beyond its end
    cluster.write("out", 1, own("in/7/5/1"))  # no partition of the batch
    assert written(cluster) == {0: [100, 101, 103], 1: [50]}


def test_other_writers_do_not_count():
    cluster = FakeCluster()
    cluster.write("out", 0, None)
    cluster.write("out", 0, own("in/0/100/1", bridge="another"))
    cluster.write("out", 0, own("elsewhere/0/100/1"))
    cluster.write("out", 0, [("bridge.src", b"rubbish"), ("bridge.via", b"b")])
    assert written(cluster) == {}


def test_a_record_that_is_older_than_the_batch_is_not_read_and_a_slow_clock_is_allowed_for():
    cluster = FakeCluster()
    cluster.write("out", 0, own("in/0/100/1"), timestamp_ms=BATCH.started_ms - CLOCK_SKEW_MS - 1)
    cluster.write("out", 0, own("in/0/101/1"), timestamp_ms=BATCH.started_ms - CLOCK_SKEW_MS)
    assert written(cluster) == {0: [101]}


def test_nothing_written_filters_nothing():
    assert repeat_condition({}) == "false"
    assert repeat_condition({0: OffsetSet()}) == "false"


def holds(condition: str, partition: int, offset: int) -> bool:
    """The condition as Spark would judge it, for its small vocabulary."""
    case = re.search(rf"WHEN {partition} THEN \((.*?\)?)\)(?= WHEN| ELSE)", condition)
    if case is None:
        return False
    for term in case[1].split(" OR "):
        between = re.fullmatch(r"offset BETWEEN (\d+) AND (\d+)", term)
        if between and int(between[1]) <= offset <= int(between[2]):
            return True
        listed = re.fullmatch(r"offset IN \((.*)\)", term)
        if listed and offset in map(int, listed[1].split(", ")):
            return True
    return False


@pytest.mark.slow
@given(st.dictionaries(st.integers(0, 3), st.sets(st.integers(0, 400), min_size=1)))
def test_the_condition_holds_for_exactly_what_was_written(numbers: dict[int, set[int]]):
    sets = {}
    for partition, offsets in numbers.items():
        sets[partition] = OffsetSet()
        for offset in offsets:
            sets[partition].add(offset)
    condition = repeat_condition(sets)
    for partition in range(4):
        held = {offset for offset in range(401) if holds(condition, partition, offset)}
        assert held == numbers.get(partition, set())
