"""The schema languages, by schema type; each is loaded when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.protocol import Format

_CLASS_BY_TYPE: Final[Mapping[SchemaType, tuple[str, str]]] = {
    SchemaType.AVRO: ("counterfoil.schema.formats.avro.format", "AvroFormat"),
    SchemaType.PROTOBUF: ("counterfoil.schema.formats.protobuf.format", "ProtobufFormat"),
    SchemaType.JSON: ("counterfoil.schema.formats.jsonschema.format", "JsonSchemaFormat"),
}
"""Module and name of the class of each language."""


@cache
def format_for(schema_type: SchemaType) -> Format:
    """The implementation of a schema language."""
    module, name = _CLASS_BY_TYPE[schema_type]
    return cast("Format", getattr(import_module(module), name)())
