"""Tags inside schemas, as the documents of this API have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.documents import read_metadata, read_rule_set
from counterfoil.registry.domain.json_fields import integer_of, list_of, object_of, optional, text_of
from counterfoil.registry.service.tag_version import TagRequest
from counterfoil.schema.entity import Entity, TagEdit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.api.call import Call
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.documents import Document

_ALL: Final = "*"


async def found_tags(call: Call, context: str, content: Content) -> list[Document]:
    """What in a schema carries one of the tags that ``findTags`` names (``*``: any), with all of its tags."""
    wanted = call.texts("findTags")
    if not wanted:
        return []
    return [
        {"schemaEntity": {"entityPath": entity.path, "entityType": entity.kind.value}, "tags": list(tags)}
        for entity, tags in await call.cases.catalog.tags(context, content)
        if tags and (_ALL in wanted or any(tag in wanted for tag in tags))
    ]


def read_tag_edit(fields: Mapping[str, Any], *, add: str, remove: str) -> TagEdit | None:
    """The tags that a body adds under the key ``add`` and removes under ``remove``; None for neither."""
    added, removed = (_read_tags(fields, key) for key in (add, remove))
    return TagEdit(added, removed) if added or removed else None


def _read_tags(fields: Mapping[str, Any], key: str) -> dict[Entity, tuple[str, ...]]:
    found: dict[Entity, tuple[str, ...]] = {}
    for entity, tags in optional(fields, key, lambda items, at: list_of(items, at, _read_item)) or ():
        found[entity] = (*found.get(entity, ()), *tags)
    return found


def _read_item(value: object, what: str) -> tuple[Entity, tuple[str, ...]]:
    fields = object_of(value, what)
    entity = object_of(fields.get("schemaEntity"), f"{what}.schemaEntity")
    path, kind = (text_of(entity.get(key), f"{what}.schemaEntity.{key}") for key in ("entityPath", "entityType"))
    return Entity.named(path, kind), list_of(fields.get("tags"), f"{what}.tags", text_of)


def read_tag_request(value: object) -> TagRequest:
    """The change of a version's tags that a body asks for."""
    fields = object_of(value, "The request body")
    return TagRequest(
        edit=read_tag_edit(fields, add="tagsToAdd", remove="tagsToRemove") or TagEdit(),
        new_version=optional(fields, "newVersion", integer_of) or None,
        metadata=optional(fields, "metadata", read_metadata),
        rule_set=optional(fields, "ruleSet", read_rule_set),
        rules_to_merge=optional(fields, "rulesToMerge", read_rule_set),
        rules_to_remove=optional(fields, "rulesToRemove", lambda items, at: list_of(items, at, text_of)) or (),
    )
