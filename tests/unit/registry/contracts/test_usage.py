"""Observed use: batches that are added up, who reads by observation, and what this changes in verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.contracts.usage import MAX_PATHS
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
from strategies.contracts.usage import play

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry


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
