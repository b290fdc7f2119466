"""Checkpoints in a file system of Hadoop: slow, without renames, failing at moments, with drivers that are killed."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema.exit_codes import ExitCode
from local_services import wait_until
from strategies.bridges.difficult_files import DifficultFiles
from strategies.bridges.fares import Fares, make_fares
from strategies.bridges.program import DEADLINE_S, end

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import KafkaClient, RegistryProcess

INSTALLED = Path(sys.executable).with_name("counterfoil")


@pytest.fixture
def fares(
    broker: KafkaClient, live_registry: RegistryProcess, unique_name: Callable[[str], str], tmp_path: Path
) -> Fares:
    return make_fares(INSTALLED, broker, live_registry, unique_name, tmp_path)


@pytest.fixture
def difficult(tmp_path: Path) -> DifficultFiles:
    made = DifficultFiles(tmp_path / "difficult")
    made.build()
    return made


def test_a_slow_file_system_without_renames_that_fails_has_every_record_once_after_a_kill(
    fares: Fares, difficult: DifficultFiles
):
    difficult.tell(delay_ms=20, renames=False)
    fares.produce(0, 300)
    run = ("run", str(fares.file), "--master", "local[2]", "--max-offsets-per-trigger", "100",
           "--checkpoint", difficult.uri, *difficult.options())  # fmt: skip
    running = fares.start(*run, "--continuous", "--trigger", "0.2")
    try:
        wait_until(lambda: running.poll() is not None or fares.written() == 300, what="300 records")
        assert running.poll() is None, running.communicate()
        refuse_a_second_driver(fares, run)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=DEADLINE_S)
    finally:
        end(running)
    files = difficult.folder / "files"
    assert json.loads((files / "counterfoil.json").read_text())["bridge"] == fares.source
    assert (files / "counterfoil.lock").exists(), "the driver was killed"
    assert not [path for kind, path in difficult.requests() if kind == "rename" and "probe" not in path]
    local = fares.folder / "checkpoints" / fares.source
    assert {path.name for path in local.iterdir()} >= {"progress.jsonl", "spark.log"}

    fares.produce(300, 100)
    difficult.tell(renames=False, fails_on="/commits/")
    code, said, complained = fares.run(*run)
    assert code == ExitCode.BROKEN, said + complained
    assert "503 Slow Down" in complained
    assert len(complained.splitlines()) == 1, complained
    assert fares.written() == 400, "the batch was written before its end could not be noted"

    difficult.tell(delay_ms=5, renames=False)
    code, said, complained = fares.run(*run)
    assert code == ExitCode.OK, said + complained
    assert "100 of its 100 offsets are written already and are left out" in said
    assert not (files / "counterfoil.lock").exists(), "the next start need not watch it"
    code, said, complained = fares.run("verify", str(fares.file), "--sample", "all")
    assert code == ExitCode.OK, said + complained
    assert "good: 400 records, each exactly once and in order" in said


def refuse_a_second_driver(fares: Fares, run: tuple[str, ...]) -> None:
    code, said, complained = fares.run(*run)
    assert code == ExitCode.CONFLICT, said + complained
    assert "is running on the checkpoint difficult:/" in complained


def test_where_renames_are_permitted_spark_renames_as_it_does_by_itself(fares: Fares, difficult: DifficultFiles):
    fares.produce(0, 10)
    run = ("run", str(fares.file), "--master", "local[2]", "--checkpoint", difficult.uri, *difficult.options())
    code, said, complained = fares.run(*run)
    assert code == ExitCode.OK, said + complained
    assert [path for kind, path in difficult.requests() if kind == "rename" and "/offsets/" in path]
    fares.produce(10, 10)
    running = fares.start(*run, "--continuous", "--trigger", "0.2")
    try:
        wait_until(lambda: running.poll() is not None or fares.written() == 20, what="20 records")
        assert running.poll() is None, running.communicate()
        (difficult.folder / "files/counterfoil.lock").write_text('{"driver": "another", "beat": 1}')
        said, complained = running.communicate(timeout=DEADLINE_S)
    finally:
        end(running)
    assert running.returncode == ExitCode.CONFLICT, said + complained
    assert "stopped: another driver uses the checkpoint" in said


def test_a_file_system_that_spark_does_not_know_is_named(fares: Fares):
    code, _, complained = fares.run("run", str(fares.file), "--checkpoint", "nowhere://bucket/bridge")
    assert code == ExitCode.PRECONDITION, complained
    assert 'nowhere://bucket/bridge cannot be reached: No FileSystem for scheme "nowhere"' in complained
