"""The meaning of a number, a text or bytes by their logical type, and valid values of logical types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Final
from uuid import UUID

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import AvroFixed, AvroKind, AvroType, LogicalType

# The meaning of a number, a text or bytes by their logical type: an instant, a date, a decimal, a duration.
#
# Two values mean the same if their meanings are equal: 1 s is 1000 ms, and 12.34 is 12.3400. A value without a logical
# type has no meaning besides itself, so that an annotation on one side only changes nothing
# (:func:`~counterfoil.schema.languages.avro.misfits.find_misreadings` uses the same rule).
#
# Source: Apache Avro 1.12 specification, "Logical Types"; of ``big-decimal`` its encoding in Apache Avro for Java.

NANOS_BY_UNIT: Final = {"millis": 1_000_000, "micros": 1_000, "nanos": 1}
"""The number of nanoseconds in each unit of times and timestamps."""
BIG_DECIMAL: Final = LogicalType("big-decimal")
"""Bytes with a decimal and its scale. The specification's table does not list it; Avro for Java reads it."""

_NANOS_PER_SECOND: Final = 1_000_000_000
_NANOS_PER_DAY: Final = 86_400 * _NANOS_PER_SECOND
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_WORD_BYTES: Final = 4
_MAX_SCALE: Final = 10_000

_ROUNDING: Final = frozenset(
    {(AvroKind.INT, AvroKind.FLOAT), (AvroKind.LONG, AvroKind.FLOAT), (AvroKind.LONG, AvroKind.DOUBLE)}
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a value. ``text`` is its usual spelling, and is ignored in comparisons.

    ``kind`` is the kind of thing; ``value`` identifies it among those of its kind.
    """

    kind: str
    value: object
    text: str = field(compare=False)


def logical_type_of(node: AvroType) -> LogicalType | None:
    """Return the logical type that at least one decoder uses for values of ``node``; None if there is none."""
    if (
        node.logical_type is None
        and node.kind is AvroKind.BYTES
        and node.properties.get("logicalType") == BIG_DECIMAL.name
    ):
        return BIG_DECIMAL
    return node.logical_type


def is_rounded(reader: AvroType, writer: AvroType) -> bool:
    """Return whether the reader rounds the writer's integers: a float has 24 binary digits, a double 53."""
    return (writer.kind, reader.kind) in _ROUNDING


def have_other_logical_types(reader: AvroType, writer: AvroType) -> bool:
    """Return whether both types have a logical type, and these differ.

    A decimal with a larger precision in the reader counts as equal.
    """
    was, now = logical_type_of(writer), logical_type_of(reader)
    if was is None or now is None:
        return False
    return (was.name, was.scale) != (now.name, now.scale) or (now.precision or 0) < (was.precision or 0)


def describe_logical(logical: LogicalType) -> str:
    """Return a logical type as text: ``date``, ``decimal(9, 2)``."""
    digits = f"({logical.precision}, {logical.scale})" if logical.precision is not None else ""
    return f"{logical.name}{digits}"


def meaning_of(logical: LogicalType, value: Datum) -> Meaning:
    """Return the meaning of ``value``, which has the form without the logical type.

    An invalid value has a meaning of its own kind. A decimal is rounded to its precision, as decoders do.
    """
    name, _, unit = logical.name.rpartition("-")
    try:
        if unit in NANOS_BY_UNIT:
            return _MEANING_BY_NAME[name](value, unit)
        return _MEANING_OF_OTHERS[logical.name](logical, value)
    except (ValueError, IndexError, ArithmeticError):
        return Meaning(f"no {logical.name}", value, f"no {logical.name}")


# --- dates and times ---------------------------------------------------------------------------------------------


def _instant(count: int, unit: str) -> Meaning:
    return Meaning("instant", count * NANOS_BY_UNIT[unit], _date_time(count, unit, "Z", "UTC"))


def _local_time(count: int, unit: str) -> Meaning:
    return Meaning("local time", count * NANOS_BY_UNIT[unit], _date_time(count, unit, " local time", "local time"))


def _time_of_day(count: int, unit: str) -> Meaning:
    nanos = count * NANOS_BY_UNIT[unit]
    text = _clock(nanos) if 0 <= nanos < _NANOS_PER_DAY else f"{count} {unit} after midnight"
    return Meaning("time of day", nanos, text)


def _date_time(count: int, unit: str, ending: str, clock: str) -> str:
    """Return date and time in the spelling of ISO 8601, or the count if the year is outside the calendar."""
    nanos = count * NANOS_BY_UNIT[unit]
    try:
        moment = _EPOCH + timedelta(seconds=nanos // _NANOS_PER_SECOND)
    except OverflowError:
        return f"{count} {unit} after 1970 {clock}"
    return f"{moment:%Y-%m-%d}T{_clock(nanos % _NANOS_PER_DAY)}{ending}"


def _clock(nanos: int) -> str:
    seconds, rest = divmod(nanos, _NANOS_PER_SECOND)
    fraction = f"{rest:09}"
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{time}.{fraction}" if fraction else time


def _date(_: LogicalType, days: int) -> Meaning:
    try:
        text = date.fromordinal(days + _EPOCH_DAY).isoformat()
    except (OverflowError, ValueError):
        text = f"{days} days after 1970"
    return Meaning("date", days, text)


def _duration(_: LogicalType, raw: bytes) -> Meaning:
    months, days, millis = (
        int.from_bytes(raw[start : start + _WORD_BYTES], "little") for start in range(0, 3 * _WORD_BYTES, _WORD_BYTES)
    )
    return Meaning("duration", (months, days, millis), f"{months} months, {days} days, {millis} ms")


# --- decimals and identifiers ------------------------------------------------------------------------------------


def _decimal(logical: LogicalType, raw: bytes) -> Meaning:
    exact = _EXACT.scaleb(Decimal(int.from_bytes(raw, "big", signed=True)), -logical.scale)
    rounded = Context(prec=logical.precision or 1, Emax=MAX_EMAX, Emin=MIN_EMIN).plus(exact)
    return Meaning("number", rounded, str(rounded))


def _big_decimal(_: LogicalType, raw: bytes) -> Meaning:
    length, start = _varint(raw, 0)
    scale, end = _varint(raw, start + length)
    if length < 0 or end != len(raw) or abs(scale) > _MAX_SCALE:
        raise ValueError(raw)
    number = _EXACT.scaleb(Decimal(int.from_bytes(raw[start : start + length], "big", signed=True)), -scale)
    return Meaning("number", number, str(number))


def _varint(raw: bytes, start: int) -> tuple[int, int]:
    """Return the zigzag number at ``start``, and the index of its end."""
    number = shift = 0
    while True:
        byte = raw[start]
        start += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more bytes follow
            return number >> 1 ^ -(number & 1), start


def _uuid(_: LogicalType, raw: str | bytes) -> Meaning:
    value = UUID(raw) if isinstance(raw, str) else UUID(bytes=raw)
    return Meaning("uuid", value, str(value))


_MEANING_BY_NAME: Final[Mapping[str, Callable[[int, str], Meaning]]] = {
    "time": _time_of_day,
    "timestamp": _instant,
    "local-timestamp": _local_time,
}
_MEANING_OF_OTHERS: Final[Mapping[str, Callable[[LogicalType, Datum], Meaning]]] = {
    "date": _date,
    "duration": _duration,
    "decimal": _decimal,
    "big-decimal": _big_decimal,
    "uuid": _uuid,
}


# Valid values of logical types, the most revealing first, in the form without the logical type.

_STRIDE: Final = 0x9E3779B97F4A7C15  # the golden ratio in 64 bits: its multiples spread evenly
_WORD: Final = 2**64

_DAYS: Final = (19_844, 0, 1, -1, 2**31 - 1, -(2**31))  # 1 May 2024 first
_TIME_NANOS: Final = 45_296_789_000_000  # 12:34:56.789
_MOMENT_NANOS: Final = 19_844 * 86_400 * 10**9 + _TIME_NANOS
_DAY_NANOS: Final = 86_400 * 10**9
_DIGITS: Final = "1234567890"
_TELLING_DIGITS: Final = 4
_BIG_DECIMALS: Final = ((1234, 2), (0, 0), (1, 3), (-1, 0), (10**20, 5))
_UUID: Final = 0x6F1C2A34_5B6D_4E7F_8A9B_0C1D2E3F4A5B
_DURATIONS: Final = ((1, 2, 3_000), (0, 0, 0), (0, 0, 1), (2**32 - 1, 0, 0))


def logical_value(logical: LogicalType, node: AvroType, number: int) -> Datum:
    """Return the value number ``number`` of a type with this logical type."""
    base, _, unit = logical.name.rpartition("-")
    if unit in NANOS_BY_UNIT:
        return (_time_sample if base == "time" else _timestamp_sample)(number, NANOS_BY_UNIT[unit])
    match logical.name:
        case "decimal":
            return _decimal_sample(logical.precision or 1, node.size if isinstance(node, AvroFixed) else None, number)
        case "big-decimal":
            return _big_decimal_sample(number)
        case "uuid":
            value = UUID(int=(_UUID + number * (_STRIDE << 64)) % 2**128)
            return str(value) if node.kind is AvroKind.STRING else value.bytes
        case "duration":
            return _duration_sample(number)
    return _DAYS[number] if number < len(_DAYS) else (spread_over_words(number) >> 32) - 2**31  # a date


def spread_over_words(number: int) -> int:
    """Return a number of 64 bits; the results for consecutive numbers are spread evenly."""
    return number * _STRIDE % _WORD


def _time_sample(number: int, nanos: int) -> int:
    most = _DAY_NANOS // nanos
    telling = (_TIME_NANOS // nanos, 0, 1, most - 1)
    return telling[number] if number < len(telling) else spread_over_words(number) % most


def _timestamp_sample(number: int, nanos: int) -> int:
    telling = (_MOMENT_NANOS // nanos, 0, 1, -1, 2**63 - 1, -(2**63))
    return telling[number] if number < len(telling) else spread_over_words(number) - 2**63


def _decimal_sample(precision: int, size: int | None, number: int) -> bytes:
    most = 10**precision - 1
    telling = (int(_DIGITS[: min(precision, _TELLING_DIGITS)]), 0, 1, -1, most, -most)
    unscaled = telling[number] if number < len(telling) else spread_over_words(number) % (2 * most + 1) - most
    return _twos_complement(unscaled, size)


def _big_decimal_sample(number: int) -> bytes:
    unscaled, scale = _BIG_DECIMALS[number] if number < len(_BIG_DECIMALS) else (spread_over_words(number), number % 9)
    digits = _twos_complement(unscaled)
    return bytes([2 * len(digits)]) + digits + bytes([2 * scale])  # the encoding of small numbers in Avro


def _twos_complement(unscaled: int, size: int | None = None) -> bytes:
    return unscaled.to_bytes(unscaled.bit_length() // 8 + 1 if size is None else size, "big", signed=True)


def _duration_sample(number: int) -> bytes:
    parts = _DURATIONS[number] if number < len(_DURATIONS) else [(number * step) % 2**32 for step in (1, 7, 997)]
    return b"".join(part.to_bytes(4, "little") for part in parts)
