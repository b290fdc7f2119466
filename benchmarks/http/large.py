"""A registry of a million versions: the list of all subjects, the start of a server, and its memory."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import TYPE_CHECKING, Final

from load import Run, measure, repeatedly, warm_up
from rows import BY_ID, body_of, every_id, record
from servers import Server, start_registry

from counterfoil.registry.settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from generate import Shape
    from plan import Plan
    from stores import Stores
    from table import Scores

_BUDGET_MB: Final = ServerSettings().cache_bytes / 1e6
_numbers = itertools.count()


def compare(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Measure, and print figures and goals."""
    shape = plan.largest
    scores.begin(f"{stores.title}: a registry of {shape.size:,} versions of {shape.subjects:,} subjects")
    store = stores.filled(shape)
    _score_start(plan, lambda: start_registry(store, folder), scores)
    with start_registry(store, folder) as server:
        _score_memory(plan, shape, server, scores)
        _score_listing(plan, shape, server, scores)


# --- the start --------------------------------------------------------------------------------------------------------


def _score_start(plan: Plan, start: Callable[[], Server], scores: Scores) -> None:
    answers, writes = [], []
    for _ in range(plan.rounds):
        begun = time.perf_counter()
        with start() as server:
            if server.status("/schemas/ids/1") != 200:
                raise RuntimeError("the first schema is not there")
            answers.append(time.perf_counter() - begun)
            _write(server)
            writes.append(time.perf_counter() - begun)
    scores.at_most("start to the first answer", statistics.median(answers), 1.5, unit=" s")
    scores.at_most("start to the first accepted write", statistics.median(writes), 1.0, unit=" s")


def _write(server: Server) -> None:
    number = next(_numbers)
    path, schema = f"/subjects/large-{time.time_ns()}-{number}/versions", record(f"Large_{number}", 10)
    status, answer = server.ask("POST", path, body_of(schema))
    if status != 200:
        raise RuntimeError(answer.decode())


# --- memory -----------------------------------------------------------------------------------------------------------


def _score_memory(plan: Plan, shape: Shape, server: Server, scores: Scores) -> None:
    scores.at_most("memory of a worker: idle", server.memory_mb, 120, unit=" MB")
    requests = every_id(shape, plan.different_reads)
    warm_up(requests, [server])
    what = f"memory of a worker: {len(requests):,} ids read"
    scores.at_most(what, server.memory_mb, 120 + _BUDGET_MB, unit=" MB")


# --- the list of all subjects -----------------------------------------------------------------------------------------


def _score_listing(plan: Plan, shape: Shape, server: Server, scores: Scores) -> None:
    _list(server)
    cached = [_list(server) for _ in range(plan.rounds * 4)]
    cold = []
    for _ in range(plan.rounds * 2):
        _write(server)
        cold.append(_list(server))
    scores.at_most("all subjects: at hand", statistics.median(cached) * 1000, 10, unit=" ms")
    scores.at_most("all subjects: after a write", statistics.median(cold) * 1000, 100, unit=" ms")
    requests = BY_ID.requests(shape)
    warm_up(requests, [server])
    for what, chore in (("listed", _list), ("written and listed", _write_and_list)):
        runs = []
        for _ in range(plan.rounds):
            with repeatedly(lambda chore=chore: chore(server)):
                runs.append(measure(requests, [server], seconds=plan.seconds))
        scores.at_most(f"by id: p99, all subjects {what} meanwhile", _p99_ms(runs), 10, unit=" ms")


def _p99_ms(runs: list[Run]) -> float:
    return statistics.median(run.p99_ms for run in runs)


def _list(server: Server) -> float:
    """Return how long the response with the list took, in seconds."""
    begun = time.perf_counter()
    status, _ = server.ask("GET", "/subjects")
    if status != 200:
        raise RuntimeError(f"the list of subjects: {status}")
    return time.perf_counter() - begun


def _write_and_list(server: Server) -> None:
    _write(server)
    _list(server)
