"""Tagged places of schemas: nothing that a tag marks is written as plain text, wherever the tag stands."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from counterfoil.schema.model import Metadata, Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerializationContext,
)
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import KeyMissing, NotDecrypted, NotEncrypted, RuleConditionFailed, RuleError
from counterfoil.sdk.serde.rules.settings import Override, Rules
from counterfoil.sdk.testing import InMemoryRegistry
from tagged_places import CASES, MARK, NUMBER, Case

CTX = SerializationContext("people", "value")
KEY = SerializationContext("people", "key")
PARAMS = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"}
CONF = {"secret": "s3cret"}
PLAIN_TEXTS = (MARK.encode(), str(NUMBER).encode())
PLAIN = Rules(overrides={"ENCRYPT": Override(disabled=True)})
EVERYWHERE = {"encrypt.places": "all"}


def hide(**more: Any) -> Rule:
    return Rule("hide", type="ENCRYPT", **{"tags": ("PII",), "params": PARAMS, **more})


class Topic:
    """A subject of a registry in memory that has the schema of a case and rules."""

    def __init__(
        self, case: Case, *rules: Rule, metadata: Metadata | None = None, subject: str = "people-value"
    ) -> None:
        self.case = case
        self.registry = InMemoryRegistry().client(retries=0)
        self.executor = FieldEncryption()
        schema = Schema(
            case.text, case.schema_type, metadata=metadata, rule_set=RuleSet(domain_rules=rules or (hide(),))
        )
        self.registry.register(subject, schema)

    def rules(self, **conf: Any) -> Rules:
        conf = {name.replace("_", "."): value for name, value in conf.items()}
        return Rules(conf={**CONF, **conf}, executors={"ENCRYPT": self.executor})

    def serializer(self, rules: Rules) -> Any:
        match self.case.schema_type:
            case SchemaType.AVRO:
                return AvroSerializer(self.registry, register="latest", rules=rules)
            case SchemaType.JSON:
                return JsonSerializer(self.registry, register="latest", rules=rules)
        model = self.case.message_class
        return ProtobufSerializer(self.registry, model=model, register="latest", rules=rules)

    def read(self, data: bytes, rules: Rules) -> Any:
        match self.case.schema_type:
            case SchemaType.AVRO:
                return AvroDeserializer(self.registry, rules=rules)(data, CTX)
            case SchemaType.JSON:
                return JsonDeserializer(self.registry, rules=rules)(data, CTX)
        return ProtobufDeserializer(self.registry, model=self.case.message_class, rules=rules)(data, CTX)


def is_equal(read: Any, written: Any) -> bool:
    if hasattr(written, "DESCRIPTOR"):  # messages of two pools are never equal
        return bool(read.SerializeToString(deterministic=True) == written.SerializeToString(deterministic=True))
    return bool(read == written)


def refused(call: Any, *arguments: Any) -> NotEncrypted:
    with pytest.raises(RuleError) as caught:
        call(*arguments)
    cause = caught.value.__cause__
    assert isinstance(cause, NotEncrypted), repr(caught.value)
    assert MARK not in str(caught.value)
    return cause


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_tag_marks_is_encrypted_or_refused(case: Case) -> None:
    topic = Topic(case)
    value = case.message()
    serialize = topic.serializer(topic.rules())
    if case.theirs in ("known", "error"):
        data = serialize(value, CTX)
        assert not [text for text in PLAIN_TEXTS if text in data]
        assert is_equal(topic.read(data, topic.rules()), value)
        assert topic.executor.plain_values == {}
    else:
        refused(serialize, value, CTX)


@pytest.mark.parametrize("case", [case for case in CASES if case.theirs in ("plain", "unfit")], ids=str)
def test_by_an_option_what_confluent_does_not_reach_is_encrypted(case: Case) -> None:
    topic = Topic(case)
    value = case.message()
    serialize = topic.serializer(topic.rules(encrypt_places="all"))
    if case.theirs == "unfit":
        refused(serialize, value, CTX)
        return
    data = serialize(value, CTX)
    assert MARK.encode() not in data
    assert is_equal(topic.read(data, topic.rules()), value)
    assert topic.executor.plain_values == {}


@pytest.mark.parametrize("case", [case for case in CASES if case.theirs == "plain"], ids=str)
def test_plain_text_that_stands_in_a_topic_is_read_and_counted(case: Case) -> None:
    topic = Topic(case)
    value = case.message()
    data = topic.serializer(PLAIN)(value, CTX)
    assert is_equal(topic.read(data, topic.rules()), value)
    assert sum(topic.executor.plain_values.values()) >= 1
    with pytest.raises(RuleError) as caught:
        topic.read(data, topic.rules(encrypt_plain_text="refuse"))
    assert isinstance(caught.value.__cause__, (NotDecrypted, KeyMissing))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_that_a_tag_marks_is_in_a_dead_letter_or_in_a_log(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    sent: list[tuple[Any, ...]] = []
    quoting = Rule("never", type="CEL", kind="CONDITION", mode="WRITE", expr="false", on_failure="DLQ")
    topic = Topic(case, quoting, hide(mode="READ"))
    conf = {"dlq_topic": "dead", "producer": lambda *each: sent.append(each)}
    with caplog.at_level(logging.DEBUG), pytest.raises(RuleConditionFailed):
        topic.serializer(topic.rules(**conf))(case.message(), CTX)
    [(_, key, value, headers)] = sent
    everything = repr((key, value, headers)) + caplog.text
    assert MARK not in everything
    assert str(NUMBER) not in everything
