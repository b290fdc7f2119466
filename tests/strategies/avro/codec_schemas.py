"""Avro schemas as the tests of the codec write them: documents, what is parsed of them, and a value there and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


def schema_of(document: Any) -> AvroSchema:
    """Return the schema that is parsed from a document."""
    return parse_avro(json.dumps(document))


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    """Return the document of a record."""
    return {"type": "record", "name": name, "fields": list(fields), **more}


def fixed(size: int, name: str = "F", **more: Any) -> dict[str, Any]:
    """Return the document of a fixed type."""
    return {"type": "fixed", "name": name, "size": size, **more}


def logical(base: str, name: str, **more: Any) -> dict[str, Any]:
    """Return the document of a logical type."""
    return {"type": base, "logicalType": name, **more}


def there_and_back(document: Any, value: Any) -> Any:
    """Return what is decoded from the encoded value."""
    schema = schema_of(document)
    return compile_decoder(schema, whole=True)(compile_encoder(schema)(value))
