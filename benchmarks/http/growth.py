"""The same requests to small and large registries: the time must not grow with the registry."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from load import Run, ask_once, measure, warm_up
from rows import (
    AT_HAND,
    BY_ID,
    FIRST,
    LATEST_ANEW,
    LOOK_UP_ANEW,
    NEW_SUBJECT,
    NEW_TEXT,
    NEW_VERSION,
    READS,
    REPEAT_ANEW,
    WRITES,
    Row,
    widen,
)
from servers import GOALS_BARE_US, Server, start_hello, start_registry
from table import Scores, described, median, ratio, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from generate import Shape
    from plan import Plan
    from stores import Stores

_MOST: Final = 1.3
_READ_S: Final = 1
"""The growth is judged by CPU time, which a second measures to one part in a hundred."""

_TO_START_WITH: Final = 100
"""The number of requests after which a server has connected, and loaded its modules."""

_REGISTRATIONS_PER_S: Final = {"SQLite": 2500, "PostgreSQL": 1200}

_Table = dict[Row, dict["Shape", list[Run]]]


def compare(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Measure registries of increasing numbers of subjects, and print figures and goals."""
    sizes = ", ".join(f"{shape.subjects:,}" for shape in plan.shapes)
    scores.begin(f"{stores.title}, one server: registries with {sizes} subjects, side by side", "CPU: server+database")
    table = {**_reads(plan, stores, folder), **_first(plan, stores, folder), **_writes(plan, stores, folder)}
    _show(table)
    smallest, largest = plan.smallest, plan.largest
    new_text = median(table[NEW_TEXT][smallest], lambda run: run.server_us)
    scores.at_most(f"{NEW_TEXT.name}: CPU", new_text, 1000, unit=" us")
    slowness = _bare_us(plan, folder) / GOALS_BARE_US
    for row in (NEW_SUBJECT, NEW_VERSION):
        per_s = median(table[row][smallest], lambda run: run.per_s)
        scores.at_least(f"{row.name}: durable", per_s, _REGISTRATIONS_PER_S[stores.title], unit="/s")
        print(f"  {row.name}: where bare ASGI takes {GOALS_BARE_US} us, that would be {shown(per_s * slowness)}/s")
    for row, by_shape in table.items():
        for shape in plan.shapes[1:]:
            grown = ratio(by_shape[shape], by_shape[smallest], lambda run: run.cpu_us)
            scores.at_most(f"{row.name}: CPU at {shape.subjects:,}", grown, _MOST, unit=" x")
    for row in WRITES:
        share = ratio(table[row][largest], table[row][smallest], lambda run: run.per_s)
        scores.at_least(f"{row.name}: requests at {largest.subjects:,}", share, 1 / _MOST, unit=" x")


def compare_filling(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Fill an empty store with registrations, and print their cost at the beginning and at the end."""
    scores.begin(f"{stores.title}, one server: an empty registry is filled", "CPU: server+database")
    with start_registry(stores.empty(), folder, database_pid=stores.database_pid) as server:
        requests = NEW_SUBJECT.requests(plan.smallest)
        count = measure(requests, [server], seconds=1).count
        runs = []
        for _ in range(plan.rounds * 2):
            runs.append(measure(requests, [server], seconds=plan.seconds))
            print(f"  {NEW_SUBJECT.name}, after {count:>7,}: {described(runs[-1:])}", flush=True)
            count += runs[-1].count
    worst = max(run.cpu_us for run in runs) / runs[0].cpu_us
    scores.at_most(f"{NEW_SUBJECT.name}: most CPU until {count:,} are there", worst, _MOST, unit=" x")


def compare_histories(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Measure registries with increasing numbers of versions per subject, and print figures; there are no goals."""
    sizes = ", ".join(f"{shape.versions:,}" for shape in plan.histories)
    scores.begin(f"{stores.title}, one server: subjects with {sizes} versions, side by side", "CPU: server+database")
    rows = (LATEST_ANEW, REPEAT_ANEW, LOOK_UP_ANEW, NEW_VERSION)
    table: _Table = {row: {shape: [] for shape in plan.histories} for row in rows}
    with ExitStack() as stack:
        servers = _start(plan.histories, stores, folder, stack)
        for row, by_shape in table.items():
            for shape, runs in by_shape.items():
                requests = row.requests(shape)
                warm_up(requests, [servers[shape]])
                runs += [measure(requests, [servers[shape]], seconds=_READ_S) for _ in range(plan.rounds // 2 + 1)]
    _show(table)
    smallest, largest = plan.histories[0], plan.histories[-1]
    for row, by_shape in table.items():
        grown = ratio(by_shape[largest], by_shape[smallest], lambda run: run.cpu_us)
        print(f"  {row.name}: CPU with {largest.versions:,} versions: {shown(grown)} x", flush=True)


def _bare_us(plan: Plan, folder: Path) -> float:
    """Return the CPU time of a request to a bare ASGI application on this machine, in microseconds."""
    with start_hello(folder, b"{}" * 200) as hello:
        requests = BY_ID.requests(plan.smallest)
        warm_up(requests, [hello])
        return median([measure(requests, [hello], seconds=_READ_S) for _ in range(plan.rounds)], lambda run: run.cpu_us)


def _show(table: _Table) -> None:
    for row, by_shape in table.items():
        print(f"  {row.name:32}" + "  |".join(described(runs) for runs in by_shape.values()), flush=True)


def _start(shapes: Sequence[Shape], stores: Stores, folder: Path, stack: ExitStack) -> dict[Shape, Server]:
    """Return a server for each shape, on a copy of the registry; the largest one on the registry itself."""
    servers = {}
    for shape in shapes:
        store = stores.filled(shape) if shape is shapes[-1] else stores.copied(shape)
        server = start_registry(store, folder, database_pid=stores.database_pid)
        servers[shape] = stack.enter_context(server)
    return servers


def _reads(plan: Plan, stores: Stores, folder: Path) -> _Table:
    """Measure servers of all shapes in turns."""
    table: _Table = {row: {shape: [] for shape in plan.shapes} for row in READS}
    requests = {(row, shape): row.requests(shape) for row in READS for shape in plan.shapes}
    with ExitStack() as stack:
        servers = _start(plan.shapes, stores, folder, stack)
        for shape, server in servers.items():
            widen(server)
            for row in AT_HAND:
                warm_up(requests[row, shape], [server])
        for _ in range(plan.rounds):
            for row, by_shape in table.items():
                for shape, runs in by_shape.items():
                    runs.append(measure(requests[row, shape], [servers[shape]], seconds=_READ_S))
    return table


def _first(plan: Plan, stores: Stores, folder: Path) -> _Table:
    """Measure a new server for each row and each turn, so that nothing requested was read before."""
    table: _Table = {row: {shape: [] for shape in plan.shapes} for row in FIRST}
    for _ in range(plan.rounds):
        for row, by_shape in table.items():
            for shape, runs in by_shape.items():
                requests = row.requests(shape)
                with start_registry(stores.filled(shape), folder, database_pid=stores.database_pid) as server:
                    ask_once(requests[:_TO_START_WITH], server)
                    runs.append(ask_once(requests[_TO_START_WITH:], server))
    return table


def _writes(plan: Plan, stores: Stores, folder: Path) -> _Table:
    """Measure servers of all shapes in turns; all but the largest are new every time, since they grow."""
    table: _Table = {row: {shape: [] for shape in plan.shapes} for row in WRITES}
    with start_registry(stores.filled(plan.largest), folder, database_pid=stores.database_pid) as largest:
        _warm_up(plan.largest, largest)
        for _ in range(plan.rounds):
            for shape in plan.shapes[:-1]:
                with start_registry(stores.copied(shape), folder, database_pid=stores.database_pid) as server:
                    _warm_up(shape, server)
                    _write(table, shape, server, seconds=plan.seconds)
            _write(table, plan.largest, largest, seconds=plan.seconds)
    return table


def _warm_up(shape: Shape, server: Server) -> None:
    for row in WRITES:
        warm_up(row.requests(shape), [server])


def _write(table: _Table, shape: Shape, server: Server, *, seconds: int) -> None:
    for row in WRITES:
        table[row][shape].append(measure(row.requests(shape), [server], seconds=seconds))
