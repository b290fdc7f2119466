"""Associations, endpoint by endpoint and code by code, as a caller sees them: making them, and the switch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.app import assemble
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage
from strategies.registry.associations import (
    INT,
    OWN,
    OWN_KEY,
    STRING,
    Asked,
    Tell,
    code_of,
    record,
    resource,
    strong,
    told_in_memory,
    weak,
)
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@pytest.fixture
def tell() -> Tell:
    return told_in_memory


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
