"""The forms of a report, each with its writer, which is imported when it is needed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.schema.reports.model import Report


class Form(StrEnum):
    """The forms that any report can be printed in."""

    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    MARKDOWN = "markdown"
    HTML = "html"


def print_report(form: Form, report: Report) -> str:
    """Return the report in a form."""
    match form:
        case Form.JUNIT:
            from counterfoil.schema.reports.cases import junit_report

            return junit_report(report)
        case Form.SARIF:
            from counterfoil.schema.reports.sarif import sarif_report

            return sarif_report(report)
        case Form.GITHUB:
            from counterfoil.schema.reports.github import github_report

            return github_report(report)
        case Form.GITLAB:
            from counterfoil.schema.reports.gitlab import gitlab_report

            return gitlab_report(report)
        case Form.MARKDOWN:
            from counterfoil.schema.reports.markdown import markdown_report

            return markdown_report(report)
        case Form.HTML:
            from counterfoil.schema.reports.html import html_report

            return html_report(report)
