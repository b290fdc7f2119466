"""A forked command is a process as any other one: id, session, signals, status, streams, environment, and folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_services import INSTALLED, RegistryProcess, free_port, start_registry, wait_until
from local_services.process import PATIENCE_S, is_listening

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_registry_is_a_process_of_its_own_that_ends_well() -> None:
    with RegistryProcess(store="sqlite://") as registry:
        assert os.getsid(registry.pid) == os.getpgid(registry.pid) == registry.pid
        assert parent_of(registry.pid) != os.getpid()
        assert "listening on" in registry.log.read_text()
        os.kill(registry.pid, signal.SIGTERM)
        assert registry.stop() == 0
        assert not is_listening(registry.port)


def test_the_status_of_a_killed_registry_is_its_signal_and_it_can_be_started_again(tmp_path: Path) -> None:
    with RegistryProcess(store=f"sqlite:///{tmp_path}/registry.db") as registry:
        first = registry.pid
        registry.kill()
        assert not is_listening(registry.port)
        registry.restart()
        assert registry.pid != first
        os.kill(registry.pid, signal.SIGKILL)
        assert registry.stop() == -signal.SIGKILL


def test_several_run_at_once_and_each_ends_alone() -> None:
    with RegistryProcess(store="sqlite://") as one, RegistryProcess(store="sqlite://") as other:
        assert one.stop() == 0
        assert is_listening(other.port)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--print-settings"),  # those of the environment
        ("serve", "--print-settings", "--settings", "own.yaml"),  # in the folder
        ("serve", "--port", "x"),
        ("decode", "-"),
        ("no-such-command",),
    ],
    ids=" ".join,
)
def test_a_command_does_what_the_installed_program_does(
    warm_counterfoil: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "own.yaml").write_text("port: 8099\n")

    def outcome(program: Path) -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            [program, *arguments],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "COUNTERFOIL_READ_TIMEOUT_S": "77"},
            input=b"0000000001",
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return done.returncode, done.stdout, done.stderr

    assert outcome(warm_counterfoil) == outcome(INSTALLED)


@pytest.fixture
def program_and_port(warm_counterfoil: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The program that has a registry started, which listens on the port."""
    port = free_port()
    command = [warm_counterfoil, "serve", "--port", str(port), "--store", "sqlite://"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        address = f"http://127.0.0.1:{port}"
        assert program.stdout.readline() == f"counterfoil registry listening on {address}, pages at {address}/ui/\n"
        yield program, port
        program.kill()


def test_a_signal_to_the_program_reaches_the_command(program_and_port: tuple[subprocess.Popen[str], int]) -> None:
    program, port = program_and_port
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE_S) == 0
    assert not is_listening(port)


def test_a_command_ends_with_its_program(program_and_port: tuple[subprocess.Popen[str], int]) -> None:
    program, port = program_and_port
    program.kill()
    wait_until(lambda: not is_listening(port), what="the end of the registry")


def test_a_registry_stays_when_the_process_that_started_it_ends(tmp_path: Path) -> None:
    port = free_port()
    script = (
        "import sys; from pathlib import Path; from local_services import start_registry\n"
        "from local_services.process import is_listening\n"
        f"service = start_registry('--port', '{port}', '--store', 'sqlite://', log=Path('log'))\n"
        f"service.wait_ready(lambda: is_listening({port}))\n"
        "print(service.pid)\n"
    )
    paths = {"PYTHONPATH": str(Path(start_registry.__code__.co_filename).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, **paths}, capture_output=True, text=True,
        check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert is_listening(port)
    os.kill(int(done.stdout), signal.SIGTERM)
    wait_until(lambda: not is_listening(port), what="the end of the registry")
