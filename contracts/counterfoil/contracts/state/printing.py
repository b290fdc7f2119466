"""A plan as text, Markdown and JSON; the JSON is also the file that ``counterfoil apply`` takes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.reports.text import printable
from counterfoil.contracts.state.model import ChangeKind
from counterfoil.schema.counting import counted
from counterfoil.schema.reports.markdown import code, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.contracts.state.model import Change, StatePlan

SCHEMA_VERSION: Final = 1
_DIGEST_LENGTH: Final = 12


def text_plan(plan: StatePlan) -> str:
    """Return one line for each change, and their number."""
    lines = [printable(f"{_sign(change)} {change.subject}: {_what(change)}") for change in plan.changes]
    lines += [printable(f"= {subject}: kept, since {'; '.join(uses)}") for subject, uses in plan.kept.items()]
    lines += [printable(f"! {each.repair}") for each in plan.unmade]
    lines += [printable(f"note: {each}") for each in plan.notes]
    lines.append(printable(f"{counted(len(plan.changes), 'change')} for {plan.registry}"))
    return "".join(f"{line}\n" for line in lines)


def markdown_plan(plan: StatePlan) -> str:
    """Return the changes as a table in Markdown."""
    lines = [f"### {counted(len(plan.changes), 'change')} for {code(plan.registry)}", ""]
    if plan.changes:
        lines += ["| subject | change |", "|---|---|"]
    lines += [f"| {code(change.subject)} | {plain(_what(change))} |" for change in plan.changes]
    lines += ["", *(f"- {code(subject)} is kept: {plain('; '.join(uses))}" for subject, uses in plan.kept.items())]
    lines += ["", *(f"- {plain(each)}" for each in (*(entry.repair for entry in plan.unmade), *plan.notes))]
    return "".join(f"{line}\n" for line in lines).rstrip("\n") + "\n"


def json_plan(plan: StatePlan) -> str:
    """Return the plan as indented JSON; members are only ever added to this form."""
    return json.dumps(plan_document(plan), indent=2, ensure_ascii=False) + "\n"


def plan_document(plan: StatePlan) -> dict[str, Any]:
    """Return the plan as plain values, which are equal if the plans are."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "plan",
        "registry": plan.registry,
        "changes": [
            {**asdict(change), "kind": str(change.kind), "path": change.path or None} for change in plan.changes
        ],
        **({"repairs": [each.repair for each in plan.unmade]} if plan.unmade else {}),
        **({"notes": list(plan.notes)} if plan.notes else {}),
        **({"kept": {subject: list(uses) for subject, uses in plan.kept.items()}} if plan.kept else {}),
    }


def is_pruning(document: Mapping[str, Any]) -> bool:
    """Return whether a plan, as plain values, was made with ``--prune``: it deletes subjects, or keeps some in use."""
    changes = document.get("changes")
    deletes = isinstance(changes, list) and any(
        isinstance(each, dict) and each.get("kind") == ChangeKind.SUBJECT for each in changes
    )
    return deletes or bool(document.get("kept"))


def _sign(change: Change) -> str:
    if change.before is None:
        return "+"
    return "-" if change.after is None else "~"


def _what(change: Change) -> str:
    if change.kind is ChangeKind.SUBJECT:
        return "delete the subject, which this project owns and no file has"
    if change.kind is ChangeKind.LATEST:
        return f"the latest is {change.before}, and {change.path} is {change.after}"
    if change.kind is ChangeKind.ASSOCIATION:
        return f"associate it with the {change.after}"
    if change.kind is ChangeKind.SCHEMA:
        what = "a new subject" if change.before is None else f"a new version after {change.before}"
        return f"{what} from {change.path} (sha256 {(change.after or '')[:_DIGEST_LENGTH]})"
    return f"{change.kind} {change.before or 'unset'} → {change.after}"
