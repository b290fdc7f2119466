"""Encrypted fields and messages: keys that are created, found, rotated, lost, damaged, refused or away."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import sys
import threading
import time
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed, MissingExtra
from counterfoil.schema.keys.ciphers import DamagedCiphertext, cipher_of, local_cipher
from counterfoil.schema.keys.material import key_of, new_material
from counterfoil.schema.model import Rule, RuleSet, Schema
from counterfoil.schema.rest.keys import Algorithm, DekId, Kek
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import (
    AsyncDeserializer,
    AsyncSerializer,
    AvroDeserializer,
    AvroSerializer,
    InvalidSettings,
    RegistryUnavailable,
    SerializationContext,
    operations,
)
from counterfoil.sdk.encryption.executors import FieldEncryption, PayloadEncryption
from counterfoil.sdk.errors import (
    EncryptionError,
    KeyMismatch,
    KeyMissing,
    KeyRefused,
    KeyUnavailable,
    NotDecrypted,
    RuleError,
)
from counterfoil.sdk.serde.rules.settings import Override, Rules
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

DAY_S = 24 * 60 * 60
DEADLINE_S = 120
PII = {"confluent:tags": ["PII"]}
PERSON = json.dumps(
    {
        "type": "record",
        "name": "Person",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": ["null", "string"], "default": None, **PII},
            {"name": "photo", "type": ["null", "bytes"], "default": None, **PII},
        ],
    }
)
ANNA = {"id": 1, "name": "Anna", "photo": b"\x00\xff picture"}
CTX = SerializationContext("people")


class Vault:
    """A key management service of a test: it counts what it does, and can be away or refuse."""

    secret = "0ur-s3cret"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.failure: Exception | None = None
        self.confs: list[Mapping[str, str]] = []

    def __call__(self, conf: Mapping[str, str]) -> Vault:
        self.confs.append(conf)
        return self

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        return self._used("wrap", key_id).encrypt(plain)

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        try:
            return self._used("unwrap", key_id).decrypt(wrapped)
        except DamagedCiphertext:
            raise KeyWrapFailed("another key wrapped it") from None

    def close(self) -> None:
        self.calls.append("close")

    def _used(self, action: str, key_id: str) -> Any:
        self.calls.append(action)
        if self.failure is not None:
            raise self.failure
        return local_cipher(f"{self.secret} {key_id}")


class World:
    """A registry in memory with one schema, a key management service, and a time of day that a test moves."""

    def __init__(self) -> None:
        self.memory = InMemoryRegistry()
        self.registry = self.memory.client(retries=0)
        self.vault = Vault()
        self.offset_s = 0.0

    def with_rule(self, rule_type: str = "ENCRYPT", *, on_failure: str | None = None, **params: str | None) -> World:
        """Register the schema with a rule; ``params`` have underscores where the rule's have dots."""
        given = {"kek_name": "pii", "kms_type": "acme-kms", "kms_key_id": "one", **params}
        named = {f"encrypt.{name.replace('_', '.')}": value for name, value in given.items() if value is not None}
        tags = ("PII",) if rule_type == "ENCRYPT" else ()
        rule = Rule("hide", rule_type, tags=tags, params=named, on_failure=on_failure)
        rules = RuleSet(domain_rules=(rule,)) if tags else RuleSet(encoding_rules=(rule,))
        self.registry.register("people-value", Schema(PERSON, rule_set=rules))
        return self

    def rules(self, **conf: str) -> Rules:
        """Return rules whose executors have no keys yet."""
        options: Any = {"services": {"acme-kms": self.vault}, "clock": lambda: time.time() + self.offset_s}
        executors = {"ENCRYPT": FieldEncryption(**options), "ENCRYPT_PAYLOAD": PayloadEncryption(**options)}
        return Rules(conf=conf, executors=executors)

    def serializer(self, **conf: str) -> AvroSerializer[Any]:
        return AvroSerializer(self.registry, register="latest", rules=self.rules(**conf))

    def deserializer(self, **conf: str) -> AvroDeserializer[Any]:
        return AvroDeserializer(self.registry, rules=self.rules(**conf))

    def written(self, value: Any = ANNA) -> bytes:
        data = self.serializer()(value, CTX)
        assert data is not None
        return data

    def bare(self, data: bytes) -> Any:
        """Return the value without decryption."""
        rules = Rules(overrides={"ENCRYPT": Override(disabled=True), "ENCRYPT_PAYLOAD": Override(disabled=True)})
        return AvroDeserializer(self.registry, rules=rules)(data, CTX)

    def kek(self) -> Kek:
        return self.registry.call(operations.kek("pii", visibility=Visibility.WITH_DELETED))

    def deks(self, algorithm: str = "AES256_GCM") -> tuple[int, ...]:
        listing = operations.dek_versions(
            "pii", "people-value", algorithm=algorithm, visibility=Visibility.WITH_DELETED
        )
        return self.registry.call(listing)

    def delete_dek(self) -> None:
        self.registry.call(operations.delete_dek("pii", "people-value", 1, algorithm="AES256_GCM"))

    def failure(self, call: Any, *arguments: Any) -> EncryptionError:
        """Return the cause of the failure of a rule."""
        with pytest.raises(RuleError) as error:
            call(*arguments)
        assert isinstance(error.value.__cause__, EncryptionError), repr(error.value.__cause__)
        for text in (str(error.value), repr(error.value.__cause__)):
            assert Vault.secret not in text
            assert "Anna" not in text
        return error.value.__cause__


@pytest.fixture
def world() -> World:
    return World()


# --- ciphers and material


@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize("plain", [b"", b"x", bytes(range(256)) * 300])
def test_a_cipher_decrypts_what_it_encrypted_and_nothing_else(algorithm: Algorithm, plain: bytes) -> None:
    cipher, other = (cipher_of(new_material(algorithm), algorithm) for _ in range(2))
    data = cipher.encrypt(plain)
    assert cipher.decrypt(data) == plain
    assert (cipher.encrypt(plain) == data) is (algorithm is Algorithm.AES256_SIV)
    damaged = [data[:-1], data[1:], b"", data + b"\0", bytes([data[0] ^ 1]) + data[1:]]
    for each in damaged:
        with pytest.raises(DamagedCiphertext):
            cipher.decrypt(each)
    with pytest.raises(DamagedCiphertext):
        other.decrypt(data)


def test_the_version_in_the_form_of_a_key_may_be_left_out() -> None:
    key = bytes(range(64))
    assert cipher_of(b"\x12\x40" + key, Algorithm.AES256_SIV).encrypt(b"same") == cipher_of(
        b"\x08\x00\x12\x40" + key, Algorithm.AES256_SIV
    ).encrypt(b"same")


@pytest.mark.parametrize(
    ("material", "algorithm"),
    [
        (b"", Algorithm.AES128_GCM),
        (b"\x1a\x10" + bytes(15), Algorithm.AES128_GCM),
        (b"\x1a\x10" + bytes(17), Algorithm.AES128_GCM),
        (b"\x1a\x10" + bytes(16), Algorithm.AES256_GCM),
        (b"\x1a\x20" + bytes(32), Algorithm.AES256_SIV),
        (b"\x08\x01\x1a\x10" + bytes(16), Algorithm.AES128_GCM),
        (bytes(16), Algorithm.AES128_GCM),
    ],
)
def test_material_that_is_no_key(material: bytes, algorithm: Algorithm) -> None:
    with pytest.raises(ValueError, match="it is no key for"):
        key_of(material, algorithm)


# --- fields and messages


@pytest.mark.parametrize("value", [ANNA, {"id": 2, "name": None, "photo": None}, {"id": 3, "name": "", "photo": b""}])
def test_fields_are_hidden_and_shown_again(world: World, value: dict[str, Any]) -> None:
    data = world.with_rule().written(value)
    stored = world.bare(data)
    assert stored["id"] == value["id"]
    for name in ("name", "photo"):
        assert (stored[name] == value[name]) is (value[name] is None)
    assert world.deserializer()(data, CTX) == value


def test_the_program_keeps_its_value(world: World) -> None:
    value = dict(ANNA)
    world.with_rule().written(value)
    assert value == ANNA


def test_a_payload_is_hidden_as_a_whole(world: World) -> None:
    data = world.with_rule("ENCRYPT_PAYLOAD").written()
    assert b"Anna" not in data
    assert world.deserializer()(data, CTX) == ANNA


def test_keys_are_requested_once_for_all_messages(world: World) -> None:
    world.with_rule()
    serialize, deserialize = world.serializer(), world.deserializer()
    messages = [serialize({**ANNA, "id": number}, CTX) for number in range(3)]
    count = len(world.memory.requests)
    more = [serialize({**ANNA, "id": number}, CTX) for number in range(3)]
    assert len(world.memory.requests) == count
    assert [deserialize(data, CTX)["id"] for data in (*messages, *more)] == [0, 1, 2] * 2
    assert world.vault.calls == ["wrap", "unwrap", "unwrap"]


def test_equal_values_have_equal_ciphertexts_with_siv_alone(world: World) -> None:
    world.with_rule(dek_algorithm="AES256_SIV")
    assert world.written() == world.written()
    other = World().with_rule()
    assert other.written() != other.written()


def test_parameters_may_be_properties_of_the_schema(world: World) -> None:
    from counterfoil.schema.model import Metadata

    names = {"encrypt.kek.name": "pii", "encrypt.kms.type": "acme-kms", "encrypt.kms.key.id": "one"}
    rules = RuleSet(domain_rules=(Rule("hide", "ENCRYPT", tags=("PII",)),))
    schema = Schema(PERSON, metadata=Metadata(properties=names), rule_set=rules)
    world.registry.register("people-value", schema)
    assert world.deserializer()(world.written(), CTX) == ANNA


def test_a_subject_in_a_context_has_keys_of_its_own(world: World) -> None:
    world.with_rule()
    schema = world.registry.version("people-value").schema
    world.registry.register(":.eu:people-value", schema)

    def subject(*_: Any) -> str:
        return ":.eu:people-value"

    data = AvroSerializer(world.registry, register="latest", rules=world.rules(), subject=subject)(ANNA, CTX)
    assert AvroDeserializer(world.registry, rules=world.rules(), subject=subject)(data, CTX) == ANNA
    assert world.registry.call(operations.dek_subjects("pii", visibility=Visibility.ACTIVE)) == (":.eu:people-value",)


def test_settings_and_properties_of_the_key_reach_the_service(world: World) -> None:
    world.with_rule()
    world.registry.call(operations.create_kek(Kek("pii", "acme-kms", "one", {"region": "eu", "role": "reader"})))
    world.serializer(role="writer", token="t", **{"dlq.topic": "dead"})(ANNA, CTX)
    assert world.vault.confs == [{"role": "reader", "token": "t", "region": "eu", "dlq.topic": "dead"}]


# --- rules that say something wrong


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"kek_name": None, "kms_key_id": None}, "encrypt.kek.name"),
        ({"dek_algorithm": "AES1_ROT13"}, "AES128_GCM, AES256_GCM, AES256_SIV"),
        ({"dek_expiry_days": "-1"}, "number of days"),
        ({"dek_expiry_days": "soon"}, "number of days"),
    ],
)
def test_a_rule_with_wrong_parameters(world: World, params: dict[str, Any], problem: str) -> None:
    world.with_rule(**params)
    with pytest.raises(RuleError, match=problem):
        world.serializer()(ANNA, CTX)


def test_a_field_that_is_no_text(world: World) -> None:
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "age", "type": ["null", "int"], **PII}]})
    params = {"encrypt.kek.name": "pii", "encrypt.kms.type": "acme-kms", "encrypt.kms.key.id": "one"}
    rules = RuleSet(domain_rules=(Rule("hide", "ENCRYPT", tags=("PII",), params=params),))
    world.registry.register("people-value", Schema(text, rule_set=rules))
    error = world.failure(world.serializer(), {"age": 7}, CTX)
    assert "field R.age is of the type INT" in error.problem


def test_an_object_that_only_has_a_clients_methods_has_no_keys(world: World) -> None:
    world.with_rule()

    class Source:
        def version(self, subject: str, number: Any = "latest") -> Any:
            return world.registry.version(subject, number)

    source: Any = Source()
    with pytest.raises(InvalidSettings, match="expected a Registry"):
        AvroSerializer(source, register="latest", rules=world.rules())(ANNA, CTX)


# --- keys that are missing, deleted, or others


def test_a_key_that_nobody_can_create(world: World) -> None:
    error = world.with_rule(kms_key_id=None).failure(world.serializer(), ANNA, CTX)
    assert isinstance(error, KeyMissing)
    assert (error.kek, error.subject) == ("pii", "people-value")
    assert "encrypt.kms.key.id" in error.problem


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


# --- the key management service


@pytest.mark.parametrize(
    ("failure", "kind", "is_retryable"),
    [
        (KeyServiceUnavailable("silence for 10 s"), KeyUnavailable, True),
        (KeyAccessDenied("not you"), KeyRefused, False),
        (KeyWrapFailed("no such key"), KeyRefused, False),
    ],
)
def test_a_service_that_fails(world: World, *, failure: Exception, kind: type, is_retryable: bool) -> None:
    data = world.with_rule().written()
    world.vault.failure = failure
    deserialize = world.deserializer()
    error = world.failure(deserialize, data, CTX)
    assert type(error) is kind
    assert (error.retryable, error.kek, error.subject) == (is_retryable, "pii", "people-value")
    assert str(failure) in error.problem
    writing = World().with_rule()
    writing.vault.failure = failure
    error = writing.failure(writing.serializer(), ANNA, CTX)
    assert (type(error), error.kek, error.subject) == (kind, "pii", "people-value")
    assert writing.deks() == ()
    calls = len(world.vault.calls)
    for _ in range(20):  # not every message waits for the service
        assert type(world.failure(deserialize, data, CTX)) is kind
    assert len(world.vault.calls) == calls


def test_a_service_that_fails_in_its_own_way(world: World) -> None:
    data = world.with_rule().written()
    world.vault.failure = ValueError(f"{Vault.secret} is not valid")
    error = world.failure(world.deserializer(), data, CTX)
    assert isinstance(error, KeyRefused)
    assert error.problem.endswith("cannot be used: its service failed with ValueError")


def test_the_missing_package_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    data = world.with_rule().written()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises((MissingExtra, RuleError), match=r'pip install "counterfoil\[crypto\]"'):
        world.deserializer()(data, CTX)


def test_the_schema_decides_what_a_reader_without_the_key_sees(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE").written()
    world.vault.failure = KeyAccessDenied("not you")
    assert world.deserializer()(data, CTX) == world.bare(data)


def test_a_key_that_another_secret_wrapped(world: World) -> None:
    data = world.with_rule().written()
    world.vault.secret = "another"
    assert isinstance(world.failure(world.deserializer(), data, CTX), KeyRefused)


def test_alternate_ids_are_tried(world: World) -> None:
    data = world.with_rule().written()

    class Moved(Vault):
        def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
            if key_id == "one":
                raise KeyServiceUnavailable("this region is away")
            return super().unwrap("one", wrapped)

    world.vault = Moved()
    deserialize = world.deserializer(**{"encrypt.alternate.kms.key.ids": "elsewhere"})
    assert deserialize(data, CTX) == ANNA


def test_a_shared_key_is_unwrapped_by_the_registry(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_SECRET", "the registry's")
    world = World().with_rule(kms_type="local-kms")
    world.registry.call(operations.create_kek(Kek("pii", "local-kms", "one", shared=True)))
    data = world.written()
    monkeypatch.delenv("LOCAL_SECRET")
    assert world.deserializer()(data, CTX) == ANNA
    assert world.vault.calls == []


def test_a_shared_key_that_the_registry_cannot_wrap(world: World) -> None:
    world.with_rule()
    world.registry.call(operations.create_kek(Kek("pii", "acme-kms", "one", shared=True)))
    error = world.failure(world.serializer(), ANNA, CTX)
    assert isinstance(error, KeyRefused)
    assert "The registry refuses the AES256_GCM key" in error.problem


def test_a_registry_that_is_away_is_no_failure_of_a_rule(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE").written()
    deserialize = world.deserializer()
    world.registry.schema_by_id(1)
    world.memory.answer_next(NoReply("away"))
    with pytest.raises(RegistryUnavailable):
        deserialize(data, CTX)
    assert deserialize(data, CTX) == ANNA


def test_a_registry_that_denies_a_key(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE").written()
    deserialize = world.deserializer()
    world.registry.schema_by_id(1)
    world.memory.answer_next(Reply(403, {}, b'{"error_code": 40301, "message": "not you"}'))
    assert deserialize(data, CTX) == world.bare(data)


def test_an_older_registry_takes_keys_at_the_older_path(world: World) -> None:
    """405 for the path with the subject: the key is sent to the one without it."""
    world.with_rule()
    world.registry.call(operations.create_kek(Kek("pii", "acme-kms", "one")))
    serialize = world.serializer()
    refused = Reply(405, {}, b'{"error_code": 405, "message": "HTTP 405 Method Not Allowed"}')
    send = world.memory.send

    class Older(InMemoryRegistry):
        def send(self, request: Any) -> Reply:
            world.memory.requests.append(request)
            return refused if request.method == "POST" and request.url.endswith("/deks/people-value") else send(request)

    serialize = AvroSerializer(Older().client(retries=0), register="latest", rules=world.rules())
    assert world.deserializer()(serialize(ANNA, CTX), CTX) == ANNA


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


# --- damaged data


@pytest.mark.parametrize("name", ["", "not encrypted", "AAAA", "\u00e4", "=" * 8])
def test_a_text_that_was_never_encrypted(world: World, name: str) -> None:
    world.with_rule()
    world.written()
    plain = Rules(overrides={"ENCRYPT": Override(disabled=True)})
    data = AvroSerializer(world.registry, register="latest", rules=plain)({**ANNA, "name": name}, CTX)
    error = world.failure(world.deserializer(), data, CTX)
    assert isinstance(error, NotDecrypted)
    assert "The field Person.name cannot be decrypted" in error.problem
    assert name not in error.problem or len(name) < 5


def test_every_damaged_byte_of_a_payload_is_noticed(world: World) -> None:
    data = world.with_rule("ENCRYPT_PAYLOAD").written()
    deserialize = world.deserializer()
    for position in range(5, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        assert isinstance(world.failure(deserialize, bytes(damaged), CTX), NotDecrypted)


def test_a_key_of_another_subject(world: World) -> None:
    data = world.with_rule().written()
    world.registry.register("others-value", world.registry.version("people-value").schema)
    other = SerializationContext("others")
    world.serializer()(ANNA, other)
    assert isinstance(world.failure(world.deserializer(), data, other), NotDecrypted)


# --- event loops, threads, processes


@pytest.mark.parametrize("days", ["0", "1"])
def test_an_asynchronous_registry(world: World, days: str) -> None:
    world.with_rule(dek_expiry_days=days)

    async def whole() -> list[Any]:
        registry = world.memory.async_client(retries=0)
        serialize = AsyncSerializer(AvroSerializer(registry, register="latest", rules=world.rules()))
        messages = [await serialize(ANNA, CTX)]
        world.offset_s = 1.5 * DAY_S
        messages.append(await serialize(ANNA, CTX))
        deserialize = AsyncDeserializer(AvroDeserializer(registry, rules=world.rules()))
        return [await deserialize(data, CTX) for data in messages]

    assert asyncio.run(whole()) == [ANNA, ANNA]
    assert world.deks() == ((1, 2) if days == "1" else (1,))


def test_an_asynchronous_registry_and_a_service_that_is_away(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE", dek_expiry_days="1").written()
    world.vault.failure = KeyServiceUnavailable("away")

    async def read() -> Any:
        registry = world.memory.async_client(retries=0)
        return await AsyncDeserializer(AvroDeserializer(registry, rules=world.rules()))(data, CTX)

    assert asyncio.run(read()) == world.bare(data)


def test_eight_threads_share_the_keys(world: World) -> None:
    world.with_rule(dek_expiry_days="1")
    serialize, deserialize = world.serializer(), world.deserializer()
    results: list[Any] = []

    def use(number: int) -> None:
        for _ in range(50):
            value = {**ANNA, "id": number, "name": f"n{number}"}
            results.append(deserialize(serialize(value, CTX), CTX) == value)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 400
    assert world.deks() == (1,)
    assert world.vault.calls == ["wrap", "unwrap", "unwrap"]


def test_a_slow_service_delays_the_messages_of_its_key_alone(world: World) -> None:
    world.with_rule()
    world.registry.register("others-value", world.registry.version("people-value").schema)
    begun, goes_on = threading.Event(), threading.Event()
    serialize = world.serializer()
    serialize(ANNA, SerializationContext("others"))

    class Slow(Vault):
        def wrap(self, key_id: str, plain: bytes) -> bytes:
            begun.set()
            assert goes_on.wait(DEADLINE_S)
            return super().wrap(key_id, plain)

    world.vault.wrap = Slow().wrap  # type: ignore[method-assign]
    waiting = threading.Thread(target=serialize, args=(ANNA, CTX))
    waiting.start()
    assert begun.wait(DEADLINE_S), "waited for the request of the key"
    for _ in range(10):
        assert serialize(ANNA, SerializationContext("others"))
    goes_on.set()
    waiting.join()
    assert world.deserializer()(serialize(ANNA, CTX), CTX) == ANNA


def test_a_forked_process_opens_services_of_its_own_and_draws_other_nonces(world: World) -> None:
    world.with_rule()
    serialize, deserialize = world.serializer(), world.deserializer()
    deserialize(serialize(ANNA, CTX), CTX)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            data = serialize(ANNA, CTX)
            os.write(writer, data if deserialize(data, CTX) == ANNA else b"wrong")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    ours = serialize(ANNA, CTX)
    assert deserialize(theirs, CTX) == ANNA
    assert theirs != ours


def test_a_pickled_executor_has_no_keys(world: World) -> None:
    executor = FieldEncryption()
    rules = Rules(conf={"secret": "s"}, executors={"ENCRYPT": executor})
    world.with_rule(kms_type="local-kms")
    AvroSerializer(world.registry, register="latest", rules=rules)(ANNA, CTX)
    copied = pickle.loads(pickle.dumps(executor))
    fresh = Rules(conf={"secret": "s"}, executors={"ENCRYPT": copied})
    data = AvroSerializer(world.registry, register="latest", rules=fresh)(ANNA, CTX)
    assert AvroDeserializer(world.registry, rules=rules)(data, CTX) == ANNA


def test_closed_rules_close_their_services(world: World) -> None:
    world.with_rule()
    rules = world.rules()
    AvroSerializer(world.registry, register="latest", rules=rules)(ANNA, CTX)
    rules.close()
    assert world.vault.calls[-1] == "close"


def test_nothing_secret_is_shown(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.with_rule(kms_type="local-kms")
    rules = Rules(conf={"secret": "very-s3cret"}, executors={"ENCRYPT": FieldEncryption()})
    with caplog.at_level(logging.DEBUG):
        AvroSerializer(world.registry, register="latest", rules=rules)(ANNA, CTX)
    shown = world.registry.call(
        operations.dek("pii", "people-value", 1, algorithm="AES256_GCM", visibility=Visibility.ACTIVE)
    )
    assert "very-s3cret" not in caplog.text + repr(rules) + repr(shown) + repr(world.kek())
