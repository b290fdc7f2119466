"""Errors, dead letters and logs about values that are encrypted: none of them quotes such a value."""

from __future__ import annotations

import json
import logging
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.model import Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerializationContext,
    ValidationError,
)
from counterfoil.sdk.adapters.dead_letters import dead_letter
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import EncodeError, RuleConditionFailed, RuleError, SerdeError
from counterfoil.sdk.serde.rules.settings import Rules
from counterfoil.sdk.testing import InMemoryRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

CTX = SerializationContext("people", "value")
PARAMS = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"}
MARK = "SECRETMARK"
PII = {"confluent:tags": ["PII"]}
S = {"type": "string"}
HIDE = Rule("hide", type="ENCRYPT", tags=("PII",), params=PARAMS)
AVRO = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string", **PII}, {"name": "b", "type": "string"}]}
)
JSON = json.dumps({"type": "object", "properties": {"a": {**S, **PII}, "b": S}})
PROTOBUF = """syntax = "proto3"; import "confluent/meta.proto";
message R { string a = 1 [(confluent.field_meta).tags = "PII"]; string b = 2; }"""
LANGUAGES: dict[SchemaType, tuple[str, Any, Any]] = {
    SchemaType.AVRO: (AVRO, AvroSerializer, AvroDeserializer),
    SchemaType.JSON: (JSON, JsonSerializer, JsonDeserializer),
    SchemaType.PROTOBUF: (PROTOBUF, ProtobufSerializer, ProtobufDeserializer),
}
each_language = pytest.mark.parametrize("language", LANGUAGES)


def rule(expr: str, mode: str, rule_type: str = "CEL", kind: str = "TRANSFORM", **more: Any) -> Rule:
    tags = ("PII",) if rule_type == "CEL_FIELD" else ()
    return Rule("rule", type=rule_type, kind=kind, mode=mode, expr=expr, tags=tags, **{"on_failure": "DLQ", **more})


class Topic:
    """A subject whose tag PII is encrypted, with other rules; ``sent`` are the dead letters."""

    def __init__(
        self, language: SchemaType, *rules: Rule, text: str = "", send: Callable[..., Any] | None = None
    ) -> None:
        own, self._serializer, self._deserializer = LANGUAGES[language]
        self._registry = InMemoryRegistry().client(retries=0)
        self._registry.register(
            "people-value", Schema(text or own, language, rule_set=RuleSet(domain_rules=(*rules, HIDE)))
        )
        self.sent: list[Any] = []
        self._send = send or (lambda *parts: self.sent.append(parts))

    def _rules(self) -> Rules:
        conf = {"secret": "s3cret", "dlq.topic": "dead", "producer": self._send}
        return Rules(conf=conf, executors={"ENCRYPT": FieldEncryption()})

    def write(self, value: Any, **more: Any) -> bytes:
        data: bytes = self._serializer(self._registry, register="latest", rules=self._rules(), **more)(value, CTX)
        return data

    def read(self, data: bytes) -> Any:
        return self._deserializer(self._registry, rules=self._rules())(data, CTX)


def everything_about(error: BaseException) -> str:
    """Return the error as it is logged, and all that it has."""
    return "".join(traceback.format_exception(error)) + repr(vars(error))


TRANSFORMS = [
    ("{'b': timestamp(message.a)}", "CEL"),
    ("duration(message.a)", "CEL"),
    ("timestamp(value)", "CEL_FIELD"),
    ("$number(a)", "JSONATA"),
    ("$error(a)", "JSONATA"),
]


@pytest.mark.slow
@each_language
@pytest.mark.parametrize(("expr", "rule_type"), TRANSFORMS)
@pytest.mark.parametrize("mode", ["READ", "WRITE"])
def test_a_rule_that_fails_quotes_no_encrypted_value(
    language: SchemaType, expr: str, rule_type: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(language, rule(expr, mode, rule_type))
    with caplog.at_level(logging.DEBUG), pytest.raises(RuleError) as caught:
        topic.read(topic.write({"a": MARK, "b": "x"}))
    assert MARK not in everything_about(caught.value)
    assert "'rule'" in str(caught.value)
    assert MARK not in repr(topic.sent)
    assert MARK not in caplog.text + repr([vars(each) for each in caplog.records])
    assert len(topic.sent) == 1


@pytest.mark.parametrize("mode", ["READ", "WRITE"])
def test_a_reason_without_values_stays(mode: str) -> None:
    topic = Topic(SchemaType.JSON, rule("message.b == 'y'", mode, kind="CONDITION"))
    with pytest.raises(RuleConditionFailed, match=r"Rule expr failed: message.b == 'y'"):
        topic.read(topic.write({"a": MARK, "b": "x"}))
    [(*_, headers)] = topic.sent
    assert dict(headers)["__rule.exception"] == b"Rule expr failed: message.b == 'y'"


def test_a_reason_about_an_open_value_stays() -> None:
    topic = Topic(SchemaType.JSON, rule("{'b': timestamp(message.b)}", "READ"))
    with pytest.raises(RuleError, match="cannot be evaluated"):
        topic.read(topic.write({"a": MARK, "b": "x"}))


def test_a_producer_that_fails_logs_no_reason_of_the_rule(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: Any) -> None:
        raise OSError("the broker is away")

    topic = Topic(SchemaType.JSON, rule("{'b': duration(message.a)}", "WRITE"), send=fail)
    with caplog.at_level(logging.DEBUG), pytest.raises(RuleError):
        topic.write({"a": MARK, "b": "x"})
    assert "the broker is away" in caplog.text
    assert MARK not in caplog.text


LIMITS = [{"minLength": 99}, {"not": {"pattern": f"^{MARK}"}}, {"pattern": "[+/=]"}]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("value", [MARK, MARK * 9])
def test_what_is_read_and_not_valid_is_not_quoted(limits: dict[str, Any], value: str) -> None:
    text = json.dumps({"type": "object", "properties": {"a": {**S, **PII, **limits}}})
    topic = Topic(SchemaType.JSON, text=text)
    data = topic.write({"a": value}, validate=False)
    with pytest.raises(ValidationError) as caught:
        topic.read(data)
    assert MARK not in everything_about(caught.value)
    record = {"key": None, "value": data, "headers": [], "topic": "people", "partition": 0, "offset": 1}
    assert MARK not in repr(dead_letter(record, caught.value))


def test_a_violation_of_another_property_is_described() -> None:
    topic = Topic(SchemaType.JSON, text=json.dumps({"properties": {"a": {**S, **PII}, "n": {"type": "integer"}}}))
    with pytest.raises(ValidationError, match=r'n: "seven" is not of type "integer"'):
        topic.write({"a": MARK, "n": "seven"})


@each_language
@pytest.mark.parametrize("wrong", [[MARK], {"q": MARK}])
def test_a_value_of_a_wrong_type_is_not_quoted(language: SchemaType, wrong: Any) -> None:
    with pytest.raises((RuleError, EncodeError)) as caught:
        Topic(language).write({"a": wrong, "b": "x"})
    assert MARK not in everything_about(caught.value)


@each_language
def test_other_errors_of_writing_keep_their_place(language: SchemaType) -> None:
    with pytest.raises(SerdeError) as caught:
        Topic(language).write({"a": MARK, "b": 5})
    assert MARK not in everything_about(caught.value)
    assert " b" in str(caught.value) or str(caught.value).startswith("b:")
