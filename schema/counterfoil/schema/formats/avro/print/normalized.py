"""The normalised text of an Avro schema (``normalize=true``): the canonical text with a fixed order of everything.

Properties are sorted by key at every depth, a logical type and its attributes before them; aliases are sorted by full
name; an empty doc of a named type is removed; a default is written in the form of its type, keys sorted. Every name is
written in full, then the result is read again and printed canonically.

Three changes that the reference makes to defaults are not made here, since they change what a reader gets: a default
that does not fit the first branch of its union stays, a number beyond the range of float stays a number, and characters
beyond U+00FF in a default of bytes stay.

Source: behaviour of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.print.canonical import JsonObject, print_canonical
from counterfoil.schema.formats.avro.read.attributes import SchemaFault
from counterfoil.schema.formats.avro.read.declarations import TypeReader
from counterfoil.schema.formats.avro.types import WORD_BY_KIND, Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.schema.jsontext.printing import print_float

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.avro.types import AvroType, Field, Json, NamedType
    from counterfoil.schema.pointer import Pointer

_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63


def print_normalized(root: AvroType, *, supplied: Mapping[str, NamedType]) -> str:
    """Return the normalised text; types in ``supplied``, by full name, are not declared in it.

    Raises ``SchemaFault`` for a schema without a normal form: a property with a number beyond 64 bits, a record default
    with a key that is not a field, or names that are equal once the null namespace inside another is lost.
    """
    tree = _NormalWriter(set(supplied)).write(root)
    again = TypeReader(checks_names=False, checks_defaults=False, known=supplied).read_document(tree)
    return print_canonical(again, supplied=supplied)


class _NormalWriter:
    """A writer of type nodes as JSON values with full names; pointers in its faults are those of the original text."""

    def __init__(self, known: set[str]) -> None:
        self._known = known

    def write(self, node: AvroType) -> Json:
        if isinstance(node, Union):
            return [self.write(branch) for branch in node.branches]
        if isinstance(node, (Record, Enum, Fixed)):
            return self._write_named(node)
        if isinstance(node, Array):
            return {"type": "array", "items": self.write(node.items), **_sorted_properties(node)}
        if isinstance(node, Map):
            return {"type": "map", "values": self.write(node.values), **_sorted_properties(node)}
        return {"type": WORD_BY_KIND[node.kind], **_sorted_properties(node)}

    def _write_named(self, node: NamedType) -> Json:
        if node.full_name in self._known:
            return node.full_name
        self._known.add(node.full_name)
        written: JsonObject = {"type": WORD_BY_KIND[node.kind], "name": node.full_name}
        if node.doc:
            written["doc"] = node.doc
        if node.aliases:
            written["aliases"] = sorted(node.aliases)
        if isinstance(node, Record):
            written["fields"] = [self._write_field(member) for member in node.fields]
        elif isinstance(node, Fixed):
            written["size"] = node.size
        else:
            written["symbols"] = list(node.symbols)
            if node.default is not None:
                written["default"] = node.default
        return written | _sorted_properties(node)

    def _write_field(self, member: Field) -> JsonObject:
        written: JsonObject = {"name": member.name, "type": self.write(member.type)}
        if member.doc is not None:
            written["doc"] = member.doc
        if member.has_default:
            written["default"] = _respell(member.default, member.type, (*member.pointer, "default"))
        if member.order is not None:
            written["order"] = member.order
        if member.aliases:
            written["aliases"] = sorted(member.aliases)
        return written | {key: _sort_keys(member.properties[key], member.pointer) for key in sorted(member.properties)}


def _sorted_properties(node: AvroType) -> JsonObject:
    keys = sorted(node.properties)
    if node.logical_type is not None and "avro.java.string" not in node.properties:
        leading = [key for key in _leading_keys(node) if key in node.properties]
        keys = leading + [key for key in keys if key not in leading]
    return {key: _sort_keys(node.properties[key], node.pointer) for key in keys}


def _leading_keys(node: AvroType) -> tuple[str, ...]:
    """Return the properties of the logical type; a scale of 0 is not one of them and is sorted with the others."""
    if node.logical_type is None or node.logical_type.precision is None:
        return ("logicalType",)
    return ("logicalType", "precision", "scale") if node.logical_type.scale else ("logicalType", "precision")


def _sort_keys(value: Json, pointer: Pointer) -> Json:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key], pointer) for key in sorted(value)}
    if isinstance(value, list):
        return [_sort_keys(item, pointer) for item in value]
    if type(value) is int and not -_LONG_LIMIT <= value < _LONG_LIMIT:
        raise SchemaFault("a property holds a number beyond 64 bits", pointer, expected="a number that fits a long")
    return value


def _respell(value: Json, avro_type: AvroType, pointer: Pointer) -> Json:
    """Return a default in the form of its type.

    One that does not fit the type (or the first branch) stays unchanged.
    """
    while isinstance(avro_type, Union) and avro_type.branches:
        avro_type = avro_type.branches[0]
    if isinstance(value, dict):
        return _respell_object(value, avro_type, pointer)
    if isinstance(value, list) and isinstance(avro_type, Array):
        return [_respell(item, avro_type.items, pointer) for item in value]
    if avro_type.kind in (Kind.FLOAT, Kind.DOUBLE) and type(value) is int and -_INT_LIMIT <= value < _INT_LIMIT:
        value = float(value)
    if avro_type.kind is Kind.FLOAT and type(value) is float and math.isfinite(value):
        spelt = print_float(value)
        return value if "Infinity" in spelt else float(spelt)
    return value


def _respell_object(value: JsonObject, avro_type: AvroType, pointer: Pointer) -> JsonObject:
    if isinstance(avro_type, Map):
        return {key: _respell(value[key], avro_type.values, pointer) for key in sorted(value)}
    if not isinstance(avro_type, Record):
        return {key: _sort_keys(value[key], pointer) for key in sorted(value)}
    type_by_field = {member.name: member.type for member in avro_type.fields}
    unknown = sorted(value.keys() - type_by_field.keys())
    if unknown:
        raise SchemaFault(
            f"the default has a value for {unknown[0]!r}", pointer, expected=f"fields of {avro_type.full_name}"
        )
    return {key: _respell(value[key], type_by_field[key], pointer) for key in sorted(value)}
