"""The logical type ``big-decimal``: bytes that hold an unscaled number and its scale.

Inside the bytes are two values in Avro's binary encoding: the unscaled number in two's complement as ``bytes``, then
the scale as an ``int``. A negative scale means zeros behind the number, which Decimal writes as a positive exponent.

Source: Apache Avro 1.12, ``Conversions.BigDecimalConversion`` of its implementation for Java.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Final

from counterfoil.sdk.serde.avro_codec.varint import INT_MAX, INT_MIN, encode_long, read_long

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
