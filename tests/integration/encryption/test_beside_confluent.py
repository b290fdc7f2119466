"""Encrypted fields and messages of confluent-kafka's serializers are read by ours, and the reverse."""

from __future__ import annotations

import json
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirAvroDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirAvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirProtobufDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirProtobufSerializer
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.encryption.encrypt_executor import (
    Clock,
    EncryptionExecutor,
    FieldEncryptionExecutor,
)
from confluent_kafka.schema_registry.rules.encryption.hcvault.hcvault_driver import HcVaultKmsDriver
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from confluent_kafka.serialization import MessageField, SerializationContext

import counterfoil.sdk.confluent.avro as confluent_avro
from counterfoil.schema.languages.protobuf.describe.known_files import CONFLUENT_TEXT_BY_PATH
from counterfoil.schema.model import Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.rest.keys import Kek
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    confluent,
    operations,
)
from counterfoil.sdk.encryption.executors import FieldEncryption, PayloadEncryption
from counterfoil.sdk.serde.rules.settings import Rules
from local_services import RegistryProcess
from strategies.encryption.key_services import TOKEN, Vault, serving
from strategies.protobuf.classes import generated_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = "s3cret"
CONF = {"secret": SECRET, "token.id": TOKEN}
ALGORITHMS = ["AES128_GCM", "AES256_GCM", "AES256_SIV"]
META = "confluent/meta.proto"
DAY_S = 24 * 60 * 60

PII = {"confluent:tags": ["PII"]}
PERSON = json.dumps(
    {
        "type": "record",
        "name": "Person",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": "string", **PII},
            {"name": "photo", "type": ["null", "bytes"], **PII},
            {"name": "nicknames", "type": {"type": "array", "items": "string"}, **PII},
            {"name": "emails", "type": {"type": "map", "values": "string"}, **PII},
        ],
    }
)
PERSON_JSON = json.dumps(
    {
        "type": "object",
        "title": "Person",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string", **PII},
            "nicknames": {"type": "array", "items": {"type": "string"}, **PII},
            "address": {"type": "object", "properties": {"street": {"type": "string", **PII}}},
        },
    }
)
PERSON_PROTO = """syntax = "proto3";
package people;

import "confluent/meta.proto";

message Person {
  int64 id = 1;
  string name = 2 [(confluent.field_meta).tags = "PII"];
  bytes photo = 3 [(confluent.field_meta).tags = "PII"];
  repeated string nicknames = 4 [(confluent.field_meta).tags = "PII"];
}
"""
ANNA = {
    "id": 1,
    "name": "Anna \u00c4rmel \U0001f600",
    "photo": b"\x00\xff picture",
    "nicknames": ["an", ""],
    "emails": {"home": "a@b.example"},
}
ANNA_JSON = {"id": 1, "name": "Anna \u00c4rmel", "nicknames": ["an", ""], "address": {"street": "Hauptstra\u00dfe 1"}}


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryProcess]:
    with RegistryProcess(settings={"LOCAL_SECRET": SECRET}) as running:
        yield running


class TheirClock(Clock):
    """A time of day that a test moves, for their executors, which are one for all serializers of a process."""

    offset_s = 0

    def now(self) -> int:
        return super().now() + self.offset_s * 1000


THEIR_CLOCK = TheirClock()
LocalKmsDriver.register()
HcVaultKmsDriver.register()


def with_their_rules() -> dict[str, Any]:
    """Return executors for one serializer: those of the process would be configured for every other test's, too."""
    registry = RuleRegistry()
    for executor in (FieldEncryptionExecutor(THEIR_CLOCK), EncryptionExecutor(THEIR_CLOCK)):
        registry.register_executor(executor)
    return {"rule_conf": CONF, "rule_registry": registry}


@pytest.fixture
def their_clock() -> Iterator[TheirClock]:
    yield THEIR_CLOCK
    THEIR_CLOCK.offset_s = 0


class Topic:
    """A topic of one test, whose schema has one rule; the serializers of both clients for it."""

    def __init__(self, registry: RegistryProcess, name: str, *, clock: Callable[[], float] | None = None) -> None:
        self.name = name
        self.kek = f"kek-{name}"
        self._their_client = SchemaRegistryClient({"url": registry.url})
        self.registry = Registry(registry.url)
        timed = {"clock": clock} if clock is not None else {}
        executors = {"ENCRYPT": FieldEncryption(**timed), "ENCRYPT_PAYLOAD": PayloadEncryption(**timed)}
        self.rules = Rules(conf=CONF, executors=executors)

    def with_schema(
        self,
        text: str,
        schema_type: SchemaType = SchemaType.AVRO,
        *,
        rule_type: str = "ENCRYPT",
        kms: tuple[str, str] = ("local-kms", "mine"),
        **params: str,
    ) -> Topic:
        """Register the schema with a rule; ``params`` have underscores where the rule's have dots."""
        all_params = {"encrypt.kek.name": self.kek, "encrypt.kms.type": kms[0], "encrypt.kms.key.id": kms[1]}
        all_params |= {f"encrypt.{name.replace('_', '.')}": value for name, value in params.items()}
        rule = Rule("hide", rule_type, tags=("PII",) if rule_type == "ENCRYPT" else (), params=all_params)
        rules = RuleSet(domain_rules=(rule,)) if rule_type == "ENCRYPT" else RuleSet(encoding_rules=(rule,))
        self.registry.register(f"{self.name}-value", Schema(text, schema_type, rule_set=rules))
        return self

    @property
    def context(self) -> SerializationContext:
        return SerializationContext(self.name, MessageField.VALUE)

    def written_by_them(self, value: Any) -> bytes:
        conf = {"auto.register.schemas": False, "use.latest.version": True}
        serializer = TheirAvroSerializer(self._their_client, None, conf=conf, **with_their_rules())
        return serializer(deepcopy(value), self.context)  # it changes the value

    def read_by_them(self, data: bytes) -> Any:
        return TheirAvroDeserializer(self._their_client, **with_their_rules())(data, self.context)

    def json_written_by_them(self, value: Any) -> bytes:
        conf = {"auto.register.schemas": False, "use.latest.version": True}
        serializer = JSONSerializer(PERSON_JSON, self._their_client, conf=conf, **with_their_rules())
        return serializer(deepcopy(value), self.context)

    def json_read_by_them(self, data: bytes) -> Any:
        return JSONDeserializer(None, schema_registry_client=self._their_client, **with_their_rules())(
            data, self.context
        )

    def protobuf_written_by_them(self, kind: Any, message: Any) -> bytes:
        conf = {"auto.register.schemas": False, "use.latest.version": True}
        serializer = TheirProtobufSerializer(kind, self._their_client, conf, **with_their_rules())
        copied = kind()
        copied.CopyFrom(message)
        return serializer(copied, self.context)

    def protobuf_read_by_them(self, kind: Any, data: bytes) -> Any:
        return TheirProtobufDeserializer(kind, {}, self._their_client, **with_their_rules())(data, self.context)

    def written_by_us(self, value: Any) -> bytes:
        written = AvroSerializer(self.registry, register="latest", rules=self.rules)(value, self.context)
        assert written is not None
        return written

    def read_by_us(self, data: bytes) -> Any:
        return AvroDeserializer(self.registry, rules=self.rules)(data, self.context)


@pytest.fixture
def topic(registry: RegistryProcess, unique_name: Callable[[str], str]) -> Topic:
    return Topic(registry, unique_name("people"))


def hidden(data: bytes) -> bool:
    return not [word for word in (b"Anna", b"picture", b"a@b.example", b"Haupt") if word in data]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("days", ["0", "7"])
def test_fields_in_avro(topic: Topic, algorithm: str, days: str) -> None:
    topic.with_schema(PERSON, dek_algorithm=algorithm, dek_expiry_days=days)
    theirs, ours = topic.written_by_them(ANNA), topic.written_by_us(ANNA)
    assert hidden(theirs)
    assert hidden(ours)
    assert [topic.read_by_us(theirs), topic.read_by_them(ours), topic.read_by_us(ours)] == [ANNA] * 3
    assert (theirs == ours) is (algorithm == "AES256_SIV")
    assert topic.registry.run(topic.registry.calls.call(_deks(topic, algorithm))) == (1,)


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_either_creates_the_keys(topic: Topic, first: str) -> None:
    topic.with_schema(PERSON)
    writes = [topic.written_by_them, topic.written_by_us]
    messages = [write(ANNA) for write in (writes if first == "theirs" else writes[::-1])]
    assert [topic.read_by_us(data) for data in messages] == [ANNA, ANNA]
    assert [topic.read_by_them(data) for data in messages] == [ANNA, ANNA]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("days", ["0", "7"])
def test_payloads(topic: Topic, algorithm: str, days: str) -> None:
    topic.with_schema(PERSON, rule_type="ENCRYPT_PAYLOAD", dek_algorithm=algorithm, dek_expiry_days=days)
    theirs, ours = topic.written_by_them(ANNA), topic.written_by_us(ANNA)
    assert hidden(theirs)
    assert hidden(ours)
    assert [topic.read_by_us(theirs), topic.read_by_them(ours), topic.read_by_us(ours)] == [ANNA] * 3


def test_fields_in_json(topic: Topic) -> None:
    topic.with_schema(PERSON_JSON, SchemaType.JSON)
    theirs = topic.json_written_by_them(ANNA_JSON)
    ours = JsonSerializer(topic.registry, register="latest", rules=topic.rules)(ANNA_JSON, topic.context)
    assert hidden(theirs)
    assert ours is not None
    assert hidden(ours)
    read = JsonDeserializer(topic.registry, rules=topic.rules)
    assert [read(theirs, topic.context), topic.json_read_by_them(ours), read(ours, topic.context)] == [ANNA_JSON] * 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fields_in_protobuf(topic: Topic, algorithm: str) -> None:
    person = generated_classes({META: CONFLUENT_TEXT_BY_PATH[META], "person.proto": PERSON_PROTO})["people.Person"]
    topic.with_schema(PERSON_PROTO, SchemaType.PROTOBUF, dek_algorithm=algorithm)
    anna = person(id=1, name="Anna \u00c4rmel", photo=b"\x00\xff picture", nicknames=["an", ""])
    theirs = topic.protobuf_written_by_them(person, anna)
    ours = ProtobufSerializer(topic.registry, model=person, register="latest", rules=topic.rules)(anna, topic.context)
    assert ours is not None
    assert hidden(theirs)
    assert hidden(ours)
    read = ProtobufDeserializer(topic.registry, model=person, rules=topic.rules)
    found = [read(theirs, topic.context), topic.protobuf_read_by_them(person, ours), read(ours, topic.context)]
    assert found == [anna] * 3


def test_a_key_that_expires_is_replaced(
    registry: RegistryProcess, unique_name: Callable[[str], str], their_clock: TheirClock
) -> None:
    now = {"offset_s": 0}
    topic = Topic(registry, unique_name("people"), clock=lambda: time.time() + now["offset_s"])
    topic.with_schema(PERSON, dek_expiry_days="1")
    messages = [topic.written_by_us(ANNA), topic.written_by_them(ANNA)]
    now["offset_s"] = their_clock.offset_s = 2 * DAY_S
    messages += [topic.written_by_us(ANNA), topic.written_by_them(ANNA)]
    versions = topic.registry.run(topic.registry.calls.call(_deks(topic, "AES256_GCM")))
    assert versions[:2] == (1, 2)
    for data in messages:
        assert topic.read_by_us(data) == ANNA
        assert topic.read_by_them(data) == ANNA


def test_a_key_that_the_registry_made(topic: Topic) -> None:
    topic.registry.call(operations.create_kek(Kek(topic.kek, "local-kms", "mine", shared=True)))
    topic.with_schema(PERSON)
    ours, theirs = topic.written_by_us(ANNA), topic.written_by_them(ANNA)
    assert [topic.read_by_us(theirs), topic.read_by_them(ours)] == [ANNA, ANNA]
    topic.rules = Rules()  # the secret is the registry's alone
    assert topic.read_by_us(theirs) == ANNA


def test_a_key_of_vault(topic: Topic) -> None:
    with serving(Vault()) as vault:
        topic.with_schema(PERSON, kms=("hcvault", f"{vault.url}/transit/keys/orders"))
        ours, theirs = topic.written_by_us(ANNA), topic.written_by_them(ANNA)
        assert [topic.read_by_us(theirs), topic.read_by_them(ours)] == [ANNA, ANNA]
        assert {path for path, *_ in vault.asked} == {"/v1/transit/encrypt/orders", "/v1/transit/decrypt/orders"}


def test_a_program_that_changes_its_imports_alone(registry: RegistryProcess, topic: Topic) -> None:
    topic.with_schema(PERSON)
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    client = confluent.SchemaRegistryClient({"url": registry.url})
    serialize = confluent_avro.AvroSerializer(client, None, conf=conf, rule_conf=CONF)
    deserialize = confluent_avro.AvroDeserializer(client, rule_conf=CONF)
    written = serialize(ANNA, topic.context)
    assert written is not None
    assert hidden(written)
    assert topic.read_by_them(written) == ANNA
    assert deserialize(topic.written_by_them(ANNA), topic.context) == ANNA


def _deks(topic: Topic, algorithm: str) -> Any:
    return operations.dek_versions(topic.kek, f"{topic.name}-value", algorithm=algorithm, visibility=Visibility.ACTIVE)
