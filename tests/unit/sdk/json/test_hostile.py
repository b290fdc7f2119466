"""JSON messages that were made to hurt: whatever package reads and validates them, an error is one of the SDK."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk import JsonDeserializer, JsonSerializer, SerdeError, SerializationContext
from counterfoil.sdk.serde.json.coders import compile_decoder
from counterfoil.sdk.serde.json.schemas import PythonValidator, RustValidator
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.cases.depth import times_the_examples

if TYPE_CHECKING:
    from collections.abc import Callable

TREE = {
    "$ref": "#/definitions/tree",
    "definitions": {
        "tree": {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/definitions/tree"}},
                {"type": "object", "additionalProperties": {"$ref": "#/definitions/tree"}},
                {"type": ["number", "string", "boolean", "null"]},
            ]
        }
    },
}
SCHEMAS: list[Any] = [
    {},
    TREE,
    {"uniqueItems": True, "additionalProperties": {"uniqueItems": True}},
    {"multipleOf": 0.1, "items": {"multipleOf": 7}},
    {"pattern": "^a+$", "minLength": 1, "maximum": 3},
    {"enum": [1.0, "a", [1], {"a": 1}]},
    {"properties": {"a": {"default": 1}, "b": {"type": "integer"}}},
]
CONTEXT = SerializationContext("t", "value")


@dataclasses.dataclass
class Plain:
    a: int = 1
    b: list[Any] | None = None


class Checked(pydantic.BaseModel):
    a: float = 1
    b: dict[str, Any] | list[Any] | None = None


class Struct(msgspec.Struct):
    a: float = 1
    b: Any = None


def framed(text: bytes) -> bytes:
    return b"\x00\x00\x00\x00\x01" + text


def readers() -> list[Callable[[bytes], Any]]:
    made: list[Callable[[bytes], Any]] = []
    for schema in SCHEMAS:
        registry = InMemoryRegistry().client(retries=0)
        registry.register("t-value", Schema(json.dumps(schema), SchemaType.JSON))
        for options in ({}, {"validate": True}, {"model": Plain}, {"model": Checked}, {"model": Struct}):
            read = JsonDeserializer(registry, **options)  # type: ignore[arg-type]  # of several types
            made.append(lambda data, read=read: read(data, CONTEXT))
        parsed = parse_json_schema(json.dumps(schema))
        for kind in (RustValidator, PythonValidator):
            decode = compile_decoder(kind(parsed))
            made.append(lambda data, decode=decode: decode(data, 5))
    return made


READERS = readers()

NUMBERS = "1 -0 01 1. NaN Infinity 1e400 -1e400 1e-999999999 1e99999999999 18446744073709551616 1e308 0.1 1E+2"
LONG_NUMBERS = [b"1" * 5000, b"-" + b"9" * 400, b"0." + b"1" * 5000]
numbers = st.sampled_from([*NUMBERS.encode().split(), *LONG_NUMBERS])
texts = st.sampled_from(
    [
        b'""',
        b'"\\ud800"',
        b'"\\udc00a"',
        b'"\\u0000"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"' + b"a" * 20_000 + b'"',
        b'"\\q"',
    ]
)
depths = st.sampled_from([1, 2, 200, 254, 255, 256, 300, 500, 900, 1100, 5000])


@st.composite
def hostile(draw: st.DrawFn) -> bytes:
    """Draw a text: a number or a text inside of objects and arrays, or damaged bytes of one."""
    inner = draw(st.one_of(numbers, texts, st.binary(max_size=8), st.just(b'{"a":1,"a":[2],"b":{"a":null}}')))
    opening, closing = draw(st.sampled_from([(b"[", b"]"), (b'{"a":', b"}"), (b'{"b":[', b"]}"), (b'[{"":', b"}]")]))
    depth = draw(depths) if draw(st.booleans()) else 0
    text = opening * depth + inner + closing * depth
    if draw(st.integers(0, 4)) == 0:
        text = text[: draw(st.integers(0, len(text)))]
    return text


@pytest.mark.slow
@times_the_examples(8)
@given(hostile())
def test_only_our_errors_come_of_hostile_texts(text: bytes):
    for read in READERS:
        try:
            read(framed(text))
        except SerdeError:
            continue


@pytest.mark.slow
@pytest.mark.parametrize("schema", [{}, TREE])
@pytest.mark.parametrize("depth", [200, 254, 255, 256, 300, 900])
def test_a_value_that_is_nested_deep_has_one_verdict(schema: Any, depth: int):
    """The packages count levels in their own ways: what one of them cannot validate is left to the other."""
    decoders = [
        compile_decoder(kind(parse_json_schema(json.dumps(schema)))) for kind in (RustValidator, PythonValidator)
    ]
    found = []
    for decode in decoders:
        try:
            found.append(decode(b"[" * depth + b"]" * depth, 0) is not None)
        except SerdeError as error:
            found.append(type(error).__name__)
    assert found[0] == found[1] or found[0] is True


@pytest.mark.slow
@times_the_examples(4)
@given(
    st.recursive(st.sampled_from([1, 10**400, float("nan"), "\ud800", b"\xff", 1e400, {1}, object]), st.lists), depths
)
def test_only_our_errors_come_of_hostile_values(inner: Any, depth: int):
    value = inner
    for number in range(depth):
        value = {"a": value} if number % 2 else [value]
    for write in WRITERS:
        try:
            write(value, CONTEXT)
        except SerdeError:
            continue


WRITERS = [
    JsonSerializer(InMemoryRegistry().client(retries=0), json.dumps(schema), validate=validate)
    for schema in SCHEMAS
    for validate in (True, False)
]
