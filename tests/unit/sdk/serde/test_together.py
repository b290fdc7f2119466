"""Rules, models, tables, observation, asynchronous registries and header ids, each used together with the others."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypedDict
from uuid import UUID

import msgspec
import pyarrow as pa
import pydantic
import pytest

from counterfoil.schema.model import Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk import (
    AsyncDeserializer,
    AsyncSerializer,
    AvroDeserializer,
    AvroSerializer,
    Decoded,
    InvalidSettings,
    JsonDeserializer,
    JsonSerializer,
    ModelConverter,
    MultiDeserializer,
    Override,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    Rules,
    SerializationContext,
    Usage,
    schema_of,
)
from counterfoil.sdk.errors import DecodeError, RuleConditionFailed, UnknownSchemaId
from counterfoil.sdk.testing import InMemoryRegistry

RIDES = SerializationContext("rides")
CONF = {"secret": "a secret of the test"}


class TypedRide(TypedDict):
    id: int
    driver: str


@dataclass
class DataRide:
    id: int
    driver: str


class StructRide(msgspec.Struct):
    id: int
    driver: str


class PydanticRide(pydantic.BaseModel):
    id: int
    driver: str


TAGGED = {"confluent:tags": ["PII"]}


def avro_text(name):
    return json.dumps(
        {
            "type": "record",
            "name": name,
            "fields": [{"name": "id", "type": "long"}, {"name": "driver", "type": "string", **TAGGED}],
        }
    )


JSON = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}, "driver": {"type": "string", **TAGGED}}})
PROTOBUF = """syntax = "proto3";
import "confluent/meta.proto";
message Ride { int64 id = 1; string driver = 2 [(confluent.field_meta).tags = "PII"]; }
"""


def encryption(rule_type="ENCRYPT", **params):
    named = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one", **params}
    return Rule(f"hide_{rule_type}", rule_type, tags=("PII",) if rule_type == "ENCRYPT" else (), params=named)


ROTATED = {"encrypt.dek.expiry.days": "1"}
RULES = {
    "CEL_FIELD": RuleSet(domain_rules=(Rule("shout", "CEL_FIELD", mode="READ", expr="value + '!'", tags=("PII",)),)),
    "ENCRYPT": RuleSet(domain_rules=(encryption(**ROTATED),)),
    "ENCRYPT_PAYLOAD": RuleSet(encoding_rules=(encryption("ENCRYPT_PAYLOAD", **ROTATED),)),
    "both": RuleSet(domain_rules=(encryption(),), encoding_rules=(encryption("ENCRYPT_PAYLOAD"),)),
}


class Ruled:
    """A registry with one schema that has rules, and the programs that use it."""

    def __init__(self, language, rule_set, model=None):
        self.memory = InMemoryRegistry()
        self.registry = self.memory.client(retries=0)
        name = "Ride" if model is None else model.__name__
        text, self.type, self.serializer, self.deserializer = {
            "avro": (avro_text(name), SchemaType.AVRO, AvroSerializer, AvroDeserializer),
            "json": (JSON, SchemaType.JSON, JsonSerializer, JsonDeserializer),
            "protobuf": (PROTOBUF, SchemaType.PROTOBUF, ProtobufSerializer, ProtobufDeserializer),
        }[language]
        self.schema = Schema(text, self.type, rule_set=rule_set)
        self.model = {} if model is None else {"model": model}
        self.values = {"values": "dict"} if language == "protobuf" else self.model

    def write(self, registry=None, **more):
        return self.serializer(registry or self.registry, self.schema, rules=Rules(conf=CONF), **self.model, **more)

    def read(self, registry=None, **more):
        return self.deserializer(registry or self.registry, rules=Rules(conf=CONF), **self.values, **more)


CASES = [
    *[("avro", model) for model in (None, DataRide, StructRide)],
    *[("json", model) for model in (None, TypedRide, PydanticRide)],
    ("protobuf", None),
]


@pytest.mark.slow
@pytest.mark.parametrize("id_location", ["prefix", "header"])
@pytest.mark.parametrize("rules", list(RULES))
@pytest.mark.parametrize(("language", "model"), CASES)
def test_every_way_to_read_gives_the_value_after_its_rules(language, model, rules, id_location):
    ruled = Ruled(language, RULES[rules], model)
    headers = []
    made = model or dict
    data = ruled.write(id_location=id_location)(
        made(id=1, driver="Ada"), SerializationContext("rides", "value", headers)
    )
    row = {"id": 1, "driver": "Ada!" if rules == "CEL_FIELD" else "Ada"}
    value = made(**row)
    record = SimpleNamespace(topic="rides", key=None, value=data, headers=headers)
    damaged = SimpleNamespace(topic="rides", key=None, value=data[:-1], headers=headers)
    nothing = {"id": None, "driver": None}
    read = ruled.read()
    assert read.read(record) == value
    assert read.decode(data, topic="rides", headers=headers).value == value
    errors = {}
    assert read.arrow([record, damaged, None, record], errors=errors).to_pylist() == [row, nothing, nothing, row]
    assert list(errors) == [1]
    good, bad = MultiDeserializer(ruled.registry, by_type={ruled.type: read}).many([record, damaged])
    assert good == value
    assert type(bad) is type(errors[1])

    async def awaited():
        registry = ruled.memory.async_client(retries=0)
        assert (await AsyncSerializer(ruled.write(registry))(value, RIDES))[:1] == b"\0"
        assert await AsyncDeserializer(ruled.read(registry)).read(record) == value
        decoded = await AsyncDeserializer(ruled.read(registry)).decode(data, topic="rides", headers=headers)
        assert decoded.value == value
        table = await AsyncDeserializer(ruled.read(registry)).arrow([record, damaged, record], errors={})
        assert table.to_pylist() == [row, nothing, row]
        multi = MultiDeserializer(registry, by_type={ruled.type: ruled.read(registry)})
        assert await AsyncDeserializer(multi).many([record]) == [value]

    asyncio.run(awaited())


@dataclass
class Card:
    number: str


@dataclass
class Cash:
    amount: int


@dataclass
class Paid:
    by: Card | Cash
    mark: UUID
    note: str | None = None


@pytest.mark.parametrize("rule_set", [None, RuleSet(domain_rules=(Rule("any", "CEL", kind="CONDITION", expr="true"),))])
def test_a_rule_changes_no_column_of_a_table(rule_set):
    """Rows of messages with rules have the types of Avro, and the names of no records among the columns."""
    registry = InMemoryRegistry().client()
    rides = [Paid(Cash(3), UUID(int=1)), Paid(Card("4"), UUID(int=2))]
    serialize = AvroSerializer(registry, Schema(schema_of(Paid), rule_set=rule_set), model=Paid)
    deserialize = AvroDeserializer(registry, model=Paid)
    messages = [serialize(each, RIDES) for each in rides]
    assert deserialize.many(messages, topic="rides") == rides
    table = deserialize.arrow(messages, topic="rides")
    assert table.to_pylist() == [
        {"by": {"amount": 3}, "mark": UUID(int=1), "note": None},
        {"by": {"number": "4"}, "mark": UUID(int=2), "note": None},
    ]
    assert pa.types.is_union(table.schema.field("by").type)
    assert table.schema.field("note").type == pa.string()


def test_a_rule_whose_result_has_no_place_in_a_column_is_the_error_of_its_row():
    registry = InMemoryRegistry().client()
    rule = Rule("text", "CEL_FIELD", mode="READ", expr="typeName == 'LONG' ; string(value)")
    schema = Schema(avro_text("Ride"), rule_set=RuleSet(domain_rules=(rule,)))
    data = AvroSerializer(registry, schema)({"id": 1, "driver": "Ada"}, RIDES)
    deserialize = AvroDeserializer(registry)
    assert deserialize(data, RIDES)["id"] == "1"
    with pytest.raises(DecodeError, match=r"What the rules returned .* id: expected an int of 64 bits"):
        deserialize.arrow([data], topic="rides")


def test_a_record_of_a_table_fails_once_and_keeps_its_headers():
    sent = []
    rules = Rules(conf={"dlq.topic": "dead", "producer": lambda *record: sent.append(record)})
    rule = Rule("even", "CEL", kind="CONDITION", mode="READ", expr="message.id % 2 == 0", on_failure="DLQ")
    registry = InMemoryRegistry().client()
    schema = Schema(avro_text("Ride"), rule_set=RuleSet(domain_rules=(rule,)))
    serialize = AvroSerializer(registry, schema, rules=rules)
    deserialize = AvroDeserializer(registry, rules=rules)
    records = [
        SimpleNamespace(
            topic="rides",
            key=None,
            value=serialize({"id": number, "driver": "Ada"}, RIDES),
            headers=[("n", b"%d" % number)],
        )
        for number in range(4)
    ]
    errors = {}
    table = deserialize.arrow(records, errors=errors)
    assert table.column("id").to_pylist() == [0, None, 2, None]
    assert [type(errors[number]) for number in (1, 3)] == [RuleConditionFailed] * 2
    assert [(topic, headers[0]) for topic, _, _, headers in sent] == [("dead", ("n", b"1")), ("dead", ("n", b"3"))]
    again = SimpleNamespace(topic="rides", key=None, value=sent[0][2], headers=sent[0][3])
    assert deserialize.arrow([again]).column("id").to_pylist() == [1]  # its header says which rule to leave out


def test_an_unknown_id_is_the_error_of_its_row_with_an_asynchronous_registry():
    memory = InMemoryRegistry()
    data = AvroSerializer(memory.client(), avro_text("Ride"))({"id": 1, "driver": "Ada"}, RIDES)
    errors = {}

    async def table():
        deserialize = AsyncDeserializer(AvroDeserializer(memory.async_client(retries=0)))
        return await deserialize.arrow([b"\0\0\0\0\x63x", data], topic="rides", errors=errors)

    assert asyncio.run(table()).column("id").to_pylist() == [None, 1]
    assert [type(each) for each in errors.values()] == [UnknownSchemaId]


@pytest.mark.parametrize("rules", [None, *RULES])
def test_rows_of_tables_are_observed_as_whole_messages(rules):
    ruled = Ruled("avro", RULES.get(rules))
    data = ruled.write()({"id": 1, "driver": "Ada"}, RIDES)
    batches = []
    with Usage("billing", batches.append, one_in=2) as usage:
        deserialize = ruled.read().observe(usage)
        deserialize.arrow([data, data, None, data], topic="rides")
        deserialize(data, RIDES)["driver"]
        usage.send()
    [reads] = batches[0]["reads"]
    assert (reads["messages"], reads["sampled"]) == (4, 4)
    assert reads["paths"] == {"*": 3, "driver": 1}


MOVED = RuleSet(migration_rules=(Rule("move", "JSONATA", mode="UPGRADE", expr='{"id": id, "name": driver}'),))
VERSIONS = {
    "avro": [
        """{"type": "record", "name": "R", "fields": [
            {"name": "id", "type": "long"}, {"name": "driver", "type": "string"}]}""",
        """{"type": "record", "name": "R", "fields": [
            {"name": "id", "type": "long"}, {"name": "name", "type": "string"},
            {"name": "seats", "type": "long", "default": 4}]}""",
    ],
    "json": [
        """{"type": "object", "properties": {"id": {"type": "integer"}, "driver": {"type": "string"}}}""",
        """{"type": "object", "properties": {
            "id": {"type": "integer"}, "name": {"type": "string"}, "seats": {"type": "integer", "default": 4}}}""",
    ],
}


@dataclass
class R:
    id: int
    name: str
    seats: int


@pytest.mark.slow
@pytest.mark.parametrize("language", list(VERSIONS))
def test_a_migrated_message_has_the_defaults_of_the_latest_version_in_every_form(language):
    ruled = Ruled(language, None)
    first, second = VERSIONS[language]
    ruled.registry.set_config("rides-value", "NONE")
    data = ruled.serializer(ruled.registry, first)({"id": 1, "driver": "Ada"}, RIDES)
    seconds = [0.0]
    read = ruled.deserializer(ruled.registry, latest=True, latest_ttl_s=10, clock=lambda: seconds[0])
    assert read(data, RIDES) == {"id": 1, "driver": "Ada"}
    ruled.registry.register("rides-value", Schema(second, ruled.type, rule_set=MOVED))
    seconds[0] = 100.0
    row = {"id": 1, "name": "Ada", "seats": 4}
    assert read(data, RIDES) == row
    assert read.arrow([data], topic="rides").to_pylist() == [row]
    assert ruled.deserializer(ruled.registry, latest=True, model=R)(data, RIDES) == R(**row)


def test_settings_of_rules_and_conversions_of_models_are_pickled():
    registry = Registry("http://registry.invalid")
    rules = Rules(conf=CONF, overrides={"CEL": Override(disabled=True)})
    converter = ModelConverter(DataRide)
    schema = Schema(avro_text("DataRide"), rule_set=RULES["both"])
    serialize = AvroSerializer(registry, schema, rules=rules, to_dict=converter.to_dict)
    assert isinstance(pickle.loads(pickle.dumps(serialize)), AvroSerializer)
    copy = pickle.loads(pickle.dumps(rules))
    assert (copy.conf, copy.override("CEL")) == (CONF, Override(disabled=True))
    assert repr(rules) == "Rules(conf=['secret'], overrides=['CEL'])"  # no secrets
    again = pickle.loads(pickle.dumps(converter))
    assert again.to_dict(DataRide(1, "Ada")) == {"id": 1, "driver": "Ada"}


def test_an_observation_stays_in_its_process():
    with Usage("billing", print) as usage, pytest.raises(TypeError, match="make one in each process"):
        pickle.dumps(usage)


def wrong_settings(registry):
    text = avro_text("Ride")
    return {
        "schema is a Registry; expected the text of a schema, or a Schema, after the registry": lambda: JsonSerializer(
            text, registry
        ),
        "schema is a dict; expected the text": lambda: AvroSerializer(registry, {"type": "string"}),
        "reader is a dict; expected the text": lambda: AvroDeserializer(registry, reader={"type": "string"}),
        "rules is a dict; expected Rules": lambda: AvroDeserializer(registry, rules={"secret": "s"}),
        "conf is a str; expected a dict": lambda: Rules(conf="secret=s"),
        "'CEL'] is a dict; expected an Override": lambda: Rules(overrides={"CEL": {"disabled": True}}),
        "usage is a list; expected a Usage": lambda: AvroDeserializer(registry).observe([]),
        "sink is a int; expected a Registry, the path of a file": lambda: Usage("billing", 5),
        "every_s is 0; expected a number": lambda: Usage("billing", print, every_s=0),
        "schema is a dict; expected a pyarrow.Schema": lambda: AvroDeserializer(registry).arrow(
            [], schema={"id": "int64"}
        ),
        "registry URL is None; expected a text": lambda: Registry(None),
    }


@pytest.mark.parametrize("words", list(wrong_settings(None)))
def test_a_setting_of_a_wrong_type_is_named_at_once(words):
    with pytest.raises(InvalidSettings, match=re.escape(words)):
        wrong_settings(InMemoryRegistry().client())[words]()


def test_a_tombstone_has_no_schema_and_no_value():
    memory = InMemoryRegistry()
    for read in (AvroDeserializer(memory.client()), MultiDeserializer(memory.client())):
        assert read.decode(None, topic="rides") == Decoded(None, None, None, None, None)
    awaited = AsyncDeserializer(AvroDeserializer(memory.async_client()))
    assert asyncio.run(awaited.decode(None, topic="rides")).value is None
