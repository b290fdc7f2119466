"""The fastest responses, compared with the fastest servers and with an ordinary implementation."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from load import Run, measure, warm_up
from rows import AT_HAND, BY_ID, KNOWN_PAIR, LATEST, REPEAT, get
from servers import GOALS_BARE_US, Server, start_hello, start_idiomatic, start_nginx, start_registry
from table import Scores, described, median, ratio

if TYPE_CHECKING:
    from pathlib import Path

    from plan import Plan
    from stores import Stores

_HELLO, _NGINX, _IDIOMATIC = "bare ASGI", "nginx, 1 worker", "FastAPI + SQLAlchemy's ORM"


def compare(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Measure, and print figures and goals."""
    scores.begin(
        f"Answers at hand ({stores.title}), beside yardsticks", "requests, CPU time of each, p99; 32 connections"
    )
    runs = _measure(plan, stores, folder)
    for name, each in runs.items():
        by_time = ratio(each, runs[_HELLO], lambda run: run.per_s)
        by_cpu = ratio(runs[_HELLO], each, lambda run: run.cpu_us)
        print(f"  {name:28} {described(each)}   {by_time:.3f} of bare by time, {by_cpu:.3f} by CPU", flush=True)
    _score(runs, scores)


def _measure(plan: Plan, stores: Stores, folder: Path) -> dict[str, list[Run]]:
    shape = plan.smallest
    with ExitStack() as stack:
        ours = stack.enter_context(
            start_registry(stores.filled(plan.smallest), folder, database_pid=stores.database_pid)
        )
        _, answer = ours.ask("GET", "/schemas/ids/1")
        contestants: dict[str, tuple[Server, list[bytes]]] = {
            _HELLO: (stack.enter_context(start_hello(folder, answer)), BY_ID.requests(shape)),
            BY_ID.name: (ours, BY_ID.requests(shape)),
            _NGINX: (stack.enter_context(start_nginx(folder, answer)), BY_ID.requests(shape)),
            _IDIOMATIC: (
                stack.enter_context(start_idiomatic(folder, answer)),
                [get(f"/schemas/ids/{number}") for number in range(1, 1001)],
            ),
            **{row.name: (ours, row.requests(shape)) for row in AT_HAND[1:]},
        }
        for server, requests in contestants.values():
            warm_up(requests, [server])
        rounds = [
            {
                name: measure(requests, [server], seconds=plan.seconds)
                for name, (server, requests) in contestants.items()
            }
            for _ in range(plan.rounds)
        ]
    return {name: [each[name] for each in rounds] for name in contestants}


def _score(runs: dict[str, list[Run]], scores: Scores) -> None:
    by_id, hello = runs[BY_ID.name], runs[_HELLO]
    scores.at_least("by id: requests, of bare ASGI", ratio(by_id, hello, lambda run: run.per_s), 0.80, unit=" x")
    scores.at_least("by id: requests, of nginx", ratio(by_id, runs[_NGINX], lambda run: run.per_s), 0.25, unit=" x")
    idiomatic = ratio(by_id, runs[_IDIOMATIC], lambda run: run.per_s)
    scores.at_least("by id: requests, of FastAPI + SQLAlchemy", idiomatic, 25, unit=" x")
    scaled = GOALS_BARE_US * ratio(by_id, hello, lambda run: run.cpu_us)
    scores.at_most(f"by id: CPU, where bare ASGI takes {GOALS_BARE_US} us", scaled, 25, unit=" us")
    scores.at_most("by id: p99", median(by_id, lambda run: run.p99_ms), 2, unit=" ms")
    latest = ratio(runs[LATEST.name], by_id, lambda run: run.per_s)
    scores.at_least("latest: requests, of by id", latest, 0.7, unit=" x")
    repeat = ratio(runs[REPEAT.name], by_id, lambda run: run.per_s)
    scores.at_least("registration again: requests, of by id", repeat, 0.75, unit=" x")
    known = median(runs[KNOWN_PAIR.name], lambda run: run.cpu_us)
    scores.at_most("test of a known pair: CPU", known, 100, unit=" us")
