"""The registry's behaviour, story by story: settings, modes, imports, names, and metadata."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from strategies.registry.stories import A, B, C, Tell, X, record, teller

if TYPE_CHECKING:
    from pathlib import Path

    from strategies.registry.driver import InProcessRegistry


@pytest.fixture(params=["memory", "sqlite"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """Run a story against an empty registry, over either storage."""
    return teller(request.param, tmp_path)


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
