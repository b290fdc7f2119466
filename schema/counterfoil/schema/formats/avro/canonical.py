"""The canonical text of an Avro schema: the one spelling that a registry stores and returns.

A primitive without properties is its bare name, a named type is declared where it first occurs and a name afterwards,
attributes come in a fixed order and properties in the order written, aliases of named types last.

Source: Apache Avro Java's ``Schema.toString``, which the reference registry returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union
from counterfoil.schema.json_print import print_json

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType, Field, Json, NamedType

JsonObject: TypeAlias = "dict[str, Json]"
_TYPE_WORDS = frozenset(kind.value for kind in Kind)


@dataclass(slots=True)
class Layout:
    """Where canonical and normalised text differ; the defaults are the canonical text's."""

    properties: Callable[[AvroType], JsonObject] = lambda node: dict(node.properties)
    field_properties: Callable[[Field], JsonObject] = lambda member: dict(member.properties)
    aliases: Callable[[list[str]], list[str]] = list
    default: Callable[[Field], Json] = lambda member: member.default
    keeps_empty_doc: bool = True


CANONICAL = Layout()


def print_canonical(root: AvroType, *, supplied: frozenset[str] = frozenset()) -> str:
    """The canonical text; types named in ``supplied`` are never declared in it."""
    return print_json(TreeWriter(CANONICAL, known=set(supplied)).write(root))


def print_resolved(root: AvroType) -> str:
    """The canonical text with every type declared."""
    return print_json(TreeWriter(CANONICAL).write(root))


def equivalence_key(root: AvroType) -> str:
    """Equal for two schemas that differ in the order of attributes and aliases only."""
    return print_json(TreeWriter(Layout(aliases=sorted)).write(root), sort_keys=True)


@dataclass(slots=True)
class TreeWriter:
    """Turns type nodes back into JSON values; ``known`` are the full names that need no declaration any more."""

    layout: Layout
    known: set[str] = field(default_factory=set)

    def write(self, node: AvroType, namespace: str | None = None) -> Json:
        """The JSON value of a type that stands inside ``namespace``."""
        if isinstance(node, (Record, Enum, Fixed)):
            return self._write_named(node, namespace)
        if isinstance(node, Union):
            return [self.write(branch, namespace) for branch in node.branches]
        if isinstance(node, Array):
            inner: JsonObject = {"items": self.write(node.items, namespace)}
        elif isinstance(node, Map):
            inner = {"values": self.write(node.values, namespace)}
        elif not node.properties:
            return node.kind.value
        else:
            inner = {}
        return {"type": node.kind.value, **inner, **self.layout.properties(node)}

    def _write_named(self, node: NamedType, namespace: str | None) -> Json:
        if node.full_name in self.known:
            return _written_name(node, namespace)
        self.known.add(node.full_name)
        written = {"type": node.kind.value, "name": node.name}
        if node.namespace != namespace:
            written["namespace"] = node.namespace or ""
        if node.doc or (node.doc is not None and self.layout.keeps_empty_doc):
            written["doc"] = node.doc
        return written | self._write_body(node) | self.layout.properties(node) | self._write_aliases(node)

    def _write_body(self, node: NamedType) -> JsonObject:
        if isinstance(node, Record):
            fields = [self._write_field(member, node.namespace) for member in node.fields]
            return {"type": "error", "fields": fields} if node.is_error else {"fields": fields}
        if isinstance(node, Fixed):
            return {"size": node.size}
        symbols: JsonObject = {"symbols": list(node.symbols)}
        return symbols if node.default is None else symbols | {"default": node.default}

    def _write_field(self, member: Field, namespace: str | None) -> JsonObject:
        written = {"name": member.name, "type": self.write(member.type, namespace)}
        if member.doc is not None:
            written["doc"] = member.doc
        if member.has_default:
            written["default"] = self.layout.default(member)
        if member.order not in (None, "ascending"):
            written["order"] = member.order
        if member.aliases:
            written["aliases"] = self.layout.aliases(list(member.aliases))
        return written | self.layout.field_properties(member)

    def _write_aliases(self, node: NamedType) -> JsonObject:
        if not node.aliases:
            return {}
        prefix = f"{node.namespace}." if node.namespace else None
        short = [_without_prefix(alias, prefix) for alias in node.aliases]
        return {"aliases": self.layout.aliases(short)}


def _written_name(node: NamedType, namespace: str | None) -> str:
    """The short name where it means the same; a short name that is a type word would be read as that type."""
    return node.name if node.namespace == namespace and node.name not in _TYPE_WORDS else node.full_name


def _without_prefix(alias: str, prefix: str | None) -> str:
    if prefix and alias.startswith(prefix) and "." not in alias[len(prefix) :]:
        return alias[len(prefix) :]
    return alias
