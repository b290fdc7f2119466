"""Load by wrk (https://github.com/wg/wrk): the requests of a row of the table, from 32 connections, to servers."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from machine import LOAD_CORE, on_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from servers import Server

CONNECTIONS: Final = 32
ROOM: Final = "@@@@@@@@@"
"""The placeholder in a request for the number of times that all requests have been sent: nine digits."""

_SCRIPT: Final = Path(__file__).with_name("load.lua")
_TURNS_APART: Final = 1_000_000
_LONGEST_S: Final = 60
_measurements = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement: requests a second, and the CPU time of a request, in the server and in its database."""

    per_s: float
    p99_ms: float
    server_us: float
    database_us: float
    count: int

    @property
    def cpu_us(self) -> float:
        """The CPU time of a request in server and database, in microseconds."""
        return self.server_us + self.database_us


def check_installed(needed: Sequence[str]) -> None:
    """Exit with what to install, if something is missing."""
    missing = [name for name in needed if shutil.which(name, path=_path()) is None]
    if missing:
        sys.exit(f"Not installed: {' and '.join(missing)}. On Debian and Ubuntu: apt-get install wrk nginx-light")


def ask_once(requests: Sequence[bytes], server: Server) -> Run:
    """Send each of these requests once, from :data:`CONNECTIONS` connections, and return the measurement.

    Ends the process if one is refused.
    """
    before = server.cpu_s, server.database_cpu_s
    took_s = asyncio.run(_ask_all(requests, server.port))
    server_s, database_s = server.cpu_s - before[0], server.database_cpu_s - before[1]
    count, p99_s = len(requests), sorted(took_s)[len(took_s) * 99 // 100]
    per_s = count * CONNECTIONS / sum(took_s)
    return Run(per_s, p99_s * 1000, server_s / count * 1e6, database_s / count * 1e6, count)


async def _ask_all(requests: Sequence[bytes], port: int) -> list[float]:
    """Return how long each response took, in seconds."""
    waiting, took_s = iter(requests), []

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in waiting:
            begun = time.perf_counter()
            writer.write(request)
            head = await read_answer(reader)
            if not head.startswith(b"HTTP/1.1 200 "):
                sys.exit(f"refused:\n{head.decode()}\n{request.decode()[:300]}")
            took_s.append(time.perf_counter() - begun)
        writer.close()

    await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))
    return took_s


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """Read a response that says how long it is, and return its head."""
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r")[0]))
    return head


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])


def program(name: str) -> str:
    """Return the path of an installed program, also of those for administrators."""
    return shutil.which(name, path=_path()) or name


def warm_up(requests: Sequence[bytes], servers: Sequence[Server]) -> None:
    """Send each of these requests at least once, to any of the servers, for at least a second."""
    run = measure(requests, servers, seconds=1)
    if run.count < len(requests):
        measure(requests, servers, seconds=math.ceil(len(requests) / run.per_s * 1.5) + 1)


def measure(requests: Sequence[bytes], servers: Sequence[Server], *, seconds: int) -> Run:
    """Send these requests in turn to all servers, and return the measurement; exit if one was refused.

    A request with a placeholder for a number (:data:`ROOM`) is different each time, also in later measurements. It
    takes longer than ``seconds`` if there was no response in that time.
    """
    before = [(server.cpu_s, server.database_cpu_s) for server in servers]
    number = next(_measurements)
    with tempfile.NamedTemporaryFile(prefix="counterfoil-bench-") as file:
        file.writelines(b"%d\n%s" % (len(request), request) for request in requests)
        file.flush()
        environment = {
            "REQUESTS": file.name,
            "PORTS": ",".join(str(server.port) for server in servers),
            "START": str(number * _TURNS_APART + random.randrange(_TURNS_APART // 2)),
        }
        command = [program("wrk"), f"-t{len(servers)}", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout=30s"]
        command += [f"-s{_SCRIPT}", f"http://127.0.0.1:{servers[0].port}"]
        with on_cores(LOAD_CORE):
            done = subprocess.run(
                command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
            )
    if "RESULT" not in done.stdout:
        sys.exit(f"wrk failed:\n{done.stdout}{done.stderr}")
    count, micros, p99_us, refused, broken = map(int, done.stdout.rsplit("RESULT", 1)[1].split())
    if not count and seconds < _LONGEST_S:
        return measure(requests, servers, seconds=seconds * 4)
    if refused or broken or not count:
        first = requests[0].decode(errors="replace")[:300]
        sys.exit(f"{refused} of {count} requests were refused, {broken} not answered; the first of them:\n{first}")
    after = [(server.cpu_s, server.database_cpu_s) for server in servers]
    server_s = sum(later[0] - earlier[0] for earlier, later in zip(before, after, strict=True))
    database_s = after[0][1] - before[0][1]
    return Run(count / micros * 1e6, p99_us / 1000, server_s / count * 1e6, database_s / count * 1e6, count)


@contextmanager
def repeatedly(work: Callable[[], object], *, pause_s: float = 0.0) -> Iterator[None]:
    """Do ``work`` again and again in a thread while the block runs, with a pause before each time."""
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(pause_s):
            work()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
