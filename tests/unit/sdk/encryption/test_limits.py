"""Limits of a JSON schema that no ciphertext keeps: a rule ENCRYPT is refused before a message is written."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema import parse_schema
from counterfoil.schema.model import Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.tags import unencryptable_tags
from counterfoil.sdk import JsonDeserializer, JsonSerializer, SerializationContext, ValidationError
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import NotEncrypted, RuleError
from counterfoil.sdk.serde.rules.settings import Rules
from counterfoil.sdk.testing import InMemoryRegistry

CTX = SerializationContext("people", "value")
PARAMS = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"}
S = {"type": "string"}
NULL = {"type": "null"}
PII = {"confluent:tags": ["PII"]}
LETTERS = {"pattern": "^[A-Z]*$"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def limited(**limits: Any) -> dict[str, Any]:
    return {**S, **PII, **limits}


class Topic:
    """A subject with a JSON schema whose tag PII is encrypted."""

    def __init__(self, schema: Any, **params: str) -> None:
        rule = Rule("hide", type="ENCRYPT", tags=("PII",), params={**PARAMS, **params})
        self._registry = InMemoryRegistry().client(retries=0)
        content = Schema(json.dumps(schema), SchemaType.JSON, rule_set=RuleSet(domain_rules=(rule,)))
        self._registry.register("people-value", content)

    def _rules(self, **conf: str) -> Rules:
        return Rules(conf={"secret": "s3cret", **conf}, executors={"ENCRYPT": FieldEncryption()})

    def serializer(self, validate: Any = None, **conf: str) -> JsonSerializer[Any]:
        more = {} if validate is None else {"validate": validate}
        return JsonSerializer(self._registry, register="latest", rules=self._rules(**conf), **more)

    def read(self, data: bytes | None) -> Any:
        return JsonDeserializer(self._registry, rules=self._rules())(data, CTX)


CLOSED = {
    "maxLength": obj(a=limited(maxLength=20)),
    "maxLength of two types": obj(a={"type": ["string", "null"], "maxLength": 20, **PII}),
    "pattern": obj(a=limited(**LETTERS)),
    "not": obj(a=limited(**{"not": {"minLength": 30}})),
    "in allOf": obj(a={"allOf": [S, {"maxLength": 20}], **PII}),
    "in anyOf": obj(a={"anyOf": [{**S, "maxLength": 20}, NULL], **PII}),
    "in oneOf": obj(a={"oneOf": [NULL, {**S, **LETTERS}], **PII}),
    "behind a reference": {**obj(a={"$ref": "#/definitions/s", **PII}), "definitions": {"s": {**S, "maxLength": 20}}},
    "of another schema": {"allOf": [obj(a=limited()), obj(a={"maxLength": 20})]},
    "in items": obj(a={"type": "array", "items": {**S, "maxLength": 20}, **PII}),
    "in an object": obj(o=obj(a=limited(maxLength=20))),
    "in an optional object": obj(o={"anyOf": [obj(a=limited(maxLength=20)), NULL]}),
    "in objects of an array": obj(o={"type": "array", "items": obj(a=limited(**LETTERS))}),
    "in a referenced object": {**obj(o={"$ref": "#/definitions/o"}), "definitions": {"o": obj(a=limited(maxLength=9))}},
}
EVERYWHERE = {
    "additionalProperties": {"type": "object", "additionalProperties": limited(maxLength=20)},
    "patternProperties": {"type": "object", "patternProperties": {"^k": limited(**LETTERS)}},
    "a root string": limited(maxLength=20),
    "a tag in items": obj(a={"type": "array", "items": limited(maxLength=20)}),
}


def problem_of(call: Any, *arguments: Any) -> str:
    with pytest.raises(RuleError) as caught:
        call(*arguments)
    assert isinstance(caught.value.__cause__, NotEncrypted)
    return caught.value.__cause__.problem


@pytest.mark.parametrize("schema", CLOSED.values(), ids=CLOSED)
def test_a_rule_is_refused_where_no_ciphertext_is_valid(schema: Any) -> None:
    serializer = Topic(schema).serializer()
    problem = problem_of(lambda: serializer.warm(topic="people"))
    assert "accepts no ciphertext, which is base64 of at least 40 characters" in problem


@pytest.mark.parametrize("schema", [*CLOSED.values(), *EVERYWHERE.values()], ids=[*CLOSED, *EVERYWHERE])
def test_that_is_so_with_all_places_too(schema: Any) -> None:
    serializer = Topic(schema).serializer(**{"encrypt.places": "all"})
    assert "accepts no ciphertext" in problem_of(lambda: serializer.warm(topic="people"))


OPEN: dict[str, tuple[Any, Any]] = {
    "a long text": (obj(a=limited(maxLength=200)), {"a": "Ada"}),
    "a short text with a long limit": (obj(a=limited(maxLength=44)), {"a": "Ada"}),
    "minLength": (obj(a=limited(minLength=3)), {"a": "Ada"}),
    "very long texts": (obj(a=limited(minLength=600)), {"a": "Ada" * 200}),
    "a pattern of base64": (obj(a=limited(pattern="^[A-Za-z0-9+/=]*$")), {"a": "Ada"}),
    "a pattern somewhere": (obj(a=limited(pattern="[0-9a-z]")), {"a": "Ada"}),
    "a format": (obj(a=limited(format="email")), {"a": "ada@example.com"}),
    "no tag": (obj(a={**S, "maxLength": 3}, b=limited()), {"a": "Ada", "b": "x"}),
    "one of two branches": (obj(a={"anyOf": [{**S, "format": "date", "maxLength": 10}, S], **PII}), {"a": "Ada"}),
    "an object of another branch": (
        {"anyOf": [obj(k={"const": 1}, a=limited(maxLength=9)), obj(k={"const": 2}, a=limited())]},
        {"k": 2, "a": "Ada"},
    ),
    "an object beside an array": (
        obj(o={"anyOf": [obj(a=limited()), {"type": "array", "items": {**S, "maxLength": 3}}]}),
        {"o": {"a": "Ada"}},
    ),
    "names that a pattern does not match": (
        {"type": "object", "properties": {"a": limited()}, "patternProperties": {"^x": {"maxLength": 3}}},
        {"a": "Ada", "x": "abc"},
    ),
}


@pytest.mark.parametrize(("schema", "value"), OPEN.values(), ids=OPEN)
def test_limits_that_ciphertexts_keep_are_no_reason(schema: Any, value: Any) -> None:
    topic = Topic(schema)
    data = topic.serializer()(value, CTX)
    assert topic.read(data) == value


def test_without_validation_a_limit_is_no_reason() -> None:
    topic = Topic(CLOSED["maxLength"])
    data = topic.serializer(validate="read")({"a": "Ada"}, CTX)
    assert data is not None
    assert b"Ada" not in data
    assert topic.read(data) == {"a": "Ada"}


def test_the_least_length_is_that_of_the_cipher() -> None:
    schema = obj(a=limited(maxLength=30))
    assert "at least 40 characters" in problem_of(lambda: Topic(schema).serializer().warm(topic="people"))
    topic = Topic(schema, **{"encrypt.dek.algorithm": "AES256_SIV"})
    assert topic.read(topic.serializer()({"a": "Ada"}, CTX)) == {"a": "Ada"}
    rotated = Topic(obj(a=limited(maxLength=43)), **{"encrypt.dek.expiry.days": "1"})
    assert "at least 44 characters" in problem_of(lambda: rotated.serializer().warm(topic="people"))


@pytest.mark.slow
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "minLength": st.integers(0, 60),
            "maxLength": st.integers(0, 90),
            "pattern": st.sampled_from(["^[A-Z]*$", "[a-z]", "^.*=$", "^[^=]*$", "^.{40}$", "^[A-Za-z0-9+/=]+$"]),
        },
    )
)
def test_what_is_refused_can_never_be_written(limits: dict[str, Any]) -> None:
    """The judge writes texts of all lengths by a serializer that does not compare rules with schemas beforehand."""
    topic = Topic(obj(a=limited(**limits)))
    try:
        topic.serializer().warm(topic="people")
    except RuleError:
        serializer = Topic(obj(a={"anyOf": [{**S, **limits}, {**obj(zz=S), "minProperties": 1}], **PII})).serializer(
            **{"encrypt.places": "all"}
        )
        for length in range(0, 70, 3):
            with pytest.raises((ValidationError, RuleError)):
                serializer({"a": "A" * length}, CTX)


TAGGED = {
    "a short text": (obj(a=limited(maxLength=20)), "whose schema accepts no ciphertext"),
    "a pattern": (obj(a=limited(**LETTERS)), "whose schema accepts no ciphertext"),
    "an integer": (obj(a={"type": "integer", **PII}), "whose type is INT"),
    "an enum": (obj(a={"enum": ["x"], **PII}), "whose type is ENUM"),
    "names": ({"type": "object", "propertyNames": limited()}, "which are names"),
}


@pytest.mark.parametrize(("schema", "reason"), TAGGED.values(), ids=TAGGED)
def test_a_registration_says_what_cannot_be_encrypted(
    schema: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Topic(schema)
    found = [each for each in caplog.records if each.getMessage() == "a tag marks what cannot be encrypted"]
    assert [reason in each.__dict__["cause"] for each in found] == [True]


@pytest.mark.parametrize("schema", [schema for schema, _ in OPEN.values()], ids=OPEN)
def test_a_registration_is_quiet_about_what_can_be_encrypted(schema: Any) -> None:
    assert unencryptable_tags(parse_schema(json.dumps(schema), SchemaType.JSON), {}) == []


UUID = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": ["null", {"type": "string", "logicalType": "uuid"}], **PII}],
    }
)
NUMBER = """syntax = "proto3"; import "confluent/meta.proto";
message R { int32 a = 1 [(confluent.field_meta).tags = "PII"]; }"""


@pytest.mark.parametrize(
    ("text", "schema_type", "reason"),
    [
        ('{"type":"record","name":"R","fields":[{"name":"a","type":"int","confluent:tags":["PII"]}]}',
         SchemaType.AVRO, "whose type is INT"),
        (UUID, SchemaType.AVRO, "logical type uuid"),
        (NUMBER, SchemaType.PROTOBUF, "whose type is INT"),
    ],
)  # fmt: skip
def test_other_languages_too(text: str, schema_type: SchemaType, reason: str) -> None:
    [found] = unencryptable_tags(parse_schema(text, schema_type), {})
    assert reason in found.text


@pytest.mark.parametrize(
    ("mode", "rule_type", "reason"),
    [
        ("WRITE", "ENCRYPT", "readers get ciphertext"),
        ("READ", "ENCRYPT", "writers leave plain text"),
        ("READ", "encrypt", "writers leave plain text"),
        ("READ", "ENCRYPT_PAYLOAD", "writers leave plain text"),
        ("WRITEREAD", "ENCRYPT", None),
        ("READ", "CEL_FIELD", None),
    ],
)
def test_a_registration_warns_of_a_rule_that_encrypts_in_one_direction(
    mode: str, rule_type: str, reason: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    rule = Rule("hide", type=rule_type, tags=("PII",), params=PARAMS, mode=mode)
    payload = rule_type == "ENCRYPT_PAYLOAD"
    rules = RuleSet(encoding_rules=(rule,)) if payload else RuleSet(domain_rules=(rule,))
    with caplog.at_level(logging.WARNING):
        InMemoryRegistry().client(retries=0).register(
            "people-value", Schema(json.dumps(obj(a=limited())), SchemaType.JSON, rule_set=rules)
        )
    causes = [each.__dict__["cause"] for each in caplog.records if each.getMessage().startswith("a rule encrypts")]
    assert [reason is not None and reason in cause for cause in causes] == ([True] if reason else [])
