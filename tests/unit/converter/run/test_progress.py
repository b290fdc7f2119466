from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from counterfoil.converter.run.progress import RunTotals, duration, progress_line, summary_line
from counterfoil.converter.run.snapshot import PartitionPosition, RunSnapshot

STATE = RunSnapshot(bridge="b", plan_hash="f" * 64, engine="java", job="host:1", started_ts=0, ts=0)


def test_counts_add_up_over_batches():
    totals = RunTotals()
    dead = [{"x": 0.0, "y": 1.0}, {"x": 2.0, "y": 2.0}, {"x": 2.0, "y": 1.0}]
    written = {"rows": 10, "values": 9, "bytes": 700, "dead": dead}
    totals.add(
        {"numInputRows": 14, "observedMetrics": {"read": {"repeats": 2}, "written": written}},
        codes=["cast-failed", "lookup-missing"],
    )
    totals.add({"numInputRows": 3, "observedMetrics": {"written": {"rows": 3, "values": 3, "dead": None}}}, codes=[])
    assert (totals.batches, totals.read, totals.echoes, totals.repeats) == (2, 17, 2, 2)
    assert totals.dead_by_code == Counter({"lookup-missing": 3, "other": 1})
    assert (totals.converted, totals.tombstones, totals.dead_letters, totals.written) == (8, 1, 4, 13)
    assert totals.written_bytes == 700


def test_records_that_the_sink_found_written_are_repeats():
    totals = RunTotals(read=9, converted=5, tombstones=2, dead_by_code=Counter({"undecodable": 2}))
    totals.leave_out(Counter({"converted": 3, "tombstone": 1, "undecodable": 2}))
    assert (totals.converted, totals.tombstones, totals.dead_letters, totals.repeats) == (2, 1, 0, 6)


def test_a_line_has_only_the_counts_that_are_not_zero():
    state = replace(STATE, batches=1, rate_per_s=1234.6, partitions=(PartitionPosition(0, 10, 100, 100),))
    assert progress_line(state) == "batch 1: 90 of 90 (100%), 1,235/s, lag 0, dead letters 0"
    state = replace(STATE, tombstones=4, repeats=30)
    assert progress_line(state).endswith("tombstones 4, written before the restart 30")


def test_a_line_has_the_time_left_and_the_lag_of_each_partition():
    state = replace(
        STATE,
        batches=2,
        rate_per_s=300.0,
        dead_letters={"too-large": 3, "lookup-missing": 7},
        partitions=(
            PartitionPosition(0, 0, 900, 5000),
            PartitionPosition(1, 0, 600, 1000),
            PartitionPosition(2, 0, 0, 0),
        ),
    )
    assert progress_line(state) == (
        "batch 2: 1,500 of 6,000 (25%), 300/s, 15 s to go, lag 4,500 (0: 4,100, 1: 400), "
        "dead letters 10 (lookup-missing 7, too-large 3)"
    )
    one = replace(state, partitions=state.partitions[:1])
    assert "lag 4,100, dead" in progress_line(one)
    many = replace(state, partitions=tuple(PartitionPosition(number, 0, 0, 1) for number in range(9)))
    assert "lag 9 (0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, ...)" in progress_line(many)


def test_the_summary_names_the_reason_of_the_end():
    totals = RunTotals(batches=2, read=1000, converted=990, dead_by_code=Counter({"too-large": 10}))
    assert summary_line(totals, took_s=10.0, ending="finished") == (
        "finished: 1,000 records in 2 batches, 990 converted, dead letters 10 (too-large 10), 10 s, 100/s"
    )


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0 s"), (61, "1 min 1 s"), (7260, "2 h 1 min")])
def test_durations_are_words(seconds: float, words: str):
    assert duration(seconds) == words
