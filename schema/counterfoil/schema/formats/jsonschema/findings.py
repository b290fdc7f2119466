"""What the comparison brings home: differences with paths that are relative until the walk is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.schema.compatibility.report import Difference, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.model import Node


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference between two nodes.

    ``steps`` lead from where the walk stands to the place, as the reference counts it; None where it names no place.
    ``reader`` and ``writer`` are the nodes (None where a side has none), ``keyword`` what is meant inside them, if a
    single keyword is. ``facts`` fill the rule's sentence.
    """

    rule: CompatibilityRule
    steps: tuple[str, ...] | None
    reader: Node | None
    writer: Node | None
    reader_pointer: str
    writer_pointer: str
    facts: Mapping[str, Any]
    keyword: str = ""

    def below(self, steps: tuple[str, ...]) -> Finding:
        """The same, seen from further out."""
        if self.steps is None:
            return self
        both = (self.reader, self.writer, self.reader_pointer, self.writer_pointer)
        return Finding(self.rule, steps + self.steps, *both, self.facts, self.keyword)

    def difference(self) -> Difference:
        """The difference as it is reported."""
        return Difference(
            rule=self.rule.id,
            error_type=self.rule.error_type,
            path="" if self.steps is None else f"#/{'/'.join(self.steps)}",
            detail=self._detail(),
            sentence=self.rule.about(self.facts),
            reader_pointer=self.reader_pointer,
            writer_pointer=self.writer_pointer,
            steps=self.steps,
            reader_origin=_origin(self.reader, self.reader_pointer, self.keyword),
            writer_origin=_origin(self.writer, self.writer_pointer, self.keyword),
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


def below(findings: Iterable[Finding], *steps: str) -> list[Finding]:
    """Findings seen from further out."""
    return [finding.below(steps) for finding in findings]


def at(rule: CompatibilityRule, reader: Node | None, writer: Node | None, /, *steps: str, **facts: Any) -> Finding:
    """A difference between two nodes, at the keyword that ``steps`` begin with, if any."""
    keyword = steps[0] if steps else ""
    return Finding(
        rule=rule,
        steps=steps,
        reader=reader,
        writer=writer,
        reader_pointer=_pointer(reader, keyword),
        writer_pointer=_pointer(writer, keyword),
        facts=facts,
        keyword=keyword,
    )


def _origin(node: Node | None, pointer: str, keyword: str) -> Origin | None:
    if node is None:
        return None
    if node.declared is None:
        return Origin("", (pointer,), is_own=True)
    document, place = node.declared
    return Origin(document, (f"{place}/{keyword}" if keyword else place,), is_own=False)


def _pointer(node: Node | None, keyword: str) -> str:
    if node is None:
        return ""
    return f"{node.pointer}/{keyword}" if keyword else node.pointer
