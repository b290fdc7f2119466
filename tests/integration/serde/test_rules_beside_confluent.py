"""Rules of schemas, run by this SDK and by confluent-kafka over a running registry: the same bytes and values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import schema_registry as theirs
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.schema_registry import protobuf as their_protobuf
from confluent_kafka.schema_registry.rule_registry import RuleOverride, RuleRegistry
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
from confluent_kafka.schema_registry.rules.cel.cel_field_executor import CelFieldExecutor
from confluent_kafka.schema_registry.rules.dlq.dlq_action import DlqAction
from confluent_kafka.schema_registry.rules.jsonata.jsonata_executor import JsonataExecutor
from confluent_kafka.schema_registry.serde import FieldRuleExecutor, RuleAction, RuleExecutor
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Metadata, Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.sdk import Registry, RuleError
from counterfoil.sdk import confluent as ours

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess

PAIRS = pytest.mark.parametrize(
    "pair", [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours")], ids=lambda pair: f"{pair[0]} to {pair[1]}"
)
LATEST = {"auto.register.schemas": False, "use.latest.version": True}

AVRO = json.dumps(
    {
        "type": "record",
        "name": "taxi.Ride",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "driver", "type": "string", "confluent:tags": ["PII"]},
            {"name": "rider", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
            {"name": "stops", "type": {"type": "array", "items": "string"}, "confluent:tags": ["STOP"]},
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
            "stops": {"type": "array", "items": {"type": "string"}, "confluent:tags": ["STOP"]},
            "place": {"type": "object", "properties": {"street": {"type": "string"}}},
        },
    }
)
PROTOBUF = """syntax = "proto3";
package taxi.ruled;
import "confluent/meta.proto";
message Ride {
  int64 id = 1;
  string driver = 2 [(confluent.field_meta).tags = "PII"];
  optional string rider = 3 [(confluent.field_meta).tags = "PII"];
  repeated string stops = 4 [(confluent.field_meta).tags = "STOP"];
  Place place = 5;
}
message Place { string street = 1; }
"""
RIDE = {"id": 7, "driver": "Ada", "rider": "Bob", "stops": ["a", "b"], "place": {"street": "Main"}}
METADATA = Metadata(properties={"owner": "rides"})
"""Without tags: confluent-kafka 2.16 fails for a registered schema with those (``unhashable type: 'list'``)."""


class Language:
    """A schema language, with the classes of both packages for it."""

    def __init__(self, text, schema_type, their_module, our_names):
        self.text = text
        self.schema_type = schema_type
        self.classes = {
            "ours": [getattr(ours, name) for name in our_names],
            "theirs": [getattr(their_module, name) for name in our_names],
        }
        self.message = None

    def pair(self, side, client, conf, **rules):
        """Return a serializer and a deserializer of a side."""
        serializer, deserializer = self.classes[side]
        reading = {name: value for name, value in conf.items() if name == "use.latest.version"}
        if self.schema_type is SchemaType.JSON:
            return serializer(self.text, client, conf=conf, **rules), deserializer(
                None, conf=reading, schema_registry_client=client, **rules
            )
        if self.schema_type is SchemaType.PROTOBUF:
            return serializer(self.message, client, conf=conf, **rules), deserializer(
                self.message, conf=reading, schema_registry_client=client, **rules
            )
        return serializer(client, conf=conf, **rules), deserializer(client, conf=reading, **rules)

    def value(self):
        """Return a new value, which the rules of confluent-kafka change in place."""
        if self.message is None:
            return json.loads(json.dumps(RIDE))
        return self.message(**json.loads(json.dumps(RIDE)))

    def plain(self, value):
        """Return a value that was read as a dict."""
        if self.message is None:
            return value
        return {
            "id": value.id,
            "driver": value.driver,
            "rider": value.rider,
            "stops": list(value.stops),
            "place": {"street": value.place.street},
        }


def generated_class():
    from google.protobuf.message_factory import GetMessageClass

    file = pooled_file(parse_protobuf(PROTOBUF, (), validation=Validation.LENIENT), PROTOBUF)
    return GetMessageClass(file.message_types_by_name["Ride"])


@pytest.fixture(params=["avro", "json", "protobuf"])
def language(request):
    if request.param == "avro":
        return Language(AVRO, SchemaType.AVRO, their_avro, ["AvroSerializer", "AvroDeserializer"])
    if request.param == "json":
        return Language(JSON, SchemaType.JSON, their_json, ["JSONSerializer", "JSONDeserializer"])
    found = Language(PROTOBUF, SchemaType.PROTOBUF, their_protobuf, ["ProtobufSerializer", "ProtobufDeserializer"])
    found.message = generated_class()
    return found


class World:
    """A topic of a running registry, with a client of each package."""

    def __init__(self, url, topic):
        self.topic = topic
        self.own = Registry(url)
        self.clients = {
            "ours": ours.SchemaRegistryClient({"url": url}),
            "theirs": theirs.SchemaRegistryClient({"url": url}),
        }

    def register(self, text, schema_type=SchemaType.AVRO, *domain, **rule_set):
        rules = RuleSet(domain_rules=domain, **rule_set)
        return self.own.register(
            f"{self.topic}-value", Schema(text, schema_type, metadata=METADATA, rule_set=rules if rules.rules else None)
        )

    def context(self, field=MessageField.VALUE, headers=None):
        return SerializationContext(self.topic, field, headers)


@pytest.fixture
def world(live_registry: RegistryProcess, unique_name: Callable[[str], str]):
    found = World(live_registry.url, unique_name("rides"))
    yield found
    found.own.close()


def their_rules():
    registry = RuleRegistry()
    for executor in (CelExecutor(), CelFieldExecutor(), JsonataExecutor()):
        registry.register_executor(executor)
    return registry


def field_rule(name, expr, mode="WRITEREAD", **more):
    return Rule(name, type="CEL_FIELD", mode=mode, expr=expr, **more)


RULES = {
    "tags": [field_rule("hide", "typeName == 'STRING' ; value + '*'", tags=("PII",))],
    "items": [field_rule("stops", "'<' + value + '>'", tags=("STOP",))],
    "order": [
        field_rule("one", "typeName == 'STRING' ; value + '1'", tags=("PII",)),
        field_rule("two", "typeName == 'STRING' ; value + '2'", tags=("PII", "STOP")),
        field_rule("again", "typeName == 'STRING' ; value + '3'", tags=("PII",)),
    ],
    "read alone": [field_rule("back", "name == 'driver' ; fullName + typeName", mode="READ")],
    "condition": [Rule("positive", type="CEL", kind="CONDITION", mode="WRITEREAD", expr="message.id > 0")],
    "guard": [Rule("g", type="CEL", kind="CONDITION", mode="WRITE", expr="message.id > 100 ; message.driver == ''")],
    "message": [
        Rule(
            "all",
            type="CEL",
            mode="WRITE",
            expr="{'id': message.id + 1, 'driver': 'new', 'rider': 'r', 'stops': ['x'], 'place': {'street': 's'}}",
        )
    ],
    "disabled": [field_rule("off", "'x'", tags=("PII",), disabled=True)],
}


@PAIRS
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_values_and_bytes_are_the_same(world, language, pair, rules):
    world.register(language.text, language.schema_type, *rules)
    written, read = {}, {}
    for side in ("ours", "theirs"):
        write, decode = language.pair(
            side, world.clients[side], LATEST, **({"rule_registry": their_rules()} if side == "theirs" else {})
        )
        written[side] = write(language.value(), world.context())
        read[side] = decode
    assert _comparable(language, written["ours"]) == _comparable(language, written["theirs"])
    data = written[pair[0]]
    expected = language.plain(read["theirs"](data, world.context()))
    assert language.plain(read[pair[1]](data, world.context())) == expected


def _comparable(language, data):
    """Return a message; of JSON, the value of the body, since spaces differ."""
    if language.schema_type is SchemaType.JSON:
        return data[:5], json.loads(data[5:])
    return data


def test_a_condition_that_is_not_met_is_an_error_on_both_sides(world, language):
    rule = Rule("never", type="CEL", kind="CONDITION", mode="WRITE", expr="message.id > 100")
    world.register(language.text, language.schema_type, rule)
    for side, error in (("ours", RuleError), ("theirs", SerializationError)):
        write, _ = language.pair(
            side, world.clients[side], LATEST, **({"rule_registry": their_rules()} if side == "theirs" else {})
        )
        with pytest.raises(error):
            write(language.value(), world.context())


def version(name, rule_set=None):
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": name, "type": "long"}]})
    return text, rule_set


@PAIRS
def test_migrations_are_the_same(world, pair):
    world.own.set_config(f"{world.topic}-value", "NONE")
    up = [Rule("up", type="JSONATA", mode="UPGRADE", expr=expr) for expr in ("{'b': a * 10}", "{'c': b + 1}")]
    texts = [version("a")[0], version("b")[0], version("c")[0]]
    world.register(texts[0])
    first = pair[0]
    clients = world.clients
    serializer = ours.AvroSerializer if first == "ours" else their_avro.AvroSerializer
    data = serializer(clients[first], texts[0], conf={"auto.register.schemas": False, "use.latest.version": True})(
        {"a": 5}, world.context()
    )
    world.register(texts[1], SchemaType.AVRO, migration_rules=(up[0],))
    world.register(texts[2], SchemaType.AVRO, migration_rules=(up[1],))
    if pair[1] == "ours":
        read = ours.AvroDeserializer(clients["ours"], conf={"use.latest.version": True})
    else:
        read = their_avro.AvroDeserializer(
            clients["theirs"], conf={"use.latest.version": True}, rule_registry=their_rules()
        )
    for client in clients.values():
        client.clear_caches()
    assert read(data, world.context()) == {"c": 51}


class Producer:
    """A producer that keeps what it gets."""

    def __init__(self):
        self.sent = []

    def produce(self, topic, **record):
        record.pop("on_delivery")
        self.sent.append((topic, record))

    def poll(self, _seconds):
        return 0

    def flush(self):
        return 0


def test_records_of_the_dead_letter_topic_are_the_same(world, language):
    rules = [
        Rule("never", type="CEL", kind="CONDITION", mode="WRITE", expr="message.id > 100", on_failure="DLQ"),
        Rule("hide", type="ENCRYPT", mode="READ", tags=("PII",)),
    ]
    world.register(language.text, language.schema_type, *rules)
    sent = {}
    for side in ("ours", "theirs"):
        producer = Producer()
        conf = {"dlq.topic": "dead", "producer": producer}
        registry = their_rules()
        registry.register_action(DlqAction(conf))
        write, _ = language.pair(side, world.clients[side], LATEST, rule_conf=conf, rule_registry=registry)
        with pytest.raises(SerializationError):
            write(language.value(), world.context(headers=[("trace", b"1")]))
        [(topic, record)] = producer.sent
        sent[side] = (topic, record["key"], json.loads(record["value"]), record["headers"])
    assert sent["ours"] == sent["theirs"]


class Shout(RuleExecutor):
    def type(self):
        return "SHOUT"

    def transform(self, ctx, message):
        return {**message, "driver": f"{message['driver']}{ctx.get_parameter('sign')}{ctx.get_parameter('owner')}"}


class ShoutFields(FieldRuleExecutor):
    def type(self):
        return "SHOUT_FIELDS"

    def new_transform(self, _ctx):
        def transform(_ctx, field, value):
            return f"{value}{field.name}" if isinstance(value, str) else value

        return transform


class Note(RuleAction):
    def __init__(self):
        self.noted = []

    def type(self):
        return "NOTE"

    def run(self, ctx, _message, ex):
        self.noted.append((ctx.rule.name, ctx.subject, type(ex)))


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_executors_and_actions_of_a_program_for_their_classes_run_in_ours(world, side):
    rules = [
        Rule("shout", type="SHOUT", mode="WRITE", params={"sign": "!"}, on_success="NOTE"),
        Rule("fields", type="SHOUT_FIELDS", mode="WRITE", tags=("PII",)),
        Rule("never", type="CEL", kind="CONDITION", mode="WRITE", expr="false"),
    ]
    world.register(AVRO, SchemaType.AVRO, *rules)
    registry, note = their_rules(), Note()
    registry.register_executor(Shout())
    registry.register_executor(ShoutFields())
    registry.register_action(note)
    registry.register_override(RuleOverride("CEL", None, "NONE", None))
    names = ours if side == "ours" else their_avro
    write = names.AvroSerializer(world.clients[side], conf=LATEST, rule_registry=registry)
    data = write(json.loads(json.dumps(RIDE)), world.context())
    assert ours.AvroDeserializer(world.clients["ours"])(data, world.context())["driver"] == "Ada!ridesdriver"
    assert note.noted == [("shout", f"{world.topic}-value", type(None))]


CHECKED = json.dumps(
    {
        "type": "record",
        "name": "R",
        "confluent:rules": [{"name": "order", "expr": "this.low <= this.high"}],
        "fields": [
            {"name": "low", "type": "int", "confluent:rules": [{"name": "min", "expr": "this > 0", "doc": "low!"}]},
            {"name": "high", "type": "int"},
        ],
    }
)


@pytest.mark.parametrize("execution", ["BEFORE_DOMAIN_RULES", "AFTER_DOMAIN_RULES"])
def test_inline_rules_are_checked_by_both(world, execution):
    conf = {**LATEST, "validation.rules.execution": execution}
    world.register(CHECKED)
    for names, side in ((ours, "ours"), (their_avro, "theirs")):
        write = names.AvroSerializer(world.clients[side], conf=conf)
        assert write({"low": 1, "high": 2}, world.context())
        with pytest.raises(SerializationError, match=r"(?s)order.*low: min: low!"):
            write({"low": 0, "high": -1}, world.context())
