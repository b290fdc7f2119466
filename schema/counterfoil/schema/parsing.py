"""Parsing of schema texts of any language, and outlines of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.model import DEFAULT_TYPE
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.model import ResolvedReference, SchemaType
    from counterfoil.schema.outline import Outline
    from counterfoil.schema.parsed import ParsedSchema


def parse_schema(
    text: str,
    schema_type: SchemaType = DEFAULT_TYPE,
    *,
    references: Sequence[ResolvedReference] = (),
    validation: Validation = Validation.STRICT,
) -> ParsedSchema:
    """Return the schema that ``text`` declares.

    ``references`` are resolved, in dependency order. Raises ``SchemaParseError`` (an ``InvalidSchema``) with line,
    column and JSON pointer.

    >>> parse_schema('{"type": "int"}').canonical()
    '"int"'
    """
    return format_for(schema_type).parse(text, references, validation=validation)


@cached_by_size(16 * 1024 * 1024, size_of=lambda _, text, *__: 2_000 + 2 * len(text))
def outline(text: str, schema_type: SchemaType = DEFAULT_TYPE) -> Outline | None:
    """Return the names that ``text`` declares and uses, without parsing it; None if it is unreadable or too deep."""
    return format_for(schema_type).outline(text)
