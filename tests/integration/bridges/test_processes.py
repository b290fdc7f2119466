"""``counterfoil bridge`` as a process among others: signals to all of them, a Java that is killed or does not start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.converter import __main__ as converter_program
from counterfoil.schema.exit_codes import ExitCode
from local_services import wait_until
from strategies.bridges.fares import Fares, java_of, make_fares
from strategies.bridges.program import DEADLINE_S, end

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import KafkaClient, RegistryProcess

INSTALLED = Path(sys.executable).with_name("counterfoil")
SUBMIT = Path(sys.executable).with_name("spark-submit")


@pytest.fixture
def fares(
    broker: KafkaClient, live_registry: RegistryProcess, unique_name: Callable[[str], str], tmp_path: Path
) -> Fares:
    return make_fares(INSTALLED, broker, live_registry, unique_name, tmp_path)


def test_signals_to_all_processes_are_a_clean_stop_and_a_killed_java_is_named(fares: Fares):
    """A service manager signals every process of a service; a Java that was killed alone is reported."""
    fares.produce(0, 200)
    command = ("run", str(fares.file), "--continuous", "--trigger", "0.2", "--master", "local[2]")
    running = fares.start(*command)
    try:
        wait_until(lambda: running.poll() is not None or fares.written() == 200, what="200 records")
        assert running.poll() is None, running.communicate()
        assert_a_second_driver_is_refused_before_spark_starts(fares)
        os.killpg(running.pid, signal.SIGTERM)
        said, complained = running.communicate(timeout=DEADLINE_S)
    finally:
        end(running)
    assert running.returncode == ExitCode.OK, said + complained
    assert "SIGTERM: stopping after the current batch" in said
    assert "stopped on request: 200 records" in said
    assert complained == ""

    fares.produce(200, 100)
    running = fares.start(*command)
    try:
        wait_until(lambda: running.poll() is not None or fares.written() == 300, what="300 records")
        java = java_of(running)
        assert java is not None, running.communicate()
        os.kill(java, signal.SIGKILL)
        said, complained = running.communicate(timeout=DEADLINE_S)
    finally:
        end(running)
    assert "The Java process of Spark was killed by SIGKILL" in complained, said + complained
    assert "nothing is lost, the next start continues from the last finished batch" in complained
    assert "Traceback" not in complained
    assert len(complained.splitlines()) == 1, complained
    assert running.returncode == ExitCode.BROKEN


@pytest.mark.long
def test_signals_to_all_processes_of_a_submitted_bridge_are_a_clean_stop(fares: Fares):
    """The Java of spark-submit is the parent: it passes the signal on, and ends with the program's exit code."""
    fares.produce(0, 200)
    program = [str(Path(converter_program.__file__)), "run", str(fares.file), "--continuous", "--trigger", "0.2"]
    variables = {**fares.environment(), "PYSPARK_PYTHON": sys.executable}
    variables.pop("SPARK_HOME", None)
    for to_all in (True, False):
        before = fares.written()
        running = subprocess.Popen(
            [SUBMIT, "--master", "local[2]", *program], env=variables, cwd=fares.folder, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            fares.produce(before, 50)
            wait_until(lambda: running.poll() is not None or fares.written() >= before + 50, what="50 records")  # noqa: B023
            assert running.poll() is None, running.communicate()
            (os.killpg if to_all else os.kill)(running.pid, signal.SIGTERM)
            said, _ = running.communicate(timeout=DEADLINE_S)
        finally:
            end(running)
        assert running.returncode == ExitCode.OK, said
        assert "SIGTERM: stopping after the current batch" in said
        assert "stopped on request" in said


def assert_a_second_driver_is_refused_before_spark_starts(fares: Fares) -> None:
    """The second driver has no Java: it is refused although none is installed."""
    code, said, complained = fares.run("run", str(fares.file), PATH="", JAVA_HOME="/nowhere")
    assert (code, said) == (ExitCode.CONFLICT, ""), complained
    assert f"is running on the checkpoint {fares.folder / 'checkpoints' / fares.source}" in complained


def test_a_check_whose_spark_does_not_start_names_the_cause_and_keeps_the_log(fares: Fares):
    fares.produce(0, 10)
    code, _, complained = fares.run("check", str(fares.file), PYSPARK_SUBMIT_ARGS="--driver-memory 1k pyspark-shell")
    assert code == ExitCode.PRECONDITION, complained
    assert "Spark did not start: Too small maximum heap" in complained
    kept = Path(complained.partition("(details: ")[2].rpartition(")")[0])
    try:
        assert "Too small maximum heap" in kept.read_text()
    finally:
        kept.unlink(missing_ok=True)
