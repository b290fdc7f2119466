"""The search over a store of many subjects: `python benchmarks/pages/bench_search_store.py STORE [--subjects 100000]`.

An empty or missing store is filled by ``common_names.py``. Its index is built anew unless ``--keep`` is given. Then
queries of several kinds are answered for callers who may read all subjects, or few. Times are CPU time, of this process
with its threads, and of the processes of PostgreSQL, so that other load changes them less than a clock's. Queries are
asked in turns, and the median of each is what it costs; `p95` is over these.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("deploy", "tests", "benchmarks/http", "benchmarks/pages")]

import machine  # noqa: E402 - the path is set above
from common_names import EVERYWHERE, TEAMS, CommonNames  # noqa: E402 - the path is set above
from generate import generate  # noqa: E402
from table import Scores  # noqa: E402

from counterfoil.registry.access.resources import AccessOperation  # noqa: E402
from counterfoil.registry.access.rights import Rights, Visible  # noqa: E402
from counterfoil.registry.access.rules import allow, parse_pattern  # noqa: E402
from counterfoil.registry.search.opening import open_index  # noqa: E402
from counterfoil.registry.search.questions import SearchExtent, SearchQuestion  # noqa: E402
from counterfoil.registry.search.reindexing import reindex  # noqa: E402
from counterfoil.registry.search.searching import Searching  # noqa: E402
from counterfoil.registry.store.opening import open_store, sqlite_path  # noqa: E402
from counterfoil.registry.store.postgres.connections import connect, parse_address  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

TIMES: Final = 7
_LONG_S: Final = 60.0
MAX_SEARCH_MS: Final = 20
MAX_SUGGESTIONS_MS: Final = 10
MAX_SHARE: Final = 0.6
VERSIONS: Final = 1_000_000
MAX_REBUILD_MIN: Final = 15

QUERIES: Final[tuple[dict[str, Any], ...]] = (
    *({"q": each} for each in EVERYWHERE[:6]),
    {"q": "warehouse_stock"},
    {"q": "customer"},
    {"q": "cust"},
    {"q": "ou"},
    {"q": "value"},
    {"q": "team"},
    {"q": "the"},
    {"q": "customer email"},
    {"q": "id status"},
    {"q": "verified wallet"},
    {"q": "field:id type:long"},
    {"q": "type:decimal"},
    {"q": "type:string"},
    {"q": "tag:pii"},
    {"q": "doc:warehouse"},
    {"q": "lang:protobuf id"},
    {"q": "subject:shipment status"},
    {"q": "xyzzyq"},
    {"q": "id", "within": SearchExtent.ANY},
    {"q": "order", "within": SearchExtent.ANY},
)
SUGGESTIONS: Final = ("id", "cu", "cust", "team-0", "status", "ord", "a", "va", "value", "xy")


class Processes:
    """The CPU time of this process, and of the server if the store is in PostgreSQL."""

    def __init__(self, server: int | None) -> None:
        self._server = server

    @classmethod
    async def of(cls, url: str) -> Processes:
        """Return the processes that work for a store; a server of PostgreSQL is on this machine."""
        if sqlite_path(url) is not None:
            return cls(None)
        connection = await connect(parse_address(url), command_timeout_s=_LONG_S)
        try:
            return cls(machine.parent(await connection.fetchval("SELECT pg_backend_pid()")))
        finally:
            await connection.close()

    def cpu_s(self) -> float:
        """Return the CPU time until now, that of processes of the server which have ended included."""
        return time.process_time() + (0.0 if self._server is None else machine.cpu_s(self._server))


class Caller(NamedTuple):
    """Somebody who searches, and what it may read; None is everything."""

    name: str
    visible: Visible | None


def callers(shape: CommonNames) -> list[Caller]:
    """Return callers who may read everything, some subjects by name, or those of teams."""

    def of(patterns: Iterable[str]) -> Visible:
        rules = [allow("User:a", [AccessOperation.READ], parse_pattern(each)) for each in patterns]
        return Visible(Rights(rules, {"User:a"}), AccessOperation.READ)

    spread = [shape.name(each) for each in range(1, shape.subjects + 1, max(1, shape.subjects // 1000))]
    return [
        Caller("all subjects", None),
        *(Caller(f"{size} by name", of(spread[:size])) for size in (1, 50, 101, 300)),
        *(
            Caller(f"{teams} of {TEAMS} teams", of(f"team-{each:03}.*" for each in range(teams)))
            for teams in (1, 2, 20)
        ),
    ]


@asynccontextmanager
async def searching(url: str) -> AsyncIterator[Searching]:
    """Open the search of a store."""
    storage, index = open_store(url), open_index(url)
    try:
        await index.database.prepare()
        yield Searching(storage, index)
    finally:
        await index.database.close()
        await storage.close()


async def measured(
    search: Searching, url: str, questions: list[SearchQuestion], visible: Visible | None
) -> list[float]:
    """Return the median CPU time (ms) of each question, which are asked in turns."""
    processes = await Processes.of(url)
    batch = 1 if sqlite_path(url) is not None else 5  # ticks of the kernel are 10 ms
    found: list[list[float]] = [[] for _ in questions]
    for turn in range(TIMES):
        for times, question in zip(found, questions, strict=True):
            begun = processes.cpu_s()
            for _ in range(batch):
                await search.search(question, visible=visible)
            if turn:
                times.append((processes.cpu_s() - begun) * 1000 / batch)
    return [statistics.median(each) for each in found]


def p95(times: list[float]) -> float:
    """Return the time that 95 of 100 questions do not exceed."""
    return sorted(times)[min(len(times) - 1, round(0.95 * len(times)))]


async def score_queries(url: str, shape: CommonNames, scores: Scores) -> None:
    """Compare the cost of queries with their goals."""
    questions = [SearchQuestion(**each) for each in QUERIES]
    suggestions = [SearchQuestion(each, limit=8, counts=False) for each in SUGGESTIONS]
    async with searching(url) as search:
        for caller in callers(shape):
            scores.begin(f"Queries of a caller who may read {caller.name}")
            times = await measured(search, url, questions, caller.visible)
            slowest = sorted(zip(times, (f"{each.q} ({each.within})" for each in questions), strict=True))[-4:]
            print("  slowest:", ", ".join(f"{name} {ms:.1f}" for ms, name in reversed(slowest)), flush=True)
            scores.at_most("p50", statistics.median(times), MAX_SEARCH_MS, unit=" ms CPU")
            scores.at_most("p95", p95(times), MAX_SEARCH_MS, unit=" ms CPU")
            times = await measured(search, url, suggestions, caller.visible)
            scores.at_most("suggestions, p95", p95(times), MAX_SUGGESTIONS_MS, unit=" ms CPU")


async def sizes(url: str) -> tuple[int, int]:
    """Return the size of the index, and of the store."""
    index = open_index(url)
    try:
        await index.database.prepare()
        own = await index.database.size_bytes()
        path = sqlite_path(url)
        if path is not None:
            return own, path.stat().st_size
        async with index.database.reading() as found:
            size = (
                "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = "
            )
            return own, (await found.rows(f"{size} 'counterfoil'::regnamespace"))[0][0]
    finally:
        await index.database.close()


def children_s() -> float:
    """Return the CPU time of the processes of this one that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def score_rebuild(url: str, shape: CommonNames, scores: Scores) -> None:
    """Build the index anew, and compare time and size with their goals."""
    scores.begin("Building the index anew")
    processes = asyncio.run(Processes.of(url))
    begun_s, cpu_s = time.monotonic(), processes.cpu_s()
    built = reindex(url)
    cpu_s, wall_s = processes.cpu_s() - cpu_s, time.monotonic() - begun_s
    judges_s = children_s()
    for _ in range(50):  # until the judges have ended
        time.sleep(0.2)
        before_s, judges_s = judges_s, children_s()
        if judges_s == before_s > 0:
            break
    assert not built.unreadable, built.unreadable
    print(f"  {wall_s:.0f} s by the clock; {cpu_s:.1f} s CPU, and {judges_s:.1f} s of other processes", flush=True)
    million_min = VERSIONS / shape.size * (cpu_s + judges_s) / 60
    scores.at_most(f"{VERSIONS:,} versions on two processors", million_min / 2, MAX_REBUILD_MIN, unit=" min CPU")
    scores.at_most(
        "of these this process and PostgreSQL", VERSIONS / shape.size * cpu_s / 60, MAX_REBUILD_MIN, unit=" min CPU"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", help="the URL of a store")
    parser.add_argument("--subjects", type=int, default=100_000)
    parser.add_argument("--versions", type=int, default=10)
    parser.add_argument("--keep", action="store_true", help="keep the index that there is")
    given = parser.parse_args()
    shape, scores = CommonNames(given.subjects, given.versions), Scores()
    path = sqlite_path(given.store)
    if (path is not None and not path.is_file()) or not asyncio.run(_last_change(given.store)):
        generate(given.store, shape)
    if not given.keep:
        score_rebuild(given.store, shape, scores)
    own, whole = asyncio.run(sizes(given.store))
    scores.begin("Size", f"index {own / 2**20:.0f} MiB, store {whole / 2**20:.0f} MiB")
    scores.at_most("part of the store's", own / whole, MAX_SHARE)
    asyncio.run(score_queries(given.store, shape, scores))
    scores.summarize()


async def _last_change(url: str) -> int:
    storage = open_store(url)
    try:
        return await storage.last_change()
    finally:
        await storage.close()


if __name__ == "__main__":
    main()
