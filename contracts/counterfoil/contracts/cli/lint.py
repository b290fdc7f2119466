"""``counterfoil lint``: whether contract, product, project and schema files are valid by themselves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.options import (
    REPORT_FORMATS,
    Output,
    fail_on_option,
    output_options,
    parse_outputs,
    text_style,
    write_report,
)
from counterfoil.contracts.cli.project import project_option

if TYPE_CHECKING:
    from counterfoil.schema.exit_codes import ExitCode

_FORMATS = ("text", "json", *REPORT_FORMATS)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@project_option
@click.option(
    "--rules",
    metavar="RULE[,RULE]...",
    help="Report findings of these rules alone; with a minus in front of each, of all others.",
)
@fail_on_option
@click.option("--allow-empty", is_flag=True, help="Exit 0, not 4, when there was nothing to check.")
@output_options(_FORMATS)
def lint(
    paths: tuple[str, ...],
    config: str | None,
    rules: str | None,
    fail_on: str | None,
    allow_empty: bool,
    formats: tuple[str, ...],
    no_color: bool,
    quiet: bool,
    verbose: int,
) -> ExitCode:
    """Check contract files (ODCS), product files (ODPS), the project file and schema files by themselves.

    PATHS are files and folders; without any, the current folder. Contract and product files end in .odcs.yaml and
    .odps.yaml, or match `contracts` of the project file, or are named in PATHS. Each must be valid under its standard,
    the fields it names must be in the schema file it refers to, units must be known, and rules in CEL must compile.
    Nothing is fetched, and no file is changed.

    Exit codes: 0 no finding, 1 at least one finding of --fail-on, 2 usage, 4 nothing was checked, 14 a path does not
    exist.
    """
    from datetime import UTC, datetime

    from counterfoil.contracts.linting.collecting import collect
    from counterfoil.contracts.linting.lint import lint_files
    from counterfoil.contracts.linting.selection import exit_code_of, limit_of, parse_rules, selected
    from counterfoil.contracts.reports.lint import json_report, report_of, text_report

    outputs = parse_outputs(formats, _FORMATS)
    chosen = parse_rules(rules)
    collected = collect(".", paths, config=config)
    today, limit = datetime.now(UTC).date(), limit_of(fail_on, collected.project)
    report = selected(lint_files(collected.given, today=today), chosen, collected.project, today=today)
    code = exit_code_of(report, limit, is_empty_fine=allow_empty)

    def text(output: Output) -> str:
        style = text_style(output, no_color=no_color, quiet=quiet, verbose=verbose, prefix=collected.prefix)
        return text_report(report, exit_code=code, style=style)

    write_report(
        outputs,
        text=text,
        json=partial(json_report, report, exit_code=code),
        report=lambda version: report_of(report, exit_code=code, limit=limit, version=version),
    )
    return code
