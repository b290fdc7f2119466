"""Values of models: msgspec reads and writes its ``Struct``, dataclasses, attrs classes and ``TypedDict``.

pydantic does so for its own models.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import DecodeError, EncodeError, InvalidSettings, ModelError
from counterfoil.sdk.serde.json_codec.encode import check_text
from counterfoil.sdk.serde.json_codec.paths import path_text
from counterfoil.sdk.serde.json_codec.pydantic_model import pydantic_decoder, pydantic_encoder, pydantic_load
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.json_codec.tiers import is_compiled, refuse_not_finite
from counterfoil.sdk.serde.json_codec.write_walk import write_exactly
from counterfoil.sdk.serde.models.description import ModelKind
from counterfoil.sdk.serde.models.kinds import model_kinds
from counterfoil.sdk.serde.places import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.codec import Decode, Encode
    from counterfoil.sdk.serde.json_codec.validate import Validator

_PLACE: Final = re.compile(r" - at `(.*)`$", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def check_model(model: Any) -> None:
    """Raise ``ModelError`` for a class that is no model, ``InvalidSettings`` without the packages that read it."""
    kinds = model_kinds(model)
    if ModelKind.PYDANTIC not in kinds and not is_compiled:
        problem = "model needs the packages of the extra json; install counterfoil[json]"
        raise InvalidSettings(problem, setting="model")


def _is_pydantic(model: Any) -> bool:
    return ModelKind.PYDANTIC in model_kinds(model)


def model_encoder(model: Any, validator: Validator | None) -> Encode:
    """Return a function that writes values of a model."""
    if _is_pydantic(model):
        return pydantic_encoder(model, validator)
    import msgspec

    write = msgspec.json.Encoder().encode

    def encode(value: Any, prefix: bytes, /) -> bytes:
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


def _write_exactly(value: Any) -> bytes:
    import msgspec

    try:
        plain = msgspec.to_builtins(value)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise EncodeError(f"The value cannot be written as JSON: {error}", got=shown(value)) from error
    return write_exactly(plain)


def model_decoder(model: Any) -> Decode:
    """Return a function that reads JSON straight into a model, whose types are checked. Raises ``ModelError``."""
    if _is_pydantic(model):
        return pydantic_decoder(model)
    import msgspec

    try:
        read: Callable[[bytes], Any] = msgspec.json.Decoder(model).decode
    except TypeError as error:
        problem = f"JSON cannot be read as {_name(model)}: {error}"
        hint = "in a union of classes, JSON distinguishes msgspec.Structs with tag=True, and pydantic models"
        raise ModelError(f"{problem} ({hint})", model=_name(model)) from error

    def decode(data: bytes, offset: int, /) -> Any:
        try:
            return read(data[offset:])
        except msgspec.ValidationError as error:
            raise _misfit(error, model) from error
        except (ValueError, RecursionError) as error:
            read_exactly(data, offset)
            raise DecodeError(f"The body cannot be read as {_name(model)}: {error}", offset=offset) from error

    return decode


def model_load(model: Any) -> Callable[[Any], Any]:
    """Return a function that makes a model of a JSON value that was read already."""
    if _is_pydantic(model):
        return pydantic_load(model)
    import msgspec

    def load(value: Any) -> Any:
        try:
            return msgspec.convert(value, model)
        except msgspec.ValidationError as error:
            raise _misfit(error, model) from error

    return load


def _name(model: Any) -> str:
    return getattr(model, "__name__", str(model))


def _misfit(error: Exception, model: Any) -> DecodeError:
    """Return the error for a value that is JSON and not of the model; msgspec names the place as ``$.stops[3].lat``."""
    place = _PLACE.search(str(error))
    steps = _STEP.findall(place[1]) if place else []
    path = path_text(name or (int(index) if index.isdigit() else "…") for name, index in steps)
    reason = _PLACE.sub("", str(error))
    return DecodeError(f"{path or 'The value'} is not as {_name(model)} declares it: {reason}", path=path)
