"""`can-i-deploy` with 1,000 applications, 5,000 expectations and 20 environments, on SQLite and PostgreSQL.

Also a proposed schema of a subject whose contract has 300 versions: checked in one environment, and tested for a
registration that the consumers of all environments decide on.

100 applications offer a contract each, and 900 read: one contract, the hub, is read by all of them, the others by 41 on
average. Everything is live in every environment. Each figure is the time of the request in the process of the server,
without a network, with its CPU time: *cold* is the first one after a start, *cached* the least of the next ten. Beside
them are the goals, for the time on a machine that does nothing else.

``--store sqlite`` or ``--store postgres`` takes one store; ``SCALE=0.1`` makes all numbers smaller. ``--assert`` exits
with 1 if a goal is missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy"))

from counterfoil.registry.app import assemble
from counterfoil.registry.contracts.records import DEPLOYMENTS
from counterfoil.registry.in_process import exchange
from counterfoil.registry.serving.server import leave_to_the_process
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.writes import together
from counterfoil.schema.rest.contracts import Deployment, Liveness
from local_services.postgres import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

SCALE = float(os.environ.get("SCALE", "1"))
PRODUCERS, CONSUMERS, ENVIRONMENTS = int(100 * SCALE), int(900 * SCALE), max(1, int(20 * SCALE))
EXPECTATIONS = int(5000 * SCALE)
VERSIONS = int(300 * SCALE)
"""How many versions the contract of the proposed schema has."""
GOAL_COLD_MS, GOAL_CACHED_MS = 500, 50
FIELDS = 20
AT_ONCE = 100
BASE = "/contracts/v1"
TYPES = ("string", "long", "double", "boolean", "int")


def schema(*, is_changed: bool) -> str:
    fields: list[Any] = [{"name": f"field_{k}", "type": TYPES[k % 5]} for k in range(FIELDS)]
    if is_changed:
        fields[-1] = {"name": "added", "type": ["null", "string"], "default": None}
    return json.dumps({"type": "record", "name": "Event", "namespace": "shop", "fields": fields})


def promise(number: int, version: str, *, is_changed: bool = False) -> dict[str, Any]:
    document = f"""\
apiVersion: v3.1.0
kind: DataContract
id: contract-{number}
version: {version}
status: active
schema:
  - name: Event
    physicalName: topic-{number}
    logicalType: object
    authoritativeDefinitions:
      - {{type: schema, url: ./event.avsc}}
    properties:
      - name: field_1
        logicalType: integer
        required: true
"""
    return {"content": document, "schemas": {"./event.avsc": {"schema": schema(is_changed=is_changed)}}}


def port(contract: int, chosen: random.Random) -> str:
    reads = sorted(chosen.sample(range(FIELDS - 1), 4))
    listed = "\n".join(f"          - {{path: field_{k}, required: true}}" for k in reads)
    return f"""\
  - name: input-{contract}
    version: "1"
    contractId: contract-{contract}
    customProperties:
      - property: reads
        value:
{listed}
"""


def expectations() -> list[dict[str, Any]]:
    """Return the files of all consumers: the hub is read by each, the rest is spread over the other contracts."""
    chosen = random.Random(7)
    read = [[0] for _ in range(CONSUMERS)]
    for number in range(EXPECTATIONS - CONSUMERS):
        others = sorted(set(range(1, PRODUCERS)) - set(read[number % CONSUMERS]))
        read[number % CONSUMERS].append(chosen.choice(others))
    return [
        {
            "content": f"apiVersion: v1.0.0\nkind: DataProduct\nid: consumer-{number}\nname: consumer {number}\n"
            "status: active\ninputPorts:\n" + "".join(port(each, chosen) for each in contracts)
        }
        for number, contracts in enumerate(read)
    ]


class Server:
    """A server on ``url`` in this process."""

    def __init__(self, url: str) -> None:
        self.storage = open_store(url)
        self._app = assemble(self.storage, ServerSettings(store=url))

    async def send(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of the response, which must be a success."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        status, _, answer = await exchange(self._app, method, path, headers, data)
        assert status == 200, (status, answer[:500])
        return json.loads(answer)


async def all_of(requests: Iterable[Awaitable[Any]]) -> None:
    waiting = list(requests)
    for first in range(0, len(waiting), AT_ONCE):
        await asyncio.gather(*waiting[first : first + AT_ONCE])


async def fill(url: str) -> None:
    server = Server(url)

    def publish(application: str, version: str, contract: dict[str, Any]) -> Awaitable[Any]:
        body = {"application": application, "version": version, "contracts": [contract]}
        return server.send("POST", f"{BASE}/publish", body)

    await all_of(publish(f"producer-{k}", "1", promise(k, "1.0.0")) for k in range(PRODUCERS))
    await all_of(publish(f"consumer-{k}", "1", each) for k, each in enumerate(expectations()))
    await all_of(server.send("PUT", f"{BASE}/environments/env-{k}", {}) for k in range(ENVIRONMENTS))
    names = [*(f"producer-{k}" for k in range(PRODUCERS)), *(f"consumer-{k}" for k in range(CONSUMERS))]
    for place in (f"env-{k}" for k in range(ENVIRONMENTS)):  # as requests do it, but in one write for each environment
        live = (Deployment(f"{place}-{name}", place, name, "1", Liveness.DEPLOYED) for name in names)
        await server.storage.commit(together([DEPLOYMENTS.write(each, revision=0) for each in live]))
    for number in (0, 1):
        await publish(f"producer-{number}", "2", promise(number, "1.1.0", is_changed=True))
    await publish("consumer-0", "2", expectations()[0])
    for number in range(VERSIONS):
        await publish("producer-2", f"1-{number}", promise(2, f"1.{number + 1}.0", is_changed=number % 2 == 0))
    await server.send("POST", "/subjects/topic-2-value/versions", {"schema": schema(is_changed=False)})
    await server.send("PUT", "/config/topic-2-value", {"compatibilityPolicy": "CONSUMERS"})
    await server.storage.close()


class Taken(NamedTuple):
    """The milliseconds of a request: of the clock, and of the CPU."""

    clock: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.clock:7.1f} ms (CPU {self.cpu:6.1f})"


async def measure(url: str, application: str) -> tuple[int, Taken, Taken]:
    """Return the number of pairs, and the time of the first request after a start and of the fastest later one."""
    server = Server(url)
    path = f"{BASE}/can-i-deploy?application={application}&version=2&environment=env-{ENVIRONMENTS - 1}"
    await server.send("GET", f"{BASE}/environments")  # the connection exists, and routes are compiled
    leave_to_the_process()  # as a server does when it starts
    taken = []
    for _ in range(11):
        begin, cpu = time.perf_counter(), time.process_time()
        found = await server.send("GET", path)
        taken.append(Taken((time.perf_counter() - begin) * 1000, (time.process_time() - cpu) * 1000))
    await server.storage.close()
    assert found["deployable"] is True, found["reasons"][:3]
    return len(found["reasons"]), taken[0], min(taken[1:])


async def measure_proposal(url: str, path: str, body: dict[str, Any]) -> tuple[Any, Taken, Taken]:
    """Return the answer about a proposed schema, and the time of the first request and of the fastest later one."""
    server = Server(url)
    await server.send("GET", f"{BASE}/environments")
    leave_to_the_process()
    taken = []
    for _ in range(11):
        begin, cpu = time.perf_counter(), time.process_time()
        found = await server.send("POST", path, body)
        taken.append(Taken((time.perf_counter() - begin) * 1000, (time.process_time() - cpu) * 1000))
    await server.storage.close()
    return found, taken[0], min(taken[1:])


def run_proposals(url: str) -> bool:
    proposed = {"schema": schema(is_changed=True)}
    check = {"subject": "topic-2-value", "schema": proposed, "environment": "env-0", "policy": "consumers"}
    fine = True
    for what, path, body in (
        ("check of a schema", f"{BASE}/check", check),
        ("test of a registration", "/compatibility/subjects/topic-2-value/versions", proposed),
    ):
        found, cold, cached = asyncio.run(measure_proposal(url, path, body))
        assert found.get("deployable", found.get("is_compatible")) is True, found
        fine = fine and cached.clock < GOAL_CACHED_MS
        print(f"  {what:<24}{VERSIONS:>5} versions cold {cold}   cached {cached}, goal {GOAL_CACHED_MS}")
    return fine


def run(store: str, url: str) -> bool:
    begin = time.perf_counter()
    asyncio.run(fill(url))
    print(f"{store}: filled in {time.perf_counter() - begin:.0f} s")
    fine = True
    for what, application in (
        ("producer of a contract", "producer-1"),
        ("producer of the hub", "producer-0"),
        ("consumer", "consumer-0"),
    ):
        pairs, cold, cached = asyncio.run(measure(url, application))
        fine = fine and cold.clock < GOAL_COLD_MS and cached.clock < GOAL_CACHED_MS
        goals = f"cold {cold}, goal {GOAL_COLD_MS}   cached {cached}, goal {GOAL_CACHED_MS}"
        print(f"  {what:<24}{pairs:>5} pairs   {goals}")
    return run_proposals(url) and fine


def main() -> int:
    stores = [sys.argv[sys.argv.index("--store") + 1]] if "--store" in sys.argv else ["sqlite", "postgres"]
    print(f"{PRODUCERS + CONSUMERS} applications, {EXPECTATIONS} expectations, {ENVIRONMENTS} environments")
    fine = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if "sqlite" in stores:
            fine &= run("SQLite", f"sqlite:///{folder}/registry.db")
        if "postgres" in stores:
            fine &= run("PostgreSQL", stack.enter_context(PostgresServer()).create_database("contracts"))
    return 0 if fine or "--assert" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
