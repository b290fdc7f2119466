"""Encrypted fields and messages beside confluent-kafka's, which encrypt with Tink.

    python benchmarks/serde/encryption.py [--rounds 30] [--assert]

Both use a registry in this process and keys of the local substitute for a key management service, and everything is
warm. The first rows compare the encryption of one string of 16 characters with ``AESGCM`` of the package cryptography
alone; the others are whole messages, a record of 5 fields of which one is encrypted, and one that is encrypted as a
whole. How time is measured is in ``measure.py``.
"""

from __future__ import annotations

import json
import os
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirAvroDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirAvroSerializer
from confluent_kafka.schema_registry.rules.encryption.encrypt_executor import (
    EncryptionExecutor,
    FieldEncryptionExecutor,
)
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from confluent_kafka.serialization import MessageField, SerializationContext
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from measure import Candidate, Report, over

from counterfoil.schema.keys import cipher_of, new_material
from counterfoil.schema.rest.keys import Algorithm
from counterfoil.schema.rest.object_forms import ReplyJson
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.sdk.serde.avro import AvroDeserializer, AvroSerializer
from counterfoil.sdk.serde.rules.settings import Rules
from counterfoil.sdk.testing import InMemoryRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.model import Schema

MESSAGES: Final = 64
CONF: Final = {"secret": "benchmark"}
TYPES: Final = {"field": "ENCRYPT", "payload": "ENCRYPT_PAYLOAD"}
GOALS: Final = {"field": (8.0, 5.0), "payload": (4.0, 4.0)}
FIELDS: Final = [
    {"name": "id", "type": "long"},
    {"name": "name", "type": "string", "confluent:tags": ["PII"]},
    {"name": "city", "type": "string"},
    {"name": "age", "type": "int"},
    {"name": "is_member", "type": "boolean"},
]
PERSON: Final = json.dumps({"type": "record", "name": "Person", "fields": FIELDS})


def document(what: str) -> dict[str, Any]:
    """Return the schema with its rule, as the registry's API has it."""
    params = {"encrypt.kek.name": "benchmark", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"}
    rule: dict[str, Any] = {"name": "hide", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": TYPES[what]}
    rules = {"domainRules": [{**rule, "tags": ["PII"], "params": params}]}
    if what == "payload":
        rules = {"encodingRules": [{**rule, "params": params}]}
    return {"schema": PERSON, "schemaType": "AVRO", "ruleSet": rules}


class Ours:
    """Our serializers with a registry in this process."""

    def __init__(self, what: str, context: SerializationContext) -> None:
        registry = InMemoryRegistry().client()
        schema: Schema = SCHEMA.read(ReplyJson(document(what)))
        registry.register(f"{context.topic}-value", schema)
        rules = Rules(conf=CONF)
        self.write = AvroSerializer(registry, register="latest", rules=rules)
        self.read = AvroDeserializer(registry, rules=rules)


class Theirs:
    """The same of confluent-kafka, with its registry in memory."""

    def __init__(self, what: str, context: SerializationContext) -> None:
        client = SchemaRegistryClient.new_client({"url": "mock://"})
        client.register_schema(f"{context.topic}-value", TheirSchema.from_dict(document(what)))
        naming = {"subject.name.strategy": topic_subject_name_strategy}
        conf = {**naming, "auto.register.schemas": False, "use.latest.version": True}
        self._write = TheirAvroSerializer(client, None, conf=conf, rule_conf=CONF)
        self.read = TheirAvroDeserializer(client, conf=naming, rule_conf=CONF)

    def write(self, value: dict[str, Any], context: SerializationContext) -> bytes:
        """Return the message; the copy is here since their executor changes the value."""
        return self._write(copy(value), context)


def people() -> list[dict[str, Any]]:
    return [
        {"id": number, "name": f"Anna Number {number:04d}", "city": "Amsterdam", "age": 30, "is_member": True}
        for number in range(MESSAGES)
    ]


def compare_ciphers(report: Report) -> None:
    """Compare the cipher of a key, with a nonce for each value, with the bare primitive and one nonce."""
    values: Sequence[bytes] = [os.urandom(16) for _ in range(MESSAGES)]
    bare, nonce = AESGCM(os.urandom(32)), os.urandom(12)
    encrypt, decrypt = cipher_of(new_material(Algorithm.AES256_GCM), Algorithm.AES256_GCM)
    alone = Candidate("AESGCM alone", over(lambda value: bare.encrypt(nonce, value, None), values))
    report.compare("encrypt 16 bytes", alone, (Candidate("cipher", over(encrypt, values)), 0.4), messages=MESSAGES)
    written = [bare.encrypt(nonce, value, None) for value in values]
    alone = Candidate("AESGCM alone", over(lambda value: bare.decrypt(nonce, value, None), written))
    ours = Candidate("cipher", over(decrypt, list(map(encrypt, values))))
    report.compare("decrypt 16 bytes", alone, (ours, 0.4), messages=MESSAGES)


def compare_messages(report: Report, what: str, goals: tuple[float, float]) -> None:
    """Compare whole messages, each written and read by its own side."""
    context = SerializationContext(f"people-{what}", MessageField.VALUE)
    ours, theirs = Ours(what, context), Theirs(what, context)
    values = people()
    messages = [theirs.write(value, context) for value in values]
    own = [ours.write(value, context) for value in values]
    if [theirs.read(data, context) for data in messages] != [ours.read(data, context) for data in own]:
        raise SystemExit("The two do not read the same values")
    for action, inputs, goal in (("write", (values, values), goals[0]), ("read", (messages, own), goals[1])):
        peer = Candidate("confluent-kafka", over(getattr(theirs, action), inputs[0], context))
        candidate = Candidate("counterfoil", over(getattr(ours, action), inputs[1], context))
        report.compare(f"{action}, encrypted {what}", peer, (candidate, goal), messages=MESSAGES)


def main() -> int:
    """Print every comparison."""
    report = Report.from_arguments("Encrypted fields and messages beside confluent-kafka's.")
    for executor in (FieldEncryptionExecutor, EncryptionExecutor, LocalKmsDriver):
        executor.register()
    compare_ciphers(report)
    for what in TYPES:
        compare_messages(report, what, GOALS[what])
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
