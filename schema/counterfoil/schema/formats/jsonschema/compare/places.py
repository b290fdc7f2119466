"""The places of nodes and keywords in their text, and the steps that lead to them.

A pointer leads to the changed keyword or the name in a list, or to the nearest thing around it that exists.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.formats.jsonschema.compare.keyword_nodes import KEYWORDS_BY_KIND, value_text
from counterfoil.schema.formats.jsonschema.compare.model import (
    Array,
    Boolean,
    Choice,
    Combination,
    Constant,
    Negation,
    Null,
    Numeric,
    Object,
    Reference,
    Text,
)
from counterfoil.schema.paths.model import branch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from counterfoil.schema.formats.jsonschema.compare.model import Node
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer

_OTHER_NAMES: Final = {
    "dependencies": ("dependentRequired", "dependentSchemas"),
    "additionalItems": ("items",),
    "prefixItems": ("items",),
    "minContains": ("contains",),
}
"""Other spellings of a keyword in other drafts, or the keyword that implies it."""
_TYPE_NAMES: Final[Mapping[type[Node], tuple[str, ...]]] = {
    Text: ("string",),
    Numeric: ("number", "integer"),
    Object: ("object",),
    Array: ("array",),
    Boolean: ("boolean",),
    Null: ("null",),
}
_KEYWORD_BY_KIND: Final[Mapping[type[Node], str]] = {Choice: "enum", Constant: "const", Negation: "not"}


class Spot(NamedTuple):
    """A place in a text: what ``steps`` lead to in the schema of a node, or the nearest existing place.

    A step into a list of words may be the word. With None as steps it is the keyword that makes the node another kind
    of schema than ``other``. The pointer is computed on request, since most spots are not used.
    """

    node: Node
    steps: tuple[str | int, ...] | None = ()
    other: Node | None = None

    @property
    def document(self) -> str:
        """The name of the document, empty for the schema's own."""
        return self.node.site.document

    def pointer(self) -> Pointer:
        """Return the JSON Pointer in the document."""
        node, steps = self.node, self.steps
        if steps is None:
            node = _part_unlike(node, self.other)
            steps = tuple(filter(None, [keyword_of(node)]))
        return pointer_in(node.site.pointer, node.site.value, steps)


def spot_at(node: Node | None, *steps: str) -> Spot | None:
    """Return the spot at ``steps`` in the node's schema; None without a node."""
    return None if node is None else Spot(node, steps)


def spot_of_kind(node: Node, other: Node | None) -> Spot:
    """Return the spot of the keyword that makes a node another kind of schema than ``other``."""
    return Spot(node, None, other)


def pointer_in(pointer: Pointer, value: Any, steps: Sequence[str | int]) -> Pointer:
    """Return the pointer of ``steps`` in the schema ``value`` at ``pointer``, as far as they exist."""
    if len(steps) == 1 and isinstance(value, dict) and steps[0] in value:
        return (*pointer, steps[0])
    for step, following in zip_longest(steps, steps[1:]):
        key: str | int | None = None
        if isinstance(value, dict):
            known = [each for each in (step, *_OTHER_NAMES.get(str(step), ())) if each in value]
            key = next((each for each in known if _holds(value[each], following)), next(iter(known), None))
        elif isinstance(value, list) and isinstance(step, int):
            key = step
        elif isinstance(value, list) and step in value:
            key = value.index(step)
        if key is None:
            break
        value = value[key]
        pointer = (*pointer, key)
    return pointer


def _holds(value: Any, step: str | int | None) -> bool:
    return isinstance(value, (dict, list)) and step in value


def keyword_of(node: Node) -> str:
    """Return the keyword that determines the node's kind; empty if several do, or none."""
    if isinstance(node, Reference):
        return node.keyword
    value = node.site.value
    if isinstance(node, Combination):
        is_listed = not node.is_synthetic and node.criterion.value not in value
        return "type" if is_listed else "" if node.is_synthetic else node.criterion.value
    if type(node) in _KEYWORD_BY_KIND or not isinstance(value, dict):
        return _KEYWORD_BY_KIND.get(type(node), "")
    named = value.get("type")
    names = named if isinstance(named, list) else [named]
    if any(name in names for name in _TYPE_NAMES.get(type(node), ())):
        return "type"
    return next((keyword for keyword in value if keyword in KEYWORDS_BY_KIND.get(type(node), ())), "")


def _part_unlike(node: Node, other: Node | None) -> Node:
    """Return the first part of a synthetic allOf whose kind ``other`` does not have; any other node unchanged."""
    if not isinstance(node, Combination) or not node.is_synthetic:
        return node
    others = other.branches if isinstance(other, Combination) and other.is_synthetic else (other,)
    known = {_kind(each) for each in others}
    return next((each for each in node.branches if _kind(each) not in known), node.branches[0])


def spot_of_branch(around: Combination, node: Node) -> Spot:
    """Return the spot of a branch of ``around``: its schema in a list, its word in a list of types, or the keyword."""
    if branch_step(around, node):
        return Spot(node)
    if around.is_synthetic:
        return spot_of_kind(node, None)
    named = (name for name in _TYPE_NAMES.get(type(node), ()) if name in around.site.value["type"])
    return next((Spot(around, ("type", name)) for name in named), spot_of_kind(around, None))


def spot_of_value(node: Choice, *, known: frozenset[str]) -> Spot:
    """Return the spot of the first value of an ``enum`` that is not in ``known``; the keyword if there is none."""
    values = node.site.value["enum"]
    index = next((index for index, value in enumerate(values) if value_text(value) not in known), None)
    return Spot(node, ("enum",) if index is None else ("enum", index))


def branch_step(around: Combination, node: Node) -> FieldPath:
    """Return the step into a branch of ``around``; none if the branches are in no list of the text."""
    pairs = zip(around.indexes, around.branches, strict=False)
    return tuple(branch(index) for index, one in pairs if one is node)


def _kind(node: Node | None) -> object:
    return node.criterion if isinstance(node, Combination) else type(node)
