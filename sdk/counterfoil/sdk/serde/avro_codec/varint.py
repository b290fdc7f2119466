"""Zigzag varints: Avro's ints, longs, lengths, counts and branch numbers.

The readers take the data and the offset of the first byte, and return the number and the offset after it. They raise
``ValueError`` for a number out of range and ``IndexError`` at the end of data; callers turn these into typed errors.

Source: Apache Avro 1.12 specification, "Binary Encoding".
"""

# ruff: noqa: PLR2004 - shifts and masks by sevens are what a varint is

from __future__ import annotations

from typing import Final

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
