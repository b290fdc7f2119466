"""JSON serializers and confluent-kafka's, over HTTP against a running registry: each reads what the other writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.schema.model import Reference, Schema, SchemaType
from counterfoil.sdk import JsonDeserializer, JsonSerializer, Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess

MESSAGES = json.loads((Path(__file__).parents[2] / "data" / "serde" / "json.json").read_text("utf-8"))


@pytest.mark.parametrize("message", MESSAGES, ids=[one["name"] for one in MESSAGES])
def test_each_reads_what_the_other_writes(
    live_registry: RegistryProcess, unique_name: Callable[[str], str], message: dict[str, Any]
):
    ours, theirs = Registry(live_registry.url), SchemaRegistryClient({"url": live_registry.url})
    topic, references = unique_name("rides"), []
    for one in message.get("references", ()):
        subject = unique_name(one["subject"])
        ours.register(subject, Schema(one["schema"], SchemaType.JSON))
        references.append((one["name"], subject, 1))
    schema = Schema(message["schema"], SchemaType.JSON, tuple(Reference(*each) for each in references))
    their_schema = TheirSchema(message["schema"], "JSON", [SchemaReference(*each) for each in references])
    context = SerializationContext(topic, MessageField.VALUE)
    data = JsonSerializer(ours, schema)(message["value"], context)
    assert data == JSONSerializer(their_schema, theirs)(message["value"], context)
    assert data[5:] == message["body"].encode()
    assert JsonDeserializer(ours)(data, context) == message["value"]
    assert JSONDeserializer(None, None, theirs)(data, context) == message["value"]

    with_headers = [SerializationContext(topic, MessageField.VALUE, headers=[]) for _ in range(2)]
    conf = {"schema.id.serializer": header_schema_id_serializer}
    bodies = [
        JsonSerializer(ours, schema, id_location="header")(message["value"], with_headers[0]),
        JSONSerializer(their_schema, theirs, conf=conf)(message["value"], with_headers[1]),
    ]
    assert bodies[0] == bodies[1] == message["body"].encode()
    assert with_headers[0].headers == with_headers[1].headers
    assert JSONDeserializer(None, None, theirs)(bodies[0], with_headers[0]) == message["value"]
    assert JsonDeserializer(ours)(bodies[1], with_headers[1]) == message["value"]
