"""Pairs of files with a known place of a finding, and the findings of the check."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from counterfoil.contracts.baselines import TreeBaseline
from counterfoil.contracts.check.check import check_files
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.parsed import Validation
from counterfoil.schema.reports import Severity
from counterfoil.schema.texts import print_pointer

if TYPE_CHECKING:
    from collections.abc import Mapping

BACKWARD, FORWARD = CompatibilityLevel.BACKWARD, CompatibilityLevel.FORWARD


@dataclass(frozen=True)
class PlaceCase:
    """Files before and after a change, and the expected finding in one of them."""

    name: str
    base: Mapping[str, str]
    head: Mapping[str, str]
    rule: str
    path: str
    line: int
    element: str
    level: CompatibilityLevel = BACKWARD
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT

    def places(self) -> set[tuple[int | None, str]]:
        """Return the line and element of each finding of the rule."""
        head, base = _tree(self.head, "head"), _tree(self.base, "base")
        baseline = TreeBaseline(head, [base], label="base", is_wanted=lambda _: False)
        report = check_files(head, [self.path], baseline=baseline, level=self.level, policy=self.policy)
        return {
            (finding.position.line if finding.position else None, finding.element)
            for finding in report.findings
            if finding.rule == self.rule
        }

    @property
    def expected(self) -> tuple[int, str]:
        """The expected line and element."""
        return self.line, self.element


def findings_of(
    path: str, base: str, head: str, *, level: CompatibilityLevel, policy: CompatibilityPolicy
) -> list[tuple[str, int | None]]:
    """Return the rule and the line of each finding that is no notice, in a file before and after a change."""
    now, before = _tree({path: head}, "head"), _tree({path: base}, "base")
    baseline = TreeBaseline(now, [before], label="base", is_wanted=lambda _: False)
    report = check_files(now, [path], baseline=baseline, level=level, policy=policy)
    return [
        (finding.rule, finding.position.line if finding.position else None)
        for finding in report.findings
        if finding.severity is not Severity.NOTICE
    ]


def _tree(texts: Mapping[str, str], label: str) -> SchemaTree:
    files = [SchemaFile(path, text.encode()) for path, text in texts.items()]
    return SchemaTree(files, label=label, validation=Validation.STRICT)


@dataclass
class LaidOut:
    """A JSON text, and the line on which each value of it starts."""

    text: str = ""
    line_by_pointer: dict[str, int] = field(default_factory=dict)
    line: int = 1

    def add(self, text: str) -> None:
        self.text += text
        self.line += text.count("\n")


def lay_out(value: Any, *, inlines: bool) -> LaidOut:
    """Return JSON with a value on each line; with ``inlines``, values without objects are on one line."""
    out = LaidOut()
    _write(out, value, "", "", inlines=inlines)
    return out


def _write(out: LaidOut, value: Any, pointer: str, indent: str, *, inlines: bool) -> None:
    out.line_by_pointer[pointer] = out.line
    is_object = isinstance(value, dict)
    entries = [*value.items()] if is_object else [*enumerate(value)] if isinstance(value, list) else []
    is_flat = inlines and pointer and all(not isinstance(inner, dict | list) for _, inner in entries)
    if not entries:
        out.add(json.dumps(value, ensure_ascii=False))
        return
    inner_indent = f"{indent}  "
    out.add("{" if is_object else "[")
    for number, (key, inner) in enumerate(entries):
        separator = ", " if is_flat and number else "," if number else ""
        out.add(separator + ("" if is_flat else f"\n{inner_indent}"))
        out.add(f"{json.dumps(key, ensure_ascii=False)}: " if is_object else "")
        _write(out, inner, f"{pointer}{print_pointer((key,))}", inner_indent, inlines=inlines)
    out.add(("" if is_flat else f"\n{indent}") + ("}" if is_object else "]"))
