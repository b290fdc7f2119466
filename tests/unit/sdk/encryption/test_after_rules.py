"""Rules that encrypt after other rules of one schema: earlier ciphertexts and changes do not decide what is marked."""

from __future__ import annotations

import json
from typing import Any

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
)
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import NotDecrypted, NotEncrypted, RuleError
from counterfoil.sdk.serde.rules.settings import Override, Rules
from counterfoil.sdk.testing import InMemoryRegistry

CTX = SerializationContext("people", "value")
PARAMS = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"}
EVERYWHERE = {"encrypt.places": "all"}
SERIALIZERS: dict[SchemaType, tuple[Any, Any]] = {
    SchemaType.AVRO: (AvroSerializer, AvroDeserializer),
    SchemaType.JSON: (JsonSerializer, JsonDeserializer),
    SchemaType.PROTOBUF: (ProtobufSerializer, ProtobufDeserializer),
}
VALUE = {"kind": "person", "name": "Ada-Lovelace"}


def text(*tags: str, **keywords: Any) -> dict[str, Any]:
    return {"type": "string", **keywords, **({"confluent:tags": [*tags]} if tags else {})}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def hide(tag: str, **more: Any) -> Rule:
    return Rule(f"hide_{tag}", type="ENCRYPT", tags=(tag,), **{"params": PARAMS, "mode": "WRITEREAD", **more})


def change(tag: str, expression: str, mode: str = "WRITE") -> Rule:
    return Rule(f"change_{tag}", type="CEL_FIELD", kind="TRANSFORM", tags=(tag,), mode=mode, expr=expression)


class Topic:
    """A subject with a schema and rules; ``conf`` are the settings of the program."""

    def __init__(self, schema: Any, *rules: Rule, language: SchemaType = SchemaType.JSON, **conf: str) -> None:
        self._classes = SERIALIZERS[language]
        self._conf = {"secret": "s3cret", **conf}
        self._registry = InMemoryRegistry().client(retries=0)
        written = schema if isinstance(schema, str) else json.dumps(schema)
        self._registry.register("people-value", Schema(written, language, rule_set=RuleSet(domain_rules=rules)))

    def _rules(self, **more: Any) -> Rules:
        return Rules(conf=self._conf, executors={"ENCRYPT": FieldEncryption()}, **more)

    def write(self, value: Any, **more: Any) -> bytes:
        data: bytes = self._classes[0](self._registry, register="latest", rules=self._rules(**more))(value, CTX)
        return data

    def read(self, data: bytes) -> Any:
        more = {"values": "dict"} if self._classes[1] is ProtobufDeserializer else {}
        return self._classes[1](self._registry, rules=self._rules(), **more)(data, CTX)


KIND_IS_PERSON = obj(kind=text(const="person"))
BY_LENGTH = [obj(kind=text(maxLength=8), name=text("NAME")), obj(kind=text(), name=text())]
BY_CONST = [obj(kind=text(const="person"), name=text("NAME")), obj(kind=text(), name=text())]
BY_CONDITION = {"if": KIND_IS_PERSON, "then": obj(name=text("NAME"))}
WHEN_NOT_LONG = {"if": obj(kind=text(minLength=20)), "then": True, "else": obj(name=text("NAME"))}
DECIDING = {
    "anyOf, length": {"anyOf": BY_LENGTH},
    "anyOf, const": {"anyOf": BY_CONST},
    "oneOf": {"oneOf": [BY_CONST[0], obj(kind=text(minLength=9), name=text())]},
    "if, then": BY_CONDITION,
    "if, else": WHEN_NOT_LONG,
    "allOf around": {"allOf": [BY_CONDITION]},
}


def deciding(keywords: dict[str, Any]) -> dict[str, Any]:
    return {**obj(kind=text("KIND")), **keywords}


def in_items(schema: dict[str, Any]) -> dict[str, Any]:
    return obj(all={"type": "array", "items": schema})


@pytest.mark.slow
@pytest.mark.parametrize("keywords", DECIDING.values(), ids=DECIDING)
@pytest.mark.parametrize("tags", [("KIND", "NAME"), ("NAME", "KIND")])
def test_a_ciphertext_does_not_decide_what_another_rule_encrypts(
    keywords: dict[str, Any], tags: tuple[str, str]
) -> None:
    topic = Topic(deciding(keywords), *map(hide, tags), **EVERYWHERE)
    data = topic.write(VALUE)
    assert (b"person" in data, b"Lovelace" in data) == (False, False)
    assert topic.read(data) == VALUE
    assert b"Lovelace" in topic.write({"kind": "shop-with-a-long-name-here", "name": "Lovelace"})


@pytest.mark.parametrize("keywords", DECIDING.values(), ids=DECIDING)
def test_the_same_in_the_items_of_an_array(keywords: dict[str, Any]) -> None:
    topic = Topic(in_items(deciding(keywords)), hide("KIND"), hide("NAME"), **EVERYWHERE)
    value = {"all": [VALUE, {"kind": "shop-with-a-long-name-here", "name": "free"}, VALUE]}
    data = topic.write(value)
    assert (b"Lovelace" in data, b'"free"' in data) == (False, True)
    assert topic.read(data) == value


def test_what_readers_of_confluent_would_take_for_data_is_refused() -> None:
    topic = Topic(deciding({"anyOf": BY_LENGTH}), hide("KIND"), hide("NAME"))
    with pytest.raises(RuleError) as caught:
        topic.write(VALUE)
    assert isinstance(caught.value.__cause__, NotEncrypted)
    assert "$.name" in str(caught.value)
    shop = {"kind": "a-long-kind", "name": "free"}
    assert topic.read(topic.write(shop)) == shop


def test_three_rules_and_a_rule_that_moves_a_ciphertext() -> None:
    schema = obj(kind=text("KIND"), copy=text("COPY"), name=text(), note=text())
    schema |= {"if": obj(copy=text(const="person")), "then": obj(name=text("NAME"))}
    move = Rule(
        "move", type="CEL", kind="TRANSFORM", mode="WRITE", expr="{'kind': message.kind, 'copy': message.kind, "
        "'name': message.name}",
    )  # fmt: skip
    data = Topic(schema, hide("KIND"), move, hide("NAME"), **EVERYWHERE).write(VALUE)
    assert (b"person" in data, b"Lovelace" in data) == (False, False)
    value = {**VALUE, "copy": "person", "note": "x"}
    topic = Topic(schema, hide("KIND"), hide("COPY"), hide("NAME"), **EVERYWHERE)
    assert (b"Lovelace" in topic.write(value), topic.read(topic.write(value))) == (False, value)


def test_a_text_of_two_tags_is_read_as_it_was() -> None:
    topic = Topic(deciding({"anyOf": [obj(kind=text("NAME"), name=text("NAME"))]}), hide("KIND"), hide("NAME"))
    everywhere = Topic(
        deciding({"if": KIND_IS_PERSON, "then": obj(name=text("KIND", "NAME"))}),
        hide("KIND"),
        hide("NAME"),
        **EVERYWHERE,
    )
    for each in (topic, everywhere):
        assert each.read(each.write(VALUE)) == VALUE


@pytest.mark.parametrize("keywords", DECIDING.values(), ids=DECIDING)
def test_a_rule_that_changes_a_text_takes_no_mark_from_another(keywords: dict[str, Any]) -> None:
    changing = change("KIND", "value + '-and-more-than-twenty'")
    topic = Topic(deciding(keywords), changing, hide("NAME"), **EVERYWHERE)
    data = topic.write(VALUE)
    assert (b"person-and-more" in data, b"Lovelace" in data) == (True, False)
    assert topic.read(data) == {"kind": "person-and-more-than-twenty", "name": VALUE["name"]}


def test_a_rule_that_makes_a_value_valid_decides() -> None:
    branches = [
        obj(kind=text(const="person"), name=text("NAME")),
        obj(kind=text(const="shop"), name=text()),
    ]
    topic = Topic(deciding({"oneOf": branches}), change("KIND", "value == 'P' ? 'person' : 'shop'"), hide("NAME"))
    assert b"Lovelace" in topic.write({"kind": "S", "name": "Lovelace"})
    data = Topic(
        deciding({"oneOf": branches}), change("KIND", "value == 'P' ? 'person' : 'shop'"), hide("NAME"), **EVERYWHERE
    ).write({"kind": "P", "name": "Lovelace"})
    assert b"Lovelace" not in data


NEVER_MARKED = {
    "anyOf": [obj(kind=text(maxLength=8), name=text()), obj(kind=text(minLength=20), name=text("NAME"))],
}


def test_a_ciphertext_does_not_decide_what_had_to_be_encrypted() -> None:
    topic = Topic(deciding(NEVER_MARKED), hide("KIND"), hide("NAME"), **EVERYWHERE)
    data = topic.write(VALUE)
    assert b"Lovelace" in data  # the branch that marks it fits the ciphertext alone
    assert topic.read(data) == VALUE


def test_plain_text_that_had_to_be_encrypted_is_found_when_it_is_read() -> None:
    topic = Topic(deciding({"anyOf": BY_CONST}), hide("KIND"), hide("NAME"), **{"encrypt.plain.text": "refuse"})
    data = topic.write(VALUE, overrides={"ENCRYPT": Override(disabled=True)})
    with pytest.raises(RuleError) as caught:
        topic.read(data)
    assert isinstance(caught.value.__cause__, NotDecrypted)
    lenient = Topic(deciding({"anyOf": BY_CONST}), hide("NAME"), **EVERYWHERE)
    with pytest.raises(RuleError):
        lenient.read(lenient.write(VALUE, overrides={"ENCRYPT": Override(disabled=True)}))


def test_plain_text_that_a_ciphertext_left_for_confluent_is_read_and_counted() -> None:
    schema = deciding({"anyOf": BY_CONST})
    topic = Topic(schema, hide("KIND"), hide("NAME"), **EVERYWHERE)
    strict = Topic(schema, hide("NAME"), hide("KIND"), **EVERYWHERE)
    assert topic.read(with_plain_name(topic.write(VALUE))) == VALUE
    with pytest.raises(RuleError):
        strict.read(with_plain_name(strict.write(VALUE)))
    refusing = Topic(schema, hide("KIND"), hide("NAME"), **EVERYWHERE, **{"encrypt.plain.text": "refuse"})
    assert refusing.read(refusing.write(VALUE)) == VALUE
    with pytest.raises(RuleError):
        refusing.read(with_plain_name(refusing.write(VALUE)))


def with_plain_name(data: bytes) -> bytes:
    """Return a message whose name is plain text, as Confluent's writers leave it after the rule for the kind."""
    return data[:5] + json.dumps({**json.loads(data[5:]), "name": VALUE["name"]}).encode()


def test_a_rule_that_changes_a_text_before_it_is_decrypted_marks_nothing() -> None:
    changing = change("FREE", "'person'", mode="READ")
    schema = {**obj(kind=text("FREE")), "anyOf": BY_CONST}
    topic = Topic(schema, hide("NAME"), changing, **EVERYWHERE)
    assert topic.read(topic.write({"kind": "shop", "name": "free"})) == {"kind": "person", "name": "free"}
    assert topic.read(topic.write(VALUE)) == VALUE


AVRO = {
    "type": "record",
    "name": "Person",
    "fields": [
        {"name": "kind", "type": ["null", {"type": "string", "confluent:tags": ["KIND"]}]},
        {
            "name": "who",
            "type": [
                {"type": "record", "name": "Short", "fields": [{"name": "s", "type": "string"}]},
                {
                    "type": "record",
                    "name": "Long",
                    "fields": [
                        {"name": "l", "type": "string", "confluent:tags": ["KIND"]},
                        {"name": "name", "type": ["null", "string"], "confluent:tags": ["NAME"]},
                    ],
                },
            ],
        },
    ],
}
PROTOBUF = """syntax = "proto3"; package shop; import "confluent/meta.proto";
message Person {
  string kind = 1 [(confluent.field_meta).tags = "KIND"];
  oneof who {
    string short = 2 [(confluent.field_meta).tags = "KIND"];
    string name = 3 [(confluent.field_meta).tags = "NAME"];
  }
}
"""


@pytest.mark.parametrize("tags", [("KIND", "NAME"), ("NAME", "KIND")])
@pytest.mark.parametrize(
    ("language", "schema", "value"),
    [
        (SchemaType.AVRO, AVRO, {"kind": "person", "who": {"l": "person", "name": "Lovelace"}}),
        (SchemaType.PROTOBUF, PROTOBUF, {"kind": "person", "name": "Lovelace"}),
        (SchemaType.PROTOBUF, PROTOBUF, {"kind": "person", "short": "Lovelace"}),
    ],
)
def test_texts_do_not_choose_the_branches_of_unions_and_oneofs(
    language: SchemaType, schema: Any, value: Any, tags: tuple[str, str]
) -> None:
    changing = change("KIND", "value + '-long'")
    for rules in (map(hide, tags), (changing, hide("NAME"), hide("KIND"))):
        topic = Topic(schema, *rules, language=language, **EVERYWHERE)
        data = topic.write(value)
        assert (b"person" in data, b"Lovelace" in data) == (False, False)
        assert "Lovelace" in repr(topic.read(data))
