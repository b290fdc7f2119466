"""What people and programs see of a run: lines, JSON, a terminal, measures, a history."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from counterfoil.converter.errors import BridgeError, CheckpointUnreadable
from counterfoil.converter.monitoring.measures import RunMeasures, serve_measures
from counterfoil.converter.monitoring.observers import PlainLines, ProgressForm, display_of, panel
from counterfoil.converter.monitoring.records import FILE_NAME, BackgroundReports, RunHistory, read_history
from counterfoil.converter.monitoring.status import BridgeStatusReport, KnownRun
from counterfoil.converter.run.progress import now_ms
from counterfoil.converter.run.snapshot import PartitionPosition, RunSnapshot, RunState
from counterfoil.schema.exit_codes import ExitCode
from local_services import wait_until

if TYPE_CHECKING:
    from pathlib import Path

STATE = RunSnapshot(
    bridge="rides",
    plan_hash="f" * 64,
    engine="java",
    job="host:1",
    started_ts=1000,
    ts=5000,
    batch=3,
    batches=4,
    batch_s=2.0,
    read=100,
    converted=90,
    tombstones=3,
    dead_letters={"lookup-missing": 7},
    written_bytes=12_345,
    rate_per_s=50.0,
    partitions=(PartitionPosition(0, 0, 60, 100), PartitionPosition(1, 0, 40, 40)),
)


def test_plain_lines_are_one_for_each_batch() -> None:
    lines: list[str] = []
    show = PlainLines(lines.append)
    for state in (replace(STATE, batches=0), STATE, STATE, replace(STATE, state=RunState.FINISHED)):
        show(state)
    (only,) = lines
    assert only.startswith("batch 4: 100 of 140 (71%), 50/s, 1 s to go, lag 40, dead letters 7")


def test_json_lines_leave_stdout_to_json(capsys: pytest.CaptureFixture[str]) -> None:
    with display_of(ProgressForm.JSON) as display:
        display.say("engine java")
        display.show(STATE)
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["state"], document["lag"], document["etaS"], document["total"]) == ("running", 40, 0.8, 140)
    assert err == "engine java\n"


def test_without_a_terminal_lines_are_plain_and_without_progress_there_are_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for form in (ProgressForm.AUTO, ProgressForm.NONE):
        with display_of(form) as display:
            display.say("engine java")
            display.show(STATE)
    plain, none = capsys.readouterr().out.split("engine java\n")[1:]
    assert plain.startswith("batch 4")
    assert none == ""


def test_the_redrawn_display_keeps_sentences_above_the_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with display_of(ProgressForm.RICH) as display:
        display.say("engine java [fast]")
        display.show(STATE)
        display.show(replace(STATE, state=RunState.FINISHED))
    shown = capsys.readouterr().out
    assert shown.startswith("engine java [fast]\n")
    assert "finished" in shown


@pytest.mark.parametrize("width", [40, 100])
def test_a_terminal_shows_pace_counts_and_partitions_that_are_behind(width: int) -> None:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(panel(STATE))
    shown = " ".join(captured.get().split())
    for fact in ("rides", "71%", "lag 40", "lookup-missing 7", "partition", "100"):
        assert fact in shown
    many = replace(STATE, partitions=tuple(PartitionPosition(number, 0, 0, 1) for number in range(30)))
    with console.capture() as captured:
        console.print(panel(many))
    assert "and 20 more partitions with a lag" in " ".join(captured.get().split())


def measured(measures: RunMeasures) -> dict[tuple[str, str], float]:
    """The samples of a scrape, by name and the label beside the bridge's."""
    port, server = serve_measures(measures, host="127.0.0.1", port=0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert sample.labels["bridge"] == "rides"
            label = next((value for name, value in sample.labels.items() if name != "bridge"), "")
            found[sample.name, label] = sample.value
    return found


def test_measures_are_scraped_with_counts_lag_durations_and_what_runs() -> None:
    measures = RunMeasures()
    for state in (replace(STATE, batch=2, batch_s=0.3, ts=2000), STATE, replace(STATE, ts=9000)):
        measures(state)
    found = measured(measures)
    prefix = "counterfoil_bridge_"
    assert found[f"{prefix}records_read_total", ""] == 100
    assert found[f"{prefix}records_converted_total", ""] == 90
    assert found[f"{prefix}tombstones_total", ""] == 3
    assert found[f"{prefix}dead_letters_total", "lookup-missing"] == 7
    assert found[f"{prefix}written_bytes_total", ""] == 12_345
    assert (found[f"{prefix}lag_offsets", "0"], found[f"{prefix}lag_offsets", "1"]) == (40, 0)
    assert (found[f"{prefix}batch_seconds_count", ""], found[f"{prefix}batch_seconds_sum", ""]) == (2, 2.3)
    assert found[f"{prefix}batch_seconds_bucket", "0.5"] == 1
    assert found[f"{prefix}last_batch_timestamp_seconds", ""] == 5
    assert (found[f"{prefix}running", ""], found[f"{prefix}info", "java"]) == (1, 1)


def test_a_port_that_is_taken_is_named() -> None:
    port, server = serve_measures(RunMeasures(), host="127.0.0.1", port=0)
    try:
        with pytest.raises(BridgeError, match=f"cannot be served on 127.0.0.1:{port}"):
            serve_measures(RunMeasures(), host="127.0.0.1", port=port)
    finally:
        server.shutdown()
        server.server_close()


def test_the_history_outlives_a_kill_in_the_middle_of_a_line(tmp_path: Path) -> None:
    lines: list[str] = []
    RunHistory(tmp_path, say=lines.append)(STATE)
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    later = replace(STATE, ts=6000)
    RunHistory(tmp_path, say=lines.append)(later)
    assert read_history(tmp_path) == [STATE, later]
    assert lines == []


@pytest.mark.slow
def test_a_full_history_keeps_the_first_and_last_states_of_runs(tmp_path: Path) -> None:
    record = RunHistory(tmp_path, say=[].append, max_bytes=8_000)
    begin, end = replace(STATE, batches=0), replace(STATE, batches=1000, state=RunState.FINISHED)
    for state in (begin, *(replace(STATE, batches=number) for number in range(1, 1000)), end):
        record(state)
    kept = read_history(tmp_path)
    assert (tmp_path / FILE_NAME).stat().st_size < 9_000
    assert (kept[0], kept[-1]) == (begin, end)
    assert [each.batches for each in kept] == sorted(each.batches for each in kept)


def test_a_history_of_many_short_runs_keeps_the_latest(tmp_path: Path) -> None:
    record = RunHistory(tmp_path, say=[].append, max_bytes=8_000)
    for number in range(200):
        record(replace(STATE, batches=number + 1, state=RunState.FINISHED))
    kept = read_history(tmp_path)
    assert (tmp_path / FILE_NAME).stat().st_size <= 8_000
    assert [each.batches for each in kept] == list(range(201 - len(kept), 201))
    assert len(kept) > 5


def test_reports_begin_whenever_the_first_state_comes() -> None:
    sent: list[RunSnapshot] = []
    reports = BackgroundReports([sent.append], dict, period_s=0)  # so that many periods pass before the first state
    reports(STATE)
    wait_until(lambda: len(sent) > 1, what="a report of the same state after the period")
    reports.close()
    assert {each.batches for each in sent} == {STATE.batches}


def test_a_history_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lines: list[str] = []
    record = RunHistory(tmp_path / "file", say=lines.append)
    record(STATE)
    record(STATE)
    (only,) = lines
    assert only.startswith("the progress cannot be recorded, and the run goes on")


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    assert read_history(tmp_path) == []
    (tmp_path / FILE_NAME).write_text('{"bridge": 1}\n')
    with pytest.raises(CheckpointUnreadable, match="is not the progress of a bridge"):
        read_history(tmp_path)


def test_the_status_of_a_run_that_was_killed_is_not_running() -> None:
    state = replace(STATE, ts=now_ms())
    words = {
        True: "running",
        False: "interrupted: no driver uses the checkpoint",
        None: "running",
    }
    for has_driver, word in words.items():
        lines = BridgeStatusReport("rides", KnownRun(state, "checkpoint c", has_driver)).lines()
        assert f"run           {word}" in lines
    silent = BridgeStatusReport("rides", KnownRun(STATE, "topic t"))
    assert "run           running by its last report, which is old" in silent.lines()
    assert silent.as_json()["run"]["state"] == "silent"
    assert silent.exit_code is ExitCode.OK


def test_a_status_has_counts_rate_lag_and_the_last_error() -> None:
    failed = replace(STATE, state=RunState.FAILED, error="the broker is away", ts=now_ms())
    lines = BridgeStatusReport("rides", KnownRun(failed, "checkpoint c", has_driver=False)).lines()
    assert lines == [
        "bridge        rides",
        "run           failed",
        "known from    checkpoint c",
        "job           host:1, 0 s ago",
        "records       90 converted, dead letters 7 (lookup-missing 7), 3 tombstones",
        "rate          50/s, 1 s to go",
        "position      lag 40",
        "engine        java",
        "last error    the broker is away",
    ]
    nothing = BridgeStatusReport("rides", unread="the registry is away")
    assert nothing.lines() == ["nothing is known about bridge rides", "the registry is away"]
    assert nothing.exit_code is ExitCode.CANNOT_SAY
