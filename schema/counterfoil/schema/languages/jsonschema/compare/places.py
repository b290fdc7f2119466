"""Nodes identified: their places in the text, short descriptions for sentences, and the equality of branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.languages.jsonschema.compare.nodes import (
    ArraySchema,
    BooleanSchema,
    CombinationSchema,
    ConditionSchema,
    ConstantSchema,
    Criterion,
    EmptySchema,
    EnumSchema,
    NegationSchema,
    Node,
    NothingSchema,
    NullSchema,
    NumericSchema,
    ObjectSchema,
    ReferenceSchema,
    Rest,
    TextSchema,
)
from counterfoil.schema.languages.jsonschema.compare.translation import KEYWORDS_BY_KIND, value_text
from counterfoil.schema.paths import branch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.paths import FieldPath
    from counterfoil.schema.texts import Pointer


# The places of nodes and keywords in their text, and the steps that lead to them.
#
# A pointer leads to the changed keyword or the name in a list, or to the nearest thing around it that exists.

_OTHER_NAMES: Final = {
    "dependencies": ("dependentRequired", "dependentSchemas"),
    "additionalItems": ("items",),
    "prefixItems": ("items",),
    "minContains": ("contains",),
}
"""Other spellings of a keyword in other drafts, or the keyword that implies it."""
_TYPE_NAMES: Final[Mapping[type[Node], tuple[str, ...]]] = {
    TextSchema: ("string",),
    NumericSchema: ("number", "integer"),
    ObjectSchema: ("object",),
    ArraySchema: ("array",),
    BooleanSchema: ("boolean",),
    NullSchema: ("null",),
}
_KEYWORD_BY_KIND: Final[Mapping[type[Node], str]] = {EnumSchema: "enum", ConstantSchema: "const", NegationSchema: "not"}


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
    if isinstance(node, ReferenceSchema):
        return node.keyword
    value = node.site.value
    if isinstance(node, CombinationSchema):
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
    if not isinstance(node, CombinationSchema) or not node.is_synthetic:
        return node
    others = other.branches if isinstance(other, CombinationSchema) and other.is_synthetic else (other,)
    known = {_kind(each) for each in others}
    return next((each for each in node.branches if _kind(each) not in known), node.branches[0])


def spot_of_branch(around: CombinationSchema, node: Node) -> Spot:
    """Return the spot of a branch of ``around``: its schema in a list, its word in a list of types, or the keyword."""
    if branch_step(around, node):
        return Spot(node)
    if around.is_synthetic:
        return spot_of_kind(node, None)
    named = (name for name in _TYPE_NAMES.get(type(node), ()) if name in around.site.value["type"])
    return next((Spot(around, ("type", name)) for name in named), spot_of_kind(around, None))


def spot_of_value(node: EnumSchema, *, known: frozenset[str]) -> Spot:
    """Return the spot of the first value of an ``enum`` that is not in ``known``; the keyword if there is none."""
    values = node.site.value["enum"]
    index = next((index for index, value in enumerate(values) if value_text(value) not in known), None)
    return Spot(node, ("enum",) if index is None else ("enum", index))


def branch_step(around: CombinationSchema, node: Node) -> FieldPath:
    """Return the step into a branch of ``around``; none if the branches are in no list of the text."""
    pairs = zip(around.indexes, around.branches, strict=False)
    return tuple(branch(index) for index, one in pairs if one is node)


def _kind(node: Node | None) -> object:
    return node.criterion if isinstance(node, CombinationSchema) else type(node)


# Short descriptions of nodes and values, for sentences.

_WORD_BY_KIND: Final = {
    EmptySchema: "anything",
    NothingSchema: "nothing",
    BooleanSchema: "a boolean",
    NullSchema: "null",
    TextSchema: "a string",
    ObjectSchema: "an object",
    ArraySchema: "an array",
    NegationSchema: "what a not leaves",
    ConditionSchema: "what an if decides",
    ReferenceSchema: "what a reference means",
}
_CRITERION_WORD: Final = {Criterion.ALL_OF: "all of", Criterion.ANY_OF: "any of", Criterion.ONE_OF: "one of"}
_SHOWN_VALUES: Final = 10
_SHOWN_DEPTH: Final = 2


def describe(node: Node, depth: int = _SHOWN_DEPTH) -> str:
    """Return a short description of a node: ``an integer``, ``one of (a string, null)``."""
    match node:
        case NumericSchema():
            return "an integer" if node.is_integer else "a number"
        case EnumSchema():
            return f"one of the values {listed(node.values)}"
        case ConstantSchema():
            return f"the value {node.value}"
        case CombinationSchema():
            branches = ", ".join(describe(branch, depth - 1) for branch in node.branches) if depth else "…"
            return f"{_CRITERION_WORD[node.criterion]} ({branches})"
    return _WORD_BY_KIND[type(node)]


def listed(values: Iterable[str]) -> str:
    """Return sorted values in one text, at most ten of them and the number of the others."""
    shown = sorted(values)
    more = f" and {len(shown) - _SHOWN_VALUES} more" if len(shown) > _SHOWN_VALUES else ""
    return ", ".join(shown[:_SHOWN_VALUES]) + more


# The equality of branches, so that equal ones count once.

_LONG: Final = 200
_NOT_CONTENT: Final = frozenset({"site", "source", "keyword", "key", "find", "found", "is_synthetic", "indexes"})


def key_of(node: Node) -> str:
    """Return a text that is the same for nodes of the same content.

    References are compared by their text, not by the schema that they lead to.
    """
    if node.key is None:
        key = value_text(node.source) if isinstance(node.source, dict) else _structure(node)
        is_long = len(key) > _LONG  # the keys of nodes inside one another would be as long as all their texts together
        node.key = sha256(key.encode("utf-8", "surrogatepass")).hexdigest() if is_long else key
    return node.key


def _structure(node: Node) -> str:
    content = [
        f"{each.name}={_text(getattr(node, each.name))}" for each in fields(node) if each.name not in _NOT_CONTENT
    ]
    return f"{type(node).__name__}({','.join(content)})"


def _text(value: Any) -> str:
    match value:
        case Node():
            return key_of(value)
        case Rest():
            return f"{value.is_allowed} {_text(value.schema)}"
        case frozenset():
            return repr(sorted(value))
        case tuple():
            return f"[{','.join(map(_text, value))}]"
        case Mapping() if all(isinstance(each, Node | frozenset) for each in value.values()):
            return f"{{{','.join(f'{name!r}:{_text(value[name])}' for name in sorted(value))}}}"
    return repr(value)
