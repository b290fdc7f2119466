"""Bridges on every storage: restarts, writes at the same time, kills, backups and imports."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from counterfoil.registry.moving.importing import FactImport, MoveProgress
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.sources import facts_of
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget
from counterfoil.registry.store.inspection.invariants import write_check
from counterfoil.registry.store.memory import MemoryStorage
from local_services import RegistryProcess
from strategies.bridges.stories import (
    ALL,
    NEW,
    OLD,
    ONE,
    SUBJECT,
    new_bridge,
    permit,
    progress,
    proposed,
    registered,
    transit,
    verification,
)
from strategies.registry.driver import InProcessRegistry
from strategies.registry.peers import ours, peer_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from counterfoil.registry.store.protocol import Storage

AT_ONCE = 6


def test_bridges_survive_a_restart(store: Callable[[], AbstractAsyncContextManager[Storage]], store_url: str) -> None:
    async def write() -> Any:
        async with store() as storage:
            registry = InProcessRegistry(storage)
            made = await registered(registry)
            for lag in (3, 2, 1):
                await registry.post(f"{ONE}/progress", progress(made, lag=lag))
            await registry.post(f"{ONE}/verification", verification(made))
            assert (await transit(registry, "shadow")).status == 200
            return (await registry.get(ONE)).json

    async def read() -> Any:
        async with store() as storage:
            return (await InProcessRegistry(storage).get(ONE)).json

    written = asyncio.run(write())
    assert written["reports"]["progress"]["partitions"][0]["end"] == 2**40 + 1
    if store_url != "sqlite://":
        assert asyncio.run(read()) == written
        lines: list[str] = []
        assert write_check(store_url, lines.append, as_json=False), lines


def test_one_of_many_transitions_is_carried_out(run: Any) -> None:
    async def story(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        await registered(registry)
        for state in ("shadow", "planned", "shadow"):
            replies = await asyncio.gather(*(transit(registry, state) for _ in range(AT_ONCE)))
            assert Counter(reply.status for reply in replies) == {200: 1, 409: AT_ONCE - 1}
        assert len((await registry.get(f"{ONE}/transitions")).json) == 3

    run(story)


def test_one_of_many_bridges_of_a_name_is_registered(run: Any) -> None:
    async def story(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        await permit(registry)
        bodies = [proposed(registerSource=True, description=f"d{number}") for number in range(AT_ONCE)]
        replies = await asyncio.gather(*(registry.post(ALL, body) for body in bodies))
        assert Counter(reply.status for reply in replies) == {200: 1, 409: AT_ONCE - 1}
        assert (await registry.get(f"/subjects/{SUBJECT}/versions")).json == [1, 2]

    run(story)


def test_a_bridge_is_not_deleted_while_its_version_is_registered(run: Any) -> None:
    async def story(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        await permit(registry)
        for _ in range(3):
            assert (await registry.post(ALL, proposed())).status == 200
            version, deleted = await asyncio.gather(registry.register(SUBJECT, NEW), registry.delete(ONE))
            assert (version.status, deleted.status) in {(200, 204), (409, 204)}, version.text
            if version.status == 200:
                assert (await registry.delete(f"/subjects/{SUBJECT}/versions/2")).status == 200
                assert (await registry.delete(f"/subjects/{SUBJECT}/versions/2?permanent=true")).status == 200

    run(story)


def test_reports_and_transitions_do_not_lose_each_other(run: Any) -> None:
    async def story(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        made = await registered(registry)
        reports = [registry.post(f"{ONE}/progress", progress(made, epoch=each)) for each in range(AT_ONCE)]
        replies = await asyncio.gather(transit(registry, "shadow"), *reports)
        assert replies[0].status == 200
        assert {reply.status for reply in replies} <= {200, 204, 409}
        status = (await registry.get(ONE)).json
        assert (status["bridge"]["state"], status["reports"]["progress"]["epoch"]) == ("shadow", AT_ONCE - 1)

    run(story)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_server_that_is_killed_has_all_or_nothing(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path}/registry.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    with RegistryProcess(store=url) as server, ThreadPoolExecutor() as pool, httpx.Client(timeout=60) as client:
        client.post(f"{server.url}/subjects/{SUBJECT}/versions", json={"schema": OLD})
        client.put(f"{server.url}/config/{SUBJECT}", json={"incompatibleVersions": "BRIDGED"})
        for wait_s in (0, 0.01):
            body = proposed(registerSource=True)
            sent = pool.submit(httpx.post, f"{server.url}{ALL}", json=body, timeout=60)
            wait([sent], timeout=wait_s)
            server.kill()
            done = sent.exception() is None and sent.result().status_code == 200
            server.restart()
            has_bridge = client.get(f"{server.url}{ONE}").status_code == 200
            assert has_bridge or not done
            versions = client.get(f"{server.url}/subjects/{SUBJECT}/versions").json()
            assert versions == ([1, 2] if has_bridge else [1])


# --- backups and imports ----------------------------------------------------------------------------------------------

QUIET = MoveProgress()
OWN = frozenset({"createTs", "updateTs", "receivedTs", "history"})


async def _records(storage: Storage, *, ignored: frozenset[str] = frozenset()) -> list[Any]:
    found = await StoreSource(storage, origin="").records()
    return sorted(
        (each.kind, each.key, {key: value for key, value in each.document.items() if key not in ignored})
        for each in found
    )


async def _filled(storage: Storage) -> InProcessRegistry:
    registry = InProcessRegistry(storage)
    made = await registered(registry)
    await registry.post(ALL, new_bridge(plan=new_bridge()["plan"].replace("rides-v2-to-v1", "a-second")))
    await registry.post(f"{ONE}/progress", progress(made, lag=7))
    await registry.post(f"{ONE}/progress", progress(made, lag=6))
    await registry.post(f"{ONE}/readers", {"readers": ["billing"]})
    for state in ("shadow", "running", "caught-up"):
        assert (await transit(registry, state)).status == 200
    await registry.post(f"{ONE}/verification", verification(made))
    return registry


def test_a_restored_store_has_the_same_bridges(run: Any) -> None:
    async def story(storage: Storage) -> None:
        await _filled(storage)
        other = MemoryStorage()
        source = StoreSource(storage, origin="")
        await FactImport(lambda: facts_of(source), StoreTarget(other), QUIET).run(verify=True)
        assert await _records(other) == await _records(storage)
        assert (await transit(InProcessRegistry(other), "verified")).status == 200

    run(story)


def test_bridges_are_moved_over_the_api() -> None:
    async def story() -> None:
        first, second, third = MemoryStorage(), MemoryStorage(), MemoryStorage()
        registry, target = await _filled(first), InProcessRegistry(second)
        async with peer_of(ours(registry)) as peer, peer_of(ours(target)) as other:
            source = PeerSource(peer)
            await FactImport(lambda: facts_of(source), StoreTarget(third), QUIET).run(verify=True)
            moving = FactImport(lambda: facts_of(source), PeerTarget(other, QUIET), QUIET)
            await moving.run(verify=True)
            assert not (await moving.run()).written
        assert await _records(third) == await _records(first)
        assert await _records(second, ignored=OWN) == await _records(first, ignored=OWN)

    asyncio.run(story())
