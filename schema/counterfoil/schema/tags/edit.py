"""Finding and changing the tags of a schema, whatever its language."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.jsontext.document import read_json
from counterfoil.schema.jsontext.printing import print_json
from counterfoil.schema.model import SchemaType
from counterfoil.schema.tags.json_text import avro_entities, json_schema_entities, put_tags, tags_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.protocol import ParsedSchema
    from counterfoil.schema.tags.model import Entity, TagEdit

_SHOWN_ENTITIES = 20


def find_tags(schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Everything in ``schema`` that can carry tags, in the order of its text, each with the tags that it carries."""
    if schema.schema_type is SchemaType.PROTOBUF:
        from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
        from counterfoil.schema.tags.protobuf import protobuf_tags

        return list(protobuf_tags(schema.file)) if isinstance(schema, ProtobufSchema) else []
    return [(entity, tags_of(node)) for entity, node in _entities(schema, _document(schema))]


def edit_tags(schema: ParsedSchema, edit: TagEdit) -> str:
    """The canonical text of ``schema`` with its tags changed.

    Raises ``InvalidSchema`` for an entity that is not in the schema, and names those that are.
    """
    _check_entities(edit, [entity for entity, _ in find_tags(schema)])
    if schema.schema_type is SchemaType.PROTOBUF:
        return _edited_protobuf(schema, edit)
    document = _document(schema)
    for entity, node in _entities(schema, document):
        if entity in edit.entities:
            put_tags(node, edit.applied(entity, tags_of(node)))
    if schema.schema_type is SchemaType.AVRO:
        return print_json(document)
    from counterfoil.schema.formats.jsonschema.read.canonical import print_exact

    return print_exact(document)


def _edited_protobuf(schema: ParsedSchema, edit: TagEdit) -> str:
    from counterfoil.schema.formats.protobuf.print.printing import print_file
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
    from counterfoil.schema.tags.protobuf import with_tags

    if not isinstance(schema, ProtobufSchema):
        raise TypeError("the schema must be Protobuf")
    return print_file(with_tags(schema.file, edit))


def _document(schema: ParsedSchema) -> Any:
    """The schema as a JSON value of one's own."""
    if schema.schema_type is SchemaType.AVRO:
        return read_json(schema.canonical())
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

    return copy.deepcopy(schema.document) if isinstance(schema, JsonSchema) else None


def _entities(schema: ParsedSchema, document: Any) -> Iterator[tuple[Entity, dict[str, Any]]]:
    return avro_entities(document) if schema.schema_type is SchemaType.AVRO else json_schema_entities(document)


def _check_entities(edit: TagEdit, known: Iterable[Entity]) -> None:
    there = list(known)
    for entity in sorted(edit.entities.difference(there), key=lambda each: each.path):
        of_kind = [each.path for each in there if each.kind is entity.kind]
        shown = ", ".join(of_kind[:_SHOWN_ENTITIES]) or "none"
        raise InvalidSchema(
            f"The schema has no {entity.kind} {entity.path!r} that could carry tags; it has {shown}"
            f"{' and more' if len(of_kind) > _SHOWN_ENTITIES else ''}"
        )
