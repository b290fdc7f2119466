"""Classes at the edge of what can be a model: what they write is read, or a sentence says why they cannot be one."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import pydantic
import pytest

from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    AvroType,
    DecodeError,
    JsonDeserializer,
    JsonSerializer,
    ModelError,
    SerializationContext,
)
from counterfoil.sdk.testing import InMemoryRegistry

CTX = SerializationContext("edges", "value")
NAIVE = dt.datetime(2026, 1, 2, 12)  # noqa: DTZ001 - the case
AVRO, JSON = (AvroSerializer, AvroDeserializer), (JsonSerializer, JsonDeserializer)


def round_trip(model: Any, value: Any, serdes: tuple[Any, Any]) -> Any:
    registry = InMemoryRegistry().client(retries=0)
    data = serdes[0](registry, model=model)(value, CTX)
    return serdes[1](registry, model=model)(data, CTX)


class Closed(pydantic.BaseModel):
    model_config = {"extra": "forbid"}


class Line(Closed):
    price: int
    count: int = 1

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> int:
        return self.price * self.count

    @pydantic.computed_field(alias="Note")  # type: ignore[prop-decorator]
    @property
    def note(self) -> str | None:
        return None


class Order(Closed):
    first: Line
    lines: list[Line] = []
    by_name: dict[str, Line] = {}
    other: Line | None = None


@pytest.mark.parametrize("serdes", [AVRO, JSON])
@pytest.mark.parametrize(
    "value",
    [
        Line(price=3, count=2),
        Order(first=Line(price=1)),
        Order(first=Line(price=1), lines=[Line(price=2), Line(price=3)], by_name={"a": Line(price=4)}),
        Order(first=Line(price=1), other=Line(price=5)),
    ],
)
def test_a_closed_model_reads_its_computed_fields(value: Any, serdes: tuple[Any, Any]) -> None:
    assert round_trip(type(value), value, serdes) == value


@pytest.mark.parametrize("text", [b'{"price": 1, "total": 1, "x": 2}', b'{"price": 1, "x": 2}', b'{"total": 1}'])
def test_a_closed_model_refuses_other_properties(text: bytes) -> None:
    registry = InMemoryRegistry().client(retries=0)
    frame = JsonSerializer(registry, model=Line)(Line(price=1), CTX)[:5]
    with pytest.raises(DecodeError):
        JsonDeserializer(registry, model=Line, validate=False)(frame + text, CTX)


class Numbers(pydantic.RootModel[list[int]]):
    pass


class Around(pydantic.BaseModel):
    numbers: Numbers


class Price(pydantic.RootModel[Annotated[int, pydantic.Field(gt=0)]]):
    pass


class Lines(pydantic.RootModel[dict[str, Line]]):
    pass


class Perhaps(pydantic.RootModel[int | None]):
    pass


class Basket(pydantic.BaseModel):
    numbers: Numbers = Numbers([1, 2])
    lines: Lines | None = None
    prices: list[Price] = []
    perhaps: Perhaps = Perhaps(None)


class Itself(pydantic.RootModel["list[Itself]"]):
    pass


class Mixed(pydantic.BaseModel):
    any_of: Numbers | str


class Twice(pydantic.BaseModel):
    none: Perhaps | None


@pytest.mark.parametrize("serdes", [AVRO, JSON])
@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Numbers([1]), [1]),
        (Around(numbers=Numbers([1])), {"numbers": [1]}),
        (Price(3), 3),
        (Perhaps(4), 4),
        (Perhaps(None), None),
        (Lines({"a": Line(price=1, count=2)}), {"a": {"price": 1, "count": 2}}),
        (pydantic.RootModel[set[int]]({7}), [7]),
        (Basket(), {"numbers": [1, 2], "lines": None, "prices": [], "perhaps": None}),
        (
            Basket(lines=Lines({}), prices=[Price(5)], perhaps=Perhaps(6)),
            {"numbers": [1, 2], "lines": {}, "prices": [5], "perhaps": 6},
        ),
    ],
)
def test_a_root_model_is_what_its_root_is(value: Any, plain: Any, serdes: tuple[Any, Any]) -> None:
    registry = InMemoryRegistry().client(retries=0)
    data = serdes[0](registry, model=type(value))(value, CTX)
    read = serdes[1](registry, model=type(value))(data, CTX)
    assert (type(read), read) == (type(value), value)
    without_class = serdes[1](registry)(data, CTX)
    computed = {"total", "note", "Note"} if isinstance(value, Lines) else set()
    assert _without(without_class, computed) == plain


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, names) for key, item in value.items() if key not in names}
    return value


@pytest.mark.parametrize("serdes", [AVRO, JSON])
@pytest.mark.parametrize("model", [Itself, Mixed, Twice])
def test_a_root_model_that_no_schema_describes_is_refused_by_name(model: Any, serdes: tuple[Any, Any]) -> None:
    with pytest.raises(ModelError, match=r"Itself|Numbers|Perhaps"):
        serdes[0](InMemoryRegistry().client(retries=0), model=model)


def test_what_a_root_model_does_not_accept_has_its_place() -> None:
    registry = InMemoryRegistry().client(retries=0)
    text = '{"type":"record","name":"Basket","fields":[{"name":"prices","type":{"type":"array","items":"long"}}]}'
    data = AvroSerializer(registry, text)({"prices": [1, -1]}, CTX)
    with pytest.raises(DecodeError) as caught:
        AvroDeserializer(registry, model=Basket)(data, CTX)
    assert caught.value.path.startswith("prices[1]")


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    value: T


class BoxStruct(msgspec.Struct, Generic[T]):
    value: T


@dataclass
class WithBox:
    box: Box[int]


@pytest.mark.parametrize("serdes", [AVRO, JSON])
@pytest.mark.parametrize("model", [Box[int], BoxStruct[int], WithBox])
def test_a_generic_class_is_refused_with_what_would_be_right(model: Any, serdes: tuple[Any, Any]) -> None:
    with pytest.raises(ModelError, match="class without type parameters, or a generic model of pydantic"):
        serdes[0](InMemoryRegistry().client(retries=0), model=model)


@dataclass
class Naive:
    at: dt.datetime = NAIVE


class NaiveModel(pydantic.BaseModel):
    at: dt.datetime = NAIVE


@dataclass
class Local:
    at: Annotated[dt.datetime, AvroType("local-timestamp-micros")] = NAIVE


@dataclass
class Aware:
    at: dt.datetime = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize("model", [Naive, NaiveModel])
def test_a_default_without_a_zone_is_refused(model: Any) -> None:
    with pytest.raises(ModelError, match="expected a time with a zone"):
        round_trip(model, model(), AVRO)


@pytest.mark.parametrize("model", [Local, Aware])
def test_a_default_whose_instant_is_certain_is_written(model: Any) -> None:
    assert round_trip(model, model(), AVRO) == model()
