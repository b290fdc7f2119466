"""Which type of a union a value of the program belongs to, by the value's class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.serde.models.description import (
    AnyNode,
    EnumNode,
    ListNode,
    LiteralNode,
    MapNode,
    ModelKind,
    ModelNode,
    RootNode,
    ScalarNode,
    UnionNode,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.sdk.serde.models.description import Node


def branch_of(branches: Sequence[Node], value: object) -> int | None:
    """Return the number of the first branch whose values have the value's class; None if there is none."""
    return next((number for number, branch in enumerate(branches) if _holds(branch, value)), None)


def _holds(node: Node, value: object) -> bool:
    match node:
        case ScalarNode(python=python):
            return value.__class__ is python
        case LiteralNode(python=python, values=values):
            return value.__class__ is python and value in values
        case EnumNode(python=python) | ListNode(python=python):
            return isinstance(value, python)
        case MapNode() | ModelNode(kind=ModelKind.TYPED_DICT):
            return isinstance(value, dict)
        case ModelNode(python=python) | RootNode(python=python):
            return isinstance(value, python)
        case UnionNode(branches=branches):
            return branch_of(branches, value) is not None
        case AnyNode():
            return True
