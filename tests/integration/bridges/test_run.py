from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.check.preflight import PreflightSeverity, inspect, prepare_topics
from counterfoil.converter.commands.replay import Replay, ReplayReport
from counterfoil.converter.engines.reference import Converted
from counterfoil.converter.errors import CheckpointConflict
from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.kafka.origins import parse_origin
from counterfoil.converter.run import progress
from counterfoil.converter.run.checkpoint import Checkpoint
from counterfoil.converter.run.checkpoint_files import LocalFiles, written_as_needed
from counterfoil.converter.verify import RecomputedSample, TopicVerification
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans import ConversionError, FailureCode
from counterfoil.schema.plans.bridge import StopAbove
from local_services import wait_until
from strategies.bridges.driver import bridge_between, run_bridge, swap
from strategies.kafka.records import produce

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counterfoil.converter.bridge import ResolvedBridge
    from local_services import KafkaClient

FRAME = b"\x00\x00\x00\x00\x05"
LONG_AGO_MS = 1_600_000_000_000


@dataclass
class Route:
    """Three topics on a real broker and what is done with them."""

    broker: KafkaClient
    source: str
    target: str
    folder: Path
    spark: Any

    @property
    def dead(self) -> str:
        return f"{self.source}.bridge-dlq"

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.broker.bootstrap_servers)

    def produce(self, records: list[dict[str, Any]], topic: str | None = None) -> None:
        produce(self.broker.bootstrap_servers, topic or self.source, records)

    def bridge(self, **changes: Any) -> ResolvedBridge:
        return bridge_between(self.source, self.target, **changes)

    def run(self, bridge: ResolvedBridge | None = None, checkpoint: str = "checkpoint", **settings: Any) -> Any:
        return run_bridge(
            self.spark,
            self.broker.bootstrap_servers,
            bridge or self.bridge(),
            self.folder / checkpoint,
            **{"max_offsets_per_trigger": 100_000, **settings},
        )

    def read(self, topic: str) -> list[Any]:
        return list(self.cluster.read(topic, self.cluster.watermarks(topic)))

    def verify(self, **changes: Any) -> Any:
        bridge = self.bridge(**changes)
        return TopicVerification(bridge.file, self.cluster, recompute=swap, sample=RecomputedSample(size=None)).run()


@pytest.fixture
def route(broker: KafkaClient, spark: Any, unique_name: Callable[[str], str], tmp_path: Path) -> Route:
    made = Route(broker, unique_name("in"), unique_name("out"), tmp_path, spark)
    for topic in (made.source, made.target, made.dead):
        broker.create_topic(topic, partitions=2)
    return made


def numbered(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"value": FRAME + f"value {number}".encode(), "key": f"k{number}".encode(), "partition": number % 2, **more}
        for number in range(count)
    ]


def test_key_headers_partition_and_origin_arrive(route: Route):
    headers = [("a", b"1"), ("trace", None), ("a", b""), ("b", "é".encode()), ("a", b"1")]
    route.produce(
        [
            {"value": FRAME + b"one", "key": b"k", "partition": 1, "timestamp": LONG_AGO_MS, "headers": headers},
            {"value": None, "key": b"k", "partition": 1, "timestamp": LONG_AGO_MS + 1},
            {"value": FRAME + b"\xffno", "key": None, "partition": 0, "timestamp": LONG_AGO_MS, "headers": headers},
            {"value": b"unframed", "key": b"", "partition": 0},
        ]
    )
    outcome, _ = route.run()
    assert outcome.exit_code is ExitCode.OK
    first, tombstone = [each for each in route.read(route.target) if each.partition() == 1]
    assert (first.key(), first.value()) == (b"k", b"\x00\x00\x00\x00\x4done")
    plan = b"0123456789abcdef"
    src = f"{route.source}/1/0/{LONG_AGO_MS}/5".encode()
    assert first.headers() == [
        *headers, ("bridge.src", src), ("bridge.plan", plan), ("bridge.via", b"swap-bridge"),
    ]  # fmt: skip
    assert (tombstone.key(), tombstone.value()) == (b"k", None)
    assert dict(tombstone.headers())["bridge.src"] == f"{route.source}/1/1/{LONG_AGO_MS + 1}".encode()
    (dead,) = route.read(route.dead)
    assert (dead.key(), dead.value(), dead.partition()) == (None, FRAME + b"\xffno", 0)
    assert dead.headers()[: len(headers)] == headers
    added = dict(dead.headers()[len(headers) :])
    reason = [added[name] for name in ("bridge.error", "bridge.error.field", "bridge.error.text")]
    assert reason == [b"undecodable", b"", b"marked"]
    assert parse_origin(added["bridge.src"]).offset == 0
    assert route.verify().exit_code is ExitCode.OK
    assert (outcome.totals.converted, outcome.totals.tombstones, outcome.totals.dead_letters) == (2, 1, 1)


def test_exactly_once_keeps_timestamps_and_counts_what_it_wrote(route: Route):
    route.produce([*numbered(20, timestamp=LONG_AGO_MS), {"value": FRAME + b"\xff", "timestamp": 7, "partition": 0}])
    route.produce([{"value": None, "key": b"k", "partition": 1, "timestamp": LONG_AGO_MS}])
    bridge = route.bridge(delivery="exactly-once")
    outcome, _ = route.run(bridge, max_offsets_per_trigger=8)
    totals = outcome.totals
    assert (totals.read, totals.converted, totals.tombstones, totals.dead_letters) == (22, 20, 1, 1)
    written = route.read(route.target)
    assert {message.timestamp()[1] for message in written} == {LONG_AGO_MS}
    assert [message.timestamp()[1] for message in route.read(route.dead)] == [7]
    assert route.verify().is_good

    outcome, lines = route.run(bridge, "another checkpoint")
    assert lines[0] == "22 offsets after the checkpoint's position are written already and are left out"
    assert (outcome.totals.written, outcome.totals.repeats) == (0, 22)
    assert route.verify().is_good


def test_at_least_once_writes_an_unfinished_batch_again(route: Route):
    route.produce(numbered(30))
    bridge = route.bridge(delivery="at-least-once")
    route.run(bridge)
    for name in ("0", ".0.crc"):
        (route.folder / "checkpoint" / "commits" / name).unlink()
    outcome, _ = route.run(bridge)
    assert outcome.totals.written == 30
    assert len(route.read(route.target)) == 60


def test_without_keep_no_timestamp_is_carried(route: Route):
    route.produce(numbered(2))
    route.run(route.bridge(timestamp="now"))
    origins = [parse_origin(dict(each.headers())["bridge.src"]) for each in route.read(route.target)]
    assert {origin.timestamp_ms for origin in origins} == {-1}


def test_a_second_run_goes_on_and_leaves_nothing_to_do(route: Route):
    route.produce(numbered(100))
    route.run(max_offsets_per_trigger=30)
    route.produce(numbered(10))
    outcome, lines = route.run()
    assert outcome.totals.read == 10
    assert lines[-1].startswith("batch 1: 110 of 110 (100%)")
    outcome, _ = route.run()
    assert outcome.totals.read == 0
    report = route.verify()
    assert report.is_good
    assert report.records == 110


def test_what_the_target_would_not_take_is_a_dead_letter(route: Route):
    limit = 4000
    small = route.target + "-small"
    route.broker.create_topic(small, partitions=2, settings={"max.message.bytes": str(limit)})
    route.target = small
    route.produce([{"value": FRAME + b"x" * size, "partition": 0} for size in (100, 2500, limit - 5, 10 * limit)])
    route.produce([{"value": FRAME + b"x", "partition": 1, "headers": [("large", b"h" * limit)]}])
    outcome, _ = route.run()
    assert outcome.totals.dead_by_code == {"too-large": 3}
    texts = [dict(each.headers())["bridge.error.text"].decode() for each in route.read(route.dead)]
    assert all(text.endswith(f"the target takes {limit}") for text in texts)
    assert len(route.read(small)) == 2
    assert route.verify().is_good


def test_dead_letters_are_replayed_once_and_verified(route: Route):
    def repaired(value: bytes) -> Converted:
        if value[5:7] == b"\xff\xff":
            return Converted(failure=ConversionError(FailureCode.UNDECODABLE, "f", "marked twice"))
        return Converted(value=b"\x00\x00\x00\x00\x4d" + value[5:])

    def replay(convert: Any = repaired) -> ReplayReport:
        return Replay(bridge.file, route.cluster, convert, plan_hash="f" * 64).run()

    headers = [("a", b"1"), ("bridge.src", b"elsewhere/0/7/1/3"), ("a", None)]
    bad = {"value": FRAME + b"\xff", "key": b"k", "timestamp": LONG_AGO_MS, "partition": 1, "headers": headers}
    route.produce([*numbered(20), bad, {**bad, "value": FRAME + b"\xff\xff"}, *numbered(4), {**bad, "partition": 0}])
    bridge = route.bridge(delivery="exactly-once")
    assert route.run(bridge)[0].totals.dead_letters == 3
    route.produce([{"value": b"of another program", "partition": 1}], route.dead)

    refused = replay(lambda _value: Converted(failure=ConversionError(FailureCode.UNDECODABLE, "", "still")))
    assert (refused.converted, refused.failed.total(), len(route.read(route.dead))) == (0, 3, 4)
    report = replay()
    assert report.lines() == [
        f"bridge swap-bridge: 3 dead letters of {route.dead}: 2 converted, 1 failed again (undecodable 1)"
    ]
    assert report.exit_code is ExitCode.BROKEN
    second = replay()
    assert (second.converted, dict(second.failed)) == (0, {"undecodable": 1})
    assert len(route.read(route.dead)) == 5
    last = [each for each in route.read(route.target) if each.partition() == 1][-1]
    assert (last.key(), last.value(), last.timestamp()[1]) == (b"k", b"\x00\x00\x00\x00\x4d\xff", LONG_AGO_MS)
    src = f"{route.source}/1/10/{LONG_AGO_MS}/5".encode()
    assert last.headers()[:4] == [*headers, ("bridge.src", src)]
    assert dict(last.headers()[3:])["bridge.replay"] == f"{route.dead}/1/0".encode()

    verified = TopicVerification(
        bridge.file, route.cluster, recompute=lambda value: repaired(value).value, sample=RecomputedSample(size=None)
    ).run()
    assert verified.is_good, verified.lines()
    assert sum(each.dead_letters for each in verified.partitions) == 1
    assert replay(lambda _value: Converted(value=b"\x00\x00\x00\x00\x4d")).converted == 1


def test_two_bridges_in_opposite_directions_do_not_echo(route: Route):
    route.produce(numbered(10))
    route.run()
    route.produce([{"value": FRAME + b"native", "partition": 0}], route.target)
    back = bridge_between(route.target, route.source, name="back")
    prepare_topics(back.file, route.cluster, create_target=False)
    outcome, _ = route.run(back, "back")
    assert (outcome.totals.read, outcome.totals.echoes, outcome.totals.converted) == (11, 10, 1)
    outcome, _ = route.run()
    assert (outcome.totals.read, outcome.totals.echoes, outcome.totals.converted) == (1, 1, 0)
    assert route.verify().is_good
    assert TopicVerification(back.file, route.cluster, recompute=swap).run().is_good


@pytest.mark.parametrize(
    ("limit", "code"), [(StopAbove(rate=0.3), ExitCode.BROKEN), (StopAbove(count=20), ExitCode.OK)]
)
def test_too_many_dead_letters_end_the_run_and_lose_nothing(route: Route, limit: StopAbove, code: ExitCode):
    bad = [{"value": FRAME + b"\xff", "partition": 0} for _ in range(20)]
    route.produce([*bad, *numbered(30), *numbered(400)])
    outcome, _ = route.run(route.bridge(stop_above=limit), max_offsets_per_trigger=40)
    assert outcome.exit_code is code
    if code is ExitCode.BROKEN:
        assert "stopped: more dead letters than 30%" in outcome.text
        assert outcome.totals.read < 450
        route.run()
    assert route.verify().is_good


def test_a_checkpoint_of_another_plan_is_refused(route: Route):
    route.produce(numbered(2))
    route.run()
    route.produce(numbered(2))
    with pytest.raises(CheckpointConflict) as refusal:
        route.run(route.bridge(plan="f" * 64))
    assert refusal.value.exit_code is ExitCode.CONFLICT
    outcome, _ = route.run(route.bridge(plan="f" * 64), force=True)
    assert outcome.totals.read == 2


def test_a_continuous_run_stops_on_request_and_an_available_now_run_takes_over(route: Route):
    route.produce(numbered(50))
    stop = threading.Event()
    outcomes: list[Any] = []
    running = threading.Thread(target=lambda: outcomes.append(route.run(stop=stop, interval_s=0.2)))
    running.start()
    try:
        for expected in (50, 100):
            wait_until(lambda: len(route.read(route.target)) == expected, what=f"{expected} records")  # noqa: B023 - called at once
            if expected == 50:
                route.produce(numbered(50))
    finally:
        stop.set()
        running.join(120)
    (outcome, _), *_ = outcomes
    assert outcome.exit_code is ExitCode.OK
    assert outcome.text.startswith("stopped on request: 100 records")
    route.produce(numbered(5))
    outcome, _ = route.run()
    assert outcome.text.startswith("finished: 5 records")
    assert route.verify().is_good


def test_preflight_on_a_real_broker(route: Route):
    file = route.bridge().file
    assert [each for each in inspect(file, route.cluster, None) if each.severity is PreflightSeverity.ERROR] == []
    route.produce(numbered(20))
    route.run()
    route.produce(numbered(20))
    from confluent_kafka import TopicPartition

    deleted = route.broker.admin.delete_records([TopicPartition(route.source, 0, 15)])
    for each in deleted.values():
        each.result(30)
    (error,) = inspect(file, route.cluster, Checkpoint(route.folder / "checkpoint"))
    assert error.severity is PreflightSeverity.ERROR
    assert "offsets 10 to 14" in error.text


def test_spark_never_splits_or_reorders_a_partition(route: Route):
    route.produce(numbered(4000))
    route.run(max_offsets_per_trigger=1500)
    report = route.verify()
    assert report.is_good, json.dumps(report.as_json(), indent=1)
    assert [each.records for each in report.partitions] == [2000, 2000]


def test_dead_letters_are_counted_by_reason_exactly(spark: Any):
    from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

    codes = [f"code-{number:02}" for number in range(18)]
    number = F.col("id") % 20
    code = F.when(number < 18, F.format_string("code-%02d", number)).when(number == 18, F.lit("unheard-of"))
    outgoing = (
        spark.range(100_000, numPartitions=7)
        .withColumn(progress.VALUE_BYTES, F.when(code.isNotNull() | (F.col("id") % 3 > 0), F.lit(2)))
        .withColumn(progress.PROBLEM_CODE, code)
    )
    written = outgoing.agg(*progress.written_metrics(codes)).collect()[0].asDict(recursive=True)
    totals = progress.RunTotals()
    totals.add({"numInputRows": 100_000, "observedMetrics": {"written": written}}, codes=codes)
    assert totals.dead_by_code == {**dict.fromkeys(codes, 5000), "other": 5000}
    assert (totals.tombstones, totals.written_bytes) == (1667, 196_666)


def test_spark_has_the_class_that_writes_checkpoints_in_a_local_folder(spark: Any, tmp_path: Path):
    """Queries that start outside of the block are not affected."""
    name = "spark.sql.streaming.checkpointFileManagerClass"
    before = spark.conf.get(name, None)
    with written_as_needed(spark, LocalFiles(tmp_path)):
        assert str(spark.conf.get(name)).endswith(".FileSystemBasedCheckpointFileManager")
    assert spark.conf.get(name, None) == before
