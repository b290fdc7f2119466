"""The sketch of JSON data: each value is counted at its steps from the root.

Steps are the names that the writer's schema declares; the values of all other properties of an object are one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.sketch.model import MAX_PLACES, Place, PlaceCounts, SketchBuilder, depth_that_fits
from counterfoil.schema.tags import Hidden

if TYPE_CHECKING:
    from counterfoil.schema.languages.jsonschema.schema import JsonSchema


ITEMS: Final = "[]"
"""The step to the items of an array."""
OTHERS: Final = "{}"
"""The step to the values of properties that the schema does not name."""


def step_of(name: str) -> str:
    """Return the step to a property that the schema names."""
    return f".{name}"


class JsonSketcher:
    """Counts values of one JSON schema: None, bool, int, float, str, list, dict."""

    def __init__(self, schema: JsonSchema, builder: SketchBuilder, hidden: Hidden) -> None:
        self._builder = builder
        self._hidden = hidden
        self._names = declared_names(schema)
        self._root = _Node((), builder.at((), is_hidden=hidden.is_all))

    def add(self, value: object, size: int) -> None:
        """Count a record."""
        del size
        self._builder.records += 1
        self._visit(self._root, value, self._builder.records)

    def _visit(self, node: _Node, value: Json, record: int) -> None:
        counts = node.counts
        counts.seen(record)
        match value:
            case None:
                counts.null()
                counts.branch("null")
            case bool():
                counts.branch("boolean")
            case str():
                counts.branch("string")
                counts.text(value)
            case dict():
                counts.branch("object")
                self._object(node, value, record)
            case list():
                counts.branch("array")
                counts.size(len(value))
                child = self._below(node, ITEMS) if value else None
                if child is not None:
                    for each in value:
                        self._visit(child, each, record)
            case int():
                counts.branch("integer")
                counts.number(value)
            case _:
                counts.branch("number")
                counts.number(float(value))

    def _object(self, node: _Node, value: JsonObject, record: int) -> None:
        node.counts.size(len(value))
        for name, each in value.items():
            if name in self._names:
                child = self._below(node, step_of(name))
            else:
                node.counts.name(name)
                child = self._below(node, OTHERS)
            if child is not None:
                self._visit(child, each, record)

    def _below(self, node: _Node, step: str) -> _Node | None:
        known = node.below.get(step)
        if known is not None:
            return known
        depth = self._builder.depth
        if depth is not None and len(node.place) >= depth:
            return None
        place = (*node.place, step)
        is_hidden = node.is_hidden or self._hidden.is_all or step[1:] in self._hidden.names
        made = node.below[step] = _Node(place, self._builder.at(place, is_hidden=is_hidden), is_hidden=is_hidden)
        if len(self._builder.places) > MAX_PLACES:
            self._cut()
        return made

    def _cut(self) -> None:
        """Forget the deepest places; a value at one of them that is being counted is counted no longer."""
        places = self._builder.places
        depth = self._builder.depth = depth_that_fits(places, self._builder.depth)
        if depth is not None:
            for place in [each for each in places if len(each) > depth]:
                del places[place]
            self._root.cut(depth)


class _Node:
    """A place with the places below it."""

    __slots__ = ("below", "counts", "is_hidden", "place")

    def __init__(self, place: Place, counts: PlaceCounts, *, is_hidden: bool = False) -> None:
        self.place = place
        self.counts = counts
        self.is_hidden = is_hidden
        self.below: dict[str, _Node] = {}

    def cut(self, depth: int) -> None:
        """Forget the places below that are deeper than ``depth``."""
        if len(self.place) >= depth:
            self.below.clear()
        for each in self.below.values():
            each.cut(depth)


def declared_names(schema: JsonSchema) -> frozenset[str]:
    """Return the names of properties that a schema or one of its references has anywhere."""
    return frozenset(name for each in (schema.document, *schema.references.values()) for name in _names(each))


def _names(node: object) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _names(each)
    elif isinstance(node, dict):
        for keyword, inner in node.items():
            if keyword == "properties" and isinstance(inner, dict):
                yield from inner
            elif keyword == "required" and isinstance(inner, list):
                yield from (name for name in inner if isinstance(name, str))
            yield from _names(inner)
