"""Ctrl-C ends a run of the tests, and everything that the run started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from local_services import wait_until

ROOT = Path(__file__).resolve().parents[3]
WAITING = "tests/e2e/suite/waits_for_an_interrupt.py"
INTERRUPTIBLE = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)
"""A program that starts another one in which SIGINT is not ignored, as it is after ``nohup`` or in the background."""


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("processes", ["0", "2"])
def test_an_interrupt_ends_the_run_and_its_services(processes: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-n", processes, "-p", "no:cacheprovider", WAITING]
    own = {"COUNTERFOIL_RUN_FOLDER", "PYTEST_XDIST_WORKER"}
    environment = {name: value for name, value in os.environ.items() if name not in own}
    with (tmp_path / "output").open("w") as output:
        run = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTIBLE, *command],
            cwd=ROOT,
            env={**environment, "STARTED_HERE": str(tmp_path)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        expected = int(processes) or 1

        def has_started() -> bool:
            assert run.poll() is None, (tmp_path / "output").read_text()
            return len(list(tmp_path.glob("*.ports"))) == expected

        wait_until(has_started, what="the services of the run")
        facts = [json.loads(found.read_text()) for found in tmp_path.glob("*.ports")]
        ports = {port for fact in facts for port in fact["ports"]}
        assert len(ports) == expected + 1, "the processes share one PostgreSQL"
        assert all(map(listens, ports))
        os.killpg(run.pid, signal.SIGINT)  # what a terminal does
        wait_until(lambda: run.poll() is not None, what="the end of the interrupted run")
        wait_until(lambda: not any(map(listens, ports)), what="the end of its services")
        assert run.returncode == pytest.ExitCode.INTERRUPTED
        assert not any(Path(fact["folder"]).exists() for fact in facts)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
