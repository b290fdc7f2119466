"""Finding and changing the tags of a schema of any language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.table import format_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.entity import Entity, TagEdit
    from counterfoil.schema.parsed import ParsedSchema

_SHOWN_ENTITIES = 20


def find_tags(schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return every entity of ``schema`` that can have tags, in the order of its text, each with its tags."""
    return format_for(schema.schema_type).find_tags(schema)


def edit_tags(schema: ParsedSchema, edit: TagEdit) -> str:
    """Return the canonical text of ``schema`` with its tags changed.

    Raises ``InvalidSchema`` for an entity that is not in the schema.
    """
    _check_entities(edit, [entity for entity, _ in find_tags(schema)])
    return format_for(schema.schema_type).edit_tags(schema, edit)


def _check_entities(edit: TagEdit, known: Iterable[Entity]) -> None:
    there = list(known)
    for entity in sorted(edit.entities.difference(there), key=lambda each: each.path):
        of_kind = [each.path for each in there if each.kind is entity.kind]
        shown = ", ".join(of_kind[:_SHOWN_ENTITIES]) or "none"
        raise InvalidSchema(
            f"The schema has no {entity.kind} {entity.path!r} that could carry tags; it has {shown}"
            f"{' and more' if len(of_kind) > _SHOWN_ENTITIES else ''}"
        )
