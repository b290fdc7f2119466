"""Tags of Avro schemas: ``confluent:tags`` of records and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.entity import Entity, EntityKind
from counterfoil.schema.jsontext.document import read_json
from counterfoil.schema.jsontext.printing import print_json
from counterfoil.schema.jsontext.tags import read_tags, write_tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.entity import TagEdit
    from counterfoil.schema.formats.avro.schema import AvroSchema


def find_tags(schema: AvroSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return every record and field with its tags, in the order of the text."""
    return read_tags(_declarations(read_json(schema.canonical())))


def edit_tags(schema: AvroSchema, edit: TagEdit) -> str:
    """Return the canonical text with the tags changed."""
    document = read_json(schema.canonical())
    write_tags(_declarations(document), edit)
    return print_json(document)


def _declarations(node: Any, namespace: str = "") -> Iterator[tuple[Entity, dict[str, Any]]]:
    """Yield the records and fields of an Avro document, each with the JSON object that declares it."""
    if isinstance(node, list):
        for branch in node:
            yield from _declarations(branch, namespace)
    elif isinstance(node, dict):
        if node.get("type") in {"record", "error"}:
            yield from _of_record(node, namespace)
        for part in ("type", "items", "values"):
            yield from _declarations(node.get(part), namespace)


def _of_record(node: dict[str, Any], namespace: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    name = str(node.get("name", ""))
    own = str(node.get("namespace", namespace)) if "." not in name else name.rpartition(".")[0]
    full = f"{own}.{name}" if own and "." not in name else name
    yield Entity(full, EntityKind.RECORD), node
    for field in node.get("fields", ()):
        yield Entity(f"{full}.{field['name']}", EntityKind.FIELD), field
        yield from _declarations(field.get("type"), own)
