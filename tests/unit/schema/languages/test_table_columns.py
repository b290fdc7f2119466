"""Types that use one another twice have more columns than anybody can store: making a table of them has an end."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.compatibility import CompatibilityPolicy, Direction, Steps
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement import find_breaking
from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.languages.table_types import STEPS_A_COLUMN, ColumnCount, NotATable
from counterfoil.schema.model import SchemaType

LEVELS = 40


def avro() -> str:
    kind: object = "string"
    for level in range(LEVELS):
        again = f"L{level - 1}" if level else "string"
        fields = [{"name": "x", "type": kind}, {"name": "y", "type": again}]
        kind = {"type": "record", "name": f"L{level}", "fields": fields}
    return json.dumps(kind)


def protobuf() -> str:
    messages = [f"message L{each} {{ L{each + 1} x = 1; L{each + 1} y = 2; }}" for each in range(LEVELS)]
    return 'syntax = "proto3";\n' + "\n".join([*messages, f"message L{LEVELS} {{ string x = 1; }}"])


def json_schema() -> str:
    def level(number: int) -> dict[str, object]:
        below = {"$ref": f"#/definitions/L{number + 1}"}
        return {"type": "object", "properties": {"x": below, "y": below}, "additionalProperties": False}

    definitions = {f"L{each}": level(each) for each in range(1, LEVELS)}
    return json.dumps({**level(0), "definitions": {**definitions, f"L{LEVELS}": {"type": "string"}}})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema_type", "text"),
    [(SchemaType.AVRO, avro()), (SchemaType.PROTOBUF, protobuf()), (SchemaType.JSON, json_schema())],
    ids=["avro", "protobuf", "json"],
)
def test_a_schema_with_no_end_of_columns_is_no_table(schema_type: SchemaType, text: str) -> None:
    with pytest.raises(NotATable, match="more than 100000 columns"):
        language_for(schema_type).table_column(parse_schema(text, schema_type))


@pytest.mark.parametrize(
    ("schema_type", "text"),
    [(SchemaType.AVRO, avro()), (SchemaType.PROTOBUF, protobuf()), (SchemaType.JSON, json_schema())],
    ids=["avro", "protobuf", "json"],
)
def test_columns_take_steps_of_a_comparison(schema_type: SchemaType, text: str) -> None:
    schema, steps = parse_schema(text, schema_type), Steps(1000 * STEPS_A_COLUMN)
    with pytest.raises(JudgementUndecided):
        language_for(schema_type).table_column(schema, steps=steps)
    assert steps.left < 0
    few = Steps(15_000)
    with pytest.raises(JudgementUndecided):
        find_breaking(schema, schema, Direction.BACKWARD, policy=CompatibilityPolicy.LOGICAL, steps=few)


def test_columns_are_counted() -> None:
    count = ColumnCount(2)
    count.take(())
    count.take(())
    with pytest.raises(NotATable):
        count.take(())
