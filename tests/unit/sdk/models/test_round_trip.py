"""Objects of random models are the same after they are written and read; their schemas are accepted everywhere."""

from __future__ import annotations

import io
import json

import avro.schema
import fastavro
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.sdk import schema_of
from counterfoil.sdk.serde.avro import AvroCodec
from counterfoil.sdk.serde.json import JsonCodec
from counterfoil.sdk.serde.models.binding import AvroModel
from strategies.avro.codec_outcomes import of_each_tier
from strategies.serde.typed_models import MAKERS, models

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Logical type uuid:Warning:avro.schema")]

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], max_examples=15)


def values_of(drawn, data):
    cls, objects = drawn
    return cls, data.draw(objects)


@pytest.mark.parametrize("kind", MAKERS)
@RELAXED
@given(data=st.data())
def test_avro_objects_are_the_same_on_every_tier(kind, data):
    cls, value = values_of(data.draw(models(kind, for_avro=True)), data)
    text = schema_of(cls)
    assert schema_of(cls) == text
    parsed = parse_avro(text)
    fastavro.parse_schema(json.loads(text))
    avro.schema.parse(text)
    codec = AvroCodec(strict=True, model=AvroModel(cls))
    encoders = of_each_tier(lambda: codec.encoder(parsed))
    decoders = of_each_tier(lambda: codec.decoder(parsed, parsed, b""))
    written = {name: encode(value, b"") for name, encode in encoders.items()}
    (body,) = set(written.values())
    for decode in decoders.values():
        again = decode(body, 0)
        assert again == value
        assert type(again) is type(value)
    fastavro.schemaless_reader(io.BytesIO(body), json.loads(text))


@pytest.mark.parametrize("kind", MAKERS)
@RELAXED
@given(data=st.data())
def test_json_objects_are_the_same_and_valid_under_their_schema(kind, data):
    cls, value = values_of(data.draw(models(kind, for_avro=False)), data)
    text = schema_of(cls, language="json")
    jsonschema.Draft7Validator.check_schema(json.loads(text))
    parsed = parse_json_schema(text)
    codec = JsonCodec(validate="both", model=cls)
    body = codec.encoder(parsed)(value, b"")
    assert JsonCodec(model=cls).decoder(parsed, None, b"")(body, 0) == value
    assert codec.decoder(parsed, parsed, b"")(body, 0) == value
