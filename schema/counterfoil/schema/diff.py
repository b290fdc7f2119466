"""The changes between two schemas of any language, independent of compatibility."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.table import format_for

if TYPE_CHECKING:
    from counterfoil.schema.change import Change
    from counterfoil.schema.parsed import ParsedSchema


def find_changes(earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
    """Return the changes between two schemas, in the order of the later one; empty if they are equal.

    Raises ``InvalidSchema`` for schemas of different languages, and for those that are nested too deep.

    >>> from counterfoil.schema.parsing import parse_schema
    >>> [change.text for change in find_changes(parse_schema('"int"'), parse_schema('"long"'))]
    ['type changed: int → long']
    """
    if earlier.schema_type is not later.schema_type:
        raise InvalidSchema(
            f"The earlier schema is {earlier.schema_type}, the later one {later.schema_type}; "
            "only schemas of one language can be compared"
        )
    return format_for(earlier.schema_type).find_changes(earlier, later)
