"""The schema languages that are built, by schema type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.avro.format import AvroFormat
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.protocol import Format

_FORMAT_BY_TYPE: Mapping[SchemaType, Format] = {SchemaType.AVRO: AvroFormat()}


def format_for(schema_type: SchemaType) -> Format:
    """The implementation of a schema language; ``InvalidSchema`` names a type that this build does not read."""
    found = _FORMAT_BY_TYPE.get(schema_type)
    if found is None:
        known = ", ".join(_FORMAT_BY_TYPE)
        raise InvalidSchema(f"Invalid schema type {schema_type}: this registry reads {known}")
    return found
