"""What a field path leads to in a schema, whatever its language."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self, TypeVar

from counterfoil.schema.paths.errors import PathNotFound
from counterfoil.schema.paths.model import StepKind
from counterfoil.schema.paths.text import print_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from counterfoil.schema.paths.model import FieldPath, Step

_SHOWN_NAMES: Final = 20

NodeT = TypeVar("NodeT")


class Target(NamedTuple):
    """What a path leads to: its ``pointer`` in the schema's own text, and the ``node`` of the language's own tree.

    The pointer is empty for the schema itself and for what another text declares.
    """

    pointer: str
    node: object


class Fault(Exception):
    """A step leads nowhere, as a language's walk finds it: ``problem`` says what is there instead."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.depth = 0
        """How many steps lead somewhere."""

    @classmethod
    def of_names(cls, around: str, kind: str, name: str, known: Collection[str]) -> Self:
        """There is nothing of this name among those that are ``known``; those most like it are named first."""
        alike = get_close_matches(name, known, n=3, cutoff=0.6) or list(known)[:_SHOWN_NAMES]
        shown = f"; it has {', '.join(alike)}" if alike else ""
        return cls(f"{around} has no {kind} {name!r}{shown}")


def follow(start: NodeT, path: FieldPath, inside: Callable[[NodeT, Step], NodeT]) -> NodeT:
    """Return what ``path`` leads to from ``start``, where ``inside`` takes one step or raises ``Fault``."""
    node = start
    for depth, step in enumerate(path):
        try:
            node = inside(node, step)
        except Fault as fault:
            fault.depth = depth
            raise
    return node


class Resolving(Protocol):
    """A schema that finds what field paths lead to."""

    def target_of(self, path: FieldPath) -> Target:
        """Return what a path leads to; raises ``Fault`` for a step that leads nowhere."""


def resolve_path(schema: Resolving, path: FieldPath) -> Target:
    """Return what ``path`` leads to in ``schema``; ``PathNotFound`` says how far it leads and what is there instead.

    A path that starts at the record's key is one in the key's schema, and is looked for without that step. Headers
    have no schema.
    """
    inside = path[1:] if path and path[0].kind is StepKind.KEY else path
    if inside and inside[0].kind is StepKind.HEADER:
        raise PathNotFound(print_path(path), "", "headers have no schema")
    try:
        return schema.target_of(inside)
    except Fault as fault:
        raise PathNotFound(print_path(path), print_path(inside[: fault.depth]), fault.problem) from None
