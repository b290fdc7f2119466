"""Where SOUND and Confluent's answer part: bytes of the writer, as the protobuf runtime reads them for the reader."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Witness
from counterfoil.schema.judgement import confirm_compatible, search_for_witness
from counterfoil.schema.languages.protobuf.policies import find_differences
from strategies.protobuf.read_messages import ADDED, E_AB, N_I, N_S, P2, P3, SOUND, differences, m, parsed, read

DROPPED = {
    # what Confluent refuses: writer, reader, error type, the record, what the reader has of it
    "package": (
        P3 + "package a; message M { int32 a = 1; }",
        P3 + "package b; message M { int32 a = 1; }",
        "PACKAGE_CHANGED",
        {"a": 1},
        {"a": 1},
    ),
    "message that nothing uses removed": (
        m("int32 a = 1;") + N_S,
        m("int32 a = 1;"),
        "MESSAGE_REMOVED",
        {"a": 1},
        {"a": 1},
    ),
    "message renamed": (
        m("N a = 1;") + N_S,
        m("O a = 1;") + N_S.replace("N", "O"),
        "FIELD_NAMED_TYPE_CHANGED",
        {"a": {"s": "x"}},
        {"a": {"s": "x"}},
    ),
    "message renamed and a field of it removed": (
        m("N a = 1;") + "message N { string s = 1; int32 i = 2; }",
        m("O a = 1;") + "message O { string s = 1; }",
        "FIELD_NAMED_TYPE_CHANGED",
        {"a": {"s": "x", "i": 1}},
        {"a": {"s": "x"}},
    ),
    "message moved to the top": (
        m("N a = 1; " + N_S),
        m("N a = 1;") + N_S,
        "MESSAGE_REMOVED",
        {"a": {"s": "x"}},
        {"a": {"s": "x"}},
    ),
    "one number to many": (
        m("optional int32 a = 1;"),
        m("repeated int32 a = 1;"),
        "FIELD_NUMERIC_LABEL_CHANGED",
        {"a": 1},
        {"a": [1]},
    ),
    "required to optional": (
        m("required int32 a = 1;", P2),
        m("optional int32 a = 1;", P2),
        "FIELD_NUMERIC_LABEL_CHANGED",
        {"a": 1},
        {"a": 1},
    ),
    "required field removed": (
        m("required int32 a = 1; optional int32 b = 2;", P2),
        m("optional int32 b = 2;", P2),
        "REQUIRED_FIELD_REMOVED",
        {"a": 1, "b": 2},
        {"b": 2},
    ),
    "map to its entries": (
        m("map<string, int32> a = 1;"),
        m("repeated N a = 1; message N { string key = 1; int32 value = 2; }"),
        "FIELD_KIND_CHANGED",
        {"a": {"k": 1}},
        {"a": [{"key": "k", "value": 1}]},
    ),
    "message to bytes": (
        m("N a = 1;") + N_S,
        m("bytes a = 1;") + N_S,
        "FIELD_KIND_CHANGED",
        {"a": {"s": "x"}},
        {"a": "CgF4"},
    ),
}
BOTH_LET_PASS = {
    "int32 to int64": (m("int32 a = 1;"), m("int64 a = 1;")),
    "uint32 to int64": (m("uint32 a = 1;"), m("int64 a = 1;")),
    "sint32 to sint64": (m("sint32 a = 1;"), m("sint64 a = 1;")),
    "bool to int32": (m("bool a = 1;"), m("int32 a = 1;")),
    "enum to int32": (m("E a = 1;") + E_AB, m("int32 a = 1;")),
    "int32 to open enum": (m("int32 a = 1;"), m("E a = 1;") + E_AB),
    "string to bytes": (m("string a = 1;"), m("bytes a = 1;")),
    "implicit to optional": (m("int32 a = 1;"), m("optional int32 a = 1;")),
    "optional to implicit": (m("optional int32 a = 1;"), m("int32 a = 1;")),
    "string to strings": (m("string a = 1;"), m("repeated string a = 1;")),
    "packed to not packed": (m("repeated int32 a = 1;"), m("repeated int32 a = 1 [packed = false];")),
    "open enum lost a symbol": (m("E a = 1;") + E_AB, m("E a = 1;") + "enum E { A = 0; B = 1; }"),
    "alias of a symbol": (
        m("E a = 1;") + "enum E { option allow_alias = true; A = 0; B = 1; C = 1; }",
        m("E a = 1;") + "enum E { A = 0; C = 1; }",
    ),
    "field renamed": (m("int32 a = 1;"), m("int32 b = 1;")),
    "field into a oneof of its own": (m("int32 a = 1;"), m("oneof o { int32 a = 1; }")),
    "oneof dissolved": (m("oneof o { int32 a = 1; int32 b = 2; }"), m("int32 a = 1; int32 b = 2;")),
    "the same default in another spelling": (
        m("optional int32 a = 1 [default = 16];", P2),
        m("optional int32 a = 1 [default = 0x10];", P2),
    ),
    "map renamed": (m("map<string, int32> a = 1;"), m("map<string, int32> b = 1;")),
    "group's fields": (
        m("optional group G = 1 { optional int32 x = 1; }", P2),
        m("optional group G = 1 { optional int64 x = 1; }", P2),
    ),
}
BOTH_REFUSE = {
    "message of other fields": (m("N a = 1;") + N_S, m("O a = 1;") + N_I.replace("N", "O")),
    "first message removed": (m("int32 a = 1;") + N_S, P3 + N_S),
    "entries that may repeat to a map": (
        m("repeated N a = 1; message N { string key = 1; int32 value = 2; }"),
        m("map<string, int32> a = 1; message N { string key = 1; int32 value = 2; }"),
    ),
    "bytes to message": (m("bytes a = 1;") + N_S, m("N a = 1;") + N_S),
    "two fields into a oneof": (m("int32 a = 1; int32 b = 2;"), m("oneof o { int32 a = 1; int32 b = 2; }")),
    "packed numbers to one, labels written": (m("repeated int32 a = 1;"), m("optional int32 a = 1;")),
    "a oneof's choice removed": (m("oneof o { int32 a = 1; int32 b = 2; }"), m("oneof o { int32 a = 1; }")),
}


@pytest.mark.parametrize("case", ADDED)
def test_what_confluent_lets_pass_and_a_record_breaks(case: str):
    writer, reader, rule, record, expected = ADDED[case]
    assert differences(writer, reader, CompatibilityPolicy.STRICT) == []
    assert rule in {each.rule for each in differences(writer, reader, SOUND)}
    assert read(writer, reader, record) == expected


@pytest.mark.parametrize("case", ADDED)
def test_each_of_them_has_a_witness_and_fails_to_be_confirmed(case: str):
    writer, reader = parsed(ADDED[case][0]), parsed(ADDED[case][1])
    for difference in find_differences(reader, writer, policy=SOUND):
        witness = search_for_witness(reader, writer, difference)
        assert isinstance(witness, Witness)
        assert json.loads(witness.datum_json) is not None
    assert confirm_compatible(reader, writer, 200).counter_witness


@pytest.mark.parametrize("case", DROPPED)
def test_what_confluent_refuses_and_every_record_survives(case: str):
    writer, reader, error_type, record, expected = DROPPED[case]
    assert error_type in {each.error_type for each in differences(writer, reader, CompatibilityPolicy.STRICT)}
    assert differences(writer, reader, SOUND) == []
    assert read(writer, reader, record) == expected
    assert confirm_compatible(parsed(reader), parsed(writer), 200).round_tripped == 200


@pytest.mark.parametrize("case", DROPPED)
def test_none_of_them_has_a_witness(case: str):
    writer, reader = parsed(DROPPED[case][0]), parsed(DROPPED[case][1])
    for difference in find_differences(reader, writer):
        assert not search_for_witness(reader, writer, difference)


@pytest.mark.slow
@pytest.mark.parametrize("case", BOTH_LET_PASS)
def test_what_both_let_pass_is_read(case: str):
    writer, reader = BOTH_LET_PASS[case]
    assert differences(writer, reader, CompatibilityPolicy.STRICT) == []
    assert differences(writer, reader, SOUND) == []
    assert confirm_compatible(parsed(reader), parsed(writer), 200).round_tripped == 200


@pytest.mark.parametrize("case", BOTH_REFUSE)
def test_what_both_refuse_keeps_its_error_types_and_has_a_witness(case: str):
    writer, reader = BOTH_REFUSE[case]
    kept = [each for each in differences(writer, reader, SOUND) if each.error_type]
    assert kept
    assert any(search_for_witness(parsed(reader), parsed(writer), each) for each in kept)
