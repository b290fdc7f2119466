"""Tagged places of schemas, written by confluent-kafka's serializers and by ours: which of them are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirAvroDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirAvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirProtobufDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirProtobufSerializer
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.encryption.encrypt_executor import FieldEncryptionExecutor
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from confluent_kafka.serialization import SerializationContext, SerializationError

from counterfoil.schema.model import Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
)
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import NotEncrypted, RuleError
from counterfoil.sdk.serde.rules.settings import Rules
from local_services import RegistryProcess
from strategies.encryption.tagged_places import CASES, MARK, Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONF = {"secret": "s3cret"}
LATEST = {"auto.register.schemas": False, "use.latest.version": True}
QUICK = {
    ("json", "a property"), ("json", "beside anyOf with null"), ("json", "a property in two branches"),
    ("json", "a map"), ("json", "a short text or a text"), ("json", "two properties"),
    ("json", "an object with a short text or null"), ("json", "in anyOf"), ("avro", "a map"),
    ("avro", "a recursive record"), ("avro", "a field with a record"),
    ("protobuf", "a oneof"), ("protobuf", "StringValue"), ("protobuf", "a map"),
}  # fmt: skip
LocalKmsDriver.register()


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryProcess]:
    with RegistryProcess(settings={"LOCAL_SECRET": CONF["secret"]}) as running:
        yield running


def with_their_rules() -> dict[str, Any]:
    rules = RuleRegistry()
    rules.register_executor(FieldEncryptionExecutor())
    return {"rule_conf": CONF, "rule_registry": rules}


class Sides:
    """The serializers of both packages for a case."""

    def __init__(self, url: str, case: Case, topic: str) -> None:
        self.case = case
        self.context = SerializationContext(topic, "value")
        self.theirs = SchemaRegistryClient({"url": url})
        self.ours = Registry(url)
        self.executor = FieldEncryption()
        self.rules = Rules(conf=CONF, executors={"ENCRYPT": self.executor})
        params = {"encrypt.kek.name": topic, "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "mine"}
        rule = Rule("hide", "ENCRYPT", tags=("PII",), params=params)
        schema = Schema(case.text, case.schema_type, rule_set=RuleSet(domain_rules=(rule,)))
        self.ours.register(f"{topic}-value", schema)

    def written_by_them(self) -> bytes:
        value = self.case.message()
        match self.case.schema_type:
            case SchemaType.AVRO:
                serialize: Any = TheirAvroSerializer(self.theirs, None, conf=LATEST, **with_their_rules())
            case SchemaType.JSON:
                serialize = JSONSerializer(self.case.text, self.theirs, conf=LATEST, **with_their_rules())
            case _:
                kind = self.case.message_class
                serialize = TheirProtobufSerializer(kind, self.theirs, LATEST, **with_their_rules())
        data: bytes = serialize(value, self.context)
        return data

    def read_by_them(self, data: bytes) -> Any:
        rules = with_their_rules()
        match self.case.schema_type:
            case SchemaType.AVRO:
                return TheirAvroDeserializer(self.theirs, **rules)(data, self.context)
            case SchemaType.JSON:
                return JSONDeserializer(None, schema_registry_client=self.theirs, **rules)(data, self.context)
        kind = self.case.message_class
        return TheirProtobufDeserializer(kind, {}, self.theirs, **rules)(data, self.context)

    def written_by_us(self) -> bytes:
        more: dict[str, Any] = {"register": "latest", "rules": self.rules}
        match self.case.schema_type:
            case SchemaType.AVRO:
                serialize: Any = AvroSerializer(self.ours, **more)
            case SchemaType.JSON:
                serialize = JsonSerializer(self.ours, **more)
            case _:
                serialize = ProtobufSerializer(self.ours, model=self.case.message_class, **more)
        data: bytes = serialize(self.case.message(), self.context)
        return data

    def read_by_us(self, data: bytes) -> Any:
        match self.case.schema_type:
            case SchemaType.AVRO:
                return AvroDeserializer(self.ours, rules=self.rules)(data, self.context)
            case SchemaType.JSON:
                return JsonDeserializer(self.ours, rules=self.rules)(data, self.context)
        kind = self.case.message_class
        return ProtobufDeserializer(self.ours, model=kind, rules=self.rules)(data, self.context)


def check(sides: Sides) -> None:
    case = sides.case
    value = sides.case.message()
    match case.theirs:
        case "known":
            theirs, ours = sides.written_by_them(), sides.written_by_us()
            assert MARK.encode() not in theirs + ours
            assert [sides.read_by_us(theirs), sides.read_by_them(ours), sides.read_by_us(ours)] == [value] * 3
            assert sides.executor.plain_values == {}
        case "once":
            theirs, ours = sides.written_by_them(), sides.written_by_us()
            assert MARK.encode() not in theirs + ours
            assert [sides.read_by_us(theirs), sides.read_by_them(ours), sides.read_by_us(ours)] == [value] * 3
            assert sides.read_by_them(theirs) != value
        case "refused":
            theirs, ours = sides.written_by_them(), sides.written_by_us()
            assert MARK.encode() not in theirs + ours
            assert [sides.read_by_us(theirs), sides.read_by_us(ours)] == [value] * 2
            with pytest.raises(SerializationError):
                sides.read_by_them(ours)
        case "unread":
            with pytest.raises(RuleError) as caught:
                sides.written_by_us()
            assert isinstance(caught.value.__cause__, NotEncrypted)
            try:
                theirs = sides.written_by_them()
            except SerializationError:
                return  # it does not accept what it has encrypted
            assert sides.read_by_us(theirs) == value
        case "plain":
            theirs = sides.written_by_them()
            assert MARK.encode() in theirs
            assert sides.read_by_us(theirs) == value
            assert sides.executor.plain_values
            with pytest.raises(RuleError) as caught:
                sides.written_by_us()
            assert isinstance(caught.value.__cause__, NotEncrypted)
        case "error":
            with pytest.raises(SerializationError):
                sides.written_by_them()
            assert sides.read_by_us(sides.written_by_us()) == value


def is_quick(case: Case) -> bool:
    return (case.schema_type.lower(), case.name) in QUICK


@pytest.mark.parametrize("case", [case for case in CASES if is_quick(case)], ids=str)
def test_which_places_are_encrypted(registry: RegistryProcess, unique_name: Callable[[str], str], case: Case) -> None:
    check(Sides(registry.url, case, unique_name("people")))


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES if not is_quick(case)], ids=str)
def test_which_more_places_are_encrypted(
    registry: RegistryProcess, unique_name: Callable[[str], str], case: Case
) -> None:
    check(Sides(registry.url, case, unique_name("people")))
