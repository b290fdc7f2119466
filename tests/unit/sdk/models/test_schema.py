"""Schemas of models: the same of every kind of class, and a clear error for a class without one."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Generic, Literal, NewType, NotRequired, Optional, TypedDict, TypeVar
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest

from counterfoil.sdk import AvroType, Duration, InvalidSettings, ModelError, ModelField, schema_of, type_name

T = TypeVar("T")
RideId = NewType("RideId", UUID)
Money = Annotated[Decimal, AvroType("decimal", precision=9, scale=2)]


class Status(Enum):
    NEW = "new"
    DONE = "done"


class Level(IntEnum):
    """How much."""

    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Place:
    """Where a ride begins or ends."""

    zone: int
    name: Annotated[str, ModelField(doc="As on the map.", aliases=["label"])] = "?"


@dataclass
class Card:
    number: str


@dataclass
class Cash:
    amount: Money


@type_name("taxi.Ride", aliases=["taxi.Trip"])
@dataclass
class Ride:
    id: RideId
    at: dt.datetime
    pay: Card | Cash
    level: Level
    nick: Optional[str] = None  # noqa: UP045 - the other spelling
    rating: int | None = 5
    status: Status = Status.NEW
    stops: list[Place] = field(default_factory=list)
    tags: frozenset[str] = frozenset({"b", "a"})
    by_name: dict[str, Place] = field(default_factory=dict)
    kind: Literal["a", "b"] = "a"
    took: Duration | None = None
    previous: Ride | None = None
    home: Place = Place(1, "h")
    price: Money = Decimal("1.5")
    made: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))


PLACE = {
    "type": "record",
    "name": "Place",
    "doc": "Where a ride begins or ends.",
    "fields": [
        {"name": "zone", "type": "long"},
        {"name": "name", "doc": "As on the map.", "type": "string", "default": "?", "aliases": ["label"]},
    ],
}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
INSTANT = {"type": "long", "logicalType": "timestamp-micros"}
RIDE = {
    "type": "record",
    "name": "Ride",
    "namespace": "taxi",
    "aliases": ["taxi.Trip"],
    "fields": [
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": INSTANT},
        {
            "name": "pay",
            "type": [
                {"type": "record", "name": "Card", "fields": [{"name": "number", "type": "string"}]},
                {"type": "record", "name": "Cash", "fields": [{"name": "amount", "type": MONEY}]},
            ],
        },
        {"name": "level", "type": {"type": "enum", "name": "Level", "doc": "How much.", "symbols": ["LOW", "HIGH"]}},
        {"name": "nick", "type": ["null", "string"], "default": None},
        {"name": "rating", "type": ["long", "null"], "default": 5},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["new", "done"]}, "default": "new"},
        {"name": "stops", "type": {"type": "array", "items": PLACE}, "default": []},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["a", "b"]},
        {"name": "by_name", "type": {"type": "map", "values": "taxi.Place"}, "default": {}},
        {"name": "kind", "type": {"type": "enum", "name": "Ride_kind", "symbols": ["a", "b"]}, "default": "a"},
        {
            "name": "took",
            "type": ["null", {"type": "fixed", "name": "Duration", "size": 12, "logicalType": "duration"}],
            "default": None,
        },
        {"name": "previous", "type": ["null", "taxi.Ride"], "default": None},
        {"name": "home", "type": "taxi.Place", "default": {"zone": 1, "name": "h"}},
        {"name": "price", "type": MONEY, "default": "\u0000\u0096"},
        {"name": "made", "type": INSTANT},
    ],
}


def test_an_avro_schema_has_names_types_defaults_and_docs():
    assert json.loads(schema_of(Ride)) == RIDE
    assert schema_of(Ride) == schema_of(Ride)


def test_a_json_schema_has_the_same_facts():
    document = json.loads(schema_of(Card, language="json"))
    assert document == {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Card",
        "type": "object",
        "properties": {"number": {"type": "string"}},
        "required": ["number"],
        "additionalProperties": False,
    }

    @dataclass
    class Trip:
        """A trip."""

        status: Status
        at: dt.datetime
        name: Annotated[str, msgspec.Meta(min_length=1, pattern="^[a-z]", description="In small letters.")]
        took: dt.timedelta | None = None
        home: Place = Place(1)
        level: Level = Level.LOW
        seats: Annotated[int, msgspec.Meta(ge=1, le=6)] = 1
        more: Any = None

    document = json.loads(schema_of(Trip, language="json"))
    assert document["description"] == "A trip."
    assert document["required"] == ["status", "at", "name"]
    assert document["properties"] == {
        "status": {"$ref": "#/definitions/Status"},
        "at": {"type": "string", "format": "date-time"},
        "name": {"type": "string", "minLength": 1, "pattern": "^[a-z]", "description": "In small letters."},
        "took": {"anyOf": [{"type": "string", "format": "duration"}, {"type": "null"}], "default": None},
        "home": {"$ref": "#/definitions/Place"},
        "level": {"allOf": [{"$ref": "#/definitions/Level"}], "default": 1},
        "seats": {"type": "integer", "minimum": 1, "maximum": 6, "default": 1},
        "more": {"default": None},
    }
    assert [*document["definitions"]] == ["Status", "Place", "Level"]
    assert json.loads(schema_of(Node, language="json"))["properties"]["next"]["anyOf"][0] == {"$ref": "#"}


@dataclass
class Node:
    next: Node | None = None


class StructTrip(msgspec.Struct, kw_only=True):
    id: UUID
    stops: list[str]
    note: str | None = None


@attrs.define(kw_only=True)
class AttrsTrip:
    id: UUID
    stops: list[str]
    note: str | None = None


@dataclass(kw_only=True, slots=True)
class DataclassTrip:
    id: UUID
    stops: list[str]
    note: str | None = None


class PydanticTrip(pydantic.BaseModel):
    id: UUID
    stops: list[str]
    note: str | None = None


class DictTrip(TypedDict):
    id: UUID
    stops: list[str]
    note: NotRequired[str | None]


KINDS = [StructTrip, AttrsTrip, DataclassTrip, PydanticTrip, DictTrip]


@pytest.mark.parametrize("language", ["avro", "json"])
def test_every_kind_of_class_has_the_same_schema(language):
    texts = {schema_of(type_name("taxi.Trip")(cls), language=language) for cls in KINDS}
    if language == "json":  # a key that may be absent has no default
        texts = {text.replace(',\n      "default": null', "") for text in texts}
    assert len(texts) == 1


def test_pydantic_fields_have_their_aliases_descriptions_and_digits():
    class Trip(pydantic.BaseModel):
        ride_id: int = pydantic.Field(alias="rideId", ge=1, description="The id.")
        price: Decimal = pydantic.Field(max_digits=6, decimal_places=2, default=Decimal("1.50"))

    assert json.loads(schema_of(Trip))["fields"] == [
        {"name": "rideId", "doc": "The id.", "type": "long"},
        {"name": "price", "type": {**MONEY, "precision": 6}, "default": "\u0000\u0096"},
    ]
    properties = json.loads(schema_of(Trip, language="json"))["properties"]
    assert properties["rideId"] == {"type": "integer", "minimum": 1, "description": "The id."}


def test_avro_types_are_chosen_by_markers():
    words = {
        "int": (int, AvroType("int")),
        "float": (float, AvroType("float")),
        "time-millis": (dt.time, AvroType("time-millis")),
        "timestamp-nanos": (int, AvroType("timestamp-nanos")),
        "local-timestamp-millis": (dt.datetime, AvroType("local-timestamp-millis")),
        "big-decimal": (Decimal, AvroType("big-decimal")),
    }
    model = make_dataclass("Trip", [(f"f{index}", Annotated[pair]) for index, pair in enumerate(words.values())])
    types = [one["type"] for one in json.loads(schema_of(model))["fields"]]
    assert [one if isinstance(one, str) else one["logicalType"] for one in types] == [*words]
    fixed = make_dataclass(
        "Trip",
        [
            ("hash", Annotated[bytes, AvroType("fixed", name="x.Md5", size=16)]),
            ("id", Annotated[UUID, AvroType("uuid", name="Id")]),
            ("other", Annotated[UUID, AvroType("uuid", name="Id")]),
            ("n", Annotated[Decimal, AvroType("decimal", precision=4, scale=1, name="N", size=2)]),
        ],
    )
    assert [one["type"] for one in json.loads(schema_of(fixed))["fields"]] == [
        {"type": "fixed", "name": "Md5", "namespace": "x", "size": 16},
        {"type": "fixed", "name": "Id", "size": 16, "logicalType": "uuid"},
        "Id",
        {"type": "fixed", "name": "N", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 1},
    ]


def test_types_that_differ_only_in_the_name_of_a_fixed_can_be_in_one_union():
    model = make_dataclass("Trip", [("a", Annotated[UUID, AvroType("uuid", name="Id")] | Duration | bytes)])
    assert [
        one if isinstance(one, str) else one["name"] for one in json.loads(schema_of(model))["fields"][0]["type"]
    ] == [
        "Id",
        "Duration",
        "bytes",
    ]


def test_a_union_of_models_is_a_schema_too():
    assert [one["name"] for one in json.loads(schema_of(Card | Cash))] == ["Card", "Cash"]
    assert len(json.loads(schema_of(Card | Cash, language="json"))["anyOf"]) == 2


@dataclass
class Box(Generic[T]):
    inner: T


class Outer:
    pass


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (complex, "expected bool, int"),
        (Outer, "or another model"),
        (Box[int], "a class without type parameters"),
        (list, "Avro has no type for any value"),
        (Any, "Avro has no type for any value"),
        (Decimal, 'AvroType\\("decimal", precision=10, scale=2\\)'),
        (dt.timedelta, "Duration"),
        (tuple[int, str], r"tuple\[T, ...\]"),
        (dict[int, str], "keys are str"),
        (int | dt.datetime, "both are long in Avro"),
        (Status | Level, "both are str in Avro"),
        (Status | str, "both are str in Avro"),
        (list[int] | set[int], "both are array in Avro"),
        (dict[str, int] | Card, "both are read as dicts"),
        (Annotated[int, AvroType("date")], "'long' or 'int'"),
        (Annotated[bytes, AvroType("fixed")], "name= and size="),
        (Annotated[Decimal, AvroType("decimal", precision=2, scale=3)], "precision of 1 or more"),
        (Annotated[Decimal, AvroType("decimal", precision=9, name="D", size=2)], "precision from 1 to 4"),
        (Annotated[int, ModelField(name="a b")], "a name of letters"),
        (Literal[1.5], "literals that are str, int, bool"),
    ],
)
def test_a_field_without_an_avro_type_is_named(annotation, expected):
    model = make_dataclass("Trip", [("seats", int), ("wrong", annotation)])
    with pytest.raises(ModelError, match=expected) as caught:
        schema_of(model)
    assert str(caught.value).startswith("Trip.wrong is ")
    assert (caught.value.model, caught.value.field, caught.value.setting) == ("Trip", "wrong", "model")
    assert caught.value.type_text


@pytest.mark.parametrize(("annotation", "default"), [(int, "x"), (Money, Decimal("1.555")), (float, float("nan"))])
def test_a_default_that_is_none_of_its_type_is_refused(annotation, default):
    with pytest.raises(ModelError, match="by default; expected a default of the field's type"):
        schema_of(make_dataclass("Trip", [("wrong", annotation, default)]))


def test_two_types_of_one_name_are_refused():
    other = make_dataclass("Place", [("zone", int)])
    for language in ("avro", "json"):
        with pytest.raises(ModelError, match=r"Two .* are named Place"):
            schema_of(make_dataclass("Trip", [("a", Place), ("b", other)]), language=language)
    assert schema_of(make_dataclass("Trip", [("a", Place), ("b", type_name("x.Place")(other))]))


def test_a_class_has_one_name_in_all_namespaces():
    inner = make_dataclass("Inner", [("place", Place)])
    shared = [("place", Place), ("inner", type_name("x.Inner")(inner))]
    document = json.loads(schema_of(type_name("taxi.Trip")(make_dataclass("Trip", shared))))
    assert document["fields"][1]["type"]["fields"] == [{"name": "place", "type": "taxi.Place"}]
    with pytest.raises(ModelError, match="Place has no namespace, and is used in x too; name it with type_name"):
        schema_of(make_dataclass("Trip", shared))


def test_generic_and_open_models_of_pydantic_have_schemas():
    class Page(pydantic.BaseModel, Generic[T]):
        model_config = pydantic.ConfigDict(extra="allow")
        items: list[T]

    assert json.loads(schema_of(Page[int]))["name"] == "Page_int"
    assert "additionalProperties" not in json.loads(schema_of(Page[int], language="json"))
    with pytest.raises(ModelError, match="array_like"):
        schema_of(msgspec.defstruct("Pair", [("a", int)], array_like=True), language="json")


def test_annotations_that_cannot_be_evaluated_are_refused():
    with pytest.raises(ModelError, match="name 'Nowhere' is not defined") as caught:
        schema_of(make_dataclass("Trip", [("a", "Nowhere")]))
    assert caught.value.model == "Trip"
    with pytest.raises(ModelError, match=r"Trip\.a: it has init=False"):
        schema_of(make_dataclass("Trip", [("a", int, field(init=False))]))


@pytest.mark.parametrize("model", [int, dict, "Ride", None, Card | int, list[Card]])
def test_something_that_is_no_model_is_refused(model):
    with pytest.raises(ModelError, match=r"expected a msgspec\.Struct"):
        schema_of(model)


def test_the_language_is_one_of_two():
    with pytest.raises(InvalidSettings, match="'avro' or 'json'"):
        schema_of(Card, language="xml")


def test_names_in_json_are_those_that_are_written():
    with pytest.raises(ModelError, match="names in Python"):
        schema_of(make_dataclass("Trip", [("a", Annotated[int, ModelField(name="b")])]), language="json")
    renamed = msgspec.defstruct("Trip", [("ride_id", int)], rename="camel", tag=True)
    document = json.loads(schema_of(renamed, language="json"))
    assert document["properties"] == {"type": {"const": "Trip"}, "rideId": {"type": "integer"}}
    assert document["required"] == ["type", "rideId"]
    assert json.loads(schema_of(renamed))["fields"] == [{"name": "rideId", "type": "long"}]
