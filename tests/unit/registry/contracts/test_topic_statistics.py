"""Statistics of topics: which schema ids their records have, and what verdicts make of older records."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from counterfoil.registry.store.memory import MemoryStorage
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
from strategies.contracts.usage import count, play
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.registry.subjects.versions import SubjectHistory
    from counterfoil.schema.contexts import QualifiedSubject


def test_topic_statistics_have_the_versions_of_their_schema_ids() -> None:
    async def story(registry: InProcessRegistry) -> None:
        path = f"{BASE}/topics/orders/stats"
        assert (await registry.get(path)).code == 40468
        await registry.register("copies-value", schema())
        await registry.register("orders-value", schema())
        await registry.register("orders-value", schema(note=["null", "string"]))
        counts = [{"schemaId": 1, "count": 3}, {"schemaId": 2, "count": 4}, {"schemaId": 9, "count": 1}]
        body = {"records": 10, "tombstones": 1, "undecodable": 1, "schemas": counts, "complete": True}
        made = (await registry.post(path, body)).json
        assert (await registry.get(path)).json == made
        assert [(each["schemaId"], each.get("subject"), each.get("version")) for each in made["schemas"]] == [
            (1, "orders-value", 1),
            (2, "orders-value", 2),
            (9, None, None),
        ]
        assert (made["oldestVersion"], made["records"], made["complete"]) == (1, 10, True)
        assert made["countedTs"] > 0
        await registry.post(path, {"records": 0, "environment": "production"})
        assert (await registry.get(f"{path}?environment=production")).json["schemas"] == []
        assert (await registry.get(path)).json == made
        assert (await registry.post(path, {"records": -1})).status == 400

    play(story)


def test_a_consumer_that_reads_old_records_again_must_read_what_is_still_in_the_topic() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def texts(version: str) -> list[str]:
            query = f"application=billing&version={version}&environment=production"
            found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json["reasons"]
            return [each["text"] for each in found if each["reason"] == "INCOMPATIBLE"]

        await registry.put("/config", {"compatibility": "NONE"})
        for changes in ({"order_id": None}, {"total": None}, {}):
            assert (await registry.register("orders-value", schema(**changes))).status == 200
        await live(registry, "status")
        reads = {"latest": "latest", "retention": "retention", "days": "P30D"}
        for version, since in reads.items():
            consumer = expectation("order_id", "total", reprocessesFrom=since)
            assert (await publish(registry, "billing", version, consumer)).status == 200
        assert [await texts(each) for each in reads] == [[], [], []]
        await count(registry, 2, 3)
        [text] = await texts("retention")
        assert "billing retention: " in text
        assert "has no field 'total'" in text
        assert text.endswith("; records of version 2 of orders-value are still in topic orders")
        assert (await texts("latest"), len(await texts("days"))) == ([], 1)
        await count(registry, 1, 3)
        assert len(await texts("retention")) == 2
        await count(registry, 1, 3, complete=True)
        [text] = await texts("retention")
        assert "version 1 of orders-value" in text
        await deploy(registry, "billing", "retention")
        assert await can_deploy(registry, "billing", "days") == (True, ["OK"])

    play(story)


def test_an_application_must_read_its_own_older_records_if_it_reads_them_again() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def own(version: str, *reads: Any, since: str = "retention", **changes: Any) -> Any:
            contract = (promise(f"2.{version}.0"), schema(**changes))
            product = expectation(*reads, name="ledger", reprocessesFrom=since)
            assert (await publish(registry, "ledger", version, contract, product)).status == 200
            query = f"application=ledger&version={version}&environment=production"
            found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json
            assert found["deployable"] is not any(each["reason"] == "INCOMPATIBLE" for each in found["reasons"])
            return [(each["producer"], each["producerVersion"], each["text"]) for each in found["reasons"]]

        def is_about_version_1(text: str) -> bool:
            return text.endswith("; records of version 1 of orders-value are still in topic orders")

        await registry.put("/config", {"compatibility": "NONE"})
        await registry.put(PRODUCTION, {})
        await registry.register("orders-value", schema())
        await own("1")
        liveness = (await deploy(registry, "ledger", "1")).json
        # what is live has written older records: the new version reads them with the schema that it writes
        [(_, by, text)] = [each for each in await own("2", note="string") if "note" in each[2]]
        assert (by, text.startswith("ledger 2: ")) == ("1", True)
        assert all("ledger" in text for *_, text in await own("3", since="latest", note="string"))
        assert [text for *_, text in await own("4", note=["null", "string"])] == [
            "ledger 4 reads what ledger 4 writes",
            "ledger 1 reads what ledger 4 writes",
            "ledger 4 reads what ledger 1 writes",
        ]
        assert [each[1] for each in await own("5", "note", note=["null", "string"]) if "note" in each[2]] == ["1"]
        # nothing is live: records of earlier versions may still be in the topic
        await registry.delete(f"{PRODUCTION}/deployments/{liveness['id']}")
        assert [text for *_, text in await own("6", note="string")] == ["ledger 6 reads what ledger 6 writes"]
        await count(registry, 1)
        [(_, by, text)] = await own("6", note="string")
        assert (by, is_about_version_1(text)) == ("6", True)
        [(_, by, text)] = await own("5", "note", note=["null", "string"])
        assert (by, is_about_version_1(text)) == ("5", True)
        assert len(await own("4", note=["null", "string"])) == 1
        # a version that is live already makes nothing worse, and the matrix shows how it stands
        await deploy(registry, "ledger", "6")
        found = (await registry.get(f"{BASE}/can-i-deploy?application=ledger&version=6&environment=production")).json
        assert (found["deployable"], [each["reason"] for each in found["reasons"]]) == (True, ["OK"])
        assert is_about_version_1(
            found["notices"][0].removesuffix(" (so before this change, rule consumer-incompatible)")
        )
        found = (await registry.get(f"{BASE}/matrix?environment=production&application=ledger")).json
        assert [each["reason"] for each in found["reasons"]] == ["INCOMPATIBLE"]

    play(story)


def test_a_branch_is_judged_with_what_its_own_versions_read() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for version, read in (("1", "total"), ("2", "note")):
            contracts = (promise(f"2.{version}.0"), schema()), expectation(read, name="ledger")
            await publish(registry, "ledger", version, *contracts, branch="main" if version == "1" else "feature")
        found = (await registry.get(f"{BASE}/can-i-merge?application=ledger&version=2&branch=main")).json
        assert found["deployable"] is False
        assert [each["rule"] for each in found["reasons"]] == ["consumer-field-missing"]

    play(story)


def test_the_matrix_and_badges_count_what_is_still_in_the_topic() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def matrix(query: str) -> Any:
            found = (await registry.get(f"{BASE}/matrix?environment=production&{query}")).json
            reasons = {each["consumer"]: each for each in found["reasons"]}
            return found["deployable"], {name: each["reason"] for name, each in reasons.items()}, reasons

        async def badge(query: str = "") -> str:
            path = f"{BASE}/badges/orders.svg{query}"
            reply = await registry.ask("GET", path, headers={"accept": "image/svg+xml"})
            return ET.fromstring(reply.text).attrib["aria-label"]

        await registry.put("/config", {"compatibility": "NONE"})
        for changes in ({"total": None}, {}):
            assert (await registry.register("orders-value", schema(**changes))).status == 200
        await live(registry, "total")
        for name, since in (("lab", "retention"), ("ui", "latest")):
            await publish(registry, name, "1", expectation("total", name=name, reprocessesFrom=since))
        await deploy(registry, "ui", "1")
        await count(registry, 1, 2)
        query = "application=lab&version=1&environment=production"
        [said] = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json["reasons"]
        assert said["reason"] == "INCOMPATIBLE"
        await deploy(registry, "lab", "1")
        fits = {"billing": "OK", "lab": "OK", "ui": "OK"}
        for query in ("subject=orders-value", "application=shop"):
            deployable, reasons, found = await matrix(query)
            assert (deployable, reasons) == (False, {**fits, "lab": "INCOMPATIBLE"})
            assert found["lab"] == said
        assert (await matrix("application=lab"))[1] == {"lab": "INCOMPATIBLE"}
        assert (await matrix("application=ui"))[:2] == (True, {"ui": "OK"})
        assert await badge("?environment=production") == "orders: breaks 1 consumer in production"
        assert await badge() == "orders: breaks 1 consumer"
        await count(registry, 2, complete=True)
        assert (await matrix("subject=orders-value"))[:2] == (True, fits)
        assert await badge("?environment=production") == "orders: fits 3 consumers in production"

    play(story)


def test_the_versions_that_are_still_in_a_topic_are_read_once_for_all_its_consumers() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        await registry.register("orders-value", schema(total=None))
        await live(registry, "order_id")
        await count(registry, 1)
        for name in ("audit", "lab", "ui"):
            await publish(registry, name, "1", expectation("total", name=name, reprocessesFrom="P30D"))
            await deploy(registry, name, "1")
        read, history = [], storage.history

        async def counted(subject: QualifiedSubject) -> SubjectHistory:
            read.append(str(subject))
            return await history(subject)

        storage.history = counted  # type: ignore[method-assign]
        found = (await registry.get(f"{BASE}/matrix?environment=production&application=shop")).json
        reasons = [each["reason"] for each in found["reasons"]]
        assert (sorted(reasons), read) == (["INCOMPATIBLE"] * 3 + ["OK"], ["orders-value"])

    asyncio.run(story())


def test_a_badge_is_made_again_if_a_version_is_deleted_while_it_is_made() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        before = InProcessRegistry(storage)
        await before.register("orders-value", schema(total=None))
        await live(before, "order_id")
        await count(before, 1)
        await publish(before, "lab", "1", expectation("total", name="lab", reprocessesFrom="retention"))
        registry = InProcessRegistry(storage)  # nothing is cached
        found: list[UUID] = []

        async def content(guid: UUID) -> None:
            found.append(guid)
            del storage.content  # type: ignore[method-assign]

        storage.content = content  # type: ignore[method-assign,assignment]
        path = f"{BASE}/badges/orders.svg"
        reply = await registry.ask("GET", path, headers={"accept": "image/svg+xml"})
        assert (reply.status, len(found)) == (200, 1)
        assert ET.fromstring(reply.text).attrib["aria-label"] == "orders: breaks 1 consumer"

    asyncio.run(story())


def test_what_several_versions_have_in_common_is_reported_once() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def check(**changes: Any) -> list[str]:
            body = {"subject": "orders-value", "schema": {"schema": schema(**changes)}, "environment": "production"}
            found = (await registry.post(f"{BASE}/check", body)).json["reasons"]
            levels = [each for each in found if each["text"].startswith("version ")]
            assert len({each["fingerprint"] for each in levels}) == len(levels)
            return [each["text"] for each in levels]

        await registry.put("/config", {"compatibility": "NONE"})
        for changes in ({}, {"note": ["null", "string"]}):
            assert (await registry.register("orders-value", schema(**changes))).status == 200
        await registry.put("/config", {"compatibility": "BACKWARD"})
        await live(registry, "order_id")
        await count(registry, 1, 2)
        [text] = await check(total="string")
        assert text.startswith("version 2: ")
        of_total, of_note, older = await check(total="string", note="string")
        assert (of_total.startswith("version 2: "), of_note.startswith("version 2: ")) == (True, True)
        assert older.startswith("version 1, whose records are still in topic orders: ")
        assert (": total: " in of_total, ": note: " in of_note, ": note: " in older) == (True, True, True)

    play(story)


def test_a_schema_must_read_all_versions_that_are_still_in_the_topic() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def check(**more: Any) -> Any:
            body = {"subject": "orders-value", "schema": {"schema": schema(status=None, note="string")}, **more}
            found = (await registry.post(f"{BASE}/check", body)).json
            return found["deployable"], [each["text"] for each in found["reasons"]], found["notices"]

        await registry.put("/config", {"compatibility": "NONE"})
        await registry.register("orders-value", schema())
        await registry.register("orders-value", schema(note="string"))
        await registry.put("/config", {"compatibility": "BACKWARD"})
        await live(registry, "order_id")
        assert (await check(environment="production"))[0] is True
        await count(registry, 1, 2)
        deployable, [text, *_], _ = await check(environment="production")
        assert deployable is False
        assert text.startswith("version 1, whose records are still in topic orders: ")
        assert (await check())[0] is False
        deployable, _, notices = await check(environment="production", policy="consumers")
        assert (deployable, any("still in topic orders" in each for each in notices)) == (True, True)
        await registry.put("/config", {"compatibility": "FORWARD"})
        assert (await check(environment="production", policy="consumers"))[2][0].startswith("orders-value: version 2")
        await registry.put("/config", {"compatibility": "BACKWARD"})
        await count(registry, 2, complete=True)
        assert (await check(environment="production"))[0] is True

    play(story)
