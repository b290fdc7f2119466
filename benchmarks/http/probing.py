"""Measures of a server that handles a request: the CPU time of its event loop and of its judges, and its health."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_JUDGE: Final = b"counterfoil.registry.judges.process"
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_POLL_PAUSE_S: Final = 0.001


def is_judge(pid: int) -> bool:
    """Return whether a process is a judge."""
    with suppress(OSError):
        return _JUDGE in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def children(pid: int) -> list[int]:
    """Return the children of a process, of all its threads."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def judges_of(pid: int) -> list[int]:
    """Return the judges of a server."""
    return [each for each in children(pid) if is_judge(each)]


def loop_cpu_s(pid: int) -> float:
    """Return the CPU time of the main thread of a process, in which its event loop runs, in seconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def own_cpu_s(pid: int) -> float:
    """Return the CPU time of all threads of a process, without its children, in seconds."""
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):
            total += int(task.read_text().split()[0])
    return total / 1e9


def judges_cpu_s(pid: int) -> float:
    """Return the CPU time of the judges of a server, also of those that have ended, in seconds."""
    ended = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[13:15]
    total = sum(map(int, ended)) / _TICKS_PER_S
    for judge in judges_of(pid):
        with suppress(OSError):
            total += own_cpu_s(judge)
    return total


def memory_mb(pid: int) -> float:
    """Return the memory that one process has for itself, in megabytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kib = sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))
    return kib * 1024 / 1e6


class Prepared(NamedTuple):
    """A request as it is sent: method, path, the bytes of its body."""

    method: str
    path: str
    body: bytes | None


def prepared(method: str, path: str, body: Any = None) -> Prepared:
    """Return a request with its body as JSON."""
    return Prepared(method, path, None if body is None else json.dumps(body).encode())


class Client:
    """A connection that is kept; ``address`` is the one that the server sees."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._port, self._address = port, address
        self._connection = self._opened()

    def _opened(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=600, source_address=(self._address, 0))

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        return self.send(prepared(method, path, body))

    def send(self, request: Prepared) -> tuple[int, bytes]:
        """Return status and body of the answer to a request."""
        head = {} if request.body is None else {"Content-Type": "application/json"}
        try:
            self._connection.request(*request, head)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except (http.client.HTTPException, OSError):
            self._connection.close()
            self._connection = self._opened()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@dataclass
class Noticed:
    """The measures of a server during a request."""

    status: int = 0
    own_s: float = 0.0
    judges_s: float = 0.0
    held_s: float = 0.0
    """The longest CPU time of the event loop between two answers of its health."""
    health_s: list[float] = field(default_factory=list)

    @property
    def health_p99_s(self) -> float:
        """How long 99 of 100 answers of its health took at most, of few answers the longest."""
        ordered = sorted(self.health_s) or [0.0]
        return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


class Health:
    """Requests ``/health/live`` in a thread, one after the other."""

    def __init__(self, port: int, pid: int) -> None:
        self._port, self._pid = port, pid
        self.noticed = Noticed()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._poll)

    def _poll(self) -> None:
        client = Client(self._port)
        spent_s = loop_cpu_s(self._pid)
        while not self._is_over.is_set():
            begun = time.perf_counter()
            with suppress(OSError, http.client.HTTPException):
                client.ask("GET", "/health/live")
            self.noticed.health_s.append(time.perf_counter() - begun)
            now_s = loop_cpu_s(self._pid)
            self.noticed.held_s = max(self.noticed.held_s, now_s - spent_s)
            spent_s = now_s
            time.sleep(_POLL_PAUSE_S)
        client.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()


@contextmanager
def noticing(port: int, pid: int) -> Iterator[Noticed]:
    """Notice what a server does while the block runs."""
    with Health(port, pid) as health:
        yield health.noticed
