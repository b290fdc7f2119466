"""Whether a document is a JSON schema: keywords of the right shape, references that mean something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.json_text import locate

if TYPE_CHECKING:
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema


def check_validity(schema: JsonSchema) -> None:
    """Raise ``SchemaParseError`` with line, column and pointer for the first keyword that cannot be meant."""
    if not isinstance(schema.document, dict | bool):
        raise SchemaParseError(
            "a schema cannot be of this type",
            position=locate(schema.text, ""),
            expected="an object, true or false",
        )
