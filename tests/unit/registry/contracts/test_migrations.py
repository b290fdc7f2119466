"""Intended breaks: a migration permits one while its converter is live, verified and in time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.use_cases import use_cases
from strategies.bridges.stories import ALL, progress, verification
from strategies.contracts.stories import BASE, can_deploy, deploy, expectation, live, promise, publish, schema
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NAME = "orders-2-3"
ONE = f"{BASE}/migrations/{NAME}"
BRIDGE = "orders-v3-to-v2"
PLAN = f"""\
bridge: {BRIDGE}
source: {{topic: orders.v3}}
target: {{topic: orders}}
fields:
  total: {{from: total, cast: long}}
"""
MIGRATION = {
    "contract": "orders",
    "from": "2",
    "to": "3",
    "bridge": BRIDGE,
    "application": "orders-converter",
    "sunset": "2999-01-01",
}
READS = ("order_id", "total")
RETIRE = f"{BASE}/can-i-retire?contract=orders&major=2&environment=production"


def play(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    asyncio.run(story(InProcessRegistry()))


async def begin(registry: InProcessRegistry, **changes: str) -> None:
    """Shop 1 and billing 1 are live with version 2 of the contract; shop 2 has published version 3."""
    await live(registry, *READS)
    new = promise("3.0.0", topic="orders.v3"), schema(total="string")
    assert (await publish(registry, "shop", "2", new)).status == 200
    assert (await registry.put(ONE, {**MIGRATION, **changes})).status == 200


async def register_bridge(registry: InProcessRegistry, **fields: Any) -> dict[str, Any]:
    await registry.register("orders-value", schema())
    await registry.register("orders.v3-value", schema(total="string"))
    made = await registry.post(ALL, {"plan": PLAN, "owner": "shop", **fields})
    assert made.status == 200, made.text
    found: dict[str, Any] = made.json
    return found


async def run_bridge(registry: InProcessRegistry, bridge: dict[str, Any], *states: str) -> None:
    """Report about a bridge that has nothing left to convert and no fault, and change its state."""
    await registry.post(f"{ALL}/{BRIDGE}/progress", progress(bridge))
    for state in states:
        if state == "verified":
            await registry.post(f"{ALL}/{BRIDGE}/verification", verification(bridge))
        done = await registry.post(f"{ALL}/{BRIDGE}/transitions", {"to": state, "by": "ann"})
        assert done.status == 200, done.text


async def deploy_converter(registry: InProcessRegistry) -> None:
    reads = expectation({"path": "total", "as": "string"}, name="orders-converter", major="3")
    assert (await publish(registry, "orders-converter", "1", reads)).status == 200
    assert await can_deploy(registry, "orders-converter", "1") == (True, ["APPROVED_BREAK"])
    assert (await deploy(registry, "orders-converter", "1")).status == 200


async def texts(registry: InProcessRegistry, version: str = "2") -> list[str]:
    """Return what is missing for a deployment of the shop."""
    query = f"application=shop&version={version}&environment=production"
    found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json
    return [each["text"] for each in found["reasons"] if each["reason"] == "MIGRATION_NOT_READY"]


VERIFIED = ("shadow", "running", "caught-up", "verified")


def test_the_converter_comes_first_then_the_producer_then_its_consumers() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        order, bridge_text = await texts(registry)
        assert order == (
            "no version of orders-converter is live in production; deploy in this order: "
            f"orders-converter with the bridge {BRIDGE}, then shop 2"
        )
        assert bridge_text == f"the bridge {BRIDGE} of migration {NAME} is not registered"
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        [state, *gates] = await texts(registry)
        assert state == f"the bridge {BRIDGE} is planned; expected verified, cut-over or draining"
        assert [each.split(": ")[0].rpartition(" ")[2] for each in gates] == [
            "progress",
            "lag",
            "dead-letters",
            "verification",
        ]
        await run_bridge(registry, bridge, *VERIFIED)
        assert await can_deploy(registry, "shop", "2") == (True, ["APPROVED_BREAK", "OK"])

        await registry.post(f"{ALL}/{BRIDGE}/progress", progress(bridge, lag=100_000))
        assert (await can_deploy(registry, "shop", "2"))[0] is False
        assert [each.partition("condition ")[2].split(":")[0] for each in await texts(registry)] == ["lag"]
        await run_bridge(registry, bridge)

        assert (await deploy(registry, "shop", "2")).status == 200
        assert (await publish(registry, "billing", "2", expectation({"path": "total", "as": "integer"}))).status == 200
        assert await can_deploy(registry, "billing", "2") == (True, ["OK"])  # nothing gets worse for billing 1
        assert (await publish(registry, "billing", "3", expectation(*READS, major="3"))).status == 200
        assert await can_deploy(registry, "billing", "3") == (True, ["OK"])

    play(story)


def test_the_old_version_is_retired_when_nobody_reads_it_and_the_bridge_was_cut_over() -> None:
    storage = MemoryStorage()

    async def story(registry: InProcessRegistry) -> None:
        async def retire() -> tuple[bool, list[str]]:
            found = (await registry.get(RETIRE)).json
            return found["deployable"], [each["reason"] for each in found["reasons"]]

        await begin(registry)
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        await deploy(registry, "shop", "2")
        assert await retire() == (False, ["STILL_READ", "MIGRATION_NOT_READY"])
        status = (await registry.get(f"{ONE}/status")).json
        assert [(each["application"], each["environments"]) for each in status["consumers"]] == [
            ("billing", ["production"])
        ]
        await publish(registry, "billing", "3", expectation(*READS, major="3"))
        await deploy(registry, "billing", "3")
        assert await retire() == (False, ["MIGRATION_NOT_READY"])
        cases = use_cases(storage).contracts
        hook = {"url": "https://hooks.example/in", "secret": f"whsec_{'A' * 32}", "events": ["migration.retirable"]}
        assert (await registry.post(f"{BASE}/webhooks", hook)).status == 200
        await cases.announcing.retirable_migrations()
        assert await cases.webhooks.due() == []
        await run_bridge(registry, bridge, "cut-over")
        assert await retire() == (True, ["OK"])
        for _ in range(2):
            await cases.announcing.retirable_migrations()
        [delivery] = await cases.webhooks.due()
        assert delivery.event["data"] == {
            "migration": NAME,
            "contract": "orders",
            "major": "2",
            "environment": "production",
        }
        assert (await registry.get(f"{ONE}/status")).json["consumers"] == []
        old = (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json
        assert [each["application"] for each in old if each["environments"]] == []
        new = (await registry.get(f"{BASE}/subjects/orders.v3-value/consumers")).json
        assert [each["application"] for each in new if each["environments"]] == ["billing", "orders-converter"]

    asyncio.run(story(InProcessRegistry(storage)))


def test_a_migration_permits_nothing_after_its_last_day() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry, sunset="2020-01-01")
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        [over] = await texts(registry)
        assert "ended on 2020-01-01; agree on a later day, or retire version 2" in over
        assert (await can_deploy(registry, "shop", "2"))[0] is False
        assert (await registry.get(f"{ONE}/status")).json["expired"] is True
        await registry.put(ONE, MIGRATION)
        assert (await can_deploy(registry, "shop", "2"))[0] is True

    play(story)


def test_a_bridge_in_the_other_direction_does_not_help_old_consumers() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        bridge = await register_bridge(registry, direction="old-to-new")
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        [text] = await texts(registry)
        assert text == (
            f"the bridge {BRIDGE} converts old-to-new; expected new-to-old: billing reads version 2 of orders, and "
            "shop writes 3"
        )

    play(story)


def test_a_reader_of_the_new_version_is_not_compared_with_the_old_one() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        bridge = await register_bridge(registry)
        whole = expectation(name="orders-converter", major="3")
        assert (await publish(registry, "orders-converter", "1", whole)).status == 200
        assert (await deploy(registry, "orders-converter", "1")).status == 200
        await run_bridge(registry, bridge, *VERIFIED)
        assert await can_deploy(registry, "shop", "2") == (True, ["APPROVED_BREAK", "OK"])

    play(story)


def test_a_bridge_of_another_subject_permits_nothing() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        other = promise("3.1.0", topic="orders.v4"), schema(total="string")
        assert (await publish(registry, "shop", "4", other)).status == 200
        assert await texts(registry, "4") == [
            f"the bridge {BRIDGE} converts the records of orders.v3-value, and shop writes orders.v4-value"
        ]

    play(story)


def test_a_break_within_a_major_version_is_not_bridged() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        await publish(registry, "shop", "3", (promise("2.2.0"), schema(total=None)))
        assert await can_deploy(registry, "shop", "3") == (False, ["INCOMPATIBLE", "APPROVED_BREAK"])

    play(story)


def test_a_major_version_may_be_written_with_a_v() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        new = promise("v3.1.0", topic="orders.v3"), schema(total="string")
        assert (await publish(registry, "shop", "3", new)).status == 200
        assert await can_deploy(registry, "shop", "3") == (True, ["APPROVED_BREAK", "OK"])
        retire = f"{BASE}/can-i-retire?contract=orders&environment=production&major="
        assert (await registry.get(f"{retire}v2")).json == (await registry.get(f"{retire}2")).json

    play(story)


def test_a_migration_may_name_versions_in_full() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry, **{"from": "v2.1.0", "to": "v3"})
        held = (await registry.get(ONE)).json
        assert (held["from"], held["to"]) == ("2", "3")
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        assert await can_deploy(registry, "shop", "2") == (True, ["APPROVED_BREAK", "OK"])

    play(story)


def test_without_an_environment_the_converter_may_be_live_in_any() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def merge() -> tuple[bool, list[str]]:
            found = (await registry.get(f"{BASE}/can-i-merge?application=shop&version=3")).json
            return found["deployable"], [each["text"] for each in found["reasons"] if each["reason"] != "INCOMPATIBLE"]

        await begin(registry)
        await publish(registry, "billing", "2", expectation({"path": "total", "as": "integer"}), branch="main")
        await publish(registry, "shop", "3", (promise("3.1.0", topic="orders.v3"), schema(total="string")))
        bridge = await register_bridge(registry)
        deployable, [order, *_] = await merge()
        assert deployable is False
        assert order.startswith("no version of orders-converter is live in any environment; deploy in this order: ")
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        assert (await merge())[0] is True

    play(story)


def test_a_registration_that_consumers_decide_on_sees_migrations() -> None:
    async def story(registry: InProcessRegistry) -> None:
        """Records of version 3 follow those of version 2 in the same topic, which readers of version 2 have left."""
        plan = PLAN.replace("{topic: orders}", "{topic: orders.v2}").replace("orders.v3}", "orders}")
        await live(registry, *READS)
        for number, changes in enumerate(({}, {"total": "string"}), 2):
            await registry.put("/config/orders-value", {"compatibility": "NONE"})
            assert (await registry.register("orders-value", schema(**changes))).status == 200
            await publish(registry, "shop", str(number), (promise(f"{number}.5.0"), schema(**changes)))
        await registry.register("orders.v2-value", schema())
        assert (await registry.put(ONE, MIGRATION)).status == 200
        made = await registry.post(ALL, {"plan": plan, "owner": "shop"})
        assert made.status == 200, made.text
        await registry.put("/config/orders-value", {"compatibilityPolicy": "CONSUMERS"})
        new = schema(total="string", order_id=None)
        await publish(registry, "shop", "4", (promise("3.6.0"), new))
        refused = await registry.register("orders-value", new)
        assert (refused.status, refused.code) == (409, 40901)
        assert "no version of orders-converter is live in production" in refused.text
        await deploy_converter(registry)
        await run_bridge(registry, made.json, *VERIFIED)
        assert (await registry.register("orders-value", new)).status == 200
        other = await registry.register("orders-value", schema(total="string", order_id="long"))
        assert (other.status, other.code) == (409, 40901)

    play(story)


def test_the_first_schema_of_a_new_topic_breaks_no_reader_of_the_old_version() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        await registry.put("/config", {"compatibilityPolicy": "CONSUMERS"})
        assert (await registry.register("orders.v3-value", schema(total="string"))).status == 200
        body = {"subject": "orders.v3-value", "schema": {"schema": schema(total="string")}}
        assert (await registry.post(f"{BASE}/check", body)).json["deployable"] is True
        reads = expectation({"path": "status", "enum": ["NEW", "PAID"]}, name="ui", major="3")
        assert (await publish(registry, "ui", "1", reads)).status == 200
        refused = await registry.register("orders.v3-value", schema(total="string", status=None))
        assert (refused.status, "ui 1" in refused.text, "billing" in refused.text) == (409, True, False)

    play(story)


def test_an_approved_break_needs_no_migration() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        found = (await registry.get(f"{BASE}/can-i-deploy?application=shop&version=2&environment=production")).json
        [broken] = {each["fingerprint"] for each in found["reasons"] if "fingerprint" in each}
        missing = await texts(registry)
        approval = {"fingerprints": [broken], "owner": "ana", "reason": "agreed", "until": "2999-01-01"}
        assert (await registry.post(f"{BASE}/approvals", {**approval, "fingerprints": ["0" * 12]})).status == 200
        assert await texts(registry) == missing
        assert (await registry.post(f"{BASE}/approvals", approval)).status == 200
        found = (await registry.get(f"{BASE}/can-i-deploy?application=shop&version=2&environment=production")).json
        assert (found["deployable"], {each["reason"] for each in found["reasons"]}) == (True, {"APPROVED_BREAK"})
        assert missing == [each for each in found["notices"] if each in missing]

    play(story)


def test_the_matrix_and_badges_show_what_a_migration_permits() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def matrix() -> tuple[bool, list[str]]:
            found = (await registry.get(f"{BASE}/matrix?environment=production&application=billing")).json
            return found["deployable"], [each["reason"] for each in found["reasons"]]

        async def badge() -> bool:
            path = f"{BASE}/badges/orders.svg?environment=production"
            reply = await registry.ask("GET", path, headers={"accept": "image/svg+xml"})
            return "orders: break approved in production" in reply.text

        await begin(registry)
        bridge = await register_bridge(registry)
        await deploy_converter(registry)
        await run_bridge(registry, bridge, *VERIFIED)
        await deploy(registry, "shop", "2")
        await publish(registry, "billing", "2", expectation({"path": "total", "as": "integer"}))
        await deploy(registry, "billing", "2")
        assert (await matrix(), await badge()) == ((True, ["APPROVED_BREAK"]), True)
        await registry.post(f"{ALL}/{BRIDGE}/progress", progress(bridge, lag=100_000))
        assert (await matrix(), await badge()) == ((False, ["MIGRATION_NOT_READY", "INCOMPATIBLE"]), False)

    play(story)


def test_the_consumer_group_of_a_converter_does_not_hinder_a_retirement() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        bridge = await register_bridge(registry)
        reads = expectation(name="orders-converter", major="3", consumerGroups=["bridge-1"])
        assert (await publish(registry, "orders-converter", "1", reads)).status == 200
        await deploy(registry, "orders-converter", "1")
        await run_bridge(registry, bridge, *VERIFIED, "cut-over")
        await publish(registry, "billing", "3", expectation(*READS, major="3"))
        await deploy(registry, "billing", "3")
        for group in ("bridge-1", "other"):
            body = {"application": group, "origin": "group", "reads": [{"subject": "orders-value"}]}
            assert (await registry.post(f"{BASE}/usage", body)).json["stored"] == 1
        found = (await registry.get(RETIRE)).json
        assert [(each["reason"], each["consumer"]) for each in found["reasons"]] == [("STILL_READ", "other")]

    play(story)


def test_a_migration_is_stored_and_listed() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        held = (await registry.get(ONE)).json
        assert {key: held[key] for key in MIGRATION} == MIGRATION
        assert (await registry.get(f"{BASE}/migrations")).json == [held]
        status = (await registry.get(f"{ONE}/status")).json
        assert (status["verified"], status["expired"], "state" in status) == (False, False, False)
        changes = (await registry.get("/changes?after=0")).json["changes"]
        again = await registry.put(ONE, MIGRATION)
        assert again.json == held
        assert (await registry.get("/changes?after=0")).json["changes"] == changes

    play(story)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"sunset": "soon"}, 42260),
        ({"to": "2"}, 42260),
        ({"to": "4"}, 40461),
        ({"contract": "none"}, 40461),
        ({"bridge": ""}, 400),
    ],
    ids=["no day", "to itself", "an unpublished version", "an unknown contract", "no bridge"],
)
def test_what_is_no_migration(changes: dict[str, str], code: int) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await begin(registry)
        refused = await registry.put(f"{BASE}/migrations/other", {**MIGRATION, **changes})
        assert refused.code == code, refused.text
        assert (await registry.get(f"{BASE}/migrations/other")).code == 40469

    play(story)
