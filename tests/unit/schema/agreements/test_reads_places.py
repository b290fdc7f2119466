"""Where the records of a change do not give a consumer what it reads: a finding for each place, in each language."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements.findings import Offer
from counterfoil.schema.paths import print_path
from strategies.contracts.read_judgements import judged_change
from strategies.contracts.reads import AVRO, JSON, PROTOBUF, enum, facts, found, reader, record


def line(name: str = "Line", **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": fields[each]} for each in fields]}


def objects(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties})


MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
MILLS = {**CENTS, "scale": 3}
NULLABLE_JSON = '{"type": "object", "properties": {"a": {"type": ["null", "%s"]}}}'
OPTIONAL = 'syntax = "proto3"; message Order { optional %s a = 1; }'


@pytest.mark.parametrize("path", ["a", "a!"])
@pytest.mark.parametrize(
    ("language", "was", "now", "written"),
    [
        (AVRO, record(a=["null", "int"]), record(a=["null", "string"]), "string"),
        (AVRO, record(a=["null", MILLIS]), record(a=["null", MICROS]), "timestamp-micros"),
        (AVRO, record(a=["null", CENTS]), record(a=["null", MILLS]), "decimal(9, 3)"),
        (PROTOBUF, OPTIONAL % "int32", OPTIONAL % "string", "string"),
        (PROTOBUF, OPTIONAL % "int32", OPTIONAL % "sint32", "sint32"),
        (JSON, NULLABLE_JSON % "integer", NULLABLE_JSON % "string", "string"),
        (
            JSON,
            '{"properties": {"a": {"type": ["null", "string"], "format": "date"}}}',
            '{"properties": {"a": {"type": ["null", "string"], "format": "time"}}}',
            "time",
        ),
    ],
)
def test_a_finding_hides_no_worse_one(language: SchemaType, was: str, now: str, written: str, path: str) -> None:
    """A required field that was optional before is also of another type now."""
    assert facts(found(language, was, now, path)) == {("a", written)}


def test_a_field_that_becomes_optional_is_one_break() -> None:
    [finding] = [each for each in found(AVRO, record(a="int"), record(a=["null", "int"]), "a!") if each.is_breaking]
    assert (finding.rule, finding.written) == ("consumer-nullable", "nullable")


def test_of_a_field_that_is_gone_nothing_more_is_reported() -> None:
    findings = found(AVRO, record(a=line(b="int", c="int")), record(d="int"), "a.b!")
    assert [(each.rule, print_path(each.element), each.written) for each in findings] == [
        ("consumer-field-missing", "a.b", "missing")
    ]


WHERE = [["a"], ["a.x", "a.y"], []]


@pytest.mark.parametrize("paths", WHERE)
@pytest.mark.parametrize(
    ("language", "text"),
    [
        (AVRO, record(a=line(x="%s", y="%s"))),
        (AVRO, record(a=["null", line(x="%s", y="%s")])),
        (PROTOBUF, 'syntax = "proto3"; message Order { Line a = 1; } message Line { %s x = 1; %s y = 2; }'),
        (JSON, objects(a={"type": "object", "properties": {"x": {"type": "%s"}, "y": {"type": "%s"}}})),
        (
            JSON,
            objects(
                a={"anyOf": [{"type": "null"}, {"type": "object", "properties": {n: {"type": "%s"} for n in "xy"}}]}
            ),
        ),
    ],
)
def test_each_place_has_a_finding_of_its_own(language: SchemaType, text: str, paths: list[str]) -> None:
    """So that one of two breaks can be repaired: what is left was there before."""
    plain, other = (
        ("int32", "string")
        if language is PROTOBUF
        else ("integer", "string")
        if language is JSON
        else ("int", "string")
    )
    was = text % (plain, plain)
    both, one = (set(facts(found(language, was, text % each, *paths))) for each in ((other, other), (plain, other)))
    assert both == {("a.x", "string"), ("a.y", "string")}
    assert one == {("a.y", "string")}


SHOP = """syntax = "proto3";
message Order { Status st = 1; Line c = 2; repeated Line i = 3; map<string, Line> m = 4; oneof p { Line card = 5; } }
message Line { int32 x = 1; Inner d = 2; }
message Inner { int32 z = 1; Status s = 2; }
enum Status { NEW = 0; PAID = 1; SENT = 2; }"""
AROUND = {"c": "c", "i[]": "i[]", "m{}": "m{}", "i": "i[]", "m": "m{}", "p<card>": "p<card>", "card": "p<card>"}


@pytest.mark.parametrize(
    ("change", "below", "written"),
    [
        (("PAID = 1", "REFUNDED = 1"), ".d.s", {"REFUNDED = 1"}),
        (("PAID = 1; SENT = 2", "SENT = 1; PAID = 2"), ".d.s", {"PAID = 2", "SENT = 1"}),
        (("PAID = 1", "PAID = 7"), ".d.s", {"PAID = 7"}),
        (("int32 x = 1", "string x = 1"), ".x", {"string"}),
        (("int32 x = 1", "int32 x = 9"), ".x", {"missing"}),
        (("int32 x = 1; Inner d = 2", "int32 x = 2; Inner d = 1"), "", {"message Inner d", "int32 x"}),
        (("int32 z = 1", "int32 z = 7"), ".d.z", {"missing"}),
        (("int32 z = 1", "sint32 z = 1"), ".d.z", {"sint32"}),
    ],
)
def test_a_difference_at_a_type_counts_for_every_field_that_uses_it(
    change: tuple[str, str], below: str, written: set[str]
) -> None:
    assert change[0] in SHOP
    now = SHOP.replace(*change)
    for path, place in AROUND.items():
        breaks = facts(found(PROTOBUF, SHOP, now, path))
        assert {each for _, each in breaks} == written
        assert all(each.startswith(place + below) for each, _ in breaks)
    whole = facts(found(PROTOBUF, SHOP, now))
    places = {each for each, _ in whole}
    assert all(any(each.startswith(place + below) for each in places) for place in AROUND.values())
    unread = "c.x" if below.startswith(".d") else "c.d.z"
    assert not facts(found(PROTOBUF, SHOP, now, unread)) or not below


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (("PAID = 1", "REFUNDED = 1"), True),
        (("PAID = 1; SENT = 2", "PAID = 2; SENT = 1"), True),
        (("z = 1", "z = 3"), False),
    ],
)
def test_an_enum_of_the_first_level_is_judged_by_its_numbers(change: tuple[str, str], *, broken: bool) -> None:
    assert bool(facts(found(PROTOBUF, SHOP, SHOP.replace(*change), "st"))) is broken


TWICE = record(a=line(x="int", y="int"), b="Line", c={"type": "array", "items": "Line"})
DEFINED = json.dumps(
    {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/definitions/Line"},
            "b": {"$ref": "#/definitions/Line"},
            "c": {"type": "array", "items": {"anyOf": [{"type": "null"}, {"$ref": "#/definitions/Line"}]}},
        },
        "definitions": {
            "Line": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "string", "format": "date"}},
            }
        },
    }
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "was", "now", "member"),
    [
        (AVRO, TWICE, TWICE.replace('"x", "type": "int"', '"x", "type": "string"'), "x"),
        (JSON, DEFINED, DEFINED.replace('"x": {"type": "integer"}', '"x": {"type": "boolean"}'), "x"),
        (JSON, DEFINED, DEFINED.replace('"format": "date"', '"format": "time"'), "y"),
    ],
)
def test_a_named_type_that_changes_breaks_each_of_its_uses(
    language: SchemaType, was: str, now: str, member: str
) -> None:
    other = "y" if member == "x" else "x"
    for path, place in (("a", "a"), ("b", "b"), ("c[]", "c[]"), ("c", "c[]")):
        assert {each for each, _ in facts(found(language, was, now, path))} == {f"{place}.{member}"}
        assert not found(language, was, now, f"{place}.{other}")
    assert {each for each, _ in facts(found(language, was, now))} == {f"{each}.{member}" for each in ("a", "b", "c[]")}


CHAIN = {
    AVRO: record(n=line("Node", v="int", w="int", next=["null", "Node"])),
    PROTOBUF: 'syntax = "proto3"; message Order { Node n = 1; } '
    "message Node { int32 v = 1; int32 w = 2; Node next = 3; }",
    JSON: json.dumps(
        {
            "properties": {"n": {"$ref": "#/definitions/Node"}},
            "definitions": {
                "Node": {
                    "type": "object",
                    "properties": {
                        "v": {"type": "integer"},
                        "w": {"type": "integer"},
                        "next": {"anyOf": [{"type": "null"}, {"$ref": "#/definitions/Node"}]},
                    },
                }
            },
        }
    ),
}
OF_V = {
    AVRO: ('"v", "type": "int"', '"v", "type": "string"'),
    PROTOBUF: ("int32 v", "string v"),
    JSON: ('"v": {"type": "integer"}', '"v": {"type": "string"}'),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", [AVRO, PROTOBUF, JSON])
def test_types_that_contain_themselves_are_followed_as_far_as_the_path_leads(language: SchemaType) -> None:
    was = CHAIN[language]
    assert OF_V[language][0] in was
    now = was.replace(*OF_V[language])
    for path in ("n.v", "n.next.v", "n.next.next.v"):
        assert {each for each, _ in facts(found(language, was, now, path))} == {path}
        assert not found(language, was, now, path[:-1] + "w")
    assert "n.next.next.v" in {each for each, _ in facts(found(language, was, now, "n.next.next"))}
    assert facts(found(language, was, now))


CARD, CASH, COIN = line("Card", no="int"), line("Cash", sum="int"), line("Coin")


@pytest.mark.parametrize(
    ("was", "now", "path", "expected"),
    [
        ([CARD, CASH], [line("Card", no="string"), CASH], "p<Card>.no", {("p<Card>.no", "string")}),
        ([CARD, CASH], [CARD, line("Cash", sum="string")], "p<Card>.no", set()),
        ([CARD, CASH], [CARD, line("Cash", sum="string")], "p", {("p<Cash>.sum", "string")}),
        ([CARD, CASH], [CARD, CASH, COIN], "p<Card>.no", {("p", "record Coin")}),
        (["null", CARD], ["null", line("Card", no="string")], "p<Card>.no", {("p.no", "string")}),
        ([CARD, CASH], [CASH, CARD], "p", set()),
        ([CARD], CARD, "p.no", set()),
        (CARD, ["null", CARD], "p.no", {("p", "nullable")}),
        ("int", "long", "p", {("p", "long")}),
        ("long", "int", "p", set()),
        (["null", "int"], ["null", "int", "string"], "p", {("p", "string")}),
        ("int", line("Card", no="int"), "p", {("p", "record Card")}),
    ],
)
def test_unions_and_promotions_of_avro(was: Any, now: Any, path: str, expected: set[tuple[str, str]]) -> None:
    assert facts(found(AVRO, record(p=was), record(p=now), path)) == expected


def test_reads_that_overlap_have_one_finding_at_each_place() -> None:
    was, now = record(a=line(x="int", y="int")), record(a=line(x="string", y="string"))
    findings = found(AVRO, was, now, "a", "a.x")
    assert sorted((print_path(each.place), print_path(each.element)) for each in findings) == [
        ("a.x", "a.x"),
        ("a.y", "a"),
    ]
    again = found(AVRO, was, now, "a.x", "a")
    assert {each.identity for each in again} == {each.identity for each in findings}


def test_keys_have_places_as_well() -> None:
    value = record(a="int")
    before = Offer(parse_schema(value), key=parse_schema(record(k=line(x="int", y="int"))))
    after = Offer(parse_schema(value), key=parse_schema(record(k=line(x="string", y="string"))))
    assert facts(list(judged_change(before, after, [reader("$key.k")]))) == {
        ("$key.k.x", "string"),
        ("$key.k.y", "string"),
    }
    assert facts(list(judged_change(before, after, [reader("$key.k.x")]))) == {("$key.k.x", "string")}


# --- declared schemas


PROTO2 = 'syntax = "proto2"; message Order { optional int32 id = 1; %s }'


@pytest.mark.parametrize(
    ("language", "declared", "written", "place"),
    [
        (AVRO, record(id="int", q="int"), record(id="int", q="string"), "q"),
        (AVRO, record(id="int", q="int"), record(id="int"), "q"),
        (AVRO, record(id="int", q=line(x="int")), record(id="int", q=line(x="string")), "q.x"),
        (AVRO, record(id="int", q=enum("A")), record(id="int", q=enum("A", "B")), "q"),
        (AVRO, record(id="int", q=MILLIS), record(id="int", q=MICROS), None),
        (AVRO, record(id="int"), record(id="int", q="string"), None),
        (PROTOBUF, PROTO2 % "required int32 q = 2;", PROTO2 % "", "q"),
        (PROTOBUF, PROTO2 % "required int32 q = 2;", PROTO2 % "optional int32 q = 2;", "q"),
        (PROTOBUF, PROTO2 % "optional int32 q = 2;", PROTO2 % "optional string q = 2;", None),
        (PROTOBUF, PROTO2 % "optional int32 q = 2;", PROTO2 % "", None),
        (PROTOBUF, OPTIONAL % "string", OPTIONAL % "bytes", "a"),
        (JSON, objects(id={}, q={"type": "integer"}), objects(id={}, q={"type": "string"}), "q"),
        (JSON, '{"required": ["q"], "properties": {"id": {}}}', objects(id={}, q={}), "q"),
        (JSON, objects(id={}, q={"type": "integer"}), objects(id={}), None),
        (JSON, objects(id={}, q={"format": "date"}), objects(id={}, q={"format": "time"}), None),
    ],
)
def test_a_declared_schema_counts_where_its_decoder_refuses_the_whole_record(
    language: SchemaType, declared: str, written: str, place: str | None
) -> None:
    path = "id" if "id" in declared else "b"
    by_schema = reader(*([path] if path == "id" else ["a"]), declared=declared, language=language)
    breaks = facts(list(judged_change(None, Offer(parse_schema(written, language)), [by_schema])))
    assert {each for each, _ in breaks} == ({place} if place else set())
    if path == "id":
        assert not facts(found(language, declared, written, "id"))  # without a declared schema, the reads alone count


def test_a_default_fills_a_field_that_is_not_written() -> None:
    declared = json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [{"name": "id", "type": "int"}, {"name": "q", "type": "int", "default": 5}],
        }
    )
    later = Offer(parse_schema(record(id="int")))
    assert not judged_change(None, later, [reader("id", declared=declared)])


# --- required


@pytest.mark.parametrize(
    ("language", "text", "path", "is_there"),
    [
        (AVRO, record(a=["null", line(b="int")]), "a.b", True),
        (AVRO, record(a=["null", line(b="int")]), "a", False),
        (AVRO, record(a=["null", line(b=["null", "int"])]), "a.b", False),
        (AVRO, record(a={"type": "array", "items": line(b="int")}), "a[].b", True),
        (AVRO, record(a={"type": "map", "values": ["null", "int"]}), "a{}", False),
        (AVRO, record(a=[CARD, CASH]), "a<Card>", False),
        (AVRO, record(a=[CARD, CASH]), "a<Card>.no", True),
        (PROTOBUF, SHOP, "c", False),
        (PROTOBUF, SHOP, "c.x", True),
        (PROTOBUF, SHOP, "c.d.z", True),
        (PROTOBUF, SHOP, "p<card>", False),
        (PROTOBUF, SHOP, "p<card>.x", True),
        (JSON, objects(a={"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}), "a.b", True),
        (JSON, objects(a={"type": "object", "properties": {"b": {"type": "integer"}}}), "a.b", False),
    ],
)
def test_required_means_there_wherever_its_parent_is(
    language: SchemaType, text: str, path: str, *, is_there: bool
) -> None:
    findings = judged_change(None, Offer(parse_schema(text, language)), [reader(f"{path}!")])
    assert not {each.rule for each in findings} - {"consumer-nullable"}
    assert bool(findings) is not is_there
    when_present = judged_change(None, Offer(parse_schema(text, language)), [reader(f"{path}!?")])
    assert bool(when_present) is not is_there  # the schema may lack the field, and its records may not


# --- JSON Schema: choices, conditions, and what a schema does not declare


PAYMENT = json.dumps(
    {
        "type": "object",
        "properties": {
            "p": {
                "oneOf": [
                    {"type": "object", "required": ["k"], "properties": {"k": {"const": kind}, "n": {"type": kind[1:]}}}
                    for kind in ("1integer", "2number")
                ]
            }
        },
    }
)
CONDITION = json.dumps(
    {
        "type": "object",
        "properties": {"k": {"type": "string"}, "a": {"type": "integer"}, "b": {"type": "integer"}},
        "if": {"properties": {"k": {"const": "x"}}},
        "then": {"properties": {"a": {"maximum": 5}}},
    }
)
TUPLE = json.dumps(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"t": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}},
    }
)
LIMITS = json.dumps({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"maximum": 5}}}]})


@pytest.mark.parametrize(
    ("was", "change", "path", "expected"),
    [
        (PAYMENT, ('"type": "integer"', '"type": "string"'), "p<0>.n", True),
        (PAYMENT, ('"type": "integer"', '"type": "string"'), "p<1>.n", False),
        (PAYMENT, ('"type": "integer"', '"type": "string"'), "p", True),
        (CONDITION, ('"maximum": 5', '"maximum": 9'), "a", True),
        (CONDITION, ('"maximum": 5', '"maximum": 9'), "b", False),
        (TUPLE, ('"type": "integer"', '"type": "boolean"'), "t[0]", True),
        (TUPLE, ('"type": "integer"', '"type": "boolean"'), "t[1]", False),
        (LIMITS, ('"maximum": 5', '"maximum": 9'), "a", True),
        (LIMITS, ('"maximum": 5', '"maximum": 3'), "a", False),
        (objects(a={"type": "integer"}, b={"type": "integer"}), (', "b": {"type": "integer"}', ""), "", False),
        (objects(a={}, b={"items": {"type": "integer"}}), ('{"items": {"type": "integer"}}', "{}"), "", True),
        (objects(m={"additionalProperties": {"type": "integer"}}), ('{"type": "integer"}', "true"), "m{}", True),
    ],
)
def test_parts_of_json_schemas(was: str, change: tuple[str, str], path: str, *, expected: bool) -> None:
    assert change[0] in was
    paths = [path] if path else []
    assert bool(facts(found(JSON, was, was.replace(*change, 1), *paths))) is expected
    assert not found(JSON, was, was, *paths)


def test_a_property_that_must_be_there_and_is_left_out_breaks_those_who_do_not_expect_that() -> None:
    needed = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
    optional = needed.replace('["a"]', "[]")
    assert facts(found(JSON, needed, optional, "a")) == {("a", "optional")}
    assert not facts(found(JSON, needed, optional, "a?"))
    assert not facts(found(JSON, optional, optional, "a"))


def test_a_parser_that_refuses_the_message_counts_also_at_a_field_that_moved() -> None:
    was = 'syntax = "proto3"; message Order { int32 id = 1; Line c = 4; repeated fixed32 a = 2; } '
    was += "message Line { int32 x = 1; }"
    now = was.replace("c = 4", "c = 2").replace("a = 2", "a = 4")
    declared = reader("id", declared=was, language=PROTOBUF)
    breaks = facts(list(judged_change(None, Offer(parse_schema(now, PROTOBUF)), [declared])))
    assert {each for each, _ in breaks} == {"a", "c"}


@pytest.mark.parametrize(
    ("mine", "theirs", "is_refused"),
    [
        ("R a = 2; } message R { S p = 1; } message S { int32 x = 1;", "T a = 2; } message T { int32 q = 2;", False),
        ("R a = 2; } message R { string p = 1;", "T a = 2; } message T { bytes q = 1;", True),
        ("R a = 2; } message R { optional int32 q = 2;", "map<string, sint32> a = 2;", False),
        ("R a = 2; } message R { string q = 2;", "map<string, bytes> a = 2;", True),
        ("R a = 2; } message R { int32 q = 3;", "string a = 2;", True),
        ("map<string, R> a = 2; } message R { int32 q = 3;", "map<string, string> a = 2;", True),
        ("map<string, int32> a = 2;", "repeated R a = 2; } message R { string k = 1; uint32 v = 2;", False),
        ("map<string, int32> a = 2;", "repeated R a = 2; } message R { bytes k = 1; int32 v = 2;", True),
    ],
)
def test_a_message_is_refused_for_what_is_inside_it(mine: str, theirs: str, *, is_refused: bool) -> None:
    schemas = [f'syntax = "proto3"; message Order {{ int32 id = 1; {each} }}' for each in (mine, theirs)]
    declared = reader("id", declared=schemas[0], language=PROTOBUF)
    offer = Offer(parse_schema(schemas[1], PROTOBUF))
    assert any(each.is_breaking for each in judged_change(None, offer, [declared])) is is_refused


def test_a_list_is_another_break_than_one_value_of_its_type() -> None:
    was, now, packed, loose = (
        f'syntax = "proto3"; message Order {{ {each}; }}'
        for each in ("sint32 a = 3", "uint32 a = 3", "repeated uint32 a = 3", "repeated uint32 a = 3 [packed = false]")
    )
    written = {written for each in (now, packed, loose) for _, written in facts(found(PROTOBUF, was, each, "a"))}
    assert written == {"uint32", "repeated packed uint32", "repeated uint32"}


def test_one_enum_that_becomes_two_is_judged_at_each_of_its_fields() -> None:
    was = 'syntax = "proto3"; message Order { E d = 4; E a = 9; } enum E { L = 0; P = 2; }'
    now = 'syntax = "proto3"; message Order { F d = 4; G a = 9; } enum F { X = 0; Y = 2; } enum G { S = 0; T = 2; }'
    assert facts(found(PROTOBUF, was, now, "a")) == {("a", "S = 0"), ("a", "T = 2")}
    assert facts(found(PROTOBUF, was, now, "d")) == {("d", "X = 0"), ("d", "Y = 2")}
    assert len(facts(found(PROTOBUF, was, now))) == 4


@pytest.mark.parametrize(
    ("mine", "theirs", "place"),
    [
        ("bytes d = 1;", "A d = 1;", "d"),
        ("repeated bytes d = 1;", "repeated A d = 1;", "d"),
        ("map<string, bytes> d = 1;", "map<string, A> d = 1;", "d{}"),
        ("map<string, bytes> d = 1;", "repeated N d = 1;", "d{}"),
        ("map<string, A> d = 1;", "map<string, A> d = 1;", ""),
        ("map<string, bytes> d = 1;", "map<string, string> d = 1;", ""),
    ],
)
def test_a_message_that_is_read_as_bytes_is_misread_wherever_it_stands(mine: str, theirs: str, place: str) -> None:
    more = "message A { int32 x = 1; } message N { string key = 1; A value = 2; }"
    was, now = (f'syntax = "proto3"; message Order {{ {each} }} {more}' for each in (mine, theirs))
    for paths in ([], ["d"]):
        assert (place in {each for each, _ in facts(found(PROTOBUF, was, now, *paths))}) is bool(place)
        assert bool(facts(found(PROTOBUF, was, now, *paths))) is bool(place)


@pytest.mark.parametrize("shape", ["choice", "types"])
def test_the_symbols_of_an_enum_beside_null_are_facts_in_any_order(shape: str) -> None:
    def text(*symbols: str) -> str:
        choice = {"anyOf": [{"type": "null"}, {"$ref": "#/definitions/E"}]}
        field = choice if shape == "choice" else {"type": ["null", "string"], "enum": [None, *symbols]}
        definitions = {"E": {"type": "string", "enum": list(symbols)}}
        return json.dumps({"type": "object", "properties": {"f": field}, "required": ["f"], "definitions": definitions})

    was = text("SENT", "PAID")
    assert facts(found(JSON, was, text("PAID", "GONE"), "f")) == {("f", "GONE")}
    assert facts(found(JSON, was, text("GONE", "PAID"), "f")) == {("f", "GONE")}
    assert facts(found(JSON, was, text("LOST", "GONE"), "f")) == {("f", "GONE"), ("f", "LOST")}
    assert not facts(found(JSON, was, text("PAID"), "f"))


def test_a_type_in_the_place_of_choices_is_a_fact_where_it_is_certain() -> None:
    def text(field: object) -> str:
        return json.dumps({"type": "object", "properties": {"f": field}, "required": ["f"]})

    was = text({"anyOf": [{"type": "integer"}, {"type": "boolean"}]})
    assert facts(found(JSON, was, text({"type": ["integer", "string"]}), "f")) == {("f", "string")}
    first, second = (
        facts(found(JSON, text({"enum": ["A"]}), text({"type": "string", "pattern": each}), "f")) for each in "AB"
    )
    assert first
    assert second
    assert first != second  # which texts are refused depends on the pattern
