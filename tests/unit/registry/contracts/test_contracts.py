"""Contracts as a client sees them: published once, deployed, judged by who reads what in an environment."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

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


def play(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    asyncio.run(story(InProcessRegistry()))


# --- publishing


def test_contracts_are_published_with_their_hash_and_read_again() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = (await publish(registry, "shop", "1", (promise(), schema()), branch="main", commit="abc")).json
        [link] = made["contracts"]
        assert (link["id"], link["kind"], link["version"], len(link["hash"])) == ("orders", "odcs", "2.1.0", 64)
        version = (await registry.get(f"{BASE}/applications/shop/versions/1")).json
        assert (version["branch"], version["commit"], version["contracts"]) == ("main", "abc", [link])
        assert [each["name"] for each in (await registry.get(f"{BASE}/applications")).json] == ["shop"]
        assert (await registry.get(f"{BASE}/contracts")).json == [
            {"id": "orders", "kind": "odcs", "versions": ["2.1.0"]}
        ]
        one = (await registry.get(f"{BASE}/contracts/orders/versions/2.1.0")).json
        assert (one["content"], one["hash"], list(one["schemas"])) == (promise(), link["hash"], [LINK])
        as_file = (await registry.get(f"{BASE}/contracts/orders/versions/2.1.0?as=odcs")).json
        assert (as_file["kind"], as_file["schema"][0]["name"]) == ("DataContract", "Order")
        assert (await registry.get(f"{BASE}/contracts/orders/versions/2.1.0?as=odps")).code == 40461
        assert (await registry.get(f"{BASE}/contracts/none")).code == 40461
        assert (await registry.get(f"{BASE}/applications/none")).code == 40460

    play(story)


def test_a_published_version_of_a_contract_never_changes() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await publish(registry, "shop", "1", (promise(), schema()))
        other = await publish(registry, "shop", "2", (promise(unit="EUR"), schema()))
        assert (other.status, other.code) == (409, 40960)
        assert any("EUR" in each for each in other.json["differences"])
        schemas = await publish(registry, "shop", "2", (promise(), schema(total="double")))
        assert schemas.json["differences"] == [f"schema {LINK}"]
        assert (await registry.get(f"{BASE}/applications/shop/versions/2")).code == 40460

        before = (await registry.get("/changes?after=0")).json["changes"]
        again = await publish(registry, "shop", "1", (promise(about="for people"), schema()))
        assert (again.status, len(again.json["notices"])) == (200, 1)
        assert (await registry.get("/changes?after=0")).json["changes"] == before
        next_one = await publish(registry, "shop", "1", (promise("2.2.0"), schema()))
        assert next_one.code == 40960
        assert next_one.json["message"].endswith("publish the change with a new version of the application")
        changed = await publish(registry, "shop", "1", (promise(unit="EUR"), schema()))
        assert changed.json["message"].endswith("a new version of the application and of orders")

    play(story)


def test_contracts_are_published_all_or_none() -> None:
    async def story(registry: InProcessRegistry) -> None:
        bad = expectation({"path": "order_id", "nullable": True})
        refused = await publish(registry, "shop", "1", (promise(), schema()), bad)
        assert refused.code == 42260
        [fault] = refused.json["faults"]
        assert (fault["rule"], fault["line"]) == ("property-invalid", 1)
        for content in ("", "kind: DataContract", "a: [", promise(contract="")):
            assert (await publish(registry, "shop", "1", (content, schema()))).code == 42260
        assert (await publish(registry, "shop", "1", (promise(), "{"))).code == 42260
        assert (await publish(registry, "shop", "1", promise())).code == 42260
        assert (await publish(registry, "shop", "1", (promise(), schema()), (promise("3.0.0"), schema()))).code == 42260
        assert (await registry.get(f"{BASE}/contracts")).json == []
        tried = {"application": "shop", "version": "1", "contracts": [{"content": promise()}]}
        await registry.register("orders-value", schema())
        assert (await registry.post(f"{BASE}/publish?dryRun=true", tried)).status == 200
        assert (await registry.get(f"{BASE}/applications")).json == []
        assert (await registry.post(f"{BASE}/publish", tried)).status == 200
        one = (await registry.get(f"{BASE}/contracts/orders/versions/2.1.0")).json
        assert list(one["schemas"]) == ["orders-value"]
        await registry.put("/mode", {"mode": "READONLY"})
        assert (await publish(registry, "shop", "2", (promise(), schema()))).code == 42205
        assert (await registry.put(PRODUCTION, {})).code == 42205

    play(story)


# --- environments and deployments


def test_a_deployment_replaces_and_a_release_accumulates() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put(PRODUCTION, {"production": True, "order": 2, "contacts": ["ops"]})
        await registry.put(f"{BASE}/environments/staging", {"order": 1})
        listed = (await registry.get(f"{BASE}/environments")).json
        assert [each["name"] for each in listed] == ["staging", "production"]
        assert (await registry.get(PRODUCTION)).json["contacts"] == ["ops"]
        assert (await deploy(registry, "shop", "1")).code == 40460
        assert (await registry.get(f"{BASE}/applications")).json == []
        for version in ("1", "2"):
            await publish(registry, "shop", version, (promise(), schema()))
        first = (await deploy(registry, "shop", "1")).json
        assert (await deploy(registry, "shop", "1")).json == first
        second = (await deploy(registry, "shop", "2")).json
        eu = (await deploy(registry, "shop", "1", instance="eu")).json
        found = (await registry.get(f"{PRODUCTION}/deployments?application=shop")).json
        assert sorted(each["id"] for each in found) == sorted([second["id"], eu["id"]])
        assert (await registry.get(f"{PRODUCTION}/deployments/{first['id']}")).code == 40463
        assert (await registry.delete(f"{PRODUCTION}/deployments/{eu['id']}")).status == 204
        assert (await registry.delete(f"{PRODUCTION}/deployments/{eu['id']}")).code == 40463
        for version in ("1", "2"):
            body = {"application": "shop", "version": version}
            assert (await registry.post(f"{PRODUCTION}/releases", body)).status == 200
        released = (await registry.get(f"{PRODUCTION}/releases")).json
        assert [each["version"] for each in released] == ["1", "2"]
        assert (await registry.get(f"{PRODUCTION}/releases/{released[0]['id']}")).json == released[0]
        assert (await registry.delete(f"{PRODUCTION}/releases/{released[0]['id']}")).status == 204
        assert (await registry.post(f"{BASE}/environments/none/releases", body)).code == 40462

    play(story)


def test_what_is_known_of_applications_is_stored_beside_their_contracts() -> None:
    async def story(registry: InProcessRegistry) -> None:
        one = f"{BASE}/applications/shop"
        assert (await registry.put(f"{one}/versions/1", {})).code == 40460
        made = (await registry.put(one, {"owner": "sales"})).json
        assert (await registry.put(one, {"owner": "checkout"})).json == {**made, "owner": "checkout"}
        await publish(registry, "shop", "1", (promise(), schema()), branch="main")
        version = (await registry.put(f"{one}/versions/1", {"commit": "abc"})).json
        assert (len(version["contracts"]), version["commit"], "branch" in version) == (1, "abc", False)
        assert [each["version"] for each in (await registry.get(f"{one}/versions")).json] == ["1"]

    play(story)


# --- verdicts


@pytest.mark.parametrize(
    ("reads", "changes", "unit", "expected"),
    [
        (["order_id"], {"total": None}, "EUR.cent", (True, ["OK"])),
        (["total"], {"total": None}, "EUR.cent", (False, ["INCOMPATIBLE"])),
        ([{"path": "total", "as": "integer"}], {"total": "double"}, "EUR.cent", (False, ["INCOMPATIBLE"])),
        (["order_id"], {"total": "double"}, "EUR.cent", (True, ["OK"])),
        ([{"path": "total", "required": True}], {"total": ["null", "long"]}, "EUR.cent", (False, ["INCOMPATIBLE"])),
        ([], {"total": None}, "EUR.cent", (False, ["INCOMPATIBLE"])),
        ([], {"note": ["null", "string"]}, "EUR.cent", (True, ["OK"])),
        (["total"], {}, "EUR", (False, ["EXPECTATION_BROKEN"])),
        (["order_id"], {}, "EUR", (True, ["OK"])),
    ],
)
def test_a_producer_may_be_deployed_unless_a_live_consumer_breaks(
    reads: list[Any], changes: dict[str, Any], unit: str, expected: Any
) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, *reads)
        await publish(registry, "shop", "2", (promise("2.2.0", unit=unit), schema(**changes)))
        assert await can_deploy(registry, "shop", "2") == expected
        assert (await can_deploy(registry, "shop", "1"))[0] is True

    play(story)


def test_a_consumer_is_judged_by_every_live_producer() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "order_id")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(note=["null", "string"])))
        await publish(registry, "billing", "2", expectation("order_id", "note"))
        await publish(registry, "billing", "3", expectation({"path": "total", "unit": "EUR.cent", "min": 0}))
        assert await can_deploy(registry, "billing", "2") == (False, ["INCOMPATIBLE"])
        assert await can_deploy(registry, "billing", "3") == (True, ["UNBACKED"])
        await deploy(registry, "shop", "2", instance="eu")
        assert await can_deploy(registry, "billing", "2") == (False, ["INCOMPATIBLE", "OK"])
        await deploy(registry, "shop", "2")
        assert await can_deploy(registry, "billing", "2") == (True, ["OK", "OK"][:1])

    play(story)


def test_what_cannot_be_known_is_its_own_answer() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await can_deploy(registry, "shop", "1"))["error_code"] == 40462
        await registry.put(PRODUCTION, {})
        assert await can_deploy(registry, "shop", "1") == (None, ["UNKNOWN_VERSION"])
        await registry.put(f"{BASE}/applications/shop", {})
        await registry.put(f"{BASE}/applications/shop/versions/1", {})
        assert await can_deploy(registry, "shop", "1") == (None, ["NO_CONTRACT"])
        await publish(registry, "billing", "1", expectation("total"))
        assert await can_deploy(registry, "billing", "1") == (None, ["NO_CONTRACT"])
        assert (await can_deploy(registry, "billing", "1", strict="true"))["error_code"] == 42460
        await publish(registry, "shop", "2", (promise(), schema()))
        assert await can_deploy(registry, "shop", "2") == (True, ["OK"])

    play(story)


def test_a_contract_that_is_read_cannot_disappear() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        await publish(registry, "shop", "2", (promise(contract="other"), schema()))
        assert await can_deploy(registry, "shop", "2") == (None, ["NO_CONTRACT"])

    play(story)


def test_a_topic_that_is_read_cannot_be_another_one_in_the_same_major_version() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "order_id")
        await publish(registry, "shop", "2", (promise("2.2.0", topic="orders.other"), schema()))
        query = "application=shop&version=2&environment=production"
        found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json
        assert (found["deployable"], found["reasons"][0]["reason"]) == (None, "NO_CONTRACT")
        assert found["reasons"][0]["text"] == "shop 2 no longer offers orders on orders-value, which billing 1 reads"
        await publish(registry, "shop", "3", (promise("3.0.0", topic="orders.v3"), schema()))
        assert await can_deploy(registry, "shop", "3") == (True, ["OK"])
        await publish(registry, "store", "1", (promise("2.2.0", contract="orders"), schema()))
        await publish(registry, "store", "2", (promise("2.3.0"), schema()))
        await deploy(registry, "store", "2")
        assert (await can_deploy(registry, "shop", "2"))[0] is True

    play(story)


def test_only_what_the_change_makes_worse_counts_and_pending_versions_never_do() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "missing")
        await publish(registry, "shop", "2", (promise("2.2.0"), schema(total=None)))
        assert await can_deploy(registry, "shop", "2") == (True, ["OK"])
        await publish(registry, "billing", "2", expectation("total"))
        assert await can_deploy(registry, "shop", "2") == (True, ["OK", "PENDING"])
        query = "application=shop&version=2&environment=production"
        found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json
        assert "so before this change" in found["notices"][0]
        [pending] = [each for each in found["reasons"] if each["reason"] == "PENDING"]
        assert (pending["consumer"], pending["consumerVersion"], pending["path"]) == ("billing", "2", "total")
        await deploy(registry, "billing", "2")
        refused = await registry.get(f"{BASE}/can-i-deploy?{query}&strict=true")
        assert (refused.status, refused.code, refused.json["deployable"]) == (409, 40961, False)
        assert await can_deploy(registry, "shop", "2", ignore="billing") == (True, ["OK"])

    play(story)


def test_a_contract_is_retired_when_nobody_live_reads_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")

        async def verdict(major: str) -> Any:
            found = await registry.get(f"{BASE}/can-i-retire?contract=orders&major={major}&environment=production")
            return found.json["deployable"], [each["reason"] for each in found.json["reasons"]]

        assert await verdict("2") == (False, ["STILL_READ"])
        assert await verdict("3") == (None, ["NO_CONTRACT"])
        [held] = (await registry.get(f"{PRODUCTION}/deployments?application=billing")).json
        await registry.delete(f"{PRODUCTION}/deployments/{held['id']}")
        assert await verdict("2") == (True, ["OK"])

    play(story)


def test_the_matrix_and_who_reads_a_subject() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "order_id", "total")
        await publish(registry, "audit", "1", expectation(name="audit"))
        for query in ("subject=orders-value", "application=shop", "application=billing"):
            found = (await registry.get(f"{BASE}/matrix?environment=production&{query}")).json
            [pair] = found["reasons"]
            assert (pair["reason"], pair["producerVersion"], pair["consumer"]) == ("OK", "1", "billing")
        assert (await registry.get(f"{BASE}/matrix?environment=production")).status == 400
        consumers = (await registry.get(f"{BASE}/subjects/orders-value/consumers")).json
        assert [(each["application"], each["reads"], each["environments"]) for each in consumers] == [
            ("audit", ["*"], []),
            ("billing", ["order_id", "total"], ["production"]),
        ]
        [here] = (await registry.get(f"{BASE}/subjects/orders-value/consumers?environment=production")).json
        assert (here["application"], here["origin"]) == ("billing", "declared")
        fields = (await registry.get(f"{BASE}/subjects/orders-value/fields")).json
        assert [each["path"] for each in fields] == ["*", "order_id", "total"]
        assert (await registry.get(f"{BASE}/subjects/none/consumers")).json == []

    play(story)


# --- the check of a proposal


def test_a_proposed_schema_is_checked_without_a_write() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "order_id")
        await registry.register("orders-value", schema())
        await registry.put("/mode", {"mode": "READONLY"})
        before = (await registry.get("/changes?after=0")).json["changes"]

        async def check(**body: Any) -> Any:
            found = await registry.post(f"{BASE}/check", {"environment": "production", **body})
            assert found.status == 200, found.text
            return found.json["deployable"], [each["reason"] for each in found.json["reasons"]]

        subject = "orders-value"
        renamed = {"schema": schema(order_id=None, order="string")}
        assert await check(subject=subject, schema={"schema": schema()}) == (True, ["OK"])
        assert (await check(subject=subject, schema=renamed)) == (False, ["INCOMPATIBLE", "INCOMPATIBLE"])
        assert (await check(subject=subject, schema=renamed, policy="observe"))[0] is True
        unread = {"schema": schema(total="string")}
        assert (await check(subject=subject, schema=unread))[0] is False
        assert await check(subject=subject, schema=unread, policy="consumers") == (True, ["OK"])
        proposed = {"content": promise("3.0.0"), "schemas": {LINK: renamed}}
        assert (await check(contract=proposed))[0] is False
        assert (await check(contract={"content": expectation("total")})) == (True, ["OK"])
        assert (await check(contract={"content": expectation("none")})) == (False, ["INCOMPATIBLE"])
        assert await check(subject="new-value", schema={"schema": '"string"'}) == (True, ["OK"])
        assert (await registry.get("/changes?after=0")).json["changes"] == before
        refused = await registry.post(f"{BASE}/check?strict=true", {"subject": subject, "schema": renamed})
        assert refused.code == 40961
        assert (await registry.post(f"{BASE}/check", {})).status == 400
        assert (await registry.post(f"{BASE}/check", {"subject": subject, "schema": {"schema": "{"}})).code == 42201

    play(story)


@pytest.mark.parametrize("key", [{"subject": "orders-key"}, {"schema": "./key.avsc"}])
def test_who_reads_keys_is_judged_by_their_schema(key: dict[str, str]) -> None:
    [name] = key.values()

    def keyed(version: str, *fields: tuple[str, str]) -> dict[str, Any]:
        document = json.loads(promise(version))
        document["schema"][0]["customProperties"] = [{"property": "messageKey", "value": key}]
        listed = [{"name": field, "type": kind} for field, kind in fields]
        schemas = {LINK: schema(), name: json.dumps({"type": "record", "name": "Key", "fields": listed})}
        return {"content": json.dumps(document), "schemas": {each: {"schema": text} for each, text in schemas.items()}}

    async def story(registry: InProcessRegistry) -> None:
        async def verdict(version: str, *fields: tuple[str, str]) -> Any:
            body = {"application": "shop", "version": version, "contracts": [keyed(f"2.{version}.0", *fields)]}
            assert (await registry.post(f"{BASE}/publish", body)).status == 200
            query = f"application=shop&version={version}&environment=production"
            found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json
            return found["deployable"], [(each.get("rule"), each.get("path")) for each in found["reasons"]], found

        await registry.put(PRODUCTION, {})
        await publish(registry, "billing", "1", expectation("$key.id"))
        await deploy(registry, "billing", "1")
        assert (await verdict("1", ("id", "string")))[0] is True
        await deploy(registry, "shop", "1")
        assert (await verdict("2", ("id", "long")))[:2] == (False, [("consumer-type-narrowed", "$key.id")])
        assert (await verdict("3", ("shop", "string")))[:2] == (False, [("consumer-field-missing", "$key.id")])
        deployable, _, found = await verdict("4", ("id", "string"), ("shop", "string"))
        [notice] = found["notices"]
        assert (deployable, "(rule key-schema-changed)" in notice) == (True, True)
        assert (await verdict("5", ("id", "string")))[2]["notices"] == []

    play(story)


def test_records_in_another_language_are_read_by_nobody() -> None:
    message = 'syntax = "proto3"; message Order { string order_id = 1; int64 total = 2; string status = 3; }'

    async def story(registry: InProcessRegistry) -> None:
        async def verdict(application: str, version: str) -> Any:
            contract = {"content": promise(f"2.{version}.0"), "schemas": {LINK: {"schemaType": "PROTOBUF"}}}
            contract["schemas"][LINK]["schema"] = message
            body = {"application": application, "version": version, "contracts": [contract]}
            assert (await registry.post(f"{BASE}/publish", body)).status == 200
            query = f"application={application}&version={version}&environment=production"
            found = (await registry.get(f"{BASE}/can-i-deploy?{query}")).json
            return found["deployable"], [
                (each["consumer"], each.get("rule"), each["text"]) for each in found["reasons"]
            ]

        await live(registry, "total")
        text = "billing 1: records are written in PROTOBUF, and the consumer reads AVRO"
        broken = (False, [("billing", "consumer-incompatible", text)])
        assert await verdict("shop", "2") == broken
        assert await verdict("outlet", "3") == broken  # another application that begins to write the same topic
        body = {"subject": "orders-value", "schema": {"schemaType": "PROTOBUF", "schema": message}}
        found = (await registry.post(f"{BASE}/check", {**body, "environment": "production"})).json
        assert text in {each["text"] for each in found["reasons"]}

    play(story)


def test_a_second_producer_of_a_topic_is_judged_by_what_consumers_read_now() -> None:
    async def story(registry: InProcessRegistry) -> None:
        async def outlet(version: str, **changes: Any) -> Any:
            made = await publish(registry, "outlet", version, (promise(f"2.{version}.0"), schema(**changes)))
            assert made.status == 200
            return await can_deploy(registry, "outlet", version)

        await live(registry)
        assert await outlet("2", total="string") == (False, ["INCOMPATIBLE"])
        assert await outlet("3", note=["null", "string"]) == (True, ["OK"])
        await deploy(registry, "outlet", "3")
        assert await outlet("4", total="string") == (False, ["INCOMPATIBLE"])
        assert await can_deploy(registry, "outlet", "4", ignore="shop") == (False, ["INCOMPATIBLE"])

    play(story)
