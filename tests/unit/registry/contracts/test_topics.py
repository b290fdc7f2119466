"""A contract of several topics: each read of a consumer is about the topics that have its path."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from strategies.contracts.stories import BASE, can_deploy, deploy, expectation, publish
from strategies.registry.driver import InProcessRegistry

PRODUCTION = f"{BASE}/environments/production"


def contract(number: int) -> str:
    topics = [
        {"name": name, "physicalName": name, "authoritativeDefinitions": [{"type": "schema", "url": f"./{name}.avsc"}]}
        for name in ("orders", "customers")
    ]
    made = {"apiVersion": "v3.2.0", "kind": "DataContract", "id": "shop", "version": f"1.{number}.0"}
    return json.dumps({**made, "status": "active", "schema": topics})


def record(name: str, **fields: Any) -> dict[str, str]:
    made = [{"name": each, "type": kind} for each, kind in fields.items() if kind is not None]
    return {"schema": json.dumps({"type": "record", "name": name, "fields": made})}


async def shop(registry: InProcessRegistry, number: int, *, total: Any = "int", mail: Any = "string") -> None:
    schemas = {
        "./orders.avsc": record("Order", id="string", total=total),
        "./customers.avsc": record("Customer", id="string", mail=mail),
    }
    body = {
        "application": "shop",
        "version": f"{number}",
        "contracts": [{"content": contract(number), "schemas": schemas}],
    }
    assert (await registry.post(f"{BASE}/publish", body)).status == 200


async def start(registry: InProcessRegistry, *reads: str) -> None:
    await registry.put(PRODUCTION, {"production": True})
    await shop(registry, 1)
    await deploy(registry, "shop", "1")
    await publish(registry, "billing", "1", expectation(*reads, contract="shop", major="1"))


def test_a_read_is_about_the_topics_that_have_its_path() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await start(registry, "id", "total", "mail")
        assert (await can_deploy(registry, "billing", "1"))[0] is True
        await deploy(registry, "billing", "1")
        found = (await registry.get(f"{BASE}/matrix?environment=production&application=billing")).json
        assert found["deployable"] is True, found
        await shop(registry, 2, total=None)
        assert await can_deploy(registry, "shop", "2") == (False, ["INCOMPATIBLE", "OK"])
        await shop(registry, 3, mail="int")
        assert await can_deploy(registry, "shop", "3") == (False, ["OK", "INCOMPATIBLE"])

    asyncio.run(story(InProcessRegistry()))


def test_what_no_topic_has_is_missing() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await start(registry, "id", "nosuch")
        assert (await can_deploy(registry, "billing", "1"))[0] is False

    asyncio.run(story(InProcessRegistry()))


def test_a_topic_of_which_nothing_is_read_may_change() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await start(registry, "total")
        await deploy(registry, "billing", "1")
        await shop(registry, 2, mail="int")
        assert (await can_deploy(registry, "shop", "2"))[0] is True
        await shop(registry, 3, total="string")
        assert (await can_deploy(registry, "shop", "3"))[0] is False

    asyncio.run(story(InProcessRegistry()))


def test_the_matrix_of_one_application_knows_what_was_approved_for_all_of_them() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await start(registry, "total")
        await deploy(registry, "billing", "1")
        await publish(registry, "audit", "1", expectation("total", name="audit", contract="shop", major="1"))
        await deploy(registry, "audit", "1")
        await shop(registry, 2, total="string")
        found = (await registry.get(f"{BASE}/can-i-deploy?application=shop&version=2&environment=production")).json
        breaks = sorted({each["fingerprint"] for each in found["reasons"]})
        approval = {"fingerprints": breaks, "owner": "ana", "reason": "agreed", "until": "2999-12-31"}
        assert (await registry.post(f"{BASE}/approvals", approval)).status == 200
        await deploy(registry, "shop", "2")
        for query in ("subject=orders-value", "application=shop", "application=billing", "application=audit"):
            answer = (await registry.get(f"{BASE}/matrix?environment=production&{query}")).json
            assert answer["deployable"] is True, (query, answer)

    asyncio.run(story(InProcessRegistry()))
