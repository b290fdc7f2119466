"""Associations that are changed and deleted, and what they forbid elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strategies.registry.associations import (
    INT,
    OWN,
    OWN_KEY,
    STRING,
    Asked,
    Tell,
    record,
    strong,
    told_in_memory,
    weak,
)


@pytest.fixture
def tell() -> Tell:
    return told_in_memory


# --- changing them ----------------------------------------------------------------------------------------------------


def test_put_makes_what_is_not_there(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        for _ in range(2):
            reply = await asked.put(weak(), resourceId="id-1")
            assert reply.status == 200
        assert reply.json.get("associations", []) == []
        assert await asked.found() == [("value", "shared", "WEAK")]
        reply = await asked.put(weak(associationType="key"), resourceName=None, resourceNamespace=None)
        assert [each["associationType"] for each in reply.json["associations"]] == ["key"]

    tell(story)


@pytest.mark.parametrize(
    ("item", "fields", "named"),
    [
        (weak(), {"resourceId": "id-2"}, "resourceId"),
        (weak(), {"resourceName": None}, "resourceName"),
        ({"lifecycle": "STRONG"}, {}, "lifecycle"),
        (strong(), {}, "schema"),
    ],
)
def test_put_cannot_make(tell: Tell, item: dict[str, Any], fields: dict[str, Any], named: str):
    async def story(asked: Asked) -> None:
        for subject in ("shared", OWN):
            await asked.registry.register(subject, STRING)
        reply = await asked.put(item, **fields)
        assert reply.code == 42212
        assert f"'{named}'" in reply.json["message"]
        assert await asked.found() == []

    tell(story)


@pytest.mark.parametrize(
    ("item", "named"),
    [
        (weak("elsewhere"), "subject"),
        (weak(frozen=True), "frozen"),
        (weak(lifecycle="STRONG"), "lifecycle"),
        (strong(subject="shared"), "lifecycle"),
    ],
)
def test_put_cannot_change(tell: Tell, item: dict[str, Any], named: str):
    async def story(asked: Asked) -> None:
        for subject in ("shared", "elsewhere"):
            await asked.registry.register(subject, STRING)
        await asked.create(weak())
        reply = await asked.put(item)
        assert reply.code == 42212
        assert f"'{named}'" in reply.json["message"]

    tell(story)


def test_put_registers_the_next_schema(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.create(strong(record("a")))
        reply = await asked.put(strong(record("a", "b")))
        assert reply.json["associations"][0]["schema"]["version"] == 2
        assert (await asked.put(strong(record("a", "b")))).json.get("associations", []) == []
        assert (await asked.put(strong(INT))).code == 40901
        await asked.registry.put(f"/mode/{OWN}", {"mode": "READONLY"})
        assert (await asked.put(strong(record("a", "b", "c")))).code == 42205

    tell(story)


def test_put_lets_a_subject_go(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.create(strong())
        assert (await asked.put({"lifecycle": "WEAK"}, query="?dryRun=true")).status == 200
        assert await asked.found() == [("value", OWN, "STRONG")]
        (changed,) = (await asked.put({"lifecycle": "WEAK"})).json["associations"]
        assert (changed["lifecycle"], changed["frozen"]) == ("WEAK", True)
        assert await asked.found(f"/associations/subjects/{OWN}") == [("value", OWN, "WEAK")]
        assert (await asked.create(weak(OWN), resourceName="bills", resourceId="id-2")).status == 200
        await asked.create(strong(), strong(associationType="key"), resourceName="third", resourceId="id-3")
        third = {"resource_id": "id-3", "resourceName": "third"}
        assert (await asked.put({"lifecycle": "WEAK"}, **third)).code == 42212  # its key's is STRONG
        both = [{"lifecycle": "WEAK"}, {"lifecycle": "WEAK", "associationType": "key"}]
        assert (await asked.put(*both, **third)).status == 200

    tell(story)


# --- deleting them ----------------------------------------------------------------------------------------------------


def test_delete(tell: Tell):
    async def story(asked: Asked) -> None:
        path = "/associations/resources/id-1"
        assert (await asked.registry.delete(path)).code == 40410
        await asked.registry.register("shared", STRING)
        await asked.create(weak(), weak(associationType="key"))
        assert (await asked.registry.delete(f"{path}?resourceType=queue")).code == 40410
        assert (await asked.registry.delete(f"{path}?associationType=header")).code == 40410
        assert (await asked.registry.delete(f"{path}?dryRun=true")).status == 204
        reply = await asked.registry.delete(f"{path}?associationType=key")
        assert (reply.status, reply.text) == (204, "")
        assert await asked.found() == [("value", "shared", "WEAK")]
        assert (await asked.registry.delete(f"{path}?associationType=key")).code == 40410
        assert (await asked.registry.delete(f"{path}?cascadeLifecycle=true")).status == 204
        assert (await asked.registry.get("/associations/resources/-/-")).json == []
        assert (await asked.registry.get("/associations/subjects/shared")).json == []
        assert (await asked.registry.get("/subjects")).json == ["shared"]
        assert (await asked.registry.delete("/subjects/shared")).status == 200

    tell(story)


def test_a_frozen_one_goes_with_its_subject(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.create(strong(record("a")), strong(associationType="key"))
        await asked.registry.register(OWN, record("a", "b"))
        await asked.registry.put(f"/config/{OWN}", {"compatibility": "NONE"})
        path = "/associations/resources/id-1"
        assert (await asked.registry.delete(path)).code == 40908
        assert (await asked.registry.delete(f"{path}?cascadeLifecycle=true&dryRun=true")).status == 204
        assert len(await asked.found()) == 2
        assert (await asked.registry.delete(f"{path}?cascadeLifecycle=true&associationType=value")).status == 204
        assert await asked.found() == [("key", OWN_KEY, "STRONG")]
        assert (await asked.registry.get("/subjects?deleted=true")).json == [OWN_KEY]
        assert (await asked.registry.get(f"/config/{OWN}")).code == 40408
        assert (await asked.registry.delete(f"{path}?cascadeLifecycle=true")).status == 204
        assert (await asked.registry.get("/subjects?deleted=true")).json == []
        reply = await asked.create(strong(INT))
        assert reply.json["associations"][0]["schema"]["id"] == 4  # ids are never given out again

    tell(story)


def test_both_subjects_go_with_their_configs(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.create(strong(), strong(associationType="key"))
        for subject in (OWN, OWN_KEY):
            await asked.registry.put(f"/config/{subject}", {"compatibility": "NONE"})
        assert (await asked.registry.delete("/associations/resources/id-1?cascadeLifecycle=true")).status == 204
        assert (await asked.registry.get("/subjects?deleted=true")).json == []
        assert (await asked.registry.get(f"/config/{OWN_KEY}")).code == 40408

    tell(story)


def test_one_that_is_not_frozen_leaves_its_subject(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register(OWN, STRING)
        await asked.create({"lifecycle": "STRONG", "frozen": False})
        assert (await asked.registry.delete("/associations/resources/id-1")).status == 204
        assert (await asked.registry.get("/subjects")).json == [OWN]

    tell(story)


# --- what they say elsewhere ------------------------------------------------------------------------------------------


def test_associated_subjects_stay(tell: Tell):
    async def story(asked: Asked) -> None:
        for text in (record("a"), record("a", "b")):
            await asked.registry.register("shared", text)
        await asked.create(weak())
        assert (await asked.registry.delete("/subjects/shared")).code == 40904
        assert (await asked.registry.delete("/subjects/shared?permanent=true")).code == 40904
        assert (await asked.registry.delete("/subjects/shared/versions/1")).json == 1
        for query in ("", "?permanent=true"):
            assert (await asked.registry.delete(f"/subjects/shared/versions/2{query}")).code == 40907
        assert (await asked.registry.delete("/subjects/shared/versions/latest")).code == 40907
        assert (await asked.registry.delete("/subjects/shared/versions/1?permanent=true")).json == 1
        await asked.registry.put("/mode/shared", {"mode": "READONLY"})
        assert (await asked.registry.delete("/subjects/shared")).code == 42205
        assert (await asked.registry.put("/mode/shared", {"mode": "IMPORT"})).code == 42205  # it has schemas

    tell(story)


def test_nobody_refers_to_a_subject_that_belongs_to_a_topic(tell: Tell):
    reference = {"name": "R", "subject": OWN, "version": 1}
    text = json.dumps({"type": "record", "name": "Outer", "fields": [{"name": "r", "type": "R"}]})

    async def story(asked: Asked) -> None:
        await asked.registry.register(OWN, record("a"))
        await asked.registry.register("referrer", text, references=[reference])
        assert (await asked.create({"lifecycle": "STRONG"})).code == 42206
        assert (await asked.create(strong(record("a", "b")))).code == 42206
        assert (await asked.create(weak(OWN), resourceName="bills", resourceId="id-2")).status == 200
        await asked.registry.delete("/associations/resources/id-2")
        for query in ("", "?permanent=true"):
            await asked.registry.delete(f"/subjects/referrer{query}")
        assert (await asked.create({"lifecycle": "STRONG"})).status == 200
        assert (await asked.registry.register("referrer", text, references=[reference])).code == 42205
        along = {"schema": {"schema": text, "references": [reference]}, "associationType": "key"}
        assert (await asked.create(along)).code == 42205

    tell(story)


def test_a_schema_cannot_refer_to_what_is_claimed_beside_it(tell: Tell):
    reference = {"name": "R", "subject": OWN, "version": 1}
    text = json.dumps({"type": "record", "name": "Outer", "fields": [{"name": "r", "type": "R"}]})

    async def story(asked: Asked) -> None:
        await asked.registry.register(OWN, record("a"))
        along = {"schema": {"schema": text, "references": [reference]}, "associationType": "key"}
        assert (await asked.create({"lifecycle": "STRONG"}, along)).code == 42205
        assert (await asked.create(along, {"lifecycle": "STRONG"})).code == 42205
        assert await asked.found() == []

    tell(story)


def test_schemas_listed_by_association(tell: Tell):
    async def story(asked: Asked) -> None:
        for subject in ("alone", "shared"):
            await asked.registry.register(subject, STRING)
        await asked.create(weak(), weak(associationType="key"))
        await asked.create(strong(), resourceName="bills", resourceId="id-2")

        async def listed(query: str) -> list[tuple[str, list[str]]]:
            found = (await asked.registry.get(f"/schemas?subjectPrefix=:*:{query}")).json
            return [
                (each["subject"], [held["associationType"] for held in each.get("associations", [])]) for each in found
            ]

        bills = ":.c1:bills-value"
        assert await listed("") == [(bills, []), ("alone", []), ("shared", [])]
        assert await listed("&resourceType=topic") == [(bills, ["value"]), ("shared", ["key", "value"])]
        assert await listed("&associationType=key") == [("shared", ["key"])]
        assert await listed("&lifecycle=STRONG") == [(bills, ["value"])]
        assert await listed("&lifecycle=NONE") == [("alone", [])]
        assert await listed("&lifecycle=NONE&lifecycle=WEAK") == [("alone", []), ("shared", ["key", "value"])]
        assert await listed("&resourceType=queue") == []
        assert (await asked.registry.get("/schemas?lifecycle=FOO")).code == 404

    tell(story)
