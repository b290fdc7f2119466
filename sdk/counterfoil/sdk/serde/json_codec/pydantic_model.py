"""Values of pydantic models, which pydantic itself reads and writes, with the names of their aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.json_codec.encode import check_text
from counterfoil.sdk.serde.json_codec.paths import path_text
from counterfoil.sdk.serde.json_codec.read_text import read_exactly
from counterfoil.sdk.serde.json_codec.write_walk import write_exactly
from counterfoil.sdk.serde.models.kinds import classes_of
from counterfoil.sdk.serde.places import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import ValidationError

    from counterfoil.sdk.serde.codec import Decode, Encode
    from counterfoil.sdk.serde.json_codec.validate import Validator

_NOT_FINITE: Final = (b"NaN", b"Infinity")


def pydantic_encoder(model: Any, validator: Validator | None) -> Encode:
    """Return a function that writes values of a model, or of a union of models."""
    from pydantic import TypeAdapter

    serializer = TypeAdapter(model).serializer
    classes = classes_of(model)
    expected = " or ".join(each.__name__ for each in classes)

    def encode(value: Any, prefix: bytes, /) -> bytes:
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


def pydantic_decoder(model: Any) -> Decode:
    """Return a function that reads JSON straight into a model, whose types are checked."""
    load = _load_text(model)

    def decode(data: bytes, offset: int, /) -> Any:
        body = data[offset:]
        if any(word in body for word in _NOT_FINITE):  # pydantic reads them as numbers
            read_exactly(data, offset)
        try:
            return load(body)
        except DecodeError:
            read_exactly(data, offset)
            raise

    return decode


def pydantic_load(model: Any) -> Callable[[Any], Any]:
    """Return a function that makes a model of a JSON value that was read already."""
    load = _load_text(model)

    def load_value(value: Any) -> Any:
        return load(write_exactly(value))  # as JSON, since strict models take texts for dates from JSON alone

    return load_value


def _load_text(model: Any) -> Callable[[bytes], Any]:
    from pydantic import TypeAdapter, ValidationError

    validator = TypeAdapter(model).validator
    name = getattr(model, "__name__", str(model))

    def load(body: bytes) -> Any:
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


def _without_computed(body: bytes, error: ValidationError, model: Any) -> bytes | None:
    """Return the text without the computed fields that a model forbids, which its writer has written; None without."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    places = [each["loc"] for each in faults if each["type"] == "extra_forbidden"]
    computed = _computed_names(model) if places else set()
    value = read_exactly(body, 0) if computed else None
    removed = [_is_removed(value, place) for place in places if place[-1] in computed]
    return write_exactly(value) if any(removed) else None


def _is_removed(value: Any, place: tuple[int | str, ...]) -> bool:
    """Remove what is at a place, whose steps may be names of branches of a union; return whether it was there."""
    *around, name = place
    for step in around:
        is_name = isinstance(value, dict) and step in value
        if is_name or (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            value = value[step]
    if not isinstance(value, dict) or name not in value:
        return False
    del value[name]
    return True
