"""Registrations where the consumers decide: the policy CONSUMERS of a config."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from counterfoil.registry.contracts.records import CONTRACTS
from counterfoil.registry.store.memory import MemoryStorage
from strategies.contracts.stories import BASE, expectation, live, promise, publish, schema
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

SUBJECT = "orders-value"


def play(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    asyncio.run(story(InProcessRegistry()))


async def begin(registry: InProcessRegistry, *reads: Any, **config: str) -> None:
    """Register the first version, and publish and deploy a producer and a consumer of these paths."""
    assert (await registry.register(SUBJECT, schema())).status == 200
    settings = {"compatibilityPolicy": "CONSUMERS", **config}
    assert (await registry.put(f"/config/{SUBJECT}", settings)).json == settings
    if reads:
        await live(registry, *reads)


async def check(registry: InProcessRegistry, text: str) -> Any:
    return (await registry.post(f"/compatibility/subjects/{SUBJECT}/versions?verbose=true", {"schema": text})).json


async def see(registry: InProcessRegistry, application: str, *paths: str, **more: str) -> None:
    read = {"subject": SUBJECT, "messages": 1, "sampled": 1, "paths": dict.fromkeys(paths, 1)}
    body = {"application": application, "reads": [read], **more}
    assert (await registry.post(f"{BASE}/usage", body)).json["stored"] == 1


def assert_names(reply: Reply, *words: str) -> None:
    assert (reply.status, reply.code) == (409, 40901)
    for word in words:
        assert word in reply.json["message"]


def test_a_version_that_breaks_a_consumer_is_refused_by_name_and_field() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry, {"path": "total", "as": "integer"}, compatibility="NONE")
        refused = await registry.register(SUBJECT, schema(total="double"))
        assert_names(refused, "breaks consumers of subject 'orders-value'", "billing 1", "total", "field total")
        checked = await check(registry, schema(total="double"))
        assert checked["is_compatible"] is False
        assert any("billing 1" in each for each in checked["messages"])
        assert (await registry.register(SUBJECT, schema(status=None))).status == 200

    play(story)


def test_a_version_that_breaks_nobody_is_accepted_whatever_the_level_says() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry, "order_id", compatibility="FULL_TRANSITIVE")
        assert await check(registry, schema(total="string")) == {"is_compatible": True, "messages": []}
        assert (await registry.register(SUBJECT, schema(total="string"))).status == 200
        of_latest = f"/compatibility/subjects/{SUBJECT}/versions/1"
        assert (await registry.post(of_latest, {"schema": schema(total="string")})).json == {"is_compatible": False}
        assert_names(await registry.register(SUBJECT, schema(order_id=None, total="string")), "billing 1", "order_id")

    play(story)


def test_the_level_decides_where_nobody_is_known() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        refused = await registry.register(SUBJECT, schema(total="string"))
        assert_names(refused, "is incompatible with an earlier version", "the level decides", "no consumer is known")
        assert (await registry.register(SUBJECT, schema(note=["null", "string"]))).status == 200

    play(story)


def test_consumers_that_were_seen_decide_and_unknown_groups_do_not() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        await see(registry, "audit", "status")
        assert_names(await registry.register(SUBJECT, schema(status="string")), "audit", "status")
        await see(registry, "nightly-job", origin="group")
        assert_names(await registry.register(SUBJECT, schema(total="string")), "nothing is known of what nightly-job")
        await see(registry, "nightly-job", "order_id")
        assert (await registry.register(SUBJECT, schema(total="string"))).status == 200

    play(story)


def test_a_consumer_group_that_an_application_declares_is_known() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry, "status")
        await see(registry, "billing-main", origin="group")
        assert_names(await registry.register(SUBJECT, schema(total="string")), "nothing is known of what billing-main")
        consumer = expectation("order_id", name="nightly", consumerGroups=["billing-main"])
        assert (await publish(registry, "nightly", "1", consumer)).status == 200
        assert (await registry.register(SUBJECT, schema(total="string"))).status == 200

    play(story)


def test_a_bridge_permits_what_breaks_consumers_as_it_permits_what_breaks_the_level() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry, "total", incompatibleVersions="BRIDGED")
        refused = await registry.register(SUBJECT, schema(total=None))
        assert_names(refused, "breaks consumers", "POST /bridges/v1")

    play(story)


def test_imports_and_other_policies_are_as_before() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry, "total", compatibility="NONE")
        assert (await registry.put(f"/config/{SUBJECT}", {"compatibilityPolicy": "consumers"})).status == 200
        assert (await registry.get(f"/config/{SUBJECT}")).json["compatibilityPolicy"] == "CONSUMERS"
        await registry.put(f"/config/{SUBJECT}", {"compatibilityPolicy": "STRICT"})
        assert (await registry.register(SUBJECT, schema(total=None))).status == 200

    play(story)


def test_the_versions_of_a_contract_are_read_once_for_all_environments() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        before = InProcessRegistry(storage)
        await begin(before, "total")
        for number in range(5):
            await publish(before, "shop", f"1.{number}", (promise(f"3.{number}.0", topic="orders-3"), schema()))
            await before.put(f"{BASE}/environments/env-{number}", {})
            body = {"application": "shop", "version": "1"}
            await before.post(f"{BASE}/environments/env-{number}/deployments", body)
        registry = InProcessRegistry(storage)  # nothing is cached
        read: list[str] = []
        records_under = storage.records_under

        async def counted(kind: str, prefixes: Sequence[tuple[str, ...]]) -> Any:
            read.extend("/".join(each) for each in prefixes if kind == CONTRACTS.name and len(each) > 2)
            return await records_under(kind, prefixes)

        storage.records_under = counted  # type: ignore[method-assign]
        assert await check(registry, schema(note="string")) == {"is_compatible": True, "messages": []}
        assert max(Counter(read).values()) <= 2  # for its subjects, and for its schemas
        read.clear()
        assert await check(registry, schema(note="long")) == {"is_compatible": True, "messages": []}
        assert read == []

    asyncio.run(story())
