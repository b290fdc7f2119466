"""Registrations by several servers on one PostgreSQL, beside it and at some distance."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import machine
from load import Run, measure
from rows import NEW_SUBJECT, NEW_VERSION, WRITES
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


def compare(plan: Plan, stores: PostgresStores, folder: Path, scores: Scores) -> None:
    """Measure, and print figures and goals."""
    scores.begin(f"PostgreSQL, {_NODES} servers on all cores: registrations", "CPU: servers+database")
    one, workers_of_one, many = "1 server", f"1 server, {_NODES} workers", f"{_NODES} servers"
    far = f"{_NODES} servers, {_DELAY_MS} ms away"
    with ExitStack() as stack:
        port = stack.enter_context(_distance(stores.port, folder))

        def start(count: int = 1, *, workers: int = 1, is_far: bool = False) -> list[Server]:
            url = stores.copied(plan.smallest)
            url = url.replace(f":{stores.port}/", f":{port}/") if is_far else url
            servers = []
            for _ in range(count):
                server = start_registry(
                    url, folder, cores=machine.CORES, database_pid=stores.database_pid, workers=workers
                )
                servers.append(stack.enter_context(server))
            return servers

        contestants = {
            one: start(),
            workers_of_one: start(workers=_NODES),
            many: start(_NODES),
            far: start(_NODES, is_far=True),
        }
        runs: dict[str, dict[str, list[Run]]] = {row.name: {name: [] for name in contestants} for row in WRITES}
        for number in range(plan.rounds + 1):
            for row in WRITES:
                for name, servers in contestants.items():
                    run = measure(row.requests(plan.smallest), servers, seconds=plan.seconds)
                    runs[row.name][name] += [run] if number else []  # the first round is for warming up
    for row in WRITES:
        for name, each in runs[row.name].items():
            share = ratio(each, runs[row.name][one], lambda run: run.per_s)
            print(f"  {row.name:24} {name:24} {described(each)}   {share:.2f} of one server", flush=True)
    for row in (NEW_SUBJECT, NEW_VERSION):
        scores.at_least(f"{row.name}: {far}", median(runs[row.name][far], lambda run: run.per_s), 600, unit="/s")


@contextmanager
def _distance(target: int, folder: Path) -> Iterator[int]:
    """A port that leads to ``target``, some way off."""
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("forwarder.py")), str(port), str(target), str(_DELAY_MS)]
    with machine.on_cores(machine.LOAD_CORE):
        service = Service("the forwarder", command, log=folder / "forwarder.log")
    try:
        service.wait_ready(lambda: is_open(port))
        yield port
    finally:
        service.stop()
