from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.check.preflight import PreflightSeverity, inspect, overtaken, prepare_topics, ready_topics
from counterfoil.converter.errors import MissingPart, PreflightFailed
from counterfoil.schema.plans.bridge import BridgeFile, DeliveryGuarantee, Partitioning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULTS = {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": "1000"}


@dataclass
class FakeCluster:
    """Topics by name: how many partitions, and settings that differ from ``DEFAULTS``."""

    topics: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    group: dict[int, int] = field(default_factory=dict)
    refused: dict[str, set[str]] = field(default_factory=dict)

    def rights(self, topics: Iterable[str]) -> dict[str, frozenset[str] | None]:
        every = {"DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE"}
        has = {topic: frozenset(every - self.refused.get(topic, set())) for topic in topics}
        return {topic: rights if topic in self.topics else None for topic, rights in has.items()}

    def partition_count(self, topic: str) -> int | None:
        return self.topics[topic][0] if topic in self.topics else None

    def settings(self, topic: str) -> dict[str, str]:
        return {**DEFAULTS, **self.topics[topic][1]}

    def watermarks(self, topic: str) -> dict[int, tuple[int, int]]:
        return dict.fromkeys(range(self.topics[topic][0]), (0, 10))

    def committed(self, group: str, topic: str) -> dict[int, int]:
        return self.group if (group, topic) == ("counterfoil-bridge-b", "in") else {}

    def create_topic(self, topic: str, *, partitions: int, settings: Mapping[str, str]) -> None:
        self.topics[topic] = (partitions, dict(settings))


def file(**changes: Any) -> BridgeFile:
    return BridgeFile("b", "in", "in-value", "out", "out-value", "dead", SimpleNamespace(), **changes)


def cluster(**changes: tuple[int, dict[str, str]] | None) -> FakeCluster:
    everything = {"in": (3, {}), "out": (3, {}), "dead": (3, {})} | changes
    return FakeCluster({name: facts for name, facts in everything.items() if facts is not None})


def told(found: FakeCluster, severity: PreflightSeverity, **changes: Any) -> list[str]:
    return [each.text for each in inspect(file(**changes), found, None) if each.severity is severity]


def test_nothing_to_say_about_good_topics():
    assert inspect(file(), cluster(), None) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"in": None}, "no topic in to read"),
        ({"out": None}, "kafka-topics.sh --create --topic out --partitions 3"),
        ({"out": (4, {})}, "in has 3 while out has 4"),
        ({"dead": (2, {})}, "dead has 2 partitions and in 3"),
        ({"dead": (3, {"cleanup.policy": "compact"})}, "dead is compacted"),
        ({"dead": (3, {"max.message.bytes": "999"})}, "raise max.message.bytes"),
    ],
)
def test_what_would_break_a_promise_is_an_error(changes: dict[str, Any], words: str):
    (only,) = told(cluster(**changes), PreflightSeverity.ERROR)
    assert words in only


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"out": (3, {"max.message.bytes": "999"})}, "becomes a dead letter (too-large)"),
        ({"out": (3, {"cleanup.policy": "compact"})}, "a record without a key ends the run"),
        ({"in": (3, {"cleanup.policy": "compact"})}, "tombstones go there and delete nothing"),
        ({"out": (3, {"retention.ms": "86400000"})}, "deletes records 1 day after"),
        (
            {"out": (3, {"retention.ms": "86400000"}), "in": (3, {"retention.ms": "172800000"})},
            "in keeps them longer",
        ),
    ],
)
def test_what_may_surprise_is_a_warning(changes: dict[str, Any], words: str):
    found = cluster(**changes)
    assert told(found, PreflightSeverity.ERROR) == []
    (only,) = told(found, PreflightSeverity.WARNING)
    assert words in only


def test_a_target_that_keeps_as_long_as_the_source_is_no_surprise():
    same = {"retention.ms": "86400000"}
    assert inspect(file(), cluster(**{"in": (3, same), "out": (3, same)}), None) == []


def test_kept_timestamps_need_a_topic_that_keeps_them():
    found = cluster(out=(3, {"message.timestamp.type": "LogAppendTime", "retention.ms": "86400000"}))
    (only,) = told(found, PreflightSeverity.ERROR, delivery=DeliveryGuarantee.EXACTLY_ONCE)
    assert "needs message.timestamp.type=CreateTime, and out has LogAppendTime" in only
    (only,) = told(found, PreflightSeverity.WARNING, delivery=DeliveryGuarantee.EXACTLY_ONCE)
    assert "deletes records 1 day after their own timestamp" in only
    assert told(found, PreflightSeverity.ERROR) == []


def test_committed_offsets_beyond_the_end_are_of_another_topic():
    found = FakeCluster(cluster().topics, group={0: 10, 1: 11})
    (only,) = told(found, PreflightSeverity.ERROR, delivery=DeliveryGuarantee.EXACTLY_ONCE)
    assert "group counterfoil-bridge-b has committed offset 11 of in partition 1, which ends at 10" in only
    assert told(found, PreflightSeverity.ERROR) == []


def test_partition_counts_may_differ_by_key():
    assert told(cluster(out=(4, {})), PreflightSeverity.ERROR, partitioning=Partitioning.BY_KEY) == []


def test_what_retention_took_is_named():
    (only,) = overtaken("in", {0: 5, 1: 0}, {0: (9, 20), 1: (0, 20)})
    assert "offsets 5 to 8 of in partition 0 were deleted" in only.text
    assert "(4 offsets)" in only.text


def test_a_checkpoint_beyond_the_end_is_of_another_topic():
    (only,) = overtaken("in", {0: 25}, {0: (0, 20)})
    assert "was created again" in only.text


def test_each_right_that_is_missing_is_named_with_its_topic():
    found = FakeCluster(cluster().topics, refused={"in": {"READ"}, "out": {"WRITE", "READ"}, "dead": {"DESCRIBE"}})
    assert told(found, PreflightSeverity.ERROR) == [
        "the broker refuses to read from topic in: the right READ is missing",
        "the broker refuses to read from topic out: the right READ is missing",
        "the broker refuses to write to topic out: the right WRITE is missing",
        "the broker refuses to describe topic dead: the right DESCRIBE is missing",
    ]
    assert not any(
        " read from topic out" in text
        for text in told(found, PreflightSeverity.ERROR, delivery=DeliveryGuarantee.AT_LEAST_ONCE)
    )


def test_the_topic_of_progress_is_created_only_on_request_and_is_compacted():
    found = cluster()
    (only,) = told(found, PreflightSeverity.ERROR, progress_topic="progress")
    assert "there is no topic progress for progress" in only
    created = prepare_topics(file(progress_topic="progress"), found, create_target=True)
    assert created == ["created topic progress, compacted, for the progress of bridges"]
    assert found.topics["progress"] == (1, {"cleanup.policy": "compact"})
    assert inspect(file(progress_topic="progress"), found, None) == []
    found.topics["progress"] = (1, {})
    (only,) = told(found, PreflightSeverity.WARNING, progress_topic="progress")
    assert "progress is not compacted" in only


def test_nothing_is_created_while_there_is_an_error():
    for changes, word in (({"out": None, "dead": None}, "no topic out"), ({"out": (4, {}), "dead": None}, "out has 4")):
        found = cluster(**changes)
        before = set(found.topics)
        with pytest.raises(PreflightFailed, match=word):
            ready_topics(file(), found, None, create_target=False)
        assert set(found.topics) == before


def test_nothing_is_created_while_something_else_is_missing():
    def refuse() -> None:
        raise MissingPart("no connectors")

    found = cluster(out=None, dead=None)
    with pytest.raises(MissingPart):
        ready_topics(file(progress_topic="progress"), found, None, create_target=True, require=refuse)
    assert set(found.topics) == {"in"}


def test_topics_are_created_when_there_is_no_error():
    found = cluster(out=None, dead=None, **{"in": (1, {"cleanup.policy": "compact"})})
    created_target, created_dead, warning = ready_topics(file(), found, None, create_target=True)
    assert created_target == "created topic out with 1 partition, set up as the source"
    assert created_dead.startswith("created topic dead with 1 partition,")
    assert warning.startswith("warning: out is compacted")


def test_missing_topics_are_created_with_the_partitions_of_the_source():
    found = cluster(out=None, dead=None)
    assert prepare_topics(file(), found, create_target=False) == ["created topic dead with 3 partitions, kept for ever"]
    assert "out" not in found.topics
    assert found.topics["dead"] == (
        3,
        {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": str(1000 + (1 << 16))},
    )
    prepare_topics(file(), found, create_target=True)
    assert found.topics["out"][0] == 3
    assert prepare_topics(file(), found, create_target=True) == []
