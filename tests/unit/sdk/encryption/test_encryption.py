"""Encrypted fields and messages: what is hidden from whom, wrong rules, and damaged data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.keys import DamagedCiphertext, cipher_of, key_of, new_material
from counterfoil.schema.model import Rule, RuleSet, Schema
from counterfoil.schema.rest.keys import Algorithm, Kek
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import AvroDeserializer, AvroSerializer, InvalidSettings, SerializationContext, operations
from counterfoil.sdk.errors import NotDecrypted, RuleError
from counterfoil.sdk.serde.rules.settings import Override, Rules
from strategies.encryption.world import ANNA, CTX, PERSON, PII, World


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
