"""Measure the search index: building, size, searches, and how far it is behind registrations.

    python benchmarks/pages/bench_search.py --quick
    python benchmarks/pages/bench_search.py --store postgresql://user@host/empty_database

A store is filled with subjects of ten versions; names and documentation are drawn from a vocabulary, so that some words
are in every subject and others in one. Without ``--quick`` it has 100,000 subjects and 1,000,000 versions. Goals are
printed beside the figures; those of time count on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path += [str(Path(__file__).parents[1] / "http"), str(Path(__file__).parents[2] / "tests")]

from generate import Shape, generate

from counterfoil.registry.search.following import Following
from counterfoil.registry.search.opening import open_index
from counterfoil.registry.search.questions import SearchQuestion
from counterfoil.registry.store.opening import open_store, sqlite_path
from counterfoil.registry.use_cases import UseCases, use_cases
from strategies.registry.driver import InProcessRegistry

_PARTS: Final = """
    customer order payment invoice address street city postal code country email phone name first last birth
    date amount currency price discount tax net gross unit quantity product article category brand shipment
    carrier tracking warehouse stock level reason status type created updated deleted by source target device
    session user account balance limit rate score risk fraud channel campaign region zone store terminal batch
    event trace
""".split()  # noqa: SIM905 - a list would be a page long
_FIELDS: Final = 12
_DOCS: Final = 3
_RATE: Final = 100
_WIDE: Final = 50


class WordyShape(Shape):
    """Records whose fields have names of two or three words, a quarter of them with documentation."""

    def text(self, subject: int, version: int) -> str:
        """Return the schema of a version: one field more than the one before."""
        drawn = random.Random(subject)
        names = dict.fromkeys(
            ["id", *("_".join(drawn.sample(_PARTS, drawn.choice((2, 2, 3)))) for _ in range(_FIELDS))]
        )
        docs = set(drawn.sample(list(names), _DOCS))
        fields: list[dict[str, Any]] = [
            {
                "name": each,
                "type": "string",
                **({"doc": f"The {' '.join(drawn.sample(_PARTS, 5))}."} if each in docs else {}),
            }
            for each in names
        ]
        fields += [
            {"name": f"added_{number}", "type": ["null", "long"], "default": None} for number in range(2, version + 1)
        ]
        named = {"type": "record", "name": f"Record_{subject}", "namespace": "bench", "fields": fields}
        return json.dumps(named, separators=(",", ":"))

    def name(self, subject: int) -> str:
        """Return the name of a subject."""
        words = random.Random(-subject).sample(_PARTS, 2)
        return f"{'-'.join(words)}-{subject:07d}-value"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its goal."""

    what: str
    value: str
    goal: str


def p95(seconds: list[float]) -> float:
    """Return the 95th percentile in milliseconds."""
    return statistics.quantiles(seconds, n=20)[-1] * 1000


def resident_mib() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def queries(count: int) -> list[str]:
    """Return a mix of queries: common words, two words, parts, types, documentation, names of subjects."""
    drawn = random.Random(7)
    kinds: list[Callable[[], str]] = [
        lambda: drawn.choice(_PARTS),
        lambda: " ".join(drawn.sample(_PARTS, 2)),
        lambda: "_".join(drawn.sample(_PARTS, 2)),
        lambda: drawn.choice(_PARTS)[1:5],
        lambda: "id",
        lambda: f"field:{drawn.choice(_PARTS)}",
        lambda: f"type:long {drawn.choice(_PARTS)}",
        lambda: f"doc:{drawn.choice(_PARTS)}",
        lambda: f"subject:{drawn.choice(_PARTS)} {drawn.choice(_PARTS)}",
        lambda: f"{drawn.choice(_PARTS)}-{drawn.randrange(1, 2000):07d}",
        lambda: drawn.choice(_PARTS) + "x",
    ]
    return [kinds[number % len(kinds)]() for number in range(count)]


async def timed_searches(cases: UseCases, texts: list[str], limit: int) -> list[float]:
    """Return the seconds that each search took."""
    took = []
    for text in texts:
        begun_s = time.perf_counter()
        await cases.search.search(SearchQuestion(text, limit=limit))
        took.append(time.perf_counter() - begun_s)
    return took


async def lag_figures(cases: UseCases, following: Following, seconds: int) -> list[Figure]:
    """Register 100 versions a second, and return how far the index was behind and what its work took."""
    registry, task = InProcessRegistry(cases.storage), asyncio.create_task(following.run())
    answered: dict[int, float] = {}
    seen: list[tuple[float, int]] = []

    async def watch() -> None:
        while True:
            seen.append((time.perf_counter(), (await cases.search.state()).indexed))
            await asyncio.sleep(0.02)

    watching = asyncio.create_task(watch())
    fields = [{"name": f"wide_field_{number}", "type": "string"} for number in range(_WIDE)]
    begun_s = time.perf_counter()
    for number in range(seconds * _RATE):
        body = {"schema": json.dumps({"type": "record", "name": f"Wide{number}", "fields": fields})}
        reply = await registry.post(f"/subjects/wide-{number}/versions", body)
        assert reply.status == 200, reply.text
        answered[await cases.storage.last_change()] = time.perf_counter()
        await asyncio.sleep(max(0.0, begun_s + (number + 1) / _RATE - time.perf_counter()))
    rate = seconds * _RATE / (time.perf_counter() - begun_s)
    last = max(answered)
    while True:
        await asyncio.sleep(0.02)
        if seen[-1][1] >= last:
            break
    for each in (task, watching):
        each.cancel()
    lags = [next(at for at, indexed in seen if indexed >= change) - at_s for change, at_s in answered.items()]
    return [
        Figure(f"lag behind an answered write, at {rate:.0f} registrations/s, p95", f"{p95(lags) / 1000:.2f} s", "1 s"),
        Figure("the same, longest", f"{max(lags):.2f} s", "1 s"),
    ]


async def cost_figure(cases: UseCases, following: Following) -> Figure:
    """Return the processor time of indexing a registration of 50 fields, in groups as they come at 100 a second."""
    registry, count = InProcessRegistry(cases.storage), 200
    fields = [{"name": f"cost_field_{number}", "type": "string"} for number in range(_WIDE)]
    took = 0.0
    for number in range(count):
        body = {"schema": json.dumps({"type": "record", "name": f"Cost{number}", "fields": fields})}
        await registry.post(f"/subjects/cost-{number}/versions", body)
        if number % 10 == 9:
            begun_s = time.process_time()
            await following.until_current()
            took += time.process_time() - begun_s
    return Figure(
        f"processor time of indexing a registration of {_WIDE} fields", f"{took / count * 1000:.2f} ms", "2 ms"
    )


async def measured(url: str, shape: Shape, *, seconds: int, searches: int) -> list[Figure]:
    """Return all figures over a filled store."""
    storage, index = open_store(url), open_index(url)
    cases = use_cases(storage, index=index)
    following = cases.following
    assert following is not None
    memory_mib, begun_s, processor_s = resident_mib(), time.perf_counter(), time.process_time()
    await following.until_current()
    built_s, processor_s = time.perf_counter() - begun_s, time.process_time() - processor_s
    size, path = await index.database.size_bytes(), sqlite_path(url)
    figures = [
        Figure(f"building, {shape.size:,} versions", f"{built_s:.1f} s", f"{900 * shape.size / 1_000_000:.1f} s"),
        Figure(
            "the same for 1,000,000 versions, in proportion", f"{built_s * 1e6 / shape.size / 60:.1f} min", "15 min"
        ),
        Figure("its processor time", f"{processor_s:.1f} s", ""),
        Figure("memory after building, beyond that before", f"{resident_mib() - memory_mib:.0f} MiB", "50 MiB"),
        Figure("size of the index", f"{size / 2**20:.1f} MiB", ""),
    ]
    if path is not None:
        figures.append(Figure("the same, of the store", f"{size / path.stat().st_size:.0%}", "60%"))
    texts = queries(searches)
    await timed_searches(cases, texts[:11], 50)
    took = await timed_searches(cases, texts, 50)
    figures.append(Figure("search, p50", f"{statistics.median(took) * 1000:.1f} ms", ""))
    figures.append(Figure("search, p95", f"{p95(took):.1f} ms", "20 ms"))
    slowest = max(zip(took, texts, strict=True))
    figures.append(Figure(f"search, slowest: {slowest[1]!r}", f"{slowest[0] * 1000:.1f} ms", ""))
    suggested = await timed_searches(cases, [text[:5] for text in texts], 8)
    figures.append(Figure("suggestions, p95", f"{p95(suggested):.1f} ms", "10 ms"))
    figures.append(await cost_figure(cases, following))
    figures += await lag_figures(cases, following, seconds)
    await index.database.close()
    await storage.close()
    return figures


def main() -> None:
    """Fill a store, measure, and print the figures."""
    parser = argparse.ArgumentParser(description="Measure the search index.")
    parser.add_argument("--store", default="", help="the URL of an empty store; by default a new SQLite file")
    parser.add_argument("--subjects", type=int, default=0, help="by default 100,000, or 2,000 with --quick")
    parser.add_argument("--versions", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="fewer searches, and fewer subjects")
    given = parser.parse_args()
    shape = WordyShape(given.subjects or (2000 if given.quick else 100_000), given.versions)
    with tempfile.TemporaryDirectory() as folder:
        url = given.store or f"sqlite:///{folder}/registry.db"
        generate(url, shape)
        seconds, searches = (5, 220) if given.quick else (60, 2200)
        figures = asyncio.run(measured(url, shape, seconds=seconds, searches=searches))
    width = max(len(each.what) for each in figures)
    print(f"{shape.subjects:,} subjects, {shape.size:,} versions")
    for each in figures:
        print(f"{each.what:<{width}}  {each.value:>12}   {each.goal and f'goal {each.goal}'}")


if __name__ == "__main__":
    main()
