"""Tags inside schemas, in the documents of this API."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.service.tag_version import TagRequest
from counterfoil.schema.entity import Entity, TagEdit
from counterfoil.schema.rest.json_values import RequestJson, read_each, read_texts
from counterfoil.schema.rest.object_forms import INTEGER, TEXTS, Member, ObjectForm
from counterfoil.schema.rest.schemas import METADATA_OBJECT, RULE_SET_OBJECT

if TYPE_CHECKING:
    from counterfoil.schema.rest.json_values import JsonValue

NUMBER_OR_NONE: Final = replace(INTEGER, read=lambda value: value.integer() or None)
"""The type of a requested version: 0 counts as absent."""


def read_tag_edit(body: JsonValue, *, add: str, remove: str) -> TagEdit | None:
    """Return the tags that a body adds under the key ``add`` and removes under ``remove``; None if there are none."""
    added, removed = (_read_tags(body, key) for key in (add, remove))
    return TagEdit(added, removed) if added or removed else None


def _read_tags(body: JsonValue, key: str) -> dict[Entity, tuple[str, ...]]:
    found: dict[Entity, tuple[str, ...]] = {}
    for entity, tags in body.optional(key, read_each(_read_item)) or ():
        found[entity] = (*found.get(entity, ()), *tags)
    return found


def _read_item(value: JsonValue) -> tuple[Entity, tuple[str, ...]]:
    entity = value.member("schemaEntity")
    path, kind = (entity.member(key).text() for key in ("entityPath", "entityType"))
    return Entity.named(path, kind), read_texts(value.member("tags"))


TAG_REQUEST: Final = ObjectForm(
    TagRequest,
    (
        Member("newVersion", "new_version", NUMBER_OR_NONE, about="The number that the new version must get."),
        Member("metadata", "metadata", METADATA_OBJECT),
        Member("ruleSet", "rule_set", RULE_SET_OBJECT),
        Member("rulesToMerge", "rules_to_merge", RULE_SET_OBJECT),
        Member("rulesToRemove", "rules_to_remove", TEXTS),
    ),
)


def read_tag_request(value: object) -> TagRequest:
    """Return the change of a version's tags that a body requests."""
    body = RequestJson(value)
    edit = read_tag_edit(body, add="tagsToAdd", remove="tagsToRemove")
    request = TAG_REQUEST.read(body)
    return request if edit is None else replace(request, edit=edit)
