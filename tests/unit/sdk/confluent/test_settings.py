"""Every setting of confluent-kafka's serializers: what it does here, or why it is refused."""

from __future__ import annotations

import json

import pytest
from confluent_kafka.schema_registry import (
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    prefix_schema_id_deserializer,
    prefix_schema_id_serializer,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.schema_registry.common.serde import SubjectNameStrategyType
from confluent_kafka.schema_registry.serde import AssociatedNameStrategy
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.model import Metadata, Schema
from counterfoil.sdk import AvroDeserializer, AvroSerializer, DecodeError, EncodeError, InvalidSettings
from counterfoil.sdk.errors import SubjectUnresolved
from counterfoil.sdk.testing import InMemoryRegistry


def record(*names, **more):
    fields = [{"name": each, "type": "long", "default": 0} for each in names]
    return json.dumps({"type": "record", "name": "taxi.Ride", "fields": fields, **more})


RIDE, RIDE_2 = record("id"), record("id", "tip")
CLUSTER = "subject.name.strategy.kafka.cluster.id"
FALLBACK = "subject.name.strategy.fallback.type"


@pytest.fixture
def client():
    return InMemoryRegistry().client(retries=0)


def context(headers=None):
    return SerializationContext("rides", MessageField.VALUE, headers)


def write(client, conf, value=None, text=RIDE):
    return AvroSerializer.from_confluent(client, text, conf=conf)(value or {"id": 1}, context())


def read(client, conf, data):
    return AvroDeserializer.from_confluent(client, conf=conf)(data, context())


@pytest.mark.parametrize(("theirs", "ours"), [(TheirSerializer, AvroSerializer), (TheirDeserializer, AvroDeserializer)])
def test_every_setting_of_theirs_is_known_here(client, theirs, ours):
    for name, default in theirs._default_conf.items():
        ours.from_confluent(client, RIDE, conf={name: default})
    ours.from_confluent(client, RIDE, conf=theirs._default_conf)


def test_auto_register_schemas(client):
    with pytest.raises(SubjectNotFound):
        write(client, {"auto.register.schemas": False})
    write(client, {"auto.register.schemas": True})
    assert client.subjects() == ("rides-value",)
    assert write(client, {"auto.register.schemas": False})[4] == 1


def test_normalize_schemas(client):
    other = '{"fields": [{"type": "long", "default": 0, "name": "id"}], "name": "taxi.Ride", "type": "record"}'
    write(client, {"normalize.schemas": True}, text=other)
    write(client, {"normalize.schemas": True})
    assert client.versions("rides-value") == (1,)


def test_use_schema_id_goes_before_everything_else(client):
    client.register("rides-value", Schema(RIDE))
    held = client.register("elsewhere", Schema(RIDE_2)).id
    conf = {"use.schema.id": held, "use.latest.version": True, "auto.register.schemas": False}
    assert write(client, conf)[4] == held
    assert write(client, {"use.schema.id": held, "use.latest.with.metadata": {"a": "b"}})[4] == held


def test_use_latest_with_metadata_goes_before_use_latest_version(client):
    client.register("rides-value", Schema(RIDE, metadata=Metadata(properties={"stage": "live"})))
    client.register("rides-value", Schema(RIDE_2, metadata=Metadata(properties={"stage": "draft"})))
    conf = {"use.latest.with.metadata": {"stage": "live"}, "use.latest.version": True, "auto.register.schemas": False}
    assert write(client, conf)[4] == 1
    assert write(client, {"use.latest.version": True, "auto.register.schemas": False})[4] == 2
    assert read(client, {"use.latest.with.metadata": {"stage": "live"}}, b"\0\0\0\0\2\2\4") == {"id": 1}
    assert read(client, {"use.latest.version": True}, b"\0\0\0\0\1\2") == {"id": 1, "tip": 0}


@pytest.mark.parametrize(
    ("conf", "subject"),
    [
        ({}, "rides-value"),
        ({"subject.name.strategy.type": "TOPIC"}, "rides-value"),
        ({"subject.name.strategy.type": "record"}, "taxi.Ride"),
        ({"subject.name.strategy.type": SubjectNameStrategyType.TOPIC_RECORD}, "rides-taxi.Ride"),
        ({"subject.name.strategy.type": "ASSOCIATED"}, "rides-value"),
        ({"subject.name.strategy.conf": {FALLBACK: "RECORD"}}, "taxi.Ride"),
        ({"subject.name.strategy.conf": {FALLBACK: SubjectNameStrategyType.TOPIC_RECORD}}, "rides-taxi.Ride"),
        (
            {"subject.name.strategy": AssociatedNameStrategy(), "subject.name.strategy.conf": {CLUSTER: "c"}},
            "rides-value",
        ),
        ({"subject.name.strategy": topic_record_subject_name_strategy}, "rides-taxi.Ride"),
        (
            {"subject.name.strategy": lambda ctx, name: f"{ctx.topic}/{name}", "subject.name.strategy.type": "TOPIC"},
            "rides/taxi.Ride",
        ),
    ],
)
def test_subject_name_strategy(client, conf, subject):
    data = write(client, conf)
    assert client.subjects() == (subject,)
    assert read(client, {**conf, "use.latest.version": True}, data) == {"id": 1}


def test_the_strategy_asks_the_registry_unless_another_is_named():
    for conf, is_asked in (({}, True), ({"subject.name.strategy.type": "TOPIC"}, False)):
        memory = InMemoryRegistry()
        write(memory.client(), conf)
        assert any("/associations/resources/-/rides?" in each.url for each in memory.requests) is is_asked
    memory = InMemoryRegistry()
    write(memory.client(), {"subject.name.strategy.conf": {CLUSTER: "lkc-1"}})
    assert any("/associations/resources/lkc-1/rides?" in each.url for each in memory.requests)


def test_without_a_fallback_the_association_is_needed(client):
    with pytest.raises(SubjectUnresolved, match="associates no subject"):
        write(client, {"subject.name.strategy.conf": {FALLBACK: "NONE"}})


@pytest.mark.parametrize("place", [header_schema_id_serializer, "header_schema_id_serializer"])
def test_schema_id_serializer_and_deserializer(client, place):
    headed = context(headers=[])
    serialize = AvroSerializer.from_confluent(client, RIDE, conf={"schema.id.serializer": place})
    bare = serialize({"id": 1}, headed)
    framed = write(client, {"schema.id.serializer": prefix_schema_id_serializer})
    assert framed[5:] == bare
    dual, prefix = (
        AvroDeserializer.from_confluent(client, conf={"schema.id.deserializer": each})
        for each in (dual_schema_id_deserializer, prefix_schema_id_deserializer)
    )
    assert dual(bare, headed) == prefix(framed, headed) == dual(framed, context()) == {"id": 1}
    assert dual(framed, headed) == {"id": 0}  # the header says that all of the message is the body


@pytest.mark.parametrize("name", ["validate.strict", "validate.strict.allow.default"])
def test_validate_strict_refuses_keys_that_are_no_fields(client, name):
    assert write(client, {name: False}, {"id": 1, "more": 2})
    with pytest.raises(EncodeError, match="more"):
        write(client, {name: True}, {"id": 1, "more": 2})


def test_trailing_data_is_an_error_where_javas_setting_says_so(client):
    data = write(client, {}) + b"more"
    assert read(client, {"avro.fail.on.trailing.data": False}, data) == read(client, {}, data) == {"id": 1}
    with pytest.raises(DecodeError, match="4 bytes are left"):
        read(client, {"avro.fail.on.trailing.data": True}, data)


@pytest.mark.parametrize(
    ("conf", "setting"),
    [
        ({"auto.register.schema": False}, "auto.register.schema"),
        ({"auto.register.schemas": "yes"}, "auto.register.schemas"),
        ({"use.latest.version": True}, "use.latest.version"),  # while schemas are registered, as with them
        ({"use.schema.id": "7"}, "use.schema.id"),
        ({"use.schema.id": True}, "use.schema.id"),
        ({"use.latest.with.metadata": "live"}, "use.latest.with.metadata"),
        ({"schema.id.serializer": len}, "schema.id.serializer"),
        ({"schema.id.serializer": None}, "schema.id.serializer"),
        ({"subject.name.strategy": "TOPIC"}, "subject.name.strategy"),
        ({"subject.name.strategy.type": "NEAREST"}, "subject"),
        ({"subject.name.strategy.type": "NONE"}, "subject"),
        ({"subject.name.strategy.type": 7}, "subject.name.strategy.type"),
        ({"subject.name.strategy.conf": {"a": 1}}, "subject.name.strategy.conf"),
        ({"subject.name.strategy.conf": 7}, "subject.name.strategy.conf"),
        ({"subject.name.strategy.conf": {FALLBACK: "ASSOCIATED"}}, "subject"),
        ({"subject.name.strategy.conf": {CLUSTER: 7}}, CLUSTER),
        ({"validate.strict": 1}, "validate.strict"),
        ({"validation.rules.execution": "LATER"}, "validation.rules.execution"),
        ({"validation.rules.executor": len}, "validation.rules.executor"),
        ({"validation.rules.fail.fast": "no"}, "validation.rules.fail.fast"),
    ],
)
def test_settings_without_a_counterpart_are_refused(client, conf, setting):
    with pytest.raises(InvalidSettings) as caught:
        AvroSerializer.from_confluent(client, RIDE, conf=conf)
    assert caught.value.setting == setting


@pytest.mark.parametrize("name", ["auto.register.schemas", "use.schema.id", "validate.strict"])
def test_a_deserializer_refuses_what_only_a_serializer_has(client, name):
    with pytest.raises(InvalidSettings, match="not known"):
        AvroDeserializer.from_confluent(client, conf={name: True})
