"""The resolution of field paths in a schema of any language."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self, TypeVar

from counterfoil.schema.paths.errors import PathNotFound
from counterfoil.schema.paths.model import StepKind
from counterfoil.schema.paths.text import print_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from counterfoil.schema.paths.model import FieldPath, Step
    from counterfoil.schema.pointer import Pointer

_SHOWN_NAMES: Final = 20

NodeT = TypeVar("NodeT")


class Target(NamedTuple):
    """The target of a path: its ``pointer`` in the schema's own text, and the ``node`` of the language's syntax tree.

    The pointer is empty for the schema itself and for an element that another text declares.
    """

    pointer: Pointer
    node: object


class Fault(Exception):
    """A step has no target: ``problem`` describes the node at which it fails."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.depth = 0
        """The number of steps that could be resolved."""

    @classmethod
    def of_names(cls, around: str, kind: str, name: str, known: Collection[str]) -> Self:
        """Return the fault that ``name`` is not among ``known``; its text has similar names, or else the first ones."""
        alike = get_close_matches(name, known, n=3, cutoff=0.6) or list(known)[:_SHOWN_NAMES]
        shown = f"; it has {', '.join(alike)}" if alike else ""
        return cls(f"{around} has no {kind} {name!r}{shown}")


def follow(start: NodeT, path: FieldPath, inside: Callable[[NodeT, Step], NodeT]) -> NodeT:
    """Return the target of ``path`` from ``start``; ``inside`` resolves one step or raises ``Fault``."""
    node = start
    for depth, step in enumerate(path):
        try:
            node = inside(node, step)
        except Fault as fault:
            fault.depth = depth
            raise
    return node


class Resolving(Protocol):
    """A schema that resolves field paths."""

    def target_of(self, path: FieldPath) -> Target:
        """Return the target of a path; raise ``Fault`` for a step without a target."""


def resolve_path(schema: Resolving, path: FieldPath) -> Target:
    """Return the target of ``path`` in ``schema``; raise ``PathNotFound`` if there is none.

    A path that starts at the record's key is resolved without that step, since ``schema`` is then that of the key. A
    header is always a ``PathNotFound``: headers have no schema.
    """
    inside = path[1:] if path and path[0].kind is StepKind.KEY else path
    if inside and inside[0].kind is StepKind.HEADER:
        raise PathNotFound(print_path(path), "", "headers have no schema")
    try:
        return schema.target_of(inside)
    except Fault as fault:
        raise PathNotFound(print_path(path), print_path(inside[: fault.depth]), fault.problem) from None
