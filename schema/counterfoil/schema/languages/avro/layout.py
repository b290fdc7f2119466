"""The layout of an Avro schema's text, and the texts in it that refer to declared types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.schema.languages.json_layout import lay_out_json
from counterfoil.schema.languages.laid_out_text import SchemaLayout
from counterfoil.schema.texts import Pointer

_Use: TypeAlias = "tuple[Pointer, AvroType]"


def lay_out(schema: AvroSchema) -> SchemaLayout:
    """Return the text laid out for people."""
    return lay_out_json(schema, lambda: [*type_uses(schema)])


def type_uses(schema: AvroSchema) -> Iterator[tuple[Pointer, str]]:
    """Yield the pointers of the names of types in a text, with the full name of each type.

    A name may stand alone or as the ``type`` of an object.
    """
    seen: set[int] = set()
    waiting: list[_Use] = [((), schema.root)]
    while waiting:
        pointer, node = waiting.pop()
        if isinstance(node, AvroRecord | AvroEnum | AvroFixed) and (
            node.pointer != pointer or node.full_name in schema.supplied
        ):
            yield pointer, node.full_name
            yield (*pointer, "type"), node.full_name
        elif id(node) not in seen:
            seen.add(id(node))
            waiting += _inside(node)


def _inside(node: AvroType) -> list[_Use]:
    match node:
        case AvroRecord():
            return [((*field.pointer, "type"), field.type) for field in node.fields]
        case AvroUnion():
            return [((*node.pointer, index), each) for index, each in enumerate(node.branches)]
        case AvroArray():
            return [((*node.pointer, "items"), node.items)]
        case AvroMap():
            return [((*node.pointer, "values"), node.values)]
    return []
