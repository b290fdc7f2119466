"""Tagged places of schemas: nothing that a tag marks is written as plain text, wherever the tag stands."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
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
    ValidationError,
)
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import KeyMissing, NotDecrypted, NotEncrypted, RuleConditionFailed, RuleError
from counterfoil.sdk.serde.rules.settings import Override, Rules
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.encryption.tagged_places import CASES, MARK, NUMBER, Case, obj, some

CTX = SerializationContext("people", "value")
KEY = SerializationContext("people", "key")
PARAMS = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"}
CONF = {"secret": "s3cret"}
PLAIN_TEXTS = (MARK.encode(), str(NUMBER).encode())
PLAIN = Rules(overrides={"ENCRYPT": Override(disabled=True)})
TEXT = {"type": "string", "confluent:tags": ["PII"]}
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


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_tag_marks_is_encrypted_or_refused(case: Case) -> None:
    topic = Topic(case)
    value = case.message()
    serialize = topic.serializer(topic.rules())
    if case.theirs in ("known", "once", "refused", "error"):
        data = serialize(value, CTX)
        assert not [text for text in PLAIN_TEXTS if text in data]
        assert is_equal(topic.read(data, topic.rules()), value)
        assert topic.executor.plain_values == {}
    else:
        refused(serialize, value, CTX)


@pytest.mark.parametrize("tags", [{"PII": True}, [["PII"]], [{"tag": "PII"}]], ids=str)
@pytest.mark.parametrize("schema_type", [SchemaType.JSON, SchemaType.AVRO])
def test_tags_that_are_no_list_of_texts_count(tags: Any, schema_type: SchemaType) -> None:
    tagged = {"type": "string", "confluent:tags": tags}
    avro = {"type": "record", "name": "R", "fields": [{"name": "a", **tagged}]}
    text = json.dumps(obj(a=tagged) if schema_type is SchemaType.JSON else avro)
    topic = Topic(Case("tags", "plain", text, schema_type))
    value = {"a": MARK}
    refused(topic.serializer(topic.rules()), value, CTX)
    data = topic.serializer(topic.rules(encrypt_places="all"))(value, CTX)
    assert MARK.encode() not in data
    assert topic.read(data, topic.rules()) == value


DECIDED_BY_OTHERS = ("a short text in one of two objects", "short texts of two kinds")
"""Objects of these schemas may fit the branch that accepts ciphertexts."""


@pytest.mark.slow
@some([case for case in CASES if case.theirs in ("plain", "unread", "unfit")])
def test_by_an_option_what_confluent_does_not_reach_is_encrypted(case: Case) -> None:
    topic = Topic(case)
    value = case.message()
    serialize = topic.serializer(topic.rules(encrypt_places="all"))
    if case.theirs == "unfit":
        refused(serialize, value, CTX)
        return
    if case.theirs == "unread" and case.name not in DECIDED_BY_OTHERS:
        assert "accepts no ciphertext" in refused(serialize, value, CTX).problem
        return
    try:
        data = serialize(value, CTX)
    except ValidationError:
        assert case.theirs == "unread"  # no branch accepts a ciphertext there
        return
    assert MARK.encode() not in data
    assert is_equal(topic.read(data, topic.rules()), value)
    assert topic.executor.plain_values == {}


@some([case for case in CASES if case.theirs == "plain"])
def test_plain_text_that_stands_in_a_topic_is_read_and_counted(case: Case) -> None:
    topic = Topic(case)
    value = case.message()
    data = topic.serializer(PLAIN)(value, CTX)
    assert is_equal(topic.read(data, topic.rules()), value)
    assert sum(topic.executor.plain_values.values()) >= 1
    with pytest.raises(RuleError) as caught:
        topic.read(data, topic.rules(encrypt_plain_text="refuse"))
    assert isinstance(caught.value.__cause__, (NotDecrypted, KeyMissing))


@pytest.mark.slow
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


# --- tags of the metadata, several rules, wrong settings


def case_of(schema: Any, value: Any, schema_type: SchemaType = SchemaType.JSON) -> Case:
    return Case("own", "plain", schema if isinstance(schema, str) else json.dumps(schema), schema_type, value)


FREE = {"type": "object"}
BY_PATH = [
    ("a map", {"m": {"type": "object", "additionalProperties": {"type": "string"}}}, {"m": {"k": MARK}}, "$.m.**"),
    ("one key", {"m": {"type": "object", "additionalProperties": {"type": "string"}}}, {"m": {"k": MARK}}, "$.m.k"),
    ("what is not declared", {"m": FREE}, {"m": {"k": {"x": MARK}}}, "$.m.**"),
    ("a name anywhere", {"m": FREE}, {"m": {"k": {"ssn": MARK}}}, "**.ssn"),
    ("an object", {"m": {"type": "object", "properties": {"a": {"type": "string"}}}}, {"m": {"a": MARK}}, "$.m"),
]


@pytest.mark.parametrize(
    ("properties", "value", "path"), [each[1:] for each in BY_PATH], ids=[each[0] for each in BY_PATH]
)
def test_tags_by_path_mark_places_without_a_schema(properties: Any, value: Any, path: str) -> None:
    case = case_of({"type": "object", "properties": properties}, value)
    topic = Topic(case, metadata=Metadata(tags={path: ("PII",)}))
    refused(topic.serializer(topic.rules()), value, CTX)
    data = topic.serializer(topic.rules(encrypt_places="all"))(value, CTX)
    assert MARK.encode() not in data
    assert topic.read(data, topic.rules()) == value


ROOTS = [
    ({"type": "string"}, MARK, SchemaType.JSON),
    ({"type": "array", "items": {"type": "string"}}, [MARK], SchemaType.JSON),
    ({"type": "array", "items": {"type": "array"}}, [[MARK]], SchemaType.JSON),
    ({"type": "string"}, MARK, SchemaType.AVRO),
    ({"type": "array", "items": "string"}, [MARK], SchemaType.AVRO),
    ({"type": "map", "values": "string"}, {"k": MARK}, SchemaType.AVRO),
    (["null", "string"], MARK, SchemaType.AVRO),
]


@pytest.mark.parametrize("path", ["$", "**"])
@pytest.mark.parametrize(("schema", "value", "schema_type"), ROOTS)
def test_a_path_marks_values_without_a_field(schema: Any, value: Any, schema_type: SchemaType, path: str) -> None:
    topic = Topic(case_of(schema, value, schema_type), metadata=Metadata(tags={path: ("PII",)}))
    refused(topic.serializer(topic.rules()), value, CTX)
    data = topic.serializer(topic.rules(encrypt_places="all"))(value, CTX)
    assert MARK.encode() not in data
    assert topic.read(data, topic.rules()) == value


@pytest.mark.parametrize("schema_type", [SchemaType.JSON, SchemaType.AVRO])
def test_a_dead_letter_hides_values_without_a_field_that_a_path_marks(schema_type: SchemaType) -> None:
    schema = {"type": "array", "items": {"type": "string"} if schema_type is SchemaType.JSON else "string"}
    case = case_of(schema, [MARK], schema_type)
    topic = Topic(case, never(), hide(mode="READ"), metadata=Metadata(tags={"**": ("PII",)}))
    assert MARK not in repr(dead_letter(topic, [MARK]))


def test_a_path_about_everything_reaches_the_fields_that_it_reached() -> None:
    topic = Topic(case_of(obj(a={"type": "string"}), {"a": MARK}), metadata=Metadata(tags={"**": ("PII",)}))
    assert MARK.encode() not in topic.serializer(topic.rules())({"a": MARK}, CTX)


def test_a_path_that_names_a_field_is_reached() -> None:
    case = case_of(obj(m=obj(a={"type": "string"}, b={"type": "string"})), {"m": {"a": MARK, "b": "open"}})
    topic = Topic(case, metadata=Metadata(tags={"$.m.a": ("PII",)}))
    data = topic.serializer(topic.rules())(case.message(), CTX)
    assert (MARK.encode() in data, b"open" in data) == (False, True)
    assert topic.read(data, topic.rules()) == case.message()


PERSON = json.dumps({"type": "record", "name": "shop.P", "fields": [{"name": "email", "type": "string"}]})
PERSON_PROTO = 'syntax = "proto3"; package shop; message P { string email = 1; } message Q { string name = 1; }'
FREE_PART = json.dumps(obj(email={"type": "string"}, more={"type": "object"}))
MISSPELT = [
    (PERSON, SchemaType.AVRO, "shop.P.emial", "shop.P.email"),
    (PERSON_PROTO, SchemaType.PROTOBUF, "shop.P.emial", "shop.P.email"),
    (json.dumps(obj(email={"type": "string"})), SchemaType.JSON, "$.emial", "$.email"),
    (FREE_PART, SchemaType.JSON, "$.emial", "$.email"),
    (json.dumps(obj(a=obj(email={"type": "string"}))), SchemaType.JSON, "$.a.emial", "$.a.email"),
    (PERSON, SchemaType.AVRO, "shop.P.email.address", "shop.P.email"),
    (PERSON, SchemaType.AVRO, "shop.P.email.*", "shop.P.email"),
    (PERSON, SchemaType.AVRO, "P.email", "shop.P.email"),
    (PERSON, SchemaType.AVRO, "$.email", "shop.P.email"),
    (PERSON_PROTO, SchemaType.PROTOBUF, ".shop.P.email", "shop.P.email"),
    (PERSON_PROTO, SchemaType.PROTOBUF, "$.email", "shop.P.email"),
    (json.dumps(obj(a={"type": "array", "items": obj(email={"type": "string"})})), SchemaType.JSON, "$.a[*].email",
     "$.a.email"),
    (json.dumps(obj(a={"type": "array", "items": obj(email={"type": "string"})})), SchemaType.JSON, "$.a.0.email",
     "$.a.email"),
    (json.dumps(obj(a=obj(email={"type": "string"}))), SchemaType.JSON, "a.email", "$.a.email"),
    (json.dumps(obj(a=obj(email={"type": "string"}))), SchemaType.JSON, "$..email", "$.a.email"),
]  # fmt: skip


def written_with_path(text: str, schema_type: SchemaType, *paths: str) -> bytes:
    metadata = Metadata(tags=dict.fromkeys(paths, ("PII",)))
    topic = Topic(case_of(text, None, schema_type), metadata=metadata)
    kinds = {SchemaType.AVRO: AvroSerializer, SchemaType.JSON: JsonSerializer, SchemaType.PROTOBUF: ProtobufSerializer}
    serialize: Any = kinds[schema_type](topic.registry, register="latest", rules=topic.rules())
    data: bytes = serialize({"email": MARK}, CTX)
    return data


@pytest.mark.parametrize(("text", "schema_type", "path", "nearest"), MISSPELT)
def test_a_rule_is_refused_whose_path_names_no_field(
    text: str, schema_type: SchemaType, path: str, nearest: str
) -> None:
    with pytest.raises(RuleError, match="names no field") as caught:
        written_with_path(text, schema_type, path)
    assert f"the most similar name is {nearest!r}" in str(caught.value)
    assert MARK not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "schema_type", "path"),
    [
        (PERSON, SchemaType.AVRO, "**.ssn"),
        (PERSON, SchemaType.AVRO, "shop.Customer.ssn"),
        (PERSON_PROTO, SchemaType.PROTOBUF, "*.ssn"),
        (json.dumps(obj(email={"type": "string"})), SchemaType.JSON, "**.ssn"),
    ],
)
def test_a_path_that_may_be_about_other_schemas_is_a_warning(
    text: str, schema_type: SchemaType, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert MARK.encode() in written_with_path(text, schema_type, path)
    [warning] = [each.getMessage() for each in caplog.records if each.name.startswith("counterfoil.sdk")]
    assert f"the path {path!r} of the metadata names no field" in warning


@pytest.mark.parametrize(
    ("text", "schema_type", "path"),
    [
        (PERSON, SchemaType.AVRO, "shop.P.email"),
        (PERSON, SchemaType.AVRO, "shop.P.*"),
        (PERSON_PROTO, SchemaType.PROTOBUF, "shop.P.email"),
        (FREE_PART, SchemaType.JSON, "$.email"),
    ],
)
def test_a_path_that_names_a_field_gives_no_warning(
    text: str, schema_type: SchemaType, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert MARK.encode() not in written_with_path(text, schema_type, path)
    assert caplog.records == []


def test_paths_of_other_messages_of_a_file_and_into_free_objects_are_names() -> None:
    written_with_path(PERSON_PROTO, SchemaType.PROTOBUF, "shop.Q.name")
    written_with_path(FREE_PART, SchemaType.JSON, "$.more.phone")


@pytest.mark.parametrize(
    ("avro_type", "value"),
    [
        ({"type": "string", "logicalType": "uuid"}, "c0ffee00-0000-4000-8000-000000000001"),
        (["null", {"type": "string", "logicalType": "uuid"}], "c0ffee00-0000-4000-8000-000000000001"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}, Decimal("12.34")),
        ({"type": "bytes", "logicalType": "big-decimal"}, Decimal("12.34")),
        ({"type": "array", "items": {"type": "string", "logicalType": "uuid"}}, []),
    ],
)
def test_a_logical_type_is_refused_before_a_message_is_written(avro_type: Any, value: Any) -> None:
    topic = Topic(field_a(avro_type, **PII))
    serializer = topic.serializer(topic.rules())
    problem = refused(lambda: serializer.warm(topic="people")).problem
    assert "the field R.a" in problem
    assert "logical type" in problem
    read = topic.read(topic.serializer(PLAIN)({"a": value}, CTX), topic.rules())  # what others have written is read
    assert read == AvroDeserializer(topic.registry, rules=PLAIN)(topic.serializer(PLAIN)({"a": value}, CTX), CTX)


def test_a_logical_type_that_readers_ignore_is_encrypted() -> None:
    topic = Topic(field_a({"type": "string", "logicalType": "date"}, **PII))
    assert MARK.encode() not in topic.serializer(topic.rules())({"a": MARK}, CTX)


def test_the_error_names_the_places() -> None:
    schema = obj(a={"type": "object", "additionalProperties": TEXT}, b={"type": "array", "items": TEXT}, c=TEXT)
    topic = Topic(case_of(schema, {}))
    problem = refused(topic.serializer(topic.rules()), {}, CTX).problem
    assert "in additionalProperties of the field $.a.*" in problem
    assert "in the items of the field $.b" in problem
    assert "encrypt.places=all" in problem
    assert "$.c" not in problem


def test_a_rule_without_tags_is_about_everything() -> None:
    case = case_of({"type": "object", "additionalProperties": {"type": "string"}}, {"k": MARK})
    topic = Topic(case, hide(tags=()))
    refused(topic.serializer(topic.rules()), case.message(), CTX)
    data = topic.serializer(topic.rules(encrypt_places="all"))(case.message(), CTX)
    assert MARK.encode() not in data


@pytest.mark.parametrize("on_failure", ["NONE", "NONE,NONE", "ERROR"])
def test_no_action_permits_plain_text(on_failure: str) -> None:
    union = json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["string", "int"], "confluent:tags": ["PII"]}]}
    )
    topic = Topic(case_of(union, None, SchemaType.AVRO), hide(on_failure=on_failure))
    serialize = topic.serializer(topic.rules())
    assert MARK.encode() not in serialize({"a": MARK}, CTX)
    refused(serialize, {"a": NUMBER}, CTX)


@pytest.mark.parametrize(("name", "word"), [("encrypt_places", "some"), ("encrypt_plain_text", "maybe")])
def test_settings_with_an_unknown_word(name: str, word: str) -> None:
    topic = Topic(CASES[0])
    with pytest.raises(RuleError, match=f"is '{word}'; expected"):
        topic.serializer(topic.rules(**{name: word}))(CASES[0].message(), CTX)


def test_the_rule_may_say_that_all_places_are_encrypted() -> None:
    [case] = [each for each in CASES if str(each) == "json: additionalProperties"]
    topic = Topic(case, hide(params={**PARAMS, **EVERYWHERE}))
    data = topic.serializer(topic.rules())(case.message(), CTX)
    assert MARK.encode() not in data


def test_what_no_tag_marks_arrives_as_it_is_and_no_key_is_made() -> None:
    case = case_of({"type": "object", "additionalProperties": {"type": "string"}}, {"k": MARK})
    topic = Topic(case, hide(tags=("OTHER",)))
    assert MARK.encode() in topic.serializer(topic.rules())(case.message(), CTX)


# --- other rules follow the same walk


def cel(kind: str, expr: str, **more: Any) -> Rule:
    return Rule("rule", type="CEL_FIELD", kind=kind, mode="WRITE", expr=expr, tags=("PII",), **more)


@pytest.mark.slow
@some([case for case in CASES if case.theirs == "plain"])
def test_conditions_and_transformations_of_fields_reach_every_marked_place(case: Case) -> None:
    ruled = Topic(case, cel("CONDITION", f"typeName != 'STRING' || value != '{MARK}'"))
    if "Bytes" not in case.name:
        with pytest.raises(RuleConditionFailed):
            ruled.serializer(ruled.rules())(case.message(), CTX)
    masked = Topic(case, cel("TRANSFORM", "typeName == 'BYTES' ? b'masked' : 'masked'"))
    assert MARK.encode() not in masked.serializer(masked.rules())(case.message(), CTX)


CHECKED = {"type": "string", "confluent:rules": [{"name": "short", "expr": "size(this) < 3"}]}
INLINE = [
    ({"type": "object", "additionalProperties": CHECKED}, {"k": "long"}, SchemaType.JSON),
    ({"type": "object", "patternProperties": {"^k": CHECKED}}, {"k": "long"}, SchemaType.JSON),
    (obj(a={"type": "array", "prefixItems": [CHECKED]}, b={"$ref": "#/$defs/none"}), {"a": ["long"]}, SchemaType.JSON),
    ({"type": "array", "contains": CHECKED}, ["long"], SchemaType.JSON),
    ({"type": "record", "name": "R", "fields": [{"name": "a", "type": CHECKED}]}, {"a": "long"}, SchemaType.AVRO),
    ({"type": "array", "items": CHECKED}, ["long"], SchemaType.AVRO),
]


@pytest.mark.parametrize(("schema", "value", "schema_type"), INLINE)
def test_inline_rules_are_checked_at_every_place(schema: Any, value: Any, schema_type: SchemaType) -> None:
    modern = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"none": {}}}
    written = {**modern, **schema} if schema_type is SchemaType.JSON else schema
    topic = Topic(case_of(written, value, schema_type))
    with pytest.raises(ValidationError, match="short"):
        topic.serializer(Rules(check="before"))(value, CTX)


# --- dead letters


def dead_letter(topic: Topic, value: Any, **more: Any) -> tuple[Any, ...]:
    sent: list[tuple[Any, ...]] = []
    conf = {"dlq_topic": "dead", "producer": lambda *each: sent.append(each), **more}
    with pytest.raises(RuleError):
        topic.serializer(topic.rules(**conf))(value, CTX)
    [(_, *record)] = sent
    return tuple(record)


def never(expr: str = "false", **more: Any) -> Rule:
    return Rule("never", type="CEL", kind="CONDITION", mode="WRITE", expr=expr, on_failure="DLQ", **more)


def test_a_dead_letter_of_a_rule_about_everything_shows_nothing() -> None:
    case = case_of({"type": "object", "additionalProperties": {"type": "string"}}, {"k": MARK})
    assert dead_letter(Topic(case, never(), hide(mode="READ", tags=())), case.message())[1] == b"<REDACTED>"


def test_values_that_do_not_fit_their_schema_are_hidden() -> None:
    [case] = [each for each in CASES if str(each) == "avro: a record"]
    for value in ({"a": [MARK]}, {"a": MARK}, {"a": {"b": {"c": MARK}}}):
        assert MARK.encode() not in dead_letter(Topic(case, never(), hide(mode="READ")), value)[1]


def test_the_names_in_a_tagged_map_are_hidden() -> None:
    [case] = [each for each in CASES if str(each) == "avro: a map"]
    value = dead_letter(Topic(case, never(), hide(mode="READ")), {"a": {MARK: "x", "y": "z"}})[1]
    assert json.loads(value) == {"a": {"<REDACTED>": "<REDACTED>", "<REDACTED> 2": "<REDACTED>"}}


def test_a_reason_that_quotes_a_marked_value_is_hidden() -> None:
    case = CASES[0]
    quoting = never(doc=f"{MARK} is not allowed")
    headers = dict(dead_letter(Topic(case, quoting, hide(mode="READ")), case.message())[2])
    assert headers["__rule.exception"] == b"RuleConditionFailed (<REDACTED>)"


def test_the_key_of_a_dead_letter_is_without_what_its_own_rules_encrypt() -> None:
    key_case, case = case_of(obj(a=TEXT, b={"type": "string"}), None), CASES[0]
    topic = Topic(case, never())
    keys = Topic(key_case, hide(), subject="people-key")
    dead_letter(topic, case.message())  # from here on, keys are kept
    write_key = keys.serializer(keys.rules(dlq_topic="dead"))
    write_key({"a": MARK, "b": "open"}, KEY)
    key = dead_letter(topic, case.message())[0]
    assert json.loads(key) == {"a": "<REDACTED>", "b": "open"}


def test_a_key_whose_own_rule_fails_is_hidden() -> None:
    sent: list[tuple[Any, ...]] = []
    keys = Topic(case_of(TEXT, MARK), never(), hide(mode="READ"), subject="people-key")
    rules = keys.rules(dlq_topic="dead", producer=lambda *each: sent.append(each))
    with pytest.raises(RuleConditionFailed):
        keys.serializer(rules)(MARK, KEY)
    [(_, key, value, _)] = sent
    assert (key, value) == (b"<REDACTED>", None)


# --- Avro: records of a union that look alike, and defaults


def like(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "b", "type": "string", **more}]}


PII = {"confluent:tags": ["PII"]}
ALIKE = [
    ([like("A", **PII), like("B", **PII)], ("A", {"b": MARK}), {"b": MARK}),
    ([like("A", **PII), like("B")], ("A", {"b": MARK}), {"b": MARK}),
    ([like("A"), like("B", **PII)], ("B", {"b": MARK}), {"b": MARK}),
    (["null", {"type": "array", "items": [like("A"), like("B", **PII)]}], [("B", {"b": MARK})], [{"b": MARK}]),
    ([like("A", **PII), {"type": "map", "values": "string"}], ("A", {"b": MARK}), {"b": MARK}),
]


def field_a(avro_type: Any, **more: Any) -> Case:
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": avro_type, **more}]}
    return case_of(record, None, SchemaType.AVRO)


@pytest.mark.parametrize(("union", "written", "read"), ALIKE)
def test_records_of_a_union_with_the_same_fields_are_decrypted(union: Any, written: Any, read: Any) -> None:
    topic = Topic(field_a(union))
    data = topic.serializer(topic.rules())({"a": written}, CTX)
    assert MARK.encode() not in data
    assert topic.read(data, topic.rules()) == {"a": read}


def test_a_record_beside_its_like_without_a_tag_is_left_as_it_is() -> None:
    topic = Topic(field_a([like("A", **PII), like("B")]))
    data = topic.serializer(topic.rules())({"a": ("B", {"b": "open"})}, CTX)
    assert b"open" in data
    assert topic.read(data, topic.rules()) == {"a": {"b": "open"}}


@pytest.mark.parametrize(
    ("avro_type", "default"),
    [
        ("string", MARK),
        ("bytes", MARK),
        (["string", "null"], MARK),
        ({"type": "array", "items": "string"}, [MARK]),
        ({"type": "map", "values": "string"}, {"k": MARK}),
    ],
)
def test_the_default_of_a_field_that_is_left_out_is_encrypted(avro_type: Any, default: Any) -> None:
    topic = Topic(field_a(avro_type, default=default, **PII))
    data = topic.serializer(topic.rules())({}, CTX)
    assert MARK.encode() not in data
    assert topic.read(data, topic.rules()) == {"a": default.encode() if avro_type == "bytes" else default}


def test_defaults_inside_a_record_are_encrypted() -> None:
    inner = like("I", default=MARK, **PII)
    topic = Topic(field_a(inner, default={}))
    for value in ({}, {"a": {}}):
        data = topic.serializer(topic.rules())(value, CTX)
        assert MARK.encode() not in data
        assert topic.read(data, topic.rules()) == {"a": {"b": MARK}}
