"""Options that the checking commands share, and what they come to: where output goes, and how it looks.

Nothing beyond click and the standard library is imported here, since help pages load this module.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.schema.reports.model import Report

_Command = TypeVar("_Command", bound="Callable[..., Any]")


class Output(NamedTuple):
    """One report to write: its format, and the path of its file; None is standard output."""

    format: str
    path: str | None = None


def parse_outputs(values: Sequence[str], formats: Sequence[str]) -> tuple[Output, ...]:
    """Return the outputs that the ``NAME[=PATH]`` values name; text on standard output when there are none.

    ``formats`` are the names that the command has.
    """
    outputs = tuple(_parse_output(value, formats) for value in values or ("text",))
    if sum(output.path is None for output in outputs) > 1:
        raise click.UsageError(
            "two formats go to standard output; give one of them a file, as in --format json=report.json"
        )
    return outputs


def _parse_output(value: str, formats: Sequence[str]) -> Output:
    name, separator, path = value.partition("=")
    if name not in formats:
        raise click.UsageError(f"unknown format {name!r}; expected one of {', '.join(formats)}")
    if separator and not path:
        raise click.UsageError(f"--format {value} names no file after the equals sign")
    return Output(name, path or None)


REPORT_FORMATS: Final = ("junit", "sarif", "github", "gitlab", "markdown", "html")
"""The formats that any report can have."""


def render_report(form: str, report: Report) -> str:
    """Return the report in one of ``REPORT_FORMATS``.

    With that of GitHub, the report is also added to the summary of the job, as Markdown.
    """
    from counterfoil.schema.reports.forms import Form, print_report

    if form == Form.GITHUB:
        _add_to_summary(report)
    return print_report(Form(form), report)


def _add_to_summary(report: Report) -> None:
    """Add the report to the summary of GitHub's job if the process runs in one."""
    from pathlib import Path

    from counterfoil.schema.reports.markdown import markdown_report

    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as summary:
            summary.write(markdown_report(report))


def write_report(
    outputs: Sequence[Output],
    *,
    text: Callable[[Output], str],
    json: Callable[[], str],
    report: Callable[[str], Report],
) -> None:
    """Write every output of a report: ``text``, ``json``, or from ``report`` for the version of this program."""

    def render(output: Output) -> str:
        from counterfoil.contracts.cli.installed import find_installed

        if output.format == "text":
            return text(output)
        if output.format == "json":
            return json()
        return render_report(output.format, report(find_installed().version))

    write_outputs(outputs, render)


def write_outputs(outputs: Sequence[Output], render: Callable[[Output], str]) -> None:
    """Write every output as ``render`` prints it; files first, so that they are written in any case."""
    from pathlib import Path

    for output in sorted(outputs, key=lambda one: one.path is None):
        text = render(output)
        if output.path is None:
            sys.stdout.write(text)
        else:
            Path(output.path).write_text(text, encoding="utf-8", errors="backslashreplace")


def text_style(output: Output, *, no_color: bool, quiet: bool, verbose: int, prefix: str = "") -> TextStyle:
    """Return the style of text on ``output``: coloured on a terminal only, and never with ``NO_COLOR`` set.

    Paths are printed relative to the folder ``prefix`` of the tree.
    """
    from counterfoil.contracts.baselines.workspace import shown_path
    from counterfoil.contracts.reports.text import TextStyle, Verbosity

    is_terminal = output.path is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    loud = Verbosity.VERBOSE if verbose else Verbosity.NORMAL
    return TextStyle(
        verbosity=Verbosity.QUIET if quiet else loud,
        is_coloured=is_terminal and not no_color,
        shown_path=lambda path: shown_path(path, prefix),
    )


def parse_subjects(values: Sequence[str]) -> dict[str, str]:
    """Return the subject of each file of ``FILE=SUBJECT`` values."""
    subjects = {}
    for value in values:
        path, separator, subject = value.partition("=")
        if not (separator and path and subject):
            raise click.UsageError(f"--subject {value!r} is not FILE=SUBJECT")
        subjects[path] = subject
    return subjects


def shown_address(url: str) -> str:
    """Return ``url`` without a user name and password."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def chain(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Return a decorator that adds several options in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


fail_on_option: Final = click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    help="The lowest severity that causes exit code 1. Default: that of the project file, else error.",
)
"""The option about severities of commands that report findings of files."""


def output_options(formats: Sequence[str]) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the options of a report, which the command has in these ``formats``."""
    return chain(
        format_option(formats),
        click.option("--no-color", is_flag=True, help="Print text without colours, as with the variable NO_COLOR."),
        click.option("-q", "--quiet", is_flag=True, help="Print nothing when there is no finding."),
        click.option("-v", "--verbose", count=True, help="Also list the files without findings."),
    )


def format_option(formats: Sequence[str]) -> Callable[[_Command], _Command]:
    """Return the option that names the ``formats`` in which a report is written, and where; see ``parse_outputs``."""
    return click.option(
        "--format",
        "formats",
        multiple=True,
        metavar="NAME[=PATH]",
        help=f"The format of the report: {', '.join(formats[:-1])} or {formats[-1]}; text is the default. With "
        "=PATH it is written to a file. Repeatable.",
    )
