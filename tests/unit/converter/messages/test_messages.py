"""Messages of the three languages through plans: what is written, and the code of what cannot be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import converter_of, recipe_of
from counterfoil.converter.messages.table import reading_problem
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derivations import derive_both_ways
from counterfoil.schema.plans.languages import with_message
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_decoder
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of
from strategies.engines.message_plans import (
    SOURCE_ID,
    TARGET_ID,
    as_dict,
    avro,
    converted,
    from_json,
    js,
    message_of,
    plan_of,
    problems,
    proto,
)

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.plans.model import ConversionPlan


def from_json_to(plan: ConversionPlan, **value: Any) -> Any:
    """The Protobuf message that a JSON value becomes, as a dict."""
    made = converted(plan, json.dumps(value).encode())
    return made if isinstance(made, str) else as_dict(plan.target, made)


# -- Protobuf


def test_protobuf_presence():
    source = proto("int64 a = 1; optional int64 b = 2; google.protobuf.StringValue c = 3;")
    plan = plan_of(source, source)
    assert as_dict(source, converted(plan, message_of(source))) == {}
    assert as_dict(source, converted(plan, message_of(source, b=0, c={"value": ""}))) == {"b": "0", "c": ""}
    plain = proto("int64 a = 1; int64 b = 2; string c = 3;")
    row = next(row for row in plan_of(source, plain).rows() if row.target == "b")
    assert row.note == "null becomes the default 0"
    assert as_dict(plain, converted(plan_of(source, plain), message_of(source, a=1))) == {"a": "1"}


def test_protobuf_field_of_another_name_is_found_by_its_number():
    source, target = proto("int64 km = 1; string x = 2;"), proto("int64 distance = 1; string x = 3;")
    plan = plan_of(source, target)
    assert [(row.how, row.source) for row in plan.rows()] == [("same number", "km"), ("same name", "x")]
    assert as_dict(target, converted(plan, message_of(source, km=3, x="a"))) == {"distance": "3", "x": "a"}


def test_protobuf_enums_ranges_and_maps():
    source = proto("enum E { A = 0; B = 1; } E e = 1; uint32 u = 2; uint64 w = 3; map<int32, E> m = 4;")
    plan = plan_of(source, source)
    values = {"e": "B", "u": 2**32 - 1, "w": str(2**64 - 1), "m": {"-1": "B", "2": "A"}}
    body = message_of(source, e=1, u=2**32 - 1, w=2**64 - 1, m={2: 0, -1: 1})
    assert as_dict(source, converted(plan, body)) == values
    assert converted(plan, body) == body
    assert converted(plan, message_of(source, e=5)) == "e undecodable"
    signed = proto("enum E { A = 0; B = 1; } E e = 1; int32 u = 2; int64 w = 3; map<int32, E> m = 4;")
    assert [problem.split(":")[0] for problem in problems(plan_of(source, signed))] == ["u", "w"]
    cast = plan_of(source, signed, u={"from": "u", "cast": "int"}, w={"from": "w", "cast": "long"})
    assert converted(cast, body) == "u out-of-range"


def test_protobuf_number_with_two_names_is_read_as_the_first():
    schema = proto("E e = 1; } enum E { option allow_alias = true; A = 0; B = 1; C = 1;")
    plan = plan_of(schema, js({"e": {"enum": ["A", "B", "C"]}}))
    assert converted(plan, message_of(schema, e=1)) == b'{"e":"B"}'


def test_protobuf_required_field_that_is_not_set_is_undecodable():
    schema = parse_schema('syntax = "proto2"; message Ride { required int32 a = 1; }', SchemaType.PROTOBUF)
    plan = plan_of(schema, schema)
    assert (converted(plan, b"\x00"), converted(plan, b"\x00\x08\x00")) == ("a undecodable", b"\x00\x08\x00")


@pytest.mark.parametrize("key", ["01", " 1", "+1", "1_0", "-0", "\u0663", "x"])
def test_text_that_is_not_written_as_a_whole_number_is_no_key(key: str):
    entries = {"type": "object", "additionalProperties": {"type": "string"}}
    target = proto("map<int32, string> m = 1;")
    plan = plan_of(js({"m": entries}, "m"), target)
    assert from_json_to(plan, m={"1": "a", "-2": "b"}) == {"m": {"1": "a", "-2": "b"}}
    assert from_json_to(plan, m={"1": "a", key: "b"}) == "m{} unencodable"


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_point_in_time_that_no_timestamp_has_is_unencodable(text: str):
    target = proto("google.protobuf.Timestamp t = 1;")
    plan = plan_of(js({"t": {"type": "string", "format": "date-time"}}), target)
    assert from_json_to(plan, t=text) == "t unencodable"
    assert from_json_to(plan, t="9999-12-31T23:59:59Z") == {"t": "9999-12-31T23:59:59Z"}


def test_protobuf_unknown_fields_are_dropped_and_the_plan_notes_it():
    newer, older = proto("int64 a = 1; string b = 2;"), proto("int64 a = 1;")
    plan = plan_of(older, older)
    assert as_dict(older, converted(plan, message_of(newer, a=1, b="x"))) == {"a": "1"}
    assert plan.notes == ("fields that the source's messages do not declare are dropped",)


def test_protobuf_two_fields_of_one_oneof_are_refused():
    source = proto("optional string a = 1; optional string b = 2;")
    plan = plan_of(source, proto("oneof x { string a = 1; string b = 2; }"))
    assert converted(plan, message_of(source, a="1", b="2")) == "unencodable"


def test_protobuf_frame_of_another_message_is_undecodable():
    schema = parse_schema(
        'syntax = "proto3"; message A { int32 a = 1; } message B { int32 a = 1; }', SchemaType.PROTOBUF
    )
    assert converted(plan_of(schema, schema), b"\x02\x02\x08\x01") == "undecodable"
    assert converted(plan_of(schema, schema), b"\x02\x00\x08\x01") == b"\x00\x08\x01"
    assert converted(plan_of(schema, schema), b"\x09") == "not-framed"


# -- across


SEVERAL = """syntax = "proto3"; package taxi;
message Header { int32 version = 1; }
message Trip { message Leg { int64 metres = 1; } string id = 1; Leg leg = 2; }
"""


def test_protobuf_message_other_than_the_first():
    file = parse_schema(SEVERAL, SchemaType.PROTOBUF)
    trip, leg = with_message(file, "taxi.Trip"), with_message(file, "taxi.Trip.Leg")
    plan = plan_of(trip, avro(("id", "string")), ["leg"])
    types = MessageTypes(pooled_file(trip, trip.text))
    body = class_of(types.find("taxi.Trip"))(id="a").SerializeToString()
    assert converted(plan, b"\x02\x02" + body) == b"\x02a"
    assert converted(plan, b"\x00" + body) == "undecodable"  # the message indexes of Header
    back = plan_of(avro(("metres", "long")), leg)
    assert converted(back, b"\x0e") == b"\x04\x02\x00" + b"\x08\x07"
    assert problems(plan_of(with_message(file, "taxi.Tripp"), avro()))[0].endswith("did you mean taxi.Trip?")
    assert plan.hash != plan_of(file, avro(("id", "string"))).hash
    assert reading_problem(trip, parse_schema(PROTO_ONE, SchemaType.PROTOBUF)) == "it has no message taxi.Trip"


PROTO_ONE = 'syntax = "proto3"; message Ride { int32 a = 1; }'
PLACE = {"type": "record", "name": "Place", "fields": [{"name": "lat", "type": "int"}]}


def test_protobuf_message_that_may_be_absent_as_a_required_record():
    source = proto("message Place { int32 lat = 1; } Place at = 1;")
    target = avro(("at", PLACE))
    [problem] = problems(plan_of(source, target))
    assert problem == (
        "at: the source may be null and the field may not; give it a rule with null: error, or null: and a value"
    )
    refused = plan_of(source, target, at={"from": "at", "null": "error"})
    assert converted(refused, message_of(source)) == "at null-not-allowed"
    assert converted(refused, message_of(source, at={"lat": 3})) == b"\x06"
    replaced = plan_of(source, target, at={"from": "at", "null": {"const": {"lat": 4}}})
    assert converted(replaced, message_of(source)) == b"\x08"
    assert replaced.lossy == ("at",)
    renamed = plan_of(
        source, avro(("place", {**PLACE, "fields": [{"name": "latitude", "type": "long"}]})),
        **{"place": {"from": "at", "null": "error"}, "place.latitude": {"from": "at.lat"}},
    )  # fmt: skip
    assert converted(renamed, message_of(source, at={"lat": 3})) == b"\x06"


def test_json_properties_of_any_name_in_rules():
    source = js({"user-id": {"type": "integer"}, "a.b": {"type": "integer"}}, "user-id", "a.b")
    target = js({"user.id": {"type": "integer"}, "$sum": {"type": "number"}}, "user.id", "$sum")
    rules = {'"user.id"': {"from": "user-id"}, "$sum": {"expr": '"user-id" + "a.b"'}}
    assert from_json(plan_of(source, target, **rules), **{"user-id": 2, "a.b": 3}) == {"user.id": 2, "$sum": 5}
    other = js({"x": {"type": "integer"}})
    assert '"a.b": nothing uses the source field' in problems(plan_of(source, other, ["user-id"]))[0]
    assert plan_of(source, other, ["user-id", '"a.b"']).dropped == ("user-id", '"a.b"')


def test_protobuf_to_avro_and_json():
    source = proto(
        "int64 id = 1; google.protobuf.Timestamp at = 2; uint32 seats = 3; repeated string tags = 4; "
        "google.type.Date day = 5; bytes raw = 6; double fare = 7;"
    )
    body = message_of(
        source, id=1, at={"seconds": 1_700_000_000, "nanos": 5_000_000}, seats=4, tags=["a"],
        day={"year": 2026, "month": 1, "day": 31}, raw=b"\x00\xff", fare=1.5,
    )  # fmt: skip
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    target = avro(
        ("id", "long"), ("at", ["null", millis]), ("seats", "long"), ("tags", {"type": "array", "items": "string"}),
        ("day", ["null", {"type": "int", "logicalType": "date"}]), ("raw", "bytes"), ("fare", "double"),
    )  # fmt: skip
    assert "timestamp-nanos as timestamp-millis may lose" in problems(plan_of(source, target))[0]
    made = converted(plan_of(source, target, at={"from": "at", "cast": "timestamp-millis"}), body)
    assert isinstance(made, bytes)
    read = compile_decoder(target)(made, 0)  # type: ignore[arg-type]
    assert (read["id"], read["at"].isoformat(), read["seats"], read["day"].isoformat(), read["raw"]) == (
        1, "2023-11-14T22:13:20.005000+00:00", 4, "2026-01-31", b"\x00\xff",
    )  # fmt: skip
    text = js(
        {
            "id": {"type": "integer"}, "at": {"type": "string", "format": "date-time"}, "seats": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}}, "day": {"type": "string", "format": "date"},
            "raw": {"type": "string", "contentEncoding": "base64"}, "fare": {"type": "number"},
        }
    )  # fmt: skip
    both = plan_of(source, text)
    assert json.loads(converted(both, body)) == {
        "id": 1, "at": "2023-11-14T22:13:20.005Z", "seats": 4, "tags": ["a"], "day": "2026-01-31", "raw": "AP8=",
        "fare": 1.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds", "nanos"),
    [
        ("1970-01-01T00:00:00Z", 0, 0),
        ("1969-12-31T23:59:59.5Z", -1, 500_000_000),
        ("2026-01-31T12:00:00.123456789+01:30", 1_769_855_400, 123_456_789),
        ("2026-02-30T12:00:00Z", None, None),
        ("2026-01-31 12:00:00Z", None, None),
        ("2026-01-31T12:00:00", None, None),
        ("2026-01-31T12:00:00+01:60", None, None),
    ],
)
def test_date_time_of_json_becomes_a_timestamp(text: str, seconds: int | None, nanos: int | None):
    target = proto("google.protobuf.Timestamp at = 1;")
    made = converted(
        plan_of(js({"at": {"type": "string", "format": "date-time"}}), target), json.dumps({"at": text}).encode()
    )
    if seconds is None:
        assert made == "at parse-failed"
    else:
        assert made == message_of(target, at={"seconds": seconds, "nanos": nanos})


def test_date_time_with_more_digits_than_the_unit_is_refused():
    millis = avro(("at", {"type": "long", "logicalType": "timestamp-millis"}))
    plan = plan_of(js({"at": {"type": "string", "format": "date-time"}}, "at"), millis)
    assert converted(plan, b'{"at": "2026-01-31T12:00:00.1230Z"}') == bytes.fromhex("f6f9e4be8267")
    assert converted(plan, b'{"at": "2026-01-31T12:00:00.1234Z"}') == "at parse-failed"
    assert plan.lossy == ("at",)


def test_avro_to_json_and_protobuf():
    source = avro(
        ("pickup_at", {"type": "long", "logicalType": "timestamp-micros"}), ("km", "double"), ("u", ["null", "string"])
    )
    target = js(
        {"pickup_at": {"type": "string", "format": "date-time"}, "km": {"type": "number"}, "u": {"type": "string"}}
    )
    plan = plan_of(source, target)
    assert converted(plan, bytes.fromhex("02") + bytes(8) + b"\x00") == (
        b'{"pickup_at":"1970-01-01T00:00:00.000001Z","km":0.0}'
    )
    nan = bytes.fromhex("02") + bytes.fromhex("000000000000f87f") + b"\x00"
    assert converted(plan, nan) == "km cast-failed"
    camel = proto("google.protobuf.Timestamp pickup_at = 1; double km = 2; optional string u = 3;")
    back = plan_of(
        js({"pickupAt": {"type": "string", "format": "date-time"}, "km": {"type": "number"}, "u": {"type": "string"}}),
        camel,
    )
    assert [row.how for row in back.rows()] == ["alias", "same name", "same name"]


def test_oneof_and_union_of_its_name():
    source = proto(
        "oneof pay { string card = 1; int32 cash = 2; Coupon coupon = 3; } message Coupon { int32 off = 1; }"
    )
    coupon = {"type": "record", "name": "Voucher", "fields": [{"name": "off", "type": "long"}]}
    target = avro(("pay", ["null", "string", "int", coupon]))
    plan = plan_of(source, target)
    read = compile_decoder(target)  # type: ignore[arg-type]
    for values, expected in (
        ({"card": "x"}, "x"), ({"cash": 0}, 0), ({"coupon": {"off": 5}}, {"off": 5}), ({}, None),
    ):  # fmt: skip
        body = message_of(source, **values)
        made = converted(plan, body)
        assert isinstance(made, bytes)
        assert read(made, 0) == {"pay": expected}
        back = derive_both_ways(source, target).back
        assert converted(back, made) == body


def test_branch_that_no_field_of_the_oneof_takes_is_a_problem():
    source, target = avro(("pay", ["string", "bytes"])), proto("oneof pay { string card = 1; int32 cash = 2; }")
    assert problems(plan_of(source, target)) == ["card: no field of the oneof takes the branch bytes"]


def test_nested_messages_of_a_oneof_become_the_records_of_their_names():
    source = proto("message A { int32 x = 1; } message B { string y = 1; int32 x = 2; } oneof v { A a = 1; B b = 2; }")
    whole, text = {"type": "integer"}, {"type": "string"}
    closed = {"type": "object", "additionalProperties": False}
    records = [
        {**closed, "title": "A", "properties": {"x": whole}, "required": ["x"]},
        {**closed, "title": "B", "properties": {"x": whole, "y": text}, "required": ["x", "y"]},
    ]
    plan = plan_of(source, js({"v": {"oneOf": records}}))
    assert converted(plan, message_of(source, b={"y": "q", "x": 1})) == b'{"v":{"x":1,"y":"q"}}'
    others = [{**each, "title": f"Other{each['title']}"} for each in records]
    unnamed = plan_of(source, js({"v": {"oneOf": others}}))
    assert any("no equal and no larger type" in problem for problem in problems(unnamed))


def single(kind: Any, language: SchemaType = SchemaType.AVRO) -> ParsedSchema:
    return parse_schema(json.dumps(kind), language)


JSON_TEXT = single({"type": "string"}, SchemaType.JSON)


@pytest.mark.parametrize(
    ("source", "target", "body", "made"),
    [
        (single("string"), single("string"), b"\x04ab", b"\x04ab"),
        (single("bytes"), single("bytes"), b"\x02\xff", b"\x02\xff"),
        (single("int"), single("long"), b"\x02", b"\x02"),
        (single("int"), single("double"), b"\x02", b"\x00\x00\x00\x00\x00\x00\xf0\x3f"),
        (single("string"), JSON_TEXT, b"\x04ab", b'"ab"'),
        (JSON_TEXT, single("string"), b'"ab"', b"\x04ab"),
        (JSON_TEXT, JSON_TEXT, b' "ab"', b'"ab"'),
        (single("string"), single("string"), b"\x04ab\x00", "$ trailing-bytes"),
        (single("string"), single("string"), b"\x02\xff", "$ undecodable"),
        (JSON_TEXT, JSON_TEXT, b"null", "$ undecodable"),
        (single("string"), single({"type": "string", "maxLength": 1}, SchemaType.JSON), b"\x04ab", "$ unencodable"),
    ],
)
def test_values_without_parts_are_converted_as_a_whole(
    source: ParsedSchema, target: ParsedSchema, body: bytes, made: bytes | str
) -> None:
    found = converted(plan_of(source, target), body)
    assert (found if isinstance(found, bytes) else f"$ {found.split()[-1]}") == made


def test_whole_numbers_of_earlier_versions_are_rounded_to_floats_also_without_a_record() -> None:
    writer, source = single("long"), single("float")
    conversion = Conversion(plan_of(source, single("double")), {SOURCE_ID: source, 8: writer}, TARGET_ID)
    made = converter_of(recipe_of(conversion).packed).convert(frame(8, b"\x82\x80\x80\x10"))  # 2**24 + 1
    assert made[5:] == b"\x00\x00\x00\x00\x00\x00\x70\x41"


@pytest.mark.parametrize(
    ("source", "target", "rules", "problem"),
    [
        (single("long"), single("int"), {}, "not every long can become int"),
        (single("string"), avro(("id", "string")), {}, "the types are string and record Ride"),
        (single(["null", "string"]), single("string"), {}, "two values without parts"),
        (single("string"), single("string"), {"id": {"from": "id"}}, "id: the target has no such field"),
    ],
)
def test_plans_of_values_without_parts_say_what_they_cannot_do(
    source: ParsedSchema, target: ParsedSchema, rules: dict[str, Any], problem: str
) -> None:
    assert any(problem in str(each) for each in plan_of(source, target, **rules).problems)
