"""Serializers and deserializers with a model: which class is made, and what is refused, with its place."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    AvroType,
    DecodeError,
    EncodeError,
    IncompatibleReader,
    InvalidSettings,
    JsonDeserializer,
    JsonSerializer,
    ModelConverter,
    ModelError,
    ModelField,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerializationContext,
    ValidationError,
    schema_of,
    type_name,
)
from counterfoil.sdk.testing import InMemoryRegistry

pytestmark = pytest.mark.usefixtures("each_tier")

RIDES = SerializationContext("rides")
NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


class Status(Enum):
    NEW = "new"
    DONE = "done"


@dataclass
class Place:
    zone: int
    name: str = "?"


@dataclass
class Card:
    number: str


@dataclass
class Cash:
    amount: int


@type_name("taxi.Ride")
@dataclass
class Ride:
    id: int
    pay: Card | Cash | int
    status: Status = Status.NEW
    stops: list[Place] = field(default_factory=list)
    tags: tuple[str, ...] = ()
    homes: dict[str, Place] = field(default_factory=dict)
    pays: list[Card | Cash | None] = field(default_factory=list)
    previous: Ride | None = None


FULL = Ride(
    1,
    Cash(3),
    Status.DONE,
    [Place(1), Place(2, "b")],
    ("x", "y"),
    {"a": Place(3)},
    [Card("1"), None, Cash(2)],
    Ride(2, 7, pays=[Cash(0)]),
)


@pytest.fixture
def registry():
    with InMemoryRegistry().client() as client:
        yield client


def test_a_model_alone_is_enough(registry):
    data = AvroSerializer(registry, model=Ride)(FULL, RIDES)
    assert AvroDeserializer(registry, model=Ride)(data, RIDES) == FULL
    derived = Schema(schema_of(Ride), SchemaType.AVRO)
    assert registry.lookup("rides-value", derived).id == registry.version("rides-value").id
    assert AvroSerializer(registry, model=Ride, subject="RECORD")(None, RIDES) is None
    AvroSerializer(registry, model=Ride, subject="RECORD")(FULL)
    assert "taxi.Ride" in registry.subjects()


def test_plain_values_have_the_same_bytes(registry):
    data = AvroSerializer(registry, model=Ride)(FULL, RIDES)
    plain = AvroDeserializer(registry)(data, RIDES)
    assert plain["pays"] == [{"number": "1"}, None, {"amount": 2}]
    assert (plain["status"], plain["tags"]) == ("done", ["x", "y"])
    plain["pay"] = ("taxi.Cash", plain["pay"])
    assert AvroSerializer(registry, schema_of(Ride))(plain, RIDES) == data


@pytest.mark.parametrize(
    ("change", "path", "expected"),
    [
        ({"id": "x"}, "id", "an int of 64 bits"),
        ({"stops": [Place(1), Place("x")]}, "stops[1].zone", "an int of 64 bits"),
        ({"stops": [Place(1), 7]}, "stops[1]", "a dict (taxi.Place)"),
        ({"stops": 7}, "stops", "a list"),
        ({"status": 7}, "status", "one of the symbols of taxi.Status: new, done"),
        ({"homes": {"a": None}}, "homes['a']", "a dict (taxi.Place)"),
        ({"pay": "x"}, "pay", "a dict (taxi.Card) or a dict (taxi.Cash) or an int of 64 bits"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(registry, change, path, expected):
    with pytest.raises(EncodeError) as caught:
        AvroSerializer(registry, model=Ride)(Ride(**{"id": 1, "pay": 1, **change}), RIDES)
    assert (caught.value.path, caught.value.expected) == (path, expected)
    assert (caught.value.topic, caught.value.subject) == ("rides", "rides-value")


@pytest.mark.slow
def test_an_object_without_an_attribute_and_an_endless_one_are_refused(registry):
    serialize = AvroSerializer(registry, model=Ride)
    broken = Ride(1, 1)
    del broken.id
    with pytest.raises(EncodeError, match="a complete Ride; got"):
        serialize(broken, RIDES)
    endless = Ride(1, 1)
    endless.previous = endless
    with pytest.raises(EncodeError, match="RecursionError"):
        serialize(endless, RIDES)


def test_an_object_of_two_classes_of_a_union_is_refused_and_a_subclass_is_written(registry):
    class GiftCard(Card):
        pass

    class Both(Card, Cash):
        pass

    serialize = AvroSerializer(registry, model=Ride)
    deserialize = AvroDeserializer(registry, model=Ride)
    assert deserialize(serialize(Ride(1, GiftCard("9")), RIDES), RIDES) == Ride(1, Card("9"))
    with pytest.raises(EncodeError, match="Both, which is Card and Cash"):
        serialize(Ride(1, Both(1)), RIDES)


def test_a_reader_fills_what_older_messages_do_not_have(registry):
    @type_name("taxi.Ride")
    @dataclass
    class OldRide:
        id: int
        pay: Card | Cash | int
        colour: str

    data = AvroSerializer(registry, model=OldRide)(OldRide(1, Cash(3), "red"), SerializationContext("old"))
    assert AvroDeserializer(registry, model=Ride)(data, RIDES) == Ride(1, Cash(3))
    with pytest.raises(IncompatibleReader, match="'colour'"):
        AvroDeserializer(registry, model=OldRide)(AvroSerializer(registry, model=Ride)(FULL, RIDES), RIDES)


def one_field(name, key, kind, default):
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind, "default": default}]}


GIVEN = {
    "type": "record",
    "name": "Journey",
    "namespace": "other",
    "fields": [
        {"name": "id", "type": "int"},
        {
            "name": "pay",
            "type": ["null", one_field("Card", "number", "string", ""), one_field("Cash", "amount", "long", 0), "long"],
        },
        {"name": "extra", "type": "string", "default": "!"},
        {"name": "status", "type": {"type": "enum", "name": "S", "symbols": ["new", "done", "lost"]}},
    ],
}


def test_a_model_is_written_and_read_with_a_given_schema(registry):
    serialize = AvroSerializer(registry, json.dumps(GIVEN), model=Ride)
    data = serialize(Ride(1, Card("5")), RIDES)
    assert AvroDeserializer(registry)(data)["extra"] == "!"
    for deserialize in (
        AvroDeserializer(registry, model=Ride, reader=json.dumps(GIVEN)),
        AvroDeserializer(registry, model=Ride, latest=True),
    ):
        assert deserialize(data, RIDES) == Ride(1, Card("5"))
    plain = AvroSerializer(registry, json.dumps(GIVEN))
    deserialize = AvroDeserializer(registry, model=Ride, reader=json.dumps(GIVEN))
    with pytest.raises(DecodeError, match="expected a symbol of Status: new, done; got 'lost'") as caught:
        deserialize(plain({"id": 1, "pay": 1, "status": "lost"}, RIDES), RIDES)
    assert caught.value.path == "status"
    without = {**GIVEN, "fields": GIVEN["fields"][1:]}
    with pytest.raises(IncompatibleReader, match=r"Ride\.id has no default, and the reader's other\.Journey") as caught:
        AvroDeserializer(registry, model=Ride, reader=json.dumps(without))(data, RIDES)
    assert caught.value.path == "id"
    with pytest.raises(EncodeError, match=r"only fields of other\.Journey"):
        AvroSerializer(registry, json.dumps(GIVEN), model=Ride, strict=True)(Ride(1, 1), RIDES)


def test_a_topic_of_several_classes_has_a_union(registry):
    serialize = AvroSerializer(registry, model=Card | Cash)
    deserialize = AvroDeserializer(registry, model=Card | Cash)
    for value in (Card("1"), Cash(1)):
        assert deserialize(serialize(value, RIDES), RIDES) == value
    with pytest.raises(EncodeError):
        serialize(Place(1), RIDES)


class PydanticRide(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, strict=True)

    ride_id: int = pydantic.Field(alias="rideId", gt=0)
    stops: tuple[Place, ...] = ()
    status: Status = Status.NEW
    at: dt.datetime = NOON
    note: str | None = None


@pytest.mark.parametrize("made", [(AvroSerializer, AvroDeserializer), (JsonSerializer, JsonDeserializer)])
def test_a_pydantic_model_is_validated_when_it_is_read(registry, made):
    serialize, deserialize = (each(registry, model=PydanticRide) for each in made)
    ride = PydanticRide(rideId=1, stops=(Place(1, "a"),), status=Status.DONE)
    data = serialize(ride, RIDES)
    assert deserialize(data, RIDES) == ride
    wrong = PydanticRide.model_construct(ride_id=-1)
    if made[0] is JsonSerializer:
        with pytest.raises(ValidationError, match="rideId"):
            serialize(wrong, RIDES)
        body = serialize(ride, RIDES).replace(b'"rideId":1', b'"rideId":0')
    else:
        body = serialize(wrong, RIDES)
    with pytest.raises(DecodeError, match="greater than 0") as caught:
        deserialize(body, RIDES)
    assert caught.value.path == "rideId"


class Trip(TypedDict, total=False):
    id: Annotated[int, ModelField(name="trip_id")]
    stops: list[Place]
    status: Status


def test_a_typed_dict_may_leave_keys_out(registry):
    serialize, deserialize = AvroSerializer(registry, model=Trip), AvroDeserializer(registry, model=Trip)
    for value in ({}, {"id": 1}, {"id": 1, "stops": [Place(1)], "status": Status.DONE}):
        data = serialize(value, RIDES)
        assert deserialize(data, RIDES) == value
    assert AvroDeserializer(registry)(data)["trip_id"] == 1


@attrs.define
class Small:
    number: int = attrs.field(validator=attrs.validators.lt(10))


@dataclass
class Holder:
    smalls: list[Small]


def test_a_class_that_refuses_what_is_read_gives_an_error_with_the_place(registry):
    large = Small(1)
    object.__setattr__(large, "number", 11)
    data = AvroSerializer(registry, model=Holder)(Holder([Small(1), large]), RIDES)
    with pytest.raises(DecodeError, match="Small refuses it: ValueError") as caught:
        AvroDeserializer(registry, model=Holder)(data, RIDES)
    assert (caught.value.path, caught.value.data) == ("smalls[1]", data)


def test_constructors_that_do_more_than_set_attributes_run(registry):
    @dataclass
    class Counted:
        made = 0
        n: int

        def __post_init__(self):
            type(self).made += 1

    @dataclass
    class Own:
        n: int

        def __init__(self, n):
            self.n = n + 100

    @attrs.define
    class Converted:
        n: int = attrs.field(converter=lambda n: n * 10)

    @dataclass(frozen=True, slots=True)
    class Frozen:
        n: int

    data = AvroSerializer(registry, '{"type":"record","name":"R","fields":[{"name":"n","type":"long"}]}')(
        {"n": 1}, RIDES
    )
    made: list[Any] = [
        AvroDeserializer(registry, model=type_name("R")(cls))(data) for cls in (Counted, Own, Converted, Frozen)
    ]
    assert [each.n for each in made] == [1, 101, 10, 1]
    assert Counted.made == 1


def test_nanoseconds_are_numbers_or_whole_microseconds(registry):
    @type_name("Event")
    @dataclass
    class Exact:
        at: Annotated[int, AvroType("timestamp-nanos")]

    @type_name("Event")
    @dataclass
    class Moment:
        at: Annotated[dt.datetime, AvroType("timestamp-nanos")]

    exact, moment = (AvroDeserializer(registry, model=model) for model in (Exact, Moment))
    data = AvroSerializer(registry, model=Moment)(Moment(NOON), RIDES)
    assert moment(data, RIDES) == Moment(NOON)
    read: Any = exact(data, RIDES)
    nanos = read.at
    data = AvroSerializer(registry, model=Exact)(Exact(nanos + 1), RIDES)
    assert exact(data, RIDES) == Exact(nanos + 1)
    with pytest.raises(DecodeError, match="whole microseconds, or the field to be an int") as caught:
        moment(data, RIDES)
    assert caught.value.path == "at"


def test_json_tells_tagged_structs_apart_and_names_the_others(registry):
    card, cash = (msgspec.defstruct(name, [("n", int)], tag=True) for name in ("Card", "Cash"))
    serialize, deserialize = JsonSerializer(registry, model=card | cash), JsonDeserializer(registry, model=card | cash)
    for value in (card(1), cash(1)):
        assert deserialize(serialize(value, RIDES), RIDES) == value
    with pytest.raises(ModelError, match=r"Card \| .*Cash.*tag=True"):
        JsonDeserializer(registry, model=Card | Cash)(serialize(card(1), RIDES), RIDES)


def test_json_of_a_model_is_validated_under_the_derived_schema(registry):
    serialize, deserialize = JsonSerializer(registry, model=Place), JsonDeserializer(registry, model=Place)
    assert deserialize(serialize(Place(1), RIDES), RIDES) == Place(1)
    assert json.loads(registry.version("rides-value").schema.text) == json.loads(schema_of(Place, language="json"))
    with pytest.raises(ValidationError, match="zone"):
        serialize(Place("x"), RIDES)
    JsonSerializer(registry, model=Place, subject="RECORD")(Place(1), RIDES)
    assert "Place" in registry.subjects()


def test_json_of_pydantic_has_no_numbers_that_are_not_finite(registry):
    class Reading(pydantic.BaseModel):
        value: float | None

    serialize, deserialize = JsonSerializer(registry, model=Reading), JsonDeserializer(registry, model=Reading)
    data = serialize(Reading(value=None), RIDES)
    assert deserialize(data, RIDES) == Reading(value=None)
    with pytest.raises(EncodeError, match="finite") as caught:
        serialize(Reading(value=float("nan")), RIDES)
    assert caught.value.path == "value"
    for body in (b'{"value":NaN}', b'{"value":', b'{"value":"x"}'):
        with pytest.raises(DecodeError):
            deserialize(data[:5] + body, RIDES)
    with pytest.raises(EncodeError, match=r"expected Reading; got Place\("):
        serialize(Place(1), RIDES)
    with pytest.raises(EncodeError, match="cannot be written"):
        serialize(Reading.model_construct(value="x"), RIDES)


@pytest.mark.parametrize("make", [AvroSerializer, JsonSerializer])
def test_a_model_and_a_conversion_are_one_too_many(registry, make):
    with pytest.raises(InvalidSettings, match="leave out to_dict"):
        make(registry, model=Place, to_dict=lambda value, _: value)
    with pytest.raises(ModelError, match=r"expected a msgspec\.Struct"):
        make(registry, model=int)


def test_a_big_decimal_and_digits(registry):
    @dataclass
    class Price:
        exact: Annotated[Decimal, AvroType("big-decimal")]
        money: Annotated[Decimal, AvroType("decimal", precision=4, scale=2)]

    data = AvroSerializer(registry, model=Price)(Price(Decimal("1E-20"), Decimal("1.5")), RIDES)
    assert AvroDeserializer(registry, model=Price)(data, RIDES) == Price(Decimal("1E-20"), Decimal("1.5"))
    with pytest.raises(EncodeError, match="at most 4 digits"):
        AvroSerializer(registry, model=Price)(Price(Decimal(1), Decimal("1.555")), RIDES)


PROTO = """
syntax = "proto3";
package taxi;
import "google/protobuf/timestamp.proto";
enum Kind { UNKNOWN = 0; CARD = 1; }
message Place { int32 zone = 1; string name = 2; }
message Ride {
  int64 id = 1; Kind kind = 2; repeated Place stops = 3; google.protobuf.Timestamp at = 4; optional string note = 5;
}
"""


class Kind(Enum):
    UNKNOWN = 0
    CARD = 1


@dataclass
class ProtoRide:
    id: int
    kind: Kind
    stops: tuple[Place, ...]
    at: dt.datetime | None
    note: str = "none"


def test_protobuf_is_written_and_read_with_the_conversions_of_a_model(registry):
    converter = ModelConverter(ProtoRide)
    serialize = ProtobufSerializer(registry, PROTO, message="taxi.Ride", to_dict=converter.to_dict)
    deserialize = ProtobufDeserializer(registry, values="dict", from_dict=converter.from_dict)
    full = ProtoRide(1, Kind.CARD, (Place(1, "a"), Place(2, "")), NOON, "x")
    for ride in (full, ProtoRide(0, Kind.UNKNOWN, (), None)):
        assert deserialize(serialize(ride, RIDES), RIDES) == ride
    unset = ProtobufSerializer(registry, PROTO, message="taxi.Ride")({}, RIDES)
    assert deserialize(unset, RIDES) == ProtoRide(0, Kind.UNKNOWN, (), None, "none")
