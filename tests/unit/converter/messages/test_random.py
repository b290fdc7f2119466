"""Random schemas and messages: the result of a plan is a value of the target, or a failure with a code."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import Converted, RecordConverter, recipe_of
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.runtime import PoolRefuses, pooled_file
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans import FailureCode
from counterfoil.schema.plans.derive import Deriver
from counterfoil.schema.plans.rules import PlanRules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of, path_of
from strategies.json_schema.evolutions import evolutions
from strategies.json_schema.pairs import random_value, schema_pairs
from strategies.protobuf.messages import messages
from strategies.protobuf.pairs import seeded_pair

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema

SOURCE_ID, TARGET_ID = 7, 9
SEEDS = st.integers(0, 2**32)


def converter_of(source: ParsedSchema, target: ParsedSchema) -> RecordConverter | None:
    """The converter of the plan that casts without rules; None if there is no plan."""
    plan = Deriver(PlanRules(drop_rest=True), needs_rules=False).derive(source, target)
    if plan.problems:
        return None
    assert len(plan.hash) == 64
    return RecordConverter(recipe_of(Conversion(plan, {SOURCE_ID: source}, TARGET_ID)))


def body_of(outcome: Converted) -> bytes | None:
    """The converted body; None for a failure, which has a code and a sentence."""
    if outcome.failure is not None:
        assert outcome.failure.code in FailureCode
        assert outcome.failure.text
        return None
    assert outcome.value is not None
    assert outcome.value[:5] == frame(TARGET_ID, b"")
    return outcome.value[5:]


def json_schema(document: Any) -> ParsedSchema:
    return parse_schema(json.dumps(document), SchemaType.JSON, validation=Validation.LENIENT)


def is_valid(document: Any, value: Any) -> bool:
    try:
        validator = jsonschema_rs.validator_for(document, validate_formats=False)
    except jsonschema_rs.ValidationError:  # draft 4 does not permit the schema, so that it has no judge
        return True
    return bool(validator.is_valid(value))


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [schema_pairs, evolutions], ids=["pairs", "evolutions"])
@given(seed=SEEDS)
def test_json_result_is_valid_under_the_target(pairs: Any, seed: int):
    rng = random.Random(seed)
    for first, second in pairs(rng, 6):
        for source, target in ((first, second), (first, first)):
            if not isinstance(source, dict) or not isinstance(target, dict):
                continue
            converter = converter_of(json_schema(source), json_schema(target))
            if converter is None:
                continue
            for _ in range(4):
                given_value = random_value(rng, source)
                body = body_of(
                    converter.convert_value(frame(SOURCE_ID, json.dumps(given_value, default=float).encode()))
                )
                if body is not None:
                    assert is_valid(target, json.loads(body)), (source, target, given_value)


@given(value=st.binary(max_size=30), seed=SEEDS)
def test_json_and_protobuf_messages_of_any_bytes_are_converted_or_refused(value: bytes, seed: int):
    text = 'syntax = "proto3"; message A { int32 a = 1; A b = 2; map<string, bytes> c = 3; repeated float d = 4; }'
    protobuf = parse_schema(text, SchemaType.PROTOBUF)
    anything = json_schema(
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"items": {"type": "null"}}}}
    )
    for schema in (protobuf, anything):
        converter = converter_of(schema, schema)
        assert converter is not None
        body_of(converter.convert_value(value))
        body_of(converter.convert_value(frame(SOURCE_ID, b"\x00" + value)))
    del seed


def runtime_of(text: str) -> tuple[ParsedSchema, Any] | None:
    """The schema and the class of its first message; None for a schema that the runtime refuses."""
    try:
        schema: Any = parse_schema(text, SchemaType.PROTOBUF)
        descriptor = MessageTypes(pooled_file(schema, text)).find(None)
    except (PoolRefuses, SchemaParseError):
        return None
    return None if descriptor is None else (schema, class_of(descriptor))


@given(seed=SEEDS, data=st.data())
def test_protobuf_result_is_a_message_of_the_target(seed: int, data: st.DataObject):
    first, second = (runtime_of(text) for text in seeded_pair(seed))
    if first is None or second is None:
        return
    (source, written), (target, read) = first, second
    message = data.draw(messages(written.DESCRIPTOR))
    try:
        body = message.SerializeToString(deterministic=True)
    except Exception:  # noqa: BLE001 - a required field that is not set, or a text that is not UTF-8
        return
    indexes = path_of(written.DESCRIPTOR)
    assert indexes == (0,)
    for schema, class_ in ((target, read), (source, written)):
        converter = converter_of(source, schema)
        if converter is None:
            continue
        made = body_of(converter.convert_value(frame(SOURCE_ID, b"\x00" + body)))
        if made is None:
            continue
        assert made[:1] == b"\x00"
        try:
            result = class_.FromString(made[1:])
        except DecodeError:
            pytest.fail(f"{source.text} → {schema.text}: {made.hex()} is no message")
        assert len(UnknownFieldSet(result)) == 0
        assert result.IsInitialized()
        if class_ is written:
            message.DiscardUnknownFields()
            assert result == message or b"nan" in str(message).encode(), source.text
