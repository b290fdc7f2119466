"""The dearest known requests: what each costs the server, what others notice of them, and what a check makes of them.

``dear.py`` has the requests; ``HOSTILE`` (parts of their names, with semicolons between) chooses some of them. All
times of a server are CPU times, so that other work on the machine changes little.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dear import DEAR, SCHEMAS, SUFFIXES, Dear
from load import measure, repeatedly, warm_up
from probing import Client, Noticed, Prepared, judges_cpu_s, judges_of, memory_mb, noticing, own_cpu_s, prepared
from rows import BY_ID, NEW_SUBJECT, NEW_TEXT, NEW_VERSION, Row, widen
from servers import start_registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dear import Asked, DearSchema
    from load import Run
    from plan import Plan
    from servers import Server
    from stores import Stores
    from table import Scores

_CALLERS: Final = 8
_FOR_ATTACKERS: Final = 19
"""The priority of their threads: they stand for other machines, and must not take the processor from other clients."""
_WARM_UP_S: Final = 5
_INDEX_PAUSE_S: Final = 0.5
_KILL_EVERY_S: Final = 0.2
_ORDINARY: Final = (NEW_TEXT, NEW_SUBJECT, NEW_VERSION)
_SMALL: Final = {
    "AVRO": ('"int"', '"string"'),
    "PROTOBUF": ('syntax = "proto3"; message A { int32 a = 1; }', 'syntax = "proto3"; message A { string a = 1; }'),
    "JSON": ('{"type": "integer"}', '{"type": "string"}'),
}
"""Two versions of a schema of each language, of which the second cannot read the first."""
_MOST_DEARER: Final = 1.03
_FAR_OVER_S: Final = 10
_CHECK_DEADLINE_S: Final = 120
_EXIT_CODES: Final = frozenset({0, 1, 4})
"""Of a check with an answer: compatible, not compatible, cannot tell."""


def compare(plan: Plan, stores: Stores, folder: Path, scores: Scores, *, before: str = "") -> None:
    """Measure, and print figures and goals; ``before`` is the program of another version, for ordinary requests."""
    scores.begin(f"{stores.title}: the dearest known requests")
    _score_each(plan, stores, folder, scores)
    _score_first_use(plan, stores, folder, scores)
    _score_others(plan, stores, folder, scores)
    _score_ordinary(plan, stores, folder, scores, before)
    if stores.database_pid is None:  # a check uses no store
        _score_checks(plan, scores)


def _is_chosen(name: str) -> bool:
    return any(part in name for part in os.environ.get("HOSTILE", "").split(";"))


# --- one request at a time --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cost:
    """The cost of one dear request: the most of several requests; of memory, the part that each added."""

    name: str
    status: str
    own_ms: float
    judges_s: float
    memory_mb: float
    held_ms: float
    health_ms: float


_COLUMNS: Final = (
    ("CPU of the server", "own_ms", 50.0, " ms"),
    ("CPU of a judge", "judges_s", 5.0, " s"),
    ("memory that stays", "memory_mb", 16.0, " MB"),
    ("the loop is held", "held_ms", 50.0, " ms"),
    ("/health/live, p99", "health_ms", 100.0, " ms"),
)


def _score_each(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    costs: list[_Cost] = []
    print(f"  {'':52} {'status':>6} {'CPU ms':>8} {'judge s':>8} {'MB':>6} {'held ms':>8} {'health ms':>9}", flush=True)
    with start_registry(stores.copied(plan.smallest), folder) as server:
        _await_index(server)
        _load_languages(server)
        for dear in (each for each in DEAR if _is_chosen(each.name)):
            cost = _cost(server, dear, times=max(1, plan.rounds // 2))
            costs.append(cost)
            print(
                f"  {cost.name:52} {cost.status:>6} {cost.own_ms:8.0f} {cost.judges_s:8.2f} {cost.memory_mb:6.1f} "
                f"{cost.held_ms:8.0f} {cost.health_ms:9.0f}",
                flush=True,
            )
    for what, column, goal, unit in _COLUMNS:
        worst = max(costs, key=lambda cost: getattr(cost, column))
        scores.at_most(f"{what}, at most", getattr(worst, column), goal, unit=unit)
        over = [cost.name for cost in costs if getattr(cost, column) > goal]
        print(f"    the most: {worst.name}" + (f"; over the goal: {len(over)} of {len(costs)}" if over else ""))


def _cost(server: Server, dear: Dear, *, times: int) -> _Cost:
    """Send a request several times, of another number each time; the first one may load modules, and is not counted.

    Each is sent twice: CPU time is measured without requests of the health beside it. Of a request that is far over the
    goal, the first one counts, and one more.
    """
    client = Client(server.port)
    first = _sent(server, client, dear)
    memory = memory_mb(server.pid)
    alone, watched = [], []
    if first.judges_s > _FAR_OVER_S:
        alone, watched = [_sent(server, client, dear, watches=False)], [first]
    else:
        for _ in range(times):
            alone.append(_sent(server, client, dear, watches=False))
            watched.append(_sent(server, client, dear))
    client.close()
    return _Cost(
        dear.name,
        "/".join(sorted({str(each.status) for each in watched})),
        max(each.own_s for each in alone) * 1000,
        max(each.judges_s for each in alone),
        (memory_mb(server.pid) - memory) / (2 * times),
        max(each.held_s for each in watched) * 1000,
        max(each.health_p99_s for each in watched) * 1000,
    )


def _sent(server: Server, client: Client, dear: Dear, *, watches: bool = True) -> Noticed:
    """Send a request after those that it needs, and return what was noticed, of its health only if that is wanted."""
    before, asked = dear.make(next(_numbers))
    for each in before:
        client.ask(*each)
    own_s, judges_s = own_cpu_s(server.pid), judges_cpu_s(server.pid)
    with noticing(server.port, server.pid) if watches else nullcontext(Noticed()) as found:
        found.status, _ = client.ask(*asked)
    found.own_s, found.judges_s = own_cpu_s(server.pid) - own_s, judges_cpu_s(server.pid) - judges_s
    return found


def _await_index(server: Server) -> None:
    """Return when the search index of a copied store is built, which is done once."""
    client = Client(server.port)
    while True:
        status, content = client.ask("GET", "/inspect/v1")
        if status != HTTPStatus.OK or json.loads(content)["index"]["state"] in {"current", "off"}:
            break
        time.sleep(_INDEX_PAUSE_S)
    client.close()


def _load_languages(server: Server) -> None:
    """Compare two small schemas of each language, in the server and as a draft: its code is loaded once."""
    client = Client(server.port)
    for schema_type, (earlier, later) in _SMALL.items():
        subject = f"small-{schema_type}"
        body = {"schema": later, "schemaType": schema_type}
        client.ask("POST", f"/subjects/{subject}/versions", {"schema": earlier, "schemaType": schema_type})
        client.ask("POST", f"/compatibility/subjects/{subject}/versions?verbose=true", body)
        client.ask("POST", "/inspect/v1/verdict", {"draft": {**body, "subject": subject}})
        client.ask("GET", f"/ui/subjects/{subject}/versions/1")
    client.close()


def _score_first_use(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Measure how much longer a small comparison takes when no judge runs, and the memory of the judge then."""
    took_s: list[float] = []
    judges_s: list[float] = []
    memory: list[float] = []
    with start_registry(stores.copied(plan.smallest), folder) as server:
        client = Client(server.port)
        small = Dear("small", _small)
        _sent(server, client, small, watches=False)
        for _ in range(plan.rounds + 1):
            _end_judges(server)
            before, (method, path, body) = small.make(next(_numbers))
            for each in before:
                client.ask(*each)
            cpu_s, begun = judges_cpu_s(server.pid), time.perf_counter()
            client.ask(method, path, body)
            cold_s = time.perf_counter() - begun
            judges_s.append(judges_cpu_s(server.pid) - cpu_s)
            begun = time.perf_counter()
            client.ask(method, path, {**body, "schema": body["schema"] + " "})
            took_s.append(cold_s - (time.perf_counter() - begun))
            memory += [memory_mb(judge) for judge in judges_of(server.pid)]
        client.close()
    scores.at_most("first use of a judge: longer by", statistics.median(took_s) * 1000, 300, unit=" ms")
    scores.at_most("first use of a judge: CPU", statistics.median(judges_s) * 1000, 300, unit=" ms")
    scores.at_most("memory of a judge", max(memory, default=0.0), 60, unit=" MB")


def _small(number: int) -> tuple[Sequence[Asked], Asked]:
    """Return a comparison that goes to a judge at once, although its schemas are small: of JSON Schema under SOUND."""
    subject, text = f"small-{number}", '{{"title": "t{}", "properties": {{"a": {{"type": "{}"}}}}}}'
    before = (
        ("PUT", f"/config/{subject}", {"compatibility": "FULL", "compatibilityPolicy": "SOUND"}),
        ("POST", f"/subjects/{subject}/versions", {"schema": text.format(number, "integer"), "schemaType": "JSON"}),
    )
    body = {"schema": text.format(number, "string"), "schemaType": "JSON"}
    return before, ("POST", f"/compatibility/subjects/{subject}/versions?verbose=true", body)


def _counted() -> Iterator[int]:
    number = time.time_ns() // 1_000_000 % 1_000_000_000
    while True:
        number += 1
        yield number


_numbers: Final = _counted()


# --- others meanwhile -------------------------------------------------------------------------------------------------


class _Attackers:
    """Callers that send dear requests without pause, each from an address of its own; the requests are made before."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_over = threading.Event()
        self.answered = 0
        chosen = [each for each in DEAR if _is_chosen(each.name)]
        self._threads = []
        for number in range(_CALLERS):
            made = [each.make(next(_numbers)) for each in (*chosen[number:], *chosen[:number])]
            requests = [prepared(*request) for before, asked in made for request in (*before, asked)]
            self._threads.append(threading.Thread(target=self._attack, args=(number, requests)))

    def _attack(self, number: int, requests: Sequence[Prepared]) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _FOR_ATTACKERS)
        client = Client(self._server.port, f"127.3.0.{number + 1}")
        for request in itertools.cycle(requests):
            if self._is_over.is_set():
                return
            with suppress(OSError):
                client.send(request)
            self.answered += 1

    @contextmanager
    def attacking(self) -> Iterator[None]:
        """Attack while the block runs."""
        for each in self._threads:
            each.start()
        try:
            yield
        finally:
            self._is_over.set()
            for each in self._threads:
                each.join()


def _score_others(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Compare answers by id with and without callers that send dear requests without pause."""
    quiet: list[Run] = []
    beside: list[Run] = []
    health_s: list[float] = []
    with start_registry(stores.copied(plan.smallest), folder) as server:
        _await_index(server)
        requests = BY_ID.requests(plan.smallest)
        warm_up(requests, [server])
        with _Attackers(server).attacking():  # the code of each language is loaded once
            time.sleep(_WARM_UP_S)
        for _ in range(plan.rounds):
            quiet.append(measure(requests, [server], seconds=plan.seconds))
            attackers = _Attackers(server)
            with attackers.attacking(), noticing(server.port, server.pid) as noticed:
                beside.append(measure(requests, [server], seconds=plan.seconds * 2))
            health_s += noticed.health_s
            print(f"  {attackers.answered:,} dear requests, {beside[-1].count:,} answers by id meanwhile", flush=True)
    p99 = [run.p99_ms / other.p99_ms for run, other in zip(beside, quiet, strict=True)]
    print(f"  by id, p99: {_median_p99(quiet):.1f} ms quiet, {_median_p99(beside):.1f} ms beside {_CALLERS} callers")
    scores.at_most(f"by id, p99, beside {_CALLERS} such callers", statistics.median(p99), 3, unit=" x")
    ordered = sorted(health_s)
    scores.at_most("/health/live meanwhile, p99", ordered[len(ordered) * 99 // 100] * 1000, 100, unit=" ms")


def _median_p99(runs: list[Run]) -> float:
    return statistics.median(run.p99_ms for run in runs)


# --- ordinary requests ------------------------------------------------------------------------------------------------


def _score_ordinary(plan: Plan, stores: Stores, folder: Path, scores: Scores, before: str) -> None:
    """Compare the CPU time of the server for ordinary requests: quiet, loaded, without judges, while these are killed.

    What dear requests take of the server by themselves is measured before, and subtracted.
    """
    with ExitStack() as stack:
        server = stack.enter_context(start_registry(stores.copied(plan.smallest), folder))
        other = None
        if before:
            other = stack.enter_context(start_registry(stores.copied(plan.smallest), folder, program=before))
        for each in filter(None, (server, other)):
            _await_index(each)
            widen(each)
            for row in _ORDINARY:
                measure(row.requests(plan.smallest), [each], seconds=1)
        for row in _ORDINARY:
            _score_row(row, plan, server, other, scores)


def _score_row(row: Row, plan: Plan, server: Server, other: Server | None, scores: Scores) -> None:
    requests = row.requests(plan.smallest)

    def microseconds(on: Server, dear: _DearCaller | None = None) -> float:
        begun_s, count = own_cpu_s(on.pid), 0 if dear is None else dear.count
        run = measure(requests, [on], seconds=plan.seconds)
        took_s = own_cpu_s(on.pid) - begun_s
        if dear is not None:
            took_s -= (dear.count - count) * dear.each_s
        return took_s * 1e6 / run.count

    found: dict[str, list[float]] = {"loaded": [], "without judges": [], "while judges are killed": [], "before": []}
    quiet_us = []
    for _ in range(plan.rounds):
        quiet = microseconds(server)
        quiet_us.append(quiet)
        if other is not None:
            found["before"].append(quiet / microseconds(other))
        _end_judges(server)
        found["without judges"].append(microseconds(server) / quiet)
        with _one_dear_caller(server) as dear:
            found["loaded"].append(microseconds(server, dear) / quiet)
        with _one_dear_caller(server) as dear, repeatedly(lambda: _end_judges(server), pause_s=_KILL_EVERY_S):
            found["while judges are killed"].append(microseconds(server, dear) / quiet)
    print(f"  {row.name}: {statistics.median(quiet_us):.0f} us of CPU, quiet", flush=True)
    for how, ratios in found.items():
        if ratios:
            what = f"{row.name}: beside the version before" if how == "before" else f"{row.name}: {how}"
            scores.at_most(what, statistics.median(ratios), _MOST_DEARER, unit=" x")


@dataclass
class _DearCaller:
    """How many dear requests were answered, and the CPU time of the server for each, without others beside it."""

    each_s: float
    count: int = 0


@contextmanager
def _one_dear_caller(server: Server) -> Iterator[_DearCaller]:
    """Let one caller compare dear schemas while the block runs."""
    compared = next(each for each in DEAR if each.name == "test, allOf, 25 deep")
    client = Client(server.port, "127.3.1.1")
    before, (method, path, body) = compared.make(next(_numbers))
    for each in (*before, (method, path, body)):
        client.ask(*each)
    begun_s = own_cpu_s(server.pid)
    client.ask(method, path, body)
    caller = _DearCaller(own_cpu_s(server.pid) - begun_s)

    def ask() -> None:
        with suppress(OSError):
            client.ask(method, path, body)
        caller.count += 1

    with repeatedly(ask):
        yield caller
    client.close()


def _end_judges(server: Server) -> None:
    for judge in judges_of(server.pid):
        with suppress(ProcessLookupError):
            os.kill(judge, signal.SIGKILL)


# --- checks -----------------------------------------------------------------------------------------------------------


def _score_checks(plan: Plan, scores: Scores) -> None:
    """Check a change of each dear schema as a build server does: the file before is that of the last commit."""
    del plan
    took: list[tuple[float, str, int]] = []
    for schema in (each for each in SCHEMAS if _is_chosen(each.name)):
        for policy in ("STRICT", "SOUND"):
            seconds, code = _checked(schema, policy)
            took.append((seconds, f"{schema.name}, {policy}", code))
            print(f"  check of {took[-1][1]:48} {seconds:6.1f} s, exit code {code}", flush=True)
    scores.at_most("check of such a change", max(took)[0], 10, unit=" s")
    scores.at_most("of these, without an answer", sum(code not in _EXIT_CODES for _, _, code in took), 0)


def _checked(schema: DearSchema, policy: str) -> tuple[float, int]:
    """Return the CPU time of a check, and its exit code; -1 if it does not end."""
    program = str(Path(sys.executable).with_name("counterfoil"))
    with tempfile.TemporaryDirectory(prefix="counterfoil-bench-") as name:
        folder = Path(name)
        file = folder / f"dear.{SUFFIXES[schema.schema_type]}"
        git = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost")
        settings = f"schemas:\n  - {{files: {file.name}, subject: dear}}\n"
        earlier, later = schema.pair(1)
        (folder / "counterfoil.yaml").write_text(settings)
        file.write_text(earlier)
        for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
            subprocess.run([*git, *command], cwd=folder, check=True, capture_output=True)
        file.write_text(later)
        command = [program, "check", "--offline", "--against", "HEAD", "--level", "FULL", "--policy", policy]
        before = os.times()
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=_CHECK_DEADLINE_S)
        except subprocess.TimeoutExpired:
            return float(_CHECK_DEADLINE_S), -1
        after = os.times()
        if done.returncode not in _EXIT_CODES:
            print(done.stderr.decode()[:300], done.stdout.decode()[:300])
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return spent, done.returncode
