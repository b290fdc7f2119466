"""Places of a pair walk: how two type trees were entered together, from the root to a pair of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Self, TypeAlias

from counterfoil.schema.compatibility.report import Difference, Origin
from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.avro.paths import branch_name
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Map, Record, Union
from counterfoil.schema.paths.model import ITEMS, VALUES, branch, member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.paths.model import FieldPath, Step


@dataclass(eq=False, slots=True)
class Place:
    """A pair of nodes and the pair from which it was entered.

    ``token`` is what the step adds to the path: the number of a field, or a word, empty for nothing; None starts a
    path anew, as the root does, and the trial of a union's branches. ``via`` is the step on the writer's side: the name
    of a field, the index of a union's branch, ``items`` or ``values`` of a collection; None where the writer's node
    stayed the same.
    ``reader_field`` and ``writer_field`` are the fields of the two records that were entered, if such were.
    """

    parent: Place | None
    token: str | int | None
    reader: AvroType
    writer: AvroType
    via: str | int | None = None
    reader_field: Field | None = None
    writer_field: Field | None = None

    def path(self) -> tuple[str, ...]:
        """Return the steps as Confluent counts them: none for the root, ``fields``, ``1``, ``type`` below."""
        steps: list[str] = []
        place: Place | None = self
        while place is not None and place.token is not None:
            if isinstance(place.token, int):
                steps += ("type", str(place.token), "fields")
            elif place.token:
                steps.append(place.token)
            place = place.parent
        return tuple(reversed(steps))

    def from_root(self) -> list[Place]:
        """Return every place on the way, the root first and this one last."""
        return [*self._upwards()][::-1]

    def reader_pointer(self, attribute: str = "") -> str:
        """Return the JSON pointer in the reader's text of where its node is used, or of the nearest thing around that.

        With an ``attribute``, such as ``/symbols``, that of the attribute where the node is declared in the text.
        """
        nodes = [(place.reader, place.reader_field) for place in self._upwards()]
        return _declared(nodes, attribute) if attribute and _is_own(nodes) else _used(nodes)

    def writer_pointer(self, attribute: str = "") -> str:
        """Return the same for the writer's node in the writer's text."""
        nodes = [(place.writer, place.writer_field) for place in self._upwards()]
        return _declared(nodes, attribute) if attribute and _is_own(nodes) else _used(nodes)

    def reader_path(self) -> FieldPath:
        """Return the steps to the reader's node."""
        return _path([(place.reader, place.reader_field) for place in self.from_root()])

    def writer_path(self) -> FieldPath:
        """Return the steps to the writer's node."""
        return _path([(place.writer, place.writer_field) for place in self.from_root()])

    def below(self, onto: Place) -> Place:
        """Return the same place under ``onto``, which takes the place of this one's root."""
        if self.parent is None:
            return onto
        return replace(self, parent=self.parent.below(onto))

    def reader_origin(self, *more: str) -> Origin:
        """Return the named type of the reader that holds its node, and the steps from there, fields by their names."""
        return _origin([(place.reader, place.reader_step) for place in self._upwards()], more)

    def writer_origin(self, *more: str) -> Origin:
        """Return the same for the writer's node."""
        return _origin([(place.writer, place.writer_step) for place in self._upwards()], more)

    @property
    def reader_step(self) -> str:
        """The step into this place on the reader's side, fields by their names."""
        return self.reader_field.name if self.reader_field is not None else str(self.token or "")

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
    """Return what holds the innermost node.

    ``steps`` are the nodes from there to the root, each with the step into it.
    """
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
    """Return whether the innermost node is declared in the schema's own text.

    Only the root stands at the empty pointer.
    """
    return bool(nodes[0][0].pointer) or nodes[0][0] is nodes[-1][0]


def _declared(nodes: _Nodes, attribute: str) -> str:
    return nodes[0][0].pointer + attribute


def _used(nodes: _Nodes) -> str:
    """Return where the innermost node is used, or what is around it, as far as that is in the schema's own text."""
    for index, (node, field) in enumerate(nodes[:-1]):
        if field is not None:
            pointer: str | None = f"{field.pointer}/type" if field.pointer else None
        else:
            pointer = _inside(nodes[index + 1 :], node)
        if pointer is not None:
            return pointer
    return ""


def _inside(around: _Nodes, node: AvroType) -> str | None:
    """Return where the innermost node ``around`` says ``node``; None where it does not, or in another text."""
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


def _path(nodes: _Nodes) -> FieldPath:
    """Return the steps through nodes, the root first."""
    steps = (_step(around, node, field) for (around, _), (node, field) in pairwise(nodes))
    return tuple(step for step in steps if step is not None)


def _step(around: AvroType, node: AvroType, field: Field | None) -> Step | None:
    """Return the step from a node into one inside; None where they are the same."""
    if field is not None:
        return member(field.name)
    if node is around:
        return None
    match around:
        case Array():
            return ITEMS
        case Map():
            return VALUES
        case Union():
            return branch(branch_name(node))
    return None


@dataclass(eq=False, slots=True)
class Found(Difference):
    """A difference at ``place``, where it was first met.

    ``attribute`` is the one of the two nodes that it is about, where it is about one. ``field`` is a field of the
    reader's record that the writer's does not have, or has more than once; then it ``has_path`` not. ``because`` is
    what stands in the way of the branch of the reader's union that is most like the writer's type, and ``branch`` the
    first thing in its way.
    """

    place: Place
    attribute: str = ""
    field: Field | None = None
    has_path: bool = True
    because: Found | None = None
    branch: Found | None = None

    @property
    def path_steps(self) -> tuple[str, ...]:
        """The steps of Confluent's path, which counts the attribute where it knows the rule."""
        if self.field is not None:
            fields = self.place.reader.fields if isinstance(self.place.reader, Record) else ()
            index = next(index for index, field in enumerate(fields) if field is self.field)
            return (*self.place.path(), "fields", str(index))
        return (*self.place.path(), self.attribute) if self.attribute and self.error_type else self.place.path()

    @property
    def path(self) -> str:
        """The place as Confluent counts it: ``/`` for the root, ``/fields/1/type`` below."""
        return f"/{'/'.join(self.path_steps)}" if self.has_path else ""

    @property
    def sentence(self) -> Sentence:
        """What it says, and what it comes from, with the path inside the branch where that is not the branch itself."""
        said = self.kind.about(self.facts)
        if self.because is None:
            return said
        why = self.because.sentence
        if self.because.has_path and len(self.because.path_steps) > 1:
            why = Sentence.of("{why}, at {path} of it", {"why": why, "path": self.because.path})
        return Sentence.of("{what}: {why}", {"what": said, "why": why})

    @property
    def reader_pointer(self) -> str:
        """Where the place stands in the reader's text: the attribute, the field, or where its node is used."""
        if self.branch is not None:
            return self.branch.reader_pointer
        own = self.field.pointer if self.field is not None else ""
        return own or self.place.reader_pointer(f"/{self.attribute}" if self.attribute else "")

    @property
    def writer_pointer(self) -> str:
        """The same in the writer's text; the first of symbols that the reader lacks."""
        if self.branch is not None:
            return self.branch.writer_pointer
        if self.field is not None:
            return self.place.writer_pointer("/fields")
        attribute = f"/{self.attribute}" if self.attribute else ""
        lacked = self.facts.get("symbols")
        if isinstance(lacked, tuple) and isinstance(self.place.writer, Enum):
            attribute += f"/{next(index for index, each in enumerate(self.place.writer.symbols) if each in lacked)}"
        return self.place.writer_pointer(attribute)

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the place in the reader."""
        if self.branch is not None:
            return self.branch.reader_path
        steps = self.place.reader_path()
        return (*steps, member(self.field.name)) if self.field is not None else steps

    @property
    def writer_path(self) -> FieldPath:
        """The steps to the place in the writer."""
        return self.place.writer_path() if self.branch is None else self.branch.writer_path

    @property
    def reader_origin(self) -> Origin:
        """The reader's named type that holds the place."""
        return self.place.reader_origin(*filter(None, [self.attribute]))

    @property
    def writer_origin(self) -> Origin:
        """The writer's named type that holds the place."""
        return self.place.writer_origin(*filter(None, [self.attribute]))


@dataclass(eq=False, slots=True)
class FoundInTrial(Found):
    """A branch of the writer's union that the reader's union cannot read, and what the trial of the branch ``met``.

    It is called after what was met, which may have been met first elsewhere; its path counts the branch.
    """

    met: Found | None = None

    @classmethod
    def of(cls, met: Found, trial: Place) -> Self:
        """Return the finding about the branch that ``trial`` led to."""
        return cls(met.kind, met.facts, met.gist, trial, because=met.because, branch=met, met=met)

    @property
    def path_steps(self) -> tuple[str, ...]:
        """The steps of Confluent's path: those to the unions, and the number of the branch."""
        around = self.place.parent.path() if self.place.parent is not None else ()
        return (*around, str(self.place.via))

    @property
    def reader_origin(self) -> Origin:
        """That of what was met."""
        return self.met.reader_origin if self.met is not None else self.place.reader_origin()

    @property
    def writer_origin(self) -> Origin:
        """That of what was met."""
        return self.met.writer_origin if self.met is not None else self.place.writer_origin()
