"""JSON values that both schemas accept and that mean something else to the reader: formats, encodings, media types."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.judgement import confirm_unguarded, search_unguarded
from counterfoil.schema.languages.jsonschema.policies import find_differences
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.witness import Witness

Json = Any
SOUND = CompatibilityPolicy.SOUND
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
FORMATS = (
    *("date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"),
    *("uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer"),
    *("relative-json-pointer", "regex"),
)
WIDER = {
    "email": {"idn-email"},
    "hostname": {"idn-hostname"},
    "uri": {"uri-reference", "iri", "iri-reference", "uri-template"},
    "uri-reference": {"iri-reference", "uri-template"},
    "iri": {"iri-reference"},
}
ENCODINGS = ("base64", "base16", "base32", "base32hex", "quoted-printable")


def parsed(schema: Json, draft: str = DRAFT_7) -> Any:
    return parse_schema(json.dumps({"$schema": draft, **schema}), SchemaType.JSON, validation=Validation.LENIENT)


def holding(**keywords: Json) -> Json:
    return {"type": "object", "properties": {"a": {"type": "string", **keywords}}, "additionalProperties": False}


def shown(writer: Json, reader: Json, draft: str = DRAFT_7) -> tuple[list[str], str]:
    """What SOUND finds, each with a witness, and how the first record that is misread is read; empty for none."""
    written, read = parsed(writer, draft), parsed(reader, draft)
    assert find_differences(read, written) == []
    found = find_differences(read, written, policy=SOUND)
    assert all(isinstance(search_unguarded(read, written, each), Witness) for each in found)
    confirmation = confirm_unguarded(read, written, 20)
    witness = confirmation.counter_witness
    if witness is None:
        assert confirmation.round_tripped == 20 or confirmation.reason
        return [each.rule for each in found], ""
    return [each.rule for each in found], witness.step


@pytest.mark.slow
@pytest.mark.parametrize("written", FORMATS)
def test_every_pair_of_formats(written: str):
    """A property for each format that the reader may have."""
    misread = [read for read in FORMATS if read != written and read not in WIDER.get(written, ())]
    schemas = [
        {
            "type": "object",
            "properties": {read: {"type": "string", "format": side or read} for read in FORMATS},
            "required": [*FORMATS],
            "additionalProperties": False,
        }
        for side in ("", written)
    ]
    reader, writer = map(parsed, schemas)
    found = find_differences(reader, writer, policy=SOUND)
    assert sorted(each.path for each in found) == sorted(f"#/properties/{read}/format" for read in misread)
    assert {each.rule for each in found} == {"format-misread"}
    witness = confirm_unguarded(reader, writer, 3).counter_witness
    assert witness
    assert witness.step.startswith(f"property {misread[0]}: the {written} ")
    assert witness.step.endswith(f" is read as a {misread[0]}")


@pytest.mark.parametrize("written", FORMATS)
def test_a_format_that_one_side_alone_gives_changes_no_value(written: str):
    for pair in ((holding(), holding(format=written)), (holding(format=written), holding(format="colour"))):
        assert shown(*pair) == shown(*pair[::-1]) == ([], "")
    assert shown(holding(format=written), holding(format=written)) == ([], "")


def test_a_point_in_time_that_becomes_a_date_is_shown():
    _, step = shown(holding(format="date-time"), holding(format="date"))
    assert step == 'property a: the date-time "2024-05-01T12:34:56Z" is read as a date'


@pytest.mark.parametrize(("written", "read"), [*permutations(ENCODINGS, 2)])
def test_every_pair_of_encodings(written: str, read: str):
    found, step = shown(holding(contentEncoding=written), holding(contentEncoding=read))
    assert found == ["content-misread"]
    assert f" by {written}, is read as " in step


def test_the_bytes_of_both_encodings_are_shown():
    _, step = shown(holding(contentEncoding="base64"), holding(contentEncoding="BASE16"))
    assert step == 'property a: "DEADBEEF", the bytes 0c4003044105 by base64, is read as deadbeef by base16'


@pytest.mark.slow
@pytest.mark.parametrize(("written", "read"), [*product(("7bit", "8bit", "binary"), repeat=2)])
def test_encodings_that_leave_the_text_as_it_is_are_the_same(written: str, read: str):
    assert shown(holding(contentEncoding=written), holding(contentEncoding=read)) == ([], "")


@pytest.mark.parametrize(
    ("written", "read", "rules"),
    [
        ("application/json", "image/png", ["content-misread"]),
        ("text/html; charset=utf-8", "text/html", []),
        ("application/vnd.order+json", "application/json", []),
        ("application/json", "application/octet-stream", []),
        ("text/csv", "text/plain", []),
        ("text/plain", "text/csv", ["content-misread"]),
    ],
)
def test_media_types(written: str, read: str, rules: list[str]):
    found, step = shown(holding(contentMediaType=written), holding(contentMediaType=read))
    assert found == rules
    assert bool(step) == bool(rules)


@pytest.mark.parametrize(
    ("kind", "written", "read", "text"),
    [
        ("integer", "int64", "int32", "9007199254740993 is read as no int32"),
        ("integer", "int32", "int64", ""),
        ("integer", "int32", "float", "16777217 is read as 16777216.0"),
        ("integer", "int64", "double", "9007199254740993 is read as 9007199254740992.0"),
        ("number", "double", "float", "0.1 is read as 0.10000000149011612"),
        ("number", "float", "double", ""),
    ],
)
def test_formats_of_numbers(kind: str, written: str, read: str, text: str):
    found, step = shown(holding(type=kind, format=written), holding(type=kind, format=read))
    assert found == (["format-misread"] if text else [])
    assert step == (f"property a: {text}" if text else "")


def at(where: str, value_format: str) -> Json:
    """A schema with the format somewhere."""
    leaf = {"type": "string", "format": value_format}
    return {
        "referred": {"$ref": "#/$defs/Leaf", "$defs": {"Leaf": leaf}},
        "items": {"type": "array", "items": leaf},
        "prefix": {"type": "array", "prefixItems": [{"type": "integer"}, leaf], "items": False},
        "values": {"type": "object", "additionalProperties": leaf},
        "patterns": {"type": "object", "patternProperties": {"^x": leaf}, "additionalProperties": False},
        "all": {"allOf": [{"type": "string"}, leaf]},
        "any": {"anyOf": [{"type": "null"}, leaf]},
        "one": {"oneOf": [leaf, {"type": "integer"}]},
        "deep": {
            "type": "object",
            "properties": {"list": {"type": "array", "items": {"type": "object", "properties": {"at": leaf}}}},
        },
        "if": {"if": {"type": "string"}, "then": leaf},
        "root": leaf,
    }[where]


PLACES = ("referred", "items", "prefix", "values", "patterns", "all", "any", "one", "deep", "if", "root")


@pytest.mark.parametrize("where", PLACES)
def test_a_format_is_found_wherever_it_stands(where: str):
    found, step = shown(at(where, "date"), at(where, "time"), DRAFT_2020)
    assert found == ["format-misread"]
    assert step.endswith('the date "2024-05-01" is read as a time')
    assert shown(at(where, "date"), at(where, "date"), DRAFT_2020) == ([], "")


@pytest.mark.parametrize("depth", [5, 12])
def test_a_format_deep_inside_is_found(depth: int):
    def nested(text_format: str) -> Json:
        schema: Json = {"type": "string", "format": text_format}
        for _ in range(depth):
            schema = {"type": "object", "properties": {"a": schema}}
        return schema

    found, step = shown(nested("date"), nested("time"))
    assert found == ["format-misread"]
    assert step.endswith('the date "2024-05-01" is read as a time')


def test_a_branch_that_the_value_does_not_fit_says_nothing_about_it():
    def either(text_format: str) -> Json:
        return {"anyOf": [{"type": "string", "format": "date"}, {"type": "integer", "format": text_format}]}

    assert shown(either("int32"), either("int64")) == ([], "")


def test_one_of_several_formats_of_the_reader_suffices():
    both = {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}
    assert shown({"type": "string", "format": "date"}, {"allOf": [{"type": "string", "format": "date"}]})[0] == []
    assert shown(both, both) == ([], "")


def test_the_finding_points_at_both_schemas():
    (difference,) = find_differences(parsed(holding(format="date")), parsed(holding(format="date-time")), policy=SOUND)
    assert (difference.rule, difference.path) == ("format-misread", "#/properties/a/format")
    assert (difference.reader_pointer, difference.writer_pointer) == (("properties", "a", "format"),) * 2
