"""The registry's behaviour as its callers meet it, story by story, over the whole application: schemas and versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from strategies.registry.stories import A, B, Tell, X, record, teller

if TYPE_CHECKING:
    from pathlib import Path

    from strategies.registry.driver import InProcessRegistry


@pytest.fixture(params=["memory", "sqlite"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """Run a story against an empty registry, over either storage."""
    return teller(request.param, tmp_path)


def test_the_stored_text_is_canonical_and_its_own_body(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        first = await registry.register("t", '{  "type" : "string" }')
        second = await registry.register("t", '"string"')
        assert first.json["id"] == second.json["id"] == 1
        assert (await registry.get("/subjects/t/versions/1")).json["schema"] == '"string"'
        raw = await registry.get("/subjects/t/versions/1/schema")
        assert (raw.text, raw.media_type) == ('"string"', "application/vnd.schemaregistry.v1+json")
        assert (await registry.get("/schemas/ids/1/schema")).text == '"string"'

    tell(story)


def test_subjects_share_the_id_of_one_content(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.register("s1", A)).json["id"] == 1
        assert (await registry.register("s2", A)).json["id"] == 1
        answer = (await registry.register("s2", B)).json
        assert (answer["id"], answer["version"]) == (2, 2)
        assert sorted((await registry.get("/schemas/ids/1/subjects")).json) == ["s1", "s2"]
        versions = (await registry.get("/schemas/ids/1/versions")).json
        assert {(each["subject"], each["version"]) for each in versions} == {("s1", 1), ("s2", 1)}

    tell(story)


def test_an_id_names_its_subjects_on_request(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for subject in ("s2", "s1", ":.c:s3"):
            await registry.register(subject, A)
        whole = (await registry.get("/schemas/ids/1?includeSubjects=True")).json
        assert whole["subjects"] == ["s1", "s2"]
        assert {name: value for name, value in whole.items() if name != "subjects"} == (
            await registry.get("/schemas/ids/1?includeSubjects=no")
        ).json
        assert (await registry.get("/contexts/c/schemas/ids/1?includeSubjects=true")).json["subjects"] == [":.c:s3"]
        for subject, left in (("s1", ["s2"]), ("s2", [])):
            await registry.delete(f"/subjects/{subject}")
            assert (await registry.get("/schemas/ids/1?includeSubjects=true")).json["subjects"] == left
        assert "subjects" not in (await registry.get("/schemas/ids/1")).json

    tell(story)


def test_contexts_count_their_own_ids_and_share_guids(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        plain = (await registry.register("t", A)).json
        first = (await registry.register(":.ctx:t", B)).json
        there = (await registry.register(":.ctx:t", A)).json
        assert (plain["id"], first["id"], there["id"]) == (1, 1, 2)
        assert plain["guid"] == there["guid"]
        ids = (await registry.get(f"/schemas/guids/{plain['guid']}/ids")).json
        assert ids == [{"context": ".", "id": 1}, {"context": ".ctx", "id": 2}]
        bare = plain["guid"].replace("-", "")
        assert (await registry.get(f"/schemas/guids/{bare}")).json["schema"] == plain["schema"]
        assert (await registry.get("/schemas/guids/nonsense")).code == 40403
        assert (await registry.get("/schemas/guids/00000000-0000-0000-0000-000000000000/ids")).json == []

    tell(story)


def test_a_look_up_tells_subject_and_schema_apart(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        a, b = ({"schema": json.dumps(schema)} for schema in (A, B))
        assert (await registry.post("/subjects/s", a)).code == 40401
        await registry.register("s", A)
        assert (await registry.post("/subjects/s", b)).code == 40403
        await registry.delete("/subjects/s")
        assert (await registry.post("/subjects/s", a)).code == 40401
        assert (await registry.post("/subjects/s?deleted=true", a)).json["version"] == 1

    tell(story)


def test_version_words(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", A)
        for word in ("0", "-2", "abc", "99999999999", "1.0", "%20"):
            assert (await registry.get(f"/subjects/s/versions/{word}")).code == 42202, word
        for word in ("LATEST", "-1", "1", "+1", "%201%20"):
            assert (await registry.get(f"/subjects/s/versions/{word}")).json["version"] == 1, word
        assert (await registry.get("/subjects/s/versions/2")).code == 40402

    tell(story)


def test_a_version_is_deleted_softly_then_for_good(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", A)
        await registry.register("s", B)
        two = "/subjects/s/versions/2"
        assert (await registry.delete(f"{two}?permanent=true")).outcome == 40407
        assert (await registry.delete(two)).outcome == 2
        assert (await registry.delete(two)).outcome == 40406
        assert (await registry.get(f"{two}?deleted=true")).json["deleted"] is True
        assert (await registry.get(two)).outcome == 40402
        assert (await registry.get("/schemas/ids/2")).status == 200
        assert (await registry.delete(f"{two}?permanent=true")).outcome == 2
        assert (await registry.delete(f"{two}?permanent=true")).outcome == 40402
        assert (await registry.get("/schemas/ids/2")).outcome == 40403
        assert (await registry.delete("/subjects/s/versions/latest")).outcome == 1
        assert (await registry.get("/subjects/s/versions")).outcome == 40401
        again = (await registry.register("s", A)).json
        assert (again["id"], again["version"]) == (1, 2)

    tell(story)


def test_a_subject_is_deleted_softly_then_for_good(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", A)
        await registry.register("s", B)
        outcomes = [
            (await registry.delete(f"/subjects/s{query}")).outcome
            for query in ("?permanent=true", "", "", "?permanent=true", "", "?permanent=true")
        ]
        assert outcomes == [40405, [1, 2], 40404, [1, 2], 40401, 40401]

    tell(story)


def test_references_guard_their_targets(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("r", record("Item", ("sku", "string")))
        user = record("Main", ("item", "Item"))
        main = (await registry.register("m", user, references=[{"name": "Item", "subject": "r", "version": 1}])).json
        one, referrers = "/subjects/r/versions/1", "/subjects/r/versions/1/referencedby"
        assert (await registry.delete(one)).outcome == 42206
        assert (await registry.delete("/subjects/r")).outcome == 42206
        assert (await registry.get(referrers)).json == [main["id"]]
        assert (await registry.delete("/subjects/m/versions/1")).outcome == 1
        assert (await registry.get(referrers)).json == []
        assert (await registry.get(f"{referrers}?deleted=true")).json == [main["id"]]
        assert (await registry.delete(one)).outcome == 1
        assert (await registry.delete(f"{one}?permanent=true")).outcome == 42206
        assert (await registry.delete("/subjects/m/versions/1?permanent=true")).outcome == 1
        assert (await registry.delete(f"{one}?permanent=true")).outcome == 1

    tell(story)


def test_references_are_resolved_numbered_and_written_out(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        user = record("Main", ("item", "Item"))

        async def refer(version: int) -> Any:
            return await registry.register("m", user, references=[{"name": "Item", "subject": "r", "version": version}])

        assert (await refer(1)).code == 42201
        await registry.register("r", record("Item", ("sku", "string")))
        await registry.delete("/subjects/r/versions/1")
        assert (await refer(1)).code == 42201
        await registry.register("r", record("Item", ("sku", "string"), ("n", "int", 0)))
        stored = (await refer(-1)).json
        assert stored["references"] == [{"name": "Item", "subject": "r", "version": 2}]
        inlined = record("Main", ("item", record("Item", ("sku", "string"), ("n", "int", 0))))
        found = (await registry.post("/subjects/m", {"schema": json.dumps(inlined)})).json
        assert (found["id"], found["guid"]) == (stored["id"], stored["guid"])
        resolved = (await registry.get(f"/schemas/ids/{stored['id']}?format=resolved")).json
        assert json.loads(resolved["schema"]) == inlined
        assert resolved["guid"] == stored["guid"]

    tell(story)


def test_an_incompatible_schema_is_refused_with_reasons_and_a_record(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config", {"compatibility": "FULL"})
        await registry.register("s", A)
        refused = await registry.register("s", X)
        assert (refused.status, refused.code) == (409, 40901)
        message = refused.json["message"]
        for fact in ("'s'", "oldSchemaVersion: 1", "oldSchema: ", "TYPE_MISMATCH", "/fields/0/type"):
            assert fact in message
        assert message.endswith("{validateFields: 'false', compatibility: 'FULL'}]")
        assert "for example this record" in message
        body = {"schema": json.dumps(X)}
        verbose = (await registry.post("/compatibility/subjects/s/versions/?verbose=true", body)).json
        assert verbose["is_compatible"] is False
        assert any("for example this record" in text for text in verbose["messages"])
        assert (await registry.post("/compatibility/subjects/s/versions/1", body)).json == {"is_compatible": False}
        assert (await registry.register("s", X)).status == 409
        forced = await registry.post("/subjects/s/versions?force=true", body)
        assert forced.json["version"] == 2

    tell(story)


def test_transitive_levels_look_further_back_than_one_version(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config/s", {"compatibility": "NONE"})
        await registry.register("s", record("R", ("f1", "string"), ("f2", "string")))
        await registry.register("s", record("R", ("f1", "string")))
        await registry.put("/config/s", {"compatibility": "FORWARD_TRANSITIVE"})
        candidate = record("R", ("f1", "string"), ("f3", "string"))
        body = {"schema": json.dumps(candidate)}
        assert (await registry.post("/compatibility/subjects/s/versions/latest", body)).json["is_compatible"] is True
        assert (await registry.post("/compatibility/subjects/s/versions", body)).json["is_compatible"] is False
        assert (await registry.register("s", candidate)).status == 409

    tell(story)
