"""Places of a pair walk: how two type trees were entered together, from the root to a pair of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.report import Origin
from counterfoil.schema.formats.avro.types import Enum, Fixed, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.avro.types import AvroType, Field


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
        """The JSON pointer of the reader's node, or of the nearest thing around it that stands in its text.

        ``attribute``, such as ``/symbols``, is added where the node itself stands in the text.
        """
        return _nearest([(place.reader, place.reader_field) for place in self._upwards()], attribute)

    def writer_pointer(self, attribute: str = "") -> str:
        """The same for the writer's node in the writer's text."""
        return _nearest([(place.writer, place.writer_field) for place in self._upwards()], attribute)

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


def _nearest(steps: list[tuple[AvroType, Field | None]], attribute: str) -> str:
    """The pointer of the innermost node; ``steps`` are the nodes to the root, each with the field that led to it.

    Where another text declares the node, that of the field or the node around it which leads there.
    """
    innermost = steps[0][0]
    if innermost.pointer or innermost is steps[-1][0]:  # only the root may stand at the empty pointer
        return innermost.pointer + attribute
    for node, field in steps:
        if node.pointer:
            return node.pointer
        if field is not None and field.pointer:
            return f"{field.pointer}/type"
    return ""


@dataclass(frozen=True, slots=True)
class Found:
    """A difference, the rule behind it, and the place where it was first met."""

    rule: CompatibilityRule
    difference: Difference
    place: Place
