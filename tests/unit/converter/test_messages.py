"""Messages of the three languages through plans: what is written, and the code of what cannot be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.json_format import MessageToDict

from counterfoil.converter.engines.choice import choose_engine
from counterfoil.converter.engines.protocol import Conversion, EngineCannot
from counterfoil.converter.engines.reference import converter_of, recipe_of
from counterfoil.converter.messages.table import reading_problem
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans import FailureCode
from counterfoil.schema.plans.derivations import changes_since, derive_both_ways, stored_plan
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluate
from counterfoil.schema.plans.model import ConversionPlan, ProblemKind
from counterfoil.schema.plans.rules import NumberMeaning, PlanRules, parse_rules
from counterfoil.schema.plans.tree import with_message
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_decoder
from counterfoil.sdk.serde.avro.numbers import encode_long
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema

SOURCE_ID, TARGET_ID = 7, 9


def avro(*fields: tuple[str, Any]) -> ParsedSchema:
    members = [{"name": name, "type": kind} for name, kind in fields]
    return parse_schema(json.dumps({"type": "record", "name": "Ride", "fields": members}))


def js(properties: dict[str, Any], *required: str, **more: Any) -> ParsedSchema:
    document = {"type": "object", "properties": properties, "required": list(required), **more}
    return parse_schema(json.dumps(document), SchemaType.JSON)


def proto(body: str, *, syntax: str = "proto3") -> ParsedSchema:
    words = ("timestamp", "wrappers", "duration", "struct")
    imports = "".join(f'import "google/protobuf/{word}.proto"; ' for word in words)
    text = f'syntax = "{syntax}"; {imports} import "google/type/date.proto"; message Ride {{ {body} }}'
    return parse_schema(text, SchemaType.PROTOBUF)


def plan_of(source: ParsedSchema, target: ParsedSchema, drop: Any = None, **rules: Any) -> ConversionPlan:
    return derive_plan(source, target, parse_rules(rules, drop))


def converted(plan: ConversionPlan, body: bytes) -> bytes | str:
    """The converted body without its frame, or the field and code of the failure."""
    assert not plan.problems, plan.problems
    converter = converter_of(recipe_of(Conversion(plan, {SOURCE_ID: plan.source}, TARGET_ID)).packed)
    outcome = converter.convert_value(frame(SOURCE_ID, body))
    if outcome.failure is not None:
        return f"{outcome.failure.field} {outcome.failure.code}".strip()
    assert outcome.value is not None
    assert outcome.value[:5] == frame(TARGET_ID, b"")
    return outcome.value[5:]


def from_json(plan: ConversionPlan, **value: Any) -> Any:
    made = converted(plan, json.dumps(value).encode())
    return made if isinstance(made, str) else json.loads(made)


def message_of(schema: Any, **values: Any) -> bytes:
    """The message indexes and the bytes of the first message."""
    types = MessageTypes(pooled_file(schema, schema.text))
    return b"\x00" + class_of(types.find(None))(**values).SerializeToString(deterministic=True)


def as_dict(schema: Any, body: bytes | str) -> Any:
    assert isinstance(body, bytes), body
    assert body[:1] == b"\x00"
    types = MessageTypes(pooled_file(schema, schema.text))
    return MessageToDict(class_of(types.find(None)).FromString(body[1:]), preserving_proto_field_name=True)


def from_json_to(plan: ConversionPlan, **value: Any) -> Any:
    """The Protobuf message that a JSON value becomes, as a dict."""
    made = converted(plan, json.dumps(value).encode())
    return made if isinstance(made, str) else as_dict(plan.target, made)


def problems(plan: ConversionPlan) -> list[str]:
    return [str(problem) for problem in plan.problems]


# -- JSON


def test_json_property_that_is_left_out_has_its_default_or_stays_out():
    schema = js({"a": {"type": "string"}, "b": {"type": "string", "default": "x"}, "c": {"type": ["string", "null"]}})
    plan = plan_of(schema, js({"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": ["string", "null"]}}))
    assert from_json(plan) == {"b": "x", "c": None}
    assert from_json(plan, a="1", c="2") == {"a": "1", "b": "x", "c": "2"}


def test_json_property_that_is_required_and_left_out_is_undecodable():
    plan = plan_of(js({"a": {"type": "string"}}, "a"), js({"a": {"type": "string"}}))
    assert from_json(plan) == "a undecodable"
    assert from_json(plan, a=1) == "a undecodable"


def test_json_undeclared_properties_are_dropped_and_the_plan_notes_it():
    source = js({"a": {"type": "integer"}})
    plan = plan_of(source, source)
    assert from_json(plan, a=1, other=2) == {"a": 1}
    assert plan.notes == ("properties that the source's schema does not declare are dropped",)
    assert not plan_of(js({"a": {"type": "integer"}}, additionalProperties=False), source).notes


def test_json_numbers_keep_their_digits_and_whole_numbers_have_64_bits():
    source = js({"n": {"type": "number"}, "i": {"type": "integer"}})
    plan = plan_of(source, source)
    assert converted(plan, b'{"n": 12345678901234567890, "i": 2.0}') == b'{"n":12345678901234567890,"i":2}'
    assert from_json(plan, i=2**63) == "i out-of-range"


def test_json_limits_make_types_narrower_and_the_rest_is_validated():
    source = js({"a": {"type": "integer"}})
    narrow = js({"a": {"type": "integer", "minimum": 0, "maximum": 10}})
    assert "long as int may lose" in problems(plan_of(source, narrow))[0]
    plan = plan_of(source, narrow, a={"from": "a", "cast": "int"})
    assert (from_json(plan, a=10), from_json(plan, a=11)) == ({"a": 10}, "a unencodable")


def test_json_branches_of_one_of_are_told_apart_by_their_schemas():
    def card(kind: str, inner: Any) -> Any:
        return {"type": "object", "properties": {"kind": {"const": kind}, "x": inner}, "required": ["kind", "x"]}

    source = js({"pay": {"oneOf": [card("card", {"type": "integer"}), card("cash", {"type": "string"})]}})
    target = js({"pay": {"oneOf": [card("card", {"type": "number"}), card("cash", {"type": "string"})]}})
    for plan in (plan_of(source, source), plan_of(source, target)):
        assert from_json(plan, pay={"kind": "cash", "x": "1"}) == {"pay": {"kind": "cash", "x": "1"}}
        assert from_json(plan, pay={"kind": "card", "x": 1}) == {"pay": {"kind": "card", "x": 1}}
        assert from_json(plan, pay={"kind": "card", "x": "1"}) == "pay undecodable"


def test_json_without_frames_is_read_and_written_as_it_is():
    plan = plan_of(js({"fare": {"type": "number"}}, "fare"), js({"fare": {"type": "number", "maximum": 9}}, "fare"))
    converter = converter_of(recipe_of(Conversion(plan, {SOURCE_ID: plan.source}, None, SOURCE_ID)).packed)
    assert converter.convert_value(b'{"fare": 1.5}').value == b'{"fare":1.5}'
    refused = converter.convert_value(frame(SOURCE_ID, b'{"fare": 1.5}')).failure
    assert refused is not None
    assert refused.code is FailureCode.UNDECODABLE
    with pytest.raises(EngineCannot):
        choose_engine("java", Conversion(plan, {SOURCE_ID: plan.source}, None, SOURCE_ID))


def test_json_types_that_a_plan_cannot_tell_are_copied_to_equal_ones_alone():
    anything = js({"a": {}, "t": {"type": "array", "prefixItems": [{"type": "integer"}]}})
    assert from_json(plan_of(anything, anything), a={"b": [1]}, t=[1, "x"]) == {"a": {"b": [1]}, "t": [1, "x"]}
    assert problems(plan_of(anything, js({"a": {"type": "string"}, "t": anything.document["properties"]["t"]})))


BRANCHES = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"]},
    ]
}


def test_json_default_and_constant_are_values_of_a_branch():
    source = js({"u": {**BRANCHES, "default": {"kind": "b", "y": "q"}}})
    target = js({"u": BRANCHES, "v": BRANCHES, "w": {**BRANCHES, "default": {"kind": "b"}}})
    plan = plan_of(source, target, v={"const": {"kind": "a", "x": 4}})
    assert from_json(plan) == {"u": {"kind": "b", "y": "q"}, "v": {"kind": "a", "x": 4}, "w": {"kind": "b"}}


def test_json_default_of_an_object_may_leave_properties_out():
    ride = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}, "required": ["x"]}
    source = js({"o": {**ride, "default": {"x": 1}}})
    assert from_json(plan_of(source, js({"o": ride}))) == {"o": {"x": 1}}


def test_json_reference_with_more_properties_beside_it_is_a_record_of_its_own():
    extra = {"properties": {"extra": {"type": "integer"}}}
    source = js({"a": {"type": "string"}, "inner": {"allOf": [{"$ref": "#"}, extra]}})
    value = {"a": "1", "inner": {"a": "2", "extra": 3, "inner": {"extra": 4}}}
    assert from_json(plan_of(source, source), **value) == value


def test_json_choice_between_conditions_does_not_hide_the_type():
    source = js({"ip": {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}}, "ip")
    assert converted(plan_of(source, avro(("ip", "string"))), b'{"ip": "::1"}') == b"\x06::1"


def test_json_whole_number_of_any_size_as_text_and_in_a_formula():
    source, digits = js({"n": {"type": "number"}}, "n"), b"9" * 400
    plan = plan_of(source, avro(("n", "string")), n={"from": "n", "cast": "string", "decimals": 2})
    made = converted(plan, b'{"n": %s}' % digits)
    assert isinstance(made, bytes)
    assert made.endswith(digits + b".00")
    assert converted(plan_of(source, avro(("n", "double")), n={"expr": "n * 2"}), b'{"n": %s}' % digits) == "n overflow"


def test_json_schema_that_contains_itself():
    node = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/n"}}}
    schema = js({"n": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": node}})
    assert from_json(plan_of(schema, schema), n={"v": 1, "next": {"v": 2}}) == {"n": {"v": 1, "next": {"v": 2}}}
    assert from_json(plan_of(schema, schema), n={"next": {"v": "2"}}) == "n.next.v undecodable"


def test_json_versions_of_one_subject_are_read_with_the_newest():
    newest = js({"a": {"type": "integer"}, "b": {"type": "string"}}, "a")
    assert reading_problem(newest, js({"a": {"type": "integer"}}, "a")) is None
    assert "a: nothing fills it" in str(reading_problem(newest, js({"b": {"type": "string"}})))
    assert reading_problem(newest, avro(("a", "int"))) == "it is AVRO, and not JSON"


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


def numbered(
    source: str, target: str, numbers: NumberMeaning = NumberMeaning.SAME, drop: Any = None, **rules: Any
) -> ConversionPlan:
    return derive_plan(proto(source), proto(target), parse_rules(rules, drop, numbers=numbers))


def filled(plan: ConversionPlan) -> dict[str, tuple[str, str]]:
    return {row.target: (row.how, row.source) for row in plan.rows() if row.target}


FIRST, SECOND = "string first = 1; string last = 2;", "string full_name = 1; string nick = 2;"
BOTH = {"full_name": {"join": ["first", "last"], "with": " "}}


def test_a_field_that_a_rule_uses_is_not_found_by_its_number():
    plan = numbered(FIRST, SECOND, **BOTH)
    assert plan.is_complete
    assert filled(plan) == {"full_name": ("join", "first, last"), "nick": ("default", "")}
    body = message_of(plan.source, first="Ada", last="Lovelace")
    assert as_dict(plan.target, converted(plan, body)) == {"full_name": "Ada Lovelace"}
    assert filled(numbered(FIRST, SECOND, NumberMeaning.ALL, **BOTH))["nick"] == ("same number", "last")


@pytest.mark.parametrize(
    ("source", "target", "rules", "expected"),
    [
        ("string a = 1; string b = 2;", "string b = 1; string c = 2;", {}, {"b": "same name", "c": "default"}),
        ("string a = 1;", "string b = 1; string c = 2;", {"c": {"from": "a"}}, {"b": "default", "c": "from"}),
        ("int32 a = 1;", "int32 b = 1; int32 c = 2;", {"c": {"expr": "a * 2"}}, {"b": "default", "c": "expr"}),
        (
            "message M { string x = 1; } M m = 1;",
            "message M { string y = 1; string z = 2; } M m = 1;",
            {"m.z": {"from": "m.x"}},
            {"m.y": "default", "m.z": "from"},
        ),
        (
            "message M { string x = 1; } repeated M m = 1;",
            "message M { string y = 1; string z = 2; } repeated M m = 1;",
            {"m[].z": {"from": "x"}},
            {"m[].y": "default", "m[].z": "from"},
        ),
        (
            "message M { string x = 1; } map<string, M> m = 1;",
            "message M { string y = 1; string z = 2; } map<string, M> m = 1;",
            {"m{}.z": {"from": "x"}},
            {"m{}.y": "default", "m{}.z": "from"},
        ),
        (
            "oneof o { string a = 1; int32 b = 2; }",
            "oneof o { string c = 1; int32 d = 2; } string e = 3;",
            {"e": {"from": "a"}},
            {"c": "null", "d": "same number", "e": "from"},
        ),
        (
            "string userName = 1;",
            "string user_name = 2; string other = 1;",
            {},
            {"user_name": "alias", "other": "default"},
        ),
    ],
)
def test_what_a_name_or_a_rule_uses_stays_with_it(
    source: str, target: str, rules: dict[str, Any], expected: dict[str, str]
):
    plan = derive_plan(proto(source), proto(target), parse_rules(rules))
    assert {row.target: row.how for row in plan.rows() if row.target in expected} == expected


def test_the_way_back_finds_by_number_what_the_way_there_did():
    source, target = proto(f"{FIRST} int64 km = 3;"), proto(f"{SECOND} int64 distance = 3;")
    both = derive_both_ways(source, target, parse_rules(BOTH))
    assert filled(both.there)["distance"] == ("same number", "km")
    assert filled(both.back) == {"first": ("default", ""), "last": ("default", ""), "km": ("same number", "distance")}
    assert {loss.field for loss in both.losses} == {"first", "last"}
    nested = "message M { int32 a = 1; } repeated M m = 1;"
    both = derive_both_ways(proto(nested), proto(nested.replace("a = 1", "b = 1")))
    assert filled(both.back)["m[].a"] == ("same number", "m[].b")


def test_a_dropped_field_is_not_found_by_its_number():
    plan = numbered("string a = 1; string b = 2;", "string c = 1; string b = 2;", drop=["a"])
    assert (filled(plan)["c"], plan.dropped) == (("default", ""), ("a",))


def test_numbers_are_asked_for_once():
    source = "int64 km = 1; string x = 2; message M { string a = 1; } M m = 4;"
    target = "int64 distance = 1; string y = 2; message M { string b = 1; } M m = 4;"
    asked = numbered(source, target, NumberMeaning.ASK)
    (problem,) = asked.problems
    assert problem.kind is ProblemKind.BY_NUMBER
    assert "distance from km (number 1), y from x (number 2), m.b from m.a (number 1)" in problem.text
    assert "say numbers: same" in problem.text
    notes = {row.target: row.note for row in asked.rows()}
    assert notes["y"] == "BY NUMBER 2 ALONE, the names differ"
    answered = numbered(source, target)
    assert answered.is_complete
    assert (stored_plan(answered, PlanRules()), stored_plan(asked, PlanRules(numbers=NumberMeaning.ASK))) == (
        None,
        answered,
    )
    assert not numbered("string a = 1;", "string a = 2;", NumberMeaning.ASK).problems


def test_what_a_stored_plan_does_otherwise_is_named():
    rules = parse_rules(BOTH, numbers=NumberMeaning.ASK)
    plan = derive_plan(proto(FIRST), proto(SECOND), rules)
    earlier = stored_plan(plan, rules)
    assert earlier is not None
    assert filled(earlier)["nick"] == ("same number", "last")
    (change,) = changes_since(earlier, plan)
    assert change.startswith("nick is filled from last by its number alone, which a rule or drop uses as well")


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


MADE_BY_0_2 = "3688e080024a52387a17ce26afde18f85295382649f1f084fcfc78cdbc351c62"
"""The hash of the plan that version 0.2 derived of the rules below."""


def test_a_stored_plan_does_not_round_where_decimals_had_no_effect():
    kinds = {"same": decimal(10, 2), "text": "string", "narrow": decimal(10, 4), "shown": decimal(10, 4)}
    source = avro(*kinds.items(), ("other", "int"))
    made = {**dict.fromkeys(("same", "text", "narrow"), decimal(10, 2)), "shown": "string"}
    target = avro(*made.items(), ("other", "int"))
    decimals = {"same": 1, "text": 2, "narrow": 2, "shown": 3}
    casts = {name: "string" if name == "shown" else "decimal" for name in decimals}
    given = {name: {"from": name, "cast": casts[name], "decimals": count} for name, count in decimals.items()}
    rules = parse_rules(given)
    plan = derive_plan(source, target, rules)
    earlier = stored_plan(plan, rules)
    assert earlier is not None
    assert (earlier.hash, plan.hash != MADE_BY_0_2) == (MADE_BY_0_2, True)
    assert [each.partition(",")[0] for each in changes_since(earlier, plan)] == [
        f"{name} is not rounded" for name in decimals
    ]
    value = {"same": b"\x04\xd7", "text": "12.39", "narrow": b"\x01\xe3\xfc", "shown": b"\x01\xe3\xfc", "other": 1}
    assert evaluate(earlier, value) == value | {"text": b"\x04\xd7", "narrow": b"\x04\xd7", "shown": "12.3900"}
    assert evaluate(plan, value) == value | {
        "same": b"\x04\xd8",
        "narrow": b"\x04\xd7",
        "shown": "12.390",
        "text": b"\x04\xd7",
    }


def test_a_stored_plan_ignores_decimals_that_a_new_one_refuses():
    rules = parse_rules({"a": {"from": "a", "cast": "decimal", "decimals": 4}})
    plan = derive_plan(avro(("a", "string")), avro(("a", decimal(10, 2))), rules)
    earlier = stored_plan(plan, rules)
    assert earlier is not None
    assert (plan.is_complete, earlier.is_complete) == (False, True)
    (change,) = changes_since(earlier, plan)
    assert change.startswith("a ignores the decimals of its rule; a new plan refuses them: decimals: 4")


YEAR_1, YEAR_10000 = -62_135_596_800, 253_402_300_800


@pytest.mark.parametrize(("unit", "ticks"), [("millis", 10**3), ("micros", 10**6)])
def test_points_in_time_of_the_years_1_to_9999_are_timestamps(unit: str, ticks: int):
    source = avro(("at", {"type": "long", "logicalType": f"timestamp-{unit}"}))
    target = proto("google.protobuf.Timestamp at = 1;")
    there = plan_of(source, target)
    back = plan_of(target, source, at={"from": "at", "cast": f"timestamp-{unit}", "null": "error"})
    for value in (YEAR_1 * ticks, 0, -1, YEAR_10000 * ticks - 1, 253_402_214_400 * ticks):
        body = encode_long(value)
        made = converted(there, body)
        assert isinstance(made, bytes)
        assert converted(back, made) == body
    last = as_dict(target, converted(there, encode_long(YEAR_10000 * ticks - 1)))
    assert last["at"].startswith("9999-12-31T23:59:59.999")
    for value in (YEAR_1 * ticks - 1, YEAR_10000 * ticks, 2**63 - 1, -(2**63)):
        assert converted(there, encode_long(value)) == "at out-of-range"


def test_a_text_becomes_a_timestamp_of_any_year():
    rule = {"parse": "text", "as": "yyyy-MM-dd HH:mm:ss.SSSSSS", "zone": "Europe/Paris"}
    source, target = avro(("text", "string")), proto("google.protobuf.Timestamp at = 1;")
    plan = plan_of(source, target, at=rule)
    made = converted(plan, encode_long(26) + b"9999-12-31 12:00:00.123456")
    assert as_dict(target, made) == {"at": "9999-12-31T11:00:00.123456Z"}
    assert converted(plan, encode_long(26) + b"0001-01-01 00:00:00.000000") == "at out-of-range"
