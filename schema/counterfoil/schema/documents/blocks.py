"""Reading the nodes of a document: mappings with fixed keys, texts, choices, lists; errors have the place."""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from counterfoil.schema.documents.nodes import InvalidDocument, ListNode, MappingNode, ScalarNode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.documents.nodes import Node

_Chosen = TypeVar("_Chosen", bound=StrEnum)


def block(node: Node, *, what: str, required: Iterable[str] = (), optional: Iterable[str] = ()) -> MappingNode:
    """Return ``node`` as a mapping with these keys and no others."""
    if not isinstance(node, MappingNode):
        raise refusal(f"{what} must be a mapping of names to values", node)
    known = [*required, *optional]
    for key, position in node.key_positions.items():
        if key not in known:
            raise InvalidDocument(f"{what} has no key {key}; {likely(key, known)}", position)
    for key in required:
        if key not in node.entries:
            raise refusal(f"{what} needs {key}", node)
    return node


def likely(key: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown key: the known one that is most similar, or else all of them."""
    names = sorted(known)
    near = get_close_matches(key, names, n=1)
    return f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}"


def text_of(node: Node) -> str:
    """Return a scalar as it is written; an empty text for a list and a mapping."""
    return node.text if isinstance(node, ScalarNode) else ""


def words(node: Node, *, what: str) -> str:
    """Return a text that is not empty."""
    text = text_of(node)
    if not text.strip():
        raise refusal(f"{what} must be a text", node)
    return text


def items(node: Node, *, what: str) -> tuple[Node, ...]:
    """Return the items of a list."""
    if not isinstance(node, ListNode):
        raise refusal(f"{what} must be a list", node)
    return node.items


def choice(node: Node, choices: type[_Chosen], *, what: str, folded: bool = False) -> _Chosen:
    """Return the member of ``choices`` that is written; ``folded`` permits any letter case for names in capitals."""
    text = text_of(node).upper() if folded else text_of(node)
    if text not in [str(each) for each in choices]:
        raise refusal(f"{what} must be one of {', '.join(choices)}, not {text_of(node) or 'this'}", node)
    return choices(text)


def refusal(problem: str, node: Node) -> InvalidDocument:
    """Return the error that ``problem`` is at the place of ``node``."""
    return InvalidDocument(problem, node.position)
