"""The report of a check in its forms, each of whose modules is imported when it is printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.contracts.model import CheckReport, FailOn
    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.reports.model import Report


@dataclass(frozen=True, slots=True)
class CheckForms:
    """The report of a check; without ``fail_on``, the project says of each file which findings fail it."""

    found: CheckReport
    exit_code: ExitCode
    fail_on: FailOn | None = None

    def text(self, style: TextStyle) -> str:
        """Return the report as text."""
        from counterfoil.contracts.reports.text import text_report

        return text_report(self.found, exit_code=self.exit_code, style=style)

    def json(self) -> str:
        """Return the report as indented JSON."""
        from counterfoil.contracts.reports.json import json_report

        return json_report(self.found, exit_code=self.exit_code)

    def report(self, *, version: str) -> Report:
        """Return the report for any writer."""
        from counterfoil.contracts.reports.entries import report_of

        return report_of(self.found, exit_code=self.exit_code, fail_on=self.fail_on, version=version)
