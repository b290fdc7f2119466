"""Contracts on every storage: restarts, deployments at the same time, writes by others, backups and imports."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from counterfoil.registry.contracts.records import LIVE_HISTORIES, PORTS_KIND
from counterfoil.registry.moving.importing import FactImport, MoveProgress
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.sources import facts_of
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget
from counterfoil.registry.store.inspection.invariants import write_check
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST, record_write, together
from strategies.contracts.stories import (
    BASE,
    PRODUCTION,
    can_deploy,
    deploy,
    expectation,
    live,
    promise,
    publish,
    schema,
)
from strategies.registry.driver import InProcessRegistry
from strategies.registry.peers import ours, peer_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from counterfoil.registry.store.protocol import Storage

AT_ONCE = 6
QUIET = MoveProgress()


async def story(registry: InProcessRegistry) -> None:
    await registry.put(f"{BASE}/applications/shop", {"owner": "checkout"})
    await live(registry, "order_id", "total")
    await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)), branch="main")
    await registry.put(PRODUCTION, {"production": True, "verifiedWithinDays": 30})
    for version in ("2.1.0", "2.2.0"):
        result = {"check": "decode", "outcome": "passed", "records": 10}
        body = {"contract": "orders", "contractVersion": version, "environment": "production", "results": [result]}
        made = await registry.post(f"{BASE}/verifications", {**body, "sample": {"topic": "orders"}})
        assert made.status == 200, made.text
    await registry.register("orders-value", schema())
    for paths in ({"total": 3}, {"total": 1, "status": 1}):
        read = {"schemaId": 1, "messages": 10, "sampled": 3, "paths": paths}
        await registry.post(f"{BASE}/usage", {"application": "audit", "version": "1", "reads": [read]})
    counts = [{"schemaId": 1, "count": 9}]
    await registry.post(f"{BASE}/topics/orders/stats", {"records": 10, "tombstones": 1, "schemas": counts})
    query = "application=shop&version=2&environment=production"
    broken, _ = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json["reasons"]
    until = (datetime.now(UTC).date() + timedelta(days=30)).isoformat()
    approval = {"fingerprints": [broken["fingerprint"]], "owner": "ana", "reason": "agreed", "until": until}
    assert (await registry.post(f"{BASE}/approvals", approval)).status == 200
    await publish(registry, "shop", "3", (promise("3.0.0"), schema(total=None)))
    assert (await registry.put(f"{BASE}/migrations/orders-2-3", MIGRATION)).status == 200


async def state(registry: InProcessRegistry) -> Any:
    """Return what clients see, without the times and ids that each registry has of its own."""
    verdicts = [await can_deploy(registry, "shop", version) for version in ("1", "2", "3", "4")]
    live_now = (await registry.get(f"{PRODUCTION}/deployments")).json
    approvals = (await registry.get(f"{BASE}/approvals")).json["approvals"]
    verifications = (await registry.get(f"{BASE}/verifications")).json
    return (
        verdicts,
        [{**each, "createTs": 0} for each in approvals],
        sorted((each["id"], each["hash"], each["readTs"]) for each in verifications),
        [(each["application"], each["version"]) for each in live_now],
        (await registry.get(f"{BASE}/contracts")).json,
        [
            {key: value for key, value in each.items() if key not in {"firstSeen", "lastSeen"}}
            for each in (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json
        ],
        {
            path: each["count"]
            for use in (await registry.get(f"{BASE}/usage")).json
            for path, each in use["paths"].items()
        },
        (await registry.get(f"{BASE}/topics")).json,
        {**(await registry.get(f"{BASE}/migrations/orders-2-3/status")).json, "createTs": 0},
    )


MIGRATION = {"contract": "orders", "from": "2", "to": "3", "bridge": "back", "application": "converter"}
EXPECTED = [
    (True, ["OK", "OK"]),
    (True, ["APPROVED_BREAK", "APPROVED_BREAK"]),
    (True, ["APPROVED_BREAK", "APPROVED_BREAK"]),  # that its migration is not ready is a notice then
    (None, ["UNKNOWN_VERSION"]),
]


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


def test_what_another_server_writes_counts_at_once_and_old_stores_are_read(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        one, other = InProcessRegistry(storage), InProcessRegistry(storage)
        await live(one, "total")
        await publish(one, "shop", "2", (promise("2.2.0"), schema(total=None)))
        assert await can_deploy(one, "shop", "2") == await can_deploy(other, "shop", "2") == (False, ["INCOMPATIBLE"])
        await publish(other, "billing", "2", expectation("order_id"))
        await deploy(other, "billing", "2")
        assert await can_deploy(one, "shop", "2") == (True, ["OK"])
        await deploy(one, "billing", "1")
        assert await can_deploy(other, "shop", "2") == (False, ["INCOMPATIBLE"])

        stored = await storage.records(PORTS_KIND)
        assert {each.key for each in stored} == {("orders", "billing", each, "billing") for each in ("1", "2")}
        gone = (record_write(PORTS_KIND, each.key, None, revision=each.revision) for each in stored)
        await storage.commit(together(gone), by=NO_REQUEST)
        assert await can_deploy(one, "shop", "2") == (False, ["INCOMPATIBLE"])

    run(behaviour)


def test_what_readers_were_built_for_is_remembered_and_carried_over(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        one, other = InProcessRegistry(storage), InProcessRegistry(storage)
        await live(one, "total")
        await publish(one, "shop", "2", (promise("2.2.0"), schema(total="string")))
        assert await can_deploy(other, "shop", "2") == (False, ["INCOMPATIBLE"])
        await deploy(one, "shop", "2")

        async def remembered(registry: InProcessRegistry) -> Any:
            shown = (await registry.get(f"{BASE}/matrix?environment=production&application=shop")).json
            return shown["deployable"], await can_deploy(registry, "shop", "1")

        assert await remembered(other) == (False, (True, ["OK"]))
        restored, reading = MemoryStorage(), StoreSource(storage, origin="")
        await FactImport(lambda: facts_of(reading), StoreTarget(restored), QUIET).run(verify=True)
        assert await remembered(InProcessRegistry(restored)) == (False, (True, ["OK"]))
        again = [deploy(each, "shop", version) for version in ("1", "2") for each in (one, other)]
        assert {reply.status for reply in await asyncio.gather(*again)} == {200}
        [held] = (await one.get(f"{PRODUCTION}/deployments?application=shop")).json
        open_ended = [
            each.document["version"]
            for each in await storage.records(LIVE_HISTORIES.name, ("production", "shop"))
            if each.document["periods"][-1][1] is None
        ]
        assert open_ended == [held["version"]]

    run(behaviour)


def test_contracts_are_carried_over_to_a_store_and_over_the_api(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        source = InProcessRegistry(storage)
        await story(source)
        before = await state(source)

        restored, reading = MemoryStorage(), StoreSource(storage, origin="")
        await FactImport(lambda: facts_of(reading), StoreTarget(restored), QUIET).run(verify=True)
        assert await state(InProcessRegistry(restored)) == before

        target = InProcessRegistry(MemoryStorage())
        async with peer_of(ours(source), retries=0) as here, peer_of(ours(target), retries=0) as there:
            peer = PeerSource(here)
            await FactImport(lambda: facts_of(peer), PeerTarget(there, QUIET), QUIET).run(verify=True)
            assert not (
                await FactImport(lambda: facts_of(peer), PeerTarget(there, QUIET), QUIET).run(verify=True)
            ).written
        assert await state(target) == before

        other = InProcessRegistry(MemoryStorage())
        async with peer_of(ours(other), retries=0) as there:
            await FactImport(lambda: facts_of(reading), PeerTarget(there, QUIET), QUIET).run(verify=True)
        assert await state(other) == before

    run(behaviour)


def test_webhooks_survive_and_are_carried_over_with_their_secrets(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        source = InProcessRegistry(storage)
        body = {"url": "https://hooks.example/in", "secret": f"whsec_{'QUJD' * 8}", "events": ["deployment.recorded"]}
        made = (await source.post(f"{BASE}/webhooks", body)).json
        await story(source)
        assert len((await source.get(f"{BASE}/webhooks/{made['id']}/deliveries")).json) == 2

        restored, reading = MemoryStorage(), StoreSource(storage, origin="")
        await FactImport(lambda: facts_of(reading), StoreTarget(restored), QUIET).run(verify=True)
        again = InProcessRegistry(restored)
        assert (await again.get(f"{BASE}/webhooks")).json == [made]
        assert len((await again.get(f"{BASE}/webhooks/{made['id']}/deliveries")).json) == 2

        target = InProcessRegistry(MemoryStorage())
        async with peer_of(ours(target), retries=0) as there:
            await FactImport(lambda: facts_of(reading), PeerTarget(there, QUIET), QUIET).run(verify=True)
        [carried] = (await target.get(f"{BASE}/webhooks")).json
        assert (carried["url"], carried["events"]) == (made["url"], made["events"])

    run(behaviour)


def test_batches_at_the_same_time_lose_no_path(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        await registry.register("orders-value", schema())

        async def post(path: str) -> None:
            read = {"schemaId": 1, "messages": 1, "paths": {path: 1}}
            reply = await registry.post(f"{BASE}/usage", {"application": "audit", "reads": [read]})
            assert reply.status == 200, reply.text

        await asyncio.gather(*(post(f"field{number}") for number in range(AT_ONCE)))
        [use] = (await registry.get(f"{BASE}/usage")).json
        assert len(use["paths"]) == AT_ONCE

    run(behaviour)
