"""Approvals in the registry: who answers for a break until when, and what verdicts make of it."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.contracts.verdicts.verdict import with_approvals
from counterfoil.schema.rest.verdicts import Approval, DeploymentVerdict, ReasonCode, VerdictReason
from strategies.contracts.stories import BASE, can_deploy, deploy, expectation, live, promise, publish, schema
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

APPROVALS = f"{BASE}/approvals"
TODAY = datetime.now(UTC).date()


def play(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    asyncio.run(story(InProcessRegistry()))


async def verdict(registry: InProcessRegistry, version: str = "2", **more: str) -> Any:
    query = "".join(f"&{key}={value}" for key, value in more.items())
    reply = await registry.get(f"{BASE}/can-i-deploy?application=shop&version={version}&environment=production{query}")
    return reply.json


def approval(*fingerprints: str, **more: Any) -> dict[str, Any]:
    until = (TODAY + timedelta(days=30)).isoformat()
    return {"fingerprints": fingerprints, "owner": "ana", "reason": "agreed", "until": until, **more}


async def broken(registry: InProcessRegistry) -> str:
    """Publish a version that breaks the live consumer, and return the fingerprint of the break."""
    await live(registry, "total")
    await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
    [reason] = (await verdict(registry))["reasons"]
    assert (reason["reason"], "decidedAt" in await verdict(registry)) == ("INCOMPATIBLE", False)
    return str(reason["fingerprint"])


def test_an_approved_break_may_be_deployed_until_the_approval_is_revoked() -> None:
    async def story(registry: InProcessRegistry) -> None:
        fingerprint = await broken(registry)
        made = (await registry.post(APPROVALS, approval(fingerprint, migration="orders-v2", by="ci"))).json
        assert (made["expired"], made["migration"], made["by"]) == (False, "orders-v2", "ci")
        assert (await registry.post(APPROVALS, approval(fingerprint, migration="orders-v2", by="ci"))).json == made
        assert (await registry.get(f"{APPROVALS}/{made['id']}")).json == made
        listed = (await registry.get(f"{APPROVALS}?fingerprint={fingerprint}")).json
        assert (listed["approvals"], listed["decidedOn"]) == ([made], str(datetime.now(UTC).date()))
        assert (await registry.get(f"{APPROVALS}?fingerprint=000000000000")).json["approvals"] == []

        found = await verdict(registry)
        [reason] = found["reasons"]
        assert (found["deployable"], reason["reason"], reason["approval"]) == (True, "APPROVED_BREAK", made["id"])
        assert f"until {made['until']} by ana, with orders-v2: agreed" in reason["text"]
        assert found["decidedAt"]
        assert (await registry.delete(f"{APPROVALS}/{made['id']}")).status == 204
        assert (await registry.delete(f"{APPROVALS}/{made['id']}")).code == 40464
        assert await can_deploy(registry, "shop", "2") == (False, ["INCOMPATIBLE"])

    play(story)


def test_an_approval_is_for_one_set_of_consumers() -> None:
    async def story(registry: InProcessRegistry) -> None:
        fingerprint = await broken(registry)
        await registry.post(APPROVALS, approval(fingerprint))
        await publish(registry, "audit", "1", expectation("total", name="audit"))
        await deploy(registry, "audit", "1")
        found = await verdict(registry)
        [known] = {each["fingerprint"] for each in found["reasons"]}
        assert (found["deployable"], len(found["reasons"]), known != fingerprint) == (False, 2, True)
        [notice] = found["notices"]
        assert notice.startswith(f"{fingerprint} is approved for the consumers without audit")
        assert notice.endswith(f"approve {known}")
        await registry.post(APPROVALS, approval(known))
        assert await can_deploy(registry, "shop", "2") == (True, ["APPROVED_BREAK"] * 2)

    play(story)


def test_an_approval_of_what_a_contract_no_longer_promises_is_for_one_set_of_consumers_too() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await publish(registry, "shop", "2", (promise("2.2.0", unit="EUR"), schema()))
        [reason] = (await verdict(registry))["reasons"]
        assert (reason["rule"], reason["expected"], reason["written"]) == ("unit-changed", "unit EUR.cent", "unit EUR")
        await registry.post(APPROVALS, approval(reason["fingerprint"]))
        assert await can_deploy(registry, "shop", "2") == (True, ["APPROVED_BREAK"])
        await publish(registry, "audit", "1", expectation("total", name="audit"))
        await deploy(registry, "audit", "1")
        assert (await can_deploy(registry, "shop", "2"))[0] is False
        assert "without audit" in (await verdict(registry))["notices"][0]

    play(story)


def test_a_break_by_a_consumer_is_approved_for_this_consumer() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "order_id")
        await publish(registry, "billing", "2", expectation("none"))
        query = "application=billing&version=2&environment=production"
        [reason] = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json["reasons"]
        await registry.post(APPROVALS, approval(reason["fingerprint"]))
        assert await can_deploy(registry, "billing", "2") == (True, ["APPROVED_BREAK"])
        await publish(registry, "audit", "1", expectation("none", name="audit"))
        assert await can_deploy(registry, "audit", "1") == (False, ["INCOMPATIBLE"])

    play(story)


def test_a_check_of_a_schema_reads_approvals_of_its_level_too() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "order_id")
        await registry.register("orders-value", schema())
        body = {"environment": "production", "subject": "orders-value", "schema": {"schema": schema(new="string")}}
        found = (await registry.post(f"{BASE}/check", body)).json
        modes = [each for each in found["reasons"] if each["reason"] == "INCOMPATIBLE"]
        assert (found["deployable"], [each["rule"] for each in modes]) == (False, ["reader-field-missing-default"])
        await registry.post(APPROVALS, approval(*(each["fingerprint"] for each in modes)))
        assert (await registry.post(f"{BASE}/check", body)).json["deployable"] is True

    play(story)


def test_what_is_no_approval_is_refused() -> None:
    async def story(registry: InProcessRegistry) -> None:
        day = (TODAY - timedelta(days=2)).isoformat()
        over = await registry.post(APPROVALS, approval("0" * 12, until=day))
        assert (over.code, "which is over: it is" in over.json["message"]) == (42261, True)
        assert (await registry.post(APPROVALS, approval("0" * 12, until="soon"))).code == 42261
        for bad in (approval(), approval("xyz"), approval("0" * 12, reason=""), approval("0" * 12, who="ana")):
            assert (await registry.post(APPROVALS, bad)).status in {400, 422}
        await registry.put("/mode", {"mode": "READONLY"})
        assert (await registry.post(APPROVALS, approval("0" * 12))).code == 42205
        assert (await registry.get(f"{APPROVALS}/none")).code == 40464

    play(story)


def test_the_day_of_the_registry_decides() -> None:
    now_ms = 1_793_534_400_000  # 2026-11-01T12:00:00Z
    broken = DeploymentVerdict(
        deployable=False, reasons=(VerdictReason(ReasonCode.INCOMPATIBLE, "breaks", fingerprint="abc"),)
    )

    def decided(until: str) -> DeploymentVerdict:
        known = Approval("1", ("abc",), "ana", "agreed", until)
        return with_approvals(broken, [], [known], now_ms=now_ms, decided_at="2026-11-01T12:00:00.000Z")

    assert decided("2026-11-01").deployable is True
    over = decided("2026-10-31")
    assert (over.deployable, over.reasons) == (False, broken.reasons)
    assert "expired on 2026-10-31; it is 2026-11-01T12:00:00.000Z here" in over.notices[0]


# --- approvals that release 0.2.0 stored: the fingerprints were made with that release

FORMER = json.loads((Path(__file__).parents[3] / "data" / "fingerprints" / "verdicts-0.2.0.json").read_text())


@pytest.mark.parametrize("step", FORMER["steps"], ids=[each["name"] for each in FORMER["steps"]])
def test_approvals_of_earlier_releases_go_on_to_count(step: dict[str, Any]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, *FORMER["reads"])
        await publish(registry, "audit", "1", expectation("total", name="audit"))
        await deploy(registry, "audit", "1")
        await publish(registry, "shop", "2", (promise("2.2.0", **step["promise"]), schema(**step["schema"])))
        found = await verdict(registry)
        assert found["deployable"] is False
        former = {each["fingerprint"] for each in step["reasons"]}
        assert not former & {each["fingerprint"] for each in found["reasons"] if "fingerprint" in each}
        assert (await registry.post(APPROVALS, approval(*former))).status == 200
        found = await verdict(registry)
        broken = [each for each in found["reasons"] if each["reason"] != "OK"]
        assert (found["deployable"], {each["reason"] for each in broken}) == (True, {"APPROVED_BREAK"})
        assert {(each["rule"], each["path"], each["consumer"]) for each in broken} == {
            (each["rule"], each["path"], each["consumer"]) for each in step["reasons"]
        }
        # another value at the same place is another break
        await publish(registry, "shop", "3", (promise("2.3.0", unit="USD"), schema(total="boolean", order_id="int")))
        assert (await verdict(registry, "3"))["deployable"] is False
        # and another consumer, too
        await publish(registry, "lab", "1", expectation("total", "order_id", "status", name="lab"))
        await deploy(registry, "lab", "1")
        found = await verdict(registry)
        of_lab = {each["reason"] for each in found["reasons"] if each["consumer"] == "lab"}
        names_consumers = {each["rule"] for each in step["reasons"]} != {"unit-changed"}
        assert ("APPROVED_BREAK" in of_lab) is not names_consumers

    play(story)


def test_a_break_is_the_same_one_where_a_question_ignores_some_of_the_consumers() -> None:
    async def story(registry: InProcessRegistry) -> None:
        alone = await broken(registry)
        await publish(registry, "audit", "1", expectation("total", name="audit"))
        await deploy(registry, "audit", "1")
        both = {each["fingerprint"] for each in (await verdict(registry))["reasons"]}
        ignoring = await verdict(registry, ignore="audit")
        assert {each["consumer"] for each in ignoring["reasons"]} == {"billing"}
        assert {each["fingerprint"] for each in ignoring["reasons"]} == both
        assert alone not in both
        await registry.post(APPROVALS, approval(alone))  # as an earlier release named it in this question
        assert (await verdict(registry, ignore="audit"))["deployable"] is True
        assert (await verdict(registry))["deployable"] is False
        [stored] = (await registry.get(APPROVALS)).json["approvals"]
        await registry.delete(f"{APPROVALS}/{stored['id']}")
        await registry.post(APPROVALS, approval(*both))
        assert (await verdict(registry))["deployable"] is True
        assert (await verdict(registry, ignore="audit"))["deployable"] is True
        assert (await verdict(registry, ignore="nobody"))["deployable"] is True

    play(story)
