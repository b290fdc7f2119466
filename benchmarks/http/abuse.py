"""Wrong credentials: their cost to others, what their time tells, their memory; and the largest access file."""

from __future__ import annotations

import asyncio
import base64
import http.client
import itertools
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from credentials import auth
from load import CONNECTIONS, measure, program, read_answer, warm_up
from machine import LOAD_CORE, on_cores
from rows import BY_ID
from servers import start_registry
from table import median

from counterfoil.registry.access.file.in_force import WatchedAccessFile
from counterfoil.registry.access.identities.hashes import hash_password
from counterfoil.registry.access.rights import Rights
from counterfoil.registry.serving.server import look_for_cycles_seldom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from load import Run
    from plan import Plan
    from servers import Server
    from stores import Stores
    from table import Scores

_PASSWORD: Final = "a password of the benchmark"
_USERS: Final = 20
_RULES: Final = 10_000
_ATTEMPTS: Final = 200
_GUESSES_A_S: Final = 1000
_UNTIL_SLOWED_S: Final = 10
_SLEEP_S: Final = 0.01
_FLOOD: Final = Path(__file__).with_name("flood.lua")


def compare(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Measure, and print figures and goals."""
    scores.begin(f"{stores.title}: wrong credentials")
    store = stores.copied(plan.smallest)
    auth("init", "--store", store, "--user", "root", "--password-stdin", stdin=_PASSWORD)
    hashes = [f"  user{number}: '{hash_password(_PASSWORD.encode())}'" for number in range(_USERS)]
    (folder / "access.yaml").write_text("\n".join(["users:", *hashes, "rules: []", ""]))
    options = ("--auth-file", str(folder / "access.yaml"))
    unlimited = ("--wrong-passwords-percent", "100")
    with start_registry(store, folder, options=options + unlimited, path="/health/live") as server:
        _compare_names(server, scores)
    with start_registry(store, folder, options=options, path="/health/live") as server:
        _compare_others(plan, server, scores)
        _compare_memory(plan, server, scores)
    _compare_files(folder, scores)


def _compare_names(server: Server, scores: Scores) -> None:
    """Compare how long a wrong password takes for names that exist and for others, one request at a time.

    Each is sent from an address of its own, so that none is throttled.
    """
    took_ms: dict[bool, list[float]] = {True: [], False: []}
    for number in range(_ATTEMPTS * 2):
        exists = number % 2 == 0
        name = f"user{number // 2 % _USERS}" if exists else f"nobody{number}"
        address = f"127.1.{number >> 8}.{number & 255}"
        connection = http.client.HTTPConnection("127.0.0.1", server.port, source_address=(address, 0))
        connection.connect()
        begun = time.perf_counter()
        connection.request("GET", "/subjects", headers={"Authorization": _basic(name, f"guess {number}")})
        reply = connection.getresponse()
        reply.read()
        took_ms[exists].append((time.perf_counter() - begun) * 1000)
        if reply.status != http.client.UNAUTHORIZED:
            sys.exit(f"a wrong password was answered {reply.status}")
        connection.close()
    known, unknown = statistics.median(took_ms[True]), statistics.median(took_ms[False])
    print(f"  medians of {_ATTEMPTS} wrong passwords: {known:.2f} ms for known names, {unknown:.2f} ms for others")
    scores.at_most("known and unknown names: their medians differ by", abs(known / unknown - 1) * 100, 10, unit=" %")


def _compare_others(plan: Plan, server: Server, scores: Scores) -> None:
    """Compare answers by id with and without a thousand wrong passwords a second."""
    line = f"\r\nauthorization: {_basic('root', _PASSWORD)}\r\n\r\n".encode()
    requests = [each.removesuffix(b"\r\n\r\n") + line for each in BY_ID.requests(plan.smallest)]
    warm_up(requests, [server])
    with _guessing(server.port, keep=True):  # the first wrong passwords may take more of the processor
        time.sleep(_UNTIL_SLOWED_S)
    alone: list[Run] = []
    beside: dict[bool, list[Run]] = {True: [], False: []}
    for _ in range(plan.rounds):
        alone.append(measure(requests, [server], seconds=plan.seconds))
        for keep, runs in beside.items():
            with _guessing(server.port, keep=keep) as count:
                runs.append(measure(requests, [server], seconds=plan.seconds))
            how = "over kept connections" if keep else "each over a new connection"
            print(f"  {count[0]:,} wrong passwords {how}, {runs[-1].count:,} answers by id", flush=True)

    def share(runs: list[Run]) -> float:
        return median(runs, lambda run: run.per_s) / median(alone, lambda run: run.per_s)

    scores.at_least(f"ids beside {_GUESSES_A_S:,} wrong passwords a second", share(beside[True]), 0.8)
    p99 = median(beside[True], lambda run: run.p99_ms) / median(alone, lambda run: run.p99_ms)
    scores.at_most("their p99", p99, 2, unit=" x")
    print(f"  the same, each over a new connection: {share(beside[False]):.2f}")


@contextmanager
def _guessing(port: int, *, keep: bool) -> Iterator[list[int]]:
    """Send wrong passwords of many names while the block runs; yield how many were answered.

    A connection that is free is used again if ``keep`` is set. Each one is from another address.
    """
    stop, count = threading.Event(), [0]
    numbers, addresses = itertools.count(), itertools.count()
    free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def guess(number: int) -> None:
        if free:
            reader, writer = free.pop()
        else:
            sender = next(addresses) % (1 << 16)
            address = f"127.2.{sender >> 8}.{sender & 255}"
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
        header = f"authorization: {_basic(f'user{number % _USERS}', f'guess {number}')}"
        ending = "" if keep else "connection: close\r\n"
        writer.write(f"GET /subjects HTTP/1.1\r\nhost: x\r\n{ending}{header}\r\n\r\n".encode())
        await read_answer(reader)
        count[0] += 1
        if keep:
            free.append((reader, writer))
        else:
            writer.close()

    async def attack() -> None:
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            sent = 0
            while not stop.is_set():
                due = int((time.monotonic() - begun) * _GUESSES_A_S)
                for _ in range(min(due - sent, _GUESSES_A_S)):
                    group.create_task(guess(next(numbers)))
                sent = due
                await asyncio.sleep(_SLEEP_S)
        for _, writer in free:
            writer.close()

    thread = threading.Thread(target=lambda: asyncio.run(attack()))
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()


def _compare_memory(plan: Plan, server: Server, scores: Scores) -> None:
    """Compare the server's memory after a tenth of the wrong credentials, all different, and after all of them."""
    total = plan.different_reads * 10
    sent = _flood(server, total // 10)
    before, begun = server.memory_mb, time.monotonic()
    sent += _flood(server, total - sent)
    rate = (total - total // 10) / (time.monotonic() - begun)
    print(
        f"  {sent:,} different wrong ones, {rate:,.0f} a second; memory {before:.0f} MB, then {server.memory_mb:.0f} MB"
    )
    scores.at_most("memory more after all of them", server.memory_mb - before, 10, unit=" MB")


def _flood(server: Server, count: int) -> int:
    """Send at least ``count`` requests with wrong credentials, each with others; return how many were refused."""
    refused = 0
    while refused < count:
        command = [program("wrk"), "-t1", f"-c{CONNECTIONS}", "-d5s", "--timeout=30s", f"-s{_FLOOD}"]
        with on_cores(LOAD_CORE):
            done = subprocess.run(
                [*command, f"http://127.0.0.1:{server.port}/schemas/ids/1", str(time.time_ns() % 10**9)],
                capture_output=True,
                text=True,
                check=True,
            )
        answered, failed, broken = map(int, done.stdout.rsplit("RESULT", 1)[1].split())
        if failed != answered or broken:
            sys.exit(f"of {answered} wrong credentials {answered - failed} were accepted, {broken} not answered")
        refused += failed
    return refused


def _compare_files(folder: Path, scores: Scores) -> None:
    """Measure how long an access file with as many rules as possible takes to be read, and its rules for one caller.

    The search for cycles of garbage is set as a server sets it.
    """
    look_for_cycles_seldom()
    path = folder / "rules.yaml"
    others = range(1, _RULES)  # the first is that of the administrator
    rules = [f'  - {{allow: developer, to: User:u{number}, on: "team-{number}.*"}}' for number in others]
    path.write_text("\n".join(["admins: [User:root]", "rules:", *rules, ""]))
    read_ms, compiled_ms = [], []
    for _ in range(5):
        begun = time.perf_counter()
        watched = WatchedAccessFile(path)
        read_ms.append((time.perf_counter() - begun) * 1000)
        begun = time.perf_counter()
        Rights(watched.current.rules, {"User:u7", "User:*"})
        compiled_ms.append((time.perf_counter() - begun) * 1000)
    scores.at_most(f"an access file of {_RULES:,} rules", min(read_ms), 200, unit=" ms")
    scores.at_most("the rights of a caller of it", min(compiled_ms), 50, unit=" ms")


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
