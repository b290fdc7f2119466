"""The CPU time of the search index beside its goals: `python benchmarks/pages/bench_search.py [--subjects 300]`.

Subjects with an Avro record of 50 fields are registered in this process over a SQLite file. Then the index is built,
one field is added to each record, and queries are answered. Times are CPU time of the whole process, threads included,
so that other load on the machine changes them less than a clock's; the least of several is what the work costs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("deploy", "tests", "benchmarks/http")]

from table import Scores  # noqa: E402 - the path is set above

from counterfoil.registry.search.following import Following  # noqa: E402
from counterfoil.registry.search.index import SearchIndex  # noqa: E402
from counterfoil.registry.search.sqlite import SqliteIndexDatabase  # noqa: E402
from counterfoil.registry.store.writes import NO_REQUEST  # noqa: E402
from counterfoil.registry.subjects.reading import SchemaReader  # noqa: E402
from counterfoil.registry.subjects.versions import SchemaRequest  # noqa: E402
from counterfoil.schema.contexts import parse_subject  # noqa: E402
from strategies.search.indexed import Indexed, indexed  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FIELDS: Final = 50
TIMES: Final = 8
TOGETHER: Final = 10
VERSIONS: Final = 1_000_000
MAX_REBUILD_MIN: Final = 15 * 2
"""The CPU minutes of two cores in the time that a rebuild may take."""

_WORDS: Final = """customer order email address city street amount price currency status created updated payment
invoice total quantity product shipping billing phone country region code name"""
WORDS: Final = _WORDS.split()
TYPES: Final = ("string", "long", ["null", "double"], {"type": "array", "items": "string"})
QUERIES: Final = {
    "a name with two words": "payment_status",
    "a common word": "email",
    "a beginning": "cust",
    "two common words": "customer email",
    "a field and its type": "field:city type:long",
    "a word of all documentation": "the",
    "nothing": "xyzzyq",
}


def field(chosen: random.Random, number: int) -> dict[str, Any]:
    name = f"{chosen.choice(WORDS)}_{chosen.choice(WORDS)}_{number}"
    doc = f"The {chosen.choice(WORDS)} of the {chosen.choice(WORDS)} {number}."
    return {"name": name, "type": chosen.choice(TYPES), "doc": doc}


def text_of(subject: int, fields: list[dict[str, Any]]) -> str:
    return json.dumps({"type": "record", "name": f"Record{subject}", "namespace": "bench", "fields": fields})


async def cpu_ms(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.process_time()
    await work()
    return (time.process_time() - begun) * 1000


async def register(opened: Indexed, subject: str, text: str) -> None:
    """Register a schema as a server does, whose index reads what registrations have parsed."""
    await opened.cases.registration.register(parse_subject(subject), SchemaRequest(text), by=NO_REQUEST)


async def score_indexing(opened: Indexed, subjects: int, scores: Scores) -> None:
    """Compare the cost of a rebuild and of one more version with their goals."""
    chosen = random.Random(1)
    records = [[field(chosen, number) for number in range(FIELDS)] for _ in range(subjects)]
    for number, fields in enumerate(records):
        await register(opened, f"topic{number}-value", text_of(number, fields))
    scores.begin(f"Indexing, {FIELDS} fields")
    first_ms = await cpu_ms(opened.follow) / subjects
    print(f"  {'a first version, nearly all words new':46} {first_ms:.1f} ms CPU")
    found = []
    for number, fields in enumerate(records):
        added = {"name": f"added_{number}", "type": ["null", "string"], "default": None, "doc": "Added."}
        await register(opened, f"topic{number}-value", text_of(number, [*fields, added]))
        if number % TOGETHER == TOGETHER - 1:
            found.append(await cpu_ms(opened.follow) / TOGETHER)
    scores.at_most("a further version: least", min(found), 2, unit=" ms CPU")
    scores.at_most("a further version: median", statistics.median(found), 2, unit=" ms CPU")
    other = SearchIndex(SqliteIndexDatabase(None))
    reader = SchemaReader(opened.storage, memory_chars=0)
    rebuild_ms = await cpu_ms(Following(other, opened.storage, reader).until_current) / (2 * subjects)
    await other.database.close()
    minutes = rebuild_ms * VERSIONS / 60_000
    scores.at_most(f"{VERSIONS:,} versions anew, from two of each", minutes, MAX_REBUILD_MIN, unit=" min CPU")


async def score_queries(opened: Indexed, scores: Scores) -> None:
    """Compare the cost of queries with their goals."""
    scores.begin("Queries")
    for name, q in QUERIES.items():
        found = [await cpu_ms(partial(opened.search, q)) for _ in range(TIMES)]
        scores.at_most(f"{name} ({q}): least", min(found), 20, unit=" ms CPU")
    found = [await cpu_ms(partial(opened.search, "ord", limit=8, counts=False)) for _ in range(TIMES)]
    scores.at_most("suggestions (ord): least", min(found), 10, unit=" ms CPU")


async def run(url: str, subjects: int, scores: Scores) -> None:
    """Measure over one store."""
    async with indexed(url) as opened:
        await score_indexing(opened, subjects, scores)
        await score_queries(opened, scores)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subjects", type=int, default=300)
    chosen = parser.parse_args()
    scores = Scores()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(f"sqlite:///{folder}/registry.db", chosen.subjects, scores))
    scores.summarize()


if __name__ == "__main__":
    main()
