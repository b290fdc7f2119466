"""The outline of a text, whatever its language."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.outlines.avro import outline_avro
from counterfoil.contracts.outlines.jsonschema import outline_json_schema
from counterfoil.contracts.outlines.protobuf import outline_protobuf
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.contracts.outlines.model import Outline

_OUTLINE_BY_TYPE: Final[Mapping[SchemaType, Callable[[str], Outline | None]]] = {
    SchemaType.AVRO: outline_avro,
    SchemaType.PROTOBUF: outline_protobuf,
    SchemaType.JSON: outline_json_schema,
}


@lru_cache(maxsize=8192)
def outline(text: str, schema_type: SchemaType = SchemaType.AVRO) -> Outline | None:
    """The names in ``text``; None where it is unreadable or too deep to walk."""
    return _OUTLINE_BY_TYPE[schema_type](text)
