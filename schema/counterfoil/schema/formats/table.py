"""The schema languages by schema type; the parts of each are loaded by its methods on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.format import AvroFormat
from counterfoil.schema.formats.jsonschema.format import JsonSchemaFormat
from counterfoil.schema.formats.protobuf.format import ProtobufFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.protocol import Format
    from counterfoil.schema.model import SchemaType

FORMATS: Final[Sequence[Format]] = (AvroFormat(), ProtobufFormat(), JsonSchemaFormat())
"""The implementation of every schema language."""

_FORMAT_BY_TYPE = {each.schema_type: each for each in FORMATS}


def format_for(schema_type: SchemaType) -> Format:
    """Return the implementation of a schema language."""
    return _FORMAT_BY_TYPE[schema_type]
