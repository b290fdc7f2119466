"""The keys of encrypted data: missing, deleted or others, and their rotation."""

from __future__ import annotations

import logging
from base64 import b64decode

import pytest

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import KeyServiceUnavailable
from counterfoil.schema.keys import local_cipher
from counterfoil.schema.model import Rule, RuleSet, Schema
from counterfoil.schema.rest.keys import Algorithm, DekId, Kek
from counterfoil.sdk import operations
from counterfoil.sdk.errors import KeyMismatch, KeyMissing, NotDecrypted
from counterfoil.sdk.transport import Reply
from strategies.encryption.world import ANNA, CTX, DAY_S, PERSON, Vault, World


@pytest.fixture
def world() -> World:
    return World()


# --- keys that are missing, deleted, or others


def test_a_key_that_nobody_can_create(world: World) -> None:
    error = world.with_rule(kms_key_id=None).failure(world.serializer(), ANNA, CTX)
    assert isinstance(error, KeyMissing)
    assert (error.kek, error.subject) == ("pii", "people-value")
    assert "encrypt.kms.key.id" in error.problem


@pytest.mark.slow
def test_a_registry_without_encryption_keys(world: World) -> None:
    world.with_rule()
    serialize = world.serializer()
    nothing = Reply(404, {"content-type": "application/json"}, b'{"error_code": 404, "message": "HTTP 404 Not Found"}')
    world.registry.version("people-value")
    world.memory.answer_next(nothing, nothing, nothing)
    error = world.failure(serialize, ANNA, CTX)
    assert isinstance(error, KeyMissing)
    assert "keeps no encryption keys" in error.problem


def test_a_reader_creates_no_keys(world: World) -> None:
    data = world.with_rule().written()
    elsewhere = World().with_rule()
    error = elsewhere.failure(elsewhere.deserializer(), data, CTX)
    assert isinstance(error, KeyMissing)
    assert "'pii' is not in the registry" in error.problem


def test_a_soft_deleted_kek(world: World) -> None:
    data = world.with_rule().written()
    world.delete_dek()
    world.registry.call(operations.delete_kek("pii"))
    for call, argument in ((world.serializer(), ANNA), (world.deserializer(), data)):
        error = world.failure(call, argument, CTX)
        assert isinstance(error, KeyMissing)
        assert "soft-deleted in the registry; undelete it" in error.problem
    assert world.kek().deleted


def test_a_soft_deleted_key_reads_and_writes_no_more(world: World) -> None:
    data = world.with_rule().written()
    world.delete_dek()
    assert world.deserializer()(data, CTX) == ANNA
    error = world.failure(world.serializer(), ANNA, CTX)
    assert isinstance(error, KeyMissing)
    assert "Version 1 of the AES256_GCM key of subject 'people-value' under 'pii' is soft-deleted" in error.problem


@pytest.mark.parametrize("held", [("other-kms", "one"), ("acme-kms", "two")])
def test_a_kek_that_is_another_than_the_rules(world: World, held: tuple[str, str]) -> None:
    world.with_rule()
    world.registry.call(operations.create_kek(Kek("pii", *held)))
    error = world.failure(world.serializer(), ANNA, CTX)
    assert isinstance(error, KeyMismatch)
    assert repr(held[0] if held[0] != "acme-kms" else held[1]) in error.problem


def test_a_key_for_another_algorithm(world: World) -> None:
    data = world.with_rule(dek_algorithm="AES256_SIV").written()
    params = {"encrypt.kek.name": "pii", "encrypt.dek.algorithm": "AES128_GCM"}
    rule = Rule("hide", "ENCRYPT", tags=("PII",), params=params)
    found = world.registry.register("other", Schema(PERSON, rule_set=RuleSet(domain_rules=(rule,))))
    relabelled = b"\0" + found.id.to_bytes(4, "big") + data[5:]
    error = world.failure(world.deserializer(), relabelled, CTX)
    assert isinstance(error, KeyMismatch)
    assert "but keys for AES256_SIV" in error.problem


@pytest.mark.parametrize("wrapped", ["no base64!", "short"])
def test_material_that_another_program_stored(world: World, wrapped: str) -> None:
    from base64 import b64encode

    if wrapped == "short":
        wrapped = b64encode(local_cipher(f"{Vault.secret} one").encrypt(b"\x1a\x20 short")).decode()
    world.with_rule()
    world.registry.call(operations.create_kek(Kek("pii", "acme-kms", "one")))
    dek_id = DekId("pii", parse_subject("people-value"), Algorithm.AES256_GCM, 1)
    world.registry.call(operations.create_dek(dek_id, wrapped))
    error = world.failure(world.serializer(), ANNA, CTX)
    assert isinstance(error, KeyMismatch)
    assert "is not a key for AES256_GCM" in error.problem


# --- rotation


def test_a_key_that_expired_is_replaced_and_still_reads(world: World) -> None:
    world.with_rule(dek_expiry_days="1")
    serialize, deserialize = world.serializer(), world.deserializer()
    first = serialize(ANNA, CTX)
    assert b64decode(world.bare(first)["name"])[:5] == b"\0\0\0\0\1"
    world.offset_s = 1.5 * DAY_S
    second, third = serialize(ANNA, CTX), serialize(ANNA, CTX)
    assert world.deks() == (1, 2)
    assert [b64decode(world.bare(data)["name"])[4] for data in (second, third)] == [2, 2]
    assert [deserialize(data, CTX) for data in (first, second, third)] == [ANNA] * 3


def test_two_writers_agree_on_the_new_version(world: World) -> None:
    world.with_rule(dek_expiry_days="1")
    writers = [world.serializer() for _ in range(3)]
    for serialize in writers:
        serialize(ANNA, CTX)
    world.offset_s = 1.5 * DAY_S
    versions = [b64decode(world.bare(serialize(ANNA, CTX))["name"])[4] for serialize in writers]
    assert set(versions) <= set(world.deks())
    assert world.deserializer()(writers[0](ANNA, CTX), CTX) == ANNA


def test_an_expired_key_stays_in_use_while_none_can_be_created(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.with_rule(dek_expiry_days="1")
    serialize = world.serializer()
    serialize(ANNA, CTX)
    world.offset_s = 1.5 * DAY_S
    world.vault.failure = KeyServiceUnavailable("away")
    with caplog.at_level(logging.WARNING):
        data = serialize(ANNA, CTX)
        for _ in range(5):
            serialize(ANNA, CTX)
    assert b64decode(world.bare(data)["name"])[4] == 1
    assert [record.getMessage() for record in caplog.records] == [
        (
            "Version 1 of the key of subject people-value under pii has expired and stays in use, since a new version "
            "could not be created (KeyUnavailable)"
        )
    ]
    world.vault.failure = None
    world.offset_s += 120
    assert b64decode(world.bare(serialize(ANNA, CTX))["name"])[4] == 2


@pytest.mark.parametrize("prefix", [b"", b"\0\0", b"\1\0\0\0\1", b"\0\0\0\0\0", b"\0\xff\xff\xff\xff"])
def test_bytes_without_the_version_of_a_key(world: World, prefix: bytes) -> None:
    data = world.with_rule("ENCRYPT_PAYLOAD", dek_expiry_days="1").written()
    error = world.failure(world.deserializer(), data[:5] + prefix, CTX)
    assert isinstance(error, NotDecrypted)
    assert "do not begin with the version of a key" in error.problem


def test_a_version_that_does_not_exist_is_requested_once(world: World) -> None:
    data = world.with_rule("ENCRYPT_PAYLOAD", dek_expiry_days="1").written()
    deserialize = world.deserializer()
    hostile = data[:5] + b"\0\0\0\0\x07" + data[10:]
    assert "no version 7 of the AES256_GCM key" in world.failure(deserialize, hostile, CTX).problem
    count = len(world.memory.requests)
    assert isinstance(world.failure(deserialize, hostile, CTX), KeyMissing)
    assert len(world.memory.requests) == count
    assert deserialize(data, CTX) == ANNA
