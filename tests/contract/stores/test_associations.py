"""Associations on every storage: their whole life, and what becomes of those that are asked for at the same time."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from counterfoil.registry.store.opening import open_store
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from counterfoil.registry.store.protocol import Storage

AT_ONCE = 8
ROUNDS = 5


def body(name: str, *associations: dict[str, Any], resource_id: str | None = None) -> dict[str, Any]:
    resource = {"resourceName": name, "resourceNamespace": "c1", "resourceId": resource_id or f"id-of-{name}"}
    return {**resource, "associations": list(associations)}


def record(name: str, *fields: str) -> str:
    held = [{"name": field, "type": "int", "default": 0} for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": held})


def bringing(text: str, **fields: Any) -> dict[str, Any]:
    return {"schema": {"schema": text}, **fields}


def test_their_whole_life(run: Any):
    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        key = bringing('"int"', associationType="key")
        made = await registry.post("/associations", body("orders", bringing(record("A", "a")), key))
        assert [each["schema"]["id"] for each in made.json["associations"]] == [1, 2]
        again = await registry.post("/associations", body("orders", bringing(record("A", "a")), key))
        assert (again.status, again.json.get("associations", [])) == (200, [])
        put = await registry.put(
            "/associations/resources/id-of-orders", body("orders", bringing(record("A", "a", "b")))
        )
        assert put.json["associations"][0]["schema"]["version"] == 2
        found = (await registry.get("/associations/resources/-/orders?associationType=value")).json
        assert [each["subject"] for each in found] == [":.c1:orders-value"]
        by_subject = (await registry.get("/associations/subjects/:.c1:orders-value")).json
        assert by_subject == found
        assert found[0]["updateTs"] >= found[0]["createTs"]

        bad = await registry.post(
            "/associations", body("bills", bringing('"long"'), bringing("{", associationType="key"))
        )
        assert bad.code == 42201
        assert (await registry.delete("/subjects/:.c1:orders-value")).code == 40904
        for subject in (":.c1:orders-value", ":.c1:orders-key"):
            await registry.put(f"/config/{subject}", {"compatibility": "NONE"})
        assert (await registry.delete("/associations/resources/id-of-orders?cascadeLifecycle=true")).status == 204
        assert (await registry.get("/associations/resources/-/-")).json == []
        assert (await registry.get("/subjects?deleted=true")).json == []
        assert (await registry.get("/config/:.c1:orders-key")).code == 40408

    run(behaviour)


def test_one_of_many_at_once_is_made(run: Any):
    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        for round_ in range(ROUNDS):
            name = f"topic{round_}"
            requests = [body(name, bringing(record(f"R{round_}", f"f{number}"))) for number in range(AT_ONCE)]
            replies = await asyncio.gather(*[registry.post("/associations", each) for each in requests])
            assert Counter(reply.status for reply in replies) == {200: 1, 409: AT_ONCE - 1}
            assert {reply.code for reply in replies if reply.status != 200} == {40903}
            assert (await registry.get(f"/subjects/:.c1:{name}-value/versions")).json == [1]
            (made,) = [reply.json["associations"][0]["schema"] for reply in replies if reply.status == 200]
            stored = (await registry.get(f"/subjects/:.c1:{name}-value/versions/1")).json
            assert (stored["schema"], stored["id"]) == (made["schema"], made["id"])

    run(behaviour)


def test_the_same_at_once_is_made_once(run: Any):
    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        request = body("orders", bringing('"int"'), bringing('"int"', associationType="key"))
        replies = await asyncio.gather(*[registry.post("/associations", request) for _ in range(AT_ONCE)])
        listed = [len(reply.json.get("associations", [])) for reply in replies]
        assert sorted(listed) == [0] * (AT_ONCE - 1) + [2]
        assert {reply.status for reply in replies} == {200}

    run(behaviour)


def test_a_claim_and_a_reference_do_not_pass_each_other(run: Any):
    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        outer = json.dumps({"type": "record", "name": "Outer", "fields": [{"name": "r", "type": "R"}]})
        for round_ in range(ROUNDS):
            subject = f":.c1:t{round_}-value"
            await registry.register(subject, record("R", "a"))
            claim = body(f"t{round_}", {"lifecycle": "STRONG"})
            references = [{"name": "R", "subject": subject, "version": 1}]
            claimed, referred, deleted = await asyncio.gather(
                registry.post("/associations", claim),
                registry.register(f"referrer{round_}", outer, references=references),
                registry.delete(f"/subjects/{subject}"),
            )
            done = [reply.status == 200 for reply in (claimed, referred, deleted)]
            assert sum(done) == 1, [claimed.text, referred.text, deleted.text]

    run(behaviour)


def test_servers_on_one_database_make_one(postgres_url: str):
    async def main() -> None:
        storages = [open_store(postgres_url) for _ in range(2)]
        nodes = [InProcessRegistry(storage) for storage in storages]
        try:
            for round_ in range(ROUNDS):
                requests = [
                    node.post("/associations", body(f"topic{round_}", bringing(record("R", f"f{number}"))))
                    for number, node in enumerate(nodes * 3)
                ]
                replies = await asyncio.gather(*requests)
                assert Counter(reply.status for reply in replies) == {200: 1, 409: 5}
                lists = [(await node.get(f"/associations/resources/c1/topic{round_}")).text for node in nodes]
                assert lists[0] == lists[1]
                assert len(json.loads(lists[0])) == 1
        finally:
            for storage in storages:
                await storage.close()

    asyncio.run(main())
