"""Tags of JSON schemas: ``confluent:tags`` of objects and properties."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.entity import Entity, EntityKind
from counterfoil.schema.formats.jsonschema.read.canonical import print_exact
from counterfoil.schema.jsontext.tags import read_tags, write_tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.entity import TagEdit
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

_COMBINED: Final = ("allOf", "anyOf", "oneOf")


def find_tags(schema: JsonSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return every object and property with its tags, in the order of the text."""
    return read_tags(_declarations(schema.document))


def edit_tags(schema: JsonSchema, edit: TagEdit) -> str:
    """Return the canonical text with the tags changed."""
    document = copy.deepcopy(schema.document)
    write_tags(_declarations(document), edit)
    return print_exact(document)


def _declarations(node: Any, around: str = "") -> Iterator[tuple[Entity, dict[str, Any]]]:
    """Yield the objects and properties of a JSON schema, each with the JSON object that declares it.

    A path alternates kinds and names: ``object`` is the schema itself, ``object.lines.array.object.price`` a property
    of the items of an array.
    """
    if not isinstance(node, dict):
        return
    if node.get("type") == "object" or isinstance(node.get("properties"), dict):
        yield from _of_object(node, _below(around, "object"))
    if isinstance(node.get("items"), dict):
        yield from _declarations(node["items"], _below(around, "array"))
    for word in _COMBINED:
        branches = node.get(word)
        for index, branch in enumerate(branches if isinstance(branches, list) else ()):
            yield from _declarations(branch, _below(around, f"{word.lower()}.{index}"))


def _of_object(node: dict[str, Any], path: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    yield Entity(path, EntityKind.RECORD), node
    properties = node.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if isinstance(inner, dict):
            yield Entity(f"{path}.{name}", EntityKind.FIELD), inner
            yield from _declarations(inner, f"{path}.{name}")


def _below(around: str, part: str) -> str:
    return f"{around}.{part}" if around else part
