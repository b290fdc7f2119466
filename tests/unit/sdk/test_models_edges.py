"""Classes at the edge of what can be a model: what they write is read, or a sentence says why they cannot be one."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Any

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


@pytest.mark.parametrize("serdes", [AVRO, JSON])
@pytest.mark.parametrize("value", [Numbers([1]), Around(numbers=Numbers([1]))])
def test_a_root_model_is_refused_by_name(value: Any, serdes: tuple[Any, Any]) -> None:
    with pytest.raises(ModelError, match="Numbers is a RootModel; expected"):
        round_trip(type(value), value, serdes)


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
