"""Tags of schemas that are JSON: ``confluent:tags`` of the JSON objects that declare types and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.entity import Entity, TagEdit

_TAGS: Final = "confluent:tags"


def read_tags(declarations: Iterable[tuple[Entity, dict[str, Any]]]) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return the entities with the tags of their declarations; a value that is not a list counts as no tags."""
    return [(entity, _tags_of(node)) for entity, node in declarations]


def write_tags(declarations: Iterable[tuple[Entity, dict[str, Any]]], edit: TagEdit) -> None:
    """Change the tags in the declarations of the entities that ``edit`` names."""
    for entity, node in declarations:
        if entity in edit.entities:
            tags = edit.applied(entity, _tags_of(node))
            if tags:
                node[_TAGS] = list(tags)
            else:
                node.pop(_TAGS, None)


def _tags_of(node: dict[str, Any]) -> tuple[str, ...]:
    tags = node.get(_TAGS)
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
