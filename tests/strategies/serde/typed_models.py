"""Random models of the five kinds, with objects of them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from decimal import Decimal
from enum import Enum
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict, get_args
from uuid import UUID

import attrs
import msgspec
import pydantic
from hypothesis import strategies as st

from counterfoil.sdk import AvroType, Duration

if TYPE_CHECKING:
    from collections.abc import Callable

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(max_size=5)
_NUMBERS = itertools.count()


class Colour(Enum):
    """Values that are symbols in Avro."""

    RED = "red"
    BLUE = "blue"


class Size(Enum):
    """Values that are no symbols, so that Avro has the names."""

    SMALL = 1
    LARGE = 2


def _moments(first: int, last: int, *, zone: dt.tzinfo | None = dt.UTC) -> st.SearchStrategy[dt.datetime]:
    zones: st.SearchStrategy[Any] = st.just(zone)
    years = [dt.datetime(year, 1, 2) for year in (first, last)]  # noqa: DTZ001 - Hypothesis adds the zone
    return st.datetimes(*years, timezones=zones)


PLAIN: list[Any] = [
    (bool, st.booleans()),
    (int, LONGS),
    (Annotated[int, AvroType("int")], st.integers(-(2**31), 2**31 - 1)),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (str, TEXTS),
    (Annotated[Decimal, AvroType("decimal", precision=12, scale=3)], st.decimals(-(10**8), 10**8, places=3)),
    (Annotated[Decimal, AvroType("big-decimal")], st.decimals(allow_nan=False, allow_infinity=False, places=7)),
    (UUID, st.uuids()),
    (dt.date, st.dates()),
    (dt.time, st.times()),
    (dt.datetime, _moments(1, 9999)),
    (Annotated[dt.datetime, AvroType("local-timestamp-micros")], _moments(1, 9999, zone=None)),
    (Colour, st.sampled_from(Colour)),
    (Size, st.sampled_from(Size)),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Literal[7, 8], st.sampled_from([7, 8])),
    (int | str | None, st.none() | LONGS | TEXTS),
]
AVRO_ONLY: list[Any] = [
    (bytes, st.binary(max_size=4)),
    (Annotated[bytes, AvroType("fixed", name="Two", size=2)], st.binary(min_size=2, max_size=2)),
    (Annotated[UUID, AvroType("uuid", name="Identity")], st.uuids()),
    (Annotated[int, AvroType("timestamp-nanos")], LONGS),
    (
        Annotated[dt.datetime, AvroType("timestamp-nanos")],
        _moments(1700, 2200),
    ),
    (Duration, st.builds(Duration, *[st.integers(0, 2**32 - 1)] * 3)),
]


_Field: TypeAlias = tuple[str, Any, bool, Any]
"""Name, type, whether it has a default, and the default."""

NONE = type(None)
IMMUTABLE = (int, float, str, bytes, Decimal, UUID, dt.date, dt.time, Enum, frozenset)


def _dataclass(name: str, fields: list[_Field]) -> Any:
    rows: list[Any] = [
        (key, hint, dataclasses.field(default=default)) if has else (key, hint) for key, hint, has, default in fields
    ]
    return dataclasses.make_dataclass(name, rows, kw_only=True)


def _attrs(name: str, fields: list[_Field]) -> Any:
    members: dict[str, Any] = {
        key: attrs.field(type=hint, **({"default": default} if has else {})) for key, hint, has, default in fields
    }
    return attrs.make_class(name, members, kw_only=True)


def _struct(name: str, fields: list[_Field]) -> Any:
    rows: list[Any] = [(key, hint, default) if has else (key, hint) for key, hint, has, default in fields]
    return msgspec.defstruct(name, rows, kw_only=True)


def _pydantic(name: str, fields: list[_Field]) -> Any:
    members: dict[str, Any] = {key: (hint, default if has else ...) for key, hint, has, default in fields}
    return pydantic.create_model(name, **members)


def _typed_dict(name: str, fields: list[_Field]) -> Any:
    make: Any = TypedDict  # a type checker knows it as a statement alone
    return make(
        name, {key: NotRequired[hint] if has and NONE not in get_args(hint) else hint for key, hint, has, _ in fields}
    )


MAKERS: dict[str, Callable[[str, list[_Field]], Any]] = {
    "dataclass": _dataclass,
    "attrs": _attrs,
    "struct": _struct,
    "pydantic": _pydantic,
    "typed dict": _typed_dict,
}


def _containers(inner: tuple[Any, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    hint: Any
    hint, values = inner
    lists: list[Any] = [
        (GenericAlias(list, hint), st.lists(values, max_size=3)),
        (GenericAlias(tuple, (hint, ...)), st.lists(values, max_size=3).map(tuple)),
        (GenericAlias(dict, (str, hint)), st.dictionaries(TEXTS, values, max_size=3)),
        (hint | None, st.none() | values),
    ]
    if hint in (str, int, Colour):
        lists += [
            (GenericAlias(set, hint), st.sets(values, max_size=3)),
            (GenericAlias(frozenset, hint), st.frozensets(values, max_size=3)),
        ]
    return st.sampled_from(lists)


@st.composite
def models(draw: st.DrawFn, kind: str, *, for_avro: bool, depth: int = 2) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return a class and a strategy of its objects."""
    types: st.SearchStrategy[Any] = st.sampled_from(PLAIN + AVRO_ONLY if for_avro else PLAIN)
    if depth:
        types |= models(kind, for_avro=for_avro, depth=depth - 1)
    types |= types.flatmap(_containers)
    drawn = [draw(types) for _ in range(draw(st.integers(1, 5)))]
    fields = []
    for number, (hint, values) in enumerate(drawn):
        default = draw(values) if draw(st.booleans()) else None
        has = isinstance(default, IMMUTABLE)
        fields.append((f"f{number}", hint, has, default if has else None))
    name = f"Model{next(_NUMBERS)}"
    cls = MAKERS[kind](name, fields)
    parts = {key: values for (key, *_), (_, values) in zip(fields, drawn, strict=True)}
    if kind == "typed dict":
        absent = {key for key, hint, has, _ in fields if has and NONE not in get_args(hint)}
        objects = st.fixed_dictionaries(
            {key: values for key, values in parts.items() if key not in absent},
            optional={key: parts[key] for key in absent},
        )
    else:
        objects = st.builds(cls, **parts)
    return cls, objects
