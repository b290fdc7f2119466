"""Which fields of a schema have a tag that forbids to keep their values in a sketch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.tags.hidden import Hidden, hidden_by_tags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.sketch.model import WriterSchema

__all__ = ["DEFAULT_TAGS", "Hidden", "hidden_fields"]

DEFAULT_TAGS: Final = frozenset({"PII"})
"""The tags of fields of which a sketch keeps counts alone."""


def hidden_fields(
    schema: ParsedSchema, writer: WriterSchema, *, tags: frozenset[str], by_path: Mapping[str, Sequence[str]]
) -> Hidden:
    """Return the fields of ``schema`` and of its references that have one of ``tags``, in any case of letters.

    ``by_path`` are the tags of the schema's metadata. ``writer`` is the text that ``schema`` was parsed from.
    """
    wanted = frozenset(tag.casefold() for tag in tags)
    return hidden_by_tags(schema, writer.references, lambda tag: tag.casefold() in wanted, by_path=by_path)
