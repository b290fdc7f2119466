"""``counterfoil diff``: what changed between two schemas, contract files or folders, and what breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import click

from counterfoil.contracts.cli.check import LEVELS, POLICIES
from counterfoil.contracts.cli.options import ReportWriter, Waiting, chosen_project, output_options, project_option
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.project import ReadSchema
    from counterfoil.contracts.project.model import Project, ProjectSettings
    from counterfoil.contracts.reports import TextStyle
    from counterfoil.contracts.reports.diff import BreakTerms, DiffReport, FolderDiffReport
    from counterfoil.sdk.client import Registry


_FORMATS = ("text", "json", "markdown")


@click.command()
@click.argument("base")
@click.argument("head")
@click.option(
    "--level",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="The level in force. Default: the project's for the file, else that of the subject in the registry, else "
    "BACKWARD.",
)
@click.option(
    "--policy",
    type=click.Choice(POLICIES, case_sensitive=False),
    help="The policy in force. Default: the project's for the file, else that of the subject in the registry, else "
    "STRICT.",
)
@project_option
@registry_options(THE_REGISTRY)
@click.option("--offline", is_flag=True, help="Do not send requests to a registry.")
@output_options(_FORMATS)
def diff(
    base: str,
    head: str,
    level: str | None,
    policy: str | None,
    config: str | None,
    registry: RegistryAccess,
    offline: bool,
    writer: ReportWriter,
) -> ExitCode:
    """List what changed from BASE to HEAD: two schemas, two contract or product files, or two folders.

    Each schema is a file, REF:PATH in git, or SUBJECT@VERSION (also SUBJECT@latest) in a registry. Contract files
    (ODCS) and product files (ODPS) are files, or REF:PATH. A folder is one on disk, or REF:PATH; the files below both
    are compared by their paths. Each change of a schema is printed with the directions that it breaks under the policy
    in force, and with whether the level in force allows that. The exit code does not depend on it: `counterfoil check`
    decides whether a change is allowed.

    Exit codes: 0 compared, 2 usage, 11 registry unreachable, 12 registry refused, 14 no such file, ref or version, or
    no valid schema or contract in it.
    """
    from counterfoil.contracts.reports.diff import json_diff, markdown_diff, text_diff
    from counterfoil.schema.exit_codes import ExitCode

    given = GivenTerms(level, policy, config)
    with Waiting("comparing"):
        report = _compared(base, head, None if offline else registry, given)

    def render(form: str, style: TextStyle) -> str:
        if form == "text":
            return text_diff(report, style)
        return json_diff(report) if form == "json" else markdown_diff(report)

    writer.write_each(render)
    return ExitCode.OK


class GivenTerms(NamedTuple):
    """The options that determine the level and the policy in force."""

    level: str | None
    policy: str | None
    config: str | None

    def of(self, *settings: ProjectSettings) -> BreakTerms:
        """Return the terms that are given, or else the first of ``settings`` that has them."""
        from counterfoil.contracts.reports.diff import USUAL_TERMS, BreakTerms
        from counterfoil.schema.compatibility import parse_level, parse_policy

        level = parse_level(self.level) if self.level else next((each.level for each in settings if each.level), None)
        policy = next((each.policy for each in settings if each.policy), None)
        return BreakTerms(
            level or USUAL_TERMS.level, (parse_policy(self.policy) if self.policy else policy) or USUAL_TERMS.policy
        )

    def project(self, root: str) -> Project | None:
        """Return the project with paths relative to the folder ``root``; None where it says nothing of files there."""
        from pathlib import Path

        from counterfoil.contracts.project.model import Project

        found, top = chosen_project(self.config, top=root), Path(root).resolve()
        if found is None:
            return None
        if found.place.resolve().is_relative_to(top):
            return found.below(str(top))
        return Project(found.project.settings) if self.config else None

    def project_before(self, root: str, later_root: str) -> Project | None:
        """Return the project for the folder ``root``, or the one of the later folder where it maps nothing there."""
        own = self.project(root)
        return own if own is not None and own.schemas else self.project(later_root)


def _compared(
    base: str, head: str, registry: RegistryAccess | None, given: GivenTerms
) -> DiffReport | FolderDiffReport:
    from counterfoil.contracts.baselines.operands import find_folder, find_operand, read_agreement_operand
    from counterfoil.contracts.errors import UsageMistake
    from counterfoil.contracts.project.languages import is_yaml
    from counterfoil.contracts.project.subjects import settings_of
    from counterfoil.contracts.reports.diff import DiffReport, FolderDiffReport

    now = find_folder(head, ".", given.project)
    was = find_folder(base, ".", lambda root: given.project_before(root, now.root if now is not None else root))
    if was and now:
        later, project = now, given.project(now.root)

        def terms(name: str) -> BreakTerms:
            return given.of(settings_of(project, later.tree, later.path_by_name[name]))

        return FolderDiffReport.of(was, now, terms)
    if was or now:
        folder, other = (base, head) if was else (head, base)
        raise UsageMistake(f"{folder} is a folder, and {other} is none; compare two folders, or two files")
    if is_yaml(base) and is_yaml(head):
        return DiffReport.of_agreements(read_agreement_operand(base, "."), read_agreement_operand(head, "."))
    if is_yaml(base) or is_yaml(head):
        agreement, other = (base, head) if is_yaml(base) else (head, base)
        raise UsageMistake(
            f"{agreement} is a contract or product file, and {other} is not; compare two of the same kind"
        )
    open_it = registry.open if registry is not None and registry.url else None
    sides = [find_operand(one, ".", registry=open_it) for one in (base, head)]
    settings = [
        settings_of(given.project(each.root), each.tree, each.path) for each in reversed(sides) if each.tree is not None
    ]
    if open_it is not None:
        settings += [
            _registered(open_it, one) for one, each in ((head, sides[1]), (base, sides[0])) if each.tree is None
        ]
    return DiffReport.of(_named(sides[0].read, base), _named(sides[1].read, head), given.of(*settings))


def _registered(open_it: Callable[[], Registry], operand: str) -> ProjectSettings:
    """Return the level and the policy in effect for the subject of ``SUBJECT@VERSION``."""
    from counterfoil.contracts.baselines.operands import RegistryBaseline
    from counterfoil.contracts.project.model import ProjectSettings

    baseline = RegistryBaseline(open_it(), {operand: operand.rpartition("@")[0]}, label=operand)
    return ProjectSettings(level=baseline.level(operand), policy=baseline.policy(operand))


def _named(schema: ReadSchema, operand: str) -> ReadSchema:
    """Return the schema with the operand as its label."""
    from dataclasses import replace

    return replace(schema, label=operand)
