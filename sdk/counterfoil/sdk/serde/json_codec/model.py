"""Values of classes that msgspec reads and writes itself: its ``Struct``, dataclasses, attrs classes, ``TypedDict``."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Final, is_typeddict

from counterfoil.sdk.errors import DecodeError, EncodeError, InvalidSettings
from counterfoil.sdk.serde.json_codec.encode import check_text
from counterfoil.sdk.serde.json_codec.paths import path_text
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.json_codec.tiers import is_compiled, refuse_not_finite
from counterfoil.sdk.serde.json_codec.write_walk import shown, write_exactly

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.codec import Decode, Encode
    from counterfoil.sdk.serde.json_codec.validate import Validator

_PLACE: Final = re.compile(r" - at `(.*)`$", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def check_model(model: object) -> None:
    """Raise ``InvalidSettings`` for a class that msgspec does not read and write."""
    expected = "a msgspec.Struct, a dataclass, an attrs class or a TypedDict"
    if not isinstance(model, type) or not (
        hasattr(model, "__struct_fields__")
        or is_dataclass(model)
        or hasattr(model, "__attrs_attrs__")
        or is_typeddict(model)
    ):
        raise InvalidSettings(f"model is {shown(model)}; expected {expected}", setting="model")
    if not is_compiled:
        problem = "model needs the packages of the extra json; install counterfoil[json]"
        raise InvalidSettings(problem, setting="model")


def model_encoder(validator: Validator | None) -> Encode:
    """Return a function that writes values of any model."""
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


def model_decoder(model: type) -> Decode:
    """Return a function that reads JSON straight into a model, whose types are checked."""
    import msgspec

    read: Callable[[bytes], Any] = msgspec.json.Decoder(model).decode

    def decode(data: bytes, offset: int, /) -> Any:
        try:
            return read(data[offset:])
        except msgspec.ValidationError as error:
            raise _misfit(error, model) from error
        except (ValueError, RecursionError) as error:
            read_exactly(data, offset)
            raise DecodeError(f"The body cannot be read as {model.__name__}: {error}", offset=offset) from error

    return decode


def model_load(model: type) -> Callable[[Any], Any]:
    """Return a function that makes a model of a JSON value that was read already."""
    import msgspec

    def load(value: Any) -> Any:
        try:
            return msgspec.convert(value, model)
        except msgspec.ValidationError as error:
            raise _misfit(error, model) from error

    return load


def _misfit(error: Exception, model: type) -> DecodeError:
    """Return the error for a value that is JSON and not of the model; msgspec names the place as ``$.stops[3].lat``."""
    place = _PLACE.search(str(error))
    steps = _STEP.findall(place[1]) if place else []
    path = path_text(name or (int(index) if index.isdigit() else "…") for name, index in steps)
    reason = _PLACE.sub("", str(error))
    return DecodeError(f"{path or 'The value'} is not as {model.__name__} declares it: {reason}", path=path)
