"""Places of a pair walk: how two type trees were entered together, from the root to a pair of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.compatibility.report import Origin
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Map, Record, Union
from counterfoil.schema.place import ITEMS, VALUES, branch, member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.place import Steps


@dataclass(eq=False, slots=True)
class Place:
    """A pair of nodes and the pair from which it was entered.

    ``token`` is what the step adds to the path, such as ``fields/3/type``, empty for nothing; None starts a path
    anew, as the root does, and the trial of a union's branches. ``via`` is the step on the writer's side: the name of
    a field, the index of a union's branch, ``items`` or ``values`` of a collection; None where the writer's node
    stayed the same.
    ``reader_field`` and ``writer_field`` are the fields of the two records that were entered, if such were.
    """

    parent: Place | None
    token: str | None
    reader: AvroType
    writer: AvroType
    via: str | int | None = None
    reader_field: Field | None = None
    writer_field: Field | None = None

    def path(self, *more: str) -> str:
        """The path as Confluent counts it: ``/`` for the root, ``/fields/1/type`` below."""
        tokens: list[str] = []
        place: Place | None = self
        while place is not None and place.token is not None:
            tokens.append(place.token)
            place = place.parent
        return "/" + "/".join(filter(None, [*reversed(tokens), *more]))

    def from_root(self) -> list[Place]:
        """Every place on the way, the root first and this one last."""
        return [*self._upwards()][::-1]

    def reader_pointer(self, attribute: str = "") -> str:
        """The JSON pointer in the reader's text of where its node is used, or of the nearest thing around that.

        With an ``attribute``, such as ``/symbols``, that of the attribute where the node is declared in the text.
        """
        nodes = [(place.reader, place.reader_field) for place in self._upwards()]
        return _declared(nodes, attribute) if attribute and _is_own(nodes) else _used(nodes)

    def writer_pointer(self, attribute: str = "") -> str:
        """The same for the writer's node in the writer's text."""
        nodes = [(place.writer, place.writer_field) for place in self._upwards()]
        return _declared(nodes, attribute) if attribute and _is_own(nodes) else _used(nodes)

    def reader_steps(self) -> Steps:
        """The steps to the reader's node."""
        places = self.from_root()
        return tuple(step for around, place in pairwise(places) for step in place.steps_from(around))

    def steps_from(self, around: Place) -> Steps:
        """The steps to the reader's node from that of the place before."""
        if self.reader_field is not None:
            return (member(self.reader_field.name),)
        if self.reader is around.reader:
            return ()
        match around.reader:
            case Array():
                return (ITEMS,)
            case Map():
                return (VALUES,)
            case Union():
                return (branch(_branch_word(self.reader)),)
        return ()

    def below(self, onto: Place) -> Place:
        """The same place under ``onto``, which takes the place of this one's root."""
        if self.parent is None:
            return onto
        return replace(self, parent=self.parent.below(onto))

    def reader_origin(self, *more: str) -> Origin:
        """The named type of the reader that holds its node, and the steps from there, fields by their names."""
        return _origin([(place.reader, place.reader_step) for place in self._upwards()], more)

    def writer_origin(self, *more: str) -> Origin:
        """The same for the writer's node."""
        return _origin([(place.writer, place.writer_step) for place in self._upwards()], more)

    @property
    def reader_step(self) -> str:
        """The step into this place on the reader's side, fields by their names."""
        return self.reader_field.name if self.reader_field is not None else self.token or ""

    @property
    def writer_step(self) -> str:
        """The step into this place on the writer's side."""
        return "" if self.via is None else str(self.via)

    def _upwards(self) -> Iterator[Place]:
        place: Place | None = self
        while place is not None:
            yield place
            place = place.parent


def _origin(steps: list[tuple[AvroType, str]], more: tuple[str, ...]) -> Origin:
    """What holds the innermost node; ``steps`` are the nodes from there to the root, each with the step into it."""
    inside: list[str] = []
    root = steps[-1][0]
    for node, step in steps:
        if isinstance(node, Record | Enum | Fixed):
            return Origin(node.full_name, (*reversed(inside), *more), is_own=bool(node.pointer) or node is root)
        if step:
            inside.append(step)
    return Origin("", (*reversed(inside), *more), is_own=True)


_Nodes: TypeAlias = "list[tuple[AvroType, Field | None]]"
"""A node of one side and those around it up to the root, each with the field that led to it."""


def _is_own(nodes: _Nodes) -> bool:
    """Whether the innermost node is declared in the schema's own text; only the root stands at the empty pointer."""
    return bool(nodes[0][0].pointer) or nodes[0][0] is nodes[-1][0]


def _declared(nodes: _Nodes, attribute: str) -> str:
    return nodes[0][0].pointer + attribute


def _used(nodes: _Nodes) -> str:
    """Where the innermost node is used, or what is around it, as far as that is in the schema's own text."""
    for index, (node, field) in enumerate(nodes[:-1]):
        if field is not None:
            pointer: str | None = f"{field.pointer}/type" if field.pointer else None
        else:
            pointer = _inside(nodes[index + 1 :], node)
        if pointer is not None:
            return pointer
    return ""


def _inside(around: _Nodes, node: AvroType) -> str | None:
    """Where the innermost node ``around`` says ``node``; None where it does not, or in another text."""
    outer = around[0][0]
    if not _is_own(around):
        return None
    match outer:
        case Array():
            return f"{outer.pointer}/items"
        case Map():
            return f"{outer.pointer}/values"
        case Union():
            return next((f"{outer.pointer}/{index}" for index, each in enumerate(outer.branches) if each is node), None)
    return None


def _branch_word(node: AvroType) -> str:
    return node.name if isinstance(node, Record | Enum | Fixed) else node.kind.value


@dataclass(frozen=True, slots=True)
class Found:
    """A difference, the rule behind it, and the place where it was first met."""

    rule: CompatibilityRule
    difference: Difference
    place: Place
