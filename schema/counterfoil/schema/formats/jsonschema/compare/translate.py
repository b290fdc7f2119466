"""The translation of a schema's text to the tree of nodes that is compared.

Drafts 4 to 7 and the later drafts have different keywords for some things, and the reference has a separate reader for
each group; both become the nodes of :mod:`~counterfoil.schema.formats.jsonschema.compare.model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from counterfoil.schema.formats.jsonschema.compare.keyword_nodes import SchemaKeywords, Trail
from counterfoil.schema.formats.jsonschema.compare.model import Empty, Node, Nothing, Site

if TYPE_CHECKING:
    from counterfoil.schema.formats.jsonschema.compare.keyword_nodes import Location
    from counterfoil.schema.formats.jsonschema.read.resolve import Base, Resolver
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

_TREES: WeakKeyDictionary[JsonSchema, Node] = WeakKeyDictionary()


def node_of(schema: JsonSchema) -> Node:
    """Return the tree of a schema, which is built once for each.

    References in it are resolved on first use; one that cannot be resolved then raises ``UnresolvedReference``.
    """
    node = _TREES.get(schema)
    if node is None:
        translation = _Translation(schema.resolver)
        node = translation.translate(schema.document, schema.base, Trail(("", ()), None))
        node = _TREES.setdefault(schema, node)
    return node


class _Translation:
    """The translation of one schema; references that are not resolved yet keep it in memory."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._node_by_place: dict[tuple[Location, bool], Node] = {}

    def translate(self, value: Any, base: Base, trail: Trail) -> Node:
        """Return the node of the schema ``value``; ``trail`` has the places of the references that led here."""
        site = Site(base.document, base.pointer, value)
        if not isinstance(value, dict):
            return Nothing(site=site) if value is False else Empty(site=site)
        node = SchemaKeywords(self, value, base, site, trail).node()
        if isinstance(title := value.get("title"), str):
            node.title = title
        if isinstance(description := value.get("description"), str):
            node.description = description
        if "default" in value:
            node.default, node.has_default = value["default"], True
        if isinstance(connect_type := value.get("connect.type"), str):
            node.connect_type = connect_type
        if not base.draft.is_modern:
            node.source = value
            if isinstance(identity := value.get(base.draft.id_keyword), str):
                node.identity = identity
        return node

    def below(self, value: Any, around: SchemaKeywords, *steps: str | int) -> Node:
        """Return the node of the schema ``value``, which is at ``steps`` in ``around``."""
        base = self._resolver.enter(value, around.base.below(*steps))
        return self.translate(value, base, around.trail)

    def meant(self, text: str, around: SchemaKeywords, *, is_dynamic: bool) -> Node:
        """Return the node that a reference leads to.

        In later drafts a recursive schema has two nodes, as in the reference: one for a reference from outside, one
        for a reference inside itself.
        """
        resolve = self._resolver.resolve_dynamic if is_dynamic else self._resolver.resolve
        value, base = resolve(text, around.base)
        place = (base.document, base.pointer)
        key = (place, base.draft.is_modern and around.trail.has(place))
        node = self._node_by_place.get(key)
        if node is None:
            trail = Trail(place, around.trail) if base.draft.is_modern else around.trail
            node = self.translate(value, base, trail)
            node = self._node_by_place.setdefault(key, node)  # the same node for all threads
        return node
