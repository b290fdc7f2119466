"""Pages that are one file each: reports and documents, which need neither network nor scripts."""

from __future__ import annotations

from counterfoil.pages.documents import FileDocument
from counterfoil.pages.frame import PageFrame
from counterfoil.pages.render import render_file
from counterfoil.schema.reports import Report


def report_file(report: Report) -> str:
    """Return a report of a command: its findings in their order, then everything that was checked."""
    return render_file("report", report, PageFrame(report.title))


def document_file(document: FileDocument) -> str:
    """Return a document."""
    return render_file("document", document, PageFrame(document.title))
