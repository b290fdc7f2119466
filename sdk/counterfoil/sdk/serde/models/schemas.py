"""Schemas that are derived from models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.models.avro_schema import avro_schema
from counterfoil.sdk.serde.models.describe import describe
from counterfoil.sdk.serde.models.json_schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.sdk.serde.models.description import Node

_DERIVE: Final[Mapping[str, Callable[[Node], str]]] = {"avro": avro_schema, "json": json_schema}


def schema_of(model: Any, *, language: Literal["avro", "json"] = "avro") -> str:
    """Return the text of the schema that a serializer with this ``model`` registers.

    ``model`` is a dataclass, a ``msgspec.Struct``, a pydantic model, an attrs class, a ``TypedDict``, or a union of
    these. The same classes always give the same text. Raises ``ModelError``, which names class, field and type.
    """
    derive = _DERIVE.get(language)
    if derive is None:
        problem = f"language is {language!r}; expected {' or '.join(map(repr, _DERIVE))}"
        raise InvalidSettings(problem, setting="language")
    return derive(describe(model))
