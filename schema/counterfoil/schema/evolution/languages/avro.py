"""Avro schemas as trees.

The bytes of a union say the branch of its value. Where the class of the value says it as well, a value is its own tag;
any other union is tagged, such as one of two records, of ``int`` and ``long``, or of a text and an enum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.base import base_value, hinted_value, is_tagged, meaning_text, types_of
from counterfoil.schema.evolution.model import Scalar
from counterfoil.schema.evolution.tree import NO_DEFAULT, Array, Field, Leaf, Map, Null, Record, Union
from counterfoil.schema.formats.avro import types as avro

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.evolution.tree import Node
    from counterfoil.schema.formats.avro.schema import AvroSchema


def tree_of(schema: AvroSchema) -> Node:
    """Return the schema's top-level type."""
    return _Reader().node(schema.root)


def meaning_of(schema: AvroSchema) -> str:
    """Return the schema's text without docs and properties, with logical types."""
    return meaning_text(schema.root)


def base_function(schema: AvroSchema) -> Callable[[Any], Any] | None:
    """Return the function from decoded values, with logical types or without, to base values."""
    root = schema.root
    if not any(node.logical_type is not None or _is_tagged(node) for node in types_of(root)):
        return None
    return lambda value: base_value(root, value)


def decoded_function(schema: AvroSchema) -> Callable[[Any], Any] | None:
    """Return the function from base values to values of the base schema that an encoder takes."""
    root = schema.root
    return (lambda value: hinted_value(root, value)) if any(map(_is_tagged, types_of(root))) else None


def _is_tagged(node: avro.AvroType) -> bool:
    return isinstance(node, avro.Union) and is_tagged(node)


class _Reader:
    """Reads the types of one schema; a record that occurs twice is one node."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}

    def node(self, node: avro.AvroType) -> Node:
        if isinstance(node, avro.Union):
            return Union([self.node(branch) for branch in node.branches], is_tagged(node))
        if isinstance(node, avro.Record):
            return self._record(node)
        if isinstance(node, avro.Array):
            return Array(self.node(node.items))
        if isinstance(node, avro.Map):
            return Map(self.node(node.values))
        if node.kind is avro.Kind.NULL:
            return Null()
        if isinstance(node, (avro.Enum, avro.Fixed)):
            default = node.default if isinstance(node, avro.Enum) else None
            return Leaf(scalar_of(node), node.name, node.full_name, default)
        return Leaf(scalar_of(node))

    def _record(self, node: avro.Record) -> Record:
        known = self._records.get(id(node))
        if known is not None:
            return known
        made = self._records[id(node)] = Record(node.name, node.full_name)
        made.fields = [
            Field(
                member.name,
                self.node(member.type),
                member.default if member.has_default else NO_DEFAULT,
                tuple(member.aliases),
            )
            for member in node.fields
        ]
        return made


def scalar_of(node: avro.Primitive | avro.Enum | avro.Fixed) -> Scalar:
    """Return a type without parts as it is named in operations."""
    base = node.kind.value
    size = node.size if isinstance(node, avro.Fixed) else None
    symbols = tuple(node.symbols) if isinstance(node, avro.Enum) else ()
    logical = node.logical_type
    if logical is None or (base, logical.name) == ("fixed", "uuid"):
        return Scalar(base, base, symbols, size=size)
    return Scalar(logical.name, base, symbols, precision=logical.precision, scale=logical.scale, size=size)
