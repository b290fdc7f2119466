"""The registry's behaviour as its callers meet it, story by story, over the whole application."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.sqlite.storage import SqliteStorage
from registry_driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


def record(name: str, *fields: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": field[0], "type": field[1], **({"default": field[2]} if len(field) > 2 else {})}
            for field in fields
        ],
    }


A = record("R", ("f1", "string"))
B = record("R", ("f1", "string"), ("f2", "string", ""))
C = record("R", ("f1", "string"), ("f2", "string", ""), ("f3", "string", ""))
X = record("R", ("f1", "int"))


@pytest.fixture(params=["memory", "sqlite"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Callable[[Any], Awaitable[None]]], None]:
    """Run a story against an empty registry, over either storage."""

    def run(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
        async def main() -> None:
            storage = None if request.param == "memory" else SqliteStorage(tmp_path / "registry.db")
            try:
                await story(InProcessRegistry(storage))
            finally:
                if storage is not None:
                    await storage.close()

        asyncio.run(main())

    return run


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


def test_config_is_merged_field_by_field(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.put("/config/s", {"compatibility": "forward", "alias": "q"})).json == {
            "compatibility": "FORWARD",
            "alias": "q",
        }
        assert (await registry.put("/config/s", {"alias": None})).json == {"compatibility": "FORWARD"}
        assert (await registry.put("/config/s", {"compatibilityLevel": "NONE"})).json == {"compatibility": "FORWARD"}
        assert (await registry.get("/config/s")).json == {"compatibilityLevel": "FORWARD"}
        assert (await registry.delete("/config/s")).json == {"compatibilityLevel": "FORWARD"}
        assert (await registry.delete("/config/s")).code == 40401
        assert (await registry.get("/config/s")).code == 40408
        assert (await registry.get("/config/s?defaultToGlobal=true")).json == {"compatibilityLevel": "BACKWARD"}

    tell(story)


def test_wrong_config_is_refused_in_order(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        twice = [{"name": "r", "type": "CEL"}, {"name": "r", "type": "CEL"}]
        assert (await registry.put("/config", {"compatibility": "SIDEWAYS"})).code == 42203
        assert (await registry.put("/config/%C2%85bad", {"compatibility": "NONE"})).code == 42208
        assert (await registry.put("/config/s", {"defaultRuleSet": {"domainRules": twice}})).code == 42210
        assert (await registry.get("/config/s")).code == 40408

    tell(story)


def test_modes_are_set_cleared_and_refused(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.get("/mode/s")).code == 40409
        assert (await registry.delete("/mode/s")).code == 40401
        assert (await registry.put("/mode/s", {"mode": "FOO"})).code == 42204
        assert (await registry.put("/mode/s", {})).code == 42204
        assert (await registry.put("/mode", {"mode": "forward"})).code == 42204
        for mode in ("FORWARD", None):
            assert (await registry.put("/mode/:.__GLOBAL:", {"mode": mode})).json == {"mode": mode}
        for mode in ("readonly", None):
            assert (await registry.put("/mode", {"mode": mode})).json == {"mode": mode}
        assert (await registry.get("/mode")).json == {"mode": "READWRITE"}

    tell(story)


def test_a_read_only_subject_takes_nothing_new_and_answers_what_it_has(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", A)
        await registry.put("/mode", {"mode": "READONLY"})
        assert (await registry.register("s", A)).json["id"] == 1
        assert (await registry.register("s", B)).code == 42205
        assert (await registry.register("s", "{")).code == 42201
        assert (await registry.delete("/subjects/s")).code == 42205
        assert (await registry.put("/config/s", {"compatibility": "NONE"})).code == 42205
        await registry.put("/mode/s", {"mode": "READWRITE"})
        assert (await registry.register("s", B)).json["id"] == 2

    tell(story)


def test_import_brings_ids_and_versions(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.register("s", A, id=7)).code == 42205
        await registry.put("/mode", {"mode": "IMPORT"})
        assert (await registry.register("s", A)).code == 42205
        imported = (await registry.register("s", A, id=7, version=3)).json
        assert (imported["id"], imported["version"]) == (7, 3)
        assert (await registry.register("s", A)).json["id"] == 7
        assert (await registry.register("s", B, id=7)).code == 42205
        assert (await registry.register("s", B, id=8, version=3)).code == 42205
        assert (await registry.register("s", " ", id=9)).code == 42201
        await registry.put("/mode", {"mode": None})
        assert (await registry.register("s", B)).json["id"] == 8

    tell(story)


def test_import_needs_an_empty_scope_or_force(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", A)
        assert (await registry.put("/mode", {"mode": "IMPORT"})).code == 42205
        assert (await registry.put("/mode?force=true", {"mode": "IMPORT"})).status == 200
        await registry.put("/mode", {"mode": None})
        await registry.delete("/subjects/s")
        assert (await registry.put("/mode/s", {"mode": "IMPORT"})).status == 200
        assert (await registry.get("/subjects?deleted=true")).json == []

    tell(story)


def test_a_recursive_delete_of_modes_stays_in_its_context(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        scopes = (":.c:", ":.c:a", ":.c:b", ":.d:a")
        for scope in scopes:
            await registry.put(f"/mode/{scope}", {"mode": "READONLY"})
        assert (await registry.delete("/mode/:.c:?recursive=true")).json == {"mode": "READONLY"}
        assert [(await registry.get(f"/mode/{scope}")).outcome for scope in scopes] == [
            40409,
            40409,
            40409,
            {"mode": "READONLY"},
        ]
        assert (await registry.delete("/mode/:.c:?recursive=true")).json == {}
        assert (await registry.delete("/mode/:.c:")).code == 40401

    tell(story)


def test_an_alias_leads_one_hop(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("real", A)
        for alias, target in (("al", "real"), ("a%2Fb", "real"), ("far", "al"), ("slash", "x/y")):
            await registry.put(f"/config/{alias}", {"alias": target})
        assert (await registry.get("/subjects/al/versions/1")).json["subject"] == "real"
        assert (await registry.get("/subjects/a%2Fb/versions/1")).json["subject"] == "real"
        assert (await registry.get("/subjects/far/versions/1")).code == 40401
        assert (await registry.get("/config/al")).json["alias"] == "real"
        assert (await registry.register("slash", A)).status == 200
        assert "x/y" in (await registry.get("/subjects")).json

    tell(story)


def test_names_with_contexts(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("b", A)
        await registry.register(":.ctx:a", A)
        assert (await registry.get("/subjects")).json == [":.ctx:a", "b"]
        assert (await registry.get("/subjects?subjectPrefix=")).json == ["b"]
        assert (await registry.get("/subjects?subjectPrefix=:*:a")).json == [":.ctx:a"]
        assert [each["subject"] for each in (await registry.get("/schemas")).json] == ["b"]
        for spelling in ("ctx", ".ctx", ":.ctx:", "%3A.ctx%3A"):
            assert (await registry.get(f"/contexts/{spelling}/subjects")).json == [":.ctx:a"]
            assert (await registry.get(f"/contexts/{spelling}/subjects/a/versions/1")).json["id"] == 1
        assert (await registry.get("/contexts/x:y/subjects")).code == 400
        assert (await registry.get("/contexts")).json == [".", ".ctx"]
        assert (await registry.get("/subjects/a/versions/1")).json["subject"] == ":.ctx:a"

    tell(story)


def test_pages_and_flags(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for name in "abc":
            await registry.register(name, A)
        assert (await registry.get("/subjects?limit=2&offset=1")).json == ["b", "c"]
        assert (await registry.get("/subjects?limit=0")).json == ["a", "b", "c"]
        assert (await registry.get("/subjects?offset=9")).json == []
        assert (await registry.get("/subjects?offset=-1")).json == ["a", "b", "c"]
        assert len((await registry.get("/schemas?limit=5000")).json) == 3
        assert (await registry.get("/subjects?limit=x")).code == 404
        await registry.delete("/subjects/a")
        assert (await registry.get("/subjects?deleted=1")).json == ["b", "c"]
        assert (await registry.get("/subjects?deleted=TRUE")).json == ["a", "b", "c"]
        assert (await registry.get("/subjects?deletedOnly=true&deleted=true")).json == ["a"]

    tell(story)


def test_metadata_is_identity_and_is_inherited(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        first = (await registry.register("s", A, metadata={"properties": {"k": "v1"}})).json
        second = (await registry.post("/subjects/s/versions", {"metadata": {"properties": {"k": "v2"}}})).json
        assert (second["version"], second["schema"]) == (2, first["schema"])
        assert second["id"] != first["id"]
        by_metadata = "/subjects/s/metadata?key=k&value="
        assert [(await registry.get(by_metadata + value)).outcome for value in ("v3",)] == [40403]
        assert (await registry.get(by_metadata + "v1")).json["version"] == 1
        assert (await registry.get(by_metadata + "v2")).json["version"] == 2
        assert (await registry.post("/subjects/s", {"schema": json.dumps(A)})).json["version"] == 2

    tell(story)


def test_defaults_and_overrides_surround_metadata(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put(
            "/config",
            {"defaultMetadata": {"properties": {"p": "d"}}, "overrideMetadata": {"properties": {"o": "x"}}},
        )
        a = (await registry.register("s", A, metadata={"properties": {"o": "mine", "q": "1"}})).json
        b = (await registry.register("s", B)).json
        c = (await registry.register("s", C, metadata={"properties": {"r": "2"}})).json
        assert a["metadata"]["properties"] == {"o": "x", "p": "d", "q": "1"}
        assert b["metadata"]["properties"] == {"o": "x", "p": "d", "q": "1"}
        assert c["metadata"]["properties"] == {"o": "x", "p": "d", "r": "2"}

    tell(story)


def test_rule_sets_are_stored_returned_and_part_of_identity(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        plain = (await registry.register("s", A)).json
        rules = {"domainRules": [{"name": "r1", "type": "CEL", "kind": "CONDITION", "mode": "WRITE", "expr": "true"}]}
        ruled = (await registry.register("s", A, ruleSet=rules)).json
        assert ruled["id"] != plain["id"]
        assert ruled["ruleSet"]["domainRules"][0] == {**rules["domainRules"][0], "disabled": False}
        assert (await registry.get("/subjects/s/versions/2")).json["ruleSet"] == ruled["ruleSet"]
        assert (await registry.get("/schemas?ruleType=CEL")).json[0]["version"] == 2
        assert (await registry.register("s", B)).json["ruleSet"] == ruled["ruleSet"]
        for broken in ({"name": "1r", "type": "CEL"}, {"name": "r"}, {"name": "r", "type": "CEL", "mode": "UPGRADE"}):
            assert (await registry.register("s", A, ruleSet={"domainRules": [broken]})).code == 42210

    tell(story)


def test_compatibility_groups_split_history(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config/s", {"compatibilityGroup": "application.version"})

        async def register(schema: Any, group: str) -> int:
            metadata = {"properties": {"application.version": group}}
            return (await registry.register("s", schema, metadata=metadata)).status

        later = record("R", ("f1", "int"), ("f2", "int", 0))
        outcomes = [await register(A, "1"), await register(X, "1"), await register(X, "2"), await register(later, "2")]
        assert outcomes == [200, 409, 200, 200]

    tell(story)


def test_reserved_names_stay_reserved_and_free(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config/s", {"validateFields": True, "compatibility": "NONE"})

        async def register(schema: Any, reserved: str) -> Any:
            return await registry.register("s", schema, metadata={"properties": {"confluent:reserved": reserved}})

        assert (await register(A, "f1")).code == 40901
        assert (await register(A, "g1,g2")).status == 200
        lost = await register(B, "g1")
        assert (lost.status, "g2" in lost.json["message"]) == (409, True)
        assert lost.json["message"].endswith("{validateFields: 'true', compatibility: 'NONE'}]")
        assert (await register(B, "g2, g1")).status == 200
        await registry.put("/config/s", {"validateFields": None})
        assert (await register(C, "f1")).status == 200

    tell(story)


def test_the_guid_is_the_fingerprint_that_others_compute(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.register("a", '"string"')).json["guid"] == "095d71cf-1255-6b9d-5e33-0ad575b3df5d"
        with_empty = (await registry.register("b", '"string"', metadata={})).json
        assert with_empty["guid"] == "cecc02e2-232b-87f1-1b0c-aa0e70dbb74d"
        assert with_empty["metadata"] == {}
        metadata = {"properties": {"owner": "team-a"}, "tags": {"**.ssn": ["PII"]}, "sensitive": ["owner"]}
        full = (await registry.register("c", '"string"', metadata=metadata)).json
        assert full["guid"] == "521cddc7-7231-d165-8573-99315442af6f"
        rule = {
            "name": "r1", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "tags": ["Z", "A"],
            "params": {"b": "2", "a": "1"}, "expr": "true", "disabled": True,
        }  # fmt: skip
        ruled = (await registry.register("d", '"string"', ruleSet={"domainRules": [rule]})).json
        assert ruled["guid"] == "4da3a4a1-e28a-e32d-aea0-c6b53cdcad90"
        for fields in ((("id", "int"),), (("id", "int"), ("b", "int", 1)), (("id", "int"), ("c", "int", 1))):
            await registry.register("item-value", {**record("Item", *fields), "namespace": "ns"})
        reference = {"name": "ns.Item", "subject": "item-value", "version": 3}
        referring = (await registry.register("e", record("Order", ("id", "long")), references=[reference])).json
        assert referring["guid"] == "83daee06-cc3b-ebf3-7938-3f503f4d7340"
        for each in (with_empty, full, ruled, referring):
            by_guid = (await registry.get(f"/schemas/guids/{each['guid']}")).json
            kept = ("guid", "schemaType", "schema", "references", "metadata", "ruleSet")
            assert {name: by_guid.get(name) for name in kept} == {name: each.get(name) for name in kept}
            assert not {"subject", "version"} & by_guid.keys()

    tell(story)


def test_keys_go_in_order_and_come_back(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        keks, deks = "/dek-registry/v1/keks", "/dek-registry/v1/keks/k/deks"
        kek = {"name": "k", "kmsType": "local-kms", "kmsKeyId": "mine", "shared": False}
        assert (await registry.post(keks, kek)).status == 200
        assert (await registry.post(f"{deks}/s", {"subject": "s"})).code == 42271
        material = {"encryptedKeyMaterial": "d3JhcHBlZA=="}
        assert (await registry.post(f"{deks}/s", material)).json["version"] == 1
        assert (await registry.post(f"{deks}/s", {"encryptedKeyMaterial": "b3RoZXI="})).code == 40971
        assert (await registry.post(f"{deks}/s", {**material, "version": 2})).json["version"] == 2
        assert (await registry.get(f"{deks}/s")).json["version"] == 1
        assert (await registry.get(f"{deks}/s/versions/latest")).json["version"] == 2
        assert (await registry.delete(f"{keks}/k")).code == 42272
        assert (await registry.delete(f"{deks}/s")).status == 204
        assert (await registry.delete(f"{keks}/k")).status == 204
        assert (await registry.ask("POST", f"{deks}/s/undelete")).code == 40472
        assert (await registry.delete(f"{keks}/k?permanent=true")).code == 42272
        assert (await registry.delete(f"{deks}/s?permanent=true")).status == 204
        assert (await registry.delete(f"{keks}/k?permanent=true")).status == 204

    tell(story)


def test_at_once_identical_registrations_get_one_id_and_one_version(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        replies = await asyncio.gather(*(registry.register("s", A) for _ in range(30)))
        assert {(reply.json["id"], reply.json["version"]) for reply in replies} == {(1, 1)}
        assert (await registry.get("/subjects/s/versions")).json == [1]

    tell(story)


def test_what_is_not_built_is_reported(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.get("/schemas/types")).json == ["JSON", "PROTOBUF", "AVRO"]
        for schema_type in ("XML", "avro", ""):
            refused = await registry.register("s", "{}", schemaType=schema_type)
            assert refused.code == 42201
            assert "AVRO" in refused.json["message"]
        assert (await registry.get("/subjects")).json == []
        for path in ("/exporters", "/associations/exporters"):
            assert (await registry.get(path)).code == 404, path

    tell(story)


POLICIES = {
    # policy: what is there, what is sent, whether it is taken
    "STRICT": ("string", "string", True),
    "LENIENT": ("bytes", "string", True),
    "LOGICAL": ("int", "double", False),  # Avro reads it, a table does not take it
    "SOUND": ("bytes", "string", False),  # not all bytes are UTF-8
}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_of_a_config_is_applied(tell: Any, policy: str) -> None:
    was, now, taken = POLICIES[policy]

    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.put("/config/s", {"compatibilityPolicy": policy.lower()})).status == 200
        assert (await registry.get("/config/s")).json["compatibilityPolicy"] == policy
        await registry.register("s", record("R", ("f1", was)))
        reply = await registry.register("s", record("R", ("f1", now)))
        assert (reply.status, reply.code) == ((200, None) if taken else (409, 40901))

    tell(story)


def test_a_schema_with_warnings_is_refused_under_sound(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        unusable = record("R", ("f1", {"type": "enum", "name": "E", "symbols": ["A"]}))
        unusable["fields"][0]["default"] = "B"
        assert (await registry.register("plain", unusable)).status == 200
        await registry.put("/config", {"compatibilityPolicy": "SOUND"})
        refused = await registry.register("s", unusable)
        assert refused.code == 42201
        assert "The default 'B' of field f1 is no value of its type" in refused.json["message"]
        tested = await registry.post(
            "/compatibility/subjects/s/versions?verbose=true", {"schema": json.dumps(unusable)}
        )
        assert tested.json["is_compatible"] is False

    tell(story)


def test_a_difference_below_a_message_that_is_lost_whole_is_answered_under_sound(tell: Any) -> None:
    """The search for a record of the inner difference meets the loss of the message around it."""
    writer = 'syntax = "proto3"; message B { C a = 5; } message C { int64 v = 1; }'
    reader = (
        'edition = "2023"; message B { D a = 5 [features.message_encoding = DELIMITED]; } message D { uint32 v = 1; }'
    )

    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config", {"compatibilityPolicy": "SOUND"})
        await registry.register("s", writer, schemaType="PROTOBUF")
        body = {"schema": reader, "schemaType": "PROTOBUF"}
        tested = await registry.post("/compatibility/subjects/s/versions?verbose=true", body)
        assert (tested.status, tested.json["is_compatible"]) == (200, False)
        assert any("enclosed as a group" in message for message in tested.json["messages"])

    tell(story)


def tags(path: str, *names: str) -> list[dict[str, Any]]:
    kind = "sr_field" if path.endswith(".f1") else "sr_record"
    return [{"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": [*names]}]


def test_tags_are_written_into_the_text_and_make_a_version(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        schema = record("R", ("f1", "string"))
        first = await registry.register("s", schema, schemaTagsToAdd=tags("R.f1", "PII", "A"))
        assert first.json["metadata"] == {"properties": {"confluent:version": "1"}}
        assert '"confluent:tags":["PII","A"]' in first.json["schema"]
        second = await registry.post("/subjects/s/versions/1/tags", {"tagsToAdd": tags("R", "B"), "tagsToRemove": []})
        assert (second.status, second.json["version"]) == (200, 2)
        third = await registry.post("/subjects/s/versions/latest/tags", {"tagsToRemove": tags("R.f1", "A")})
        found = (await registry.get(f"/schemas/ids/{third.json['id']}?findTags=*")).json["schemaTags"]
        assert found == [*tags("R", "B"), *tags("R.f1", "PII")]
        wider = record("R", ("f1", "string"), ("f2", "int", 1))
        fourth = await registry.register("s", wider, propagateSchemaTags=True)
        kept = (await registry.get(f"/subjects/s/versions/{fourth.json['version']}?findTags=*")).json["schemaTags"]
        assert kept == found

    tell(story)


def test_tags_of_what_is_not_there_are_refused_and_leave_nothing(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        schema = record("R", ("f1", "string"))
        refused = await registry.register("s", schema, schemaTagsToAdd=tags("Q.f1", "PII"))
        assert refused.code == 42201
        assert "no sr_field 'Q.f1'" in refused.json["message"]
        assert (await registry.register("s", "", schemaTagsToAdd=tags("R.f1", "PII"))).code == 42201
        assert (await registry.get("/subjects")).json == []
        await registry.register("s", schema)
        assert (await registry.post("/subjects/s/versions/2/tags", {"tagsToAdd": tags("R", "A")})).code == 40402
        wrong = {"tagsToAdd": tags("R", "A"), "newVersion": 7}
        assert (await registry.post("/subjects/s/versions/1/tags", wrong)).code == 42201
        both = {"ruleSet": {"domainRules": []}, "rulesToRemove": ["r"]}
        assert (await registry.post("/subjects/s/versions/1/tags", both)).code == 42210
        assert (await registry.post("/subjects/s/versions/1/tags", {"tagsToAdd": [{"tags": ["A"]}]})).code == 400
        assert (await registry.get("/subjects/s/versions")).json == [1]

    tell(story)


def test_rules_are_merged_and_removed_with_tags(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        rules = {"domainRules": [{"name": name, "type": "CEL", "kind": "CONDITION"} for name in ("a", "b")]}
        await registry.register("s", record("R", ("f1", "string")), ruleSet=rules)
        body = {"rulesToMerge": {"domainRules": [{"name": "c", "type": "CEL"}]}, "rulesToRemove": ["a"]}
        reply = await registry.post("/subjects/s/versions/1/tags", body)
        assert [rule["name"] for rule in reply.json["ruleSet"]["domainRules"]] == ["b", "c"]

    tell(story)


def test_inline_tags_are_found(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        tagged = {**record("R", ("f1", "string")), "namespace": "n", "confluent:tags": ["A", "B"]}
        tagged["fields"][0]["confluent:tags"] = ["PII"]
        await registry.register("s", tagged)
        one = (await registry.get("/subjects/s/versions/1?findTags=B")).json["schemaTags"]
        assert one == [{"schemaEntity": {"entityPath": "n.R", "entityType": "sr_record"}, "tags": ["A", "B"]}]
        assert len((await registry.get("/schemas/ids/1?findTags=*")).json["schemaTags"]) == 2
        assert "schemaTags" not in (await registry.get("/subjects/s/versions/1")).json

    tell(story)


def test_every_answer_is_in_its_envelope(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for method, path in (
            ("GET", "/subjects"),
            ("GET", "/nothing/here"),
            ("PUT", "/subjects"),
            ("HEAD", "/subjects"),
        ):
            reply = await registry.ask(method, path)
            assert re.fullmatch(r"[0-9a-f-]{36}", reply.headers["x-request-id"])
            assert reply.headers["cache-control"] == "no-cache, no-store, must-revalidate"
        echoed = await registry.ask("GET", "/subjects", headers={"X-Request-ID": "mine"})
        assert echoed.headers["x-request-id"] == "mine"
        assert (await registry.ask("GET", "/nothing/here")).code == 404
        assert (await registry.ask("PUT", "/subjects")).code == 405
        head = await registry.ask("HEAD", "/subjects/")
        assert (head.status, head.text) == (200, "")

    tell(story)


def test_the_description_is_whole() -> None:
    async def story() -> None:
        description = (await InProcessRegistry().get("/openapi.json")).json
        wanted = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(description)))
        assert wanted <= description["components"]["schemas"].keys()
        operations = [operation for path in description["paths"].values() for operation in path.values()]
        assert len({operation["operationId"] for operation in operations}) == len(operations) > 35
        assert all(operation["summary"] for operation in operations)

    asyncio.run(story())


def test_health_and_measures(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.get("/health/live")).json == {"status": "live"}
        ready = (await registry.get("/health/ready")).json
        assert ready["status"] == "ready"
        assert {step["step"] for step in ready["steps"]} == {"store", "server"}
        await registry.get("/subjects/s/versions/7")
        measures = (await registry.get("/metrics")).text
        assert (
            'counterfoil_requests_total{method="GET",route="/subjects/{subject}/versions/{version}",status="404"} 1.0'
            in measures
        )

    tell(story)


def test_a_stopping_server_is_not_ready() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        registry.app.lifecycle.stopping = True
        reply = await registry.get("/health/ready")
        assert reply.status == 503
        assert {"step": "server", "state": "waiting", "on": "the requests under way, before it stops"} in reply.json[
            "steps"
        ]

    asyncio.run(story())
