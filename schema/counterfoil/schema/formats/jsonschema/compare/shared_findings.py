"""The findings of a pair of nodes as one value, which each place of the pair refers to.

A pair may occur at many places, and its findings are at each of them. They are not copied: the findings of a pair hold
those of the pairs inside it. Paths are made when findings are read, and only as many as are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from counterfoil.schema.compatibility.rules import ALWAYS
from counterfoil.schema.formats.jsonschema.compare import rules
from counterfoil.schema.formats.jsonschema.compare.findings import JsonDifference, Way, own_spot
from counterfoil.schema.formats.jsonschema.compare.places import spot_of_kind

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from counterfoil.schema.compatibility.policies import CompatibilityPolicy
    from counterfoil.schema.formats.jsonschema.compare.model import Node
    from counterfoil.schema.formats.jsonschema.compare.places import Spot
    from counterfoil.schema.paths.model import FieldPath

_MAX_COUNT: Final = 1_000
"""The largest number to which findings are counted; the places of one difference may be more than there are atoms."""


class Findings:
    """The findings of two nodes, in order.

    ``parts`` are single findings and those of other pairs. ``way``, if given, leads to the place of all of them;
    ``references``, if given, are the two nodes of which at least one is a reference to the compared ones.
    """

    __slots__ = ("changes_kind", "counts", "parts", "references", "way")
    counts: dict[frozenset[CompatibilityPolicy], int]

    def __init__(
        self, parts: Sequence[Part], *, way: Way | None = None, references: tuple[Node, Node] | None = None
    ) -> None:
        self.parts = parts
        self.way = way
        self.references = references
        counts: dict[frozenset[CompatibilityPolicy], int] = {}
        changes_kind = False
        for part in parts:
            if isinstance(part, Findings):
                for breaks, count in part.counts.items():
                    counts[breaks] = min(_MAX_COUNT, counts.get(breaks, 0) + count)
                changes_kind = changes_kind or part.changes_kind
            else:
                counts[part.kind.breaks] = counts.get(part.kind.breaks, 0) + 1
                changes_kind = changes_kind or (part.kind is rules.TYPE_CHANGED and not part.reader_path)
        self.counts = counts
        """The number of findings by the policies under which they break."""
        self.changes_kind: bool = changes_kind and (way is None or not way.in_reader())
        """Whether the two nodes are different kinds of schemas."""

    def __bool__(self) -> bool:
        return bool(self.counts)

    def breaking(self, policy: CompatibilityPolicy) -> int:
        """Return how many of the findings break under ``policy``, at most 1,000."""
        return min(_MAX_COUNT, sum(count for breaks, count in self.counts.items() if policy in breaks))

    def each(self, policy: CompatibilityPolicy | None = None) -> Iterator[JsonDifference]:
        """Yield the findings with their paths, in order: all, or those that break under ``policy``."""
        waiting = [_Position(iter((self,)), None, None, None)]
        while waiting:
            around = waiting[-1]
            part = next(around.parts, None)
            if part is None:
                waiting.pop()
            elif isinstance(part, Findings):
                if part.breaking(policy) if policy else part:
                    waiting.append(around.within(part))
            elif policy is None or policy in part.kind.breaks:
                yield around.located(part)


Part: TypeAlias = JsonDifference | Findings
Comparing: TypeAlias = "Generator[tuple[Node, Node], Findings, list[Part]]"
"""A comparison of two nodes: it yields the pairs of nodes inside them, and is sent the findings of each."""

NO_FINDINGS: Final = Findings(())


class VerdictOf(NamedTuple):
    """A pair of nodes of which it only matters whether one reads the other: no findings are needed."""

    reader: Node
    writer: Node


class SomeFinding(Findings):
    """The findings of a pair that is known to be incompatible, and of which nothing else is known."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(())
        self.counts = {ALWAYS: 1}


SOME_FINDING: Final = SomeFinding()


class _Ways(NamedTuple):
    """The ways to a place, the innermost first."""

    last: Way
    before: _Ways | None


class _Position(NamedTuple):
    """The position of a reading: the parts that are left, the ways to them, and the references that led there."""

    parts: Iterator[Part]
    ways: _Ways | None
    reader: Spot | None
    writer: Spot | None

    def within(self, part: Findings) -> _Position:
        ways = self.ways if part.way is None else _Ways(part.way, self.ways)
        reader, writer = self.reader, self.writer
        if part.references is not None:
            reader = own_spot(spot_of_kind(part.references[0], None)) or reader
            writer = own_spot(spot_of_kind(part.references[1], None)) or writer
        return _Position(iter(part.parts), ways, reader, writer)

    def located(self, found: JsonDifference) -> JsonDifference:
        """Return the finding with the whole path."""
        way: list[Way] = []
        ways = self.ways
        while ways is not None:
            way.append(ways.last)
            ways = ways.before
        return found.within((*reversed(way), *found.way), self.reader, self.writer)


def below(
    parts: Sequence[Part], *steps: str, reader: FieldPath | None = None, writer: FieldPath | None = None
) -> list[Part]:
    """Return the findings with ``steps`` before their paths.

    ``reader`` and ``writer`` are the steps in the two schemas, if they differ from ``steps``.
    """
    return [Findings(parts, way=Way(steps, reader, writer))] if any(parts) else []
