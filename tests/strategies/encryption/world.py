"""A registry in memory with an encrypted schema, and a key management service that counts what it does."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.errors import KeyWrapFailed
from counterfoil.schema.keys import DamagedCiphertext, local_cipher
from counterfoil.schema.model import Rule, RuleSet, Schema
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import AvroDeserializer, AvroSerializer, SerializationContext, operations
from counterfoil.sdk.encryption.executors import FieldEncryption, PayloadEncryption
from counterfoil.sdk.errors import EncryptionError, RuleError
from counterfoil.sdk.serde.rules.settings import Override, Rules
from counterfoil.sdk.testing import InMemoryRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.rest.keys import Kek

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
        return bytes(self._used("wrap", key_id).encrypt(plain))

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        try:
            return bytes(self._used("unwrap", key_id).decrypt(wrapped))
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
        executors: dict[str, Any] = {
            "ENCRYPT": FieldEncryption(**options),
            "ENCRYPT_PAYLOAD": PayloadEncryption(**options),
        }
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
