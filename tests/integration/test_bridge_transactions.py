from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.kafka.groups import group_of
from counterfoil.converter.run.transactions import COLUMNS, WriteTask
from local_services import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from local_services import KafkaClient

LONG_AGO_MS = 1_600_000_000_000
TYPES = {
    "source_partition": pa.int32(),
    "source_offset": pa.int64(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    "timestamp_ms": pa.int64(),
    "problem_code": pa.string(),
}


class Outputs:
    """A source and a target topic on a real broker, and tasks that write from the one to the other."""

    def __init__(self, broker: KafkaClient, name: str) -> None:
        self.source, self.target, self.bridge = f"{name}-in", f"{name}-out", f"{name}-bridge"
        self._servers = broker.bootstrap_servers
        self.cluster = Cluster(self._servers)
        for topic in (self.source, self.target):
            broker.create_topic(topic, partitions=2)

    def task(self, **client: Any) -> WriteTask:
        settings = {"bootstrap.servers": self._servers, "log_level": 0, **client}
        return WriteTask(settings, self.bridge, self.source)

    def batch(self, offsets: range, **changes: Any) -> pa.RecordBatch:
        rows = [
            {
                "source_partition": 1,
                "source_offset": offset,
                "topic": self.target,
                "partition": 1,
                "key": b"key",
                "value": str(offset).encode(),
                "headers": [],
                "timestamp_ms": LONG_AGO_MS + offset,
                "problem_code": None,
                **changes,
            }
            for offset in offsets
        ]
        return pa.RecordBatch.from_arrays(
            [pa.array([row[name] for row in rows], type=TYPES[name]) for name in COLUMNS], names=list(COLUMNS)
        )

    def read(self) -> list[Any]:
        return list(self.cluster.read(self.target, self.cluster.settled_watermarks(self.target)))

    def offsets(self) -> list[int]:
        return [int(message.value()) for message in self.read()]


def results(rows: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in rows for row in batch.to_pylist()]


@pytest.fixture
def outputs(broker: KafkaClient, unique_name: Callable[[str], str]) -> Outputs:
    return Outputs(broker, unique_name("tx"))


def test_records_are_written_as_they_are_with_the_time_of_their_originals(outputs: Outputs) -> None:
    headers = [("a", b"1"), ("a", None), ("b", b"\xff")]
    batch = outputs.batch(range(2), headers=[{"key": key, "value": value} for key, value in headers])
    bare = outputs.batch(range(2, 3), key=None, value=None, partition=None)
    (row,) = results(outputs.task()(iter([batch.slice(1), bare])))
    assert row == {"partition": 1, "written": 2, "skipped": "{}", "failure": None}
    tombstone, second = sorted(outputs.read(), key=lambda message: message.value() or b"")
    assert (second.partition(), second.key(), second.value()) == (1, b"key", b"1")
    assert second.headers() == headers
    assert second.timestamp()[1] == LONG_AGO_MS + 1
    assert (tombstone.key(), tombstone.value(), tombstone.headers()) == (None, None, None)


def test_what_is_committed_is_not_written_again(outputs: Outputs) -> None:
    assert results(outputs.task()(iter([outputs.batch(range(10))])))[0]["written"] == 10
    again = [outputs.batch(range(5, 8)), outputs.batch(range(8, 9), value=None)]
    again += [outputs.batch(range(9, 10), problem_code="undecodable"), outputs.batch(range(10, 12))]
    (row,) = results(outputs.task()(iter(again)))
    assert row["written"] == 2
    assert json.loads(row["skipped"]) == {"converted": 3, "tombstone": 1, "undecodable": 1}
    assert outputs.offsets() == list(range(12))
    assert outputs.cluster.committed(group_of(outputs.bridge), outputs.source) == {1: 12}


def test_a_task_without_records_writes_nothing(outputs: Outputs) -> None:
    assert results(outputs.task()(iter([]))) == []
    assert results(outputs.task()(iter([outputs.batch(range(0))]))) == []


def test_a_task_with_records_of_two_source_partitions_commits_the_offsets_of_each(outputs: Outputs) -> None:
    batches = [outputs.batch(range(5)), outputs.batch(range(10, 13), source_partition=0)]
    rows = results(outputs.task()(iter(batches)))
    assert [(row["partition"], row["written"], row["failure"]) for row in rows] == [(1, 5, None), (0, 3, None)]
    assert outputs.cluster.committed(group_of(outputs.bridge), outputs.source) == {0: 13, 1: 5}


def test_an_error_of_the_conversion_aborts_the_open_transaction(outputs: Outputs) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield outputs.batch(range(10))
        raise RuntimeError("the conversion ended")

    with pytest.raises(RuntimeError, match="the conversion ended"):
        results(outputs.task()(broken()))
    assert outputs.read() == []
    assert outputs.cluster.committed(group_of(outputs.bridge), outputs.source) == {}
    assert results(outputs.task()(iter([outputs.batch(range(12))])))[0]["written"] == 12
    assert outputs.offsets() == list(range(12))


def test_a_second_driver_takes_over_and_the_first_one_stops(outputs: Outputs) -> None:
    def interrupted() -> Iterator[pa.RecordBatch]:
        yield outputs.batch(range(10))
        others.extend(results(outputs.task()(iter([outputs.batch(range(20))]))))
        yield outputs.batch(range(10, 20))

    others: list[dict[str, Any]] = []
    (row,) = results(outputs.task()(interrupted()))
    assert row["written"] == 0
    assert f"another driver runs bridge {outputs.bridge}" in row["failure"]
    assert others == [{"partition": 1, "written": 20, "skipped": "{}", "failure": None}]
    assert outputs.offsets() == list(range(20))


def test_a_transaction_that_is_open_for_too_long_is_named_as_such(outputs: Outputs) -> None:
    def stalling() -> Iterator[pa.RecordBatch]:
        yield outputs.batch(range(10))
        wait_until(lambda: outputs.cluster.watermarks(outputs.target)[1][1] > 0, what="the end of the transaction")
        yield outputs.batch(range(10, 20))

    (row,) = results(replace(outputs.task(), timeout_ms=1000)(stalling()))
    assert row["written"] == 0
    assert "the broker aborts one after 1 s (transaction.timeout.ms)" in row["failure"]
    assert results(outputs.task()(iter([outputs.batch(range(20))])))[0]["written"] == 20
    assert outputs.offsets() == list(range(20))


def test_a_record_that_the_broker_refuses_is_named_and_nothing_of_its_transaction_is_read(outputs: Outputs) -> None:
    big = outputs.batch(range(1, 2), value=os.urandom(3_000_000))
    (row,) = results(outputs.task(**{"message.max.bytes": 4_000_000})(iter([outputs.batch(range(1)), big])))
    assert row["written"] == 0
    assert f"topic {outputs.source} partition 1 failed" in row["failure"]
    assert outputs.read() == []


def test_a_broker_that_is_away_is_named(outputs: Outputs) -> None:
    task = replace(outputs.task(**{"bootstrap.servers": "127.0.0.1:1"}), deadline_s=2.0)
    (row,) = results(task(iter([outputs.batch(range(1))])))
    assert "failed after 0 records of this batch had been committed" in row["failure"]
