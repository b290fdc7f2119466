"""Tags inside an Avro schema: where ``confluent:tags`` stands, and what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.documents import Document

_TAGS: Final = "confluent:tags"
_ALL: Final = "*"


def found_tags(content: Content, wanted: Sequence[str]) -> list[Document]:
    """The records and fields of a schema that carry one of the ``wanted`` tags (``*``: any), with all of their tags."""
    if content.schema_type is not SchemaType.AVRO or not wanted:
        return []
    found = []
    for path, kind, tags in _walk(json.loads(content.text), ""):
        if _ALL in wanted or any(tag in wanted for tag in tags):
            found.append({"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": tags})
    return found


def _walk(node: Any, namespace: str) -> Iterator[tuple[str, str, list[str]]]:
    if isinstance(node, list):
        for branch in node:
            yield from _walk(branch, namespace)
    elif isinstance(node, dict):
        if node.get("type") in {"record", "error"}:
            yield from _walk_record(node, namespace)
        for part in ("type", "items", "values"):
            yield from _walk(node.get(part), namespace)


def _walk_record(node: dict[str, Any], namespace: str) -> Iterator[tuple[str, str, list[str]]]:
    name = node.get("name", "")
    own = node.get("namespace", namespace) if "." not in name else name.rpartition(".")[0]
    full = f"{own}.{name}" if own and "." not in name else name
    if isinstance(node.get(_TAGS), list):
        yield full, "sr_record", node[_TAGS]
    for field in node.get("fields", ()):
        if isinstance(field.get(_TAGS), list):
            yield f"{full}.{field['name']}", "sr_field", field[_TAGS]
        yield from _walk(field.get("type"), own)
