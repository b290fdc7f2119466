"""Start a program, wait until it responds, and stop only that program."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

PATIENCE_S = 300.0
"""The largest number of seconds for any step: ten times what the slowest needs on a machine with no other load."""

RUN_FOLDER: Final = "COUNTERFOIL_RUN_FOLDER"
"""The environment variable with the folder in which the services of a test run are listed."""

_LIST: Final = "services"
_GRACE_S = 120.0
_POLL_S = 0.05
_LOG_TAIL_BYTES = 2000


class ServiceError(RuntimeError):
    """A service that did not start, or ended by itself; the message ends with the last lines of its log."""


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 on which nothing listens, and which no other call gets while this process lives.

    It lies below the ports that systems take for outgoing connections, which could otherwise use it before the server
    that it is meant for is started. Raises ``ServiceError`` if all are in use.
    """
    with _PORT_LOCK:
        return next(_PORTS)


def _free_ports() -> Iterator[int]:
    """Yield free ports of blocks that this process holds: a locked file each, which the system unlocks at its end."""
    folder = Path(tempfile.gettempdir()) / f"counterfoil-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    blocks = list(_PORT_RANGE[::_PORTS_IN_BLOCK])
    random.shuffle(blocks)
    for block in blocks:
        held = os.open(folder / str(block), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            continue
        yield from filter(_is_free, range(block, block + _PORTS_IN_BLOCK))
    raise ServiceError(f"no port from {_PORT_RANGE.start} to {_PORT_RANGE.stop - 1} is free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_PORT_RANGE: Final = range(15_000, 32_000)
_PORTS_IN_BLOCK: Final = 100
_PORT_LOCK: Final = threading.Lock()
_PORTS: Final = _free_ports()


def is_listening(port: int) -> bool:
    """Return whether a server accepts connections at a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(condition: Callable[[], bool], *, what: str, deadline_s: float = PATIENCE_S) -> None:
    """Return when ``condition`` holds; raise ``TimeoutError`` with ``what`` after ``deadline_s`` seconds."""
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline_s:g} s for {what}")
        time.sleep(_POLL_S)


def stop_services_of(run_folder: Path) -> None:
    """End every service that a process with this run folder in its environment has started and that still runs."""
    listed = run_folder / _LIST
    for line in reversed(listed.read_text().splitlines() if listed.exists() else []):
        pid, start = line.split()
        if _start_of(int(pid)) == start:
            _end(int(pid), start)


def _end(pid: int, start: str) -> None:
    """End the process group of a process, also of one that another process has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGTERM)
        try:
            wait_until(lambda: _start_of(pid) != start, what=f"the end of process {pid}", deadline_s=_GRACE_S)
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)


def _start_of(pid: int) -> str:
    """Return when a process was started, in the system's ticks; an empty text for one that ended."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if state == "Z" else rest[18]


class Process(Protocol):
    """What a service needs of ``subprocess.Popen``."""

    @property
    def pid(self) -> int:
        """The process id; also the id of its group and its session."""
        ...

    @property
    def returncode(self) -> int | None:
        """The exit status that ``poll`` or ``wait`` has found."""
        ...

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raise ``subprocess.TimeoutExpired`` after so many seconds."""
        ...


class Start(Protocol):
    """A way to start a command in a process and a session of its own, with its output in an open file."""

    def __call__(self, command: Sequence[str], *, output: IO[bytes], environment: Mapping[str, str]) -> Process:
        """Return the process."""
        ...


def start_program(command: Sequence[str], *, output: IO[bytes], environment: Mapping[str, str]) -> Process:
    """Start a program as a child process."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )


class Service:
    """A process in a process group of its own, with its output in a file.

    ``log`` is that file. ``stop`` ends the whole group: SIGTERM, and SIGKILL after ``grace_s`` seconds. If the
    environment has a run folder, ``stop_services_of`` that folder ends it, too: it is for a test run that is
    interrupted, or whose processes share a service.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        start: Start = start_program,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = start(command, output=output, environment={**os.environ, **(environment or {})})
        if run_folder := os.environ.get(RUN_FOLDER):
            with (Path(run_folder) / _LIST).open("a") as listed:
                listed.write(f"{self.pid} {_start_of(self.pid)}\n")

    @property
    def pid(self) -> int:
        """The process id; also the id of its group."""
        return self._process.pid

    def wait_ready(self, is_ready: Callable[[], bool], *, deadline_s: float = PATIENCE_S) -> None:
        """Return when ``is_ready`` holds; raise ``ServiceError`` if the process ends before, or the deadline passes."""

        def ready_or_ended() -> bool:
            if self._process.poll() is not None:
                raise ServiceError(f"{self.name} ended with status {self._process.returncode}:\n{self.log_tail()}")
            return is_ready()

        try:
            wait_until(ready_or_ended, what=self.name, deadline_s=deadline_s)
        except TimeoutError as late:
            self.stop()
            raise ServiceError(f"{late}:\n{self.log_tail()}") from None
        except ServiceError:
            self.stop()
            raise

    def log_tail(self) -> str:
        """Return the last lines of the process's output."""
        return self.log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")

    def kill(self) -> None:
        """Kill the group, as a crash does, and wait until it has ended."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def stop(self, *, grace_s: float = _GRACE_S) -> int:
        """End the group with SIGTERM, and SIGKILL after ``grace_s``; return the exit status of the process."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill()
        return self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return


class ServiceInFolder:
    """A service with a folder of its own, which is removed when it stops."""

    _service: Service
    _folder: Path

    def stop(self) -> None:
        """Stop it and remove its folder."""
        self._service.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
