"""Tags of the languages that are JSON: Avro and JSON Schema carry them as ``confluent:tags``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.tags.model import Entity, EntityKind

if TYPE_CHECKING:
    from collections.abc import Iterator

TAGS: Final = "confluent:tags"

_COMBINED: Final = ("allOf", "anyOf", "oneOf")


def avro_entities(node: Any, namespace: str = "") -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The records and fields of an Avro document, each with the JSON object that declares it."""
    if isinstance(node, list):
        for branch in node:
            yield from avro_entities(branch, namespace)
    elif isinstance(node, dict):
        if node.get("type") in {"record", "error"}:
            yield from _avro_record(node, namespace)
        for part in ("type", "items", "values"):
            yield from avro_entities(node.get(part), namespace)


def _avro_record(node: dict[str, Any], namespace: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    name = str(node.get("name", ""))
    own = str(node.get("namespace", namespace)) if "." not in name else name.rpartition(".")[0]
    full = f"{own}.{name}" if own and "." not in name else name
    yield Entity(full, EntityKind.RECORD), node
    for field in node.get("fields", ()):
        yield Entity(f"{full}.{field['name']}", EntityKind.FIELD), field
        yield from avro_entities(field.get("type"), own)


def json_schema_entities(node: Any, around: str = "") -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The objects and properties of a JSON schema, each with the JSON object that declares it.

    A path alternates kinds and names: ``object`` is the schema itself, ``object.lines.array.object.price`` a property
    of what an array holds.
    """
    if not isinstance(node, dict):
        return
    if node.get("type") == "object" or isinstance(node.get("properties"), dict):
        yield from _json_object(node, _below(around, "object"))
    if isinstance(node.get("items"), dict):
        yield from json_schema_entities(node["items"], _below(around, "array"))
    for word in _COMBINED:
        branches = node.get(word)
        for index, branch in enumerate(branches if isinstance(branches, list) else ()):
            yield from json_schema_entities(branch, _below(around, f"{word.lower()}.{index}"))


def _json_object(node: dict[str, Any], path: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    yield Entity(path, EntityKind.RECORD), node
    properties = node.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if isinstance(inner, dict):
            yield Entity(f"{path}.{name}", EntityKind.FIELD), inner
            yield from json_schema_entities(inner, f"{path}.{name}")


def tags_of(node: dict[str, Any]) -> tuple[str, ...]:
    """The tags that a declaration carries; what is no list of texts is none."""
    tags = node.get(TAGS)
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()


def put_tags(node: dict[str, Any], tags: tuple[str, ...]) -> None:
    """Have the declaration carry exactly these tags."""
    if tags:
        node[TAGS] = list(tags)
    else:
        node.pop(TAGS, None)


def _below(around: str, part: str) -> str:
    return f"{around}.{part}" if around else part
