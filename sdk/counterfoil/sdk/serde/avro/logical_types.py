"""Logical types: conversion of the number or bytes in the message to a Python value, and back.

========================  ==========================  =========================================================
logical type              read as                     written from
========================  ==========================  =========================================================
decimal                   ``Decimal``, exact          ``Decimal`` that fits precision and scale, or unscaled bytes
uuid (string, fixed)      ``UUID``                    ``UUID``, or its text (string) or 16 bytes (fixed)
date                      ``date``                    ``date``, ISO text, or days since 1970 as ``int``
time-millis, -micros      ``time``                    ``time``, or the number
timestamp-millis, -micros ``datetime`` in UTC         ``datetime`` (naive: local time), or the number
local-timestamp-…         naive ``datetime``          ``datetime`` (its zone is dropped), or the number
…-nanos                   ``int``                     ``int``, or ``datetime``
duration                  ``Duration``                ``Duration``, or ``bytes`` of 12
big-decimal               ``Decimal``, exact          ``Decimal`` of any precision, or the ``bytes`` of one
========================  ==========================  =========================================================

Values are written with a loss where the type has a larger unit, or no zone; :mod:`.encode_plan` has conversions that
refuse it. Nanoseconds stay numbers, since ``datetime`` has microseconds only. A reader's type without nanoseconds gets
those of the writer rounded down to microseconds. The converters raise Python's exceptions; the callers turn them into
typed errors.

Source: Apache Avro 1.12 specification, "Logical Types".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache
from typing import Final
from uuid import UUID, SafeUUID

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.compare.meaning import BIG_DECIMAL, logical_type_of
from counterfoil.schema.languages.avro.types import AvroKind, AvroType, LogicalType
from counterfoil.sdk.serde.avro.numbers import EXACT, Duration, decode_big_decimal, encode_big_decimal

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LOCAL_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local timestamps have no zone
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_MICROSECOND: Final = timedelta(microseconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_SPARE_DECIMAL_BYTES: Final = 16
_UUID_DIGITS: Final = 32
_NANOS: Final = "-nanos"
_UNIT: Final = re.compile("-(millis|micros|nanos)$")
_UUID_TEXT: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_set: Final = object.__setattr__
_CALLED: Final = ("python",)


@dataclass(frozen=True, slots=True)
class LogicalConversion:
    """How one logical type on one base type is read and written.

    ``decode`` and ``encode`` convert between base value and Python value. ``decode_source`` and ``encode_source`` are
    the same as Python expressions over ``{v}``, for generated code, with the ``constants`` they use; without an
    ``encode_source``, ``encode`` is called. ``native`` is the exact Python type that is read, and ``expected``
    describes what may be written. ``form`` is a name, numbers and whether a loss is refused, by which
    the accelerator knows the conversion; for ``python`` it calls ``decode`` and ``encode``.
    """

    native: type
    expected: str
    decode: Callable[[Datum], Datum]
    encode: Callable[[Datum], Datum]
    decode_source: str
    encode_source: str | None = None
    constants: Mapping[str, object] = field(default_factory=dict)
    size_limit_bytes: int | None = None
    form: tuple[str | int | None, ...] = field(kw_only=True)


def conversion_of(avro_type: AvroType) -> LogicalConversion | None:
    """Return the conversion of a type's logical type; None when Python's value is the base value."""
    logical = logical_type_of(avro_type)
    if logical is None:
        return None
    if logical.name == "decimal":
        return _decimal(logical, getattr(avro_type, "size", None))
    if logical.name == "uuid":
        return _FIXED_UUID if avro_type.kind is AvroKind.FIXED else _TEXT_UUID
    return _BY_NAME.get(logical.name)


def conversion_named(name: str) -> LogicalConversion:
    """Return the conversion of a logical type that has no parameters."""
    return _BY_NAME[name]


def conversion_between(writer: AvroType, reader: AvroType) -> LogicalConversion | None:
    """Return the conversion of the writer's values for a reader.

    Within a family, such as ``timestamp``, the writer's type decides the meaning of the number, so that milliseconds
    read as microseconds are the same instant. Otherwise the reader's type does.
    """
    was, now = logical_type_of(writer), logical_type_of(reader)
    if _family_of(was) != _family_of(now):
        return conversion_of(reader)
    if was is None or now is None or was.name.endswith(_NANOS) == now.name.endswith(_NANOS):
        return conversion_of(writer)
    if was.name.endswith(_NANOS):
        return _BETWEEN[now.name.removesuffix("-micros").removesuffix("-millis")]
    return _BETWEEN[was.name]


def with_numbers(conversion: LogicalConversion) -> LogicalConversion:
    """Return a conversion that reads a date or time which Python does not have as its number."""
    if conversion.native not in (date, time, datetime) or conversion.form == _CALLED:
        return conversion
    known = conversion.decode

    def decode(count: int) -> Datum:
        try:
            return known(count)
        except (ValueError, OverflowError):
            return count

    function = "read_any_" + "_".join(map(str, conversion.form)).replace("-", "_")
    return replace(
        conversion, decode=decode, decode_source=f"{function}({{v}})", constants={function: decode}, form=_CALLED
    )


def _family_of(logical: LogicalType | None) -> str | None:
    return _UNIT.sub("", logical.name) if logical else None


def _as_number(value: object) -> int:
    if value.__class__ is not int:
        raise TypeError
    return value


# --- dates and times ---------------------------------------------------------------------------------------------


def _encode_date(value: object) -> int:
    if isinstance(value, date):
        return value.toordinal() - _EPOCH_ORDINAL
    if isinstance(value, str):
        return date.fromisoformat(value).toordinal() - _EPOCH_ORDINAL
    return _as_number(value)


def _decode_date(days: int) -> date:
    return date.fromordinal(days + _EPOCH_ORDINAL)


def _time_conversion(unit: timedelta, name: str) -> LogicalConversion:
    per_second = timedelta(seconds=1) // unit
    micros = unit // _MICROSECOND

    def decode(count: int) -> time:
        seconds, rest = divmod(count, per_second)
        return time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * micros)

    def encode(value: object) -> int:
        if isinstance(value, time):
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return seconds * per_second + value.microsecond // micros
        return _as_number(value)

    return LogicalConversion(
        time,
        "a datetime.time",
        decode,
        encode,
        f"time({{v}} // {3600 * per_second}, {{v}} // {60 * per_second} % 60, {{v}} // {per_second} % 60,"
        f" {{v}} % {per_second} * {micros})",
        f"((({{v}}.hour * 60 + {{v}}.minute) * 60 + {{v}}.second) * {per_second} + {{v}}.microsecond // {micros}"
        f" if {{v}}.__class__ is time else encode_{name}({{v}}))",
        {"time": time, f"encode_{name}": encode},
        form=("time", micros, False),
    )


def _timestamp_conversion(unit: timedelta, name: str) -> LogicalConversion:
    def decode(count: int) -> datetime:
        return EPOCH + count * unit

    def encode(value: object) -> int:
        if isinstance(value, datetime):
            return ((value if value.tzinfo else value.astimezone(UTC)) - EPOCH) // unit
        return _as_number(value)

    return LogicalConversion(
        datetime,
        "a datetime.datetime with a time zone",
        decode,
        encode,
        f"epoch + {{v}} * {name}",
        f"({{v}} - epoch) // {name} if {{v}}.__class__ is datetime and {{v}}.tzinfo else encode_{name}({{v}})",
        {"epoch": EPOCH, name: unit, "datetime": datetime, f"encode_{name}": encode},
        form=("timestamp", unit // _MICROSECOND, False),
    )


def _local_timestamp_conversion(unit: timedelta, name: str) -> LogicalConversion:
    def decode(count: int) -> datetime:
        return LOCAL_EPOCH + count * unit

    def encode(value: object) -> int:
        if isinstance(value, datetime):
            return (value.replace(tzinfo=None) - LOCAL_EPOCH) // unit
        return _as_number(value)

    constants = {"local_epoch": LOCAL_EPOCH, name: unit}
    return LogicalConversion(
        datetime,
        "a datetime.datetime",
        decode,
        encode,
        f"local_epoch + {{v}} * {name}",
        constants=constants,
        form=("local-timestamp", unit // _MICROSECOND, False),
    )


def _encode_nanos(value: object) -> int:
    if isinstance(value, datetime):
        micros = ((value if value.tzinfo else value.astimezone(UTC)) - EPOCH) // _MICROSECOND
        return micros * 1000 + getattr(value, "nanosecond", 0)  # which the subclass of pandas has
    return _as_number(value)


def _encode_local_nanos(value: object) -> int:
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - LOCAL_EPOCH) // _MICROSECOND * 1000 + getattr(value, "nanosecond", 0)
    return _as_number(value)


def _encode_duration(value: object) -> bytes:
    if isinstance(value, (Duration, bytes, bytearray)):
        return bytes(value)
    raise TypeError


# --- uuid --------------------------------------------------------------------------------------------------------


def _encode_uuid_text(value: object) -> str:
    if value.__class__ is UUID:
        return str(value)
    if not isinstance(value, str):
        raise TypeError
    return value if _UUID_TEXT.fullmatch(value) else str(UUID(value))


def _decode_uuid_text(text: str) -> UUID:
    """Return ``UUID(text)``, in half the time for the usual spelling."""
    digits = text.replace("-", "")
    if len(digits) != _UUID_DIGITS:
        return UUID(text)
    value = UUID.__new__(UUID)
    _set(value, "int", int(digits, 16))  # UUID itself sets its attribute in this way
    _set(value, "is_safe", SafeUUID.unknown)
    return value


def _encode_uuid_bytes(value: object) -> bytes:
    if isinstance(value, UUID):
        return value.bytes
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError
    return bytes(value)


def _decode_uuid_bytes(raw: bytes) -> UUID:
    return UUID(bytes=raw)


# --- decimal -----------------------------------------------------------------------------------------------------


def _decimal(logical: LogicalType, size_bytes: int | None) -> LogicalConversion | None:
    if logical.precision is None:
        return None
    return _decimal_conversion(logical.precision, logical.scale, size_bytes)


@lru_cache(maxsize=256)
def _decimal_conversion(precision: int, scale: int, size_bytes: int | None) -> LogicalConversion:
    needed_bytes = precision * 10 // 24 + 1  # ten digits need less than 34 bits
    step = Decimal(1).scaleb(-scale, EXACT)
    checked = Context(prec=precision, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])
    quantize, scaleb = checked.quantize, EXACT.scaleb
    up, down = Decimal(scale), Decimal(-scale)

    def decode(raw: bytes) -> Decimal:
        return scaleb(int.from_bytes(raw, signed=True), down)

    def encode(value: object) -> bytes:
        if value.__class__ is not Decimal and not isinstance(value, Decimal):
            if isinstance(value, (bytes, bytearray)):
                return bytes(value)
            raise TypeError
        unscaled = int(scaleb(quantize(value, step), up))
        return unscaled.to_bytes(size_bytes or (unscaled.bit_length() >> 3) + 1, signed=True)

    return LogicalConversion(
        Decimal,
        f"a decimal.Decimal of at most {precision} digits, {scale} of them after the point",
        decode,
        encode,
        f"scaleb(from_bytes({{v}}, signed=True), down_{scale})",
        constants={"scaleb": scaleb, "from_bytes": int.from_bytes, f"down_{scale}": down},
        size_limit_bytes=None if size_bytes else needed_bytes + _SPARE_DECIMAL_BYTES,
        form=("decimal", precision, scale, size_bytes),
    )


_TEXT_UUID: Final = LogicalConversion(
    UUID,
    "a uuid.UUID or its text",
    _decode_uuid_text,
    _encode_uuid_text,
    "read_uuid({v})",
    "str({v}) if {v}.__class__ is UUID else encode_uuid({v})",
    {"read_uuid": _decode_uuid_text, "UUID": UUID, "encode_uuid": _encode_uuid_text},
    form=("uuid-text",),
)
_FIXED_UUID: Final = LogicalConversion(
    UUID,
    "a uuid.UUID",
    _decode_uuid_bytes,
    _encode_uuid_bytes,
    "UUID(None, {v})",
    constants={"UUID": UUID},
    form=("uuid-bytes",),
)


def _identity(value: int) -> int:
    return value


_BY_NAME: Final[dict[str, LogicalConversion]] = {
    "date": LogicalConversion(
        date,
        "a datetime.date",
        _decode_date,
        _encode_date,
        f"from_ordinal({{v}} + {_EPOCH_ORDINAL})",
        f"{{v}}.toordinal() - {_EPOCH_ORDINAL} if {{v}}.__class__ is date else encode_date({{v}})",
        {"from_ordinal": date.fromordinal, "date": date, "encode_date": _encode_date},
        form=("date",),
    ),
    "time-millis": _time_conversion(_MILLISECOND, "time_millis"),
    "time-micros": _time_conversion(_MICROSECOND, "time_micros"),
    "timestamp-millis": _timestamp_conversion(_MILLISECOND, "millisecond"),
    "timestamp-micros": _timestamp_conversion(_MICROSECOND, "microsecond"),
    "timestamp-nanos": LogicalConversion(
        int, "nanoseconds since 1970 as an int", _identity, _encode_nanos, "{v}", form=("nanos",)
    ),
    "local-timestamp-millis": _local_timestamp_conversion(_MILLISECOND, "millisecond"),
    "local-timestamp-micros": _local_timestamp_conversion(_MICROSECOND, "microsecond"),
    "local-timestamp-nanos": LogicalConversion(
        int, "nanoseconds as an int", _identity, _encode_local_nanos, "{v}", form=("local-nanos", False)
    ),
    "duration": LogicalConversion(
        Duration,
        "a counterfoil.sdk.Duration",
        Duration.from_bytes,
        _encode_duration,
        "read_duration({v})",
        constants={"read_duration": Duration.from_bytes},
        form=("python",),
    ),
    BIG_DECIMAL.name: LogicalConversion(
        Decimal,
        "a decimal.Decimal",
        decode_big_decimal,
        encode_big_decimal,
        "read_big_decimal({v})",
        constants={"read_big_decimal": decode_big_decimal},
        form=("python",),
    ),
}


def _read_only(native: type, decode: Callable[[int], Datum]) -> LogicalConversion:
    """Return a conversion that exists between the types of a writer and a reader only."""
    name = decode.__name__.removeprefix("_")
    return LogicalConversion(
        native, native.__name__, decode, _as_number, f"{name}({{v}})", constants={name: decode}, form=("python",)
    )


def _instant_of_nanos(nanos: int) -> datetime:
    return EPOCH + nanos // 1000 * _MICROSECOND


def _local_of_nanos(nanos: int) -> datetime:
    return LOCAL_EPOCH + nanos // 1000 * _MICROSECOND


def _nanos_of_millis(millis: int) -> int:
    return millis * 1_000_000


def _nanos_of_micros(micros: int) -> int:
    return micros * 1000


_BETWEEN: Final[dict[str, LogicalConversion]] = {
    "timestamp": _read_only(datetime, _instant_of_nanos),
    "local-timestamp": _read_only(datetime, _local_of_nanos),
    **dict.fromkeys(("timestamp-millis", "local-timestamp-millis"), _read_only(int, _nanos_of_millis)),
    **dict.fromkeys(("timestamp-micros", "local-timestamp-micros"), _read_only(int, _nanos_of_micros)),
}
"""Between nanoseconds and other units: for a writer's nanoseconds by the reader's family, else by the writer's type."""

PROMOTE_TO_FLOAT: Final = LogicalConversion(float, "a number", float, float, "float({v})", form=("float",))
"""How a reader's float or double reads a writer's int or long."""
