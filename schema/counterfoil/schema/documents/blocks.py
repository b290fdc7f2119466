"""Reading the nodes of a document: mappings with fixed keys, texts, choices, days, lists; errors have the place."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.documents.nodes import InvalidDocument, ListNode, MappingNode, Repair, ScalarNode

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from counterfoil.schema.documents.nodes import Node

_Chosen = TypeVar("_Chosen", bound=StrEnum)
_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ADDRESS: Final = re.compile(r"https?://[^/\s]")


def block(node: Node, *, what: str, required: Iterable[str] = (), optional: Iterable[str] = ()) -> MappingNode:
    """Return ``node`` as a mapping with these keys and no others."""
    if not isinstance(node, MappingNode):
        raise refusal(f"{what} must be a mapping of names to values", node)
    known = [*required, *optional]
    for key, position in node.key_positions.items():
        if key not in known:
            meant = respelled(key, known, taken=node.entries)
            repair = None if meant is None else Repair(position, key, meant)
            raise InvalidDocument(f"{what} has no key {key}; {likely(key, known)}", position, repair=repair)
    for key in required:
        if key not in node.entries:
            raise refusal(f"{what} needs {key}", node)
    return node


def likely(key: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown key: the known one that is most similar, or else all of them."""
    names = sorted(known)
    near = get_close_matches(key, names, n=1)
    return f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}"


def respelled(word: str, known: Iterable[str], *, taken: Container[str] = ()) -> str | None:
    """Return the only one of ``known`` that ``word`` is but for letter case, hyphens and underscores; else None.

    One that is ``taken`` by another key does not count.

    >>> respelled("physical_name", ["name", "physicalName"])
    'physicalName'
    """
    meant = [each for each in dict.fromkeys(known) if _letters(each) == _letters(word)]
    return meant[0] if len(meant) == 1 and meant[0] not in taken else None


def _letters(word: str) -> str:
    return word.replace("-", "").replace("_", "").casefold()


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


def flag(node: Node, *, what: str) -> bool:
    """Return true or false."""
    if not isinstance(node, ScalarNode) or not isinstance(node.value, bool):
        raise refusal(f"{what} must be true or false", node)
    return node.value


def day(node: Node, *, what: str) -> date:
    """Return a day such as 2027-03-31."""
    text = text_of(node)
    if _DAY.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    raise refusal(f"{what} must be a day such as 2027-03-31, not {text or 'this'}", node)


def address(node: Node, *, what: str) -> str:
    """Return the address of an HTTP server."""
    text = words(node, what=what)
    if not _ADDRESS.match(text):
        raise refusal(f"{what} must be an address that starts with http:// or https://, not {text!r}", node)
    return text


def choice(node: Node, choices: type[_Chosen], *, what: str, folded: bool = False) -> _Chosen:
    """Return the member of ``choices`` that is written; ``folded`` permits any letter case for names in capitals."""
    text = text_of(node).upper() if folded else text_of(node)
    names = [str(each) for each in choices]
    if text not in names:
        meant = respelled(text_of(node), names)
        raise InvalidDocument(
            f"{what} must be one of {', '.join(names)}, not {text_of(node) or 'this'}",
            node.position,
            repair=None if meant is None else Repair(node.position, text_of(node), meant),
        )
    return choices(text)


def refusal(problem: str, node: Node) -> InvalidDocument:
    """Return the error that ``problem`` is at the place of ``node``."""
    return InvalidDocument(problem, node.position)
