from __future__ import annotations

from collections import Counter

import pytest

from counterfoil.converter.run.progress import Position, Totals, duration, position_of, progress_line, summary_line

REPORT = {
    "sources": [{"endOffset": {"in": {"0": 60, "1": 40}}, "latestOffset": {"in": {"0": 100, "1": 45}}}],
}


def test_counts_add_up_over_batches():
    totals = Totals()
    written = {"rows": 10, "tombstones": 1, "dead": 4, "cast-failed": 0, "lookup-missing": 3}
    totals.add(
        {"numInputRows": 14, "observedMetrics": {"read": {"repeats": 2}, "written": written}},
        codes=["cast-failed", "lookup-missing"],
    )
    totals.add({"numInputRows": 3, "observedMetrics": {"written": {"rows": 3, "tombstones": 0, "dead": 0}}}, codes=[])
    assert (totals.batches, totals.read, totals.echoes, totals.repeats) == (2, 17, 2, 2)
    assert totals.dead_by_code == Counter({"lookup-missing": 3, "other": 1})
    assert (totals.converted, totals.tombstones, totals.dead_letters, totals.written) == (8, 1, 4, 13)


def test_records_that_the_sink_found_written_are_repeats():
    totals = Totals(read=9, converted=5, tombstones=2, dead_by_code=Counter({"undecodable": 2}))
    totals.leave_out(Counter({"converted": 3, "tombstone": 1, "undecodable": 2}))
    assert (totals.converted, totals.tombstones, totals.dead_letters, totals.repeats) == (2, 1, 0, 6)


def test_the_position_follows_what_the_source_has_grown_to():
    position = position_of(REPORT, beginning={0: 10, 1: 0}, ends={0: 80, 1: 45})
    assert position == Position(done=90, total=135)
    assert position.lag == 45


def test_a_report_without_a_source_is_at_the_beginning():
    assert position_of({"sources": []}, beginning={0: 5}, ends={0: 9}) == Position(done=0, total=4)


def test_a_line_has_only_the_counts_that_are_not_zero():
    totals = Totals(batches=1, read=90, converted=90)
    line = progress_line(totals, Position(done=90, total=90), rate_per_s=1234.6)
    assert line == "batch 1: 90 of 90 (100%), 1,235/s, lag 0, dead letters 0"
    totals.tombstones, totals.repeats = 4, 30
    assert progress_line(totals, Position(0, 0), rate_per_s=0).endswith("tombstones 4, written before the restart 30")


def test_the_summary_names_the_reason_of_the_end():
    totals = Totals(batches=2, read=1000, converted=990, dead_by_code=Counter({"too-large": 10}))
    assert summary_line(totals, took_s=10.0, ending="finished") == (
        "finished: 1,000 records in 2 batches, 990 converted, dead letters 10 (too-large 10), 10 s, 100/s"
    )


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0 s"), (61, "1 min 1 s"), (7260, "2 h 1 min")])
def test_durations_are_words(seconds: float, words: str):
    assert duration(seconds) == words
