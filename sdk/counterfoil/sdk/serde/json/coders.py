"""Encoders and decoders of framed JSON: of plain values and of models, validated or not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import DecodeError, EncodeError, InvalidSettings, ModelError, SerdeError
from counterfoil.sdk.serde import shown
from counterfoil.sdk.serde.accelerator import find_accelerator
from counterfoil.sdk.serde.codec import Decode, Encode
from counterfoil.sdk.serde.json.schemas import refuse_invalid
from counterfoil.sdk.serde.json.text import (
    compiled_reader,
    compiled_writer,
    fast_reader,
    form_of,
    is_compiled,
    path_text,
    read_exactly,
    refuse_not_finite,
    write_exactly,
)
from counterfoil.sdk.serde.models.description import ModelKind, classes_of, model_kinds

if TYPE_CHECKING:
    from pydantic import ValidationError

    from counterfoil.schema.datum import Json
    from counterfoil.sdk.serde.json.schemas import Validator


# Encoders: functions that write values as framed JSON, validated or not.

_CANNOT_WRITE = (TypeError, ValueError, RecursionError, OverflowError)
"""What compiled writers and validators raise for values that are none of JSON; the walk then finds the place."""


def compile_encoder(
    validator: Validator | None,
    *,
    dump: Callable[[Json], Json] | None = None,
    json_encode: Callable[[Json], str | bytes] | None = None,
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
    def encode(value: object, prefix: bytes, /) -> bytes:
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

    def encode(value: object, prefix: bytes, /) -> bytes:
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


def _walking(validator: Validator | None, write: Callable[[Json], bytes]) -> Encode:
    def encode(value: object, prefix: bytes, /) -> bytes:
        body = write(value)
        if validator is not None:
            check_text(body, validator)
        return prefix + body

    return encode


def _dumping(encode: Encode, dump: Callable[[Json], Json]) -> Encode:
    def encode_dumped(value: object, prefix: bytes, /) -> bytes:
        try:
            plain = dump(value)
        except SerdeError:
            raise
        except Exception as error:
            raise EncodeError(f"The value cannot be turned into JSON: {type(error).__name__}: {error}") from error
        return encode(plain, prefix)

    return encode_dumped


def _written_by(json_encode: Callable[[Json], str | bytes], value: object) -> bytes:
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


# Decoders: functions that read framed JSON, with defaults and validation or without.


def compile_decoder(
    validator: Validator | None,
    *,
    fill: Callable[[Json], None] | None = None,
    load: Callable[[Json], Json] | None = None,
    json_decode: Callable[[bytes], Json] | None = None,
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

    def decode(data: bytes, offset: int, /) -> Json:
        try:
            return read(data[offset:])
        except (ValueError, RecursionError):
            return read_exactly(data, offset)

    accelerator = find_accelerator()
    if accelerator is None:
        return decode
    accelerated: Decode = accelerator.JsonDecoder(fast_reader(), decode).decode
    return accelerated


def _read_by(json_decode: Callable[[bytes], Json]) -> Decode:
    def decode(data: bytes, offset: int, /) -> Json:
        try:
            return json_decode(data[offset:])
        except Exception as error:
            problem = f"json_decode failed: {type(error).__name__}: {error}"
            raise DecodeError(problem, offset=offset) from error

    return decode


def _filling(decode: Decode, fill: Callable[[Json], None]) -> Decode:
    def decode_filled(data: bytes, offset: int, /) -> Json:
        value = decode(data, offset)
        fill(value)
        return value

    return decode_filled


def _checking(decode: Decode, validator: Validator) -> Decode:
    accepts = validator.accepts

    def decode_checked(data: bytes, offset: int, /) -> Json:
        value = decode(data, offset)
        if not accepts(value):
            refuse_invalid(validator, value)
        return value

    return decode_checked


def _loading(decode: Decode, load: Callable[[Json], Json]) -> Decode:
    def decode_loaded(data: bytes, offset: int, /) -> Json:
        value = decode(data, offset)
        try:
            return load(value)
        except SerdeError:
            raise
        except Exception as error:
            raise DecodeError(f"The value cannot be made of this JSON: {type(error).__name__}: {error}") from error

    return decode_loaded


# Values of pydantic models, which pydantic itself reads and writes, with the names of their aliases.

_NOT_FINITE: Final = (b"NaN", b"Infinity")


def pydantic_encoder(model: Any, validator: Validator | None) -> Encode:
    """Return a function that writes values of a model, or of a union of models."""
    from pydantic import TypeAdapter

    serializer = TypeAdapter(model).serializer
    classes = classes_of(model)
    expected = " or ".join(each.__name__ for each in classes)

    def encode(value: object, prefix: bytes, /) -> bytes:
        if not isinstance(value, classes):
            got = shown(value)
            raise EncodeError(f"The value: expected {expected}; got {got}", expected=expected, got=got)
        try:
            body = serializer.to_json(value, by_alias=True, warnings="error")
            if b"null" in body:  # pydantic writes null for NaN and infinite numbers
                body = write_exactly(serializer.to_python(value, mode="json", by_alias=True, warnings="error"))
        except (TypeError, ValueError, RecursionError) as error:
            raise EncodeError(f"The value cannot be written as JSON: {error}", got=shown(value)) from error
        if validator is not None:
            check_text(body, validator)
        return prefix + body

    return encode


def pydantic_decoder(model: object) -> Decode:
    """Return a function that reads JSON straight into a model, whose types are checked."""
    load = _load_text(model)

    def decode(data: bytes, offset: int, /) -> Json:
        body = data[offset:]
        if any(word in body for word in _NOT_FINITE):  # pydantic reads them as numbers
            read_exactly(data, offset)
        try:
            return load(body)
        except DecodeError:
            read_exactly(data, offset)
            raise

    return decode


def pydantic_load(model: object) -> Callable[[Json], Json]:
    """Return a function that makes a model of a JSON value that was read already."""
    load = _load_text(model)

    def load_value(value: object) -> Json:
        return load(write_exactly(value))  # as JSON, since strict models take texts for dates from JSON alone

    return load_value


def _load_text(model: Any) -> Callable[[bytes], Json]:
    from pydantic import TypeAdapter, ValidationError

    validator = TypeAdapter(model).validator
    name = getattr(model, "__name__", str(model))

    def load(body: bytes) -> Json:
        try:
            return validator.validate_json(body)
        except ValidationError as error:
            without = _without_computed(body, error, model)
            if without is not None:
                return load(without)
            fault = error.errors(include_url=False, include_context=False)[0]
            path = path_text(fault["loc"])
            problem = f"{path or 'The value'} is not as {name} declares it: {fault['msg']}"
            raise DecodeError(problem, path=path) from error

    return load


def _computed_names(model: Any) -> set[str]:
    """Return the names in JSON of the computed fields of a model, and of the models in it."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        schema = TypeAdapter(model).json_schema(mode="serialization", by_alias=True)
    except PydanticInvalidForJsonSchema:  # it has a type that JSON Schema does not have
        return set()
    parts = (schema, *schema.get("$defs", {}).values())
    return {name for one in parts for name, each in one.get("properties", {}).items() if each.get("readOnly")}


def _without_computed(body: bytes, error: ValidationError, model: object) -> bytes | None:
    """Return the text without the computed fields that a model forbids, which its writer has written; None without."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    places = [each["loc"] for each in faults if each["type"] == "extra_forbidden"]
    computed = _computed_names(model) if places else set()
    value = read_exactly(body, 0) if computed else None
    removed = [_is_removed(value, place) for place in places if place[-1] in computed]
    return write_exactly(value) if any(removed) else None


def _is_removed(value: Json, place: tuple[int | str, ...]) -> bool:
    """Remove the value at a place, whose steps may be names of branches of a union; return whether it was there."""
    *around, name = place
    for step in around:
        is_name = isinstance(value, dict) and step in value
        if is_name or (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            value = value[step]
    if not isinstance(value, dict) or name not in value:
        return False
    del value[name]
    return True


# Values of models: msgspec reads and writes its ``Struct``, dataclasses, attrs classes and ``TypedDict``.
#
# pydantic does so for its own models.

_PLACE: Final = re.compile(r" - at `(.*)`$", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def check_model(model: object) -> None:
    """Raise ``ModelError`` for a class that is no model, ``InvalidSettings`` without the packages that read it."""
    kinds = model_kinds(model)
    if ModelKind.PYDANTIC not in kinds and not is_compiled:
        problem = "model needs the packages of the extra json; install counterfoil[json]"
        raise InvalidSettings(problem, setting="model")


def _is_pydantic(model: object) -> bool:
    return ModelKind.PYDANTIC in model_kinds(model)


def model_encoder(model: object, validator: Validator | None) -> Encode:
    """Return a function that writes values of a model."""
    if _is_pydantic(model):
        return pydantic_encoder(model, validator)
    import msgspec

    write = msgspec.json.Encoder().encode

    def encode(value: object, prefix: bytes, /) -> bytes:
        try:
            body = write(value)
            nulls = body.count(b"null")
            if nulls:
                refuse_not_finite(value, nulls)
        except (TypeError, ValueError, RecursionError, OverflowError):
            body = _write_exactly(value)
        if validator is not None:
            check_text(body, validator)
        return prefix + body

    return encode


def _write_exactly(value: object) -> bytes:
    import msgspec

    try:
        plain = msgspec.to_builtins(value)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise EncodeError(f"The value cannot be written as JSON: {error}", got=shown(value)) from error
    return write_exactly(plain)


def model_decoder(model: object) -> Decode:
    """Return a function that reads JSON straight into a model, whose types are checked. Raises ``ModelError``."""
    if _is_pydantic(model):
        return pydantic_decoder(model)
    import msgspec

    try:
        read: Callable[[bytes], Json] = msgspec.json.Decoder(model).decode
    except TypeError as error:
        problem = f"JSON cannot be read as {_name(model)}: {error}"
        hint = "in a union of classes, JSON distinguishes msgspec.Structs with tag=True, and pydantic models"
        raise ModelError(f"{problem} ({hint})", model=_name(model)) from error

    def decode(data: bytes, offset: int, /) -> Json:
        try:
            return read(data[offset:])
        except msgspec.ValidationError as error:
            raise _misfit(error, model) from error
        except (ValueError, RecursionError) as error:
            read_exactly(data, offset)
            raise DecodeError(f"The body cannot be read as {_name(model)}: {error}", offset=offset) from error

    return decode


def model_load(model: object) -> Callable[[Json], Json]:
    """Return a function that makes a model of a JSON value that was read already."""
    if _is_pydantic(model):
        return pydantic_load(model)
    import msgspec

    def load(value: object) -> Json:
        try:
            return msgspec.convert(value, model)
        except msgspec.ValidationError as error:
            raise _misfit(error, model) from error

    return load


def _name(model: object) -> str:
    return getattr(model, "__name__", str(model))


def _misfit(error: Exception, model: object) -> DecodeError:
    """Return the error for a value that is JSON and not of the model; msgspec names the place as ``$.stops[3].lat``."""
    place = _PLACE.search(str(error))
    steps = _STEP.findall(place[1]) if place else []
    path = path_text(name or (int(index) if index.isdigit() else "…") for name, index in steps)
    reason = _PLACE.sub("", str(error))
    return DecodeError(f"{path or 'The value'} is not as {_name(model)} declares it: {reason}", path=path)
