"""Keys that the registry makes, rules that name keys, and many requests at once."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.keys.services import KeyWrapping
from counterfoil.schema.errors import KeyAccessDenied, KeyWrapFailed
from strategies.registry.keys import KEKS, LOCAL, TABLE_OF_SIZES, WRAPPED, dek, kek, tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strategies.registry.driver import InProcessRegistry


# --- keys that the registry makes


@pytest.mark.parametrize(("algorithm", "beginning", "size"), TABLE_OF_SIZES)
def test_a_shared_kek_has_the_registry_make_keys(algorithm: str, beginning: bytes, size: int) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, **LOCAL)
        made = (await dek(registry, algorithm=algorithm)).json
        plain = b64decode(made["keyMaterial"])
        assert (plain[:2], len(plain)) == (beginning, size)
        assert plain not in b64decode(made["encryptedKeyMaterial"])
        assert (await registry.get(f"{KEKS}/k/deks/s?algorithm={algorithm}")).json == made
        other = (await dek(registry, version=2, algorithm=algorithm)).json
        assert other["keyMaterial"] != made["keyMaterial"]

    tell(story)


def test_a_shared_key_is_wrapped_anew() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, **LOCAL)
        made = (await dek(registry)).json
        assert (await dek(registry)).code == 40971
        assert (await dek(registry, **WRAPPED)).code == 40971
        again = (await dek(registry, query="?rewrap=true")).json
        assert again["encryptedKeyMaterial"] != made["encryptedKeyMaterial"]
        assert {**again, "encryptedKeyMaterial": made["encryptedKeyMaterial"]} == made
        assert (await registry.get(f"{KEKS}/k/deks/s")).json == again
        assert (await dek(registry, query="?rewrap=true", **WRAPPED)).code == 40971
        await registry.delete(f"{KEKS}/k/deks/s")
        assert (await dek(registry)).json == again

    tell(story)


def test_material_that_a_caller_brings_for_a_shared_kek_is_kept_as_it_is() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, **LOCAL)
        assert "keyMaterial" not in (await dek(registry, **WRAPPED)).json
        assert (await registry.get(f"{KEKS}/k/deks/s")).code == 50070
        assert (await dek(registry, version=2, encryptedKeyMaterial="no base64!")).status == 200
        assert (await registry.get(f"{KEKS}/k/deks/s/versions/2")).code == 50070

    tell(story)


def test_import_mode_withholds_the_plain_key() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, **LOCAL)
        await registry.put("/mode/s", {"mode": "IMPORT"})
        made = (await dek(registry)).json
        assert "encryptedKeyMaterial" in made
        assert "keyMaterial" not in made

    tell(story)


def test_a_kek_is_tried() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.ask("POST", f"{KEKS}/k/test")).code == 40470
        made = (await kek(registry, **LOCAL)).json
        assert (await registry.ask("POST", f"{KEKS}/k/test")).json == made
        await kek(registry, "own")
        assert (await registry.ask("POST", f"{KEKS}/own/test")).code == 42271

    tell(story)


@pytest.mark.parametrize("kms_type", ["aws-kms", "azure-kms", "gcp-kms"])
def test_a_service_without_a_driver_is_named_and_leaves_no_key(kms_type: str) -> None:
    key_id = {"aws-kms": "arn:aws:kms:x", "azure-kms": "https://x", "gcp-kms": "projects/x"}[kms_type]

    async def story(registry: InProcessRegistry) -> None:
        fields = {"name": "k", "kmsType": kms_type, "kmsKeyId": key_id, "shared": True}
        assert (await registry.post(f"{KEKS}?testSharing=true", fields)).code == 50070
        assert (await registry.get(KEKS)).json == []
        assert (await registry.post(KEKS, fields)).status == 200
        refused = await dek(registry)
        assert (refused.status, refused.code) == (500, 50070)
        assert kms_type in refused.json["message"]
        assert "counterfoil.kms_drivers" in refused.json["message"]
        assert (await registry.ask("POST", f"{KEKS}/k/test")).code == 50070
        assert (await registry.get(f"{KEKS}/k/deks?deleted=true")).json == []

    tell(story)


class FickleKms:
    """A key management service with a prepared answer for each key id."""

    def __init__(self, refusals: Mapping[str, Exception | None]) -> None:
        self.refusals = dict(refusals)
        self.asked: list[str] = []

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        self.asked.append(key_id)
        if key_id == "dead":
            await asyncio.Event().wait()
        refusal = self.refusals.get(key_id)
        if refusal is not None:
            raise refusal
        return json.dumps([key_id, dict(props), b64encode(plain).decode()]).encode()

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        self.asked.append(key_id)
        by, with_props, plain = json.loads(wrapped)
        if (by, with_props) != (key_id, dict(props)):
            raise KeyWrapFailed("another key wrapped this")
        return b64decode(plain)

    async def close(self) -> None:
        self.asked.append("closed")


def test_a_service_that_refuses_leaves_no_key() -> None:
    kms = FickleKms({"no": KeyAccessDenied("not you"), "broken": KeyWrapFailed("sealed")})

    async def story(registry: InProcessRegistry) -> None:
        for key_id, code in (("no", 40370), ("broken", 50070)):
            await kek(registry, kmsType="own", kmsKeyId=key_id, shared=True)
            refused = await dek(registry)
            assert (refused.code, refused.status) == (code, code // 100)
            assert (await registry.ask("POST", f"{KEKS}/k/test")).code == code
            assert (await registry.put(f"{KEKS}/k?testSharing=true", {"doc": "x"})).code == code
            assert "doc" not in (await registry.get(f"{KEKS}/k")).json
            assert (await registry.get(f"{KEKS}/k/deks?deleted=true")).json == []
            await registry.delete(f"{KEKS}/k")
            await registry.delete(f"{KEKS}/k?permanent=true")

    tell(story, wrapping=KeyWrapping({"own": kms}))


def test_a_service_that_does_not_answer_stops_nobody_else() -> None:
    wrapping = KeyWrapping({"own": FickleKms({})}, timeout_s=0.2)

    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, kmsType="own", kmsKeyId="dead", shared=True)
        waiting = asyncio.create_task(dek(registry))
        await asyncio.sleep(0)
        assert (await registry.get(f"{KEKS}/k/deks")).json == []
        assert not waiting.done()
        assert (await waiting).code == 50070
        assert (await registry.get(f"{KEKS}/k/deks?deleted=true")).json == []

    tell(story, wrapping=wrapping)


def test_other_ids_of_a_kek_stand_in_for_the_first() -> None:
    kms = FickleKms({"first": KeyWrapFailed("sealed")})

    async def story(registry: InProcessRegistry) -> None:
        props = {"encrypt.alternate.kms.key.ids": "second, third", "region": "r"}
        await kek(registry, kmsType="own", kmsKeyId="first", kmsProps=props, shared=True)
        made = (await dek(registry)).json
        assert kms.asked == ["first", "second"]
        assert json.loads(b64decode(made["encryptedKeyMaterial"]))[:2] == ["second", props]
        kms.refusals = {}
        again = (await dek(registry, query="?rewrap=true")).json
        assert json.loads(b64decode(again["encryptedKeyMaterial"]))[0] == "first"
        assert again["keyMaterial"] == made["keyMaterial"]

    tell(story, wrapping=KeyWrapping({"own": kms}))


# --- rules that name keys


def encrypting(**params: str) -> dict[str, Any]:
    return {"domainRules": [{"name": "secret", "type": "ENCRYPT", "params": params}]}


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        (
            {"encrypt.kms.key.id": "arn:aws:kms:eu-1:12:key/a.b"},
            {"encrypt.kek.name": "aws-kms-eu-1-12-key-a-b", "encrypt.kms.type": "aws-kms"},
        ),
        ({"encrypt.kms.key.id": "projects/p/key_1"}, {"encrypt.kek.name": "projects-p-key_1"}),
        ({"encrypt.kms.key.id": "arn:x", "encrypt.kek.name": "k", "encrypt.kms.type": "t"}, {}),
        ({"encrypt.kek.name": "k"}, {}),
    ],
)
def test_a_rule_with_a_key_id_gets_the_name_of_its_kek(given: dict[str, str], filled: dict[str, str]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = (await registry.register("s", '"int"', ruleSet=encrypting(**given))).json
        assert made["ruleSet"]["domainRules"][0]["params"] == {**given, **filled}
        stored = (await registry.get("/subjects/s/versions/1")).json
        assert stored["ruleSet"] == made["ruleSet"]
        again = (await registry.register("s", '"int"', ruleSet=encrypting(**given))).json
        assert (again["id"], again["version"]) == (made["id"], 1)

    tell(story)


# --- many at once


def test_of_many_that_make_the_same_key_one_does() -> None:
    kms = FickleKms({})

    async def story(registry: InProcessRegistry) -> None:
        keks = await asyncio.gather(*(kek(registry, kmsType="own", kmsKeyId="x", shared=True) for _ in range(8)))
        assert sorted(reply.status for reply in keks) == [200] + [409] * 7
        deks = await asyncio.gather(*(dek(registry) for _ in range(8)))
        made = [reply.json for reply in deks if reply.status == 200]
        assert [reply.code for reply in deks if reply.status != 200] == [40971] * 7
        assert [(await registry.get(f"{KEKS}/k/deks/s")).json] == made
        many = await asyncio.gather(*(dek(registry, version=version, **WRAPPED) for version in range(2, 30)))
        assert {reply.status for reply in many} == {200}
        assert len((await registry.get(f"{KEKS}/k/deks/s/versions")).json) == 29

    tell(story, wrapping=KeyWrapping({"own": kms}))


def test_a_kek_does_not_go_while_a_key_is_made() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for _ in range(20):
            await kek(registry)
            made, gone = await asyncio.gather(dek(registry, **WRAPPED), registry.delete(f"{KEKS}/k"))
            assert (made.status, gone.status) in {(200, 422), (404, 204)}
            await registry.delete(f"{KEKS}/k/deks/s")
            await registry.delete(f"{KEKS}/k/deks/s?permanent=true")
            await registry.delete(f"{KEKS}/k")
            assert (await registry.delete(f"{KEKS}/k?permanent=true")).status == 204

    tell(story)


@pytest.mark.slow
def test_openapi_knows_the_keys() -> None:
    async def story(registry: InProcessRegistry) -> None:
        described = (await registry.get("/openapi.json")).json
        paths = [path for path in described["paths"] if path.startswith("/dek-registry")]
        assert sum(len(described["paths"][path]) for path in paths) == 17
        assert {"KekBody", "DekBody"} <= set(described["components"]["schemas"])

    tell(story)
