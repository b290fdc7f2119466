"""The texts of an Avro schema: canonical, normalised (``normalize=true``), and Avro's Parsing Canonical Form."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.jsontext.java import print_float, print_json
from counterfoil.schema.languages.avro.attributes import SchemaFault
from counterfoil.schema.languages.avro.declarations import TypeReader
from counterfoil.schema.languages.avro.types import (
    WORD_BY_KIND,
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterfoil.schema.datum import Json
    from counterfoil.schema.languages.avro.types import AvroField, AvroType, NamedType
    from counterfoil.schema.texts import Pointer


# The canonical text of an Avro schema: the one spelling that a registry stores and returns.
#
# A primitive without properties is its bare name, a named type is declared where it first occurs and a name afterwards,
# attributes are in a fixed order and properties in the order written, aliases of named types last.
#
# Source: Apache Avro Java's ``Schema.toString``, which the reference registry returns.

JsonObject: TypeAlias = "dict[str, Json]"

_TYPE_WORDS = frozenset(WORD_BY_KIND.values())


def print_canonical(root: AvroType, *, supplied: Iterable[str] = ()) -> str:
    """Return the canonical text; types whose full names are in ``supplied`` are not declared in it."""
    return print_json(TreeWriter(known=set(supplied)).write(root))


def equivalence_key(root: AvroType) -> str:
    """Return a text that is equal for schemas that differ only in the order of attributes and aliases.

    Every type is declared in it, so a schema with references has the key of the same schema without references.
    """
    return print_json(TreeWriter(arrange_aliases=sorted).write(root), sort_keys=True)


@dataclass(slots=True)
class TreeWriter:
    """A writer of type nodes as JSON values; ``known`` are the full names that are already declared."""

    known: set[str] = field(default_factory=set)
    arrange_aliases: Callable[[Iterable[str]], list[str]] = list

    def write(self, node: AvroType, namespace: str | None = None) -> Json:
        """Return the JSON value of a type inside ``namespace``."""
        if type(node) is AvroPrimitive and not node.properties:
            return WORD_BY_KIND[node.kind]
        if isinstance(node, (AvroRecord, AvroEnum, AvroFixed)):
            return self._write_named(node, namespace)
        if isinstance(node, AvroUnion):
            return [self.write(branch, namespace) for branch in node.branches]
        if isinstance(node, AvroArray):
            return {"type": "array", "items": self.write(node.items, namespace), **node.properties}
        if isinstance(node, AvroMap):
            return {"type": "map", "values": self.write(node.values, namespace), **node.properties}
        return {"type": WORD_BY_KIND[node.kind], **node.properties}

    def _write_named(self, node: NamedType, namespace: str | None) -> Json:
        full_name = node.full_name
        if full_name in self.known:
            return _written_name(node, namespace)
        self.known.add(full_name)
        written: JsonObject = {"type": WORD_BY_KIND[node.kind], "name": node.name}
        if node.namespace != namespace:
            written["namespace"] = node.namespace or ""
        if node.doc is not None:
            written["doc"] = node.doc
        self._write_body(node, written)
        written.update(node.properties)
        if node.aliases:
            written["aliases"] = self.arrange_aliases(_short_alias(alias, node.namespace) for alias in node.aliases)
        return written

    def _write_body(self, node: NamedType, written: JsonObject) -> None:
        """Add the attributes of the kind: fields, symbols and their default, or size."""
        if isinstance(node, AvroRecord):
            if node.is_error:
                written["type"] = "error"
            written["fields"] = [member.written or self._write_field(member, node.namespace) for member in node.fields]
        elif isinstance(node, AvroFixed):
            written["size"] = node.size
        else:
            written["symbols"] = list(node.symbols)
            if node.default is not None:
                written["default"] = node.default

    def _write_field(self, member: AvroField, namespace: str | None) -> JsonObject:
        written = {"name": member.name, "type": self.write(member.type, namespace)}
        if member.doc is not None:
            written["doc"] = member.doc
        if member.has_default:
            written["default"] = member.default
        if member.order not in (None, "ascending"):
            written["order"] = member.order
        if member.aliases:
            written["aliases"] = self.arrange_aliases(member.aliases)
        written.update(member.properties)
        if not member.aliases and _is_plain(member.type):
            member.written = written
        return written


def _is_plain(node: AvroType) -> bool:
    """Return whether the type's text is the same everywhere: names of primitive types without properties."""
    if type(node) is AvroUnion:
        return all(type(branch) is AvroPrimitive and not branch.properties for branch in node.branches)
    return type(node) is AvroPrimitive and not node.properties


def _written_name(node: NamedType, namespace: str | None) -> str:
    """Return the short name if the namespaces are equal and the name is not a word for a type; else the full name."""
    return node.name if node.namespace == namespace and node.name not in _TYPE_WORDS else node.full_name


def _short_alias(alias: str, namespace: str | None) -> str:
    """Return the alias without its namespace if that equals ``namespace``."""
    space, _, name = alias.rpartition(".")
    return name if space == (namespace or "") else alias


# The normalised text of an Avro schema (``normalize=true``): the canonical text with a fixed order of everything.
#
# Properties are sorted by key at every depth, a logical type and its attributes before them; aliases are sorted by full
# name; an empty doc of a named type is removed; a default is written in the form of its type, keys sorted. Every name
# is written in full, then the result is read again and printed canonically.
#
# Three changes that the reference makes to defaults are not made here, since they change what a reader gets: a default
# that does not fit the first branch of its union stays, a number beyond the range of float stays a number, and
# characters beyond U+00FF in a default of bytes stay.
#
# Source: behaviour of Confluent Schema Registry 8.5.

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
        if isinstance(node, AvroUnion):
            return [self.write(branch) for branch in node.branches]
        if isinstance(node, (AvroRecord, AvroEnum, AvroFixed)):
            return self._write_named(node)
        if isinstance(node, AvroArray):
            return {"type": "array", "items": self.write(node.items), **_sorted_properties(node)}
        if isinstance(node, AvroMap):
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
        if isinstance(node, AvroRecord):
            written["fields"] = [self._write_field(member) for member in node.fields]
        elif isinstance(node, AvroFixed):
            written["size"] = node.size
        else:
            written["symbols"] = list(node.symbols)
            if node.default is not None:
                written["default"] = node.default
        return written | _sorted_properties(node)

    def _write_field(self, member: AvroField) -> JsonObject:
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
    while isinstance(avro_type, AvroUnion) and avro_type.branches:
        avro_type = avro_type.branches[0]
    if isinstance(value, dict):
        return _respell_object(value, avro_type, pointer)
    if isinstance(value, list) and isinstance(avro_type, AvroArray):
        return [_respell(item, avro_type.items, pointer) for item in value]
    if avro_type.kind in (AvroKind.FLOAT, AvroKind.DOUBLE) and type(value) is int and -_INT_LIMIT <= value < _INT_LIMIT:
        value = float(value)
    if avro_type.kind is AvroKind.FLOAT and type(value) is float and math.isfinite(value):
        spelt = print_float(value)
        return value if "Infinity" in spelt else float(spelt)
    return value


def _respell_object(value: JsonObject, avro_type: AvroType, pointer: Pointer) -> JsonObject:
    if isinstance(avro_type, AvroMap):
        return {key: _respell(value[key], avro_type.values, pointer) for key in sorted(value)}
    if not isinstance(avro_type, AvroRecord):
        return {key: _sort_keys(value[key], pointer) for key in sorted(value)}
    type_by_field = {member.name: member.type for member in avro_type.fields}
    unknown = sorted(value.keys() - type_by_field.keys())
    if unknown:
        raise SchemaFault(
            f"the default has a value for {unknown[0]!r}", pointer, expected=f"fields of {avro_type.full_name}"
        )
    return {key: _respell(value[key], type_by_field[key], pointer) for key in sorted(value)}


# Avro's Parsing Canonical Form of a type tree.
#
# Source: Apache Avro 1.12 specification, "Transforming into Parsing Canonical Form".


def print_canonical_form(root: AvroType) -> str:
    """Return the canonical form: no white space, full names, and only the attributes that affect reading."""
    return _print(root, set())


def _print(node: AvroType, declared: set[str]) -> str:
    if isinstance(node, (AvroRecord, AvroEnum, AvroFixed)):
        return _print_named(node, declared)
    if isinstance(node, AvroUnion):
        return f"[{','.join(_print(branch, declared) for branch in node.branches)}]"
    if isinstance(node, AvroArray):
        return f'{{"type":"array","items":{_print(node.items, declared)}}}'
    if isinstance(node, AvroMap):
        return f'{{"type":"map","values":{_print(node.values, declared)}}}'
    return f'"{WORD_BY_KIND[node.kind]}"'


def _print_named(node: NamedType, declared: set[str]) -> str:
    name = f'"{node.full_name}"'
    if node.full_name in declared:
        return name
    declared.add(node.full_name)
    if isinstance(node, AvroRecord):
        fields = ",".join(
            f'{{"name":"{member.name}","type":{_print(member.type, declared)}}}' for member in node.fields
        )
        word = "error" if node.is_error else "record"
        return f'{{"name":{name},"type":"{word}","fields":[{fields}]}}'
    if isinstance(node, AvroFixed):
        return f'{{"name":{name},"type":"fixed","size":{node.size}}}'
    symbols = ",".join(f'"{symbol}"' for symbol in node.symbols)
    return f'{{"name":{name},"type":"enum","symbols":[{symbols}]}}'
