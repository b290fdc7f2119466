"""Names used before the type is declared: taken as Apache Avro for Java takes them, and printed in reading order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import AvroRecord

Json = Any


def record(name: str, *fields: tuple[str, Json], **more: Json) -> Json:
    return {"type": "record", "name": name, **more, "fields": [{"name": key, "type": kind} for key, kind in fields]}


LATER = record("B", ("c", "C"))
COLOUR = {"type": "enum", "name": "C", "symbols": ["X"]}

PRINTED: dict[str, tuple[Json, str]] = {
    # what is written, and what Apache Avro 1.12 for Java prints
    "a type, and a type inside it": (
        record("R", ("a", "B"), ("b", record("B", ("r", ["null", "R"]), ("c", "C"))), ("c", COLOUR)),
        (
            '{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"record","name":"B","fields":[{"name":"r",'
            '"type":["null","R"]},{"name":"c","type":{"type":"enum","name":"C","symbols":["X"]}}]}},{"name":"b",'
            '"type":"B"},{"name":"c","type":"C"}]}'
        ),
    ),
    "a type of another namespace": (
        record("R", ("a", "y.B"), ("b", {"type": "fixed", "name": "B", "namespace": "y", "size": 2}), namespace="x"),
        (
            '{"type":"record","name":"R","namespace":"x","fields":[{"name":"a","type":{"type":"fixed","name":"B",'
            '"namespace":"y","size":2}},{"name":"b","type":"y.B"}]}'
        ),
    ),
    "a branch of a union": (
        record("R", ("a", ["null", "B"]), ("b", record("B", doc="d")), namespace="x"),
        (
            '{"type":"record","name":"R","namespace":"x","fields":[{"name":"a","type":["null",{"type":"record",'
            '"name":"B","doc":"d","fields":[]}]},{"name":"b","type":"B"}]}'
        ),
    ),
}


@pytest.mark.parametrize("case", PRINTED)
def test_the_declaration_is_printed_where_the_name_is_used_first(case: str):
    written, printed = PRINTED[case]
    schema = parse_avro(json.dumps(written))
    assert schema.canonical() == printed
    assert parse_avro(printed).canonical() == printed


def test_both_uses_are_one_type_which_stands_where_it_is_declared():
    schema = parse_avro(json.dumps(record("R", ("a", "B"), ("b", record("B")))))
    root = schema.root
    assert isinstance(root, AvroRecord)
    assert root.fields[0].type is root.fields[1].type
    assert root.fields[0].type.pointer == ("fields", 1, "type")


REFUSED = {
    "a list where a kind belongs": (
        record("R", ("a", "B"), ("b", {"type": ["null"], "name": "B"})),
        "unknown type 'B'",
    ),
    "an object where a kind belongs": (
        record("R", ("a", "B"), ("b", {"type": {"type": "enum"}, "name": "B"})),
        "unknown type 'B'",
    ),
    "a name in the wrong namespace": (
        record("R", ("a", "B"), ("b", record("B", namespace="y")), namespace="x"),
        "unknown type 'B'",
    ),
    "a name that is declared nowhere": (record("R", ("a", "B")), "unknown type 'B'"),
    "a branch that is there twice": (["B", record("B")], "the union holds 'B' twice"),
    "a fault inside what is read early": (record("R", ("a", "B"), ("b", record("B", ("c", "Q")))), "unknown type 'Q'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_reported_where_it_stands(case: str):
    written, problem = REFUSED[case]
    with pytest.raises(SchemaParseError, match=problem):
        parse_avro(json.dumps(written))


def test_a_chain_of_names_is_bounded():
    fields = [(f"f{number}", record(f"T{number}", ("x", f"T{number + 1}"))) for number in range(3000)]
    with pytest.raises(SchemaParseError):
        parse_avro(json.dumps(record("R", ("a", "T0"), *fields)))
