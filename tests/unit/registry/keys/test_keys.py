"""The DEK registry as its callers meet it: every endpoint, every refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.store.memory import MemoryStorage
from strategies.registry.keys import AWS, KEKS, LOCAL, WRAPPED, dek, facts, kek, tell

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry

# --- key encryption keys


def test_a_kek_is_stored_unchanged() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await kek(registry, kmsProps={"b": "2", "a": "1"}, doc="ours")
        expected = {"name": "k", **AWS, "kmsProps": {"a": "1", "b": "2"}, "doc": "ours", "shared": False}
        assert facts(made) == expected
        assert made.json["ts"] > 1_600_000_000_000
        assert (await registry.get(f"{KEKS}/k")).json == made.json
        assert facts(await kek(registry, "plain")) == {"name": "plain", **AWS, "kmsProps": {}, "shared": False}
        assert (await registry.get(KEKS)).json == ["k", "plain"]
        assert (await registry.get(f"{KEKS}?offset=1&limit=1")).json == ["plain"]
        assert (await registry.get(f"{KEKS}/other")).code == 40470

    tell(story)


@pytest.mark.parametrize(
    ("given", "stored"),
    [("AWS", "aws-kms"), ("Azure-vault", "azure-kms"), ("gcpx", "gcp-kms"), ("hcvault2", "hcvault2"), ("own", "own")],
)
def test_the_type_of_a_service_is_spelt_in_one_way(given: str, stored: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await kek(registry, kmsType=given, kmsKeyId="anything")).json["kmsType"] == stored

    tell(story)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "1k"},
        {"name": "a.b"},
        {"name": "a" * 257},
        {"name": None},
        {"kmsType": None},
        {"kmsType": ""},
        {"kmsKeyId": None},
        {"kmsKeyId": ""},
        {"kmsKeyId": "key"},
        {"kmsType": "azure-kms", "kmsKeyId": "http://x"},
        {"kmsType": "gcp-kms", "kmsKeyId": "project/x"},
        {"kmsType": "hcvault", "kmsKeyId": "vault/transit"},
    ],
)
def test_a_kek_that_cannot_be(wrong: dict[str, Any]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await kek(registry, **wrong)).code == 42271
        assert (await registry.get(KEKS)).json == []

    tell(story)


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", 400), (b"[]", 400), (b"", 422), (b"null", 422), (b'{"name":{}}', 400)]
)
def test_a_body_that_is_none(body: bytes, code: int) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.ask("POST", KEKS, body)).code == code

    tell(story)


def test_a_name_in_the_path_that_cannot_be() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for path in ("1k", "a%2Fb", "1k/deks", "1k/deks/s", "1k/deks/s/versions", "1k/deks/s/versions/1"):
            assert (await registry.get(f"{KEKS}/{path}")).code == 42271, path
        await kek(registry)
        for subject in ("%C2%85", ":.ctx:", "a%C2%80"):
            assert (await registry.get(f"{KEKS}/k/deks/{subject}")).code == 42271, subject
            assert (await dek(registry, subject, **WRAPPED)).code == 42271, subject

    tell(story)


def test_the_same_kek_again_only_changes_whether_it_is_deleted() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        assert (await kek(registry)).code == 40971
        assert (await kek(registry, doc="other", deleted=True)).code == 40971
        assert (await kek(registry, deleted=True)).json["deleted"] is True
        assert (await kek(registry, deleted=True)).code == 40971
        assert (await registry.get(KEKS)).json == []
        assert "deleted" not in (await kek(registry)).json
        await dek(registry, **WRAPPED)
        assert (await kek(registry, deleted=True)).code == 42272

    tell(story)


def test_a_kek_is_changed_field_by_field() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = (await kek(registry, kmsProps={"a": "1"}, doc="ours", shared=True)).json
        assert (await registry.put(f"{KEKS}/k", {})).json == made
        assert (await registry.put(f"{KEKS}/k", {"doc": "ours", "kmsType": "x"})).json == made
        changed = await registry.put(f"{KEKS}/k", {"doc": None, "kmsProps": None, "shared": None})
        assert facts(changed) == {"name": "k", **AWS, "kmsProps": {}, "shared": False}
        assert (await registry.get(f"{KEKS}/k")).json == changed.json
        assert (await registry.put(f"{KEKS}/other", {})).code == 40470
        await registry.delete(f"{KEKS}/k")
        assert (await registry.put(f"{KEKS}/k", {})).code == 40470

    tell(story)


def test_a_kek_is_deleted_softly_then_for_good() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.delete(f"{KEKS}/k")).code == 40470
        await kek(registry)
        assert (await registry.delete(f"{KEKS}/k?permanent=true")).code == 40471
        for _ in range(2):
            gone = await registry.delete(f"{KEKS}/k")
            assert (gone.status, gone.text) == (204, "")
        assert (await registry.get(f"{KEKS}/k")).code == 40470
        assert (await registry.get(f"{KEKS}/k?deleted=true")).json["deleted"] is True
        assert (await registry.get(f"{KEKS}?deleted=true")).json == ["k"]
        for _ in range(2):
            assert (await registry.ask("POST", f"{KEKS}/k/undelete")).status == 204
        assert (await registry.get(KEKS)).json == ["k"]
        await registry.delete(f"{KEKS}/k")
        assert (await registry.delete(f"{KEKS}/k?permanent=true")).status == 204
        assert (await registry.get(f"{KEKS}?deleted=true")).json == []
        assert (await registry.ask("POST", f"{KEKS}/k/undelete")).code == 40470

    tell(story)


def test_a_kek_stays_while_it_wraps_keys() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        assert (await dek(registry)).code == 42271
        assert facts(await dek(registry, **WRAPPED)) == {
            "kekName": "k",
            "subject": "s",
            "version": 1,
            "algorithm": "AES256_GCM",
            **WRAPPED,
        }
        assert (await dek(registry, **WRAPPED)).code == 40971
        assert (await dek(registry, version=2, encryptedKeyMaterial="b3RoZXI=")).status == 200
        assert (await registry.get(f"{KEKS}/k/deks/s")).json["version"] == 1
        assert (await registry.delete(f"{KEKS}/k")).code == 42272
        assert (await registry.delete(f"{KEKS}/k/deks/s")).status == 204
        assert (await registry.delete(f"{KEKS}/k")).status == 204
        assert (await registry.ask("POST", f"{KEKS}/k/deks/s/undelete")).code == 40472
        assert (await registry.ask("POST", f"{KEKS}/k/deks/s/versions/2/undelete")).code == 40472
        assert (await registry.delete(f"{KEKS}/k?permanent=true")).code == 42272
        assert (await dek(registry, version=3, **WRAPPED)).code == 40470
        assert (await registry.get(f"{KEKS}/k/deks")).code == 40470
        assert (await registry.get(f"{KEKS}/k/deks?deleted=true")).json == ["s"]
        assert (await registry.delete(f"{KEKS}/k/deks/s?permanent=true")).status == 204
        assert (await registry.delete(f"{KEKS}/k?permanent=true")).status == 204

    tell(story)


def test_keks_are_found_by_the_subjects_of_their_keys() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for name, subject in (("a", "orders-value"), ("b", "rides-value"), ("c", ":.ctx:orders-value")):
            await kek(registry, name)
            await registry.post(f"{KEKS}/{name}/deks/{subject}", WRAPPED)
        await kek(registry, "empty")
        assert (await registry.get(f"{KEKS}?subjectPrefix=ord")).json == ["a"]
        assert (await registry.get(f"{KEKS}?subjectPrefix=ord&subjectPrefix=rid")).json == ["a", "b"]
        assert (await registry.get(f"{KEKS}?subjectPrefix=:.ctx:ord")).json == ["c"]
        assert (await registry.get(f"{KEKS}?subjectPrefix=:*:ord")).json == ["a", "c"]
        await registry.delete(f"{KEKS}/a/deks/orders-value")
        assert (await registry.get(f"{KEKS}?subjectPrefix=ord")).json == []
        assert (await registry.get(f"{KEKS}?subjectPrefix=ord&deleted=true")).json == ["a"]

    tell(story)


# --- data encryption keys


def test_deks_are_distinguished_by_subject_algorithm_and_version() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        await dek(registry, version=10, **WRAPPED)
        await dek(registry, version=2, **WRAPPED)
        await dek(registry, algorithm="AES256_SIV", **WRAPPED)
        body = {"subject": "r", **WRAPPED}
        assert (await registry.post(f"{KEKS}/k/deks", body)).json["subject"] == "r"
        assert (await dek(registry, "q", subject="elsewhere", **WRAPPED)).json["subject"] == "q"
        assert (await registry.get(f"{KEKS}/k/deks")).json == ["q", "r", "s"]
        assert (await registry.get(f"{KEKS}/k/deks?offset=1&limit=1")).json == ["r"]
        versions = f"{KEKS}/k/deks/s/versions"
        assert (await registry.get(versions)).json == [2, 10]
        assert (await registry.get(f"{versions}?limit=1")).json == [2]
        assert (await registry.get(f"{versions}?algorithm=AES256_SIV")).json == [1]
        assert (await registry.get(f"{versions}?algorithm=AES128_GCM")).json == []
        assert (await registry.get(f"{KEKS}/k/deks/unknown/versions")).json == []
        assert (await registry.get(f"{KEKS}/other/deks/s/versions")).code == 40470
        assert (await registry.get(f"{KEKS}/k/deks/s")).code == 40470
        assert (await registry.get(f"{KEKS}/k/deks/s?algorithm=AES256_SIV")).json["algorithm"] == "AES256_SIV"
        for word, number in (("latest", 10), ("-1", 10), ("2", 2)):
            assert (await registry.get(f"{versions}/{word}")).json["version"] == number
        assert (await registry.get(f"{versions}/3")).code == 40470
        assert (await registry.get(f"{versions}/0")).code == 42202
        assert (await registry.get(f"{versions}?algorithm=FOO")).code == 404

    tell(story)


def test_a_dek_that_cannot_be() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await dek(registry, **WRAPPED)).code == 40470
        await kek(registry)
        assert (await registry.post(f"{KEKS}/k/deks", WRAPPED)).code == 42271
        for version in (0, -1):
            assert (await dek(registry, version=version, **WRAPPED)).code == 42271
        assert (await dek(registry, algorithm="FOO", **WRAPPED)).code == 400
        assert (await dek(registry, version="x", **WRAPPED)).code == 400
        assert (await registry.get(f"{KEKS}/k/deks")).json == []

    tell(story)


def test_versions_are_deleted_one_by_one_or_all_of_an_algorithm() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        for version in (1, 2, 3):
            await dek(registry, version=version, **WRAPPED)
        await dek(registry, algorithm="AES256_SIV", **WRAPPED)
        path = f"{KEKS}/k/deks/s"
        assert (await registry.delete(f"{path}/versions/2?permanent=true")).code == 40471
        for _ in range(2):
            assert (await registry.delete(f"{path}/versions/2")).status == 204
        assert (await registry.get(f"{path}/versions")).json == [1, 3]
        assert (await registry.get(f"{path}/versions?deleted=true")).json == [1, 2, 3]
        assert (await registry.get(f"{path}/versions/2")).code == 40470
        assert (await registry.get(f"{path}/versions/2?deleted=true")).json["deleted"] is True
        assert (await registry.delete(f"{path}?permanent=true")).code == 40471
        assert (await registry.delete(f"{path}/versions/latest")).status == 204
        assert (await registry.get(f"{path}/versions/latest")).json["version"] == 1
        for _ in range(2):
            assert (await registry.ask("POST", f"{path}/versions/3/undelete")).status == 204
        assert (await registry.ask("POST", f"{path}/undelete")).status == 204
        assert (await registry.get(f"{path}/versions")).json == [1, 2, 3]
        await registry.delete(path)
        assert (await registry.ask("POST", f"{path}/versions/latest/undelete")).status == 204
        assert (await registry.delete(f"{path}/versions/-1")).status == 204
        assert (await registry.delete(f"{path}/versions/latest?permanent=true")).status == 204
        assert (await registry.get(f"{path}/versions?deleted=true")).json == [1, 2]
        assert (await registry.delete(f"{path}?permanent=true")).status == 204
        assert (await registry.get(f"{path}/versions?deleted=true")).json == []
        assert (await registry.get(f"{path}?algorithm=AES256_SIV")).status == 200
        for method, place in (("DELETE", ""), ("DELETE", "/versions/1"), ("POST", "/undelete")):
            assert (await registry.ask(method, f"{path}{place}")).code == 40470
        assert (await registry.delete(f"{path}/versions/x")).code == 42202
        assert (await registry.ask("POST", f"{path}/versions/x/undelete")).code == 42202

    tell(story)


def test_the_same_dek_again_only_changes_whether_it_is_deleted() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        made = (await dek(registry, **WRAPPED)).json
        assert (await dek(registry, deleted=True, **WRAPPED)).json == {**made, "deleted": True}
        assert (await dek(registry, encryptedKeyMaterial="b3RoZXI=")).code == 40971
        assert (await dek(registry, **WRAPPED)).json == made
        again = (await dek(registry, query="?rewrap=true", encryptedKeyMaterial="b3RoZXI=")).json
        assert again == {**made, "encryptedKeyMaterial": "b3RoZXI="}
        assert (await dek(registry, query="?rewrap=true")).code == 42271

    tell(story)


def test_what_is_deleted_for_good_is_nowhere() -> None:
    storage = MemoryStorage()

    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        await dek(registry, **WRAPPED)
        await registry.delete(f"{KEKS}/k/deks/s")
        await registry.delete(f"{KEKS}/k/deks/s?permanent=true")
        assert await storage.records("dek") == []
        assert WRAPPED["encryptedKeyMaterial"] not in repr(await storage.changes(0, 100))

    tell(story, storage=storage)


def test_the_registry_takes_so_many_keys() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        await kek(registry, "other")
        assert (await dek(registry, **WRAPPED)).status == 200
        assert (await dek(registry, version=2, **WRAPPED)).code == 40972
        assert (await kek(registry, "third")).code == 40972
        assert (await dek(registry, **WRAPPED)).code == 40971
        await registry.delete(f"{KEKS}/other")
        await registry.delete(f"{KEKS}/other?permanent=true")
        assert (await dek(registry, version=2, **WRAPPED)).status == 200

    tell(story, max_keys=3)


# --- contexts, aliases, modes


def test_keys_belong_to_subjects_of_contexts_and_keks_to_none() -> None:
    async def story(registry: InProcessRegistry) -> None:
        prefix = "/contexts/c" + KEKS
        await registry.post(prefix, {"name": "deks", **AWS})
        assert (await registry.post(f"{prefix}/deks/deks/s", WRAPPED)).json["subject"] == ":.c:s"
        assert (await registry.get(f"{prefix}/deks/deks/s/versions")).json == [1]
        assert (await registry.get(f"{KEKS}/deks/deks/s/versions")).json == []
        assert (await registry.get(f"{KEKS}/deks/deks/%3A.c%3As")).json["subject"] == ":.c:s"
        assert (await registry.get(f"{KEKS}/deks/deks")).json == [":.c:s"]
        assert (await registry.get(KEKS)).json == ["deks"]
        await registry.post(f"{prefix}/deks/deks/a%2Fb", WRAPPED)
        assert (await registry.get(f"{KEKS}/deks/deks")).json == [":.c:a/b", ":.c:s"]

    tell(story)


def test_an_alias_for_keys_goes_before_the_one_for_all() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        await registry.put("/config/short", {"alias": "schemas-value"})
        assert (await dek(registry, "short", **WRAPPED)).json["subject"] == "schemas-value"
        await registry.put("/config/short", {"aliasForDeks": "keys-value"})
        assert (await dek(registry, "short", **WRAPPED)).json["subject"] == "keys-value"
        await registry.delete(f"{KEKS}/k/deks/short")
        assert (await registry.get(f"{KEKS}/k/deks")).json == ["schemas-value"]
        assert (await registry.register("short", '"int"')).status == 200
        assert (await registry.get("/subjects")).json == ["schemas-value"]

    tell(story)


def test_a_read_only_scope_takes_no_keys() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry)
        await dek(registry, **WRAPPED)
        await registry.put("/mode/s", {"mode": "READONLY"})
        path = f"{KEKS}/k/deks/s"
        assert (await dek(registry, version=2, **WRAPPED)).code == 42205
        assert (await registry.delete(path)).code == 42205
        assert (await registry.delete(f"{path}/versions/1?permanent=true")).code == 42205
        assert (await registry.ask("POST", f"{path}/undelete")).code == 42205
        assert (await dek(registry, "r", **WRAPPED)).status == 200
        await registry.put("/mode", {"mode": "READONLY"})
        assert (await kek(registry, "other")).code == 42205
        assert (await registry.put(f"{KEKS}/k", {"doc": "x"})).code == 42205
        assert (await registry.delete(f"{KEKS}/k")).code == 42205
        assert (await registry.ask("POST", f"{KEKS}/k/undelete")).code == 42205
        assert (await registry.get(path)).status == 200

    tell(story)


# --- whatever is sent

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEK_BODIES = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["k", "l"]) | ANYTHING,
        "kmsType": st.sampled_from(["local-kms", "aws-kms", "hcvault"]) | ANYTHING,
        "kmsKeyId": st.sampled_from(["arn:aws:kms:x", "http://x/y"]) | ANYTHING,
        **dict.fromkeys(("kmsProps", "doc", "shared", "deleted"), ANYTHING),
    },
)
DEK_BODIES = st.fixed_dictionaries(
    {},
    optional={
        "subject": st.just("s") | ANYTHING,
        "version": st.integers(0, 2) | ANYTHING,
        "algorithm": st.sampled_from(["AES128_GCM", "AES256_SIV"]) | ANYTHING,
        **dict.fromkeys(("encryptedKeyMaterial", "deleted"), ANYTHING),
    },
)
PATHS = st.sampled_from(["", "/k/deks", "/k/deks/s", "/k/deks/s?rewrap=true", "?testSharing=true"])
ANSWERS = {200, 400, 40470, 40971, 42271, 42272, 50070}


@pytest.mark.slow
@given(st.lists(st.tuples(PATHS, KEK_BODIES | DEK_BODIES | ANYTHING), min_size=4, max_size=8))
def test_whatever_is_sent_has_an_answer_of_the_table(requests: list[tuple[str, Any]]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, **LOCAL)
        for path, body in requests:
            reply = await registry.post(KEKS + path, body)
            assert (reply.code or reply.status) in ANSWERS | {422}, reply.text
            assert (await registry.get(f"{KEKS}?deleted=true")).status == 200
            assert (await registry.get(f"{KEKS}/k/deks?deleted=true")).status == 200

    tell(story)
