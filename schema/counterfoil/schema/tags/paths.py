"""Tags by path: those that a schema's metadata assigns to every entity whose path matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.path_patterns import matches_path
from counterfoil.schema.tags.edit import find_tags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.entity import Entity
    from counterfoil.schema.parsed import ParsedSchema


def tags_by_entity(schema: ParsedSchema, by_path: Mapping[str, Sequence[str]]) -> dict[Entity, tuple[str, ...]]:
    """Return the tags of every entity of ``schema`` that has some: its own first, then those that ``by_path`` assigns.

    ``by_path`` are the tags of a schema's metadata, by path with wildcards: ``**.ssn``, ``ns.Order.*``.
    """
    found: dict[Entity, tuple[str, ...]] = {}
    for entity, inline in find_tags(schema):
        given = (tag for path, tags in by_path.items() if matches_path(path, entity.path) for tag in tags)
        tags = tuple(dict.fromkeys((*inline, *given)))
        if tags:
            found[entity] = tags
    return found
