"""Protobuf messages that confluent-kafka's serializers and ours write and read, through a running registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil.schema.wire import guid_prefix, id_prefix
from counterfoil.sdk import ProtobufDeserializer, ProtobufSerializer, Registry
from counterfoil.sdk.errors import DecodeError, InvalidSettings, SerdeError
from strategies.protobuf.classes import generated_classes
from strategies.protobuf.messages import messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess

DOCUMENT = json.loads(Path(__file__).parents[2].joinpath("data", "serde", "protobuf.json").read_text())
FILES = {path: "\n".join(lines) + "\n" for path, lines in DOCUMENT["files"].items()}
CLASSES = generated_classes(FILES)
VECTORS = pytest.mark.parametrize("vector", DOCUMENT["vectors"], ids=lambda each: each["name"])


def message_of(vector: dict[str, Any]) -> Any:
    return json_format.ParseDict(vector["json"], CLASSES[vector["message"]]())


@pytest.fixture
def context(unique_name: Callable[[str], str]) -> SerializationContext:
    return SerializationContext(unique_name("rides"), MessageField.VALUE)


@pytest.fixture
def ours(live_registry: RegistryProcess) -> Registry:
    return Registry(live_registry.url)


@pytest.fixture
def theirs(live_registry: RegistryProcess) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": live_registry.url})


@VECTORS
def test_both_write_the_golden_bytes_and_read_them(
    vector: dict[str, Any], ours: Registry, theirs: SchemaRegistryClient, context: SerializationContext
):
    message, class_ = message_of(vector), CLASSES[vector["message"]]
    written = ProtobufSerializer(ours, model=class_)(message, context)
    schema_id = ours.version(f"{context.topic}-value").id
    assert written == id_prefix(schema_id) + bytes.fromhex(vector["indexes"] + vector["body"])
    assert TheirSerializer(class_, theirs, {})(message, context) == written
    assert TheirDeserializer(class_, {}, theirs)(written, context) == message
    assert ProtobufDeserializer(ours, model=class_)(written, context) == message
    dynamic = ProtobufDeserializer(ours)(written, context)
    assert dynamic.DESCRIPTOR.full_name == vector["message"]
    assert json_format.MessageToDict(dynamic) == vector["json"]
    values = ProtobufDeserializer(ours, values="dict")(written, context)
    assert ProtobufSerializer(ours, model=class_)(values, context) == written


@VECTORS
def test_both_put_the_same_id_into_the_header(
    vector: dict[str, Any], ours: Registry, theirs: SchemaRegistryClient, context: SerializationContext
):
    message, class_ = message_of(vector), CLASSES[vector["message"]]
    headers: list[Any] = []
    both = []
    for serializer in (
        ProtobufSerializer(ours, model=class_, id_location="header"),
        TheirSerializer(class_, theirs, {"schema.id.serializer": header_schema_id_serializer}),
    ):
        context.headers = []
        body = serializer(message, context)
        both.append((body, context.headers))
        assert TheirDeserializer(class_, {}, theirs)(body, context) == message
        assert ProtobufDeserializer(ours, model=class_)(body, context) == message
    assert both[0] == both[1]
    body, headers = both[0]
    guid = ours.version(f"{context.topic}-value").guid
    assert guid is not None
    assert body == bytes.fromhex(vector["body"])
    assert headers == [("__value_schema_id", guid_prefix(guid) + bytes.fromhex(vector["indexes"]))]


CONFS: list[dict[str, Any]] = [
    {},
    {"normalize.schemas": True},
    {"auto.register.schemas": False},
    {"auto.register.schemas": False, "use.latest.version": True},
    {"subject.name.strategy": topic_subject_name_strategy},
    {"subject.name.strategy": record_subject_name_strategy},
    {"subject.name.strategy.type": "TOPIC_RECORD"},
    {"skip.known.types": False},
    {"reference.subject.name.strategy": lambda _ctx, file: f"import-{file.name}"},
    {"use.deprecated.format": False},
]


@pytest.mark.parametrize("conf", CONFS, ids=lambda conf: next(iter(conf), "defaults"))
def test_one_dict_of_settings_makes_the_same_serializer_of_both(
    conf: dict[str, Any], ours: Registry, theirs: SchemaRegistryClient, context: SerializationContext
):
    class_ = CLASSES["taxi.Ride"]
    message = message_of(DOCUMENT["vectors"][0])
    if conf.get("auto.register.schemas") is False:
        TheirSerializer(class_, theirs, {})(message, context)
    written = TheirSerializer(class_, theirs, conf)(message, context)
    before = ours.subjects()
    assert ProtobufSerializer.from_confluent(class_, ours, conf)(message, context) == written
    assert ours.subjects() == before
    for reader in (None, ours):
        assert ProtobufDeserializer.from_confluent(class_, {"use.deprecated.format": False}, reader)(written, context)
    latest = {**{name: value for name, value in conf.items() if name.startswith("subject")}, "use.latest.version": True}
    assert ProtobufDeserializer.from_confluent(class_, latest, ours)(written, context) == message


@pytest.mark.parametrize(
    ("conf", "setting"),
    [
        ({"use.deprecated.format": True}, "use.deprecated.format"),
        ({"skip.known.types": "yes"}, "skip.known.types"),
        ({"reference.subject.name.strategy": 3}, "reference.subject.name.strategy"),
        ({"use.latest.version": True}, "use.latest.version"),
        ({"validate": True}, "validate"),
    ],
)
def test_settings_that_are_refused_are_named(ours: Registry, conf: dict[str, Any], setting: str):
    with pytest.raises(InvalidSettings) as caught:
        ProtobufSerializer.from_confluent(CLASSES["taxi.Ride"], ours, conf)
    assert caught.value.setting == setting


def test_faults_of_their_deserializer_are_not_ours(
    ours: Registry, theirs: SchemaRegistryClient, context: SerializationContext
):
    """They raise KeyError, parse a Ride as a Cancelled, and leak struct.error; the message and both types are named."""
    ride, cancelled, stop = (CLASSES[name] for name in ("taxi.Ride", "taxi.Cancelled", "taxi.Ride.Stop"))
    written = TheirSerializer(cancelled, theirs, {})(cancelled(id=3), context)
    with pytest.raises(DecodeError, match=r"is a taxi.Cancelled; expected taxi.Ride"):
        ProtobufDeserializer.from_confluent(ride, {}, ours)(written, context)
    latest = {"auto.register.schemas": False, "use.latest.version": True}
    with pytest.raises(KeyError):
        TheirSerializer(stop, theirs, latest)(stop(number=1), context)
    nested = ProtobufSerializer.from_confluent(stop, ours, latest)(stop(number=1), context)
    assert ProtobufDeserializer(ours)(nested).number == 1
    with pytest.raises(SerdeError):
        ProtobufDeserializer.from_confluent(ride, {}, ours)(written[:3], context)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_messages_have_the_same_bytes(live_registry: RegistryProcess, data: st.DataObject):
    name = data.draw(st.sampled_from(sorted(CLASSES)))
    message = data.draw(messages(CLASSES[name].DESCRIPTOR))
    context = SerializationContext(f"random-{name}", MessageField.VALUE)
    ours, theirs = Registry(live_registry.url), SchemaRegistryClient({"url": live_registry.url})
    written = TheirSerializer(type(message), theirs, {})(message, context)
    assert ProtobufDeserializer(ours, model=type(message))(written, context) == message
    own = ProtobufSerializer(ours, model=type(message))(message, context)
    assert own[:6] == written[:6]
    assert TheirDeserializer(type(message), {}, theirs)(own, context) == message
