"""The page of the rules about contract files, records, and what consumers read, made from their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.contracts.lint import LINT_RULES
from counterfoil.contracts.testing import RECORD_RULES
from counterfoil.schema.agreements import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator


def contract_rules_page() -> str:
    """Return the page: a heading for each rule, so that reports can link to it."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from ("# Rules of contracts", "")
    yield "An id never changes its meaning. [Contracts](../contracts.md) describes the files."
    yield from ("", "## Rules of files", "", "`counterfoil lint` reports them.")
    for rule in LINT_RULES:
        yield from _rule(rule.id, rule.severity, rule.why, rule.fix)
        if rule.repaired:
            yield from ("", f"`--fix` repairs: {rule.repaired}.")
    yield from ("", "## Rules of records", "", "`counterfoil test` reports them.")
    for rule in RECORD_RULES:
        yield from _rule(rule.id, rule.severity, rule.why, rule.fix)
    yield from ("", "## Rules of readers", "")
    yield "They compare what a contract and its schema give with what consumers read."
    for read in RULES:
        yield from _rule(read.id, "error" if read.is_breaking else "warning", read.why, read.fix)


def _rule(name: str, severity: str, why: str, fix: str) -> Iterator[str]:
    yield from ("", f"### {name}", "", f"Severity: {severity}. {why}{f' **How to fix it.** {fix}' if fix else ''}")
