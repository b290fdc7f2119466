"""The plan that writes values of a schema, with conversions that refuse losses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Final

from counterfoil.schema.languages.avro.compare.meaning import logical_type_of
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.sdk.serde.avro.logical_types import EPOCH, LogicalConversion, conversion_named, conversion_of
from counterfoil.sdk.serde.avro.plan import (
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
    Step,
    TextStep,
)
from counterfoil.sdk.serde.avro.values import InvalidDefault, branch_by_type, value_of_default

# Writing dates and times without a loss: what a type holds only in part is refused.
#
# The conversions are those of :mod:`.logical_types` with other functions for writing. A loss is a fraction of the
# type's unit, a time zone where the type has none, or the time of day where the type is a date.

LARGEST_EXACT: Final = {4: 2**24, 8: 2**53}
"""The whole number up to which a float of 4 or of 8 bytes has every one."""

_OPTION: Final = "allow_rounding=True drops the rest"


class ConversionLoss(ValueError):
    """A value that its type would hold only in part; ``expected`` describes the values that it holds."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = f"{expected}; {_OPTION}"


def writing_conversion_of(avro_type: AvroType, *, exact: bool) -> LogicalConversion | None:
    """Return the conversion that writes values of the type: with ``exact`` the one that refuses a loss."""
    found = conversion_of(avro_type)
    if not exact or found is None:
        return found
    logical = logical_type_of(avro_type)
    return found if logical is None else _EXACT.get(logical.name, found)


def _has_nanoseconds(value: object) -> bool:
    """Return whether a value has a fraction of a microsecond, as the subclass of ``datetime`` of pandas may have."""
    return bool(getattr(value, "nanosecond", 0))


def _without_zone(value: datetime | time) -> None:
    if value.tzinfo is not None:
        raise ConversionLoss(f"a {_name_of(value)} without a time zone, which the type does not have")


def _whole(value: datetime | time, microsecond: int, micros: int) -> None:
    if microsecond % micros or _has_nanoseconds(value):
        unit = "milliseconds" if micros > 1 else "microseconds"
        raise ConversionLoss(f"a {_name_of(value)} in whole {unit}")


def _name_of(value: datetime | time) -> str:
    return "datetime.datetime" if isinstance(value, datetime) else "datetime.time"


def _date() -> LogicalConversion:
    loose = conversion_named("date")

    def encode(value: object) -> int:
        if isinstance(value, datetime):
            _without_zone(value)
            if value.time() != time() or _has_nanoseconds(value):
                raise ConversionLoss("a datetime.date, or a datetime.datetime at midnight")
        number: int = loose.encode(value)
        return number

    return replace(loose, encode=encode, constants={**loose.constants, "encode_date": encode, "date": date})


def _time(name: str, micros: int) -> LogicalConversion:
    loose = conversion_named(name)
    function = f"encode_exact_{name.replace('-', '_')}"

    def encode(value: object) -> int:
        if isinstance(value, time):
            _without_zone(value)
            _whole(value, value.microsecond, micros)
        number: int = loose.encode(value)
        return number

    per_second = 1_000_000 // micros
    is_whole = f" and not {{v}}.microsecond % {micros}" if micros > 1 else ""
    return replace(
        loose,
        encode=encode,
        encode_source=f"((({{v}}.hour * 60 + {{v}}.minute) * 60 + {{v}}.second) * {per_second}"
        f" + {{v}}.microsecond // {micros}"
        f" if {{v}}.__class__ is time and {{v}}.tzinfo is None{is_whole} else {function}({{v}}))",
        constants={**loose.constants, function: encode},
        form=("time", micros, True),
    )


def _timestamp(name: str, micros: int) -> LogicalConversion:
    loose = conversion_named(name)
    function = f"encode_exact_{name.replace('-', '_')}"

    def encode(value: object) -> int:
        if isinstance(value, datetime):
            since = (value if value.tzinfo else value.astimezone(UTC)) - EPOCH
            _whole(value, since.microseconds, micros)
        number: int = loose.encode(value)
        return number

    return replace(
        loose,
        encode=encode,
        encode_source=_units_since("epoch", micros, "{v}.__class__ is datetime and {v}.tzinfo", function),
        constants={**loose.constants, function: encode},
        form=("timestamp", micros, True),
    )


def _local_timestamp(name: str, micros: int) -> LogicalConversion:
    loose = conversion_named(name)
    function = f"encode_exact_{name.replace('-', '_')}"

    def encode(value: object) -> int:
        if isinstance(value, datetime):
            _without_zone(value)
            _whole(value, value.microsecond, micros)
        number: int = loose.encode(value)
        return number

    return replace(
        loose,
        encode=encode,
        encode_source=_units_since("local_epoch", micros, "{v}.__class__ is datetime and {v}.tzinfo is None", function),
        constants={**loose.constants, function: encode, "datetime": datetime},
        form=("local-timestamp", micros, True),
    )


def _units_since(epoch: str, micros: int, is_usual: str, otherwise: str) -> str:
    """Return the expression of whole units since ``epoch``, which is faster than to divide by a ``timedelta``."""
    per_second = 1_000_000 // micros
    if micros == 1:
        count = f"((since := {{v}} - {epoch}).days * 86400 + since.seconds) * {per_second} + since.microseconds"
        return f"{count} if {is_usual} else {otherwise}({{v}})"
    count = f"(since.days * 86400 + since.seconds) * {per_second} + since.microseconds // {micros}"
    is_whole = f"not (since := {{v}} - {epoch}).microseconds % {micros}"
    return f"({count} if {is_whole} else {otherwise}({{v}})) if {is_usual} else {otherwise}({{v}})"


def _local_nanos() -> LogicalConversion:
    loose = conversion_named("local-timestamp-nanos")

    def encode(value: object) -> int:
        if isinstance(value, datetime):
            _without_zone(value)
        number: int = loose.encode(value)
        return number

    return replace(loose, encode=encode, form=("local-nanos", True))


_EXACT: Final[dict[str, LogicalConversion]] = {
    "date": _date(),
    "time-millis": _time("time-millis", 1000),
    "time-micros": _time("time-micros", 1),
    "timestamp-millis": _timestamp("timestamp-millis", 1000),
    "timestamp-micros": _timestamp("timestamp-micros", 1),
    "local-timestamp-millis": _local_timestamp("local-timestamp-millis", 1000),
    "local-timestamp-micros": _local_timestamp("local-timestamp-micros", 1),
    "local-timestamp-nanos": _local_nanos(),
}


# Making the plan that writes values of a schema.


def plan_encoding(root: AvroType, *, strict: bool, exact: bool = True) -> Step:
    """Return the plan that writes values of ``root``.

    ``strict`` refuses keys of a dict that are no fields, ``exact`` values that would be written with a loss.
    """
    if root.kind is AvroKind.BYTES:
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
            case AvroRecord():
                return self._record(avro_type)
            case AvroUnion(branches=branches):
                return EncodeUnionStep(avro_type, [self.plan(one) for one in branches], branch_by_type(avro_type))
            case AvroArray(items=items):
                return ArrayStep(self.plan(items))
            case AvroMap(values=values):
                return MapStep(self.plan(values))
            case AvroEnum(full_name=name, symbols=symbols):
                return EnumStep(name, tuple(symbols), tuple(symbols))
            case AvroFixed(size=size):
                return FixedStep(size, writing_conversion_of(avro_type, exact=self._is_exact))
            case _:
                return _primitive(avro_type, writing_conversion_of(avro_type, exact=self._is_exact))

    def _record(self, avro_type: AvroRecord) -> Step:
        known = self._records.get(id(avro_type))
        if known is None:
            known = self._records[id(avro_type)] = EncodeRecordStep(avro_type.full_name, self._is_strict)
            known.fields += [self._field(field) for field in avro_type.fields]
        return known

    def _field(self, field: AvroField) -> EncodeFieldStep:
        has_default, default = field.has_default, None
        if has_default:
            try:
                default = value_of_default(field.type, field.default)
            except InvalidDefault:  # a missing value is then an error, which names the default
                has_default = False
        return EncodeFieldStep(field.name, self.plan(field.type), has_default, default)


def _primitive(avro_type: AvroType, conversion: LogicalConversion | None) -> Step:
    match avro_type.kind:
        case AvroKind.NULL:
            return NullStep()
        case AvroKind.BOOLEAN:
            return BooleanStep()
        case AvroKind.INT | AvroKind.LONG as kind:
            return IntegerStep(32 if kind is AvroKind.INT else 64, conversion)
        case AvroKind.FLOAT | AvroKind.DOUBLE as kind:
            return RealStep(4 if kind is AvroKind.FLOAT else 8)
        case AvroKind.STRING:
            return TextStep(conversion)
    return BytesStep(conversion)
