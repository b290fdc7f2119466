"""The options that say in which formats a command writes its report, where, and how its text looks.

Nothing beyond click and the standard library is imported here, since help pages load this module.
"""

from __future__ import annotations

import os
import sys
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from counterfoil.contracts.cli.options import chain
from counterfoil.sdk.commands.output import STANDARD_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.contracts.reports.forms import ReportForms
    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.schema.reports.model import Report

_Command = TypeVar("_Command", bound="Callable[..., Any]")

REPORT_FORMATS: Final = ("text", "json", "junit", "sarif", "github", "gitlab", "markdown", "html")
"""The formats of a report with findings."""
_TEXT: Final = "text"
_JSON: Final = "json"


class Output(NamedTuple):
    """One report to write: its format, and the path of its file; None is standard output."""

    format: str
    path: str | None = None


class ReportWriter(NamedTuple):
    """Where a command writes its report, in which formats, and how its text looks: the values of the options."""

    outputs: tuple[Output, ...] = (Output(_TEXT),)
    is_colourless: bool = False
    is_quiet: bool = False
    is_verbose: bool = False

    def without_standard_output(self) -> ReportWriter:
        """Return the writer of the files alone, for a command that prints something else."""
        return self._replace(outputs=tuple(each for each in self.outputs if each.path is not None))

    def write(self, forms: ReportForms, *, prefix: str = "") -> None:
        """Write a report in every format; text has paths relative to the folder ``prefix`` of the tree.

        With the format of GitHub, the report is also added to the summary of the job, as Markdown.
        """

        def render(form: str, style: TextStyle) -> str:
            from counterfoil.contracts.cli.installed import find_installed

            if form == _TEXT:
                return forms.text(style)
            if form == _JSON:
                return forms.json()
            return _printed(form, forms.report(version=find_installed().version))

        self.write_each(render, prefix=prefix)

    def write_each(self, render: Callable[[str, TextStyle], str], *, prefix: str = "") -> None:
        """Write every output as ``render`` prints its format; files first, so that they are written in any case."""
        from pathlib import Path

        for output in sorted(self.outputs, key=lambda one: one.path is None):
            text = render(output.format, self.style(prefix, is_on_terminal=output.path is None))
            if output.path is None:
                sys.stdout.write(text)
            else:
                Path(output.path).write_text(text, encoding="utf-8", errors="backslashreplace")

    def style(self, prefix: str = "", *, is_on_terminal: bool = True) -> TextStyle:
        """Return the style of text: coloured on a terminal only, and never with ``NO_COLOR`` set."""
        from counterfoil.contracts.baselines.workspace import shown_path
        from counterfoil.contracts.reports.text import TextStyle, Verbosity

        is_terminal = is_on_terminal and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        loud = Verbosity.VERBOSE if self.is_verbose else Verbosity.NORMAL
        return TextStyle(
            verbosity=Verbosity.QUIET if self.is_quiet else loud,
            is_coloured=is_terminal and not self.is_colourless,
            shown_path=lambda path: shown_path(path, prefix),
        )


def _printed(form: str, report: Report) -> str:
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


def parse_outputs(values: Sequence[str], formats: Sequence[str]) -> tuple[Output, ...]:
    """Return the outputs that the ``NAME[=PATH]`` values name; text on standard output when there are none.

    ``formats`` are the names that the command has.
    """
    outputs = tuple(_parse_output(value, formats) for value in values or (_TEXT,))
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
    return Output(name, None if path == STANDARD_OUTPUT else path or None)


def output_options(
    formats: Sequence[str] = REPORT_FORMATS, *, has_style: bool = True
) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the options of a report, and passes their values as ``writer``.

    ``formats`` are those that the command has; without ``has_style`` there are no options for the look of text.
    """

    def decorate(command: _Command) -> _Command:
        def with_writer(*arguments: Any, formats_given: tuple[str, ...], is_json: bool, **given: Any) -> Any:
            outputs = parse_outputs((*formats_given, _JSON) if is_json else formats_given, formats)
            if not has_style:
                return command(*arguments, writer=ReportWriter(outputs), **given)
            look = (given.pop("no_color"), given.pop("quiet"), bool(given.pop("verbose")))
            return command(*arguments, writer=ReportWriter(outputs, *look), **given)

        options = (_format_option(formats), json_format_option, *(_STYLE if has_style else ()))
        decorated: Any = chain(*options)(update_wrapper(with_writer, command))
        return decorated  # type: ignore[no-any-return]  # click's decorators return what they decorate

    return decorate


_STYLE: Final = (
    click.option("--no-color", is_flag=True, help="No colours, as with the variable NO_COLOR."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing when there is no finding."),
    click.option("-v", "--verbose", count=True, help="Also list the files without findings."),
)


json_format_option: Final = click.option("--json", "is_json", is_flag=True, help="The same as --format json.")
"""The short form of ``--format json``."""


def _format_option(formats: Sequence[str]) -> Callable[[_Command], _Command]:
    """Return the option that names the ``formats`` in which a report is written, and where; see ``parse_outputs``."""
    return click.option(
        "--format",
        "formats_given",
        multiple=True,
        metavar="NAME[=PATH]",
        help=f"{', '.join(formats[:-1])} or {formats[-1]}; with =PATH, to a file. Default: text. Repeatable.",
    )
