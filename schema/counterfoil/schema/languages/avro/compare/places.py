"""Places of a pair walk: the steps through two type trees from the root to a pair of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, Self, TypeAlias

from counterfoil.schema.compatibility.findings import Difference, DifferenceOrigin, Sentence
from counterfoil.schema.languages.avro.paths import short_name
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, Step, branch, member
from counterfoil.schema.texts import Pointer


@dataclass(eq=False, slots=True)
class TypePair:
    """A pair of nodes and the pair from which it was entered.

    ``token`` is the step in Confluent's path: the number of a field, or a word, empty for no step; None restarts the
    path, as at the root and in the trial of a union's branches. ``via`` is the step on the writer's side: the name of a
    field, the index of a union's branch, ``items`` or ``values`` of a collection; None if the writer's node stays the
    same. ``reader_field`` and ``writer_field`` are the entered fields of the two records, if any.
    """

    parent: TypePair | None
    token: str | int | None
    reader: AvroType
    writer: AvroType
    via: str | int | None = None
    reader_field: AvroField | None = None
    writer_field: AvroField | None = None
    known_surroundings: _Surroundings | None = field(default=None, init=False, repr=False)

    def path(self) -> tuple[str, ...]:
        """Return the steps of Confluent's path: none for the root, such as ``fields``, ``1``, ``type`` below."""
        steps: list[str] = []
        place: TypePair | None = self
        while place is not None and place.token is not None:
            if isinstance(place.token, int):
                steps += ("type", str(place.token), "fields")
            elif place.token:
                steps.append(place.token)
            place = place.parent
        return tuple(reversed(steps))

    def from_root(self) -> list[TypePair]:
        """Return every place from the root to this one."""
        return [*self._upwards()][::-1]

    def reader_pointer(self, *attribute: str | int) -> Pointer:
        """Return the JSON Pointer in the reader's text to the use of its node, or to the nearest thing around it.

        With an ``attribute`` such as ``symbols``, to that attribute of the node's declaration, if it is in the text.
        Inside a type that is declared elsewhere in the text, and that is another one than the writer's, the pointer
        leads to the use of that type: the use differs, and not the declaration.
        """
        other = self._surroundings().reader
        return _pointer_to(self, _reader_of, attribute) if other is None else _used(other, _reader_of)

    def writer_pointer(self, *attribute: str | int) -> Pointer:
        """Return the same for the writer's node in the writer's text."""
        other = self._surroundings().writer
        return _pointer_to(self, _writer_of, attribute) if other is None else _used(other, _writer_of)

    @property
    def reads_another_type(self) -> bool:
        """Whether it is in a type of the reader that is declared elsewhere, and is another one than the writer's."""
        return self._surroundings().reader is not None

    @property
    def root(self) -> TypePair:
        """The outermost place."""
        return self._surroundings().root

    def _surroundings(self) -> _Surroundings:
        """Return what is around this place, which is remembered: places of types that are nested deeply are many."""
        unknown: list[TypePair] = []
        place = self
        while place.known_surroundings is None and place.parent is not None:
            unknown.append(place)
            place = place.parent
        if place.known_surroundings is None:
            place.known_surroundings = _Surroundings(None, None, place)
            unknown.append(place)
        found = place.known_surroundings
        for each in reversed(unknown):
            each.known_surroundings = found
            if (found.reader is None or found.writer is None) and _are_others(each.reader, each.writer):
                found = each.known_surroundings = _Surroundings(
                    found.reader or (each if _is_declared_elsewhere(each, _reader_of) else None),
                    found.writer or (each if _is_declared_elsewhere(each, _writer_of) else None),
                    found.root,
                )
        return found

    def reader_path(self) -> FieldPath:
        """Return the steps to the reader's node."""
        return _path([(place.reader, place.reader_field) for place in self.from_root()])

    def writer_path(self) -> FieldPath:
        """Return the steps to the writer's node."""
        return _path([(place.writer, place.writer_field) for place in self.from_root()])

    def below(self, onto: TypePair) -> TypePair:
        """Return the same place with ``onto`` instead of its root."""
        if self.parent is None:
            return onto
        onto = self.parent.below(onto)
        return TypePair(onto, self.token, self.reader, self.writer, self.via, self.reader_field, self.writer_field)

    def reader_origin(self, *more: str) -> DifferenceOrigin:
        """Return the named type of the reader that contains its node, and the steps from there, fields by name."""
        return _origin([(place.reader, place.reader_step) for place in self._upwards()], more)

    def writer_origin(self, *more: str) -> DifferenceOrigin:
        """Return the same for the writer's node."""
        return _origin([(place.writer, place.writer_step) for place in self._upwards()], more)

    @property
    def reader_step(self) -> str:
        """The step into this place on the reader's side, fields by name."""
        return self.reader_field.name if self.reader_field is not None else str(self.token or "")

    @property
    def writer_step(self) -> str:
        """The step into this place on the writer's side."""
        return "" if self.via is None else str(self.via)

    def _upwards(self) -> Iterator[TypePair]:
        place: TypePair | None = self
        while place is not None:
            yield place
            place = place.parent


def _are_others(reader: AvroType, writer: AvroType) -> bool:
    """Return whether both types have names, and other ones."""
    return (
        isinstance(reader, AvroRecord | AvroEnum | AvroFixed)
        and isinstance(writer, AvroRecord | AvroEnum | AvroFixed)
        and reader.full_name != writer.full_name
    )


def _origin(steps: list[tuple[AvroType, str]], more: tuple[str, ...]) -> DifferenceOrigin:
    """Return the named type that contains the innermost node, and the steps from it.

    ``steps`` are the nodes from the innermost to the root, each with the step into it.
    """
    inside: list[str] = []
    root = steps[-1][0]
    for node, step in steps:
        if isinstance(node, AvroRecord | AvroEnum | AvroFixed):
            return DifferenceOrigin(
                node.full_name, (*reversed(inside), *more), is_own=bool(node.pointer) or node is root
            )
        if step:
            inside.append(step)
    return DifferenceOrigin("", (*reversed(inside), *more), is_own=True)


class _Surroundings(NamedTuple):
    """What is around a place: the root, and for each side the outermost place, if any, of another type.

    That is a type that is named at the place, declared elsewhere in the text, and has another name on the other side.
    """

    reader: TypePair | None
    writer: TypePair | None
    root: TypePair


_Node: TypeAlias = "tuple[AvroType, AvroField | None]"
"""The node of one side at a place, and the field through which it was entered."""
_Nodes: TypeAlias = "list[_Node]"
"""A node of one side and those around it up to the root."""


def _reader_of(place: TypePair) -> _Node:
    return place.reader, place.reader_field


def _writer_of(place: TypePair) -> _Node:
    return place.writer, place.writer_field


def _is_own(place: TypePair, side: Callable[[TypePair], _Node]) -> bool:
    """Return whether the node of a side is declared in the schema's own text.

    Only the root has the empty pointer in its own text.
    """
    node, _ = side(place)
    return bool(node.pointer) or node is side(place.root)[0]


def _is_declared_elsewhere(place: TypePair, side: Callable[[TypePair], _Node]) -> bool:
    """Return whether the node of a side is declared in the schema's own text, and not where it is used."""
    if not _is_own(place, side):
        return False
    used = _used(place, side)
    return side(place)[0].pointer[: len(used)] != used


def _pointer_to(place: TypePair, side: Callable[[TypePair], _Node], attribute: Pointer) -> Pointer:
    return side(place)[0].pointer + attribute if attribute and _is_own(place, side) else _used(place, side)


def _used(place: TypePair, side: Callable[[TypePair], _Node]) -> Pointer:
    """Return the pointer to the use of the innermost node, or of the nearest one around it in the schema's own text."""
    while place.parent is not None:
        node, field = side(place)
        if field is not None:
            pointer: Pointer | None = (*field.pointer, "type") if field.pointer else None
        else:
            pointer = _inside(place.parent, node, side)
        if pointer is not None:
            return pointer
        place = place.parent
    return ()


def _inside(around: TypePair, node: AvroType, side: Callable[[TypePair], _Node]) -> Pointer | None:
    """Return the pointer to the use of ``node`` in the innermost node ``around``; None if it is in another text."""
    outer, _ = side(around)
    if not _is_own(around, side):
        return None
    match outer:
        case AvroArray():
            return (*outer.pointer, "items")
        case AvroMap():
            return (*outer.pointer, "values")
        case AvroUnion():
            return next(((*outer.pointer, index) for index, each in enumerate(outer.branches) if each is node), None)
    return None


def _path(nodes: _Nodes) -> FieldPath:
    """Return the steps through nodes, from the root."""
    steps = (_step(around, node, field) for (around, _), (node, field) in pairwise(nodes))
    return tuple(step for step in steps if step is not None)


def _step(around: AvroType, node: AvroType, field: AvroField | None) -> Step | None:
    """Return the step from a node into one inside; None if they are the same."""
    if field is not None:
        return member(field.name)
    if node is around:
        return None
    match around:
        case AvroArray():
            return ITEMS
        case AvroMap():
            return VALUES
        case AvroUnion():
            return branch(short_name(node))
    return None


@dataclass(eq=False, slots=True)
class AvroDifference(Difference):
    """A difference at ``place``, where it was first found.

    ``attribute`` is the attribute of the two nodes that differs, if it is one. ``field`` is a field of the reader's
    record that the writer's does not have, or has more than once; in the second case ``has_path`` is not set. For a
    union of the reader, ``branch`` is the first finding about its branch that is most similar to the writer's type, and
    ``because`` is the innermost reason of that finding.
    """

    place: TypePair
    attribute: str = ""
    field: AvroField | None = None
    has_path: bool = True
    because: AvroDifference | None = None
    branch: AvroDifference | None = None

    @property
    def path_steps(self) -> tuple[str, ...]:
        """The steps of Confluent's path, which includes the attribute for the rules that Confluent has."""
        if self.field is not None:
            fields = self.place.reader.fields if isinstance(self.place.reader, AvroRecord) else ()
            index = next(index for index, field in enumerate(fields) if field is self.field)
            return (*self.place.path(), "fields", str(index))
        return (*self.place.path(), self.attribute) if self.attribute and self.error_type else self.place.path()

    @property
    def path(self) -> str:
        """The place as Confluent writes it: ``/`` for the root, such as ``/fields/1/type`` below."""
        return f"/{'/'.join(self.path_steps)}" if self.has_path else ""

    @property
    def sentence(self) -> Sentence:
        """The message and its reason, with the path inside the branch unless the reason is the branch itself."""
        said = self.kind.about(self.facts)
        if self.because is None:
            return said
        why = self.because.sentence
        if self.because.has_path and len(self.because.path_steps) > 1:
            why = Sentence.of("{why}, at {path} of it", {"why": why, "path": self.because.path})
        return Sentence.of("{what}: {why}", {"what": said, "why": why})

    @property
    def reader_pointer(self) -> Pointer:
        """The pointer to the place in the reader's text: the attribute, the field, or the use of its node."""
        if self.branch is not None:
            return self.branch.reader_pointer
        own = self.field.pointer if self.field is not None and not self.place.reads_another_type else ()
        return own or self.place.reader_pointer(*filter(None, [self.attribute]))

    @property
    def writer_pointer(self) -> Pointer:
        """The same in the writer's text; for missing symbols, to the first of them."""
        if self.branch is not None:
            return self.branch.writer_pointer
        if self.field is not None:
            return self.place.writer_pointer("fields")
        attribute: list[str | int] = [self.attribute] if self.attribute else []
        lacked = self.facts.get("symbols")
        if isinstance(lacked, tuple) and isinstance(self.place.writer, AvroEnum):
            attribute.append(next(index for index, each in enumerate(self.place.writer.symbols) if each in lacked))
        return self.place.writer_pointer(*attribute)

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
    def reader_origin(self) -> DifferenceOrigin:
        """The reader's named type that contains the place."""
        return self.place.reader_origin(*filter(None, [self.attribute]))

    @property
    def writer_origin(self) -> DifferenceOrigin:
        """The writer's named type that contains the place."""
        return self.place.writer_origin(*filter(None, [self.attribute]))


@dataclass(eq=False, slots=True)
class TrialDifference(AvroDifference):
    """A branch of the writer's union that the reader's union cannot read; ``met`` is the finding of the trial.

    It has the rule and the message of ``met``, which may have been found first at another place; its path includes the
    number of the branch.
    """

    met: AvroDifference | None = None

    @classmethod
    def of(cls, met: AvroDifference, trial: TypePair) -> Self:
        """Return the finding about the branch of ``trial``."""
        return cls(met.kind, met.facts, met.gist, trial, because=met.because, branch=met, met=met)

    @property
    def path_steps(self) -> tuple[str, ...]:
        """The steps of Confluent's path: those to the unions, and the number of the branch."""
        around = self.place.parent.path() if self.place.parent is not None else ()
        return (*around, str(self.place.via))

    @property
    def reader_origin(self) -> DifferenceOrigin:
        """The reader's origin of the finding in the trial."""
        return self.met.reader_origin if self.met is not None else self.place.reader_origin()

    @property
    def writer_origin(self) -> DifferenceOrigin:
        """The writer's origin of the finding in the trial."""
        return self.met.writer_origin if self.met is not None else self.place.writer_origin()
