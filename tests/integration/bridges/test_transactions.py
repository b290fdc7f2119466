from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.java.generator import add_classes, packaged
from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.kafka.offsets import group_of
from counterfoil.converter.run.delivery import write_records
from counterfoil.converter.run.transactions import KafkaTransactions, Outgoing, write_partition
from local_services import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from counterfoil.converter.run.transactions import WrittenRecords
    from local_services import KafkaClient

LONG_AGO_MS = 1_600_000_000_000
ROW = (
    "source_partition int, source_offset long, topic string, partition int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>, timestamp_ms long, problem_code string"
)
GATE = packaged(
    "gate",
    """
    public final class Gate {
      public static String pass(String path) throws Exception {
        while (!new java.io.File(path).exists()) {
          Thread.sleep(20);
        }
        return path;
      }
    }
    """,
    "Gate",
)
"""A function of SQL (``reflect``) that returns when a file exists."""


@dataclass(frozen=True)
class Outputs:
    """A source and a target topic on a real broker, and what is written from the one to the other."""

    cluster: Cluster
    source: str
    target: str
    bridge: str

    @property
    def transactions(self) -> KafkaTransactions:
        return KafkaTransactions(self.bridge, self.source)

    def records(self, offsets: range, **changes: Any) -> list[Outgoing]:
        return [
            Outgoing(
                **{
                    "source_partition": 1,
                    "source_offset": offset,
                    "topic": self.target,
                    "partition": 1,
                    "key": b"key",
                    "value": str(offset).encode(),
                    "headers": [],
                    "timestamp_ms": LONG_AGO_MS + offset,
                    **changes,
                }
            )
            for offset in offsets
        ]

    def read(self) -> list[Any]:
        return list(self.cluster.read(self.target, self.cluster.settled_watermarks(self.target)))

    def offsets(self) -> list[int]:
        return [int(message.value()) for message in self.read()]

    def has_begun(self) -> bool:
        """Return whether the target has records, also those of an open transaction."""
        settings = {**self.cluster.client_settings, "group.id": "unused", "isolation.level": "read_uncommitted"}
        consumer = Consumer(settings)
        try:
            _, end = consumer.get_watermark_offsets(TopicPartition(self.target, 1), timeout=10)
            return bool(end > 0)
        finally:
            consumer.close()

    def has_ended(self) -> bool:
        """Return whether a transaction was committed or aborted."""
        return self.cluster.watermarks(self.target)[1][1] > 0

    def committed(self) -> dict[int, int]:
        return self.cluster.committed(group_of(self.bridge), self.source)

    def replay(self, records: Any, transactions: KafkaTransactions | None = None, **client: Any) -> WrittenRecords:
        """Write as ``bridge replay`` does."""
        settings = {**self.cluster.client_settings, **client}
        return write_partition(transactions or self.transactions, settings, 1, records)


@dataclass(frozen=True)
class Tasks:
    """Writing as a run does: in a task of Spark."""

    session: SparkSession
    outputs: Outputs
    gate: Path

    def frame(self, records: list[Outgoing]) -> DataFrame:
        return self.session.createDataFrame(records, ROW).coalesce(1)

    def gated(self, records: list[Outgoing], *, offset: int) -> DataFrame:
        """Return records of which that with an offset, and those after it, come when the gate is open."""
        add_classes(self.session, GATE)
        passed = F.expr(f"reflect('{GATE.package}.Gate', 'pass', '{self.gate}')")
        at = F.col("source_offset") == offset
        return self.frame(records).withColumn("key", F.when(at, passed.cast("binary")).otherwise(F.col("key")))

    def write(
        self, rows: DataFrame, transactions: KafkaTransactions | None = None, **kafka: str
    ) -> list[WrittenRecords]:
        settings = {**self.outputs.cluster.java_settings, **kafka}
        return write_records(rows, transactions or self.outputs.transactions, settings)

    def beside(
        self, rows: DataFrame, action: Callable[[], None], transactions: KafkaTransactions | None = None
    ) -> WrittenRecords:
        """Write gated rows; when a part of them is in an open transaction, do something, and then open the gate."""
        with ThreadPoolExecutor(1) as thread:
            writing = thread.submit(self.write, rows, transactions)
            wait_until(self.outputs.has_begun, what="the records of an open transaction")
            action()
            self.gate.touch()
            (written,) = writing.result(120)
        return written


@pytest.fixture
def outputs(broker: KafkaClient, unique_name: Callable[[str], str]) -> Outputs:
    name = unique_name("tx")
    for topic in (f"{name}-in", f"{name}-out"):
        broker.create_topic(topic, partitions=2)
    return Outputs(Cluster(broker.bootstrap_servers), f"{name}-in", f"{name}-out", f"{name}-bridge")


@pytest.fixture
def tasks(spark: Any, outputs: Outputs, tmp_path: Path) -> Tasks:
    return Tasks(spark, outputs, tmp_path / "gate")


@pytest.fixture(params=["run", "replay"])
def write(request: pytest.FixtureRequest, outputs: Outputs) -> Callable[[list[Outgoing]], WrittenRecords]:
    """Return what writes records of one source partition, with each of the two writers."""
    if request.param == "replay":
        return outputs.replay
    tasks: Tasks = request.getfixturevalue("tasks")
    return lambda records: tasks.write(tasks.frame(records))[0]


def test_records_are_written_as_they_are_with_the_time_of_their_originals(
    outputs: Outputs, write: Callable[[list[Outgoing]], WrittenRecords]
) -> None:
    headers = [("a", b"1"), ("a", None), ("b", b"\xff")]
    bare = outputs.records(range(2, 3), key=None, value=None, partition=None)
    written = write([*outputs.records(range(1, 2), headers=headers), *bare])
    assert written == (1, 2, {}, None)
    tombstone, second = sorted(outputs.read(), key=lambda message: message.value() or b"")
    assert (second.partition(), second.key(), second.value()) == (1, b"key", b"1")
    assert second.headers() == headers
    assert second.timestamp()[1] == LONG_AGO_MS + 1
    assert (tombstone.key(), tombstone.value(), tombstone.headers()) == (None, None, None)


def test_what_is_committed_is_not_written_again(
    outputs: Outputs, write: Callable[[list[Outgoing]], WrittenRecords]
) -> None:
    assert write(outputs.records(range(10))).records == 10
    again = [*outputs.records(range(5, 8)), *outputs.records(range(8, 9), value=None)]
    again += [*outputs.records(range(9, 10), problem_code="undecodable"), *outputs.records(range(10, 12))]
    written = write(again)
    assert (written.records, written.skipped) == (2, {"converted": 3, "tombstone": 1, "undecodable": 1})
    assert outputs.offsets() == list(range(12))
    assert outputs.committed() == {1: 12}


def test_tasks_and_replay_follow_one_protocol(outputs: Outputs, tasks: Tasks) -> None:
    assert tasks.write(tasks.frame(outputs.records(range(3)))) == [(1, 3, {}, None)]
    assert outputs.replay(outputs.records(range(5))) == (1, 2, {"converted": 3}, None)
    assert tasks.write(tasks.frame(outputs.records(range(6)))) == [(1, 1, {"converted": 5}, None)]
    assert outputs.offsets() == list(range(6))


def test_a_task_without_records_writes_nothing(outputs: Outputs, tasks: Tasks) -> None:
    assert tasks.write(tasks.frame([])) == []
    assert outputs.committed() == {}


def test_a_task_with_records_of_two_source_partitions_commits_the_offsets_of_each(
    outputs: Outputs, tasks: Tasks
) -> None:
    rows = tasks.frame([*outputs.records(range(5)), *outputs.records(range(10, 13), source_partition=0)])
    assert tasks.write(rows) == [(1, 5, {}, None), (0, 3, {}, None)]
    assert outputs.committed() == {0: 13, 1: 5}


def test_an_error_of_the_conversion_aborts_the_open_transaction_of_a_task(outputs: Outputs, tasks: Tasks) -> None:
    rows = tasks.frame(outputs.records(range(20)))
    broken = F.when(F.col("source_offset") == 10, F.raise_error(F.lit("the conversion ended")))
    with pytest.raises(Exception, match="the conversion ended"):
        tasks.write(rows.withColumn("value", F.coalesce(broken.cast("binary"), "value")))
    assert outputs.read() == []
    assert outputs.committed() == {}
    assert tasks.write(tasks.frame(outputs.records(range(12)))) == [(1, 12, {}, None)]
    assert outputs.offsets() == list(range(12))


def test_an_error_of_the_conversion_aborts_the_open_transaction_of_a_replay(outputs: Outputs) -> None:
    def broken() -> Iterator[Outgoing]:
        yield from outputs.records(range(10))
        raise RuntimeError("the conversion ended")

    with pytest.raises(RuntimeError, match="the conversion ended"):
        outputs.replay(broken())
    assert outputs.read() == []
    assert outputs.committed() == {}


def test_a_second_driver_takes_over_and_the_first_one_stops(outputs: Outputs, tasks: Tasks) -> None:
    others: list[WrittenRecords] = []
    rows = tasks.gated(outputs.records(range(20)), offset=10)
    written = tasks.beside(rows, lambda: others.append(outputs.replay(outputs.records(range(20)))))
    assert written.records == 0
    assert f"another driver runs bridge {outputs.bridge}" in str(written.failure)
    assert others == [(1, 20, {}, None)]
    assert outputs.offsets() == list(range(20))


@pytest.mark.parametrize("until_noticed", [False, True], ids=["noticed at the commit", "noticed at a record"])
def test_a_replay_stops_when_another_driver_takes_over(outputs: Outputs, *, until_noticed: bool) -> None:
    def interrupted() -> Iterator[Outgoing]:
        yield from outputs.records(range(10))
        assert outputs.replay(outputs.records(range(20))).records == 20
        deadline_s = time.monotonic() + 30
        for offset in count(10):
            yield from outputs.records(range(offset, offset + 1))
            # Once the broker's refusal of an earlier record has arrived, no further one is taken.
            if offset == 19 and not until_noticed:
                return
            assert time.monotonic() < deadline_s

    written = outputs.replay(interrupted())
    assert written.records == 0
    assert f"another driver runs bridge {outputs.bridge}" in str(written.failure)
    assert outputs.offsets() == list(range(20))


def test_a_transaction_that_is_open_for_too_long_is_named_as_such(outputs: Outputs, tasks: Tasks) -> None:
    rows = tasks.gated(outputs.records(range(20)), offset=10)
    short = replace(outputs.transactions, timeout_ms=1000)
    written = tasks.beside(rows, lambda: wait_until(outputs.has_ended, what="the end of the transaction"), short)
    assert written.records == 0
    assert "the broker aborts one after 1 s (transaction.timeout.ms)" in str(written.failure)
    assert tasks.write(tasks.frame(outputs.records(range(20)))) == [(1, 20, {}, None)]
    assert outputs.offsets() == list(range(20))


@pytest.mark.parametrize("writer", ["run", "replay"])
def test_a_record_that_the_broker_refuses_is_named_and_nothing_of_its_transaction_is_read(
    outputs: Outputs, tasks: Tasks, writer: str
) -> None:
    records = [*outputs.records(range(1)), *outputs.records(range(1, 2), value=os.urandom(3_000_000))]
    if writer == "run":
        (written,) = tasks.write(tasks.frame(records), None, **{"max.request.size": "4000000"})
    else:
        written = outputs.replay(records, None, **{"message.max.bytes": 4_000_000})
    assert written.records == 0
    assert f"topic {outputs.source} partition 1 failed" in str(written.failure)
    assert outputs.read() == []


@pytest.mark.parametrize("writer", ["run", "replay"])
def test_a_broker_that_is_away_is_named(outputs: Outputs, tasks: Tasks, writer: str) -> None:
    away, records = {"bootstrap.servers": "127.0.0.1:1"}, outputs.records(range(1))
    hasty = replace(outputs.transactions, deadline_s=2.0)
    if writer == "run":
        (written,) = tasks.write(tasks.frame(records), hasty, **away)
    else:
        written = outputs.replay(records, hasty, **away)
    assert "failed after 0 records of this batch had been committed" in str(written.failure)
