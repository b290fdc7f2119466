"""The layout of a schema's text for people, and the lines of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterfoil.schema.languages.laid_out_text import SchemaLayout
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.rest.inspection import ElementRow
from counterfoil.schema.texts import Pointer

__all__ = ["SchemaLayout", "lay_out", "number_lines", "read_pointer"]


def lay_out(schema: ParsedSchema) -> SchemaLayout:
    """Return the text of a schema laid out for people; it means what the text means, with every spelling in it.

    >>> from counterfoil.schema.languages.table import parse_schema
    >>> layout = lay_out(parse_schema('{"type": "enum", "name": "A", "symbols": ["B", "C"]}'))
    >>> layout.line_of(("symbols", 1)), [token.kind for token in layout.lines[0].tokens]
    (1, ['', 'name', '', 'text', '', 'name', '', 'text', '', 'name', '', 'text', '', 'text', ''])
    """
    return language_for(schema.schema_type).lay_out(schema)


def number_lines(rows: Sequence[ElementRow], layout: SchemaLayout) -> tuple[ElementRow, ...]:
    """Return the rows with their lines in a layout; rows of references have none."""
    return tuple(row if row.reference else replace(row, line=layout.line_of(read_pointer(row.pointer))) for row in rows)


def read_pointer(text: str) -> Pointer:
    """Return the pointer of a text, whose indexes stay texts.

    >>> read_pointer("/properties/a~1b/enum/0")
    ('properties', 'a/b', 'enum', '0')
    """
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])
