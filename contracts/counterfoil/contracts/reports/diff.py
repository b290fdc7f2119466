"""The changes between two schemas, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import click

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.reports.text import Verbosity, printable
from counterfoil.schema.counting import counted
from counterfoil.schema.diff import find_changes
from counterfoil.schema.reports.markdown import code, plain

if TYPE_CHECKING:
    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.change import Change
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class DiffReport:
    """Two schemas and what changed between them."""

    earlier: ReadSchema
    later: ReadSchema
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, earlier: ReadSchema, later: ReadSchema) -> Self:
        """Return the report on two schemas that were read without problem.

        Schemas of two languages cannot be compared.
        """
        was, now = earlier.schema, later.schema
        if was and now and was.schema_type is now.schema_type:
            return cls(earlier, later, tuple(find_changes(was, now)))
        languages = (f"{side.label} ({side.schema.schema_type})" for side in (earlier, later) if side.schema)
        raise PreconditionFailed(f"{' and '.join(languages)} are not schemas of one language")

    def position(self, change: Change) -> tuple[ReadSchema, Position | None]:
        """Return the side that shows the change, and the position there: the later side, except for removed parts."""
        if change.later is None and change.earlier_pointer and self.earlier.schema:
            return self.earlier, self.earlier.schema.locate(change.earlier_pointer)
        return self.later, self.later.schema.locate(change.later_pointer) if self.later.schema else None


def text_diff(report: DiffReport, style: TextStyle) -> str:
    """Return one line for each change: sign, element, what changed, where.

    Quiet text has no last line with the count.
    """
    lines = [_line(report, change, style) for change in report.changes]
    if style.verbosity is not Verbosity.QUIET:
        count = counted(len(report.changes), "change")
        lines.append(printable(f"{count} from {report.earlier.label} to {report.later.label}"))
    return "".join(f"{line}\n" for line in lines)


def _line(report: DiffReport, change: Change, style: TextStyle) -> str:
    sign, colour = "~", "yellow"
    if change.kind.endswith("-added"):
        sign, colour = "+", "green"
    elif change.kind.endswith("-removed"):
        sign, colour = "-", "red"
    side, position = report.position(change)
    element = f"{change.element}: " if change.element else ""
    where = f"  ({side.label}:{position})" if position else ""
    line = printable(f"{sign} {element}{change.text}{where}")
    return click.style(line, fg=colour) if style.is_coloured else line


def markdown_diff(report: DiffReport) -> str:
    """Return the changes as a table in Markdown."""
    count = counted(len(report.changes), "change")
    lines = [f"### {count} from {code(report.earlier.label)} to {code(report.later.label)}", ""]
    if report.changes:
        lines += ["| element | change | where |", "|---|---|---|"]
    for change in report.changes:
        side, position = report.position(change)
        where = code(f"{side.label}:{position}") if position else ""
        element = code(change.element) if change.element else ""
        lines.append(f"| {element} | {plain(change.text)} | {where} |")
    return "".join(f"{line}\n" for line in lines)


def json_diff(report: DiffReport) -> str:
    """Return the changes as indented JSON; members are only ever added to this form."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "diff",
        "earlier": _side(report.earlier),
        "later": _side(report.later),
        "changes": [_change(report, change) for change in report.changes],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _side(side: ReadSchema) -> dict[str, Any]:
    return {"operand": side.label, "name": side.schema.name if side.schema else None}


def _change(report: DiffReport, change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "element": change.element,
        "earlier": change.earlier,
        "later": change.later,
        "text": change.text,
        "earlierPosition": _position(report.earlier, change.earlier_pointer),
        "laterPosition": _position(report.later, change.later_pointer),
    }


def _position(side: ReadSchema, pointer: Pointer) -> dict[str, int] | None:
    found = side.schema.locate(pointer) if side.schema else None
    return {"line": found.line, "column": found.column} if found else None
