"""Example values: they are written and read, they keep what contracts promise, and they reach every corner."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.generate import UNKNOWN_SYMBOL, ExampleShape, SeededChoices
from counterfoil.contracts.generate.examples import Examples
from counterfoil.contracts.testing.record import RecordCheck, RecordParts
from counterfoil.contracts.testkit.strategies import DrawnChoices
from counterfoil.schema.agreements import Contract
from counterfoil.schema.agreements.documents import read_agreement
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import Schema, SchemaType
from strategies.avro.schemas import avro_schemas
from strategies.json_schema.schemas import json_schemas
from strategies.protobuf.schemas import protobuf_schemas

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
            {"name": "count", "type": "int"},
            {"name": "ratio", "type": "float"},
            {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "OLD"]}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "note", "type": ["null", "string"]},
            {"name": "parts", "type": {"type": "array", "items": ["null", "long", "string", "Order"]}},
        ],
    }
)
PROTOBUF = """
syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
message Order { string id = 1; int32 count = 2; float ratio = 3; enum Status { NEW = 0; PAID = 1; OLD = 2; }
  Status status = 4; google.protobuf.Timestamp at = 5; google.protobuf.StringValue note = 6;
  oneof payment { string card = 7; int64 cash = 8; Order other = 9; } map<int32, Order> parts = 10; }
"""
JSON = json.dumps(
    {
        "type": "object",
        "required": ["id", "count"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "status": {"enum": ["NEW", "PAID", "OLD"]},
            "at": {"type": "string", "format": "date-time"},
            "note": {"type": ["string", "null"], "maxLength": 4},
            "payment": {"oneOf": [{"type": "string", "pattern": "^[0-9]{4}$"}, {"type": "object", "minProperties": 1}]},
            "parts": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2},
        },
        "additionalProperties": False,
    }
)
SCHEMAS = {SchemaType.AVRO: AVRO, SchemaType.PROTOBUF: PROTOBUF, SchemaType.JSON: JSON}
PROMISES = """
apiVersion: v3.2.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: Order
    physicalName: orders
    properties:
      - {name: count, logicalType: integer, required: true, logicalTypeOptions: {minimum: 3, exclusiveMaximum: 9}}
      - {name: ratio, logicalType: number, logicalTypeOptions: {exclusiveMinimum: 0, maximum: 1}}
      - {name: status, logicalType: string, enum: [{value: PAID}, {value: OLD}]}
      - {name: note, logicalType: string, required: true, logicalTypeOptions: {pattern: "^[a-c]{2,3}$"}}
"""
AVRO_PROMISES = """\
      - {name: total, logicalType: number, logicalTypeOptions: {minimum: 0.5, maximum: 12.34}}
      - {name: day, logicalType: date, logicalTypeOptions: {minimum: "2024-02-28", maximum: "2024-03-01"}}
      - {name: at, logicalType: timestamp, logicalTypeOptions: {minimum: "2024-01-01T00:00:00Z"}}
"""


def promise(text: str = PROMISES):
    agreement = read_agreement(text).agreement
    assert isinstance(agreement, Contract)
    return agreement.promises[0]


def read_back(examples: Examples, value: object) -> object:
    """Return what a deserializer returns for a value, after it went through a line of JSON."""
    given = json.loads(json.dumps(value, allow_nan=False))
    data = examples.encode(examples.value(given))
    again = examples.encode(examples.value(json.loads(json.dumps(examples.show(data)))))
    assert examples.show(again) == examples.show(data)
    return examples.decode(data)


@pytest.mark.slow
@given(avro_schemas(), st.integers(0, 2**32))
def test_examples_of_any_avro_schema_are_written_and_read(text, seed):
    _made(Schema(text), seed)


@pytest.mark.slow
@given(protobuf_schemas(is_alone=True), st.integers(0, 2**32))
def test_examples_of_any_protobuf_schema_are_written_and_read(text, seed):
    _made(Schema(text, SchemaType.PROTOBUF), seed)


@given(json_schemas(), st.integers(0, 2**32))
def test_examples_of_any_json_schema_are_written_and_read(document, seed):
    _made(Schema(json.dumps(document), SchemaType.JSON), seed)


def _made(schema, seed):
    try:
        examples = Examples(schema)
    except (InvalidSchema, NoExample):
        return
    for shape in (ExampleShape(), ExampleShape(leaves_out=True)):
        try:
            value = examples.make(SeededChoices(seed), shape)
        except NoExample:
            return  # such as a record that always contains itself
        read_back(examples, value)


@pytest.mark.slow
@pytest.mark.parametrize("language", SCHEMAS)
@given(data=st.data())
def test_drawn_values_keep_the_promises(language, data):
    own = promise(PROMISES + (AVRO_PROMISES if language is SchemaType.AVRO else ""))
    examples = Examples(Schema(SCHEMAS[language], language), promise=own)
    value = read_back(examples, examples.make(DrawnChoices(data.draw)))
    assert RecordCheck(own).violations(RecordParts(value)) == []


@pytest.mark.slow
@pytest.mark.parametrize("language", SCHEMAS)
def test_seeded_values_keep_the_promises_and_reach_their_limits(language):
    own = promise(PROMISES + (AVRO_PROMISES if language is SchemaType.AVRO else ""))
    examples = Examples(Schema(SCHEMAS[language], language), promise=own)
    choices = SeededChoices(1)
    values = [read_back(examples, examples.make(choices)) for _ in range(150)]
    assert all(RecordCheck(own).violations(RecordParts(value)) == [] for value in values)
    assert {value["count"] for value in values} == set(range(3, 9))
    assert {value["status"] for value in values if "status" in value} == {"PAID", "OLD"}
    if language is SchemaType.AVRO:
        assert {value["day"] for value in values} == {date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)}
        assert {Decimal("0.50"), Decimal("12.34")} <= {value["total"] for value in values}
        assert min(value["at"] for value in values) == datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.slow
def test_every_branch_of_unions_and_oneofs_is_reached():
    choices = SeededChoices(2)
    avro = [Examples(Schema(AVRO)).make(choices) for _ in range(80)]
    kinds = Counter(
        next(iter(part)) if isinstance(part, dict) else type(part).__name__ for each in avro for part in each["parts"]
    )
    assert {"NoneType", "int", "str", "id"} <= set(kinds)
    protobuf = [Examples(Schema(PROTOBUF, SchemaType.PROTOBUF)).make(choices) for _ in range(60)]
    assert {"card", "cash", "other"} <= {name for each in protobuf for name in each}
    documents = [Examples(Schema(JSON, SchemaType.JSON)).make(choices) for _ in range(60)]
    assert {str, dict} <= {type(each.get("payment")) for each in documents}


@pytest.mark.parametrize("language", SCHEMAS)
def test_what_may_be_absent_is_left_out(language):
    examples = Examples(Schema(SCHEMAS[language], language))
    value = examples.make(SeededChoices(3), ExampleShape(leaves_out=True))
    assert value.get("note") is None
    assert not value.get("parts")
    assert {"card", "cash", "other", "payment"}.isdisjoint(value)


@pytest.mark.parametrize("language", SCHEMAS)
def test_unknown_symbols_are_written_with_a_later_schema(language):
    examples = Examples(Schema(SCHEMAS[language], language), promise=promise()).with_unknown_symbols()
    choices = SeededChoices(4)
    shape = ExampleShape(has_unknown_symbols=True)
    made: list[Any] = [read_back(examples, examples.make(choices, shape)) for _ in range(10)]
    found = [each.get("status") for each in made]
    assert set(found) <= {UNKNOWN_SYMBOL, 3, None}
    assert found != [None] * 10


def test_the_same_seed_makes_the_same_values():
    first, second = ([Examples(Schema(AVRO)).make(choices) for _ in range(5)] for choices in map(SeededChoices, (7, 7)))
    assert json.dumps(first) == json.dumps(second)


def test_a_record_that_always_contains_itself_has_no_example():
    text = json.dumps({"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]})
    with pytest.raises(NoExample, match="A always contains itself"):
        Examples(Schema(text)).make(SeededChoices(0))


def test_promises_that_no_type_keeps_are_named():
    own = promise(PROMISES.replace("minimum: 3, exclusiveMaximum: 9", "minimum: 3000000000"))
    with pytest.raises(NoExample, match="count has no value: >= 3000000000 is outside of its type"):
        Examples(Schema(AVRO), promise=own).make(SeededChoices(0))
