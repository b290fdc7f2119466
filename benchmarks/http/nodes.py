"""Registrations by several servers on one PostgreSQL, near it and with latency."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import machine
from load import Run, measure, warm_up
from rows import WRITES, Row
from servers import Server, is_open, start_registry
from table import Scores, described, median, ratio

from local_services import free_port
from local_services.process import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plan import Plan
    from stores import PostgresStores


_NODES: Final = 4
_DELAY_MS: Final = 2
_ONE: Final = "1 server"
_FAR: Final = f"{_NODES} servers, {_DELAY_MS} ms away"


def compare(plan: Plan, stores: PostgresStores, folder: Path, scores: Scores) -> None:
    """Measure, and print figures and goals."""
    scores.begin(f"PostgreSQL, {_NODES} servers on all cores: registrations", "CPU: servers+database")
    table = _measure(plan, stores, folder)
    for row, by_name in table.items():
        for name, runs in by_name.items():
            share = ratio(runs, by_name[_ONE], lambda run: run.per_s)
            print(f"  {row.name:24} {name:24} {described(runs)}   {share:.2f} of one server", flush=True)
    for row in WRITES:
        per_s = median(table[row][_FAR], lambda run: run.per_s)
        scores.at_least(f"{row.name}: {_FAR}", per_s, 600, unit="/s")


def _measure(plan: Plan, stores: PostgresStores, folder: Path) -> dict[Row, dict[str, list[Run]]]:
    with ExitStack() as stack:
        port = stack.enter_context(_distance(stores.port, folder))

        def start(count: int = 1, *, workers: int = 1, is_far: bool = False) -> list[Server]:
            url = stores.copied(plan.smallest)
            url = url.replace(f":{stores.port}/", f":{port}/") if is_far else url
            settings = {"cores": machine.CORES, "database_pid": stores.database_pid, "workers": workers}
            return [stack.enter_context(start_registry(url, folder, **settings)) for _ in range(count)]

        contestants = {
            _ONE: start(),
            f"1 server, {_NODES} workers": start(workers=_NODES),
            f"{_NODES} servers": start(_NODES),
            _FAR: start(_NODES, is_far=True),
        }
        table: dict[Row, dict[str, list[Run]]] = {row: {name: [] for name in contestants} for row in WRITES}
        for row in WRITES:
            for servers in contestants.values():
                warm_up(row.requests(plan.smallest), servers)
        for _ in range(plan.rounds):
            for row, by_name in table.items():
                for name, runs in by_name.items():
                    runs.append(measure(row.requests(plan.smallest), contestants[name], seconds=plan.seconds))
        return table


@contextmanager
def _distance(target: int, folder: Path) -> Iterator[int]:
    """Yield a port that forwards to ``target`` with latency."""
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("forwarder.py")), str(port), str(target), str(_DELAY_MS)]
    with machine.on_cores(machine.LOAD_CORE):
        service = Service("the forwarder", command, log=folder / "forwarder.log")
    try:
        service.wait_ready(lambda: is_open(port))
        yield port
    finally:
        service.stop()
