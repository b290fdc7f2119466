"""What the comparison finds: differences with paths that are relative until the walk is over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from counterfoil.schema.compatibility.report import Difference, Origin
from counterfoil.schema.formats.jsonschema.compare.places import spot_at, spot_of_kind, steps_through

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.compare.model import Node
    from counterfoil.schema.formats.jsonschema.compare.places import Spot
    from counterfoil.schema.place import Steps


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference between two nodes.

    ``steps`` lead from where the walk stands to the place, as the reference counts it; None where it names no place.
    ``place`` leads there in the reader. ``reader`` and ``writer`` are the nodes (None where a side has none), the spots
    where in the texts it is. Where that is another document, the references are the spots in the schema's own text that
    lead there, once they were met. ``facts`` fill the rule's sentence.
    """

    rule: CompatibilityRule
    steps: tuple[str, ...] | None
    reader: Node | None
    writer: Node | None
    reader_spot: Spot | None
    writer_spot: Spot | None
    facts: Mapping[str, Any]
    place: Steps = ()
    reader_reference: Spot | None = None
    writer_reference: Spot | None = None

    def below(self, steps: tuple[str, ...], place: Steps) -> Finding:
        """The same, seen from further out."""
        steps_now = None if self.steps is None else steps + self.steps
        sides = (self.reader, self.writer, self.reader_spot, self.writer_spot)
        references = (self.reader_reference, self.writer_reference)
        return Finding(self.rule, steps_now, *sides, self.facts, place + self.place, *references)

    def through(self, reader: Node, writer: Node) -> Finding:
        """The same, met through two nodes, of which one is a reference."""
        return replace(
            self,
            reader_reference=self.reader_reference or _own(spot_of_kind(reader, None)),
            writer_reference=self.writer_reference or _own(spot_of_kind(writer, None)),
        )

    def difference(self) -> Difference:
        """The difference as it is reported."""
        return Difference(
            rule=self.rule.id,
            error_type=self.rule.error_type,
            path="" if self.steps is None else f"#/{'/'.join(self.steps)}",
            detail=self._detail(),
            sentence=self.rule.about(self.facts),
            reader_pointer=_pointer(self.reader_spot, self.reader_reference),
            writer_pointer=_pointer(self.writer_spot, self.writer_reference),
            steps=self.steps,
            origins=lambda: (_origin(self.reader_spot), _origin(self.writer_spot)),
            place=self.place,
        )

    def _detail(self) -> str:
        """The bare fact: a name, the values, or what became of what."""
        for fact in ("name", "values", "reason"):
            if fact in self.facts:
                return str(self.facts[fact])
        if "count" in self.facts:
            return f"{self.facts['count']} of {self.facts['size']}"
        return f"{self.facts['writer']} to {self.facts['reader']}" if "writer" in self.facts else ""


@dataclass(frozen=True, slots=True)
class Found:
    """A difference with its rule and the two nodes between which it was first met; a side that is missing is None."""

    rule: CompatibilityRule
    difference: Difference
    reader: Node | None
    writer: Node | None


def below(findings: Sequence[Finding], *steps: str, place: Steps | None = None) -> list[Finding]:
    """Findings seen from further out; ``place`` is where ``steps`` lead in the reader, where they do not say it."""
    if not findings:
        return []
    through = steps_through(steps) if place is None else place
    return [finding.below(steps, through) for finding in findings]


def at(rule: CompatibilityRule, reader: Node | None, writer: Node | None, /, *steps: str, **facts: Any) -> Finding:
    """A difference between two nodes, at what ``steps`` lead to, if any."""
    spots = spot_at(reader, *steps), spot_at(writer, *steps)
    return Finding(rule, steps, reader, writer, *spots, facts, steps_through(steps))


def added(rule: CompatibilityRule, reader: Node, around: Node, keyword: str, /, **facts: Any) -> Finding:
    """A difference in what the reader has; the writer does not have it under ``keyword`` of ``around``."""
    return Finding(rule, (), reader, around, spot_at(reader), spot_at(around, keyword), facts)


def removed(rule: CompatibilityRule, around: Node, writer: Node, keyword: str, /, **facts: Any) -> Finding:
    """A difference in what the writer has; the reader does not have it under ``keyword`` of ``around``."""
    return Finding(rule, (), around, writer, spot_at(around, keyword), spot_at(writer), facts)


def at_kind(rule: CompatibilityRule, reader: Node, writer: Node, /, **facts: Any) -> Finding:
    """A difference between two nodes, at the keywords that make them different kinds of schemas."""
    return Finding(rule, (), reader, writer, spot_of_kind(reader, writer), spot_of_kind(writer, reader), facts)


def _own(spot: Spot | None) -> Spot | None:
    return spot if spot is not None and not spot.document else None


def _pointer(spot: Spot | None, reference: Spot | None) -> str:
    """The pointer in the schema's own text."""
    own = _own(spot) or reference
    return own.pointer() if own is not None else ""


def _origin(spot: Spot | None) -> Origin | None:
    return None if spot is None else Origin(spot.document, (spot.pointer(),), is_own=not spot.document)
