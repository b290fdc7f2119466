"""What callers of the REST API are answered, on every store, with the fast lane and without."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.contexts import SubjectPrefix
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Reference
from counterfoil.schema.rest.versions import Visibility
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from counterfoil.registry.store.protocol import Storage


@pytest.fixture(params=["fast lane", "routes"])
def tell(
    request: pytest.FixtureRequest, store: Callable[[], AbstractAsyncContextManager[Storage]]
) -> Callable[[Callable[[InProcessRegistry, Storage], Awaitable[None]]], None]:
    """Run a story against an empty registry."""

    def run(story: Callable[[InProcessRegistry, Storage], Awaitable[None]]) -> None:
        async def main() -> None:
            async with store() as storage:
                await story(InProcessRegistry(storage, fast_lane=request.param == "fast lane"), storage)

        asyncio.run(main())

    return run


def record(*fields: str, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": "int", "default": 0} for each in fields]}


A, B, C = record("a"), record("a", "b"), record("a", "b", "c")


async def everything(storage: Storage) -> dict[str, Any]:
    """All versions with their ids, contents and times, and the number of changes that were ever made."""
    found: dict[str, Any] = {"changes": await storage.last_change()}
    for subject in await storage.subjects(SubjectPrefix(None, ""), Visibility.WITH_DELETED):
        found[str(subject)] = (await storage.history(subject)).entries
    return found


# --- imports ----------------------------------------------------------------------------------------------------------


def test_one_text_under_several_ids_is_imported_again_without_a_new_version(tell: Any) -> None:
    async def story(registry: InProcessRegistry, storage: Storage) -> None:
        await registry.put("/mode", {"mode": "IMPORT"})
        requests = [{"id": 100, "version": 5}, {"id": 7}, {"id": 101}, {"id": 7}]
        answered = [(await registry.register("s", A, **numbers)).json for numbers in requests]
        assert [(each["id"], each["version"]) for each in answered] == [(100, 5), (7, 6), (101, 7), (7, 6)]
        before = await everything(storage)
        for numbers in [{"id": 100}, {"id": 100, "version": 5}, {"id": 7, "version": 6}, {"id": 101}, {}]:
            again = (await registry.register("s", A, **numbers)).json
            wanted = {"id": 101, "version": {100: 5, 7: 6}.get(numbers.get("id", 101), 7), **numbers}
            assert (again["id"], again["version"]) == (wanted["id"], wanted["version"])
            assert "ts" not in again
        assert await everything(storage) == before

    tell(story)


def test_an_id_with_another_number_is_another_version(tell: Any) -> None:
    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.put("/mode", {"mode": "IMPORT"})
        await registry.register("s", A, id=8)
        assert (await registry.register("s", A, id=8, version=4)).json["version"] == 4
        assert (await registry.register("s", A, id=8)).json["version"] == 4
        assert (await registry.register("s", A, id=9, version=4)).code == 42205
        assert (await registry.get("/subjects/s/versions")).json == [1, 4]

    tell(story)


def test_defaults_that_imports_do_not_get_do_not_make_them_new(tell: Any) -> None:
    """The config's defaults are ignored in IMPORT mode, though with them no comparison is made ahead of the mode."""

    async def story(registry: InProcessRegistry, storage: Storage) -> None:
        await registry.put("/mode", {"mode": "IMPORT"})
        await registry.put("/config", {"defaultMetadata": {"properties": {"team": "t"}}})
        for schema_id, version in [(5, 2), (6, 3)]:
            await registry.register("s", A, id=schema_id, version=version)
        before = await everything(storage)
        assert (await registry.register("s", A, id=5, version=2)).json["version"] == 2
        assert (await registry.register("s", A, id=5)).json["version"] == 2
        assert await everything(storage) == before

    tell(story)


def test_a_version_that_was_soft_deleted_comes_and_goes_as_before(tell: Any) -> None:
    async def story(registry: InProcessRegistry, storage: Storage) -> None:
        async def migrate() -> list[tuple[int, int, bool]]:
            await registry.register("s", A, id=3, version=1)
            await registry.register("s", B, id=4, version=2)
            await registry.delete("/subjects/s/versions/1")
            entries = (await everything(storage))["s"]
            return [(entry.version, entry.schema_id, entry.deleted) for entry in entries]

        await registry.put("/mode", {"mode": "IMPORT"})
        assert await migrate() == await migrate() == [(1, 3, True), (2, 4, False)]

    tell(story)


@pytest.mark.parametrize("seed", range(6))
def test_a_migration_that_is_run_again_adds_nothing(tell: Any, seed: int) -> None:
    chance = random.Random(seed)
    requests = [random_import(chance) for _ in range(40)]

    async def story(registry: InProcessRegistry, storage: Storage) -> None:
        await registry.put("/mode/:.__GLOBAL:", {"mode": "IMPORT"})
        accepted = []
        for subject, body in requests:
            reply = await registry.post(f"/subjects/{subject}/versions", body)
            if reply.status == 200:
                accepted.append((subject, body))
        assert len(accepted) > 10
        before = await everything(storage)
        for subject, body in accepted:
            reply = await registry.post(f"/subjects/{subject}/versions", body)
            assert (reply.status, reply.json["id"]) == (200, body["id"])
        assert await everything(storage) == before

    tell(story)


PLAIN = [A, B, {**A, "x": 1, "y": 2}, {**A, "y": 2, "x": 1}]
"""The last two say the same in other texts."""

PLACE = {"type": "record", "name": "Place", "fields": []}
RIDE = {"type": "record", "name": "Ride", "fields": [{"name": "at", "type": "Place"}]}
MESSAGE = 'syntax = "proto3";\nmessage M { int32 a = 1; }\n'


def random_import(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """An import of one of a few contents under one of a few ids, with or without a number."""
    prefix = chance.choice(["", "", ":.c:"])
    kind = chance.choice(["plain", "plain", "plain", "place", "ride", "message"])
    body: dict[str, Any] = {"schema": json.dumps(chance.choice(PLAIN))}
    base, subject = 1, chance.choice(["s", "t"])
    if kind == "place":
        base, subject, body = 20, "place", {"schema": json.dumps(PLACE)}
    elif kind == "ride":
        references = [{"name": "Place", "subject": f"{prefix}place", "version": chance.choice([1, 2])}]
        base, body = 40, {"schema": json.dumps(RIDE), "references": references}
    elif kind == "message":
        base, body = 60, {"schema": MESSAGE, "schemaType": "PROTOBUF"}
    elif chance.random() < 0.3:
        body["metadata"] = chance.choice([{}, {"properties": {"k": "v"}}, {"tags": {"R.a": ["PII"]}}])
    body["id"] = base + chance.randrange(6)
    if chance.random() < 0.4:
        body["version"] = chance.randrange(1, 9)
    return f"{prefix}{subject}", body


# --- tags -------------------------------------------------------------------------------------------------------------


def tag(path: str) -> list[dict[str, Any]]:
    return [{"schemaEntity": {"entityPath": path, "entityType": "sr_record"}, "tags": ["PII"]}]


def test_a_tagged_version_has_the_metadata_and_rules_of_the_version_that_was_named(tell: Any) -> None:
    rules = {"domainRules": [{"name": "r", "type": "CEL"}]}

    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.register("s", A)
        await registry.register("s", B, metadata={"properties": {"k": "2"}}, ruleSet=rules)
        await registry.register("s", C, metadata={"properties": {"k": "3"}})
        bare = (await registry.post("/subjects/s/versions/1/tags", {"tagsToAdd": tag("R")})).json
        assert bare["metadata"] == {"properties": {"confluent:version": "4"}}
        assert "ruleSet" not in bare
        second = (await registry.post("/subjects/s/versions/2/tags", {"tagsToAdd": tag("R")})).json
        assert second["metadata"] == {"properties": {"confluent:version": "5", "k": "2"}}
        assert [rule["name"] for rule in second["ruleSet"]["domainRules"]] == ["r"]
        given = {"tagsToAdd": tag("R"), "metadata": {"properties": {"m": "x"}}}
        third = (await registry.post("/subjects/s/versions/1/tags", given)).json
        assert third["metadata"] == {"properties": {"confluent:version": "6", "m": "x"}}

    tell(story)


def test_defaults_of_the_config_surround_the_metadata_of_a_tagged_version(tell: Any) -> None:
    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.register("s", A)
        await registry.register("s", B, metadata={"properties": {"k": "2"}})
        await registry.put("/config/s", {"defaultMetadata": {"properties": {"team": "t"}}})
        tagged = (await registry.post("/subjects/s/versions/1/tags", {"tagsToAdd": tag("R")})).json
        assert tagged["metadata"] == {"properties": {"confluent:version": "3", "team": "t"}}

    tell(story)


def test_what_is_wrong_with_a_tag_request_is_answered_in_order(tell: Any) -> None:
    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.register("s", B)
        await registry.register("s", C)
        await registry.put("/mode/s", {"mode": "READONLY"})
        both = {"ruleSet": {"domainRules": []}, "rulesToRemove": ["r"], "newVersion": 9, "tagsToAdd": tag("Q")}
        wrong = {"newVersion": 9, "tagsToAdd": tag("R")}
        for path, body, code in [
            ("s%C2%85/versions/x", both, 42208),
            ("s/versions/x", both, 42202),
            ("other/versions/1", both, 40401),
            ("s/versions/9", both, 40402),
            ("s/versions/1", both, 42210),
            ("s/versions/1", wrong, 42201),
            ("s/versions/1", {"tagsToAdd": tag("Q")}, 42201),
            ("s/versions/1", {"tagsToAdd": tag("R")}, 42205),
        ]:
            assert (path, (await registry.post(f"/subjects/{path}/tags", body)).code) == (path, code)

    tell(story)


def test_a_bad_path_of_tags_is_refused_before_an_incompatible_schema(tell: Any) -> None:
    changed = {
        "AVRO": (json.dumps(A), json.dumps({**A, "fields": [{"name": "a", "type": "string"}]}), "R.b"),
        "JSON": ('{"type":"object"}', '{"type":"string"}', "object.b"),
        "PROTOBUF": (
            'syntax = "proto3";\npackage p;\nmessage R { int32 a = 1; }',
            'syntax = "proto3";\npackage p;\nmessage R { string a = 1; }',
            "p.R.b",
        ),
    }

    async def story(registry: InProcessRegistry, _: Storage) -> None:
        for kind, (earlier, later, path) in changed.items():
            assert (await registry.register(kind, earlier, schemaType=kind)).status == 200
            assert (await registry.register(kind, later, schemaType=kind)).code == 40901
            for key in ("schemaTagsToAdd", "schemaTagsToRemove"):
                edit = {key: [{"schemaEntity": {"entityPath": path, "entityType": "sr_field"}, "tags": ["PII"]}]}
                assert (await registry.register(kind, later, schemaType=kind, **edit)).code == 42201

    tell(story)


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        ({}, {}),
        ({}, {"propagateSchemaTags": True}),
        ({}, {"schemaTagsToAdd": tag("Ride")}),
        ({"defaultMetadata": {"properties": {"k": "v"}}}, {}),
        ({"overrideMetadata": {}}, {"propagateSchemaTags": True, "metadata": {}}),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused_before_what_the_mode_forbids(
    tell: Any, config: dict[str, Any], fields: dict[str, Any]
) -> None:
    references = [{"name": "Place", "subject": "nowhere", "version": 1}]

    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.register("s", A)
        await registry.put("/config/s", config)
        for mode, numbers in [("READWRITE", {"id": 7}), ("READONLY", {}), ("IMPORT", {}), ("READONLY", {"id": 7})]:
            await registry.put("/mode/s?force=true", {"mode": mode})
            for text in (RIDE, '{"type": 5}'):
                sent = await registry.register("s", text, references=references, **fields, **numbers)
                assert sent.code == 42201, (mode, text)
            assert (await registry.register("s", {**PLACE, "name": "Ride"}, **fields, **numbers)).code == 42205
            assert (await registry.register("s", " ", **numbers)).code == 42205

    tell(story)


# --- deletion ---------------------------------------------------------------------------------------------------------


def test_a_version_to_delete_is_missed_while_the_subject_has_any(tell: Any) -> None:
    async def story(registry: InProcessRegistry, _: Storage) -> None:
        async def codes(*versions: str) -> list[int | None]:
            replies = [
                await registry.delete(f"/subjects/s/versions/{version}{query}")
                for query in ("", "?permanent=true")
                for version in versions
            ]
            return [reply.code for reply in replies]

        assert await codes("latest", "-1", "1") == [40401] * 6
        await registry.register("s", A)
        await registry.register("s", B)
        await registry.delete("/subjects/s")
        assert await codes("latest", "-1", "9") == [40402] * 6
        assert (await registry.delete("/subjects/s/versions/1")).code == 40406
        assert (await registry.get("/subjects/s/versions/latest")).code == 40401
        assert (await registry.get("/subjects/s/versions/9")).code == 40401
        await registry.put("/mode/s", {"mode": "READONLY"})
        assert await codes("latest", "9") == [40402] * 4
        assert (await registry.delete("/subjects/s/versions/1?permanent=true")).code == 42205
        await registry.put("/mode/s", {"mode": None})
        await registry.delete("/subjects/s?permanent=true")
        assert await codes("latest", "1") == [40401] * 4

    tell(story)


# --- config -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["alias", "aliasForDeks", "compatibilityGroup"])
def test_an_empty_text_in_a_config_is_answered_once_and_sets_nothing(tell: Any, name: str) -> None:
    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.put("/config/s", {name: "other"})
        emptied = await registry.put("/config/s", {name: ""})
        assert emptied.json == {name: ""}
        assert (await registry.get("/config/s")).json == {"compatibilityLevel": "BACKWARD"}
        assert (await registry.put("/config/s", {"compatibility": "FULL"})).json == {"compatibility": "FULL"}
        assert (await registry.put("/config/s", {name: "", "normalize": False})).json == {
            name: "",
            "normalize": False,
            "compatibility": "FULL",
        }
        assert (await registry.delete("/config/s")).json == {"normalize": False, "compatibilityLevel": "FULL"}

    tell(story)


def test_an_empty_group_of_a_subject_leaves_the_one_of_the_top_level_in_force(tell: Any) -> None:
    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.put("/config", {"compatibilityGroup": "app"})
        await registry.put("/config/s", {"compatibilityGroup": ""})
        found = (await registry.get("/config/s?defaultToGlobal=true")).json
        assert found["compatibilityGroup"] == "app"

    tell(story)


# --- formats ----------------------------------------------------------------------------------------------------------


def test_the_guid_of_qualified_references_is_that_of_the_text_that_is_answered(tell: Any) -> None:
    async def story(registry: InProcessRegistry, _: Storage) -> None:
        await registry.register(":.c:place", PLACE)
        references = [{"name": "Place", "subject": "place", "version": 1}]
        stored = (await registry.register(":.c:ride", RIDE, references=references)).json
        for path in ("/subjects/:.c:ride/versions/1?", f"/schemas/ids/{stored['id']}?subject=:.c:&"):
            plain = (await registry.get(path)).json
            resolved = (await registry.get(f"{path}format=resolved")).json
            assert plain["guid"] == resolved["guid"] == stored["guid"]
            assert resolved["schema"] != plain["schema"]
            qualified = (await registry.get(f"{path}referenceFormat=qualified")).json
            both = (await registry.get(f"{path}format=resolved&referenceFormat=qualified")).json
            assert both["references"] == qualified["references"] == [{**references[0], "subject": ":.c:place"}]
            assert both["schema"] == resolved["schema"]
            written = [Reference("Place", ":.c:place", 1)]
            for document in (qualified, both):
                assert document["guid"] == str(content_guid(document["schema"], written, None, None))

    tell(story)
