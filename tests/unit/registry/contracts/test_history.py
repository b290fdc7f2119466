"""Consumers that declare no schema of their own: they read with those that were live when they were deployed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from counterfoil.registry.contracts.records import LIVE_HISTORIES, PUBLISHED_BESIDE
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST
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

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NO = (False, ["INCOMPATIBLE"])
YES = (True, ["OK"])


def play(story: Callable[[InProcessRegistry], Awaitable[None]], storage: MemoryStorage | None = None) -> None:
    asyncio.run(story(InProcessRegistry(storage) if storage is not None else InProcessRegistry()))


async def shop(registry: InProcessRegistry, version: str, *, unit: str = "EUR.cent", **changes: Any) -> None:
    """Publish a version of the producer with changed fields."""
    made = await publish(registry, "shop", version, (promise(f"2.{version}.0", unit=unit), schema(**changes)))
    assert made.status == 200


async def verdict(registry: InProcessRegistry, version: str, application: str = "shop") -> Any:
    query = f"application={application}&version={version}&environment=production"
    return (await registry.get(f"{BASE}/can-i-deploy?{query}")).json


async def matrix(registry: InProcessRegistry, query: str = "application=shop") -> Any:
    found = (await registry.get(f"{BASE}/matrix?environment=production&{query}")).json
    return found["deployable"], [each["reason"] for each in found["reasons"]]


def test_after_a_forced_deployment_the_roll_back_and_the_repair_are_accepted_and_the_matrix_shows_the_break() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await shop(registry, "2", total="string")
        assert await can_deploy(registry, "shop", "2") == NO
        await deploy(registry, "shop", "2")
        assert await matrix(registry) == NO
        assert await matrix(registry, "application=billing") == NO
        assert await can_deploy(registry, "shop", "1") == YES
        await shop(registry, "3", note=["null", "string"])  # a repair with the schema that worked, and a new field
        assert await can_deploy(registry, "shop", "3") == YES
        found = await verdict(registry, "3")
        assert found["notices"] == []
        await deploy(registry, "shop", "1")
        assert await matrix(registry) == YES

    play(story)


def test_another_break_at_the_same_path_is_not_the_one_that_was_deployed() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await shop(registry, "2", total="double")
        assert await can_deploy(registry, "shop", "2") == NO
        await deploy(registry, "shop", "2")
        found = await verdict(registry, "2")
        assert (found["deployable"], len(found["notices"])) == (True, 1)
        await shop(registry, "3", total="string")
        assert await can_deploy(registry, "shop", "3") == NO
        assert (await verdict(registry, "3"))["notices"] == []
        await shop(registry, "4", total="double", order_id="string", status=None)
        assert (await can_deploy(registry, "shop", "4"))[0] is True

    play(story)


def test_one_of_two_breaks_can_be_repaired() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total", "order_id")
        await shop(registry, "2", total="string", order_id="int")
        assert (await can_deploy(registry, "shop", "2"))[0] is False
        await deploy(registry, "shop", "2")
        await shop(registry, "3", total="string")
        found = await verdict(registry, "3")
        assert (found["deployable"], [each["reason"] for each in found["reasons"]]) == YES
        [notice] = found["notices"]
        assert ("total" in notice, "(so before this change" in notice) == (True, True)
        await shop(registry, "4", total="string", order_id="boolean")
        assert await can_deploy(registry, "shop", "4") == NO

    play(story)


def test_a_version_that_was_live_together_with_this_version_of_the_consumer_is_not_blocked_by_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "note")  # it is deployed although nobody writes what it reads
        await shop(registry, "2", note="string")
        assert await can_deploy(registry, "shop", "2") == YES
        await deploy(registry, "shop", "2")
        found = await verdict(registry, "1")
        assert (found["deployable"], [each["reason"] for each in found["reasons"]]) == YES
        [notice] = found["notices"]
        assert "shop 1 was live together with billing 1 before" in notice
        # another version of the consumer, which was never live together with it, is broken by it
        await publish(registry, "billing", "2", expectation("note"))
        assert await can_deploy(registry, "billing", "2") == YES
        await deploy(registry, "billing", "2")
        found = await verdict(registry, "1")
        assert (found["deployable"], [each["consumerVersion"] for each in found["reasons"]]) == (False, ["2"])

    play(story)


def test_what_a_new_version_of_the_consumer_was_built_for_counts_for_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await shop(registry, "2", total="string")
        await deploy(registry, "shop", "2")
        await publish(registry, "billing", "2", expectation("total"))
        assert await can_deploy(registry, "billing", "2") == YES
        await deploy(registry, "billing", "2")
        assert await matrix(registry) == YES
        assert await can_deploy(registry, "shop", "1") == NO
        assert await can_deploy(registry, "billing", "1") == NO

    play(story)


def test_a_consumer_that_was_published_before_a_break_and_never_deployed_cannot_be_deployed_after_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "order_id")
        await publish(registry, "audit", "1", expectation("total", name="audit"))
        assert await can_deploy(registry, "audit", "1") == YES
        await shop(registry, "2", total="string")
        assert await can_deploy(registry, "shop", "2") == (True, ["OK", "PENDING"])
        await deploy(registry, "shop", "2")
        assert await can_deploy(registry, "audit", "1") == NO

    play(story)


def test_units_are_those_that_were_promised_when_the_consumer_was_deployed() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await shop(registry, "2", unit="EUR")
        assert await can_deploy(registry, "shop", "2") == (False, ["EXPECTATION_BROKEN"])
        await deploy(registry, "shop", "2")
        assert await matrix(registry) == (False, ["EXPECTATION_BROKEN"])
        assert await can_deploy(registry, "shop", "1") == YES
        await shop(registry, "3", note=["null", "string"])
        assert await can_deploy(registry, "shop", "3") == YES
        await shop(registry, "4", unit="USD")
        assert await can_deploy(registry, "shop", "4") == (False, ["EXPECTATION_BROKEN"])

    play(story)


def test_records_that_are_read_again_are_read_with_the_schema_that_was_live() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config", {"compatibility": "NONE"})
        assert (await registry.register("orders-value", schema(total="string"))).status == 200
        assert (await registry.register("orders-value", schema())).status == 200
        await live(registry, "order_id")
        counts = [{"schemaId": each, "count": 1} for each in (1, 2)]
        body = {"records": 2, "schemas": counts, "environment": "production", "complete": True}
        assert (await registry.post(f"{BASE}/topics/orders/stats", body)).status == 200
        for name, since, expected in (("lab", "retention", NO), ("ui", "latest", YES)):
            await publish(registry, name, "1", expectation("total", name=name, reprocessesFrom=since))
            assert await can_deploy(registry, name, "1") == expected
        await publish(registry, "ids", "1", expectation("order_id", name="ids", reprocessesFrom="retention"))
        assert await can_deploy(registry, "ids", "1") == YES
        await deploy(registry, "lab", "1")
        assert (await matrix(registry, "application=lab")) == NO

    play(story)


def test_a_consumer_that_was_deployed_first_reads_with_what_it_met_first() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put(PRODUCTION, {})
        await publish(registry, "billing", "1", expectation("total"))
        await deploy(registry, "billing", "1")
        await shop(registry, "1")
        assert await can_deploy(registry, "shop", "1") == YES
        await deploy(registry, "shop", "1")
        await shop(registry, "2", total="string")
        assert await can_deploy(registry, "shop", "2") == NO
        await deploy(registry, "shop", "2")
        assert await matrix(registry) == NO
        assert await can_deploy(registry, "shop", "1") == YES

    play(story)


def test_several_live_versions_and_releases_are_remembered() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await shop(registry, "2", note=["null", "string"])
        await deploy(registry, "shop", "2", instance="eu")
        await publish(registry, "app", "1", expectation("total", name="app"))
        release = {"application": "app", "version": "1"}
        assert (await registry.post(f"{PRODUCTION}/releases", release)).status == 200
        await shop(registry, "3", total="string")
        assert await can_deploy(registry, "shop", "3") == (False, ["INCOMPATIBLE"] * 2)
        await deploy(registry, "shop", "3")
        found = await verdict(registry, "3")
        assert (found["deployable"], len(found["notices"])) == (True, 2)
        assert (await can_deploy(registry, "shop", "1"))[0] is True
        assert (await can_deploy(registry, "shop", "2"))[0] is True

    play(story)


def test_a_merge_is_judged_with_what_was_newest_on_the_branch() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def merge(version: str) -> Any:
            query = f"application=shop&version={version}&branch=main"
            found = (await registry.get(f"{BASE}/can-i-merge?{query}")).json
            return found["deployable"], [each["reason"] for each in found["reasons"]]

        for version, changes in (("1", {}), ("2", {"total": "string"}), ("3", {})):
            branch = "feature" if version == "3" else "main"
            await publish(registry, "shop", version, (promise(f"2.{version}.0"), schema(**changes)), branch=branch)
            if version == "1":
                await publish(registry, "billing", "1", expectation("total"), branch="main")
        assert await merge("3") == YES
        found = (await registry.get(f"{BASE}/can-i-merge?application=shop&version=2&branch=main")).json
        assert "so before this change" in found["notices"][0]

    play(story)


def test_an_environment_without_history_is_no_evidence() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await registry.put(f"{BASE}/environments/staging", {})
        for query in ("subject=orders-value", "application=shop", "application=ghost"):
            found = (await registry.get(f"{BASE}/matrix?environment=staging&{query}")).json
            assert (found["deployable"], found["reasons"][0]["reason"]) == (None, "NO_CONTRACT")
            assert "are live in staging; record what is deployed there" in found["reasons"][0]["text"]
        query = "contract=orders&major=2"
        found = (await registry.get(f"{BASE}/can-i-retire?{query}&environment=staging")).json
        assert (found["deployable"], found["reasons"][0]["reason"]) == (None, "NO_CONTRACT")
        assert "nothing was ever recorded as live in staging" in found["reasons"][0]["text"]
        assert (await verdict(registry, "9", "billing"))["deployable"] is None
        for held in (await registry.get(f"{PRODUCTION}/deployments")).json:
            await registry.delete(f"{PRODUCTION}/deployments/{held['id']}")
        assert (await registry.get(f"{BASE}/can-i-retire?{query}&environment=production")).json["deployable"] is True
        # a producer may be the first one in an environment: nobody there can break
        staging = f"{BASE}/can-i-deploy?application=shop&version=1&environment=staging"
        assert (await registry.get(staging)).json["deployable"] is True

    play(story)


# --- stores of earlier releases


async def forget(storage: MemoryStorage) -> None:
    """Remove what earlier releases did not store."""
    from counterfoil.registry.store.writes import record_write

    for kind in (LIVE_HISTORIES.name, PUBLISHED_BESIDE.name):
        for record in await storage.records(kind):
            await storage.commit(record_write(kind, record.key, None, revision=record.revision), by=NO_REQUEST)


def test_a_store_without_histories_knows_what_was_published_before() -> None:
    storage = MemoryStorage()

    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await shop(registry, "2", total="string")
        await deploy(registry, "shop", "2")
        await forget(storage)
        assert await matrix(registry) == NO
        assert await can_deploy(registry, "shop", "1") == YES
        await shop(registry, "3", total="boolean")
        assert await can_deploy(registry, "shop", "3") == NO
        await deploy(registry, "shop", "1")
        assert await matrix(registry) == YES

    play(story, storage)


def test_a_version_that_ends_in_a_store_without_histories_gets_one() -> None:
    storage = MemoryStorage()

    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "note")
        await forget(storage)
        await shop(registry, "2", note="string")
        await deploy(registry, "shop", "2")
        assert "was live together" in (await verdict(registry, "1"))["notices"][0]
        [held] = (await registry.get(f"{PRODUCTION}/deployments?application=shop")).json
        assert (await registry.delete(f"{PRODUCTION}/deployments/{held['id']}")).status == 204
        [first, second] = [LIVE_HISTORIES.read(each.document) for each in await storage.records(LIVE_HISTORIES.name)]
        assert (first.periods[-1].until is not None, second.periods[-1].until is not None) == (True, True)

    play(story, storage)
