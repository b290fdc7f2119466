"""Associations, endpoint by endpoint and code by code, as a caller sees them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from counterfoil.registry.app import assemble
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage
from registry_driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STRING, INT, LONG = ('"string"', '"int"', '"long"')
OWN = ":.c1:orders-value"
OWN_KEY = ":.c1:orders-key"


def record(*fields: str) -> str:
    return json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": f, "type": "int", "default": 0} for f in fields]}
    )


def resource(*associations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The body about the topic ``orders`` of the namespace ``c1``."""
    names = {"resourceName": "orders", "resourceNamespace": "c1", "resourceId": "id-1"}
    kept = {name: value for name, value in {**names, **fields}.items() if value is not None}
    return {**kept, "associations": list(associations)}


def strong(text: str = STRING, **fields: Any) -> dict[str, Any]:
    return {"schema": {"schema": text}, **fields}


def weak(subject: str = "shared", **fields: Any) -> dict[str, Any]:
    return {"subject": subject, **fields}


@dataclass
class Asked:
    """What a story asks the registry with."""

    registry: InProcessRegistry

    async def create(self, *associations: dict[str, Any], query: str = "", **fields: Any) -> Any:
        return await self.registry.post(f"/associations{query}", resource(*associations, **fields))

    async def put(
        self, *associations: dict[str, Any], resource_id: str = "id-1", query: str = "", **fields: Any
    ) -> Any:
        body = resource(*associations, **{"resourceId": None, **fields})
        return await self.registry.put(f"/associations/resources/{resource_id}{query}", body)

    async def found(self, path: str = "/associations/resources/id-1") -> list[tuple[str, str, str]]:
        listed = (await self.registry.get(path)).json
        return [(each["associationType"], each["subject"], each["lifecycle"]) for each in listed]

    async def mutate(self, *associations: dict[str, Any], query: str = "", **fields: Any) -> dict[str, Any]:
        """The one slot of a batch about one resource."""
        reply = await self.registry.post(
            f"/associations:batchMutate{query}", {"requests": [resource(*associations, **fields)]}
        )
        assert reply.status == 207, reply.text
        (slot,) = reply.json["results"]
        assert isinstance(slot, dict)
        return slot


def code_of(slot: dict[str, Any]) -> int | None:
    return slot["error"]["error_code"] if "error" in slot else None


Story: TypeAlias = "Callable[[Asked], Awaitable[None]]"
Tell: TypeAlias = "Callable[[Story], None]"


@pytest.fixture
def tell() -> Tell:
    """Run a story on an empty registry in memory."""

    def run(story: Story) -> None:
        async def main() -> None:
            await story(Asked(InProcessRegistry(MemoryStorage())))

        asyncio.run(main())

    return run


# --- making them ------------------------------------------------------------------------------------------------------


def test_a_schema_makes_the_subject_the_topics_own(tell: Tell):
    async def story(asked: Asked) -> None:
        reply = await asked.create(strong(), strong(INT, associationType="key"))
        assert reply.status == 200
        assert {name: value for name, value in reply.json.items() if name != "associations"} == {
            "resourceName": "orders",
            "resourceNamespace": "c1",
            "resourceId": "id-1",
            "resourceType": "topic",
        }
        value, key = reply.json["associations"]
        assert (value["subject"], value["associationType"], value["lifecycle"]) == (OWN, "value", "STRONG")
        assert (value["schema"]["id"], value["schema"]["version"], value["schema"]["schema"]) == (1, 1, STRING)
        assert (key["subject"], key["schema"]["id"]) == (OWN_KEY, 2)
        assert (await asked.registry.get(f"/subjects/{OWN}/versions/1")).json["id"] == 1
        assert await asked.found() == [("key", OWN_KEY, "STRONG"), ("value", OWN, "STRONG")]

    tell(story)


def test_an_association_has_all_its_members(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        await asked.create(weak(frozen=True))
        (found,) = (await asked.registry.get("/associations/resources/id-1")).json
        assert found.pop("createTs") == found.pop("updateTs") > 1_600_000_000_000
        assert len(found.pop("guid")) == 36
        assert found == {
            "subject": "shared",
            "resourceName": "orders",
            "resourceNamespace": "c1",
            "resourceId": "id-1",
            "resourceType": "topic",
            "associationType": "value",
            "lifecycle": "WEAK",
            "frozen": True,
        }
        await asked.registry.register(":.c2:orders-value", STRING)
        await asked.create({"lifecycle": "STRONG"}, resourceNamespace="c2", resourceId="id-2")
        (strong_one,) = (await asked.registry.get("/associations/resources/id-2")).json
        assert "frozen" not in strong_one  # a STRONG one is

    tell(story)


def test_several_topics_share_a_subject(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        assert (await asked.create(weak())).status == 200
        assert (await asked.create(weak(), resourceName="bills", resourceId="id-2")).status == 200
        listed = (await asked.registry.get("/associations/subjects/shared")).json
        assert [each["resourceName"] for each in listed] == ["bills", "orders"]

    tell(story)


def test_a_retry_succeeds_and_lists_nothing(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        for item in (weak(), weak(lifecycle="WEAK", frozen=False)):
            reply = await asked.create(item)
        assert (reply.status, reply.json.get("associations", [])) == (200, [])
        for _ in range(2):
            reply = await asked.create(strong(), resourceName="bills", resourceId="id-2")
        assert (reply.status, reply.json.get("associations", [])) == (200, [])
        assert (await asked.registry.get("/subjects/:.c1:bills-value/versions")).json == [1]
        mixed = await asked.create(weak(), weak(associationType="key"))
        assert [each["associationType"] for each in mixed.json["associations"]] == ["key"]

    tell(story)


@pytest.mark.parametrize(
    "other",
    [
        weak("elsewhere"),
        weak(frozen=True),
        {"lifecycle": "STRONG"},
        weak(schema={"schema": STRING}),
    ],
)
def test_another_one_for_the_same_topic(tell: Tell, other: dict[str, Any]):
    async def story(asked: Asked) -> None:
        for subject in ("shared", "elsewhere"):
            await asked.registry.register(subject, STRING)
        await asked.create(weak())
        assert (await asked.create(other)).code == 40903
        assert await asked.found() == [("value", "shared", "WEAK")]

    tell(story)


def test_another_schema_for_the_same_topic(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.create(strong(record("a")))
        assert (await asked.create(strong(record("a", "b")))).code == 40903
        assert (await asked.create(strong(INT))).code == 40903  # incompatible besides
        assert (await asked.registry.get(f"/subjects/{OWN}/versions")).json == [1]

    tell(story)


def test_one_topic_is_known_by_one_id_and_one_name(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        await asked.create(weak())
        assert (await asked.create(weak(associationType="key"), resourceId="id-2")).code == 40903
        assert (await asked.create(weak(associationType="key"), resourceName="other")).code == 40903
        assert (await asked.put(weak(associationType="key"), resourceNamespace="other")).code == 40903

    tell(story)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (resource(weak(), resourceName=None), "resourceName"),
        (resource(weak(), resourceName="a.b"), "resourceName"),
        (resource(weak(), resourceName="a" * 257), "resourceName"),
        (resource(weak(), resourceNamespace=""), "resourceNamespace"),
        (resource(weak(), resourceNamespace="ü"), "resourceNamespace"),
        (resource(weak(), resourceId=None), "resourceId"),
        (resource(weak(), resourceId="a\u0001"), "resourceId"),
        (resource(weak(), resourceType="queue"), "resourceType"),
        (resource(), "associations"),
        (resource(weak(associationType="header")), "associationType"),
        (resource(weak(), weak()), "associationType"),
        (resource(weak(lifecycle="strong")), "lifecycle"),
        (resource(strong(lifecycle="WEAK")), "lifecycle"),
        (resource(strong(frozen=False)), "frozen"),
        (resource({}), "subject"),
        (resource(weak(OWN)), "subject"),
        (resource(weak("shared", lifecycle="STRONG")), "subject"),
        (resource(strong(subject="orders-value")), "subject"),
        (resource(weak(), strong(associationType="key")), "lifecycle"),
    ],
)
def test_properties_that_are_not_valid(tell: Tell, body: dict[str, Any], named: str):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        reply = await asked.registry.post("/associations", body)
        assert (reply.status, reply.code) == (422, 42212)
        assert f"'{named}'" in reply.json["message"]
        assert (await asked.registry.get("/associations/resources/-/-")).json == []
        assert (await asked.registry.get("/subjects")).json == ["shared"]

    tell(story)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 422),
        (b"null", 422),
        (b"[]", 400),
        (b'{"associations": 5}', 400),
        (b'{"associations": [5]}', 400),
        (b'{"associations": [{"schema": "text"}]}', 400),
    ],
)
def test_bodies_that_are_none(tell: Tell, body: bytes, code: int):
    async def story(asked: Asked) -> None:
        assert (await asked.registry.ask("POST", "/associations", body)).code == code

    tell(story)


def test_subjects_that_are_taken(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register(OWN, STRING)
        await asked.create(weak(OWN), resourceName="bills", resourceId="id-2")
        assert (await asked.create({"lifecycle": "STRONG"})).code == 40904
        assert (await asked.create(strong())).code == 40904
        await asked.create(strong(), resourceName="third", resourceId="id-3")
        taken = await asked.create(weak(":.c1:third-value"), resourceName="fourth", resourceId="id-4")
        assert taken.code == 40905

    tell(story)


def test_subjects_without_an_active_version(tell: Tell):
    async def story(asked: Asked) -> None:
        assert (await asked.create(weak())).code == 40907
        assert (await asked.create({"lifecycle": "STRONG"})).code == 40907
        await asked.registry.register("shared", STRING)
        await asked.registry.delete("/subjects/shared")
        assert (await asked.create(weak())).code == 40907

    tell(story)


def test_schemas_that_cannot_be_registered(tell: Tell):
    async def story(asked: Asked) -> None:
        assert (await asked.create(strong("{"))).code == 42201
        await asked.registry.register(OWN, record("a"))
        assert (await asked.create(strong(STRING))).code == 40901
        assert (await asked.create(strong(INT, associationType="key"), strong(STRING))).code == 40901
        assert await asked.found() == []
        assert (await asked.registry.get("/subjects")).json == [OWN]  # nothing of the key's schema was kept
        made = await asked.create(strong(record("a", "b")))
        assert made.json["associations"][0]["schema"]["version"] == 2

    tell(story)


def test_modes(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register("shared", STRING)
        await asked.registry.put("/mode/shared", {"mode": "READONLY"})
        assert (await asked.create(weak())).code == 42205
        await asked.registry.put("/mode/shared?force=true", {"mode": "IMPORT"})
        assert (await asked.create(weak())).status == 200
        await asked.registry.put("/mode/shared", {"mode": "READONLY"})
        assert (await asked.registry.delete("/associations/resources/id-1")).code == 42205
        await asked.registry.put("/mode/:.c1:", {"mode": "IMPORT"})
        other = {"resourceName": "bills", "resourceId": "id-2"}
        assert (await asked.create({"schema": {"schema": STRING, "id": 7}}, **other)).code == 42205

    tell(story)


def test_a_dry_run_checks_and_changes_nothing(tell: Tell):
    async def story(asked: Asked) -> None:
        reply = await asked.create(strong(), query="?dryRun=true", resourceId=None)
        assert reply.status == 200
        (found,) = reply.json["associations"]
        assert (found["subject"], found["schema"]["schema"]) == (OWN, STRING)
        assert "id" not in found["schema"]
        assert (await asked.create(weak(), query="?dryRun=true", resourceId=None)).code == 40907
        assert (await asked.registry.get("/subjects")).json == []
        assert (await asked.registry.get("/associations/resources/c1/orders")).json == []
        await asked.create(strong())
        again = await asked.create(strong(), query="?dryRun=true", resourceId=None)
        assert again.json.get("associations", []) == []
        assert (await asked.create(strong(INT), query="?dryRun=true", resourceId=None)).code == 40903

    tell(story)


def test_contexts(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.registry.register(":.ctx:shared", STRING)
        assert (await asked.create(weak())).code == 40907
        assert (await asked.create(weak(), query="?context=%3A.ctx%3A")).status == 200
        assert await asked.found("/associations/subjects/:.ctx:shared") == [("value", ":.ctx:shared", "WEAK")]
        key = resource(weak(associationType="key"))
        assert (await asked.registry.post("/contexts/ctx/associations", key)).status == 200
        assert await asked.found("/contexts/.ctx/associations/subjects/shared") == [
            ("key", ":.ctx:shared", "WEAK"),
            ("value", ":.ctx:shared", "WEAK"),
        ]
        put = await asked.registry.put("/contexts/ctx/associations/resources/id-1", resource(weak("shared")))
        assert (put.status, put.json.get("associations", [])) == (200, [])
        slot = await asked.registry.post("/contexts/ctx/associations:batchMutate", {"requests": [key]})
        assert (slot.status, code_of(slot.json["results"][0])) == (207, 42212)  # no opType
        other = resource({"opType": "CREATE", **weak()}, resourceName="bills", resourceId="id-2")
        slot = await asked.registry.post("/contexts/ctx/associations:batchMutate", {"requests": [other]})
        assert slot.json["results"][0]["result"]["associations"][0]["subject"] == ":.ctx:shared"

    tell(story)


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


# --- the switch -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/associations/subjects/s"),
        ("GET", "/associations/resources/-/orders"),
        ("GET", "/associations/resources/id-1"),
        ("POST", "/associations"),
        ("PUT", "/associations/resources/id-1"),
        ("DELETE", "/associations/resources/id-1"),
        ("POST", "/associations:batchGet"),
        ("POST", "/associations:batchMutate"),
        ("GET", "/schemas?lifecycle=WEAK"),
    ],
)
def test_turned_off(method: str, path: str):
    async def main() -> None:
        storage = MemoryStorage()
        on, off = InProcessRegistry(storage), InProcessRegistry(storage)
        off.app = assemble(storage, ServerSettings(store="sqlite://", associations=False))
        await on.register("shared", STRING)
        await on.post("/associations", resource(weak()))
        assert (await off.ask(method, path, b"{}")).code == 404
        assert (await off.delete("/subjects/shared")).status == 200

    asyncio.run(main())


def test_the_fast_lane_knows_of_them(tell: Tell):
    async def story(asked: Asked) -> None:
        await asked.create(strong())
        for _ in range(3):
            assert (await asked.registry.get(f"/subjects/{OWN}/versions/latest")).status == 200
        await asked.registry.delete("/associations/resources/id-1?cascadeLifecycle=true")
        assert (await asked.registry.get(f"/subjects/{OWN}/versions/latest")).code == 40401

    tell(story)


class Overtaken(MemoryStorage):
    """A storage in which something happens between one reading and the next."""

    def __init__(self) -> None:
        super().__init__()
        self.between: Callable[[], Awaitable[Any]] | None = None

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Any:
        found = await super().records(kind, prefix)
        happens, self.between = self.between, None
        if happens is not None:
            await happens()
        return found


def test_what_was_read_in_two_halves_is_read_again():
    async def main() -> None:
        storage = Overtaken()
        asked = Asked(InProcessRegistry(storage))
        await asked.registry.register("shared", STRING)
        storage.between = lambda: asked.create(weak())  # after the look-up by id, before the one by name
        reply = await asked.create(weak())
        assert (reply.status, reply.json.get("associations", [])) == (200, [])
        storage.between = lambda: asked.registry.delete("/associations/resources/id-1")
        assert (await asked.create(weak("elsewhere"))).code == 40907

    asyncio.run(main())
