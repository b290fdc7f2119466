"""Contracts on every storage: restarts, deployments at the same time, backups and imports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from contract_stories import BASE, PRODUCTION, can_deploy, deploy, live, promise, publish, schema
from counterfoil.registry.moving.importing import Import
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.progress import Progress
from counterfoil.registry.moving.source import facts_of
from counterfoil.registry.moving.store.source import StoreSource
from counterfoil.registry.moving.store.target import StoreTarget
from counterfoil.registry.store.inspection.reports import write_check
from counterfoil.registry.store.memory import MemoryStorage
from registry_driver import InProcessRegistry
from registry_peers import ours, peer_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from counterfoil.registry.service.storage import Storage

AT_ONCE = 6
QUIET = Progress()


async def story(registry: InProcessRegistry) -> None:
    await registry.put(f"{BASE}/applications/shop", {"owner": "checkout"})
    await live(registry, "order_id", "total")
    await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)), branch="main")


async def state(registry: InProcessRegistry) -> Any:
    """Return what clients see, without the times and ids that each registry has of its own."""
    verdicts = [await can_deploy(registry, "shop", version) for version in ("1", "2", "3")]
    live_now = (await registry.get(f"{PRODUCTION}/deployments")).json
    return (
        verdicts,
        [(each["application"], each["version"]) for each in live_now],
        (await registry.get(f"{BASE}/contracts")).json,
        (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json,
    )


EXPECTED = [(True, ["OK"]), (False, ["INCOMPATIBLE"]), (None, ["UNKNOWN_VERSION"])]


def test_contracts_survive_a_restart(store: Callable[[], AbstractAsyncContextManager[Storage]], store_url: str) -> None:
    async def write() -> Any:
        async with store() as storage:
            registry = InProcessRegistry(storage)
            await story(registry)
            return await state(registry)

    async def read() -> Any:
        async with store() as storage:
            return await state(InProcessRegistry(storage))

    written = asyncio.run(write())
    assert written[0] == EXPECTED
    if store_url != "sqlite://":
        assert asyncio.run(read()) == written
        lines: list[str] = []
        assert write_check(store_url, lines.append, as_json=False), lines


def test_of_deployments_at_the_same_time_one_is_live(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        await registry.put(PRODUCTION, {})
        versions = [str(number) for number in range(AT_ONCE)]
        made = await asyncio.gather(*(publish(registry, "shop", each, (promise(), schema())) for each in versions))
        assert {reply.status for reply in made} == {200}
        replies = await asyncio.gather(*(deploy(registry, "shop", each) for each in versions))
        assert {reply.status for reply in replies} == {200}
        [live_now] = (await registry.get(f"{PRODUCTION}/deployments")).json
        assert live_now["id"] in {reply.json["id"] for reply in replies}

    run(behaviour)


def test_contracts_are_carried_over_to_a_store_and_over_the_api(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        source = InProcessRegistry(storage)
        await story(source)
        before = await state(source)

        restored, reading = MemoryStorage(), StoreSource(storage, origin="")
        await Import(lambda: facts_of(reading), StoreTarget(restored), QUIET).run(verify=True)
        assert await state(InProcessRegistry(restored)) == before

        target = InProcessRegistry(MemoryStorage())
        async with peer_of(ours(source), retries=0) as here, peer_of(ours(target), retries=0) as there:
            peer = PeerSource(here)
            await Import(lambda: facts_of(peer), PeerTarget(there, QUIET), QUIET).run(verify=True)
            assert not (await Import(lambda: facts_of(peer), PeerTarget(there, QUIET), QUIET).run(verify=True)).written
        assert await state(target) == before

        other = InProcessRegistry(MemoryStorage())
        async with peer_of(ours(other), retries=0) as there:
            await Import(lambda: facts_of(reading), PeerTarget(there, QUIET), QUIET).run(verify=True)
        assert await state(other) == before

    run(behaviour)
