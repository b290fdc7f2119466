"""Dicts as Protobuf messages and back: every type of field, the place of a value that does not fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import json_format, timestamp_pb2
from google.protobuf.message_factory import GetMessageClass
from hypothesis import assume, given
from hypothesis import strategies as st

from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.protobuf.decode import compile_decoder
from counterfoil.sdk.serde.protobuf.encode import compile_encoder
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of
from strategies.cases.depth import times_the_examples
from strategies.protobuf.messages import messages
from strategies.protobuf.schemas import protobuf_schemas

RIDE = """syntax = "proto3"; package taxi;
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";
import "google/protobuf/wrappers.proto"; import "google/protobuf/field_mask.proto";
import "confluent/type/decimal.proto"; import "google/type/decimal.proto";
message Ride {
  map<string, int32> tags = 1; Place pickup = 2; google.protobuf.Timestamp at = 3; google.protobuf.Struct extra = 4;
  google.protobuf.Any any = 5; google.protobuf.Int64Value wrapped = 6; confluent.type.Decimal fare = 7;
  google.protobuf.Duration took = 8; google.protobuf.FieldMask mask = 9;
  oneof paid { string cash = 10; int32 card = 11; }
  Kind kind = 12; repeated int32 numbers = 13; Stops stops = 14; optional int32 maybe = 15;
  google.protobuf.Value json = 16; float small = 17; bytes raw = 18; google.type.Decimal price = 19; bool is_gift = 20;
  message Place { double lat = 1; optional string name = 2; }
  message Stops { map<int32, Place> by_number = 1; repeated Place all = 2; }
  enum Kind { NONE = 0; SHARED = 1; }
}"""


def types_of(text: str) -> MessageTypes:
    return MessageTypes(pooled_file(parse_protobuf(text)))


def codec_of(text: str, name: str | None = None) -> tuple[Any, Any, Any]:
    descriptor = types_of(text).find(name)
    class_ = class_of(descriptor)
    return compile_encoder(descriptor), compile_decoder(class_, as_dict=True), class_


WRITE, READ, Ride = codec_of(RIDE, "taxi.Ride")

FULL = {
    "tags": {"a": 1, "é": -2},
    "pickup": {"lat": 1.0, "name": ""},
    "at": datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    "extra": {"a": [1.0, None, {"b": True}], "c": {}},
    "any": {"@type": "type.googleapis.com/taxi.Ride.Place", "lat": 2.0},
    "wrapped": 0,
    "fare": Decimal("-12.50"),
    "took": timedelta(days=-1, microseconds=5),
    "mask": ["pickup.lat", "at"],
    "card": 0,
    "kind": "SHARED",
    "numbers": [1, -2],
    "stops": {"by_number": {3: {"lat": 4.0}}, "all": [{"lat": 0.0}, {"lat": 0.0, "name": "x"}]},
    "maybe": 0,
    "json": None,
    "small": 1.5,
    "raw": b"\xff",
    "price": Decimal("0.10"),
    "is_gift": True,
}


def test_a_dict_is_read_as_it_was_written():
    assert READ(WRITE(FULL), 0) == FULL


def test_fields_without_presence_are_always_read_and_others_when_they_are_set():
    assert READ(b"", 0) == {
        "tags": {},
        "kind": "NONE",
        "numbers": [],
        "small": 0.0,
        "raw": b"",
        "is_gift": False,
    }
    assert WRITE({"maybe": None, "pickup": None, "numbers": None, "cash": None, "card": 1}) == WRITE({"card": 1})
    assert READ(WRITE({"pickup": {}}), 0)["pickup"] == {"lat": 0.0}


def test_names_of_json_messages_symbols_and_numbers_may_be_written():
    assert WRITE({"isGift": True, "kind": 7}) == WRITE(Ride(is_gift=True, kind=7))
    assert READ(WRITE({"kind": 7}), 0)["kind"] == 7
    assert WRITE({"pickup": GetMessageClass(Ride.DESCRIPTOR.nested_types_by_name["Place"])(lat=3)}) == WRITE(
        {"pickup": {"lat": 3}}
    )
    at = timestamp_pb2.Timestamp(seconds=5)  # of the compiled class, not of the schema's own
    assert WRITE({"at": at}) == WRITE({"at": {"seconds": 5}}) == WRITE({"at": "1970-01-01T00:00:05Z"})
    assert WRITE({"any": at}) == WRITE({"any": {"@type": "type.googleapis.com/google.protobuf.Timestamp", "value": at}})


BAD = [
    ({"pickup": {"lat": "x"}}, "pickup.lat", "double", "'x' (str)"),
    ({"pickup": {"zone": 1}}, "pickup.zone", "a field of taxi.Ride.Place: lat, name", "'zone'"),
    ({"stops": {"all": [{}, {"name": 3}]}}, "stops.all[1].name", "string", "3 (int)"),
    ({"stops": {"by_number": {"k": {}}}}, "stops.by_number['k']", "int32", "'k' (str)"),
    ({"stops": {"by_number": {2**40: {}}}}, f"stops.by_number[{2**40}]", "a key of int32", f"{2**40} (int)"),
    ({"stops": {"by_number": {1: {"lat": True}}}}, "stops.by_number[1].lat", "double", "True (bool)"),
    ({"stops": {"by_number": 1}}, "stops.by_number", "a dict", "1 (int)"),
    ({"cash": "a", "card": 1}, "", "one field of the oneof paid", "cash and card"),
    ({"tags": {"a": 2**40}}, "tags['a']", "int32 at a key of string", f"{2**40} (int)"),
    ({"maybe": 2**31}, "maybe", "int32", f"{2**31} (int)"),
    ({"maybe": True}, "maybe", "int32", "True (bool)"),
    ({"maybe": 1.0}, "maybe", "int32", "1.0 (float)"),
    ({"is_gift": 1}, "is_gift", "bool", "1 (int)"),
    ({"kind": "X"}, "kind", "a symbol of taxi.Ride.Kind: NONE, SHARED", "'X' (str)"),
    ({"kind": True}, "kind", "a symbol of taxi.Ride.Kind: NONE, SHARED", "True (bool)"),
    ({"at": 3}, "at", "a datetime, or a time such as '2026-01-31T12:00:00Z'", "3 (int)"),
    ({"at": "noon"}, "at", "a datetime, or a time such as '2026-01-31T12:00:00Z'", "'noon' (str)"),
    ({"at": datetime(2024, 1, 1)}, "at", "a datetime with a time zone", None),  # noqa: DTZ001
    ({"took": 1.5}, "took", "a timedelta, or a duration such as '1.5s'", "1.5 (float)"),
    ({"numbers": [1, "x"]}, "numbers[1]", "int32", "'x' (str)"),
    ({"numbers": [None]}, "numbers[0]", "int32", "None (NoneType)"),
    ({"numbers": 5}, "numbers", "a list of int32", "5 (int)"),
    ({"numbers": "12"}, "numbers", "a list of int32", "'12' (str)"),
    ({"small": 1e300}, "small", "float", "1e+300 (float)"),
    ({"raw": "a"}, "raw", "bytes", "'a' (str)"),
    ({"cash": b"a"}, "cash", "string", "b'a' (bytes)"),
    ({"any": {"@type": "x/y"}}, "any.@type", "the URL of a message type that the schema knows", "'x/y' (str)"),
    ({"any": {"@type": "x/taxi.Ride.Place", "lat": "a"}}, "any.lat", "double", "'a' (str)"),
    ({"wrapped": "a"}, "wrapped", "int64", "'a' (str)"),
    ({"fare": Decimal("nan")}, "fare", "a finite Decimal of at most 4300 digits", "Decimal('NaN') (Decimal)"),
    ({"price": 0.1}, "price", "a finite Decimal of at most 4300 digits", "0.1 (float)"),
    ({"pickup": 3}, "pickup", "a dict or a message of taxi.Ride.Place", "3 (int)"),
    ({"extra": {"a": [b""]}}, "extra['a'][0]", "a JSON value: None, bool, number, str, list or dict", "b'' (bytes)"),
    ({"extra": {1: 2}}, "extra", "a str as key", "1 (int)"),
    ({"json": 2**60 + 1}, "json", "a number that a double holds", f"{2**60 + 1} (int)"),
    ({"mask": [1]}, "mask[0]", "the path of a field", "1 (int)"),
    (7, "", "a message of taxi.Ride, or a dict", "7 (int)"),
]


@pytest.mark.parametrize(("value", "path", "expected", "got"), BAD, ids=[f"{each[0]!r:.40}" for each in BAD])
def test_a_value_that_does_not_fit_is_refused_with_its_place(value: Any, path: str, expected: str, got: str | None):
    with pytest.raises(EncodeError) as caught:
        WRITE(value)
    assert (caught.value.path, caught.value.expected) == (path, expected)
    assert got is None or caught.value.got == got
    assert str(caught.value).startswith(f"{path or 'The value'}: ")


def test_a_message_of_another_type_is_refused():
    with pytest.raises(EncodeError, match=r"expected a message of taxi.Ride, or a dict; got .*Timestamp"):
        WRITE(timestamp_pb2.Timestamp(seconds=1))


def test_a_dict_that_contains_itself_is_refused():
    json: list[Any] = []
    json.append(json)
    with pytest.raises(EncodeError, match="nested too deep"):
        WRITE({"extra": {"a": json}})


def test_a_required_field_without_a_value_is_refused_with_its_place():
    write, _, class_ = codec_of(
        'syntax="proto2"; message A { optional B b = 1; } message B { required int32 n = 1; repeated B more = 2; }'
    )
    for value in ({"b": {"n": 1, "more": [{}]}}, class_(b={"n": 1, "more": [{}]})):
        with pytest.raises(EncodeError, match="required") as caught:
            write(value)
        assert caught.value.path == "b.more[0].n"


def test_groups_extensions_and_closed_enums_of_proto2():
    write, read, _ = codec_of(
        """syntax = "proto2"; package p;
        message A { optional group Point = 1 { optional int32 x = 1; } optional E e = 2; extensions 100 to 200;
                    optional string named = 3 [default = "n"]; }
        enum E { ONE = 1; TWO = 2; }
        extend A { optional A more = 100; repeated int32 numbers = 101; }""",
        "p.A",
    )
    value = {"point": {"x": 1}, "e": "TWO", "[p.more]": {"e": "ONE"}, "[p.numbers]": [1, 2]}
    assert read(write(value), 0) == value
    for wrong, path in (({"e": 3}, "e"), ({"[p.none]": 1}, "[p.none]"), ({"[p.numbers]": ["x"]}, "[p.numbers][0]")):
        with pytest.raises(EncodeError) as caught:
            write(wrong)
        assert caught.value.path == path


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (Ride(at={"seconds": 2**50}), "at"),
        (Ride(took={"seconds": 2**60}), "took"),
        (Ride(price={"value": "x"}), "price"),
        (Ride(fare={"value": b"\x01" * 70_000}), "fare"),
        (Ride(any={"type_url": "x/taxi.Ride.Place", "value": b"\x09"}), "any"),
    ],
)
def test_a_message_that_python_has_no_value_for_is_refused_with_its_place(body: Any, path: str):
    with pytest.raises(DecodeError) as caught:
        READ(body.SerializeToString(), 0)
    assert caught.value.path == path


@pytest.mark.slow
@times_the_examples(3)
@given(st.data())
def test_dicts_have_what_messages_have(data: st.DataObject):
    """Every message is written as it was read, and the runtime's own conversion makes the same message of its dict."""
    types = types_of(data.draw(protobuf_schemas()))
    assume(types.declared)
    descriptor = data.draw(st.sampled_from(list(types.declared.values())))
    message = data.draw(messages(descriptor))
    write, read = compile_encoder(descriptor), compile_decoder(class_of(descriptor), as_dict=True)
    body = message.SerializeToString(deterministic=True)
    again = GetMessageClass(descriptor).FromString(write(read(body, 0)))
    assert again == message
    if "nobody.Knows" not in str(message):
        theirs = json_format.MessageToDict(again, descriptor_pool=descriptor.file.pool)
        assert theirs == json_format.MessageToDict(message, descriptor_pool=descriptor.file.pool)
