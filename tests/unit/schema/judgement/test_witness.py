"""Witnesses: what the writer may write and the reader cannot read, and an honest no where there is none."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import fastavro
import pytest
from fastavro.read import SchemaResolutionError

from counterfoil.schema.judgement import search_for_witness
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.parsed import Validation
from counterfoil.schema.witness import NoWitness, Witness

Json = Any


def record(*fields: Json, name: str = "Order", **more: Json) -> Json:
    return {"type": "record", "name": name, "fields": [*fields], **more}


def field(name: str, kind: Json, **more: Json) -> Json:
    return {"name": name, "type": kind, **more}


def enum(*symbols: str, name: str = "Color", **more: Json) -> Json:
    return {"type": "enum", "name": name, "symbols": [*symbols], **more}


def searched(reader: Json, writer: Json) -> list[Witness | NoWitness]:
    read, written = (parse_avro(json.dumps(each), validation=Validation.LENIENT) for each in (reader, writer))
    return [search_for_witness(read, written, difference) for difference in find_differences(read, written)]


def only(reader: Json, writer: Json) -> Witness:
    (found,) = searched(reader, writer)
    assert isinstance(found, Witness)
    return found


FOUND = {
    # what is wrong: reader, writer, the datum, the step
    "a promised type": (
        record(field("id", "int"), field("total_amount", "string")),
        record(field("id", "int"), field("total_amount", "double")),
        {"id": 0, "total_amount": 0.0},
        "field total_amount: the reader expects string, the writer writes double",
    ),
    "a missing field": (
        record(field("id", "int"), field("currency", "string")),
        record(field("id", "int")),
        {"id": 0},
        "the reader needs field currency, which the writer's record Order does not have, and it has no default",
    ),
    "a removed symbol": (
        record(field("color", enum("RED"))),
        record(field("color", enum("RED", "GREEN"))),
        {"color": "GREEN"},
        "field color: the reader's enum Color lacks GREEN and has no default among its own symbols",
    ),
    "a removed branch": (
        record(field("note", ["null", "string"])),
        record(field("note", ["null", "string", "long"])),
        {"note": 0},
        "field note, branch long: the reader's union [null, string] has no branch that reads long",
    ),
    "a branch whose symbol is gone": (
        ["null", enum("RED")],
        ["null", enum("RED", "GREEN")],
        "GREEN",
        (
            "branch enum Color: the reader's union [null, enum Color] has no branch that reads enum Color: "
            "the reader's enum Color lacks GREEN and has no default among its own symbols"
        ),
    ),
    "a union that is one type now": (
        "int",
        ["null", "int"],
        None,
        "branch null: the reader expects int, the writer writes null",
    ),
    "another size": (
        {"type": "fixed", "name": "Hash", "size": 4},
        {"type": "fixed", "name": "Hash", "size": 2},
        "\x00\x00",
        "the reader expects 4 bytes in fixed Hash, the writer writes 2",
    ),
    "inside collections": (
        {"type": "map", "values": {"type": "array", "items": "boolean"}},
        {"type": "map", "values": {"type": "array", "items": "bytes"}},
        {"key": [""]},
        "map value, item: the reader expects boolean, the writer writes bytes",
    ),
    "an enum that only names a default of its own": (
        record(field("id", "int"), field("color", enum("RED", default="RED"))),
        record(field("id", "int")),
        {"id": 0},
        "the reader expects enum Color, the writer writes record Order",
    ),
    "a recursive type": (
        record(field("value", "string"), field("next", ["null", "Node"]), name="Node"),
        record(field("value", "int"), field("next", ["null", "Node"]), name="Node"),
        {"value": 0, "next": None},
        "field value: the reader expects string, the writer writes int",
    ),
    "a fixed where an enum of its name was": (
        {"type": "fixed", "name": "Color", "size": 1},
        enum("RED"),
        "RED",
        "the reader expects fixed Color, the writer writes enum Color",
    ),
    "a union without branches": (
        record(field("x", [])),
        record(field("x", ["int"])),
        {"x": 0},
        "field x, branch int: the reader's union [] has no branch that reads int",
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_witness_is_found(case: str):
    reader, writer, datum, step = FOUND[case]
    found = only(reader, writer)
    assert json.loads(found.datum_json) == datum
    assert found.step == step
    assert found.confirmed_by.startswith(f"fastavro {fastavro.__version__}: SchemaResolutionError: ")


@pytest.mark.parametrize("case", [case for case in FOUND if case != "a union without branches"])
def test_the_body_is_what_the_writer_writes_and_breaks_the_reader(case: str):
    reader, writer, _, _ = FOUND[case]
    if case == "a fixed where an enum of its name was":  # fastavro looks at the names alone there
        reader = reader | {"name": "Other"}
    body = only(FOUND[case][0], writer).body
    fastavro.schemaless_reader(io.BytesIO(body), writer, None)
    with pytest.raises(SchemaResolutionError):
        fastavro.schemaless_reader(io.BytesIO(body), writer, reader)


def test_each_of_several_differences_has_a_witness_of_its_own():
    reader = record(field("a", "string"), field("b", enum("X")), field("c", "int"))
    writer = record(field("a", "int"), field("b", enum("X", "Y")))
    found = searched(reader, writer)
    assert [witness.step.split(":")[0] for witness in found] == [
        "field a",
        "field b",
        "the reader needs field c, which the writer's record Order does not have, and it has no default",
    ]
    assert [json.loads(witness.datum_json)["b"] for witness in found] == ["X", "Y", "X"]
    assert "Y not found in reader symbol list" in found[1].confirmed_by  # not the difference before it


def test_a_difference_is_confirmed_though_the_record_around_it_was_renamed():
    reader = record(field("a", "string"), name="Purchase")
    name, mismatch = searched(reader, record(field("a", "int")))
    assert isinstance(name, NoWitness)
    assert "int is not string" in mismatch.confirmed_by


def test_namespaces_make_no_difference():
    inner = record(field("x", "int"), name="In", namespace="")
    less = record(name="In", namespace="")
    assert (
        only(
            record(field("in", inner), field("again", ["null", "In"], default=None), namespace="shop"),
            record(field("in", less), namespace="shop"),
        ).datum_json
        == '{"in": {}}'
    )


def test_a_default_that_nobody_can_fill_in_does_not_stand_in_the_way():
    assert only(record(field("a", "int"), field("b", "int", default="many")), record()).datum_json == "{}"


def test_the_datum_breaks_every_branch_of_the_readers_union():
    """An empty list would be read by decoders that look no further than they must."""
    lists = {"type": "array", "items": {"type": "array", "items": "null"}}
    assert only(["int", {"type": "array", "items": "null"}], lists).datum_json == "[[]]"


NOT_FOUND = {
    "a record renamed": (record(field("a", "int"), name="Purchase"), record(field("a", "int")), 1, "names of records"),
    "a record renamed in a union": (
        ["null", record(field("a", "int"), name="Purchase")],
        ["null", record(field("a", "int"))],
        1,
        "names of records",
    ),
    "a field with two matches": (
        record(field("a", "int", aliases=["b"])),
        record(field("a", "int"), field("b", "int")),
        0,
        "several matches",
    ),
    "a record without end": (
        record(field("x", "string"), field("self", "Order")),
        record(field("x", "int"), field("self", "Order")),
        0,
        "finite size",
    ),
    "a fixed too long to print": (
        {"type": "fixed", "name": "Hash", "size": 1 << 30},
        {"type": "fixed", "name": "Hash", "size": 1 << 29},
        0,
        "finite size",
    ),
}


@pytest.mark.parametrize("case", NOT_FOUND)
def test_no_witness_says_how_many_were_tried_and_why(case: str):
    reader, writer, tried, reason = NOT_FOUND[case]
    found = searched(reader, writer)
    assert [(each.tried, bool(each)) for each in found] == [(tried, False)]
    assert reason in found[0].reason
    assert str(found[0]).startswith(f"no witness found ({tried} tried): ")


def test_a_renamed_record_says_which_decoder_refuses_it():
    (found,) = searched(record(name="Purchase"), record())
    assert isinstance(found, NoWitness)
    assert f"fastavro {fastavro.__version__} refuses this one" in found.reason


def test_a_search_that_finds_none_is_falsy():
    reader, writer = (parse_avro(json.dumps(record(name=name))) for name in ("A", "B"))
    (difference,) = find_differences(reader, writer)
    assert not search_for_witness(reader, writer, difference)


def test_types_that_multiply_are_given_up_within_a_budget():
    def chain(last: Json) -> Json:
        declared = record(field("x", last), name="N0")
        for number in range(1, 30):
            declared = record(field("l", declared), field("r", f"N{number - 1}"), name=f"N{number}")
        return declared

    reader, writer = (parse_avro(json.dumps(chain(last))) for last in ("int", "string"))
    found = search_for_witness(reader, writer, find_differences(reader, writer)[0])
    assert isinstance(found, NoWitness)
    assert "finite size" in found.reason


def test_a_difference_of_other_schemas_has_no_witness_here():
    one, two, three = (parse_avro(text) for text in ('"int"', '"string"', '"boolean"'))
    (elsewhere,) = find_differences(one, two)
    assert search_for_witness(one, three, elsewhere) == NoWitness(0, "the two schemas do not differ in this")


VERDICT_WITHOUT_FASTAVRO = """
import sys
from counterfoil.schema.judgement import check_compatibility
from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.answers import confluent_messages
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.parsing import parse_schema
report = check_compatibility(parse_schema('"int"'), [Earlier(parse_schema('"string"'), 1)], CompatibilityLevel.FULL)
assert len(confluent_messages(report)) == 4
import counterfoil.schema.witness
assert "fastavro" not in sys.modules, "a verdict needs no decoder"
"""


def test_a_verdict_does_not_load_the_decoder():
    done = subprocess.run([sys.executable, "-c", VERDICT_WITHOUT_FASTAVRO], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
