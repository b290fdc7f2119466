"""The findings of one file while it is checked, and their repairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.contracts.linting.rules import LINT_RULE_BY_ID
from counterfoil.contracts.model import Finding, Numbers, fingerprint

if TYPE_CHECKING:
    from counterfoil.schema.documents.nodes import Repair
    from counterfoil.schema.position import Position
    from counterfoil.schema.reports.model import Severity


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair of a finding of ``rule`` in the file at ``path``."""

    rule: str
    path: str
    repair: Repair

    def __str__(self) -> str:
        if not self.repair.after:
            return "removed"
        return f"{self.repair.before} → {self.repair.after}"


class FileFindings:
    """The findings about the file at ``path``; ``subject`` is what it is about: an id, a subject, or the path."""

    def __init__(self, path: str, subject: str = "") -> None:
        self.path = path
        self.subject = subject or path
        self.found: list[Finding] = []
        self._numbers = Numbers()

    def add(
        self,
        rule: str,
        text: str,
        position: Position | None,
        *,
        element: str = "",
        facts: tuple[str, ...] = (),
        severity: Severity | None = None,
        fix: str | None = None,
        repair: Repair | None = None,
    ) -> None:
        """Add a finding; severity and advice are those of the rule unless they are given.

        ``facts`` tell it from others of the same rule about the same element: names and values, never sentences.
        """
        known = LINT_RULE_BY_ID.get(rule)
        number = self._numbers.next(rule, self.subject, element, facts)
        self.found.append(
            Finding(
                rule=rule,
                severity=severity or LINT_RULE_BY_ID[rule].severity,
                subject=self.subject,
                path=self.path,
                text=text,
                fingerprint=fingerprint(rule, self.subject, element, facts, *number),
                former_fingerprints=(fingerprint(rule, self.subject, element, text),),
                position=position,
                element=element,
                advice=(known.fix if known else "") if fix is None else fix,
                repair=repair,
            )
        )
