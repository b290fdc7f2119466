"""Verifications in the registry, and verdicts that demand them; merges, differences of versions, badges."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from strategies.contracts.stories import (
    BASE,
    LINK,
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

    from strategies.registry.driver import Reply

VERIFICATIONS = f"{BASE}/verifications"
DAY_MS = 86_400_000


def play(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    asyncio.run(story(InProcessRegistry()))


async def verify(registry: InProcessRegistry, outcome: str = "passed", **more: Any) -> Reply:
    sample = {"topic": "orders", "records": 1000, "strategy": "random", "seed": 7}
    offsets = [{"partition": 0, "first": 10, "end": 1010}]
    result = {"check": "decode", "outcome": outcome, "records": 1000, "failed": 0 if outcome == "passed" else 2}
    body = {
        "contract": "orders",
        "contractVersion": "2.1.0",
        "environment": "production",
        "sample": {**sample, "offsets": offsets},
        "results": [result],
        "schemaIds": [1],
        **more,
    }
    return await registry.post(VERIFICATIONS, body)


def test_a_verification_is_of_a_published_contract_and_the_latest_one_counts() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await verify(registry)).code == 40462
        await registry.put(PRODUCTION, {})
        assert (await verify(registry)).code == 40461
        await live(registry, "total")
        made = (await verify(registry, buildUrl="http://ci/1")).json
        contract = (await registry.get(f"{BASE}/contracts/orders/versions/2.1.0")).json
        assert (made["passed"], made["hash"], made["sample"]["seed"]) == (True, contract["hash"], 7)
        assert (await registry.get(f"{VERIFICATIONS}/{made['id']}")).json == made
        earlier = (await verify(registry, "failed", readTs=made["readTs"] - DAY_MS)).json
        assert earlier == made
        later = (await verify(registry, "failed", readTs=made["readTs"] + 100 * DAY_MS)).json
        assert (later["passed"], later["readTs"] <= time.time() * 1000) == (False, True)
        listed = (await registry.get(f"{VERIFICATIONS}?contract=orders&environment=production")).json
        assert listed == [later]
        assert (await registry.get(f"{VERIFICATIONS}?environment=none")).json == []
        assert (await registry.get(f"{VERIFICATIONS}/none")).code == 40465
        assert (await verify(registry, hash="0" * 64)).code == 42262
        for bad in ({"results": []}, {"results": [{"check": "a", "outcome": "good"}]}, {"readTs": "now"}):
            assert (await verify(registry, **bad)).status in {400, 422}

    play(story)


def test_a_verdict_may_demand_verifications() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        assert await can_deploy(registry, "shop", "1") == (True, ["OK"])
        assert await can_deploy(registry, "shop", "1", maxAgeDays="7") == (None, ["NOT_VERIFIED", "OK"])
        await registry.put(PRODUCTION, {"production": True, "verifiedWithinDays": 7})
        query = "application=shop&version=1&environment=production"
        found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json
        assert (found["deployable"], "decidedAt" in found) == (None, True)
        assert "counterfoil test" in found["reasons"][0]["text"]
        assert (await can_deploy(registry, "shop", "1", strict="true"))["error_code"] == 42460
        assert await can_deploy(registry, "billing", "1") == (True, ["OK"])

        now_ms = int(time.time() * 1000)
        await verify(registry, readTs=now_ms - 5 * DAY_MS)
        assert await can_deploy(registry, "shop", "1") == (True, ["OK"])
        assert await can_deploy(registry, "shop", "1", maxAgeDays="3") == (None, ["NOT_VERIFIED", "OK"])
        assert await can_deploy(registry, "shop", "1", maxAgeDays="30") == (True, ["OK"])
        await verify(registry, "skipped")
        assert await can_deploy(registry, "shop", "1") == (False, ["VERIFICATION_FAILED", "OK"])
        await verify(registry)
        assert await can_deploy(registry, "shop", "1") == (True, ["OK"])
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(new=["null", "string"])))
        assert await can_deploy(registry, "shop", "2") == (None, ["NOT_VERIFIED", "OK"])
        assert (await can_deploy(registry, "shop", "1", maxAgeDays="x"))["error_code"] == 400

    play(story)


def test_a_version_may_be_merged_if_it_fits_what_is_on_the_branch() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def merge(application: str, version: str, **more: str) -> Any:
            query = "".join(f"&{key}={value}" for key, value in more.items())
            reply = await registry.get(f"{BASE}/can-i-merge?application={application}&version={version}{query}")
            found = reply.json
            return reply.json if reply.status != 200 else (found["deployable"], [x["reason"] for x in found["reasons"]])

        assert await merge("shop", "1") == (None, ["UNKNOWN_VERSION"])
        await publish(registry, "shop", "1", (promise(), schema()), branch="main")
        await publish(registry, "billing", "1", expectation("total"), branch="main")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)), branch="feature")
        await publish(registry, "billing", "2", expectation("order_id"), branch="feature")
        assert await merge("shop", "1") == (True, ["OK"])
        assert await merge("shop", "2") == (False, ["INCOMPATIBLE"])
        assert await merge("shop", "2", branch="feature") == (True, ["OK"])
        assert await merge("shop", "2", ignore="billing") == (True, ["OK"])
        assert (await merge("shop", "2", strict="true"))["error_code"] == 40961
        assert await merge("billing", "2") == (True, ["OK"])
        await publish(registry, "billing", "3", expectation("none"), branch="feature")
        assert await merge("billing", "3") == (False, ["INCOMPATIBLE"])
        assert await merge("shop", "2", branch="master") == (None, ["NO_CONTRACT"])
        assert await merge("billing", "1", branch="master") == (None, ["NO_CONTRACT"])
        await publish(registry, "billing", "2.1", expectation("order_id"), branch="main")
        assert await merge("shop", "2") == (True, ["OK"])

    play(story)


def test_two_versions_of_a_contract_are_compared() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await publish(registry, "shop", "1", (promise(), schema()))
        await publish(registry, "shop", "2", (promise("3.0.0", unit="EUR"), schema(total="double", new="string")))
        path = f"{BASE}/contracts/orders/versions/3.0.0/diff"
        found = (await registry.get(f"{path}?from=2.1.0")).json
        assert (found["from"], found["to"], found["same"], found["kind"]) == ("2.1.0", "3.0.0", False, "odcs")
        changes = {(each["kind"], each["path"]) for each in found["changes"]}
        assert changes == {("field-added", "new"), ("type-changed", "total")}
        judged = {(each["rule"], each["path"], each["breaking"]) for each in found["findings"]}
        assert ("unit-changed", "total", True) in judged
        directions = {each["direction"] for each in found["findings"] if each["path"] in {"new", "total"}}
        assert directions == {"", "BACKWARD", "FORWARD"}
        same = (await registry.get(f"{BASE}/contracts/orders/versions/2.1.0/diff?from=2.1.0")).json
        assert (same["same"], same["changes"], same["findings"]) == (True, [], [])
        assert (await registry.get(f"{path}?from=9.9.9")).code == 40461
        assert (await registry.get(path)).status == 400

        first, second = expectation("order_id", "total"), expectation({"path": "total", "min": 0}, "status")
        await publish(registry, "billing", "1", first)
        await publish(registry, "billing", "2", second)
        found = (await registry.get(f"{BASE}/contracts/billing/versions/2/diff?from=1")).json
        assert [(each["kind"], each["path"], each["subject"]) for each in found["changes"]] == [
            ("read-removed", "order_id", "orders"),
            ("read-added", "status", "orders"),
            ("read-changed", "total", "orders"),
        ]
        refused = await publish(registry, "shop", "3", (promise(), schema(total=None)))
        assert refused.json["differences"] == [f"schema {LINK}"]
        assert refused.json["changes"] == ["orders-value: total: field removed: long"]

    play(story)


def test_a_badge_shows_the_state_of_a_contract() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def badge(contract: str, query: str = "") -> tuple[int, str]:
            reply = await registry.ask(
                "GET", f"{BASE}/badges/{contract}.svg{query}", headers={"accept": "image/svg+xml"}
            )
            assert reply.headers["content-type"] == "image/svg+xml"
            assert "no-cache" in reply.headers["cache-control"]
            root = ET.fromstring(reply.text)
            return reply.status, root.attrib["aria-label"]

        assert await badge("orders") == (404, "orders: unknown")
        await live(registry, "total")
        assert await badge("orders") == (200, "orders: fits 1 consumer")
        assert await badge("orders", "?environment=production") == (200, "orders: fits 1 consumer in production")
        assert await badge("orders", "?environment=none") == (404, "orders: unknown")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
        await deploy(registry, "shop", "2")
        assert await badge("orders", "?environment=production") == (200, "orders: breaks 1 consumer in production")
        await publish(registry, "ui", "1", expectation("status", name="ui"))
        await deploy(registry, "ui", "1")
        await publish(registry, "shop", "3", (promise("2.3.0"), schema(total=None, status=None)))
        await deploy(registry, "shop", "3")
        assert await badge("orders", "?environment=production") == (200, "orders: breaks 2 consumers in production")
        matrix = (await registry.get(f"{BASE}/matrix?environment=production&application=ui")).json
        prints = [each["fingerprint"] for each in matrix["reasons"]]
        approval = {"fingerprints": prints, "owner": "ana", "reason": "agreed", "until": "2999-01-01"}
        assert (await registry.post(f"{BASE}/approvals", approval)).status == 200
        assert await badge("orders", "?environment=production") == (200, "orders: breaks 1 consumer in production")
        await publish(registry, "lab", "1", (promise(contract="<a&b>"), schema()))
        assert await badge("%3Ca&b%3E") == (200, "<a&b>: no consumers")

    play(story)
