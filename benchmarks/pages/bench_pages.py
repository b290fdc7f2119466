"""The pages' times and sizes beside their goals: `python benchmarks/pages/bench_pages.py [--store sqlite] [--quick]`.

The registry has a shop's subjects in three languages and one record of 200 elements. Each page is requested again and
again on one connection, without an entity tag, and between two pages a schema by its id: the time of both is that of
the whole exchange on loopback. Then by-id requests are timed while 20 pages a second are requested, and a server is
started with pages and without.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import statistics
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("deploy", "tests", "benchmarks/http")]

import machine  # noqa: E402 - the path is set above
from table import Scores  # noqa: E402

from counterfoil.pages.static import assets  # noqa: E402
from local_services import PostgresServer, RegistryProcess  # noqa: E402
from strategies.pages.addresses import PAGES  # noqa: E402
from strategies.pages.shop import MEDIA_TYPE, fill_shop  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KB: Final = 1024
LARGE: Final = "large-value"
ELEMENTS: Final = 200
PAGES_A_SECOND: Final = 20
STARTS: Final = 5
WARM_UP: Final = 3

_LARGE_PAGES: Final = {
    "version of 200 elements": f"/ui/subjects/{LARGE}/versions/2",
    "source of 200 elements": f"/ui/subjects/{LARGE}/versions/2?view=source",
    "subject of 200 elements": f"/ui/subjects/{LARGE}",
    "compare of 200 elements": f"/ui/compare?from={LARGE}@1&to={LARGE}@2",
}


class Client:
    """One connection, on which requests are timed."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def get(self, path: str, **headers: str) -> tuple[float, bytes]:
        """Return the time of a request in milliseconds, and the body of its response."""
        begun = time.perf_counter()
        self._connection.request("GET", path, headers=headers)
        reply = self._connection.getresponse()
        body = reply.read()
        elapsed_ms = (time.perf_counter() - begun) * 1000
        if reply.status != http.client.OK:
            raise RuntimeError(f"{path} was answered {reply.status}: {body[:500]!r}")
        return elapsed_ms, body

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def percentile(times: list[float], share: float) -> float:
    """Return the time below which this share of the times is."""
    ordered = sorted(times)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def fill_large(port: int) -> int:
    """Register a record of 200 elements in two versions; return the id of the second one."""
    found = 0
    for version in (1, 2):
        kinds = ["string", "long", ["null", "double"]]
        fields = [
            {"name": f"field_{number}", "type": kinds[number % 3], "doc": f"Field {number}."}
            for number in range(ELEMENTS)
        ]
        if version == 1:
            fields[7]["type"] = "int"
        body = {"schema": json.dumps({"type": "record", "name": "Large", "namespace": "bench", "fields": fields})}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        headers = {"Content-Type": MEDIA_TYPE}
        connection.request("PUT", f"/config/{LARGE}", json.dumps({"compatibility": "NONE"}), headers)
        connection.getresponse().read()
        connection.request("POST", f"/subjects/{LARGE}/versions", json.dumps(body), headers)
        found = json.loads(connection.getresponse().read())["id"]
        connection.close()
    return found


def score_pages(port: int, schema_id: int, scores: Scores, *, times: int) -> None:
    """Time each page, and requests by id between them."""
    scores.begin("Time of each page (p50, p95), beside by-id in the same run")
    client, by_id = Client(port), []
    every: list[float] = []
    sizes: dict[str, tuple[int, int]] = {}
    for name, path in {**PAGES, **_LARGE_PAGES}.items():
        for _ in range(WARM_UP):
            _, body = client.get(path)
        found = []
        for _ in range(times):
            found.append(client.get(path)[0])
            by_id.append(client.get(f"/schemas/ids/{schema_id}")[0])
        every += found
        _, packed = client.get(path, **{"Accept-Encoding": "gzip"})
        sizes[name] = len(packed), len(body)
        scores.at_most(f"{name}: p50", statistics.median(found), 15, unit=" ms")
        scores.at_most(f"{name}: p95", percentile(found, 0.95), 50, unit=" ms")
    client.close()
    print(f"  {'by-id: p50, p95':46} {statistics.median(by_id):.2f} ms, {percentile(by_id, 0.95):.2f} ms")
    scores.at_most("all pages: p50", statistics.median(every), 15, unit=" ms")
    scores.at_most("all pages: p95", percentile(every, 0.95), 50, unit=" ms")
    score_sizes(sizes, scores)


def score_sizes(sizes: dict[str, tuple[int, int]], scores: Scores) -> None:
    """Compare the sizes of pages and static files with their goals."""
    scores.begin("Sizes")
    largest = max(sizes, key=lambda name: sizes[name][0])
    scores.at_most(f"largest page, packed ({largest})", sizes[largest][0] / KB, 40, unit=" KB")
    scores.at_most("largest page, not packed", max(size for _, size in sizes.values()) / KB, 500, unit=" KB")
    files = assets().files.values()
    style = sum(len(gzip.compress(each.body)) for each in files if each.media_type.startswith("text/css"))
    scripts = sum(len(gzip.compress(each.body)) for each in files if "javascript" in each.media_type)
    scores.at_most("style sheets, packed", style / KB, 12, unit=" KB")
    scores.at_most("scripts, packed", scripts / KB, 10, unit=" KB")
    scores.at_most("largest page with all assets", (sizes[largest][0] + style + scripts) / KB, 100, unit=" KB")


@contextmanager
def pages_beside(port: int) -> Iterator[None]:
    """Request 20 pages a second while the block runs."""
    ended = threading.Event()

    def request_pages() -> None:
        client, paths = Client(port), [*PAGES.values(), *_LARGE_PAGES.values()]
        number = 0
        due = time.perf_counter()
        while not ended.is_set():
            client.get(paths[number % len(paths)])
            number += 1
            due += 1 / PAGES_A_SECOND
            time.sleep(max(due - time.perf_counter(), 0))
        client.close()

    thread = threading.Thread(target=request_pages)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def score_beside(port: int, schema_id: int, scores: Scores, *, seconds: float) -> None:
    """Time requests by id while pages are requested, and without them."""
    scores.begin(f"By-id while {PAGES_A_SECOND} pages a second are requested")
    alone = timed_by_id(port, schema_id, seconds=seconds)
    with pages_beside(port):
        beside = timed_by_id(port, schema_id, seconds=seconds)
    print(f"  {'by-id alone: p99':46} {percentile(alone, 0.99):.2f} ms")
    scores.at_most("by-id beside pages: p99", percentile(beside, 0.99), 10, unit=" ms")


def timed_by_id(port: int, schema_id: int, *, seconds: float) -> list[float]:
    """Return the times of requests by id, one after the other with a short pause."""
    client, found = Client(port), []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        found.append(client.get(f"/schemas/ids/{schema_id}")[0])
        time.sleep(0.001)
    client.close()
    return found


def score_start(scores: Scores, visited: Callable[[int], None]) -> None:
    """Compare start and memory of a server with pages and without."""
    scores.begin("Start and memory, with pages and without")
    started: dict[str, list[float]] = {"off": [], "read": []}
    memory: dict[str, list[float]] = {"off": [], "read": []}
    for _ in range(STARTS):
        for ui, times in started.items():
            begun = time.perf_counter()
            with RegistryProcess(settings={"COUNTERFOIL_UI": ui}) as registry:
                times.append((time.perf_counter() - begun) * 1000)
                if ui == "read":
                    visited(registry.port)
                memory[ui].append(machine.memory_mb(registry.pid))
    print(f"  {'start without pages':46} {statistics.median(started['off']):.0f} ms")
    later_ms = statistics.median(started["read"]) - statistics.median(started["off"])
    more_mb = statistics.median(memory["read"]) - statistics.median(memory["off"])
    scores.at_most("start with pages: later by", later_ms, 30, unit=" ms")
    scores.at_most("memory with pages in use: more by", more_mb, 15, unit=" MB")


def visit(port: int) -> None:
    """Request some pages of an empty registry, so that their templates are loaded."""
    client = Client(port)
    for path in ("/ui/", "/ui/subjects", "/ui/changes", "/ui/rules", "/ui/try", "/ui/decode", "/ui/compare"):
        client.get(path)
    client.close()


def run(store: str | None, scores: Scores, *, quick: bool) -> None:
    """Measure over one store."""
    with RegistryProcess(store=store) as registry:
        fill_shop(registry.url)
        schema_id = fill_large(registry.port)
        score_pages(registry.port, schema_id, scores, times=10 if quick else 60)
        score_beside(registry.port, schema_id, scores, seconds=5 if quick else 30)


def main() -> None:
    """Run the benchmark over the stores that are chosen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--quick", action="store_true", help="fewer requests")
    chosen = parser.parse_args()
    scores = Scores()
    if chosen.store in {"sqlite", "both"}:
        print("SQLite")
        run(None, scores, quick=chosen.quick)
        score_start(scores, visit)
    if chosen.store in {"postgres", "both"}:
        print("\nPostgreSQL")
        with PostgresServer() as server:
            run(server.create_database("pages"), scores, quick=chosen.quick)
    scores.summarize()


if __name__ == "__main__":
    main()
