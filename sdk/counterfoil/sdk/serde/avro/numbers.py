"""Numbers in Avro's bytes: zigzag varints, and the logical types ``duration`` and ``big-decimal``."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Final

# Zigzag varints: Avro's ints, longs, lengths, counts and branch numbers.
#
# The readers take the data and the offset of the first byte, and return the number and the offset after it. They raise
# ``ValueError`` for a number out of range and ``IndexError`` at the end of data; callers turn these into typed errors.
#
# Source: Apache Avro 1.12 specification, "Binary Encoding".

# ruff: noqa: PLR2004 - shifts and masks by sevens are what a varint is


INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1
MAX_VARINT_BYTES: Final = 10

_SMALL_FROM: Final = -64
_SMALL_TO: Final = 2048

_CONTINUED: Final = tuple(sum(0x80 << 8 * index for index in range(size - 1)) for size in range(9))
"""The continuation bits of a varint by its size in bytes: on every byte but the last."""


def encode_long(value: int) -> bytes:
    """Return the varint of a whole number of 64 bits; the caller has checked the range."""
    rest = (value << 1) ^ (value >> 63)
    if rest < 0x4000:
        return bytes((rest,)) if rest < 0x80 else bytes((rest & 127 | 128, rest >> 7))
    if 1 << 28 <= rest < 1 << 56:  # instants of this century are in this range: spread all groups of seven bits at once
        size = (rest.bit_length() + 6) // 7
        rest = (rest & 0x0FFFFFFF) | (rest & 0xFFFFFFF0000000) << 4
        rest = (rest & 0x00003FFF00003FFF) | (rest & 0x0FFFC0000FFFC000) << 2
        rest = (rest & 0x007F007F007F007F) | (rest & 0x3F803F803F803F80) << 1
        return (rest | _CONTINUED[size]).to_bytes(size, "little")
    out = []
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


SMALL: Final = {value: encode_long(value) for value in range(_SMALL_FROM, _SMALL_TO)}
"""Varints of the most frequent numbers, by number."""

UNZIGZAG: Final = tuple((raw >> 1) ^ -(raw & 1) for raw in range(128))
"""The number of a one-byte varint, by that byte."""


def checked_int(value: object) -> bytes:
    """Return the varint of an ``int`` of 32 bits. Raises ``TypeError`` or ``ValueError``."""
    if value.__class__ is not int:
        raise TypeError
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError
    return encode_long(value)


def checked_long(value: object) -> bytes:
    """Return the varint of an ``int`` of 64 bits. Raises ``TypeError`` or ``ValueError``."""
    if value.__class__ is not int:
        raise TypeError
    if not LONG_MIN <= value <= LONG_MAX:
        raise ValueError
    return encode_long(value)


def checked_instant(value: int) -> bytes:
    """Return the result of :func:`checked_long`, faster for microseconds of this century, which take eight bytes."""
    rest = (value << 1) ^ (value >> 63)
    if 1 << 49 <= rest < 1 << 56:
        rest = (rest & 0x0FFFFFFF) | (rest & 0xFFFFFFF0000000) << 4
        rest = (rest & 0x00003FFF00003FFF) | (rest & 0x0FFFC0000FFFC000) << 2
        rest = (rest & 0x007F007F007F007F) | (rest & 0x3F803F803F803F80) << 1
        return (rest | 0x0080808080808080).to_bytes(8, "little")
    return checked_long(value)


def read_long(data: bytes, offset: int) -> tuple[int, int]:
    """Return a number of 64 bits, and the offset after it."""
    raw = data[offset]
    if raw > 127:
        byte = data[offset + 1]
        raw += (byte << 7) - 0x80
        if byte < 128:
            return (raw >> 1) ^ -(raw & 1), offset + 2
        byte = data[offset + 2]
        raw += (byte << 14) - 0x4000
        if byte < 128:
            return (raw >> 1) ^ -(raw & 1), offset + 3
        byte = data[offset + 3]
        raw += (byte << 21) - 0x200000
        if byte < 128:
            return (raw >> 1) ^ -(raw & 1), offset + 4
        return _read_tail(data, offset, raw)
    return (raw >> 1) ^ -(raw & 1), offset + 1


def _read_tail(data: bytes, offset: int, raw: int) -> tuple[int, int]:
    """Return the rest of a number whose first four bytes are in ``raw``, the fourth with its continuation bit."""
    raw -= 0x10000000
    byte = data[offset + 4]
    if byte < 128:
        raw += byte << 28
        return (raw >> 1) ^ -(raw & 1), offset + 5
    second = data[offset + 5]
    raw += (byte << 28) + (second << 35) - 0x800000000
    if second < 128:
        return (raw >> 1) ^ -(raw & 1), offset + 6
    byte = data[offset + 6]
    raw -= 0x40000000000
    if byte < 128:
        raw += byte << 42
        return (raw >> 1) ^ -(raw & 1), offset + 7
    second = data[offset + 7]
    raw += (byte << 42) + (second << 49) - 0x2000000000000
    if second < 128:
        return (raw >> 1) ^ -(raw & 1), offset + 8
    raw -= 0x100000000000000
    byte = data[offset + 8]
    if byte < 128:
        raw += byte << 56
        return (raw >> 1) ^ -(raw & 1), offset + 9
    second = data[offset + 9]
    if second > 1:
        raise ValueError
    raw += (byte << 56) + (second << 63) - 0x8000000000000000
    return (raw >> 1) ^ -(raw & 1), offset + 10


def read_int(data: bytes, offset: int) -> tuple[int, int]:
    """Return a number of 32 bits, and the offset after it."""
    raw = data[offset]
    if raw > 127:
        byte = data[offset + 1]
        raw += (byte << 7) - 0x80
        if byte < 128:
            return (raw >> 1) ^ -(raw & 1), offset + 2
        byte = data[offset + 2]
        raw += (byte << 14) - 0x4000
        if byte < 128:
            return (raw >> 1) ^ -(raw & 1), offset + 3
        byte = data[offset + 3]
        raw += (byte << 21) - 0x200000
        if byte < 128:
            return (raw >> 1) ^ -(raw & 1), offset + 4
        value, offset = read_long(data, offset)
        if not INT_MIN <= value <= INT_MAX:
            raise ValueError
        return value, offset
    return (raw >> 1) ^ -(raw & 1), offset + 1


def read_size(data: bytes, offset: int) -> tuple[int, int]:
    """Return a length, never negative, and the offset after it."""
    value, offset = read_long(data, offset)
    if value < 0:
        raise ValueError
    return value, offset


def read_count(data: bytes, offset: int) -> tuple[int, int]:
    """Return how many items the block holds, and the offset of the first; the block's size in bytes is skipped."""
    value, offset = read_long(data, offset)
    if value < 0:
        _, offset = read_size(data, offset)
        return -value, offset
    return value, offset


# Values of Avro's logical type ``duration``: months, days and milliseconds.
#
# Source: Apache Avro 1.12 specification, "Duration".

_LAYOUT: Final = struct.Struct("<III")
_LIMIT: Final = 2**32


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in months, days and milliseconds, each from 0 to 2**32 - 1.

    The three are independent, since months and days have no fixed length, so that no ``timedelta`` holds them.

    >>> bytes(Duration(months=1, millis=500)).hex(" ", 4)
    '01000000 00000000 f4010000'
    """

    months: int = 0
    days: int = 0
    millis: int = 0

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a part that has no place in the encoding."""
        for name in ("months", "days", "millis"):
            part = getattr(self, name)
            if part.__class__ is not int or not 0 <= part < _LIMIT:
                raise ValueError(f"{name} is {part!r}; expected an int from 0 to {_LIMIT - 1}")

    def __bytes__(self) -> bytes:
        """Return the 12 bytes of the encoding."""
        return _LAYOUT.pack(self.months, self.days, self.millis)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Duration:
        """Return the duration that 12 bytes encode."""
        return cls(*_LAYOUT.unpack(raw))


# The logical type ``big-decimal``: bytes that hold an unscaled number and its scale.
#
# Inside the bytes are two values in Avro's binary encoding: the unscaled number in two's complement as ``bytes``, then
# the scale as an ``int``. A negative scale means zeros behind the number, which Decimal writes as a positive exponent.
#
# Source: Apache Avro 1.12, ``Conversions.BigDecimalConversion`` of its implementation for Java.

EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Arithmetic without rounding."""

MAX_UNSCALED_BYTES: Final = 1024
"""The largest unscaled number that is read or written, 2,466 digits: the time of its conversion grows quadratically."""


def decode_big_decimal(raw: bytes) -> Decimal:
    """Return the number; raise ``ValueError`` for bytes that are none."""
    try:
        size, start = read_long(raw, 0)
        if not 0 <= size <= MAX_UNSCALED_BYTES:
            raise ValueError(f"an unscaled number of {size} bytes; expected 0 to {MAX_UNSCALED_BYTES}")
        scale, end = read_long(raw, start + size)
    except IndexError:
        raise ValueError("the bytes end early") from None
    if end != len(raw) or not INT_MIN <= scale <= INT_MAX:
        raise ValueError("no scale at the end of the bytes")
    return EXACT.scaleb(Decimal(int.from_bytes(raw[start : start + size], signed=True)), -scale)


def encode_big_decimal(value: object) -> bytes:
    """Return the bytes of a Decimal, with its own number of decimal places; bytes are returned as they are."""
    if not isinstance(value, Decimal):
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        raise TypeError
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or not INT_MIN <= -exponent <= INT_MAX:
        raise ValueError(value)  # neither NaN nor infinite numbers have a scale
    unscaled = int(EXACT.scaleb(value, -exponent))
    size = (unscaled.bit_length() >> 3) + 1
    if size > MAX_UNSCALED_BYTES:
        raise ValueError(value)
    return encode_long(size) + unscaled.to_bytes(size, signed=True) + encode_long(-exponent)
