"""How the end of a run is named: a full disk, a second driver, a Java that ended; and what is printed at the end."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from counterfoil.converter.bridge import load_bridge_file
from counterfoil.converter.commands.plan import show_plan
from counterfoil.converter.engines.lookup import RecipeForm, WriterLookup
from counterfoil.converter.errors import (
    BridgeError,
    CheckpointBusy,
    CheckpointUnreadable,
    InvalidBridgeFile,
    JavaEnded,
    NotWritable,
    RunFailed,
    writing_to,
)
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointBatch, CheckpointIdentity
from counterfoil.converter.run.job import BridgeRun, with_full_disk
from counterfoil.converter.run.progress import RateWindow
from counterfoil.converter.run.writers import WriterService
from counterfoil.converter.spark.session import cause_in, connectors_explained
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import DeliveryGuarantee

NO_SPACE = "java.io.IOException: No space left on device"
WITHOUT_SPACE = Path("/proc")
"""A file system that has no free byte."""


def test_a_full_disk_is_named_with_its_path(tmp_path: Path):
    assert (
        with_full_disk(NO_SPACE, WITHOUT_SPACE, [tmp_path]) == f"{NO_SPACE}: the disk of /proc (the checkpoint) is full"
    )
    assert (
        with_full_disk(NO_SPACE, tmp_path, [WITHOUT_SPACE]) == f"{NO_SPACE}: the disk of /proc (Spark's work) is full"
    )
    text = with_full_disk(NO_SPACE, tmp_path, [tmp_path / "local"])  # somebody has made room meanwhile
    assert text.endswith(
        f"a disk was full; this program writes to {tmp_path} (the checkpoint) and {tmp_path}/local (Spark's work)"
    )
    assert with_full_disk("another cause", WITHOUT_SPACE) == "another cause"


def test_a_file_that_cannot_be_written_is_named_once():
    full = Path("/dev/full")
    with pytest.raises(NotWritable) as refusal, writing_to(full):
        full.write_text("x")
    assert str(refusal.value) == "/dev/full cannot be written: No space left on device"
    assert refusal.value.exit_code is ExitCode.PRECONDITION


def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    checkpoint = Checkpoint(tmp_path / "file" / "below")
    with pytest.raises(NotWritable, match=r"counterfoil.lock cannot be written: Not a directory$"), checkpoint.locked():
        pass
    with pytest.raises(NotWritable, match=r"counterfoil.json cannot be written: Not a directory$"):
        checkpoint.claim(CheckpointIdentity("b", "p", "s", "t", "d"), force=True)


def test_a_second_driver_is_refused_without_locking_or_writing(tmp_path: Path):
    folder = tmp_path / "checkpoint"
    Checkpoint(folder).refuse_busy()
    assert not folder.exists()
    with Checkpoint(folder).locked():
        with pytest.raises(CheckpointBusy, match=rf"Process \d+ is running on the checkpoint {folder}") as refusal:
            Checkpoint(folder).refuse_busy()
        assert refusal.value.exit_code is ExitCode.CONFLICT
    Checkpoint(folder).refuse_busy()


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
def test_the_path_of_a_file_that_cannot_be_read_stands_once(kind: str, tmp_path: Path):
    path = tmp_path / "file.avsc"
    if kind == "folder":
        path.mkdir()
    if kind == "binary":
        path.write_bytes(b"\xff\xfe")
    bridge = tmp_path / "bridge.yaml"
    bridge.write_text("bridge: b\nsource: {topic: s}\ntarget: {topic: t}\n")
    access: Any = None
    with pytest.raises(BridgeError) as refusal:
        show_plan(
            file=bridge, registry=access, formats=(), source_schema=path, target_schema=path, suggest=False, samples=(),
            kafka=None,
        )  # fmt: skip
    assert str(refusal.value).count(str(path)) == 1
    with pytest.raises(InvalidBridgeFile) as invalid:
        load_bridge_file(path)
    assert str(invalid.value).count(str(path)) == 1
    if kind == "folder":
        (tmp_path / "c" / "sources" / "0" / "0").mkdir(parents=True)
        with pytest.raises(CheckpointUnreadable) as unreadable:
            Checkpoint(tmp_path / "c").beginning("s")
        assert str(unreadable.value).count(str(tmp_path)) == 1


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("ride.json", '{"type": "object", "properties": {"a": {"type": "string"}}}', "JSON Schema"),
        ("ride.json", '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}', "Avro"),
        ("ride.txt", '{"type": "object", "properties": {"a": {"type": "string"}}}', "JSON Schema"),
        ("ride.txt", 'syntax = "proto3"; message R { string a = 1; }', "Protobuf"),
        ("ride", '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}', "Avro"),
        ("ride.schema.json", '{"type": "object", "properties": {"a": {"type": "string"}}}', "JSON Schema"),
    ],
)
def test_the_language_of_a_schema_file_is_found_and_said(
    name: str, text: str, language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, bridge = tmp_path / name, tmp_path / "bridge.yaml"
    path.write_text(text)
    bridge.write_text("bridge: b\nsource: {topic: s}\ntarget: {topic: t}\n")
    access: Any = None
    code = show_plan(
        file=bridge, registry=access, formats=(), source_schema=path, target_schema=path, suggest=False, samples=(),
        kafka=None,
    )  # fmt: skip
    said = capsys.readouterr().out
    assert f"from {path} (read as {language}) to {path} (read as {language})" in said
    assert (code, "engine java, the fastest that covers the plan" in said) == (ExitCode.OK, True)


def test_the_rate_after_the_end_is_that_of_the_run():
    window = RateWindow(0.0)
    window.rate_after(100_000, now_s=100.0)
    assert window.rate_after(8, now_s=200.0) == pytest.approx(0.08)
    assert window.of_run(now_s=200.0) == pytest.approx(500.04)


class NothingWritten:
    """A sink that looks nothing up, or finds nothing."""

    def written_before(self, _batch: CheckpointBatch | None) -> dict[int, Any]:
        return {}


@pytest.mark.parametrize(
    ("delivery", "text"),
    [
        (
            DeliveryGuarantee.AT_LEAST_ONCE,
            "its 8,000 offsets are converted and written again (delivery: at-least-once)",
        ),
        (DeliveryGuarantee.RESTART_FILTER, "0 of its 8,000 offsets are written already and are left out"),
    ],
)
def test_what_is_written_already_is_said_only_where_it_was_looked_up(delivery: DeliveryGuarantee, text: str):
    bridge: Any = SimpleNamespace(file=SimpleNamespace(delivery=delivery, source_topic="s"))
    batch = CheckpointBatch(3, 0, {0: (0, 8_000)})
    settings: Any = SimpleNamespace(checkpoint=SimpleNamespace(unfinished_batch=lambda _topic: batch))
    lines: list[str] = []
    run = BridgeRun(bridge, cast("Any", None), cast("Any", None), settings, say=lines.append, stop=Event())
    vars(run)["_sink"] = NothingWritten()
    run._written_before()
    assert lines == [f"batch 3 was left unfinished: {text}"]


def stopped(failure: Exception, *, is_requested: bool) -> tuple[ExitCode, str]:
    """Return how a run ends whose query fails so."""
    bridge: Any = SimpleNamespace(file=SimpleNamespace(name="b"))
    settings: Any = SimpleNamespace(checkpoint=SimpleNamespace(log_file=Path("spark.log")))
    stop = Event()
    if is_requested:
        stop.set()

    class Failing(BridgeRun):
        def _until_done(self, _spark: Any) -> tuple[ExitCode, str]:
            raise failure

    return Failing(bridge, cast("Any", None), cast("Any", None), settings, say=print, stop=stop)._until_stopped(
        cast("Any", None)
    )


@pytest.mark.parametrize(
    "failure",
    [JavaEnded("was killed by SIGTERM"), RunFailed("ended: Python worker exited unexpectedly (crashed)")],
)
def test_a_signal_that_ends_a_process_of_spark_as_well_is_a_clean_stop(failure: Exception):
    assert stopped(failure, is_requested=True) == (
        ExitCode.OK,
        "stopped on request within a batch, which the next start completes",
    )
    with pytest.raises(RunFailed) as ended:
        stopped(failure, is_requested=False)
    assert ended.value.exit_code is ExitCode.BROKEN


def test_another_failure_after_a_stop_was_requested_is_a_failure():
    with pytest.raises(RunFailed, match="the broker refused"):
        stopped(RunFailed("the broker refused"), is_requested=True)


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("Error occurred during initialization of VM\nToo small maximum heap\n", "Too small maximum heap"),
        ("Error: Could not create the Java Virtual Machine.\n", "Could not create the Java Virtual Machine."),
        (
            'Exception in thread "main" java.lang.Error: a\n\tat b\nCaused by: java.net.BindException: c\n',
            "java.net.BindException: c",
        ),
        ("24/01/01 INFO all is well\n", None),
    ],
)
def test_the_cause_is_what_java_printed(log: str, cause: str | None):
    assert cause_in(log) == cause


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("Failed to find data source: kafka. Please deploy", "Kafka"),
    ],
)
def test_a_session_without_a_connector_is_told_how_to_get_it(text: str, lacking: str):
    from pyspark.errors import AnalysisException

    advice = rf"no connector for {lacking}: .*COUNTERFOIL_JARS .*--packages"
    with pytest.raises(BridgeError, match=advice), connectors_explained():
        raise AnalysisException(text)
    with pytest.raises(AnalysisException), connectors_explained():
        raise AnalysisException("another mistake")


class Undecided:
    """Decisions that are not made before the run has ended, and then cannot be made."""

    def __init__(self, error: Exception) -> None:
        self.asked, self.goes_on = Event(), Event()
        self._error = error

    def decide(self, _schema_id: int) -> Any:
        self.asked.set()
        self.goes_on.wait(60)
        raise self._error


@pytest.mark.parametrize("error", [RuntimeError("the client is closed"), BridgeError("not running")])
def test_a_question_while_the_run_stops_prints_nothing(error: Exception, capfd: pytest.CaptureFixture[str]):
    lines: list[str] = []
    service, decisions = WriterService(lines.append), Undecided(error)
    lookup, connection = asked(service, decisions)
    del lookup
    decisions.goes_on.set()
    with connection:
        assert connection.recv(1) == b""
    assert (lines, *capfd.readouterr()) == ([], "", "")


def asked(service: WriterService, decisions: Undecided) -> tuple[WriterLookup, socket.socket]:
    """Ask a service, which ends before it has answered."""
    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    session: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default=None: settings.get(name, default)))
    service.use(cast("Any", dict.fromkeys(_halves(), decisions)))
    with service.serving(session):
        lookup = service.lookup()
        connection = socket.create_connection((lookup.host, lookup.port), 60)
        connection.sendall(lookup.request(RecipeForm.RECIPE, 7))
        assert decisions.asked.wait(60)
    return lookup, connection


def _halves() -> Any:
    from counterfoil.converter.engines.lookup import Half

    return Half


def test_a_question_that_cannot_be_answered_is_one_line(capfd: pytest.CaptureFixture[str]):
    lines: list[str] = []
    service, decisions = WriterService(lines.append), Undecided(RuntimeError("no\nanswer"))
    decisions.goes_on.set()
    settings = {"spark.driver.host": "127.0.0.1"}
    session: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default=None: settings.get(name, default)))
    service.use(cast("Any", dict.fromkeys(_halves(), decisions)))
    with service.serving(session):
        lookup = service.lookup()
        with socket.create_connection((lookup.host, lookup.port), 60) as connection:
            connection.sendall(lookup.request(RecipeForm.RECIPE, 7))
            assert connection.recv(1) == b""
        deadline = time.monotonic() + 60
        while not lines and time.monotonic() < deadline:
            pass
    assert lines == ["a new schema id could not be looked up: RuntimeError: no answer"]
    assert service.failure is not None
    assert tuple(capfd.readouterr()) == ("", "")
