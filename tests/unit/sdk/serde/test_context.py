"""The context of our own: what a program without a Kafka client gives to a serializer, and Confluent's takes too."""

from __future__ import annotations

import confluent_kafka.serialization as theirs
import pytest
from confluent_kafka.schema_registry import topic_subject_name_strategy

from counterfoil.sdk import AvroDeserializer, AvroSerializer, MessageField, SerializationContext
from counterfoil.sdk.testing import InMemoryRegistry

TEXT = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}'


@pytest.mark.parametrize("half", ["KEY", "VALUE"])
def test_ours_and_theirs_are_the_same_to_either(half: str) -> None:
    contexts = (
        SerializationContext("rides", MessageField[half]),
        theirs.SerializationContext("rides", theirs.MessageField[half]),
    )
    assert {topic_subject_name_strategy(each, "Ride") for each in contexts} == {f"rides-{half.lower()}"}
    registry = InMemoryRegistry().client(retries=0)
    messages = {AvroSerializer(registry, TEXT)({"fare": 9.3}, each) for each in contexts}
    assert len(messages) == 1
    assert registry.subjects() == (f"rides-{half.lower()}",)
    assert [AvroDeserializer(registry)(message, each) for message in messages for each in contexts] == [
        {"fare": 9.3}
    ] * 2


def test_a_field_is_the_value_unless_it_is_named() -> None:
    assert (
        SerializationContext("rides")
        == SerializationContext("rides", MessageField.VALUE)
        == SerializationContext("rides", "value", headers=None)
    )


def test_headers_are_written_and_read() -> None:
    registry = InMemoryRegistry().client(retries=0)
    context = SerializationContext("rides", MessageField.VALUE, headers=[])
    body = AvroSerializer(registry, TEXT, id_location="header")({"fare": 9.3}, context)
    assert [name for name, _ in context.headers] == ["__value_schema_id"]
    assert AvroDeserializer(registry)(body, context) == {"fare": 9.3}
