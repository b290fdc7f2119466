"""What a command passes to the writer of reports: its result, which prints itself in each form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.schema.reports.model import Report


class ReportForms(Protocol):
    """A result with findings, in the forms from which every format is made."""

    def text(self, style: TextStyle) -> str:
        """Return the report as text for people."""

    def json(self) -> str:
        """Return the report as indented JSON, whose schema is that of :mod:`counterfoil.contracts.reports`."""

    def report(self, *, version: str) -> Report:
        """Return the report for the writers of all other formats; ``version`` is that of the program."""
