"""The search of ``tests/fuzz/cost.py`` over HTTP: small requests that cost a served registry much, of each kind.

    python benchmarks/http/dear_search.py [route ...]

A try sends the requests of a genome to one registry with a SQLite file, and counts the CPU time of the server and of
its judges, the memory that stays, and the time for which the event loop is held. What exceeds COST_LIMIT_S (5) in the
judges, COST_LIMIT_MB (16), or 50 ms in the server, or is answered 500, is printed with its genome, and the exit code
is 1. FUZZ_SECONDS (60) is the time for each route, or FUZZ_TRIES the number of tries; see :mod:`cost` and ROUTES.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

PROJECT = Path(__file__).parents[2]
sys.path[:0] = [str(PROJECT / each) for each in ("tests/fuzz", "tests", "deploy")]

from cost import Cost, search  # noqa: E402 - the folders are added to the path above
from probing import Client, judges_cpu_s, memory_mb, noticing, own_cpu_s, prepared  # noqa: E402
from routes import ROUTES  # noqa: E402

from local_services import RegistryProcess  # noqa: E402

if TYPE_CHECKING:
    from routes import Route

    from strategies.cases.dear_inputs import Genome

MAX_BYTES: Final = int(os.environ.get("FUZZ_MAX_BYTES") or 100_000)
"""The largest request that is sent; FUZZ_MAX_BYTES."""

MOST_OWN_S: Final = float(os.environ.get("COST_LIMIT_OWN_S") or 0.05)
"""The CPU time of the server itself, without its judges; COST_LIMIT_OWN_S."""

_OWN_FACTOR: Final = 5 / 0.05
"""A second of the server itself counts as so many of a judge, which holds nobody up."""
_DEFECT: Final = 500
_numbers = itertools.count(1)


def measured(registry: RegistryProcess, client: Client, route: Route, genome: Genome) -> Cost:
    """Send the requests of a genome, and return what the last one took."""
    before, asked = route(genome, next(_numbers))
    requests = [prepared(*each) for each in (*before, asked)]
    size = max(len(each.path) + len(each.body or b"") for each in requests)
    if size > MAX_BYTES:
        return Cost(0, 0, 0)
    for each in requests[:-1]:
        client.send(each)
    own_s, judges_s, memory = own_cpu_s(registry.pid), judges_cpu_s(registry.pid), memory_mb(registry.pid)
    status, reply = client.send(requests[-1])
    own_s, judges_s = own_cpu_s(registry.pid) - own_s, judges_cpu_s(registry.pid) - judges_s
    grown = memory_mb(registry.pid) - memory
    fault = f"{status} {reply[:300]!r}" if status == _DEFECT or b"50011" in reply[:40] else ""
    if own_s > MOST_OWN_S and not fault:
        fault = _again(registry, client, route, genome)
    return Cost(max(judges_s, own_s * _OWN_FACTOR), grown, size, fault)


def _again(registry: RegistryProcess, client: Client, route: Route, genome: Genome) -> str:
    """Send the same once more, since the first one may load modules; return what is wrong, if it is again."""
    before, asked = route(genome, next(_numbers))
    for each in before:
        client.ask(*each)
    begun_s = own_cpu_s(registry.pid)
    client.ask(*asked)
    own_s = own_cpu_s(registry.pid) - begun_s
    if own_s <= MOST_OWN_S:
        return ""
    before, asked = route(genome, next(_numbers))
    for each in before:
        client.ask(*each)
    with noticing(registry.port, registry.pid) as found:
        client.ask(*asked)
    return f"{own_s * 1000:.0f} ms of the server itself; the event loop is held {found.held_s * 1000:.0f} ms"


def main() -> int:
    """Search in the routes that are named, or in all, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="counterfoil-fuzz-") as folder:
        settings = {"COUNTERFOIL_JUDGEMENT_TIMEOUT_S": "120"}
        with RegistryProcess(settings=settings, log=Path(folder) / "registry.log") as registry:
            client = Client(registry.port)
            named = {name: partial(measured, registry, client, ROUTES[name]) for name in sys.argv[1:] or ROUTES}
            try:
                return search(named, limit_s=5, limit_mb=16)
            finally:
                client.close()


if __name__ == "__main__":
    sys.exit(main())
