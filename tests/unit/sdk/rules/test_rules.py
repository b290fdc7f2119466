"""Rules of schemas in serializers and deserializers: order, modes, tags, actions, migrations, inline rules."""

from __future__ import annotations

import asyncio
import json

import pytest

from counterfoil.schema.model import Metadata, Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk import (
    AsyncDeserializer,
    AsyncSerializer,
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerializationContext,
    ValidationError,
)
from counterfoil.sdk.errors import DecodeError, RuleConditionFailed, RuleError, RuleTypeMissing
from counterfoil.sdk.serde.rules.dlq import DeadLetterAction
from counterfoil.sdk.serde.rules.settings import Override, Rules
from counterfoil.sdk.testing import InMemoryRegistry

VALUE = SerializationContext("rides", "value")
MODES = ["WRITE", "READ"]

AVRO = json.dumps(
    {
        "type": "record",
        "name": "taxi.Ride",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "driver", "type": "string", "confluent:tags": ["PII"]},
            {"name": "rider", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
            {"name": "notes", "type": {"type": "array", "items": "string"}, "default": []},
            {
                "name": "place",
                "type": {"type": "record", "name": "Place", "fields": [{"name": "street", "type": "string"}]},
            },
        ],
    }
)
JSON = json.dumps(
    {
        "type": "object",
        "title": "Ride",
        "properties": {
            "id": {"type": "integer"},
            "driver": {"type": "string", "confluent:tags": ["PII"]},
            "rider": {"oneOf": [{"type": "null"}, {"type": "string"}], "confluent:tags": ["PII"]},
            "notes": {"type": "array", "items": {"type": "string"}},
            "place": {"$ref": "#/definitions/place"},
        },
        "definitions": {"place": {"type": "object", "properties": {"street": {"type": "string"}}}},
    }
)
PROTOBUF = """syntax = "proto3";
package taxi;
import "confluent/meta.proto";
message Ride {
  int64 id = 1;
  string driver = 2 [(confluent.field_meta).tags = "PII"];
  optional string rider = 3 [(confluent.field_meta) = {tags: ["PII"]}];
  repeated string notes = 4;
  Place place = 5;
}
message Place { string street = 1; }
"""
LANGUAGES = {
    "avro": (AVRO, SchemaType.AVRO, AvroSerializer, AvroDeserializer),
    "json": (JSON, SchemaType.JSON, JsonSerializer, JsonDeserializer),
    "protobuf": (PROTOBUF, SchemaType.PROTOBUF, ProtobufSerializer, ProtobufDeserializer),
}
RIDE = {"id": 7, "driver": "Ada", "rider": "Bob", "notes": ["a", "b"], "place": {"street": "Main"}}


@pytest.fixture
def client():
    return InMemoryRegistry().client(retries=0)


def rule(name, expr, *, type="CEL", kind="TRANSFORM", mode="WRITE", **more):  # noqa: A002 - the rule's own word
    return Rule(name, type=type, kind=kind, mode=mode, expr=expr, **more)


def condition(name, expr, **more):
    return rule(name, expr, kind="CONDITION", **more)


def field_rule(name, expr, **more):
    return rule(name, expr, type="CEL_FIELD", **more)


class Ruled:
    """A serializer and a deserializer of a schema with rules."""

    def __init__(self, client, language, *domain, rules=None, metadata=None, **rule_set):
        text, schema_type, serializer, deserializer = LANGUAGES[language]
        more = {"rules": rules} if rules else {}
        schema = Schema(text, schema_type, metadata=metadata, rule_set=RuleSet(domain_rules=domain, **rule_set))
        client.register("rides-value", schema)
        self.write = serializer(client, register="latest", **more)
        self.read = deserializer(client, **({"values": "dict"} if language == "protobuf" else {}), **more)

    def trip(self, value, ctx=VALUE):
        return self.read(self.write(value, ctx), ctx)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_condition_stops_a_message(client, language):
    ruled = Ruled(client, language, condition("positive", "message.id > 0 && has(message.driver)", doc="ids count"))
    assert ruled.trip(RIDE)["id"] == 7
    with pytest.raises(RuleConditionFailed, match="'positive' is not met: ids count") as caught:
        ruled.write({**RIDE, "id": -1}, VALUE)
    assert (caught.value.rule, caught.value.action, caught.value.subject) == ("positive", "ERROR", "rides-value")


@pytest.mark.parametrize("language", LANGUAGES)
def test_field_rules_change_tagged_fields_and_not_the_value_of_the_program(client, language):
    ruled = Ruled(client, language, field_rule("hide", "typeName == 'STRING' ; value + '*'", tags=("PII",)))
    value = json.loads(json.dumps(RIDE))
    changed = ruled.trip(value)
    assert (changed["driver"], changed["rider"], changed["place"]) == ("Ada*", "Bob*", {"street": "Main"})
    assert value == RIDE


@pytest.mark.parametrize("language", LANGUAGES)
def test_field_rules_without_tags_reach_arrays_and_records(client, language):
    ruled = Ruled(client, language, field_rule("shout", "typeName == 'STRING' ; name + ':' + value"))
    changed = ruled.trip(RIDE)
    assert changed["notes"] == ["notes:a", "notes:b"]
    assert changed["place"] == {"street": "street:Main"}


@pytest.mark.parametrize(
    ("language", "path"), [("avro", "taxi.Place.*"), ("json", "$.place.street"), ("protobuf", "**.street")]
)
def test_tags_of_the_metadata_count(client, language, path):
    metadata = Metadata(tags={path: ("PLACE",)})
    ruled = Ruled(client, language, field_rule("hide", "'x'", tags=("PLACE",)), metadata=metadata)
    assert ruled.trip(RIDE) == {**RIDE, "place": {"street": "x"}}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_field_condition_names_the_field(client, language):
    rules = (field_rule("short", "size(value) < 4", kind="CONDITION", tags=("PII",)),)
    ruled = Ruled(client, language, *rules)
    assert ruled.trip(RIDE)["driver"] == "Ada"
    with pytest.raises(RuleConditionFailed, match="driver"):
        ruled.write({**RIDE, "driver": "Augusta"}, VALUE)


def test_a_field_rule_sees_its_field_and_the_message(client):
    expr = "typeName == 'STRING' ; fullName + '|' + tags[0] + '|' + string(message.id)"
    ruled = Ruled(client, "avro", field_rule("facts", expr, tags=("PII",)))
    assert ruled.trip(RIDE)["driver"] == "taxi.Ride.driver|PII|7"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_rule_may_return_the_whole_message(client, language):
    expr = "{'id': message.id + 1, 'driver': 'new', 'rider': null, 'notes': [], 'place': {'street': 's'}}"
    ruled = Ruled(client, language, rule("all", expr))
    changed = ruled.trip(RIDE)
    assert (changed["id"], changed["driver"], changed["place"]) == (8, "new", {"street": "s"})


def test_rules_run_in_order_and_backwards_when_reading(client):
    rules = [
        field_rule("a", "typeName == 'STRING' ; value + 'a'", mode="WRITEREAD", tags=("PII",)),
        field_rule("b", "typeName == 'STRING' ; value + 'b'", mode="WRITEREAD", tags=("PII", "OTHER")),
    ]
    ruled = Ruled(client, "avro", *rules)
    assert ruled.trip({**RIDE, "driver": "-"})["driver"] == "-abba"


@pytest.mark.parametrize("mode", MODES)
def test_of_equal_field_rules_the_first_runs(client, mode):
    rules = [field_rule(name, f"name == 'driver' ; value + '{name}'", mode=mode, tags=("PII",)) for name in "ab"]
    assert Ruled(client, "avro", *rules).trip({**RIDE, "driver": "-"})["driver"] == "-a"


@pytest.mark.parametrize(
    ("more", "rule_set", "overrides"),
    [
        ({"disabled": True}, {}, {}),
        ({}, {"enable_at": "SERVER"}, {}),
        ({"mode": "READ"}, {}, {}),
        ({}, {}, {"CEL": Override(disabled=True)}),
        ({"on_failure": "NONE"}, {}, {}),
        ({}, {}, {"CEL": Override(on_failure="NONE")}),
        ({"mode": "WRITEREAD", "on_failure": "NONE,ERROR"}, {}, {}),
    ],
)
def test_what_does_not_stop_a_message(client, more, rule_set, overrides):
    ruled = Ruled(client, "avro", condition("never", "false", **more), rules=Rules(overrides=overrides), **rule_set)
    assert ruled.write(RIDE, VALUE)


def test_the_second_action_of_a_pair_is_for_reading(client):
    ruled = Ruled(client, "avro", condition("never", "false", mode="WRITEREAD", on_failure="NONE,ERROR"))
    data = ruled.write(RIDE, VALUE)
    with pytest.raises(RuleConditionFailed):
        ruled.read(data, VALUE)


def test_a_rule_that_returns_null_failed(client):
    with pytest.raises(RuleError, match="returned null"):
        Ruled(client, "avro", rule("nothing", "null")).write(RIDE, VALUE)


def test_a_success_may_be_an_error(client):
    with pytest.raises(RuleError, match="'known' failed: it succeeded"):
        Ruled(client, "avro", condition("known", "true", on_success="ERROR")).write(RIDE, VALUE)


@pytest.mark.parametrize(
    ("broken", "error", "words"),
    [
        (condition("c", "message.id >"), RuleError, "'c' of the schema cannot be run.*not valid CEL"),
        (condition("c", "message.nothing > 1"), RuleError, "'c' failed: 'message.nothing > 1' cannot be evaluated"),
        (condition("c", "true", on_failure="SHOUT"), RuleTypeMissing, "'SHOUT'; known are DLQ"),
    ],
)
def test_rules_that_cannot_be_run(client, broken, error, words):
    with pytest.raises(error, match=words) as caught:
        Ruled(client, "avro", broken).write(RIDE, VALUE)
    assert caught.value.rule == "c"


class Reverse:
    """An executor of a program: reverses bytes."""

    def __init__(self):
        self.scopes = []

    def compile(self, scope):
        self.scopes.append(scope)
        yield from ()
        return lambda data: data[::-1]

    def close(self):
        self.scopes.clear()


@pytest.mark.parametrize("language", LANGUAGES)
def test_encoding_rules_get_the_body_as_bytes(client, language):
    executor = Reverse()
    encoding = (Rule("reverse", type="REVERSE", mode="WRITEREAD", params={"a": "1"}),)
    metadata = Metadata(properties={"a": "0", "b": "2"})
    more = {"encoding_rules": encoding, "metadata": metadata}
    ruled = Ruled(client, language, rules=Rules(executors={"REVERSE": executor}), **more)
    data = ruled.write(RIDE, VALUE)
    assert ruled.read(data, VALUE) == RIDE
    scope = executor.scopes[0]
    assert (scope.parameter("a"), scope.parameter("b"), scope.parameter("c")) == ("1", "2", None)
    assert (scope.subject, scope.topic, scope.field) == ("rides-value", "rides", "value")


class Fetching:
    """An executor that requests a subject's versions for each message it has not seen."""

    def __init__(self):
        self.known = {}

    def compile(self, scope):
        yield from scope.calls.version(scope.subject)

        def look(message):
            def script():
                if message["id"] not in self.known:
                    self.known[message["id"]] = yield from scope.calls.version(scope.subject, 1)
                return self.known[message["id"]]

            return scope.request(script).version == 1

        return look

    def close(self):
        self.known.clear()


def test_an_executor_requests_with_an_asynchronous_registry():
    async def run():
        memory = InMemoryRegistry()
        with memory.client() as sync:
            sync.register("rides-value", Schema(AVRO, rule_set=RuleSet(domain_rules=(
                Rule("look", type="LOOK", kind="CONDITION", mode="WRITEREAD"),
            ))))  # fmt: skip
        async with memory.async_client() as client:
            rules = Rules(executors={"LOOK": Fetching()})
            write = AsyncSerializer(AvroSerializer(client, register="latest", rules=rules))
            read = AsyncDeserializer(AvroDeserializer(client, rules=Rules(executors={"LOOK": Fetching()})))
            return [await read(await write({**RIDE, "id": each}, VALUE), VALUE) for each in (1, 2, 2)]

    assert [each["id"] for each in asyncio.run(run())] == [1, 2, 2]


# --- migrations ------------------------------------------------------------------------------------------------------


def migration(mode, expr):
    return Rule(mode.lower(), type="JSONATA", mode=mode, expr=expr)


def versions(client, *rule_sets, metadata=None):
    """Register versions with one field each: a, b, c; the first has the metadata, which later ones do not inherit."""
    client.set_config("rides-value", "NONE")
    schemas = []
    for name, rule_set in zip("abc", rule_sets, strict=False):
        text = json.dumps({"type": "record", "name": "R", "fields": [{"name": name, "type": "long"}]})
        schemas.append(Schema(text, metadata=Metadata() if schemas else metadata, rule_set=rule_set))
        client.register("rides-value", schemas[-1])
    return schemas


UP_DOWN = (
    None,
    RuleSet(migration_rules=(migration("UPGRADE", "{'b': a * 10}"), migration("DOWNGRADE", "{'a': $round(b / 10)}"))),
    RuleSet(migration_rules=(migration("UPGRADE", "{'c': b + 1}"), migration("DOWNGRADE", "{'b': c - 1}"))),
)


def test_every_version_between_is_walked_up(client):
    first, *_ = versions(client, *UP_DOWN)
    data = AvroSerializer(client, first, register="lookup")({"a": 5}, VALUE)
    assert AvroDeserializer(client, latest=True)(data, VALUE) == {"c": 51}
    assert AvroDeserializer(client)(data, VALUE) == {"a": 5}


def test_every_version_between_is_walked_down(client):
    *_, last = versions(client, *UP_DOWN, metadata=Metadata(properties={"live": "yes"}))
    data = AvroSerializer(client, last, register="lookup")({"c": 51}, VALUE)
    assert AvroDeserializer(client, latest={"metadata": {"live": "yes"}})(data, VALUE) == {"a": 5}


def test_what_a_migration_returns_must_be_a_value_of_the_reader(client):
    first, _ = versions(client, None, RuleSet(migration_rules=(migration("UPGRADE", "{'b': 'text'}"),)))
    data = AvroSerializer(client, first, register="lookup")({"a": 5}, VALUE)
    with pytest.raises(DecodeError, match=r"What the migration returned.*b: expected an int"):
        AvroDeserializer(client, latest=True)(data, VALUE)


def test_a_migration_without_end_is_stopped(client):
    rules = RuleSet(migration_rules=(
        Rule("loop", type="JSONATA", mode="UPGRADE", expr="($f := function($n){$f($n + 1)}; $f(1))",
             params={"jsonata.timeout.ms": "100"}),
    ))  # fmt: skip
    first, _ = versions(client, None, rules)
    data = AvroSerializer(client, first, register="lookup")({"a": 5}, VALUE)
    with pytest.raises(RuleError, match="'loop' failed"):
        AvroDeserializer(client, latest=True)(data, VALUE)


# --- the dead letter topic -------------------------------------------------------------------------------------------


def test_a_failed_record_goes_to_the_dead_letter_topic_without_what_is_encrypted(client):
    sent = []
    action = DeadLetterAction({"dlq.topic": "dead", "producer": lambda *record: sent.append(record)})
    rules = [
        condition("never", "message.id > 100", on_failure="DLQ"),
        Rule("hide", type="ENCRYPT", tags=("PII",), disabled=True),
    ]
    key = AvroSerializer(client, '"string"')
    ruled = Ruled(client, "avro", *rules, rules=Rules(actions={"DLQ": action}))
    key("k1", SerializationContext("rides", "key"))
    with pytest.raises(RuleConditionFailed) as caught:
        ruled.write(RIDE, SerializationContext("rides", "value", [("trace", b"1")]))
    assert caught.value.action == "DLQ"
    [(topic, sent_key, value, headers)] = sent
    assert (topic, sent_key) == ("dead", b"k1")
    assert json.loads(value) == {**RIDE, "driver": "<REDACTED>", "rider": "<REDACTED>"}
    assert headers == [
        ("trace", b"1"),
        ("__rule.name", b"never"),
        ("__rule.mode", b"WRITE"),
        ("__rule.subject", b"rides-value"),
        ("__rule.topic", b"rides"),
        ("__rule.exception", b"Rule expr failed: message.id > 100"),
    ]


def test_reading_sends_the_bytes_and_a_record_that_is_read_back_skips_the_rule(client):
    sent = []
    conf = {"dlq.topic": "dead", "producer": lambda *record: sent.append(record)}
    ruled = Ruled(client, "avro", condition("never", "false", mode="READ", on_failure="DLQ"), rules=Rules(conf=conf))
    data = ruled.write(RIDE, VALUE)
    with pytest.raises(RuleConditionFailed):
        ruled.read(data, VALUE)
    [(_, _, value, headers)] = sent
    assert value == data
    assert ruled.read(value, SerializationContext("rides", "value", headers)) == RIDE


# --- inline rules ----------------------------------------------------------------------------------------------------

CHECKED = {
    "avro": json.dumps(
        {
            "type": "record",
            "name": "R",
            "confluent:rules": [{"name": "order", "expr": "this.low <= this.high"}],
            "fields": [
                {"name": "low", "type": "int", "confluent:rules": [{"name": "min", "expr": "this > 0", "doc": "low!"}]},
                {"name": "high", "type": "int"},
                {
                    "name": "name",
                    "type": ["null", "string"],
                    "confluent:rules": [{"name": "long", "expr": "size(this) > 2 ? '' : 'too short: ' + this"}],
                },
            ],
        }
    ),
    "json": json.dumps(
        {
            "type": "object",
            "confluent:rules": [{"name": "order", "expr": "this.low <= this.high"}],
            "properties": {
                "low": {
                    "type": "integer",
                    "confluent:rules": [{"name": "min", "expr": "this > 0", "doc": "low!"}],
                },
                "high": {"type": "integer"},
                "name": {
                    "type": ["null", "string"],
                    "confluent:rules": [{"name": "long", "expr": "size(this) > 2 ? '' : 'too short: ' + this"}],
                },
            },
        }
    ),
    "protobuf": """syntax = "proto3";
import "confluent/meta.proto";
message R {
  option (confluent.message_meta) = {rules: [{name: "order", expr: "this.low <= this.high"}]};
  int32 low = 1 [(confluent.field_meta) = {rules: [{name: "min", expr: "this > 0", doc: "low!"}]}];
  int32 high = 2;
  optional string name = 3 [(confluent.field_meta) =
    {rules: [{name: "long", expr: "size(this) > 2 ? '' : 'too short: ' + this"}]}];
}
""",
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("check", ["before", "after"])
def test_inline_rules_report_every_violation_with_its_path(client, language, check):
    _, schema_type, serializer, _ = LANGUAGES[language]
    schema = Schema(CHECKED[language], schema_type)
    write = serializer(client, schema, rules=Rules(check=check))
    assert write({"low": 1, "high": 2, "name": "abc"}, VALUE)
    assert write({"low": 1, "high": 2, "name": None}, VALUE)
    with pytest.raises(ValidationError) as caught:
        write({"low": 0, "high": -1, "name": "a"}, VALUE)
    root = "$" if language == "json" else ""
    within = "$." if language == "json" else ""
    assert [(each.path, each.keyword, each.message) for each in caught.value.violations] == [
        (root, "order", "this.low <= this.high"),
        (f"{within}low", "min", "low!"),
        (f"{within}name", "long", "too short: a"),
    ]
    with pytest.raises(ValidationError) as caught:
        serializer(client, schema, rules=Rules(check=check, fail_fast=True))({"low": 0, "high": -1, "name": "a"}, VALUE)
    assert len(caught.value.violations) == 1


def test_inline_rules_are_not_checked_unless_the_program_wants_it(client):
    assert AvroSerializer(client, CHECKED["avro"])({"low": 0, "high": -1, "name": "a"}, VALUE)


def test_printed_rules_show_no_secret():
    """They are printed as a default in the reference, and in tracebacks."""
    assert repr(Rules()) == "Rules()"
    assert (
        repr(Rules(conf={"dlq.password": "secret"}, check="before")) == "Rules(conf=['dlq.password'], check='before')"
    )
