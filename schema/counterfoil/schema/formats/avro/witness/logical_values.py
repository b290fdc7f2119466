"""Valid values of logical types, the most revealing first, in the form without the logical type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from counterfoil.schema.formats.avro.compare.meaning import NANOS_BY_UNIT
from counterfoil.schema.formats.avro.types import Fixed, Kind

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, LogicalType

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


def logical_value(logical: LogicalType, node: AvroType, number: int) -> Any:
    """Return the value number ``number`` of a type with this logical type."""
    base, _, unit = logical.name.rpartition("-")
    if unit in NANOS_BY_UNIT:
        return (_time_of_day if base == "time" else _timestamp)(number, NANOS_BY_UNIT[unit])
    match logical.name:
        case "decimal":
            return _decimal(logical.precision or 1, node.size if isinstance(node, Fixed) else None, number)
        case "big-decimal":
            return _big_decimal(number)
        case "uuid":
            value = UUID(int=(_UUID + number * (_STRIDE << 64)) % 2**128)
            return str(value) if node.kind is Kind.STRING else value.bytes
        case "duration":
            return _duration(number)
    return _DAYS[number] if number < len(_DAYS) else (spread_over_words(number) >> 32) - 2**31  # a date


def spread_over_words(number: int) -> int:
    """Return a number of 64 bits; the results for consecutive numbers are spread evenly."""
    return number * _STRIDE % _WORD


def _time_of_day(number: int, nanos: int) -> int:
    most = _DAY_NANOS // nanos
    telling = (_TIME_NANOS // nanos, 0, 1, most - 1)
    return telling[number] if number < len(telling) else spread_over_words(number) % most


def _timestamp(number: int, nanos: int) -> int:
    telling = (_MOMENT_NANOS // nanos, 0, 1, -1, 2**63 - 1, -(2**63))
    return telling[number] if number < len(telling) else spread_over_words(number) - 2**63


def _decimal(precision: int, size: int | None, number: int) -> bytes:
    most = 10**precision - 1
    telling = (int(_DIGITS[: min(precision, _TELLING_DIGITS)]), 0, 1, -1, most, -most)
    unscaled = telling[number] if number < len(telling) else spread_over_words(number) % (2 * most + 1) - most
    return _twos_complement(unscaled, size)


def _big_decimal(number: int) -> bytes:
    unscaled, scale = _BIG_DECIMALS[number] if number < len(_BIG_DECIMALS) else (spread_over_words(number), number % 9)
    digits = _twos_complement(unscaled)
    return bytes([2 * len(digits)]) + digits + bytes([2 * scale])  # the encoding of small numbers in Avro


def _twos_complement(unscaled: int, size: int | None = None) -> bytes:
    return unscaled.to_bytes(unscaled.bit_length() // 8 + 1 if size is None else size, "big", signed=True)


def _duration(number: int) -> bytes:
    parts = _DURATIONS[number] if number < len(_DURATIONS) else [(number * step) % 2**32 for step in (1, 7, 997)]
    return b"".join(part.to_bytes(4, "little") for part in parts)
