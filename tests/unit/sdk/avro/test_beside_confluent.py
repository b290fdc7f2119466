"""Beside confluent-kafka: the same settings, the same bytes, and the faults of its serializers that ours lack."""

from __future__ import annotations

import json
import struct

import pytest
from confluent_kafka.schema_registry import RegisteredSchema as TheirRegistered
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import (
    header_schema_id_serializer,
    prefix_schema_id_serializer,
    record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.model import Schema
from counterfoil.sdk import AvroDeserializer, AvroSerializer
from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.testing import InMemoryRegistry

pytestmark = pytest.mark.usefixtures("each_tier")

RIDE = json.dumps(
    {
        "type": "record",
        "name": "Ride",
        "namespace": "taxi",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "fare", "type": ["null", "double"], "default": None},
            {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "DONE"]}},
        ],
    }
)
VALUES = [{"id": 1, "fare": None, "status": "NEW"}, {"id": 2**40, "fare": 1.25, "status": "DONE"}]
VALUE = SerializationContext("rides", MessageField.VALUE)
KEY = SerializationContext("rides", MessageField.KEY)
TOPIC_SUBJECT = {"subject.name.strategy": topic_subject_name_strategy}


class TheirRegistry:
    """What confluent-kafka's serializers ask of a client, with ids in order of arrival per subject."""

    def __init__(self):
        self.schemas = {}

    def config(self):
        return {}

    def register_schema_full_response(self, subject, schema, _normalize_schemas=None, **_more):
        schema_id = len(self.schemas) + 1
        self.schemas[schema_id] = schema
        return TheirRegistered(schema_id=schema_id, guid=None, schema=schema, subject=subject, version=1)

    def get_schema(self, schema_id, *_args, **_kwargs):
        return self.schemas[schema_id]


@pytest.fixture
def client():
    return InMemoryRegistry().client(retries=0)


def test_each_reads_what_the_other_writes(client):
    ours_out, ours_in = AvroSerializer(client, RIDE), AvroDeserializer(client)
    registry = TheirRegistry()
    theirs_out, theirs_in = (
        TheirSerializer(registry, RIDE, conf=TOPIC_SUBJECT),
        TheirDeserializer(registry, conf=TOPIC_SUBJECT),
    )
    for value in VALUES:
        data = ours_out(value, VALUE)
        assert data == theirs_out(value, VALUE)
        assert ours_in(data, VALUE) == theirs_in(data, VALUE) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"type": "bytes"}', b"\x01\x02"),
        ('{"type": "string"}', "x"),
        ('{"type": "long"}', 5),
        ('["null", "int"]', 3),
    ],
)
def test_top_level_types_without_a_name_have_the_same_bytes(client, text, value):
    theirs = TheirSerializer(TheirRegistry(), TheirSchema(text, "AVRO"), conf=TOPIC_SUBJECT)
    data = AvroSerializer(client, text)(value, VALUE)
    assert data == theirs(value, VALUE)
    assert AvroDeserializer(client)(data) == value


def test_their_contexts_name_key_and_value(client):
    serialize = AvroSerializer(client, RIDE)
    serialize(VALUES[0], KEY)
    serialize(VALUES[0], VALUE)
    assert client.subjects() == ("rides-key", "rides-value")


# --- from_confluent ----------------------------------------------------------------------------------------------


def test_their_settings_make_the_same_serializer(client):
    AvroSerializer.from_confluent(client, RIDE, conf=TOPIC_SUBJECT)(VALUES[0], VALUE)
    AvroSerializer.from_confluent(client, RIDE, conf={"subject.name.strategy": record_subject_name_strategy})(
        VALUES[0], VALUE
    )
    AvroSerializer.from_confluent(client, RIDE, conf={"subject.name.strategy.type": "TOPIC_RECORD"})(VALUES[0], VALUE)
    assert client.subjects() == ("rides-taxi.Ride", "rides-value", "taxi.Ride")


def test_an_id_goes_before_everything_else_as_with_them(client):
    held = client.register("elsewhere", Schema(RIDE)).id
    conf = {"use.schema.id": held, "auto.register.schemas": True, "normalize.schemas": False}
    data = AvroSerializer.from_confluent(client, RIDE, conf=conf)(VALUES[0], VALUE)
    assert struct.unpack(">bI", data[:5]) == (0, held)
    assert client.subjects() == ("elsewhere",)


def test_latest_and_lookup_are_what_they_are_with_them(client):
    client.register("rides-value", Schema(RIDE))
    for conf in ({"auto.register.schemas": False}, {"auto.register.schemas": False, "use.latest.version": True}):
        assert AvroSerializer.from_confluent(client, RIDE, conf=conf)(VALUES[0], VALUE)[:5] == b"\0\0\0\0\1"


def test_headers_and_objects_move_over(client):
    context = SerializationContext("rides", MessageField.VALUE, headers=[])
    serialize = AvroSerializer.from_confluent(
        client, RIDE, to_dict=lambda ride, _ctx: ride, conf={"schema.id.serializer": header_schema_id_serializer}
    )
    data = serialize(VALUES[0], context)
    deserialize = AvroDeserializer.from_confluent(client, from_dict=lambda value, _ctx: value["id"])
    assert deserialize(data, context) == 1
    prefixed = AvroSerializer.from_confluent(client, RIDE, conf={"schema.id.serializer": prefix_schema_id_serializer})
    assert deserialize(prefixed(VALUES[0], VALUE), VALUE) == 1


def test_bytes_behind_the_value_are_ignored_as_with_them_unless_the_setting_of_java_says_otherwise(client):
    data = AvroSerializer(client, RIDE)(VALUES[0], VALUE) + b"more"
    assert AvroDeserializer.from_confluent(client)(data, VALUE) == VALUES[0]
    assert AvroDeserializer.from_confluent(client, conf={"avro.fail.on.trailing.data": False})(data, VALUE) == VALUES[0]
    with pytest.raises(DecodeError, match="4 bytes are left behind the value"):
        AvroDeserializer.from_confluent(client, conf={"avro.fail.on.trailing.data": True})(data, VALUE)
    with pytest.raises(DecodeError, match="4 bytes are left behind the value"):
        AvroDeserializer(client)(data, VALUE)


def test_a_reader_schema_moves_over(client):
    data = AvroSerializer(client, RIDE)(VALUES[1], VALUE)
    reader = json.dumps({"type": "record", "name": "Ride", "fields": [{"name": "id", "type": "double"}]})
    assert AvroDeserializer.from_confluent(client, reader)(data, VALUE) == {"id": float(2**40)}
    latest = AvroDeserializer.from_confluent(client, conf={"use.latest.version": True})
    assert latest(data, VALUE) == VALUES[1]


# --- what their serializers get wrong ------------------------------------------------------------------------------


def test_alternating_topics_keep_their_own_ids(client):
    """Theirs writes 1, 2, 2."""
    client.register("b-value", Schema('"string"'))
    client.set_config("b-value", "NONE")
    serialize = AvroSerializer(client, RIDE)
    contexts = [SerializationContext(topic, MessageField.VALUE) for topic in ("b", "c", "b")]
    ids = [struct.unpack(">bI", serialize(VALUES[0], ctx)[:5])[1] for ctx in contexts]
    held = [client.version(f"{ctx.topic}-value").id for ctx in contexts]
    assert ids == held


def test_latest_encodes_by_the_schema_that_the_id_names(client):
    """Theirs once changed the id alone."""
    wider = json.loads(RIDE)
    wider["fields"].append({"name": "tip", "type": "double", "default": 0.5})
    client.register("rides-value", Schema(RIDE))
    client.register("rides-value", Schema(json.dumps(wider)))
    data = AvroSerializer(client, RIDE, register="latest")(VALUES[0], VALUE)
    assert AvroDeserializer(client)(data) == {**VALUES[0], "tip": 0.5}


def test_a_record_met_twice_in_a_union_is_one_type(client):
    place = {"type": "record", "name": "Place", "fields": [{"name": "zone", "type": "int"}]}
    text = json.dumps(
        {
            "type": "record",
            "name": "Trip",
            "fields": [{"name": "a", "type": ["null", place]}, {"name": "b", "type": ["null", "Place"]}],
        }
    )
    value = {"a": {"zone": 1}, "b": {"zone": 2}}
    assert AvroDeserializer(client)(AvroSerializer(client, text)(value, VALUE)) == value


def test_a_short_body_needs_no_prefix_when_the_id_is_in_a_header(client):
    context = SerializationContext("rides", MessageField.KEY, headers=[])
    data = AvroSerializer(client, '"int"', id_location="header")(3, context)
    assert len(data) == 1
    assert AvroDeserializer(client)(data, context) == 3


def test_a_value_that_is_no_field_of_a_nullable_record_is_not_silently_null(client):
    text = json.dumps({"type": "record", "name": "N", "fields": [{"name": "a", "type": ["null", "int"]}]})
    with pytest.raises(EncodeError, match="a: expected"):
        AvroSerializer(client, text)({"zzz": 1}, VALUE)


def test_seconds_as_a_float_are_no_timestamp(client):
    text = '{"type": "long", "logicalType": "timestamp-millis"}'
    with pytest.raises(EncodeError, match=r"got 1700000000\.5"):
        AvroSerializer(client, text)(1700000000.5, VALUE)


@pytest.mark.parametrize(
    "data", [b"\0\0", b"\0\0\0\0\1", b"\0\0\0\0\1\x02\x02", b"\x01\x02", b"{", b"\0\0\0\0\x63\x01"]
)
def test_no_foreign_exception_escapes(client, data):
    AvroSerializer(client, RIDE)(VALUES[0], VALUE)
    with pytest.raises(CounterfoilError):
        AvroDeserializer(client)(data, VALUE)
    for wrong in ("text", 5, [], object(), {"id": object()}):
        with pytest.raises(CounterfoilError):
            AvroSerializer(client, RIDE)(wrong, VALUE)
