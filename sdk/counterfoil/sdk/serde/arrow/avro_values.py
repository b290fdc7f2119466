"""Arrow arrays of decoded Avro values: what :mod:`.avro_rows` does without the accelerator, and for its exceptions.

The values are those of a plan of :class:`TaggedResolver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterfoil.schema.formats.avro.types import Array, Field, Kind, Map, Record, Union
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.arrow.avro_types import branches_of, column_of
from counterfoil.sdk.serde.avro_codec.branches import is_optional
from counterfoil.sdk.serde.avro_codec.logical import conversion_of
from counterfoil.sdk.serde.avro_codec.plan import FieldStep, RecordStep
from counterfoil.sdk.serde.avro_codec.resolve import Resolver
from counterfoil.sdk.serde.avro_codec.values import default_with_branches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.sdk.serde.avro_codec.plan import Step


class TaggedResolver(Resolver):
    """Makes plans whose values of unions of several types say which branch of the reader's union they are.

    Such a value is a dict with a name for every branch, its number; all of them but one are None.
    """

    def branch(self, union: Union, number: int, step: Step) -> Step:
        """Return the step that reads a branch of the reader's union."""
        if self.is_skipping or is_optional(union):
            return step
        name, names = str(number), [*map(str, range(len(union.branches)))]
        others = dict.fromkeys(one for one in names if one != name)
        return RecordStep("", [FieldStep(name, name, step)], names, others, is_branch=True)

    def default(self, field: Field) -> Any:
        """Return the value of a field's default."""
        return default_with_branches(field.type, field.default, _mark)


def _mark(union: Union, number: int, value: Any) -> Any:
    return value if is_optional(union) else {str(number): value}


def array_of(avro_type: AvroType, values: Sequence[Any]) -> pa.Array:
    """Return the array of values of a type; None is null. Raises ``SerdeError`` for values that its type cannot have.

    None may also stand for values of types that are not nullable: they are inside a row of nulls.
    """
    match avro_type:
        case Record(fields=fields):
            arrays = [array_of(one.type, [value and value[one.name] for value in values]) for one in fields]
            return _nested(avro_type, values, arrays)
        case Array(items=items):
            return _nested(avro_type, values, [array_of(items, [one for value in values for one in value or ()])])
        case Map(values=inner):
            keys = pa.array([key for value in values for key in value or ()], pa.string())
            items_ = array_of(inner, [one for value in values for one in (value or {}).values()])
            entries = pa.StructArray.from_arrays([keys, items_], fields=_entry_fields(avro_type))
            return _nested(avro_type, values, [entries])
        case Union() if not is_optional(avro_type):
            return _union(avro_type, values)
        case Union():
            inside = branches_of(avro_type)
            return array_of(inside[0], values) if inside else pa.nulls(len(values))
    return _scalars(avro_type, values)


def _scalars(avro_type: AvroType, values: Sequence[Any]) -> pa.Array:
    arrow_type = column_of(avro_type).type
    conversion = conversion_of(avro_type)
    try:
        if isinstance(arrow_type, pa.UuidType):
            return pa.ExtensionArray.from_storage(arrow_type, pa.array([*map(_uuid_bytes, values)], pa.binary(16)))
        if conversion is None or _is_of_values(arrow_type):
            return pa.array(values, arrow_type)
        return pa.array([None if value is None else conversion.encode(value) for value in values], arrow_type)
    except (pa.ArrowException, ValueError, ArithmeticError, TypeError) as error:
        raise SerdeError(f"A value of {avro_type.kind.value} cannot be stored as {arrow_type}: {error}") from error


def _is_of_values(arrow_type: pa.DataType) -> bool:
    """Return whether Arrow itself makes the array of decimals, dates, times and instants, without loss of precision."""
    is_exact = pa.types.is_date(arrow_type) or getattr(arrow_type, "unit", None) == "us"
    return is_exact or pa.types.is_decimal(arrow_type)


def _uuid_bytes(value: Any) -> bytes | None:
    return None if value is None else value.bytes


def _nested(avro_type: AvroType, values: Sequence[Any], children: list[pa.Array]) -> pa.Array:
    """Return the array of records, lists or dicts; ``children`` are the arrays of what is inside them."""
    validity = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    buffers = [validity if None in values else None]
    if not isinstance(avro_type, Record):
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value or ()))
        buffers.append(pa.array(ends, pa.int32()).buffers()[1])
    return pa.Array.from_buffers(column_of(avro_type).type, len(values), buffers, children=children)


def _entry_fields(avro_type: Map) -> list[pa.Field]:
    map_type = column_of(avro_type).type
    return [map_type.key_field, map_type.item_field]


def _union(union: Union, values: Sequence[Any]) -> pa.Array:
    null = next((number for number, one in enumerate(union.branches) if one.kind is Kind.NULL), 0)
    inside: list[list[Any]] = [[] for _ in union.branches]
    numbers, places = [], []
    for value in values:
        number, item = next(((int(name), one) for name, one in (value or {}).items() if one is not None), (null, None))
        numbers.append(number)
        places.append(len(inside[number]))
        inside[number].append(item)
    children = [array_of(branch, items) for branch, items in zip(union.branches, inside, strict=True)]
    buffers = [None, pa.array(numbers, pa.int8()).buffers()[1], pa.array(places, pa.int32()).buffers()[1]]
    return pa.Array.from_buffers(column_of(union).type, len(values), buffers, children=children)
