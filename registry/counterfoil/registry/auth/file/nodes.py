"""Reading the values of an access file that several of its parts have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.names import GROUP, SERVICE, USER, is_name
from counterfoil.registry.domain.access.rules import EVERYBODY
from counterfoil.schema.documents.blocks import refusal, text_of, words
from counterfoil.schema.documents.nodes import Kind, ListNode, ScalarNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.documents.nodes import MappingNode, Node

_WORDS: Final = (USER, SERVICE, GROUP)


def each(node: Node) -> Sequence[Node]:
    """Return the items of a list, or the one value that stands without a list."""
    return node.items if isinstance(node, ListNode) else (node,)


def one_or_more(node: Node, *, what: str) -> tuple[str, ...]:
    """Return a text, or the texts of a list that is not empty."""
    found = tuple(words(item, what=what) for item in each(node))
    if not found:
        raise refusal(f"{what} must have at least one text", node)
    return found


def whole(node: Node, *, what: str, most: int) -> int:
    """Return a whole number from 0 to ``most``."""
    value = node.value if isinstance(node, ScalarNode) and node.kind is Kind.INTEGER else None
    if not isinstance(value, int) or not 0 <= value <= most:
        raise refusal(f"{what} must be a whole number from 0 to {most}, not {text_of(node) or 'this'}", node)
    return value


def principal(node: Node, *, what: str, words_allowed: tuple[str, ...] = _WORDS) -> str:
    """Return a principal such as ``User:alice``."""
    text = text_of(node)
    word = next((word for word in words_allowed if text.startswith(word)), None)
    if word is None or not is_name(text.removeprefix(word)):
        expected = " or ".join(f"{word}NAME" for word in words_allowed)
        raise refusal(f"{what} must be {expected}, not {text or 'this'}", node)
    if text == EVERYBODY and GROUP not in words_allowed:
        raise refusal(f"{what} cannot be {EVERYBODY}", node)
    return text


def listed(top: MappingNode, key: str) -> Iterator[Node]:
    """Yield the items of a key's list; none where the key is absent or null."""
    node = top.entries.get(key)
    if node is None or node.kind is Kind.NULL:
        return
    if not isinstance(node, ListNode):
        raise refusal(f"{key} must be a list", node)
    yield from node.items
