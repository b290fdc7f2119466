"""Short descriptions of nodes and values, for sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.compare.model import (
    Array,
    Boolean,
    Choice,
    Combination,
    Condition,
    Constant,
    Criterion,
    Empty,
    Negation,
    Nothing,
    Null,
    Numeric,
    Object,
    Reference,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.formats.jsonschema.compare.model import Node

_WORD_BY_KIND: Final = {
    Empty: "anything",
    Nothing: "nothing",
    Boolean: "a boolean",
    Null: "null",
    Text: "a string",
    Object: "an object",
    Array: "an array",
    Negation: "what a not leaves",
    Condition: "what an if decides",
    Reference: "what a reference means",
}
_CRITERION_WORD: Final = {Criterion.ALL_OF: "all of", Criterion.ANY_OF: "any of", Criterion.ONE_OF: "one of"}
_SHOWN_VALUES: Final = 10
_SHOWN_DEPTH: Final = 2


def describe(node: Node, depth: int = _SHOWN_DEPTH) -> str:
    """Return a short description of a node: ``an integer``, ``one of (a string, null)``."""
    match node:
        case Numeric():
            return "an integer" if node.is_integer else "a number"
        case Choice():
            return f"one of the values {listed(node.values)}"
        case Constant():
            return f"the value {node.value}"
        case Combination():
            branches = ", ".join(describe(branch, depth - 1) for branch in node.branches) if depth else "…"
            return f"{_CRITERION_WORD[node.criterion]} ({branches})"
    return _WORD_BY_KIND[type(node)]


def listed(values: Iterable[str]) -> str:
    """Return sorted values in one text, at most ten of them and the number of the others."""
    shown = sorted(values)
    more = f" and {len(shown) - _SHOWN_VALUES} more" if len(shown) > _SHOWN_VALUES else ""
    return ", ".join(shown[:_SHOWN_VALUES]) + more
