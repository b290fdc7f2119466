"""Messages that are written by one file and read by another, with the protobuf runtime."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.languages.protobuf.describe.descriptors import descriptor_set
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation

SOUND = CompatibilityPolicy.SOUND
REFUSED = "the reader refuses it"
P2, P3, E23 = 'syntax = "proto2";', 'syntax = "proto3";', 'edition = "2023";'


def m(body: str, head: str = P3) -> str:
    return f"{head} message M {{ {body} }}"


E_AB, E_BA = "enum E { A = 0; B = 1; C = 2; }", "enum E { A = 0; C = 1; B = 2; }"
N_S, N_I = "message N { string s = 1; }", "message N { int32 s = 1; }"

ADDED = {
    # what Confluent lets pass: writer, reader, rule, the record, what the reader has of it
    "optional made required": (
        m("optional string a = 1;", P2),
        m("required string a = 1;", P2),
        "field-made-required",
        {},
        REFUSED,
    ),
    "message made required": (
        m("optional M a = 1; optional int32 b = 2;", P2),
        m("required M a = 1; optional int32 b = 2;", P2),
        "field-made-required",
        {"b": 1},
        REFUSED,
    ),
    "proto3 field made required": (
        m("int32 a = 1;"),
        m("required int32 a = 1;", P2),
        "field-made-required",
        {},
        REFUSED,
    ),
    "repeated strings made required": (
        m("repeated string a = 1;", P2),
        m("required string a = 1;", P2),
        "field-made-required",
        {},
        REFUSED,
    ),
    "packed numbers to one": (
        m("repeated int32 a = 1;"),
        m("int32 a = 1;"),
        "packed-repeated-to-singular",
        {"a": [1, 2]},
        {},
    ),
    "numbers to one, not packed": (
        m("repeated int32 a = 1 [packed = false];"),
        m("int32 a = 1;"),
        "repeated-to-singular",
        {"a": [1, 2]},
        {"a": 2},
    ),
    "strings to one": (
        m("repeated string a = 1;"),
        m("string a = 1;"),
        "repeated-to-singular",
        {"a": ["x", "y"]},
        {"a": "y"},
    ),
    "messages to one": (
        m("repeated N a = 1; message N { int32 x = 1; int32 y = 2; }"),
        m("N a = 1; message N { int32 x = 1; int32 y = 2; }"),
        "repeated-to-singular",
        {"a": [{"x": 1}, {"y": 2}]},
        {"a": {"x": 1, "y": 2}},
    ),
    "bytes to string": (m("bytes a = 1;"), m("string a = 1;"), "bytes-to-string", {"a": "/w=="}, REFUSED),
    "int64 to int32": (m("int64 a = 1;"), m("int32 a = 1;"), "integer-narrowed", {"a": "1099511627783"}, {"a": 7}),
    "int32 to uint32": (m("int32 a = 1;"), m("uint32 a = 1;"), "integer-narrowed", {"a": -1}, {"a": 4294967295}),
    "uint32 to int32": (m("uint32 a = 1;"), m("int32 a = 1;"), "integer-narrowed", {"a": 4294967295}, {"a": -1}),
    "uint64 to int64": (
        m("uint64 a = 1;"),
        m("int64 a = 1;"),
        "integer-narrowed",
        {"a": "18446744073709551615"},
        {"a": "-1"},
    ),
    "int32 to bool": (m("int32 a = 1;"), m("bool a = 1;"), "integer-narrowed", {"a": 2}, {"a": True}),
    "sint64 to sint32": (m("sint64 a = 1;"), m("sint32 a = 1;"), "integer-narrowed", {"a": "4294967298"}, {"a": 2}),
    "fixed32 to sfixed32": (
        m("fixed32 a = 1;"),
        m("sfixed32 a = 1;"),
        "integer-narrowed",
        {"a": 4294967295},
        {"a": -1},
    ),
    "fixed64 to sfixed64": (
        m("fixed64 a = 1;"),
        m("sfixed64 a = 1;"),
        "integer-narrowed",
        {"a": "18446744073709551615"},
        {"a": "-1"},
    ),
    "enum to bool": (m("E a = 1;") + E_AB, m("bool a = 1;"), "integer-narrowed", {"a": "C"}, {"a": True}),
    "map's value narrowed": (
        m("map<string, int64> a = 1;"),
        m("map<string, int32> a = 1;"),
        "integer-narrowed",
        {"a": {"k": "4294967296"}},
        {"a": {"k": 0}},
    ),
    "map's keys narrowed": (
        m("map<int64, bool> a = 1;"),
        m("map<int32, bool> a = 1;"),
        "integer-narrowed",
        {"a": {"4294967297": True}},
        {"a": {"1": True}},
    ),
    "symbols changed places": (
        m("E a = 1;") + E_AB,
        m("E a = 1;") + E_BA,
        "enum-value-renumbered",
        {"a": "B"},
        {"a": "C"},
    ),
    "symbol renamed": (
        m("E a = 1;") + E_AB,
        m("E a = 1;") + E_AB.replace("C", "X"),
        "enum-value-renamed",
        {"a": "C"},
        {"a": "X"},
    ),
    "another enum of the same numbers": (
        m("E a = 1;") + E_AB,
        m("F a = 1;") + "enum F { X = 0; Y = 1; Z = 2; }",
        "enum-value-renamed",
        {"a": "B"},
        {"a": "Y"},
    ),
    "the symbol of nothing set renamed": (
        m("E a = 1;") + "enum E { A = 0; }",
        m("E a = 1;") + "enum E { X = 0; }",
        "enum-value-renamed",
        {},
        {},
    ),
    "symbols in a map renamed": (
        m("map<string, E> a = 1;") + E_AB,
        m("map<string, E> a = 1;") + E_AB.replace("C", "X"),
        "enum-value-renamed",
        {"a": {"k": "C"}},
        {"a": {"k": "X"}},
    ),
    "another default of a oneof's member": (
        m("oneof o { int32 a = 1 [default = 5]; int32 b = 2; }", P2),
        m("oneof o { int32 a = 1 [default = 6]; int32 b = 2; }", P2),
        "default-value-changed",
        {"b": 1},
        {"b": 1},
    ),
    "closed enum lost a symbol": (
        m("optional E a = 1;", P2) + E_AB,
        m("optional E a = 1;", P2) + "enum E { A = 0; B = 1; }",
        "closed-enum-loses-value",
        {"a": "C"},
        {},
    ),
    "number to closed enum": (
        m("int32 a = 1;"),
        m("optional E a = 1;", P2) + E_AB,
        "closed-enum-loses-value",
        {"a": 9},
        {},
    ),
    "another default": (
        m("optional int32 a = 1 [default = 5];", P2) + "message W { optional M m = 1; }",
        m("optional int32 a = 1 [default = 6];", P2) + "message W { optional M m = 1; }",
        "default-value-changed",
        {},
        {},
    ),
    "group to message": (
        m("optional group G = 1 { optional int32 x = 1; }", P2),
        m("optional G g = 1; message G { optional int32 x = 1; }", P2),
        "message-encoding-changed",
        {"g": {"x": 1}},
        {},
    ),
    "delimited message": (
        m("N a = 1;", E23) + N_S,
        m("N a = 1 [features.message_encoding = DELIMITED];", E23) + N_S,
        "message-encoding-changed",
        {"a": {"s": "x"}},
        {},
    ),
    "group's number used again": (
        m("optional group G = 1 { optional int32 x = 1; }", P2),
        m("optional int32 n = 1;", P2),
        "field-kind-changed",
        {"g": {"x": 1}},
        {},
    ),
}


def differences(writer: str, reader: str, policy: CompatibilityPolicy) -> list[Any]:
    return find_differences(parsed(reader), parsed(writer), policy=policy)


def parsed(text: str) -> Any:
    return parse_protobuf(text, validation=Validation.LENIENT)


def new_message(text: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    schema = parsed(text)
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set(schema)).file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(schema.name))()


def read(writer: str, reader: str, record: Any) -> Any:
    """The record, written by the runtime and read by it, in JSON."""
    body = json_format.ParseDict(record, new_message(writer)).SerializeToString()
    message = new_message(reader)
    try:
        message.ParseFromString(body)
    except DecodeError:
        return REFUSED
    return json_format.MessageToDict(message) if message.IsInitialized() else REFUSED
