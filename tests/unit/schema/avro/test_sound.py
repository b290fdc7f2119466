"""The policy SOUND for Avro: what the reference's checker lets pass although records are misread, each with a proof."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.judgement import search_for_witness
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.witness import Witness

Json = Any


def record(*fields: Json, name: str = "R", **more: Json) -> Json:
    return {"type": "record", "name": name, "fields": [*fields], **more}


def field(name: str, kind: Json, **more: Json) -> Json:
    return {"name": name, "type": kind, **more}


def logical(kind: str, name: str, **more: Json) -> Json:
    return {"type": kind, "logicalType": name, **more}


def decimal(precision: int, scale: int, **more: Json) -> Json:
    return logical("bytes", "decimal", precision=precision, scale=scale, **more)


MILLIS, MICROS = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")
TEXT_ENUM = {"type": "enum", "name": "E", "symbols": ["A"]}

MISREAD: dict[str, tuple[Json, Json, list[str], str]] = {
    # what happened: reader, writer, what SOUND finds, what the decoder says of the witness
    "bytes become a string": (
        record(field("a", "string")),
        record(field("a", "bytes")),
        ["bytes-read-as-string /fields/0/type"],
        "UnicodeDecodeError",
    ),
    "milliseconds become microseconds": (
        record(field("at", ["null", MICROS])),
        record(field("at", ["null", MILLIS])),
        ["logical-type-misread /fields/0/type/1"],
        "2024-05-01T12:34:56.789Z is read as 1970-01-20T20:16:06.896789Z",
    ),
    "a date becomes a timestamp": (
        MILLIS,
        logical("int", "date"),
        ["logical-type-misread /"],
        "2024-05-01 is read as 1970-01-01T00:00:19.844Z",
    ),
    "the scale of a decimal changes": (
        {"type": "array", "items": decimal(9, 3)},
        {"type": "array", "items": decimal(9, 2)},
        ["decimal-misread /items"],
        "12.34 is read as 1.234",
    ),
    "the precision of a decimal shrinks": (
        {"type": "map", "values": decimal(4, 2)},
        {"type": "map", "values": decimal(9, 2)},
        ["decimal-misread /values"],
        "9999999.99 is read as 1.000E+7",
    ),
    "a fixed decimal changes its scale": (
        {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 4, "scale": 1},
        {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 4, "scale": 2},
        ["decimal-misread /"],
        "12.34 is read as 123.4",
    ),
}


def found(reader: Json, writer: Json, policy: CompatibilityPolicy) -> list[str]:
    differences = find_differences(*parsed(reader, writer), policy=policy)
    return [f"{each.rule} {each.path}" for each in differences]


def parsed(*schemas: Json) -> list[Any]:
    return [parse_avro(json.dumps(schema)) for schema in schemas]


@pytest.mark.parametrize("case", MISREAD)
def test_the_reference_lets_it_pass_and_sound_does_not(case: str):
    reader, writer, expected, _ = MISREAD[case]
    assert found(reader, writer, CompatibilityPolicy.STRICT) == []
    assert found(reader, writer, CompatibilityPolicy.SOUND) == expected


@pytest.mark.parametrize("case", MISREAD)
def test_each_misreading_has_a_witness(case: str):
    reader, writer = parsed(*MISREAD[case][:2])
    (difference,) = find_differences(reader, writer, policy=CompatibilityPolicy.SOUND)
    witness = search_for_witness(reader, writer, difference)
    assert isinstance(witness, Witness), witness
    assert MISREAD[case][3] in witness.confirmed_by


UNHARMED = {
    "a string becomes bytes": (record(field("a", "bytes")), record(field("a", "string"))),
    "a logical type is dropped": ("long", MILLIS),
    "a logical type is added": (MILLIS, "long"),
    "a decimal's precision grows": (decimal(12, 2), decimal(9, 2)),
    "the reader has a branch for each": (["null", MICROS], ["null", MICROS]),
    "a default that can be filled in": (record(field("a", TEXT_ENUM, default="A")), record()),
    "a cycle": (
        record(field("next", ["null", "R"], default=None)),
        record(field("next", ["null", "R"], default=None)),
    ),
}


@pytest.mark.parametrize("case", UNHARMED)
def test_what_is_read_as_it_was_written_stays_compatible(case: str):
    assert found(*UNHARMED[case], CompatibilityPolicy.SOUND) == []


def test_bytes_are_taken_by_the_branch_of_bytes():
    assert found(["string", "bytes"], ["string", "bytes"], CompatibilityPolicy.SOUND) == []
    assert found(["string", "bytes"], "bytes", CompatibilityPolicy.SOUND) == []
    assert found(["string", "null"], "bytes", CompatibilityPolicy.SOUND) == ["bytes-read-as-string /"]


def test_a_default_that_no_reader_can_fill_in_is_found():
    reader = record(
        field("a", TEXT_ENUM, default="B"), field("b", {"type": "fixed", "name": "F", "size": 2}, default="x")
    )
    assert found(reader, record(), CompatibilityPolicy.STRICT) == []
    expected = ["unusable-default /fields/0", "unusable-default /fields/1"]
    assert found(reader, record(), CompatibilityPolicy.SOUND) == expected


def test_a_cycle_does_not_hide_what_was_judged_inside_it():
    """A branch that turns out unreadable was taken for readable below itself; the reference never looks again."""
    held = record(field("w", ["null", "a.W"]), name="D", namespace="a")
    first = record(field("c", held), field("k", "int"), name="W", namespace="a")
    second = record(field("c", "a.D"), field("k", "string"), name="W", namespace="b")
    writer = record(
        field("c", record(field("w", ["null", "c.W"]), name="D", namespace="c")),
        field("k", "string"),
        name="W",
        namespace="c",
    )
    assert found([first, second], writer, CompatibilityPolicy.STRICT) == []
    assert found([first, second], writer, CompatibilityPolicy.SOUND) == ["missing-union-branch /"]


def test_what_the_specification_forbids_is_warned_about_where_it_stands():
    text = """{"type": "record", "name": "R", "fields": [
  {"name": "a", "type": {"type": "enum", "name": "E", "symbols": ["A"]}, "default": "B"},
  {"name": "b", "type": {"type": "string", "logicalType": "decimal", "precision": 4}}
]}"""
    schema = parse_avro(text)
    warned = [(each.rule, str(schema.locate(each.pointer)), each.text) for each in schema.warnings()]
    assert warned == [
        ("unusable-default", "2:85", "The default 'B' of field a is no value of its type"),
        (
            "ignored-logical-type",
            "3:25",
            "The logical type decimal is not valid on this string, so that readers ignore it",
        ),
    ]


def test_a_sound_schema_has_no_warnings():
    assert parse_avro(json.dumps(record(field("at", MILLIS), field("e", TEXT_ENUM, default="A")))).warnings() == []
