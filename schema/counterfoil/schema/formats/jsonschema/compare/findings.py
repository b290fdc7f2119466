"""The findings of the comparison: differences with paths that are relative until the walk ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from counterfoil.schema.compatibility.report import Difference, Origin
from counterfoil.schema.formats.jsonschema.compare.places import spot_at, spot_of_kind
from counterfoil.schema.formats.jsonschema.paths import path_at, steps_through

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.compare.model import Node
    from counterfoil.schema.formats.jsonschema.compare.places import Spot
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer


class Way(NamedTuple):
    """A part of the path to a place: the steps of the reported path, and those in the reader and in the writer.

    The steps in the two schemas are None if they follow from those of the reported path.
    """

    steps: tuple[str, ...]
    reader: FieldPath | None = None
    writer: FieldPath | None = None

    def in_reader(self) -> FieldPath:
        """Return the steps in the reader."""
        return steps_through(self.steps) if self.reader is None else self.reader

    def in_writer(self) -> FieldPath:
        """Return the steps in the writer."""
        return steps_through(self.steps) if self.writer is None else self.writer


@dataclass(eq=False, slots=True)
class JsonDifference(Difference):
    """A difference between two nodes.

    ``way`` leads from the walk's current node to the place, in parts, the outermost first; ``has_path`` is not set
    where the reference reports no place. ``reader`` and ``writer`` are the nodes (None for an absent side), and the
    spots are the places in the texts. For a spot in another document, the references are the spots in the schema's own
    text that lead there, if known. ``cause`` leads from the place to the incompatibility inside it that the finding's
    element names.
    """

    way: tuple[Way, ...]
    reader: Node | None
    writer: Node | None
    reader_spot: Spot | None
    writer_spot: Spot | None
    reader_reference: Spot | None = None
    writer_reference: Spot | None = None
    has_path: bool = True
    cause: tuple[Way, ...] = ()

    def within(self, way: tuple[Way, ...], reader: Spot | None, writer: Spot | None) -> JsonDifference:
        """Return the finding with another ``way``; ``reader`` and ``writer`` are the references that lead to it."""
        sides = (self.reader, self.writer, self.reader_spot, self.writer_spot)
        references = (self.reader_reference or reader, self.writer_reference or writer)
        return JsonDifference(self.kind, self.facts, self.gist, way, *sides, *references, self.has_path, self.cause)

    def at_cause(self, way: Way, cause: JsonDifference) -> JsonDifference:
        """Return the finding with the place of the incompatibility ``cause``, to which ``way`` leads."""
        return replace(
            self,
            cause=(way, *cause.way, *cause.cause),
            reader_spot=cause.reader_spot,
            writer_spot=cause.writer_spot,
            reader_reference=cause.reader_reference,
            writer_reference=cause.writer_reference,
        )

    @property
    def origin_key(self) -> object:
        """The rule, the two nodes and the facts."""
        return self.kind.id, id(self.reader), id(self.writer), self.detail

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The steps of the path as the reference reports them; None if it reports no place."""
        return tuple(step for part in self.way for step in part.steps) if self.has_path else None

    @property
    def path(self) -> str:
        """The place as the reference writes it: ``#/properties/a/maxLength``."""
        return f"#/{'/'.join(self.steps or ())}" if self.has_path else ""

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the place in the reader."""
        return tuple(step for part in (*self.way, *self.cause) for step in part.in_reader())

    @property
    def writer_path(self) -> FieldPath:
        """The steps to the place in the writer."""
        return tuple(step for part in (*self.way, *self.cause) for step in part.in_writer())

    @property
    def reader_pointer(self) -> Pointer:
        """The JSON Pointer to the keyword or name in the reader's own text."""
        return _pointer(self.reader_spot, self.reader_reference)

    @property
    def writer_pointer(self) -> Pointer:
        """The JSON Pointer to the keyword or name in the writer's own text."""
        return _pointer(self.writer_spot, self.writer_reference)

    @property
    def reader_origin(self) -> Origin | None:
        """The document of the reader that contains the place."""
        return _origin(self.reader_spot)

    @property
    def writer_origin(self) -> Origin | None:
        """The document of the writer that contains the place."""
        return _origin(self.writer_spot)


@dataclass(eq=False, slots=True)
class ValueDifference(Difference):
    """A difference that a value proves, or that no proof excludes.

    ``way`` are the steps of its path, ``pointers`` lead to it in the reader's and the writer's own text. With
    ``is_called_by_pointer``, its element is the place of the pointers.
    """

    way: tuple[str, ...]
    pointers: tuple[Pointer, Pointer]
    is_called_by_pointer: bool = False

    @property
    def path(self) -> str:
        """The place as Confluent would write it."""
        return f"#/{'/'.join(self.way)}"

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the path."""
        return self.way

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the place in the reader."""
        return steps_through(self.way)

    @property
    def element(self) -> FieldPath:
        """The place that names the difference."""
        return path_at(self.pointers[0] or self.pointers[1]) if self.is_called_by_pointer else self.reader_path

    @property
    def reader_pointer(self) -> Pointer:
        """The JSON Pointer in the reader's own text."""
        return self.pointers[0]

    @property
    def writer_pointer(self) -> Pointer:
        """The JSON Pointer in the writer's own text."""
        return self.pointers[1]


def at(
    rule: CompatibilityRule, reader: Node | None, writer: Node | None, /, *steps: str, **facts: Any
) -> JsonDifference:
    """Return a difference between two nodes at ``steps`` inside them."""
    return JsonDifference(
        rule, facts, _gist(facts), (Way(steps),), reader, writer, spot_at(reader, *steps), spot_at(writer, *steps)
    )


def added(rule: CompatibilityRule, reader: Node, around: Node, keyword: str, /, **facts: Any) -> JsonDifference:
    """Return a difference at the reader's node, which is missing under ``keyword`` of the writer's node ``around``."""
    return JsonDifference(rule, facts, _gist(facts), (), reader, around, spot_at(reader), spot_at(around, keyword))


def removed(rule: CompatibilityRule, around: Node, writer: Node, keyword: str, /, **facts: Any) -> JsonDifference:
    """Return a difference at the writer's node, which is missing under ``keyword`` of the reader's node ``around``."""
    return JsonDifference(rule, facts, _gist(facts), (), around, writer, spot_at(around, keyword), spot_at(writer))


def at_kind(rule: CompatibilityRule, reader: Node, writer: Node, /, **facts: Any) -> JsonDifference:
    """Return a difference between two nodes, at the keywords that make them different kinds of schemas."""
    return JsonDifference(
        rule, facts, _gist(facts), (), reader, writer, spot_of_kind(reader, writer), spot_of_kind(writer, reader)
    )


def _gist(facts: Mapping[str, Any]) -> str:
    """Return the template of the shortest description: a name, the values, or the writer's and the reader's."""
    for fact in ("name", "values", "reason"):
        if fact in facts:
            return f"{{{fact}}}"
    if "count" in facts:
        return "{count} of {size}"
    return "{writer} to {reader}" if "writer" in facts else ""


def own_spot(spot: Spot | None) -> Spot | None:
    """Return the spot if it is in the schema's own text, else None."""
    return spot if spot is not None and not spot.document else None


def _pointer(spot: Spot | None, reference: Spot | None) -> Pointer:
    """Return the pointer in the schema's own text; empty if unknown."""
    own = own_spot(spot) or reference
    return own.pointer() if own is not None else ()


def _origin(spot: Spot | None) -> Origin | None:
    return None if spot is None else Origin(spot.document, spot.pointer(), is_own=not spot.document, is_document=True)
