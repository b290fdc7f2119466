"""The canonical text of an Avro schema: the one spelling that a registry stores and returns.

A primitive without properties is its bare name, a named type is declared where it first occurs and a name afterwards,
attributes are in a fixed order and properties in the order written, aliases of named types last.

Source: Apache Avro Java's ``Schema.toString``, which the reference registry returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.formats.avro.types import WORD_BY_KIND, Array, Enum, Fixed, Map, Primitive, Record, Union
from counterfoil.schema.jsontext.printing import print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.schema.formats.avro.types import AvroType, Field, Json, NamedType

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
        if type(node) is Primitive and not node.properties:
            return WORD_BY_KIND[node.kind]
        if isinstance(node, (Record, Enum, Fixed)):
            return self._write_named(node, namespace)
        if isinstance(node, Union):
            return [self.write(branch, namespace) for branch in node.branches]
        if isinstance(node, Array):
            return {"type": "array", "items": self.write(node.items, namespace), **node.properties}
        if isinstance(node, Map):
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
        if isinstance(node, Record):
            if node.is_error:
                written["type"] = "error"
            written["fields"] = [member.written or self._write_field(member, node.namespace) for member in node.fields]
        elif isinstance(node, Fixed):
            written["size"] = node.size
        else:
            written["symbols"] = list(node.symbols)
            if node.default is not None:
                written["default"] = node.default

    def _write_field(self, member: Field, namespace: str | None) -> JsonObject:
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
    if type(node) is Union:
        return all(type(branch) is Primitive and not branch.properties for branch in node.branches)
    return type(node) is Primitive and not node.properties


def _written_name(node: NamedType, namespace: str | None) -> str:
    """Return the short name if the namespaces are equal and the name is not a word for a type; else the full name."""
    return node.name if node.namespace == namespace and node.name not in _TYPE_WORDS else node.full_name


def _short_alias(alias: str, namespace: str | None) -> str:
    """Return the alias without its namespace if that equals ``namespace``."""
    space, _, name = alias.rpartition(".")
    return name if space == (namespace or "") else alias
