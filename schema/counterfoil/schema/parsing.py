"""From schema text to a parsed schema, whatever the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.protocol import Validation
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.protocol import ParsedSchema
    from counterfoil.schema.model import ResolvedReference


def parse_schema(
    text: str,
    schema_type: SchemaType = SchemaType.AVRO,
    *,
    references: Sequence[ResolvedReference] = (),
    validation: Validation = Validation.STRICT,
) -> ParsedSchema:
    """The schema that ``text`` declares.

    ``references`` are resolved, in dependency order. Raises ``SchemaParseError`` (an ``InvalidSchema``) with line,
    column and JSON pointer.

    >>> parse_schema('{"type": "int"}').canonical()
    '"int"'
    """
    return format_for(schema_type).parse(text, references, validation=validation)
