"""Associations go along, from a store and over the API."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from counterfoil.registry.moving.facts import Clashes
from counterfoil.registry.moving.importing import FactImport, MoveProgress
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.sources import facts_of
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget
from counterfoil.registry.store.memory import MemoryStorage
from strategies.registry.driver import InProcessRegistry
from strategies.registry.peers import ours, peer_of

QUIET = MoveProgress()


def association(name: str, **fields: Any) -> dict[str, Any]:
    return {"resourceName": name, "resourceNamespace": "ns", "resourceId": f"id of {name}", "associations": [fields]}


async def with_associations() -> tuple[InProcessRegistry, MemoryStorage]:
    storage = MemoryStorage()
    registry = InProcessRegistry(storage)
    await registry.register("shared", '"string"')
    for body in (
        association("t1", associationType="key", subject="shared", lifecycle="WEAK"),
        association("t2", associationType="value", schema={"schema": '"int"'}),
        association("t3", associationType="value", subject="shared", lifecycle="WEAK", frozen=True),
    ):
        assert (await registry.post("/associations", body)).status == 200
    return registry, storage


async def records(storage: MemoryStorage, *gone: str) -> list[Any]:
    found = await StoreSource(storage, origin="").records()
    return [(each.kind, each.key, {k: v for k, v in each.document.items() if k not in gone}) for each in found]


def test_associations_over_the_api_are_as_a_store_keeps_them() -> None:
    async def check() -> None:
        (registry, first), second = await with_associations(), MemoryStorage()
        async with peer_of(ours(registry)) as peer:
            source = PeerSource(peer)
            outcome = await FactImport(lambda: facts_of(source), StoreTarget(second), QUIET).run(verify=True)
        assert outcome.written["record"] == 9
        assert sorted(await records(second)) == sorted(await records(first))

    asyncio.run(check())


@pytest.mark.slow
@pytest.mark.parametrize("from_store", [True, False])
def test_associations_are_made_over_the_api(*, from_store: bool) -> None:
    async def check() -> None:
        (registry, first), second = await with_associations(), MemoryStorage()
        target = InProcessRegistry(second)
        async with peer_of(ours(registry)) as peer, peer_of(ours(target)) as other:
            source = StoreSource(first, origin="") if from_store else PeerSource(peer)
            carrying = FactImport(lambda: facts_of(source), PeerTarget(other, QUIET), QUIET)
            await carrying.run(verify=True)
            assert not (await carrying.run()).written
        own = ("guid", "createTs", "updateTs")
        assert sorted(await records(second, *own)) == sorted(await records(first, *own))

    asyncio.run(check())


def test_another_association_clashes() -> None:
    async def check() -> None:
        registry, _ = await with_associations()
        target = InProcessRegistry()
        await target.register("shared", '"string"')
        other = association("t3", associationType="value", subject="shared", lifecycle="WEAK")
        assert (await target.post("/associations", other)).status == 200
        async with peer_of(ours(registry)) as peer, peer_of(ours(target)) as place:
            source = PeerSource(peer)
            with pytest.raises(Clashes, match="association 'topic/id of t3/value' is there with other content"):
                await FactImport(lambda: facts_of(source), PeerTarget(place, QUIET), QUIET).run()

    asyncio.run(check())
