"""Beside confluent-kafka: the same bytes, the same settings, and the faults of its JSON serializers that ours lack."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from confluent_kafka.schema_registry import RegisteredSchema as TheirRegistered
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference as TheirReference
from confluent_kafka.schema_registry import (
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    prefix_schema_id_deserializer,
    prefix_schema_id_serializer,
    record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.model import Metadata, Reference, Schema, SchemaType
from counterfoil.sdk import AvroSerializer, JsonDeserializer, JsonSerializer
from counterfoil.sdk.confluent.json_schema import JSONDeserializer as OwnJSONDeserializer
from counterfoil.sdk.confluent.json_schema import JSONSerializer as OwnJSONSerializer
from counterfoil.sdk.errors import DecodeError, EncodeError, InvalidSettings, SerdeError, ValidationError
from counterfoil.sdk.serde.multi import MultiDeserializer
from counterfoil.sdk.testing import InMemoryRegistry

VECTORS = json.loads((Path(__file__).parents[3] / "data" / "serde" / "json.json").read_text("utf-8"))
RIDE = VECTORS[0]["schema"]
VALUE = SerializationContext("rides", MessageField.VALUE)
KEY = SerializationContext("rides", MessageField.KEY)
TOPIC_SUBJECT = {"subject.name.strategy": topic_subject_name_strategy}


class TheirClient:
    """What confluent-kafka's serializers call of its client, answered by a registry of ours."""

    def __init__(self, client):
        self._client = client

    def config(self):
        return {}

    def register_schema_full_response(self, subject, schema, *_args, normalize_schemas=False, **_kwargs):
        references = tuple(Reference(one.name, one.subject, one.version) for one in schema.references or ())
        ours = Schema(schema.schema_str, SchemaType.JSON, references)
        return self._theirs(self._client.register(subject, ours, normalize=normalize_schemas))

    def get_schema(self, schema_id, *_args, **_kwargs):
        return self._schema(self._client.schema_by_id(schema_id))

    def get_schema_by_guid(self, guid, *_args, **_kwargs):
        return self._schema(self._client.schema_by_guid(guid))

    def get_version(self, subject, version, *_args, **_kwargs):
        return self._theirs(self._client.version(subject, version))

    def _theirs(self, found):
        return TheirRegistered(
            schema_id=found.id,
            guid=str(found.guid),
            schema=self._schema(found.schema),
            subject=found.subject,
            version=found.version,
        )

    def _schema(self, schema):
        references = [TheirReference(one.name, one.subject, one.version) for one in schema.references]
        return TheirSchema(schema.text, "JSON", references)


@pytest.fixture
def client():
    return InMemoryRegistry().client(retries=0)


def schema_of(client, vector):
    for one in vector.get("references", ()):
        client.register(one["subject"], Schema(one["schema"], SchemaType.JSON))
    references = tuple(Reference(one["name"], one["subject"], 1) for one in vector.get("references", ()))
    return Schema(vector["schema"], SchemaType.JSON, references)


def theirs_of(schema):
    return TheirClient(None)._schema(schema)


class Ride(msgspec.Struct):
    id: int = 0


# --- golden messages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS, ids=[one["name"] for one in VECTORS])
def test_golden_messages_are_written_and_read_by_both(client, vector):
    schema = schema_of(client, vector)
    message = bytes.fromhex(vector["prefix"]) + vector["body"].encode()
    assert JsonSerializer(client, schema)(vector["value"], VALUE) == message
    assert JSONSerializer(theirs_of(schema), TheirClient(client), conf=TOPIC_SUBJECT)(vector["value"], VALUE) == message
    assert JsonDeserializer(client)(message, VALUE) == vector["value"]
    assert JSONDeserializer(None, None, TheirClient(client), TOPIC_SUBJECT)(message, VALUE) == vector["value"]
    if "reader" in vector:
        assert JsonDeserializer(client, reader=vector["reader"])(message, VALUE) == vector["read"]


@pytest.mark.parametrize("vector", VECTORS, ids=[one["name"] for one in VECTORS])
def test_golden_headers_are_written_and_read_by_both(client, vector):
    schema = schema_of(client, vector)
    conf = {**TOPIC_SUBJECT, "schema.id.serializer": header_schema_id_serializer}
    theirs_out = JSONSerializer(theirs_of(schema), TheirClient(client), conf=conf)
    theirs_in = JSONDeserializer(None, None, TheirClient(client), TOPIC_SUBJECT)
    for write in (JsonSerializer(client, schema, id_location="header"), theirs_out):
        context = SerializationContext("rides", MessageField.VALUE, [])
        assert write(vector["value"], context) == vector["body"].encode()
        assert context.headers == [("__value_schema_id", bytes.fromhex(vector["header"]))]
        for read in (JsonDeserializer(client), theirs_in):
            assert read(vector["body"].encode(), context) == vector["value"]


# --- from_confluent ----------------------------------------------------------------------------------------------


def test_the_arguments_have_their_order(client):
    ours = JsonSerializer.from_confluent(RIDE, client, lambda ride, _ctx: {"id": ride.id}, TOPIC_SUBJECT)
    theirs = JSONSerializer(RIDE, TheirClient(client), lambda ride, _ctx: {"id": ride.id}, TOPIC_SUBJECT)
    data = ours(SimpleNamespace(id=7), VALUE)
    assert data == theirs(SimpleNamespace(id=7), VALUE)
    read = JsonDeserializer.from_confluent(RIDE, lambda value, _ctx: value["id"], client, TOPIC_SUBJECT)
    assert (
        read(data, VALUE)
        == JSONDeserializer(RIDE, lambda value, _ctx: value["id"], TheirClient(client), TOPIC_SUBJECT)(data, VALUE)
        == 7
    )
    assert JsonDeserializer.from_confluent(RIDE)(data) == {
        "id": 7
    }  # they have no registry either, and fail without ctx


def test_their_classes_by_the_import_line_alone(client):
    for schema in (RIDE, TheirSchema(RIDE, "JSON")):
        data = OwnJSONSerializer(schema, client, lambda ride, _ctx: {"id": ride}, TOPIC_SUBJECT)(7, VALUE)
        assert OwnJSONDeserializer(schema, lambda value, _ctx: value["id"], client)(data, VALUE) == 7
        assert OwnJSONDeserializer(schema)(data, VALUE) == {"id": 7}
    with pytest.raises(InvalidSettings):
        OwnJSONSerializer(RIDE, client, rule_conf="a")


def test_a_topic_with_several_formats(client):
    client.set_config("rides-value", "NONE")
    avro = AvroSerializer(client, '"string"')("x", VALUE)
    data = JsonSerializer(client, RIDE)({"id": 7}, VALUE)
    read = MultiDeserializer(client)
    assert [read(avro, VALUE), read(data, VALUE)] == ["x", {"id": 7}]


def test_defaults_are_not_added_as_with_them(client):
    vector = next(one for one in VECTORS if "reader" in one)
    data = JsonSerializer(client, vector["schema"])(vector["value"], VALUE)
    ours = JsonDeserializer.from_confluent(vector["reader"], None, client)
    assert ours(data, VALUE) == JSONDeserializer(vector["reader"], None, TheirClient(client), TOPIC_SUBJECT)(
        data, VALUE
    )


def test_validation_is_on_unless_the_setting_is_false(client):
    with pytest.raises(ValidationError):
        JsonSerializer.from_confluent(RIDE, client)({"id": "x"}, VALUE)
    data = JsonSerializer.from_confluent(RIDE, client, conf={"validate": False})({"id": "x"}, VALUE)
    with pytest.raises(ValidationError):
        JsonDeserializer.from_confluent(None, None, client)(data, VALUE)
    assert JsonDeserializer.from_confluent(None, None, client, {"validate": False})(data, VALUE) == {"id": "x"}


def test_subject_settings(client):
    for conf in (
        TOPIC_SUBJECT,
        {"subject.name.strategy": record_subject_name_strategy},
        {"subject.name.strategy.type": "TOPIC_RECORD"},
        {"subject.name.strategy.conf": {"subject.name.strategy.fallback.type": "RECORD"}},
    ):
        JsonSerializer.from_confluent(RIDE, client, conf=conf)({"id": 1}, VALUE)
    assert client.subjects() == ("Ride", "rides-Ride", "rides-value")


def test_the_settings_that_choose_a_schema_have_their_precedence(client):
    client.set_config("rides-value", "NONE")
    metadata = Metadata(properties={"major": "1"})
    held = client.register("rides-value", Schema(RIDE, SchemaType.JSON, metadata=metadata)).id
    later = Schema('{"title": "Ride", "type": "object"}', SchemaType.JSON, metadata=Metadata(properties={"major": "2"}))
    latest = client.register("rides-value", later).id
    own = '{"title": "Ride"}'
    for conf, schema_id in (
        ({"use.schema.id": held, "use.latest.version": True, "auto.register.schemas": False}, held),
        ({"use.latest.with.metadata": {"major": "1"}}, held),
        ({"use.latest.version": True, "auto.register.schemas": False}, latest),
        ({"auto.register.schemas": True, "normalize.schemas": True}, latest + 1),
        ({"auto.register.schemas": False}, latest + 1),
    ):
        data = JsonSerializer.from_confluent(own, client, conf=conf)({"id": 1}, VALUE)
        assert struct.unpack(">bI", data[:5]) == (0, schema_id), conf


def test_id_locations_move_over(client):
    written = [
        JsonSerializer.from_confluent(RIDE, client, conf={"schema.id.serializer": choice})
        for choice in (prefix_schema_id_serializer, header_schema_id_serializer)
    ]
    for choice in (dual_schema_id_deserializer, prefix_schema_id_deserializer):
        read = JsonDeserializer.from_confluent(None, None, client, {"schema.id.deserializer": choice})
        assert read(written[0]({"id": 1}, VALUE), VALUE) == {"id": 1}
    context = SerializationContext("rides", MessageField.VALUE, [])
    assert JsonDeserializer.from_confluent(None, None, client)(written[1]({"id": 1}, context), context) == {"id": 1}


def test_latest_is_the_schema_of_the_reader(client):
    data = JsonSerializer(client, RIDE)({"id": 7}, VALUE)
    client.set_config("rides-value", "NONE")
    client.register("rides-value", Schema('{"title": "Ride", "properties": {"id": {"maximum": 5}}}', SchemaType.JSON))
    for conf in ({}, {"use.latest.with.metadata": None}):
        assert JsonDeserializer.from_confluent(None, None, client, conf)(data, VALUE) == {"id": 7}
    with pytest.raises(ValidationError, match="maximum of 5"):
        JsonDeserializer.from_confluent(None, None, client, {"use.latest.version": True})(data, VALUE)


def test_their_functions_for_the_text_move_over(client):
    data = JsonSerializer.from_confluent(RIDE, client, json_encode=lambda value: json.dumps(value, indent=1))(
        {"id": 7}, VALUE
    )
    assert data[5:] == b'{\n "id": 7\n}'
    assert JsonDeserializer.from_confluent(None, None, client, json_decode=json.loads)(data, VALUE) == {"id": 7}


@pytest.mark.parametrize(
    ("conf", "setting"),
    [
        ({"validate": "yes"}, "validate"),
        ({"validate.strict": True}, "validate.strict"),
        ({"auto.register.schema": False}, "auto.register.schema"),
        ({"use.latest.version": True}, "use.latest.version"),
        ({"validation.rules.execution": "LATER"}, "validation.rules.execution"),
    ],
)
def test_settings_without_a_counterpart_are_refused(client, conf, setting):
    with pytest.raises(InvalidSettings) as caught:
        JsonSerializer.from_confluent(RIDE, client, conf=conf)
    assert caught.value.setting == setting


# --- what their serializers get wrong ------------------------------------------------------------------------------


def test_alternating_topics_keep_their_own_ids(client):
    """Theirs writes 1, 2, 2."""
    client.register("b-value", Schema('"string"'))
    client.set_config("b-value", "NONE")
    serialize = JsonSerializer(client, RIDE)
    contexts = [SerializationContext(topic, MessageField.VALUE) for topic in ("b", "c", "b")]
    ids = [struct.unpack(">bI", serialize({"id": 1}, ctx)[:5])[1] for ctx in contexts]
    assert ids == [client.version(f"{ctx.topic}-value").id for ctx in contexts]


def test_latest_validates_with_the_schema_that_the_id_names(client):
    client.register("rides-value", Schema('{"properties": {"id": {"maximum": 5}}}', SchemaType.JSON))
    with pytest.raises(ValidationError):
        JsonSerializer(client, RIDE, register="latest")({"id": 7}, VALUE)


def test_a_schema_with_references_needs_no_network(client):
    """Theirs requests what is not registered from the address in the reference."""
    text = '{"properties": {"from": {"$ref": "http://127.0.0.1:1/place.json"}}}'
    with pytest.raises(CounterfoilError, match=r"127\.0\.0\.1:1/place\.json"):
        JsonSerializer(client, text)({"from": 1}, VALUE)


def test_a_message_is_read_without_a_context(client):
    data = JsonSerializer(client, RIDE)({"id": 7}, VALUE)
    assert JsonDeserializer(client)(data) == JsonDeserializer(None, reader=RIDE)(data) == {"id": 7}


def test_a_short_body_needs_no_prefix_when_the_id_is_in_a_header(client):
    context = SerializationContext("rides", MessageField.KEY, headers=[("__key_schema_id", b"stale")])
    data = JsonSerializer(client, '{"type": "integer"}', id_location="header")(3, context)
    assert data == b"3"
    assert JsonDeserializer(client)(data, context) == 3


def test_null_is_a_tombstone_and_not_a_message(client):
    assert JsonSerializer(client, RIDE)(None, VALUE) is None
    assert JsonDeserializer(client)(None, VALUE) is None
    assert client.subjects() == ()


def test_an_error_says_where_and_what(client):
    """Theirs has the validator's message alone."""
    with pytest.raises(ValidationError) as caught:
        JsonSerializer(client, RIDE)({"id": 1, "tags": ["x", 5]}, KEY)
    error = caught.value
    assert [(one.path, one.keyword) for one in error.violations] == [("tags[1]", "type")]
    assert (error.topic, error.field, error.subject, error.schema_id) == ("rides", "key", "rides-key", 1)
    data = JsonSerializer(client, RIDE, validate=False)({"id": "x"}, VALUE)
    with pytest.raises(ValidationError, match="id:") as caught:
        JsonDeserializer(client)(data, VALUE)
    assert (caught.value.data, caught.value.schema_id, caught.value.topic) == (data, 1, "rides")
    with pytest.raises(EncodeError) as written:
        JsonSerializer(client, RIDE)({"id": 1, "note": b"x"}, VALUE)
    assert (written.value.path, written.value.subject) == ("note", "rides-value")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        b"\0\0\0\0\1",
        b"\0\0\0\0\1{",
        b"\0\0\0\0\1\xff",
        b"\0\0\0\0\1[]",
        b"\x01\x02",
        b"{}",
        b"\0\0\0\0\x63{}",
    ],
)
def test_no_foreign_exception_escapes(client, data):
    JsonSerializer(client, RIDE)({"id": 1}, VALUE)
    with pytest.raises(SerdeError):
        JsonDeserializer(client)(data, VALUE)
    for wrong in ("text", 5, [], object(), {"id": object()}, {1: 2}):
        with pytest.raises(SerdeError):
            JsonSerializer(client, RIDE)(wrong, VALUE)


@given(st.binary(max_size=20), st.booleans())
def test_random_bytes_give_errors_of_ours_alone(body, is_framed):
    client = InMemoryRegistry().client(retries=0)
    JsonSerializer(client, '{"type": "object"}')({}, VALUE)
    data = b"\0\0\0\0\1" + body if is_framed else body
    for deserialize in (
        JsonDeserializer(client),
        JsonDeserializer(client, latest=True),
        JsonDeserializer(client, model=Ride),
    ):
        [outcome] = deserialize.many([data], topic="rides")
        assert getattr(outcome, "data", data) == data
    assert len(JsonDeserializer(client).many([data, None])) == 2


def test_a_record_without_a_title_has_the_name_of_its_model(client):
    JsonSerializer(client, '{"type": "object"}', model=Ride, subject="RECORD")(Ride(7), VALUE)
    assert client.subjects() == ("Ride",)
    with pytest.raises(SerdeError, match="name"):
        JsonSerializer(client, '{"type": "object"}', subject="RECORD")({}, VALUE)


def test_damaged_bodies_are_decode_errors(client):
    JsonSerializer(client, RIDE)({"id": 1}, VALUE)
    with pytest.raises(DecodeError) as caught:
        JsonDeserializer(client)(b'\0\0\0\0\1{"id":', VALUE)
    assert caught.value.offset == 11
    assert "data=00 00 00 00 01" in str(caught.value)
