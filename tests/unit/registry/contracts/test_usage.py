"""Observed use: batches that are added up, who reads by observation, and what this changes in verdicts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from counterfoil.registry.contracts.usage import MAX_PATHS
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
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from counterfoil.registry.subjects.versions import SubjectHistory
    from counterfoil.schema.contexts import QualifiedSubject


def play(story: Callable[[InProcessRegistry], Awaitable[None]], **settings: Any) -> None:
    asyncio.run(story(InProcessRegistry(**settings)))


async def observe(registry: InProcessRegistry, *paths: str, application: str = "audit", **more: Any) -> Any:
    """Post a batch of reads of schema id 1, and return the reply."""
    read = {"schemaId": 1, "messages": 100, "sampled": 10, "paths": dict.fromkeys(paths, 10), **more.pop("read", {})}
    times = {"to": more.pop("until")} if "until" in more else {}
    reply = await registry.post(f"{BASE}/usage", {"application": application, "reads": [read], **times, **more})
    return reply.json if reply.status == 200 else reply.code


async def reads_of(registry: InProcessRegistry, **query: str) -> Any:
    parameters = "&".join(f"{key}={value}" for key, value in query.items())
    return (await registry.get(f"{BASE}/usage?{parameters}")).json


async def fields(registry: InProcessRegistry, query: str = "") -> dict[str, list[tuple[str, str]]]:
    found = (await registry.get(f"{BASE}/subjects/orders-value/fields{query}")).json
    return {each["path"]: [(one["application"], one["origin"]) for one in each["consumers"]] for each in found}


def test_batches_are_added_up_by_application_subject_and_schema_id() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        assert await observe(registry, "total", version="1", until="2020-01-01T00:00:00Z") == {
            "stored": 1,
            "notices": [],
        }
        await observe(registry, "total", "order_id", version="2")
        [use] = await reads_of(registry, subject="orders-value")
        assert (use["application"], use["subject"], use["schemaId"], use["version"]) == (
            "audit",
            "orders-value",
            1,
            "2",
        )
        assert (use["messages"], use["sampled"], use["origin"]) == (200, 20, "observed")
        assert {path: each["count"] for path, each in use["paths"].items()} == {"order_id": 10, "total": 20}
        assert use["firstSeen"] == use["paths"]["total"]["firstSeen"] == 1_577_836_800_000
        assert use["paths"]["order_id"]["firstSeen"] > use["firstSeen"]
        before = (await registry.get("/changes?after=0")).json["changes"]
        await observe(registry, "total")
        assert (await registry.get("/changes?after=0")).json["changes"] == before
        assert (await reads_of(registry))[0]["messages"] == 300
        assert await reads_of(registry, application="other") == []
        assert await reads_of(registry, environment="production") == await reads_of(registry)

    play(story)


def test_the_batch_of_an_sdk_with_more_members_is_taken() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        batch = {
            "schemaVersion": 1,
            "kind": "usage",
            "application": "billing",
            "version": None,
            "from": "2026-01-31T12:00:00+00:00",
            "to": "2999-01-31T12:01:00+00:00",
            "oneIn": 100,
            "reads": [
                {"schemaId": 1, "guid": None, "name": "Order", "readerFields": None, "messages": 5, "paths": {"*": 1}},
                {"schemaId": 7, "messages": 1, "paths": {"gone": 1}},
                {"messages": 1},
                {"subject": "none", "paths": {"total": 1}},
            ],
            "droppedBatches": 0,
        }
        reply = (await registry.post(f"{BASE}/usage", batch)).json
        assert reply["stored"] == 1
        assert reply["notices"] == [
            "the registry has no schema id 7",
            "an entry has neither a schema id nor a subject",
            "subject 'none' has no version",
        ]
        [consumer] = (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json
        assert (consumer["reads"], consumer["activity"], consumer["contract"]) == (["*"], "active", "")

    play(story)


@pytest.mark.parametrize(
    "change",
    [
        {"application": ""},
        {"reads": None},
        {"origin": "guessed"},
        {"reads": [{"schemaId": 1, "paths": {"a..b": 1}}]},
        {"reads": [{"schemaId": 1, "paths": {"total": -1}}]},
        {"to": "soon"},
    ],
)
def test_a_batch_that_is_none_is_refused_with_its_place(change: dict[str, Any]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        body = {"application": "audit", "reads": [{"schemaId": 1, "paths": {"total": 1}}], **change}
        reply = await registry.post(f"{BASE}/usage", body)
        assert 400 <= reply.status < 500, reply.text
        assert await reads_of(registry) == []

    play(story)


def test_a_schema_id_of_several_subjects_counts_for_each_unless_one_is_named() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for subject in ("orders-value", "copies-value"):
            await registry.register(subject, schema())
        await observe(registry, "total")
        assert [each["subject"] for each in await reads_of(registry)] == ["copies-value", "orders-value"]
        await observe(registry, "total", application="one", read={"subject": "orders-value"})
        assert [each["subject"] for each in await reads_of(registry, application="one")] == ["orders-value"]
        refused = await observe(registry, "total", application="no", read={"subject": "none-value"})
        assert refused["notices"] == ["subject 'none-value' has no schema id 1"]

    play(story)


def test_a_record_keeps_the_paths_that_were_read_last() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await observe(registry, "old", until="2020-01-01T00:00:00Z")
        await observe(registry, *(f"field{number}" for number in range(MAX_PATHS)))
        [use] = await reads_of(registry)
        assert (len(use["paths"]), "old" in use["paths"]) == (MAX_PATHS, False)

    play(story)


def test_who_reads_joins_what_is_declared_and_what_was_seen() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "order_id")
        await observe(registry, "order_id", "status", application="billing", version="1")
        await observe(registry, "total", environment="production")
        await observe(registry, application="group-1", origin="group")
        found = (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json
        assert [(each["application"], each["origin"], each["reads"]) for each in found] == [
            ("audit", "observed", ["total"]),
            ("billing", "declared", ["order_id"]),
            ("group-1", "group", ["*"]),
        ]
        assert [each["activity"] for each in found] == ["active"] * 3
        assert [each["environments"] for each in found] == [["production"], ["production"], []]
        assert await fields(registry) == {
            "*": [("group-1", "group")],
            "order_id": [("billing", "declared")],
            "status": [("billing", "observed")],
            "total": [("audit", "observed")],
        }
        await observe(registry, "status", application="group-1")
        assert (await fields(registry))["status"] == [("billing", "observed"), ("group-1", "observed")]
        assert "total" not in await fields(registry, "?environment=staging")

    play(story)


def test_a_reader_that_was_seen_and_declares_nothing_counts_in_verdicts() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "order_id")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
        assert await can_deploy(registry, "shop", "2") == (True, ["OK"])
        await observe(registry, "total", environment="staging")
        assert await can_deploy(registry, "shop", "2") == (True, ["OK"])
        await observe(registry, "total", environment="production", version="5")
        assert await can_deploy(registry, "shop", "2") == (False, ["OK", "INCOMPATIBLE"])
        assert await can_deploy(registry, "shop", "2", ignore="audit") == (True, ["OK"])
        query = "application=shop&version=2&environment=production"
        reasons = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json["reasons"]
        assert (reasons[1]["consumer"], reasons[1]["consumerVersion"], reasons[1]["path"]) == ("audit", "5", "total")
        body = {"subject": "orders-value", "schema": {"schema": schema(total=None)}, "environment": "production"}
        checked = (await registry.post(f"{BASE}/check", {**body, "policy": "consumers"})).json
        assert (checked["deployable"], checked["reasons"][-1]["consumer"]) == (False, "audit")
        await publish(registry, "audit", "5", expectation("order_id", name="audit"))
        await deploy(registry, "audit", "5")
        assert await can_deploy(registry, "shop", "2") == (True, ["OK", "OK"])

    play(story)


def test_who_is_left_out_is_left_out_with_its_consumer_groups() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "total")
        await publish(registry, "billing", "2", expectation("total", consumerGroups=["sums"]))
        await deploy(registry, "billing", "2")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
        await observe(registry, application="sums", origin="group")
        assert await can_deploy(registry, "shop", "2") == (False, ["INCOMPATIBLE"])
        assert await can_deploy(registry, "shop", "2", ignore="billing") == (True, ["OK"])

    play(story)


def test_who_was_seen_is_judged_by_what_follows_in_a_new_major_version() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "order_id")
        await observe(registry, "total", environment="production")
        await observe(registry, application="sums", origin="group")
        await publish(registry, "shop", "2", (promise("3.0.0"), schema(total=None)))
        assert await can_deploy(registry, "shop", "2") == (False, ["OK", "INCOMPATIBLE", "INCOMPATIBLE"])
        await publish(registry, "shop", "3", (promise("3.1.0", topic="orders.v3"), schema(total=None)))
        query = "application=shop&version=3&environment=production"
        found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json["reasons"]
        assert {(each["consumer"], each["subject"], each["reason"]) for each in found} == {
            ("billing", "orders.v3-value", "OK"),
            ("audit", "orders.v3-value", "INCOMPATIBLE"),
            ("sums", "orders.v3-value", "INCOMPATIBLE"),
        }

    play(story)


def test_a_topic_that_was_seen_to_be_read_cannot_disappear() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "order_id")
        await publish(registry, "billing", "2", expectation("order_id", contract="returns"))
        await deploy(registry, "billing", "2")
        await publish(registry, "shop", "2", (promise("2.2.0", contract="returns"), schema()))
        assert await can_deploy(registry, "shop", "2") == (True, ["OK"])
        await observe(registry, "total", environment="production")
        query = "application=shop&version=2&environment=production"
        [reason, _] = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json["reasons"]
        assert (reason["reason"], reason["subject"], reason["consumer"]) == ("NO_CONTRACT", "orders-value", "audit")
        assert (
            reason["text"] == "shop 2 no longer offers orders on orders-value, which audit (observed) was seen to read"
        )
        assert await can_deploy(registry, "shop", "2", ignore="audit") == (True, ["OK"])
        await publish(registry, "store", "1", (promise(), schema()))
        await deploy(registry, "store", "1")
        assert await can_deploy(registry, "shop", "2") == (True, ["OK"])

    play(story)


def test_who_has_no_version_on_a_branch_does_not_count_for_a_merge_even_if_it_was_seen() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await publish(registry, "shop", "1", (promise(), schema()), branch="main")
        await publish(registry, "billing", "1", expectation("total"), branch="feature")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)), branch="feature")
        await observe(registry, "total", application="billing")
        merge = f"{BASE}/can-i-merge?application=shop&version=2"
        found = (await registry.get(merge)).json
        assert [each["reason"] for each in found["reasons"]] == ["NO_CONTRACT"]
        await publish(registry, "ui", "1", expectation("order_id", name="ui"), branch="main")
        found = (await registry.get(merge)).json
        assert (found["deployable"], [each["consumer"] for each in found["reasons"]]) == (True, ["ui"])
        assert found["notices"] == ["billing has published no version from branch main, and does not count"]
        await observe(registry, "total", application="audit")
        found = (await registry.get(merge)).json
        assert (found["deployable"], [each["consumer"] for each in found["reasons"]]) == (False, ["ui", "audit"])

    play(story)


def test_what_was_not_seen_for_long_no_longer_counts() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "order_id")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
        await observe(registry, "total", environment="production", until="2020-01-01T00:00:00Z")
        [audit, _] = (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json
        assert (audit["activity"], audit["reads"]) == ("gone", [])
        assert await can_deploy(registry, "shop", "2") == (True, ["OK"])

    play(story)


def test_who_decodes_messages_and_reads_no_field_is_not_broken_by_any() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "order_id")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
        await observe(registry)
        [counter, _] = (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json
        assert counter["reads"] == []
        assert await can_deploy(registry, "shop", "2") == (True, ["OK", "OK"])

    play(story)


def test_a_contract_that_was_read_in_the_last_days_is_not_retired() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        await live(registry, "order_id")
        [billing] = (await registry.get(f"{PRODUCTION}/deployments?application=billing")).json
        await registry.delete(f"{PRODUCTION}/deployments/{billing['id']}")
        retire = f"{BASE}/can-i-retire?contract=orders&major=2&environment=production"
        assert (await registry.get(retire)).json["deployable"] is True
        await observe(registry, "total")
        verdict = (await registry.get(retire)).json
        assert (verdict["deployable"], verdict["reasons"][0]["consumer"]) == (False, "audit")

    play(story)


def test_a_schema_without_any_contract_is_judged_by_those_who_were_seen() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("orders-value", schema())
        body = {"subject": "orders-value", "schema": {"schema": schema(total=None)}, "policy": "consumers"}
        unknown = (await registry.post(f"{BASE}/check", body)).json
        assert (unknown["deployable"], len(unknown["notices"])) == (True, 1)
        await observe(registry, "total")
        found = (await registry.post(f"{BASE}/check", body)).json
        assert (found["deployable"], found["reasons"][0]["path"]) == (False, "total")

    play(story)


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


async def count(registry: InProcessRegistry, *ids: int, **more: Any) -> None:
    """Post statistics of the topic, in production, in which these schema ids are."""
    counts = [{"schemaId": each, "count": 1} for each in ids]
    body = {"records": len(ids), "schemas": counts, "environment": "production", **more}
    assert (await registry.post(f"{BASE}/topics/orders/stats", body)).status == 200


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
