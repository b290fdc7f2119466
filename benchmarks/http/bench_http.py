"""How quick the registry is, as ratios to yardsticks of the same run, and what grows with it.

``make bench-http`` prints each figure with its goal: answers at hand beside a bare ASGI application, nginx, and an
idiomatic FastAPI route; the cost of each kind of credentials, and of wrong ones; everything on registries with 1,000,
10,000 and 100,000 subjects, ten versions each, on SQLite and on PostgreSQL; registrations by several servers, near
their database and 2 ms away; the list of all subjects, the start and the memory of a server on a million versions.
``BENCH_QUICK=1`` takes about four minutes instead of twenty.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy"))

import abuse
import credentials
import growth
import hostile
import large
import machine
import nodes
import yardsticks
from load import check_installed
from plan import read_plan
from stores import PostgresStores, SqliteStores, start_postgres
from table import Scores

PARTS = ("yardsticks", "auth", "abuse", "growth", "filling", "histories", "large", "hostile", "nodes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="these parts alone")
    parser.add_argument("--store", choices=("sqlite", "postgres"), action="append", help="these stores alone")
    parser.add_argument("--before", default="", help="`counterfoil` of another version, for the part hostile")
    given = parser.parse_args()
    plan, scores = read_plan(), Scores()
    chosen, kinds = given.only or PARTS, given.store or ("sqlite", "postgres")
    check_installed(["wrk", "nginx"] if "yardsticks" in chosen else ["wrk"])
    with tempfile.TemporaryDirectory(prefix="counterfoil-bench-") as name, start_postgres() as postgres:
        folder = Path(name)
        every = {"sqlite": SqliteStores(folder), "postgres": PostgresStores(postgres)}
        os.sched_setaffinity(0, machine.LOAD_CORE)
        compare = {
            "yardsticks": yardsticks.compare,
            "auth": credentials.compare,
            "abuse": abuse.compare,
            "growth": growth.compare,
            "filling": growth.compare_filling,
            "histories": growth.compare_histories,
            "large": large.compare,
            "hostile": partial(hostile.compare, before=given.before),
        }
        for stores in (every[kind] for kind in kinds):
            for part in PARTS:
                if part in chosen and part in compare:
                    compare[part](plan, stores, folder, scores)
        if "nodes" in chosen:
            nodes.compare(plan, every["postgres"], folder, scores)
    scores.summarize()


if __name__ == "__main__":
    main()
