"""What the comparison finds: differences with paths that are relative until the walk is over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from counterfoil.schema.compatibility.report import Difference
from counterfoil.schema.formats.jsonschema.places import pointer_to, pointer_to_kind, steps_through

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.model import Node
    from counterfoil.schema.place import Steps


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference between two nodes.

    ``steps`` lead from where the walk stands to the place, as the reference counts it; None where it names no place.
    ``place`` leads there in the reader. ``reader`` and ``writer`` are the nodes (None where a side has none), the
    pointers those of the place in the schemas' own texts; None inside another document, until the reference that leads
    there is met. ``facts`` fill the rule's sentence.
    """

    rule: CompatibilityRule
    steps: tuple[str, ...] | None
    reader: Node | None
    writer: Node | None
    reader_pointer: str | None
    writer_pointer: str | None
    facts: Mapping[str, Any]
    place: Steps = ()

    def below(self, steps: tuple[str, ...], place: Steps) -> Finding:
        """The same, seen from further out."""
        steps_now = None if self.steps is None else steps + self.steps
        both = (self.reader, self.writer, self.reader_pointer, self.writer_pointer)
        return Finding(self.rule, steps_now, *both, self.facts, place + self.place)

    def through(self, reader: Node, writer: Node) -> Finding:
        """The same, met through two nodes; what stands in another document is at the reference that leads there."""
        if self.reader_pointer is not None and self.writer_pointer is not None:
            return self
        return replace(
            self,
            reader_pointer=pointer_to_kind(reader, None) if self.reader_pointer is None else self.reader_pointer,
            writer_pointer=pointer_to_kind(writer, None) if self.writer_pointer is None else self.writer_pointer,
        )

    def difference(self) -> Difference:
        """The difference as it is reported."""
        return Difference(
            rule=self.rule.id,
            error_type=self.rule.error_type,
            path="" if self.steps is None else f"#/{'/'.join(self.steps)}",
            detail=self._detail(),
            text=self.rule.sentence.format_map(self.facts),
            reader_pointer=self.reader_pointer or "",
            writer_pointer=self.writer_pointer or "",
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


def below(findings: Iterable[Finding], *steps: str, place: Steps | None = None) -> list[Finding]:
    """Findings seen from further out; ``place`` is where ``steps`` lead in the reader, where they do not say it."""
    through = steps_through(steps) if place is None else place
    return [finding.below(steps, through) for finding in findings]


def at(rule: CompatibilityRule, reader: Node | None, writer: Node | None, /, *steps: str, **facts: Any) -> Finding:
    """A difference between two nodes, at what ``steps`` lead to, if any."""
    pointers = pointer_to(reader, *steps), pointer_to(writer, *steps)
    return Finding(rule, steps, reader, writer, *pointers, facts, steps_through(steps))


def added(rule: CompatibilityRule, reader: Node, around: Node, keyword: str, /, **facts: Any) -> Finding:
    """A difference in what the reader has; the writer does not have it under ``keyword`` of ``around``."""
    return Finding(rule, (), reader, around, pointer_to(reader), pointer_to(around, keyword), facts)


def removed(rule: CompatibilityRule, around: Node, writer: Node, keyword: str, /, **facts: Any) -> Finding:
    """A difference in what the writer has; the reader does not have it under ``keyword`` of ``around``."""
    return Finding(rule, (), around, writer, pointer_to(around, keyword), pointer_to(writer), facts)


def at_kind(rule: CompatibilityRule, reader: Node, writer: Node, /, **facts: Any) -> Finding:
    """A difference between two nodes, at the keywords that make them different kinds of schemas."""
    return Finding(rule, (), reader, writer, pointer_to_kind(reader, writer), pointer_to_kind(writer, reader), facts)
