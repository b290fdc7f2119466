"""Errors of serializers are shown without the exceptions of the fast ways that were tried before."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

import pytest

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerializationContext,
)
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.testing import InMemoryRegistry

CTX = SerializationContext("numbers", "value")
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
JSON = '{"type": "object", "properties": {"a": {"type": "integer"}}}'
PROTOBUF = 'syntax = "proto3"; message R { int32 a = 1; }'
LANGUAGES: dict[SchemaType, tuple[str, Any, Any]] = {
    SchemaType.AVRO: (AVRO, AvroSerializer, AvroDeserializer),
    SchemaType.JSON: (JSON, JsonSerializer, JsonDeserializer),
    SchemaType.PROTOBUF: (PROTOBUF, ProtobufSerializer, ProtobufDeserializer),
}


@dataclass
class R:
    a: int


def shown(call: Any, *arguments: Any) -> str:
    with pytest.raises(SerdeError) as caught:
        call(*arguments)
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("language", list(LANGUAGES))
@pytest.mark.parametrize("first", [{"a": 1}, None])
def test_an_error_of_a_serializer_stands_alone(language: SchemaType, first: Any) -> None:
    text, make_serializer, make_deserializer = LANGUAGES[language]
    registry = InMemoryRegistry().client(retries=0)
    serialize = make_serializer(registry, Schema(text, language))
    data = serialize({"a": 1}, CTX)
    deserialize = make_deserializer(registry)
    if first is not None:
        deserialize(data, CTX)
    values = [{"a": "x"}, {"a": 2**70}, {"a": object()}, {"a": [1]}]
    if language is SchemaType.JSON:
        values.remove({"a": 2**70})
    texts = [shown(serialize, value, CTX) for value in values]
    texts += [shown(deserialize, each, CTX) for each in (data[:6] + b"\xff" * 11, data[:-1] + b"\xff", b"x", data[:3])]
    assert not [each for each in texts if "During handling" in each]


def test_an_error_with_a_model_stands_alone() -> None:
    serialize = AvroSerializer(InMemoryRegistry().client(retries=0), model=R)
    serialize(R(1), CTX)
    text = shown(serialize, R("x"), CTX)  # type: ignore[arg-type]
    assert "During handling" not in text
