"""Confluent's own client of the DEK registry, unchanged, against a running registry."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64decode
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.rules.encryption.dek_registry.dek_registry_client import (
    DekAlgorithm,
    DekRegistryClient,
)
from confluent_kafka.schema_registry.schema_registry_client import Rule, RuleKind, RuleMode, RuleParams, RuleSet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from local_services import RegistryProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = "s3cret"
AWS_KEY = "arn:aws:kms:eu-1:12:key/a"


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryProcess]:
    with RegistryProcess(settings={"LOCAL_SECRET": SECRET, "COUNTERFOIL_MAX_KEYS": "1000"}) as running:
        yield running


@pytest.fixture
def clients(registry: RegistryProcess) -> Callable[[], DekRegistryClient]:
    """A function that gives a client that has seen nothing yet: each remembers what it was answered."""
    return lambda: DekRegistryClient.new_client({"url": registry.url})


@pytest.fixture
def name(unique_name: Callable[[str], str]) -> str:
    return unique_name("kek")


def unwrapped(material: str) -> bytes:
    """What the clients' local driver gets out of ``material``: AES-GCM under HKDF (RFC 5869) of the secret."""
    extracted = hmac.digest(bytes(32), SECRET.encode(), hashlib.sha256)
    key = hmac.digest(extracted, b"\x01", hashlib.sha256)[:16]
    sealed = b64decode(material)
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], None)


def test_keks_are_registered_and_read(clients: Callable[[], DekRegistryClient], name: str):
    made = clients().register_kek(name, "aws-kms", AWS_KEY, kms_props={"region": "eu-1"}, doc="ours")
    assert (made.name, made.kms_type, made.kms_key_id, made.doc, made.shared) == (
        name,
        "aws-kms",
        AWS_KEY,
        "ours",
        False,
    )
    assert made.kms_props.properties == {"region": "eu-1"}
    assert clients().get_kek(name) == made
    assert clients().get_kek(name, deleted=True) == made
    assert clients().get_kek(name, context=".ctx") == made
    with pytest.raises(SchemaRegistryError) as there:
        clients().register_kek(name, "aws-kms", AWS_KEY)
    assert (there.value.http_status_code, there.value.error_code) == (409, 40971)
    with pytest.raises(SchemaRegistryError) as unknown:
        clients().get_kek("other")
    assert (unknown.value.http_status_code, unknown.value.error_code) == (404, 40470)


def test_deks_that_the_client_wrapped(clients: Callable[[], DekRegistryClient], name: str):
    clients().register_kek(name, "aws-kms", AWS_KEY)
    for version, subject in ((1, "a/b c-value"), (1, ":.ctx:s-value"), (2, "a/b c-value")):
        made = clients().register_dek(name, subject, "d3JhcHBlZA==", DekAlgorithm.AES128_GCM, version)
        assert (made.kek_name, made.subject, made.version) == (name, subject, version)
        assert made.algorithm == DekAlgorithm.AES128_GCM
        assert (made.get_encrypted_key_material_bytes(), made.key_material) == (b"wrapped", None)
        assert clients().get_dek(name, subject, DekAlgorithm.AES128_GCM, version) == made
        assert clients().get_dek(name, subject, DekAlgorithm.AES128_GCM, -1, deleted=True) == made
    with pytest.raises(SchemaRegistryError) as there:
        clients().register_dek(name, "a/b c-value", "b3RoZXI=", DekAlgorithm.AES128_GCM)
    assert there.value.http_status_code == 409
    with pytest.raises(SchemaRegistryError) as unknown:
        clients().get_dek(name, "a/b c-value")
    assert unknown.value.http_status_code == 404


@pytest.mark.parametrize("algorithm", list(DekAlgorithm))
def test_deks_that_the_registry_made(clients: Callable[[], DekRegistryClient], name: str, algorithm: DekAlgorithm):
    clients().register_kek(name, "local-kms", "mine", shared=True)
    made = clients().register_dek(name, "s-value", None, algorithm)
    assert made.get_key_material_bytes() == unwrapped(made.encrypted_key_material)
    assert clients().get_dek(name, "s-value", algorithm) == made


def test_a_rule_gets_the_name_under_which_its_kek_is_looked_for(registry: RegistryProcess, name: str):
    client = SchemaRegistryClient({"url": registry.url})
    params = RuleParams({"encrypt.kms.key.id": AWS_KEY})
    rule = Rule(
        "secret",
        None,
        RuleKind.TRANSFORM,
        RuleMode.WRITEREAD,
        "ENCRYPT",
        ["PII"],
        params,
        None,
        None,
        None,
        disabled=False,
    )
    client.register_schema(name, Schema(json.dumps("string"), "AVRO", [], None, RuleSet(None, [rule])))
    found = client.get_latest_version(name).schema.rule_set.domain_rules[0].params.params
    assert found == {
        "encrypt.kms.key.id": AWS_KEY,
        "encrypt.kms.type": "aws-kms",
        "encrypt.kek.name": "aws-kms-eu-1-12-key-a",
    }


def test_the_limit_of_keys_is_a_setting():
    with RegistryProcess(settings={"COUNTERFOIL_MAX_KEYS": "1"}) as small:
        client = DekRegistryClient.new_client({"url": small.url})
        client.register_kek("first", "aws-kms", AWS_KEY)
        with pytest.raises(SchemaRegistryError) as full:
            client.register_kek("second", "aws-kms", AWS_KEY)
    assert full.value.error_code == 40972
