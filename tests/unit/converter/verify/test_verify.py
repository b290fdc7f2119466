from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.verify.verification import RecomputedSample, TopicVerification
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import BridgeFile, Partitioning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.converter.verify.verdict import VerifyReport


@dataclass(frozen=True)
class FakeMessage:
    t: str
    p: int
    o: int
    k: bytes | None
    v: bytes | None
    h: list[tuple[str, bytes | None]]

    topic = property(lambda self: lambda: self.t)
    partition = property(lambda self: lambda: self.p)
    offset = property(lambda self: lambda: self.o)
    key = property(lambda self: lambda: self.k)
    value = property(lambda self: lambda: self.v)
    headers = property(lambda self: lambda: self.h)


@dataclass
class FakeTopics:
    """Topics in memory, and a bridge that can be told to make mistakes."""

    log: dict[tuple[str, int], list[FakeMessage]] = field(default_factory=lambda: defaultdict(list))

    def put(self, topic: str, partition: int, value: bytes | None, **more: Any) -> FakeMessage:
        place = self.log[topic, partition]
        offset = more.get("offset", place[-1].o + 1 if place else 0)
        message = FakeMessage(topic, partition, offset, more.get("key", b"k"), value, more.get("headers", []))
        place.append(message)
        return message

    def carry(self, source: FakeMessage, **changes: Any) -> None:
        """What a bridge does with one record."""
        is_dead = (source.v or b"").startswith(b"bad")
        converted = source.v if is_dead or source.v is None else source.v.upper()
        origin = f"in/{source.p}/{changes.get('origin', source.o)}/5".encode()
        own = [("bridge.src", origin), ("bridge.via", b"b"), *([("bridge.error", b"lookup")] if is_dead else [])]
        self.put(
            changes.get("topic", "dead" if is_dead else "out"),
            changes.get("partition", source.p),
            changes.get("value", converted),
            key=changes.get("key", source.k),
            headers=[*changes.get("kept", source.h), *own],
        )

    def settled_watermarks(self, topic: str) -> dict[int, tuple[int, int]]:
        return {
            number: (place[0].o, place[-1].o + 1) if place else (0, 0)
            for (name, number), place in self.log.items()
            if name == topic
        }

    def read(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[FakeMessage]:
        for number, (first, end) in ranges.items():
            yield from (each for each in self.log[topic, number] if first <= each.o < end)


def upper(value: bytes) -> bytes | None:
    return None if value.startswith(b"bad") else value.upper()


def file(**changes: Any) -> BridgeFile:
    return BridgeFile("b", "in", "in-value", "out", "out-value", "dead", SimpleNamespace(), **changes)


def verify(topics: FakeTopics, **changes: Any) -> VerifyReport:
    sample = changes.pop("sample", RecomputedSample(size=None))
    ranges = changes.pop("ranges", None)
    return TopicVerification(file(**changes), topics, recompute=upper, sample=sample, ranges=ranges).run()


@pytest.fixture
def topics() -> FakeTopics:
    """Two partitions with values, a hole, a tombstone, a dead letter and a header of their own."""
    made = FakeTopics()
    for partition in (0, 1):
        for number in range(20):
            value = None if number == 3 else b"bad" if number == 4 else f"value {number}".encode()
            made.put("in", partition, value, offset=number * 2, key=str(number).encode(), headers=[("x", None)])
        made.log["out", partition], made.log["dead", partition] = [], []
    return made


def records(topics: FakeTopics) -> list[FakeMessage]:
    return [each for partition in (0, 1) for each in topics.log["in", partition]]


def faults(report: VerifyReport) -> dict[str, int]:
    return {kind: count for each in report.partitions for kind, count in each.faults.items()}


@pytest.mark.parametrize("sample", [RecomputedSample(size=None), RecomputedSample(size=10), RecomputedSample(size=0)])
def test_a_good_bridge_is_good(topics: FakeTopics, sample: RecomputedSample):
    for each in records(topics):
        topics.carry(each)
    topics.put("out", 0, b"from an old producer")
    report = verify(topics, sample=sample)
    assert report.exit_code is ExitCode.OK, report.lines()
    assert (report.native, report.foreign, report.dead_by_code) == (1, 0, {"lookup": 2})
    first = report.partitions[0]
    assert (first.records, first.converted, first.tombstones, first.dead_letters) == (20, 18, 1, 1)
    recomputed = sum(each.recomputed for each in report.partitions)
    assert recomputed == 40 if sample.size is None else min(sample.size, 4) <= recomputed <= sample.size
    assert report.as_json()["totals"]["source"] == 40
    assert "each exactly once and in order" in report.lines()[-1]


def test_no_records_is_no_verdict():
    report = verify(FakeTopics({("in", 0): [], ("out", 0): [], ("dead", 0): []}))
    assert report.exit_code is ExitCode.CANNOT_SAY


def test_a_lost_record_is_missing(topics: FakeTopics):
    for each in records(topics):
        if (each.p, each.o) != (1, 14):
            topics.carry(each)
    report = verify(topics)
    assert faults(report) == {"missing": 1}
    assert report.partitions[1].examples == {"missing": ["14"]}
    assert report.exit_code is ExitCode.BROKEN
    assert report.lines()[-1] == "NOT GOOD: missing 1"


@pytest.mark.parametrize("where", ["out", "dead"])
def test_a_record_written_twice_is_repeated(topics: FakeTopics, where: str):
    for each in records(topics):
        topics.carry(each)
    topics.carry(records(topics)[-1], topic=where)
    assert faults(verify(topics)) == {"repeated": 1}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"key": b"another"}, "changed"),
        ({"kept": []}, "changed"),
        ({"value": b"WRONG"}, "differing"),
        ({"value": None}, "unwarranted"),
        ({"topic": "dead"}, "differing"),
        ({"partition": 0}, "misplaced"),
        ({"origin": 15}, "unmatched"),
    ],
)
def test_each_mistake_of_a_bridge_has_its_name(topics: FakeTopics, changes: dict[str, Any], kind: str):
    for each in records(topics):
        topics.carry(each, **(changes if (each.p, each.o) == (1, 14) else {}))
    found = verify(topics)
    assert faults(found)[kind] == 1
    assert found.exit_code is ExitCode.BROKEN


def test_records_out_of_order_are_reported(topics: FakeTopics):
    everything = records(topics)
    everything[7], everything[8] = everything[8], everything[7]
    for each in everything:
        topics.carry(each)
    assert faults(verify(topics)) == {"out_of_order": 1}


def test_with_partition_by_key_any_partition_will_do(topics: FakeTopics):
    for each in records(topics):
        topics.carry(each, **({} if each.v == b"bad" else {"partition": each.o % 2}))
    assert verify(topics, partitioning=Partitioning.BY_KEY).is_good
    assert faults(verify(topics)) == {"misplaced": 19}


def test_an_echo_is_rightly_left_out(topics: FakeTopics):
    echo = topics.put("in", 0, b"echo", headers=[("bridge.src", b"out/0/1/5"), ("bridge.via", b"back")])
    for each in records(topics):
        if each is not echo:
            topics.carry(each)
    report = verify(topics)
    assert report.is_good
    assert report.partitions[0].echoes == 1
    topics.carry(echo)
    assert "unwarranted" in faults(verify(topics))


def test_only_the_requested_range_is_judged(topics: FakeTopics):
    for each in records(topics):
        if each.o < 20:
            topics.carry(each)
    report = verify(topics, ranges={0: (0, 20), 1: (0, 20)})
    assert report.is_good
    assert report.records == 20
    assert faults(verify(topics)) == {"missing": 10}


def test_what_was_too_large_is_not_computed_again(topics: FakeTopics):
    for each in records(topics):
        topics.carry(each)
    large = topics.put("in", 0, b"large")
    own = [("bridge.src", f"in/0/{large.o}/5".encode()), ("bridge.via", b"b"), ("bridge.error", b"too-large")]
    topics.put("dead", 0, b"large", headers=own)
    assert verify(topics).is_good
