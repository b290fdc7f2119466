"""Witnesses for Protobuf: the least message that shows a difference, and an honest no where bytes show none."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any

import pytest
from google.protobuf import __version__ as version

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.judgement import confirm_compatible, search_for_witness
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from counterfoil.schema.witness import NoWitness, Witness

P2, P3 = 'syntax = "proto2";', 'syntax = "proto3";'
OF_THE_FIRST = "records are of the first message; the types of fields are matched by number, not by name"


def parsed(text: str, item: str | None = None, item_version: int = 1) -> Any:
    references = [] if item is None else [ResolvedReference(Reference("item.proto", "item", item_version), item)]
    return parse_protobuf(text, references, validation=Validation.LENIENT)


def m(body: str, head: str = P3) -> str:
    return f"{head} message M {{ {body} }}"


def searched(writer: Any, reader: Any, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT) -> list[Any]:
    found = find_differences(reader, writer, policy=policy)
    return [search_for_witness(reader, writer, difference) for difference in found]


TEXT_AS_TEXT = "field 1 written and read as string (length-delimited)"
LOST = "1 is kept as an unknown field, value lost"
FOUND = {
    # what happened: writer, reader, the datum, its bytes in hexadecimal, the step
    "another wire type": (
        m("int32 a = 3;"),
        m("string a = 3;"),
        {"a": 1},
        "1801",
        f"message M: field 3 written as int32 (varint), read as string (length-delimited): {LOST}",
    ),
    "the same wire type, another meaning": (
        m("int32 a = 1;"),
        m("sint32 a = 1;"),
        {"a": 1},
        "0801",
        "message M: field 1 written as int32 (varint), read as sint32 (varint): 1 is read as -1",
    ),
    "a required field that is new": (
        m("optional int32 a = 1;", P2),
        m("optional int32 a = 1; required int32 b = 2;", P2),
        {},
        "",
        "message M: the reader requires b",
    ),
    "packed numbers": (
        m("repeated int32 a = 1;"),
        m("optional int32 a = 1;"),
        {"a": [1]},
        "0a0101",
        f"message M: field 1 written as repeated int32 (packed), read as int32 (varint): {LOST}",
    ),
    "two fields in a oneof": (
        m("string a = 1; string b = 2;"),
        m("oneof o { string a = 1; string b = 2; }"),
        {"a": "a", "b": "a"},
        "0a0161120161",
        f"message M: {TEXT_AS_TEXT}: 'a' is lost, since b of the same oneof came after it",
    ),
    "the choice of a oneof": (
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        m("oneof o { int32 a = 1; }"),
        {"b": 1},
        "1001",
        "message M: field 2 is unknown to the reader, which sees nothing chosen in its oneof",
    ),
    "inside a message of another type": (
        m("N a = 1; message N { int32 x = 1; } message O { string x = 1; }"),
        m("O a = 1; message N { int32 x = 1; } message O { string x = 1; }"),
        {"a": {"x": 1}},
        "0a020801",
        f"message M: field 1 written as int32 (varint), read as string (length-delimited): {LOST}",
    ),
    "the first message gone": (
        m("int32 a = 1;") + "message N { }",
        f"{P3} message N {{ }}",
        {},
        "",
        "a record is a message M, which the reader lacks",
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_witness_is_found(case: str):
    writer, reader, datum, body, step = FOUND[case]
    (found,) = searched(parsed(writer), parsed(reader))
    assert isinstance(found, Witness)
    assert json.loads(found.datum_json) == datum
    assert found.body.hex() == body
    assert found.step == step
    assert found.confirmed_by.startswith(f"protobuf {version} (")


def test_parsing_that_fails_is_quoted():
    (found,) = searched(parsed(m("bytes a = 1;")), parsed(m("string a = 1;")), policy=CompatibilityPolicy.SOUND)
    assert json.loads(found.datum_json) == {"a": base64.b64encode(b"\xff").decode()}
    assert found.step == "message M: parsing fails"
    assert "DecodeError" in found.confirmed_by


def test_an_imported_message_is_reached_through_the_fields_that_lead_to_it():
    outer = f'{P3} import "item.proto"; message M {{ repeated Item items = 4; }}'
    item = P3 + "message Item {{ Part part = 2; }} message Part {{ {} n = 7; }}"
    writer, reader = parsed(outer, item.format("int32"), 1), parsed(outer, item.format("string"), 2)
    found = searched(writer, reader)
    assert [json.loads(each.datum_json) for each in found] == [{"items": [{"part": {"n": 1}}]}] * len(found)
    assert found[0].body.hex() == "2204" + "1202" + "3801"
    assert len(found) == 3


def test_required_fields_around_the_difference_are_filled():
    writer = m("required string id = 1; required N n = 2; message N { required bool b = 1; } optional int32 a = 3;", P2)
    (found,) = searched(parsed(writer), parsed(writer.replace("int32 a", "string a")))
    assert json.loads(found.datum_json) == {"id": "a", "n": {"b": True}, "a": 1}


NOT_FOUND = {
    "the package": (
        f"{P3} package a; message M {{ }}",
        f"{P3} package b; message M {{ }}",
        "no witness found (0 tried): only names differ, and bytes hold none",
    ),
    "a message that no record is": (
        m("int32 a = 1;") + "message N { }",
        m("int32 a = 1;"),
        f"no witness found (0 tried): {OF_THE_FIRST}",
    ),
    "a first message of another name": (
        f"{P3} message A {{ int32 a = 1; }}",
        f"{P3} message B {{ int32 a = 1; }}",
        "no witness found (0 tried): the reader's first message has another name and reads the same records",
    ),
    "a required field that is gone": (
        m("required int32 a = 1;", P2),
        m("", P2),
        f"no witness found (6 tried): protobuf {version} (upb) reads what the reader has of them",
    ),
    "a message that requires itself": (
        m("required M m = 1; optional int32 a = 2;", P2),
        m("required M m = 1; optional string a = 2;", P2),
        "no witness found (0 tried): the writer cannot write it in a message of finite size",
    ),
    "a label that asks for less": (
        m("required int32 a = 1;", P2),
        m("optional int32 a = 1;", P2),
        "no witness found (0 tried): a label that asks for less reads all that was written",
    ),
}


@pytest.mark.parametrize("case", NOT_FOUND)
def test_no_witness_says_how_many_were_tried_and_why(case: str):
    writer, reader, said = NOT_FOUND[case]
    (found,) = searched(parsed(writer), parsed(reader))
    assert isinstance(found, NoWitness)
    assert str(found) == said


def test_a_schema_that_the_runtime_refuses_has_no_witness():
    writer, reader = parsed(m("int32 a = 1; int32 b = 1;")), parsed(m("string a = 1; string b = 1;"))
    (difference,) = find_differences(reader, writer)
    assert not search_for_witness(reader, writer, difference)
    assert "does not take the schema" in str(search_for_witness(reader, writer, difference))
    assert "does not take the schema" in confirm_compatible(reader, writer).reason


def test_a_difference_of_other_schemas_has_no_witness_here():
    one, two, three = (parsed(m(f"{kind} a = 1;")) for kind in ("int32", "string", "float"))
    (elsewhere,) = find_differences(one, two)
    assert search_for_witness(three, two, elsewhere) == NoWitness(0, "the two schemas do not differ in this")


def test_messages_confirm_a_compatible_verdict():
    writer = parsed(
        m("int32 a = 1; repeated N n = 2; map<string, E> e = 3; enum E { A = 0; B = 1; }")
        + "message N { bytes b = 1; }"
    )
    reader = parsed(
        m("int64 a = 1; repeated N n = 2; map<string, E> e = 3; enum E { A = 0; B = 1; } float f = 9;")
        + "message N { bytes b = 1; }"
    )
    confirmed = confirm_compatible(reader, writer, 300)
    assert (confirmed.round_tripped, confirmed.counter_witness, confirmed.reason) == (300, None, "")
    assert confirm_compatible(reader, writer, 300) == confirmed


def test_a_message_that_is_lost_speaks_against_a_verdict():
    counter = confirm_compatible(parsed(m("int32 a = 1;")), parsed(m("int64 a = 1;"))).counter_witness
    assert counter is not None
    assert json.loads(counter.datum_json) == {"a": "1099511627776"}


VERDICT_WITHOUT_RUNTIME = """
import sys
from counterfoil.schema.languages.rules import RULE_BY_ID
import counterfoil.schema.judgement
import counterfoil.schema.parsing
assert "field-kind-changed" in RULE_BY_ID
assert "google.protobuf" not in sys.modules
"""


def test_the_rule_tables_do_not_load_the_runtime():
    done = subprocess.run([sys.executable, "-c", VERDICT_WITHOUT_RUNTIME], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_rule_about_what_is_reserved_has_nothing_to_write():
    writer, reader = parsed(m("reserved 9;")), parsed(m("int32 a = 1;"))
    (found,) = searched(writer, reader, policy=CompatibilityPolicy.WIRE)
    assert str(found) == "no witness found (0 tried): the rule guards what may be written later, not what was"
