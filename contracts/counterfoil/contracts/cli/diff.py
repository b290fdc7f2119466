"""``counterfoil diff``: what changed between two schemas or folders, classified, without judgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.options import (
    Output,
    output_options,
    parse_outputs,
    text_style,
    write_outputs,
)
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.reports.diff import DiffReport, FolderDiffReport
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
    formats: tuple[str, ...],
    no_color: bool,
    quiet: bool,
    verbose: int,
) -> ExitCode:
    """List what changed from schema BASE to schema HEAD, or from folder to folder.

    Each schema is a file, REF:PATH in git, or SUBJECT@VERSION (also SUBJECT@latest) in a registry. A folder is one on
    disk, or REF:PATH; the schema files below both are compared by their paths. `counterfoil check` decides whether a
    change is allowed; this command does not.

    Exit codes: 0 compared, 2 usage, 11 registry unreachable, 12 registry refused, 14 no such file, ref or version, or
    no valid schema in it.
    """
    from counterfoil.contracts.reports.diff import json_diff, markdown_diff, text_diff
    from counterfoil.schema.exit_codes import ExitCode

    outputs = parse_outputs(formats, _FORMATS)
    report = _compared(base, head, None if offline else registry)

    def render(output: Output) -> str:
        if output.format == "text":
            return text_diff(report, text_style(output, no_color=no_color, quiet=quiet, verbose=verbose))
        return json_diff(report) if output.format == "json" else markdown_diff(report)

    write_outputs(outputs, render)
    return ExitCode.OK


def _compared(base: str, head: str, registry: RegistryAccess | None) -> DiffReport | FolderDiffReport:
    from counterfoil.contracts.baselines.operands import find_folder, read_operand
    from counterfoil.contracts.errors import UsageMistake
    from counterfoil.contracts.reports.diff import DiffReport, FolderDiffReport

    was, now = find_folder(base, "."), find_folder(head, ".")
    if was and now:
        return FolderDiffReport.of(was, now)
    if was or now:
        folder, other = (base, head) if was else (head, base)
        raise UsageMistake(f"{folder} is a folder, and {other} is none; compare two folders, or two schemas")
    open_it = registry.open if registry is not None and registry.url else None
    earlier, later = (read_operand(one, ".", registry=open_it) for one in (base, head))
    return DiffReport.of(_named(earlier, base), _named(later, head))


def _named(schema: ReadSchema, operand: str) -> ReadSchema:
    """Return the schema with the operand as its label."""
    from dataclasses import replace

    return replace(schema, label=operand)
