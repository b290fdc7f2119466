"""Warnings about what the Avro specification forbids or ignores although the reference registry accepts it.

Source: Apache Avro 1.12 specification, "Complex Types" (defaults) and "Logical Types".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.read.attributes import show
from counterfoil.schema.formats.avro.read.defaults import is_usable_default
from counterfoil.schema.formats.avro.read.logical import LOGICAL_TYPE_NAMES
from counterfoil.schema.formats.avro.types import Array, Map, Record, Union
from counterfoil.schema.parsed import SchemaWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import AvroType


def find_warnings(root: AvroType) -> list[SchemaWarning]:
    """Return defaults that no reader can use, and logical types that every reader ignores, in the order of the text."""
    return list(_warnings(root, set()))


def _warnings(root: AvroType, seen: set[int]) -> Iterator[SchemaWarning]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield from _ignored(node)
        match node:
            case Record():
                yield from _unusable(node)
                waiting += [field.type for field in reversed(node.fields)]
            case Array():
                waiting.append(node.items)
            case Map():
                waiting.append(node.values)
            case Union():
                waiting += reversed(node.branches)


def _ignored(node: AvroType) -> Iterator[SchemaWarning]:
    name = node.properties.get("logicalType")
    if node.logical_type is None and isinstance(name, str) and name in LOGICAL_TYPE_NAMES:
        text = f"The logical type {name} is not valid on this {node.kind}, so that readers ignore it"
        yield SchemaWarning("ignored-logical-type", text, node.pointer)


def _unusable(record: Record) -> Iterator[SchemaWarning]:
    for field in record.fields:
        if field.has_default and not is_usable_default(field.type, field.default):
            text = f"The default {show(field.default)} of field {field.name} is no value of its type"
            yield SchemaWarning("unusable-default", text, (*field.pointer, "default"))
