"""The tags of fields: those in the texts of a schema and its references, and those that its metadata assigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.marks import FieldTags
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.entity import EntityKind
    from counterfoil.schema.model import ResolvedReference, Schema


def find_field_tags(schema: Schema, references: Sequence[ResolvedReference]) -> FieldTags:
    """Return the tags of a schema's fields; those in the text of another language than Avro are beside each field."""
    by_path = schema.metadata.tags if schema.metadata is not None else {}
    if schema.schema_type is not SchemaType.AVRO:
        return FieldTags({}, by_path)
    from counterfoil.schema.entity import EntityKind

    fields, types = (_inline_tags(schema, references, kind) for kind in (EntityKind.FIELD, EntityKind.RECORD))
    return FieldTags(fields, by_path, types)


def _inline_tags(
    schema: Schema, references: Sequence[ResolvedReference], kind: EntityKind
) -> dict[str, frozenset[str]]:
    from counterfoil.schema.formats.table import format_for
    from counterfoil.schema.parsed import Validation
    from counterfoil.schema.tags.edit import find_tags

    found: dict[str, frozenset[str]] = {}
    form = format_for(schema.schema_type)
    texts = [(each.text, references[:index]) for index, each in enumerate(references)]
    for text, needed in (*texts, (schema.text, references)):
        parsed = form.parse(text, needed, validation=Validation.LENIENT)
        found |= {entity.path: frozenset(tags) for entity, tags in find_tags(parsed) if entity.kind is kind}
    return found
