"""Encoders: functions that write values as framed JSON, validated or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.sdk.errors import EncodeError, SerdeError
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.json_codec.tiers import compiled_writer, form_of, is_compiled, refuse_not_finite
from counterfoil.sdk.serde.json_codec.validate import refuse_invalid
from counterfoil.sdk.serde.json_codec.write_walk import write_exactly
from counterfoil.sdk.serde.tier import find_accelerator

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.codec import Encode
    from counterfoil.sdk.serde.json_codec.validate import Validator

_CANNOT_WRITE = (TypeError, ValueError, RecursionError, OverflowError)
"""What compiled writers and validators raise for values that are none of JSON; the walk then finds the place."""


def compile_encoder(
    validator: Validator | None,
    *,
    dump: Callable[[Any], Any] | None = None,
    json_encode: Callable[[Any], str | bytes] | None = None,
) -> Encode:
    """Return a function that writes values, those that ``validator`` accepts if there is one.

    ``dump`` turns a value of the program into a value of JSON, and ``json_encode``, if there is one, that into a JSON
    text. What is validated is what a reader of the message sees.
    """
    if json_encode is not None:
        encode = _walking(validator, lambda value: _written_by(json_encode, value))
    elif is_compiled:
        encode = _compiled(compiled_writer()) if validator is None else _compiled_checked(compiled_writer(), validator)
        accelerator = find_accelerator() if validator is None else None
        if accelerator is not None:
            encode = accelerator.JsonEncoder(compiled_writer(), form_of, encode).encode
    else:
        encode = _walking(validator, write_exactly)
    return encode if dump is None else _dumping(encode, dump)


def _compiled(dumps: Callable[..., bytes]) -> Encode:
    def encode(value: Any, prefix: bytes, /) -> bytes:
        try:
            body = dumps(value, form_of)
            nulls = body.count(b"null")
            if nulls:
                refuse_not_finite(value, nulls)
        except _CANNOT_WRITE:
            body = write_exactly(value)
        return prefix + body

    return encode


def _compiled_checked(dumps: Callable[..., bytes], validator: Validator) -> Encode:
    is_valid = validator.is_valid

    def encode(value: Any, prefix: bytes, /) -> bytes:
        try:
            body = dumps(value, form_of)
            nulls = body.count(b"null")
            if nulls:
                refuse_not_finite(value, nulls)
            if is_valid(value):
                return prefix + body
        except _CANNOT_WRITE:
            body = write_exactly(value)
        check_text(body, validator)
        return prefix + body

    return encode


def _walking(validator: Validator | None, write: Callable[[Any], bytes]) -> Encode:
    def encode(value: Any, prefix: bytes, /) -> bytes:
        body = write(value)
        if validator is not None:
            check_text(body, validator)
        return prefix + body

    return encode


def _dumping(encode: Encode, dump: Callable[[Any], Any]) -> Encode:
    def encode_dumped(value: Any, prefix: bytes, /) -> bytes:
        try:
            plain = dump(value)
        except SerdeError:
            raise
        except Exception as error:
            raise EncodeError(f"The value cannot be turned into JSON: {type(error).__name__}: {error}") from error
        return encode(plain, prefix)

    return encode_dumped


def _written_by(json_encode: Callable[[Any], str | bytes], value: Any) -> bytes:
    try:
        text = json_encode(value)
        return text.encode() if isinstance(text, str) else bytes(text)
    except Exception as error:
        raise EncodeError(f"json_encode failed: {type(error).__name__}: {error}") from error


def check_text(body: bytes, validator: Validator) -> None:
    """Raise ``ValidationError`` if the value of a JSON text is not valid."""
    value = read_exactly(body, 0)
    if not validator.accepts(value):
        refuse_invalid(validator, value)
