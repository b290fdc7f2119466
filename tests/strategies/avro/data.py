"""A Hypothesis strategy for data of an Avro schema, in fastavro's Python types.

bool, int, float, str, bytes, None, lists and dicts; logical types are Decimal, date, time, datetime (UTC, or naive for
local timestamps) and UUID. Values of one union are plain, so that a value may fit several branches;
``distinct_unions=True`` draws schemas in which it fits only one.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroUnion,
)
from strategies.avro.schemas import DOUBLE, FLOAT, INT, LONG, TEXT

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.languages.avro.types import AvroType, LogicalType

MAX_DEPTH = 6
FIRST = dt.datetime(1, 1, 2)  # noqa: DTZ001 - local timestamps have no zone
LAST = dt.datetime(9999, 12, 30)  # noqa: DTZ001 - likewise
VALUES_BY_KIND: dict[AvroKind, st.SearchStrategy[Any]] = {
    AvroKind.NULL: st.none(),
    AvroKind.BOOLEAN: st.booleans(),
    AvroKind.INT: INT,
    AvroKind.LONG: LONG,
    AvroKind.FLOAT: FLOAT,
    AvroKind.DOUBLE: DOUBLE,
    AvroKind.BYTES: st.binary(max_size=8),
    AvroKind.STRING: TEXT,
}
VALUES_BY_LOGICAL_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "date": st.dates(),
    "time-millis": st.times().map(lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000)),
    "time-micros": st.times(),
    "uuid": st.uuids(),
}


def avro_data(schema: AvroSchema) -> st.SearchStrategy[Any]:
    """Return a strategy for values that ``schema`` may write."""
    return data_of(schema.root)


@st.composite
def data_of(draw: st.DrawFn, node: AvroType) -> Any:
    """Return a value of one type."""
    return _draw_value(draw, node, MAX_DEPTH)


def _draw_value(draw: st.DrawFn, node: AvroType, depth: int) -> Any:
    """Return a value; at ``depth`` 0 arrays and maps are empty and unions take the branch that ends first."""
    if isinstance(node, AvroRecord):
        return {member.name: _draw_value(draw, member.type, depth - 1) for member in node.fields}
    if isinstance(node, AvroArray):
        return [_draw_value(draw, node.items, depth - 1) for _ in range(_draw_size(draw, depth))]
    if isinstance(node, AvroMap):
        keys = draw(st.lists(TEXT, max_size=_draw_size(draw, depth), unique=True))
        return {key: _draw_value(draw, node.values, depth - 1) for key in keys}
    if isinstance(node, AvroUnion):
        return _draw_value(draw, _draw_branch(draw, node, depth), depth - 1)
    if isinstance(node, AvroEnum):
        return draw(st.sampled_from(list(node.symbols)))
    return draw(_scalars(node))


def _draw_size(draw: st.DrawFn, depth: int) -> int:
    return draw(st.integers(0, 3)) if depth > 0 else 0


def _draw_branch(draw: st.DrawFn, node: AvroUnion, depth: int) -> AvroType:
    if depth > 0:
        return draw(st.sampled_from(list(node.branches)))
    return min(node.branches, key=lambda branch: branch.kind is AvroKind.RECORD)


def _scalars(node: AvroType) -> st.SearchStrategy[Any]:
    logical_type = node.logical_type
    if logical_type is None:
        return (
            st.binary(min_size=node.size, max_size=node.size)
            if isinstance(node, AvroFixed)
            else VALUES_BY_KIND[node.kind]
        )
    if logical_type.name == "decimal":
        return _decimals(logical_type)
    if "timestamp" in logical_type.name:
        return _timestamps(logical_type.name)
    return VALUES_BY_LOGICAL_TYPE[logical_type.name]


def _decimals(logical_type: LogicalType) -> st.SearchStrategy[decimal.Decimal]:
    limit = 10 ** (logical_type.precision or 0) - 1
    return st.integers(-limit, limit).map(
        lambda unscaled: decimal.Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -logical_type.scale))
    )


def _timestamps(name: str) -> st.SearchStrategy[dt.datetime]:
    zone = None if name.startswith("local-") else dt.UTC
    moments = st.datetimes(FIRST, LAST).map(lambda moment: moment.replace(tzinfo=zone))
    return moments.map(_to_millis) if name.endswith("-millis") else moments


def _to_millis(moment: dt.datetime) -> dt.datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
