"""``counterfoil diff``: what changed between two schemas, contract files or folders, without judgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.output import output_options
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.cli.output import ReportWriter
    from counterfoil.contracts.reports.diff import DiffReport, FolderDiffReport
    from counterfoil.contracts.reports.text import TextStyle
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk.registry_options import RegistryAccess

_FORMATS = ("text", "json", "markdown")


@click.command()
@click.argument("base")
@click.argument("head")
@registry_options(THE_REGISTRY)
@click.option("--offline", is_flag=True, help="Do not send requests to a registry.")
@output_options(_FORMATS)
def diff(
    base: str,
    head: str,
    registry: RegistryAccess,
    offline: bool,
    writer: ReportWriter,
) -> ExitCode:
    """List what changed from BASE to HEAD: two schemas, two contract or product files, or two folders.

    Each schema is a file, REF:PATH in git, or SUBJECT@VERSION (also SUBJECT@latest) in a registry. Contract files
    (ODCS) and product files (ODPS) are files, or REF:PATH. A folder is one on disk, or REF:PATH; the files below both
    are compared by their paths. `counterfoil check` decides whether a change is allowed; this command does not.

    Exit codes: 0 compared, 2 usage, 11 registry unreachable, 12 registry refused, 14 no such file, ref or version, or
    no valid schema or contract in it.
    """
    from counterfoil.contracts.reports.diff import json_diff, markdown_diff, text_diff
    from counterfoil.schema.exit_codes import ExitCode

    report = _compared(base, head, None if offline else registry)

    def render(form: str, style: TextStyle) -> str:
        if form == "text":
            return text_diff(report, style)
        return json_diff(report) if form == "json" else markdown_diff(report)

    writer.write_each(render)
    return ExitCode.OK


def _compared(base: str, head: str, registry: RegistryAccess | None) -> DiffReport | FolderDiffReport:
    from counterfoil.contracts.baselines.operands import find_folder, read_agreement_operand, read_operand
    from counterfoil.contracts.errors import UsageMistake
    from counterfoil.contracts.reports.diff import DiffReport, FolderDiffReport
    from counterfoil.contracts.yaml_files import is_yaml

    was, now = find_folder(base, "."), find_folder(head, ".")
    if was and now:
        return FolderDiffReport.of(was, now)
    if was or now:
        folder, other = (base, head) if was else (head, base)
        raise UsageMistake(f"{folder} is a folder, and {other} is none; compare two folders, or two files")
    if is_yaml(base) and is_yaml(head):
        return DiffReport.of_agreements(read_agreement_operand(base, "."), read_agreement_operand(head, "."))
    if is_yaml(base) or is_yaml(head):
        agreement, other = (base, head) if is_yaml(base) else (head, base)
        raise UsageMistake(f"{agreement} is a contract or product file, and {other} is none; compare two of them")
    open_it = registry.open if registry is not None and registry.url else None
    earlier, later = (read_operand(one, ".", registry=open_it) for one in (base, head))
    return DiffReport.of(_named(earlier, base), _named(later, head))


def _named(schema: ReadSchema, operand: str) -> ReadSchema:
    """Return the schema with the operand as its label."""
    from dataclasses import replace

    return replace(schema, label=operand)
