"""Walks over a type tree without recursion: the check of its depth, and the removal of pointers into another text.

Every other walk is recursive and visits each record once. A text of little depth can still declare a chain of thousands
of records, each with a field of the one before, and references put texts into texts; the limit keeps all such walks
inside Python's stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.types import Array, Map, Record, Union

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.formats.avro.types import AvroType, NamedType

MAX_TYPE_DEPTH: Final = 120
"""The largest number of nested types: an array of a map of a record is three."""


def is_too_deep(root: AvroType) -> bool:
    """Return whether a walk from ``root`` that visits each record once is deeper than ``MAX_TYPE_DEPTH``."""
    seen: set[int] = set()
    stack = [iter((root,))]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
        elif id(node) not in seen:
            seen.add(id(node))
            if len(stack) > MAX_TYPE_DEPTH:
                return True
            stack.append(iter(_inner_types(node)))
    return False


def clear_pointers(nodes: Iterable[NamedType]) -> None:
    """Empty the JSON Pointers of these types and everything in them, since their text is not the schema's own."""
    waiting: list[AvroType] = list(nodes)
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        node.pointer = ()
        if isinstance(node, Record):
            for member in node.fields:
                member.pointer = ()
        waiting.extend(_inner_types(node))


def _inner_types(node: AvroType) -> Sequence[AvroType]:
    if isinstance(node, Record):
        return [member.type for member in node.fields]
    if isinstance(node, Union):
        return node.branches
    if isinstance(node, Array):
        return (node.items,)
    return (node.values,) if isinstance(node, Map) else ()
