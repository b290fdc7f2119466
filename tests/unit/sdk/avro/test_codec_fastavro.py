"""The codec against fastavro: the same bytes and the same values, over schemas and data that are drawn."""

from __future__ import annotations

import contextlib
import copy
import io
import json

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.serde.avro.decode_walk import DecodeWalk
from counterfoil.sdk.serde.avro.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro.resolve import resolve
from strategies.avro.data import avro_data
from strategies.avro.schemas import avro_records, avro_schemas

pytestmark = pytest.mark.usefixtures("each_tier")

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@st.composite
def schemas_with_data(draw, schemas=None):
    schema = parse_avro(draw(schemas if schemas is not None else avro_schemas(distinct_unions=True)))
    return schema, draw(avro_data(schema))


def fastavro_schema(schema):
    return fastavro.parse_schema(json.loads(schema.text))


def is_raw(schema):
    """A top-level bytes stands on the wire without its length, which fastavro does not know."""
    return schema.root.kind == "bytes"


def written_by_fastavro(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro_schema(schema), copy.deepcopy(value))
    return out.getvalue()


def read_by_fastavro(schema, data):
    return fastavro.schemaless_reader(io.BytesIO(data), fastavro_schema(schema), None)


@RELAXED
@given(schemas_with_data())
def test_the_same_bytes_and_the_same_value_as_fastavro(drawn):
    schema, value = drawn
    data = compile_encoder(schema)(value)
    if not is_raw(schema):
        assert data == written_by_fastavro(schema, value)
        assert compile_decoder(schema, whole=True)(data) == read_by_fastavro(schema, data)
    again = compile_decoder(schema, whole=True)(data)
    assert compile_encoder(schema)(again) == data


@RELAXED
@given(schemas_with_data(), st.binary(max_size=5))
def test_generated_code_says_what_the_walk_says(drawn, before):
    schema, value = drawn
    data = compile_encoder(schema)(value)
    walk = EncodeWalk(strict=False)
    assert data == (walk.write_raw if is_raw(schema) else walk.write)(schema.root, value)
    step = DecodeWalk(before + data, len(before))
    assert compile_decoder(schema)(before + data, len(before)) == step.read(resolve(schema))
    assert step.offset == len(before + data)


@RELAXED
@given(schemas_with_data(avro_records(distinct_unions=True)))
def test_a_reader_of_the_same_text_gives_the_same_value(drawn):
    schema, value = drawn
    data = compile_encoder(schema)(value)
    other = parse_avro(schema.text)
    assert compile_decoder(schema, other, whole=True)(data) == compile_decoder(schema)(data)


@RELAXED
@given(schemas_with_data(avro_records(distinct_unions=True)))
def test_a_reader_without_fields_passes_over_everything(drawn):
    schema, value = drawn
    data = compile_encoder(schema)(value)
    empty = parse_avro(json.dumps({"type": "record", "name": schema.root.name, "fields": []}))
    assert compile_decoder(schema, empty, whole=True)(data) == {}


@RELAXED
@given(avro_schemas(), st.binary(max_size=60))
def test_random_bytes_give_a_value_or_a_decode_error(text, data):
    decode = compile_decoder(parse_avro(text))
    error = None
    try:
        decode(data)
    except DecodeError as caught:
        error = caught
    assert error is None or (error.data, type(error.offset)) == (data, int)


@RELAXED
@given(schemas_with_data(), st.data())
def test_damaged_bytes_give_a_value_or_a_decode_error(drawn, choice):
    schema, value = drawn
    data = bytearray(compile_encoder(schema)(value))
    for _ in range(choice.draw(st.integers(1, 3))):
        if data:
            data[choice.draw(st.integers(0, len(data) - 1))] = choice.draw(st.integers(0, 255))
    cut = bytes(data[: choice.draw(st.integers(0, len(data)))])
    plan = resolve(schema)
    assert outcome(lambda: compile_decoder(schema)(cut)) == outcome(lambda: DecodeWalk(cut, 0).read(plan))


def outcome(read):
    try:
        return repr(read())  # NaN is no equal of itself
    except DecodeError as error:
        return error.offset, error.path


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.binary(max_size=4) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcdef"), inner) | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


@RELAXED
@given(avro_schemas(), JSON_LIKE)
def test_any_object_is_written_or_refused_with_a_typed_error(text, value):
    schema = parse_avro(text)
    try:
        data = compile_encoder(schema)(value)
    except CounterfoilError:
        return
    with contextlib.suppress(DecodeError):  # a number may stand for an instant that Python has no value for
        compile_decoder(schema, whole=True)(data)


@RELAXED
@given(schemas_with_data(avro_schemas()))
def test_what_was_read_is_written_to_the_same_branch_or_refused_as_ambiguous(drawn):
    schema, value = drawn
    ambiguous = None
    try:
        data = compile_encoder(schema)(value)
    except EncodeError as error:
        ambiguous = str(error)
    if ambiguous is not None:
        assert "of one branch" in ambiguous
        return
    again = compile_decoder(schema, whole=True)(data)
    assert compile_encoder(schema)(again) == data
