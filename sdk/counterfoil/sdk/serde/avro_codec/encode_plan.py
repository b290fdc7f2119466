"""Making the plan that writes values of a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.sdk.serde.avro_codec.branches import branch_by_type
from counterfoil.sdk.serde.avro_codec.exact import writing_conversion_of
from counterfoil.sdk.serde.avro_codec.plan import (
    ArrayStep,
    BooleanStep,
    BytesStep,
    EncodeFieldStep,
    EncodeRecordStep,
    EncodeUnionStep,
    EnumStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RawStep,
    RealStep,
    TextStep,
)
from counterfoil.sdk.serde.avro_codec.values import InvalidDefault, value_of_default

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.sdk.serde.avro_codec.logical import Conversion
    from counterfoil.sdk.serde.avro_codec.plan import Step


def plan_encoding(root: AvroType, *, strict: bool, exact: bool = True) -> Step:
    """Return the plan that writes values of ``root``.

    ``strict`` refuses keys of a dict that are no fields, ``exact`` values that would be written with a loss.
    """
    if root.kind is Kind.BYTES:
        return RawStep(conversion=writing_conversion_of(root, exact=exact))
    return _Planner(strict=strict, exact=exact).plan(root)


class _Planner:
    """One walk over a type tree; a record is planned once, since it may contain itself."""

    def __init__(self, *, strict: bool, exact: bool) -> None:
        self._is_strict = strict
        self._is_exact = exact
        self._records: dict[int, EncodeRecordStep] = {}

    def plan(self, avro_type: AvroType) -> Step:
        match avro_type:
            case Record():
                return self._record(avro_type)
            case Union(branches=branches):
                return EncodeUnionStep(avro_type, [self.plan(one) for one in branches], branch_by_type(avro_type))
            case Array(items=items):
                return ArrayStep(self.plan(items))
            case Map(values=values):
                return MapStep(self.plan(values))
            case Enum(full_name=name, symbols=symbols):
                return EnumStep(name, tuple(symbols), tuple(symbols))
            case Fixed(size=size):
                return FixedStep(size, writing_conversion_of(avro_type, exact=self._is_exact))
            case _:
                return _primitive(avro_type, writing_conversion_of(avro_type, exact=self._is_exact))

    def _record(self, avro_type: Record) -> Step:
        known = self._records.get(id(avro_type))
        if known is None:
            known = self._records[id(avro_type)] = EncodeRecordStep(avro_type.full_name, self._is_strict)
            known.fields += [self._field(field) for field in avro_type.fields]
        return known

    def _field(self, field: Field) -> EncodeFieldStep:
        has_default, default = field.has_default, None
        if has_default:
            try:
                default = value_of_default(field.type, field.default)
            except InvalidDefault:  # a missing value is then an error, which names the default
                has_default = False
        return EncodeFieldStep(field.name, self.plan(field.type), has_default, default)


def _primitive(avro_type: AvroType, conversion: Conversion | None) -> Step:
    match avro_type.kind:
        case Kind.NULL:
            return NullStep()
        case Kind.BOOLEAN:
            return BooleanStep()
        case Kind.INT | Kind.LONG as kind:
            return IntegerStep(32 if kind is Kind.INT else 64, conversion)
        case Kind.FLOAT | Kind.DOUBLE as kind:
            return RealStep(4 if kind is Kind.FLOAT else 8)
        case Kind.STRING:
            return TextStep(conversion)
    return BytesStep(conversion)
