"""Decoders: functions that read framed JSON, with defaults and validation or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.sdk.errors import DecodeError, SerdeError
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.json_codec.tiers import compiled_reader, fast_reader, is_compiled
from counterfoil.sdk.serde.json_codec.validate import refuse_invalid
from counterfoil.sdk.serde.tier import find_accelerator

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.codec import Decode
    from counterfoil.sdk.serde.json_codec.validate import Validator


def compile_decoder(
    validator: Validator | None,
    *,
    fill: Callable[[Any], None] | None = None,
    load: Callable[[Any], Any] | None = None,
    json_decode: Callable[[bytes], Any] | None = None,
) -> Decode:
    """Return a function that reads values.

    ``fill`` adds the defaults of a reader's schema to a value, in place; then ``validator`` checks the value, and
    ``load`` turns it into one of the program. ``json_decode``, if there is one, reads the text.
    """
    decode = _reading() if json_decode is None else _read_by(json_decode)
    if fill is not None:
        decode = _filling(decode, fill)
    if validator is not None:
        decode = _checking(decode, validator)
    return decode if load is None else _loading(decode, load)


def _reading() -> Decode:
    if not is_compiled:
        return read_exactly
    read = compiled_reader()

    def decode(data: bytes, offset: int, /) -> Any:
        try:
            return read(data[offset:])
        except (ValueError, RecursionError):
            return read_exactly(data, offset)

    accelerator = find_accelerator()
    if accelerator is None:
        return decode
    accelerated: Decode = accelerator.JsonDecoder(fast_reader(), decode).decode
    return accelerated


def _read_by(json_decode: Callable[[bytes], Any]) -> Decode:
    def decode(data: bytes, offset: int, /) -> Any:
        try:
            return json_decode(data[offset:])
        except Exception as error:
            problem = f"json_decode failed: {type(error).__name__}: {error}"
            raise DecodeError(problem, offset=offset) from error

    return decode


def _filling(decode: Decode, fill: Callable[[Any], None]) -> Decode:
    def decode_filled(data: bytes, offset: int, /) -> Any:
        value = decode(data, offset)
        fill(value)
        return value

    return decode_filled


def _checking(decode: Decode, validator: Validator) -> Decode:
    accepts = validator.accepts

    def decode_checked(data: bytes, offset: int, /) -> Any:
        value = decode(data, offset)
        if not accepts(value):
            refuse_invalid(validator, value)
        return value

    return decode_checked


def _loading(decode: Decode, load: Callable[[Any], Any]) -> Decode:
    def decode_loaded(data: bytes, offset: int, /) -> Any:
        value = decode(data, offset)
        try:
            return load(value)
        except SerdeError:
            raise
        except Exception as error:
            raise DecodeError(f"The value cannot be made of this JSON: {type(error).__name__}: {error}") from error

    return decode_loaded
