"""Spark's reports of batches, as states of a run."""

from __future__ import annotations

import json
from typing import Any

from counterfoil.converter.run.progress import RateWindow, Watch
from counterfoil.converter.run.snapshot import RunSnapshot, RunState, read_snapshot, snapshot_json

START = RunSnapshot(bridge="b", plan_hash="f" * 64, engine="java", job="host:1", started_ts=5, ts=5)


def report(batch: int, rows: int, end: dict[str, int], latest: dict[str, int] | None = None) -> dict[str, Any]:
    written = {
        "rows": rows,
        "values": rows,
        "bytes": 10 * rows,
        "dead": [{"x": 1.0, "y": 1.0}] if rows else [],
    }
    return {
        "batchId": batch,
        "numInputRows": rows,
        "durationMs": {"triggerExecution": 1500},
        "sources": [{"endOffset": {"in": end}, "latestOffset": {"in": latest} if latest else None}],
        "observedMetrics": {"written": written},
    }


def followed() -> tuple[Watch, list[RunSnapshot]]:
    states: list[RunSnapshot] = []
    return Watch(START, {0: 10, 1: 0}, ["too-large"], [states.append]), states


def test_each_batch_is_counted_once_and_passed_on():
    watch, states = followed()
    watch.begin({0: 10}, {0: 80, 1: 45})
    assert (states[-1].done, states[-1].total, states[-1].lag, states[-1].batches) == (0, 115, 115, 0)
    first = report(0, 90, {"0": 60, "1": 40}, {"0": 100, "1": 45})
    assert watch.take([first, report(1, 0, {"0": 60, "1": 40})])
    assert not watch.take([first])
    state = states[-1]
    assert [(each.position, each.end, each.lag) for each in state.partitions] == [(60, 100, 40), (40, 45, 5)]
    assert (state.done, state.total, state.lag, state.batch, state.batch_s) == (90, 135, 45, 0, 1.5)
    assert (state.read, state.converted, state.dead_letters, state.written_bytes) == (90, 89, {"too-large": 1}, 900)
    watch.end(RunState.FAILED, error="the broker is away")
    assert [each.state for each in states] == [RunState.RUNNING, RunState.RUNNING, RunState.FAILED]
    assert read_snapshot(json.loads(json.dumps(snapshot_json(states[-1])))) == states[-1]


def test_a_report_without_a_source_changes_no_position():
    watch, states = followed()
    watch.begin({}, {0: 19, 1: 0})
    watch.take([{"batchId": 0, "numInputRows": 3, "sources": []}])
    assert (states[-1].done, states[-1].total) == (0, 9)


def test_the_rate_is_that_of_the_last_minute():
    rate = RateWindow(0.0)
    assert rate.rate_after(1000, now_s=10.0) == 100
    assert rate.rate_after(3000, now_s=20.0) == 200
    assert rate.rate_after(200, now_s=75.0) == 3200 / 65
    assert rate.rate_after(60, now_s=100.0) == 260 / 80


def test_the_time_left_is_not_estimated_from_nothing():
    assert START.eta_s is None
