"""``counterfoil lint``: whether contract, product, project and schema files are valid by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.options import ReportWriter, Waiting, fail_on_option, output_options, project_option
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from counterfoil.contracts.lint.lint import LintInput, LintReport


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@project_option
@click.option(
    "--rules",
    metavar="RULE[,RULE]...",
    help="Report findings of these rules alone; with a minus in front of each, of all others.",
)
@click.option(
    "--fix",
    "is_fixing",
    is_flag=True,
    help="Repair in the files what can be repaired with certainty, and report what is left. Comments and layout stay.",
)
@fail_on_option
@click.option("--allow-empty", is_flag=True, help="Exit 0, not 4, when there was nothing to check.")
@output_options()
def lint(
    paths: tuple[str, ...],
    config: str | None,
    rules: str | None,
    is_fixing: bool,
    fail_on: str | None,
    allow_empty: bool,
    writer: ReportWriter,
) -> ExitCode:
    """Check contract files (ODCS), product files (ODPS), the project file and schema files by themselves.

    PATHS are files and folders; without any, the current folder. Contract and product files end in .odcs.yaml and
    .odps.yaml, or match `contracts` of the project file, or are named in PATHS. Each must be valid under its standard,
    the fields it names must be in the schema file it refers to, units must be known, and rules in CEL must compile.
    Nothing is fetched, and no file is changed without --fix.

    Exit codes: 0 no finding (with --fix: none is left), 1 at least one finding of --fail-on, 2 usage, 4 nothing was
    checked, 14 a path does not exist, or with --fix a file has an unresolved conflict of a merge.
    """
    from dataclasses import replace
    from datetime import UTC, datetime

    from counterfoil.contracts.lint.lint import collect, lint_files
    from counterfoil.contracts.reports.lint import LintForms, exit_code_of, limit_of, parse_rules, selected

    chosen = parse_rules(rules)
    today = datetime.now(UTC).date()
    collected = collect(".", paths, config=config)

    def reported(given: LintInput) -> LintReport:
        return selected(lint_files(given, today=today), chosen, collected.project, today=today)

    fixes = None
    if is_fixing:
        from counterfoil.contracts.lint.lint import fix_files

        fixes = fix_files(collected.root, collected.given, reported)
        collected = collect(".", paths, config=config)
    with Waiting("checking files"):
        report = replace(reported(collected.given), fixes=fixes)
    limit = limit_of(fail_on, collected.project)
    code = exit_code_of(report, limit, is_empty_fine=allow_empty)
    writer.write(LintForms(report, code, limit), prefix=collected.prefix)
    return code
