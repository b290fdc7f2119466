"""Lists of associations, and batches of requests about them."""

from __future__ import annotations

import pytest

from strategies.registry.associations import (
    INT,
    OWN,
    OWN_KEY,
    STRING,
    Asked,
    Tell,
    code_of,
    resource,
    strong,
    told_in_memory,
    weak,
)


@pytest.fixture
def tell() -> Tell:
    return told_in_memory


# --- reading them -----------------------------------------------------------------------------------------------------


def test_lists(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        for name, namespace in (("b", "n1"), ("a", "n2"), ("a", "n1")):
            both = (weak(), weak(associationType="key"))
            await asked.create(*both, resourceName=name, resourceNamespace=namespace, resourceId=f"{name}-{namespace}")

        async def listed(path: str) -> list[str]:
            found = (await asked.registry.get(f"/associations/{path}")).json
            return [f"{each['resourceName']}-{each['resourceNamespace']}-{each['associationType']}" for each in found]

        everything = ["a-n1-key", "a-n1-value", "a-n2-key", "a-n2-value", "b-n1-key", "b-n1-value"]
        assert await listed("resources/-/-") == everything
        assert await listed("subjects/shared") == everything
        assert await listed("resources/-/a") == everything[:4]
        assert await listed("resources/n1/-") == everything[:2] + everything[4:]
        assert await listed("resources/n1/a") == everything[:2]
        assert await listed("resources/n1/-?associationType=key") == ["a-n1-key", "b-n1-key"]
        assert (
            await listed("resources/-/-?associationType=key&associationType=value&offset=1&limit=2") == everything[1:3]
        )
        assert await listed("resources/-/-?offset=-1&limit=1001") == everything
        assert await listed("resources/-/-?offset=9") == []
        assert await listed("resources/-/-?lifecycle=STRONG") == []
        assert await listed("resources/-/-?lifecycle=WEAK") == everything
        assert await listed("resources/-/-?resourceType=queue") == []
        assert await listed("resources/b-n1") == everything[4:]
        for nothing in ("subjects/:.:shared", "subjects/other", "resources/other", "resources/n3/a", "resources/b"):
            assert await listed(nothing) == []
        for bad in ("lifecycle=FOO", "limit=x", "offset=x"):
            assert (await asked.registry.get(f"/associations/resources/-/-?{bad}")).code == 404

    tell(story)


# --- batches ----------------------------------------------------------------------------------------------------------


def test_batch_get(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.create(strong(), strong(INT, associationType="key"))
        requests = [
            {"resourceId": "id-1"},
            {"resourceName": "orders", "resourceNamespace": "-", "associationTypes": ["key"]},
            {"resourceId": "id-1", "lifecycle": "WEAK"},
            {"resourceId": "other"},
            {"resourceName": "orders"},
            {"resourceId": "id-1", "lifecycle": "FOO"},
            5,
        ]
        reply = await asked.registry.post("/associations:batchGet", {"requests": requests})
        assert reply.status == 207
        slots = reply.json["results"]
        assert [code_of(slot) for slot in slots] == [None, None, None, None, 500, 500, 500]
        subjects = [[each["subject"] for each in slot["result"].get("associations", [])] for slot in slots[:4]]
        assert subjects == [[OWN_KEY, OWN], [OWN_KEY], [], []]
        assert slots[0]["result"]["resourceName"] == "orders"
        assert "schema" not in slots[0]["result"]["associations"][0]
        reply = await asked.registry.post("/associations:batchGet?includeSchemas=true", {"requests": requests[:1]})
        (slot,) = reply.json["results"]
        assert [each["schema"]["schema"] for each in slot["result"]["associations"]] == [INT, STRING]
        assert (await asked.registry.post("/associations:batchGet", {})).json == {"results": []}
        assert (await asked.registry.post("/associations:batchGet", {"requests": 5})).code == 400

    tell(story)


def test_batch_mutate_answers_each_by_itself(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        requests = [
            resource({"opType": "CREATE", **weak()}),
            resource({"opType": "CREATE", **strong("{")}, resourceName="b", resourceId="id-2"),
            resource({"opType": "DELETE"}, resourceName="c", resourceId="id-3"),
            resource({"opType": "UPSERT", **weak()}, resourceName="d", resourceId="id-4"),
            resource({"opType": "NEW"}, resourceName="e", resourceId="id-5"),
        ]
        reply = await asked.registry.post("/associations:batchMutate", {"requests": requests})
        assert reply.status == 207
        assert [code_of(slot) for slot in reply.json["results"]] == [None, 42212, 40410, None, 42212]
        assert "schema" in reply.json["results"][1]["error"]["message"]
        listed = (await asked.registry.get("/associations/resources/-/-")).json
        assert [each["resourceName"] for each in listed] == ["d", "orders"]

    tell(story)


def test_batch_mutate_is_all_or_nothing_for_a_resource(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        create, key = {"opType": "CREATE"}, {"associationType": "key"}
        assert code_of(await asked.mutate({**create, **strong()}, {"opType": "DELETE", **key})) == 40410
        assert (await asked.registry.get("/subjects")).json == ["shared"]
        assert code_of(await asked.mutate({**create, **weak()}, {"opType": "DELETE"})) == 42212  # one type twice
        await asked.mutate({**create, **strong()})
        assert code_of(await asked.mutate({**create, **key, **weak()}, {"opType": "DELETE"})) == 42212  # not uniform
        assert code_of(await asked.mutate({"opType": "DELETE"}, {**create, **key, **weak()})) == 40908
        delete = {"opType": "DELETE", "cascadeLifecycle": True}
        gone = weak(OWN)
        assert code_of(await asked.mutate(delete, {**create, **key, **gone})) == 40907
        slot = await asked.mutate(delete, {**create, **key, **weak()}, query="?dryRun=true")
        assert code_of(slot) is None
        assert await asked.found() == [("value", OWN, "STRONG")]
        slot = await asked.mutate(delete, {**create, **key, **weak()})
        assert [each["subject"] for each in slot["result"]["associations"]] == ["shared"]
        assert await asked.found() == [("key", "shared", "WEAK")]
        assert (await asked.registry.get("/subjects?deleted=true")).json == ["shared"]

    tell(story)
