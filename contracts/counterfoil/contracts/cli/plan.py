"""``counterfoil plan`` and ``counterfoil apply``: a registry gets the state that the files of a repository declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from counterfoil.contracts.cli.options import (
    ReportWriter,
    Waiting,
    agreements_of,
    chain,
    chosen_project,
    defects_on_stderr,
    only_registry,
    output_options,
    project_option,
    registries_of,
    shown_address,
)
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import STANDARD_OUTPUT, as_json, print_json
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, environment_option, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.choose import ComparedSides
    from counterfoil.contracts.deploy.plans import StatePlan, StateRegistry
    from counterfoil.contracts.deploy.registration import FileRegistration
    from counterfoil.contracts.reports import TextStyle


_FORMATS: Final = ("text", "json", "markdown")
_plan_options: Final = chain(
    project_option,
    environment_option(
        "The registry is the one that the servers of the contract files name for this environment.",
    ),
    registry_options(THE_REGISTRY),
    click.option(
        "--prune",
        is_flag=True,
        help="Delete the subjects that this project owns (managed-by), that no file has, and that nobody uses.",
    ),
)


class _Planned(NamedTuple):
    plan: StatePlan
    registration: FileRegistration
    registry: StateRegistry
    prefix: str


@click.command()
@_plan_options
@click.option(
    "--out",
    metavar="FILE",
    help="Also write the plan to FILE, for counterfoil apply; - prints it in the place of the report.",
)
@click.option("--fail-on-changes", is_flag=True, help="Exit 3 when there are changes, as for a nightly check.")
@output_options(_FORMATS)
def plan(
    config: str | None,
    environment: str | None,
    registry: RegistryAccess,
    prune: bool,
    out: str | None,
    fail_on_changes: bool,
    writer: ReportWriter,
) -> ExitCode:
    """Print what has to change in a registry so that it has what counterfoil.yaml and its files declare.

    These are the schemas, in the order of references, and the levels, policies, modes, aliases and associations of
    their subjects. New schemas are judged under the level that the project wants. Nothing is changed.

    Exit codes: 0 planned, 1 a level refuses a schema, 2 usage, 3 there are changes (--fail-on-changes), 4 there is no
    schema file (without --prune), 11 registry unreachable, 12 registry refused, 14 a file is missing.
    """
    from counterfoil.contracts.deploy.plans import json_plan, markdown_plan, text_plan
    from counterfoil.schema.exit_codes import ExitCode

    with _planned(config, registry, environment, prune=prune) as planned:
        found = planned.plan

    def render(form: str, style: TextStyle) -> str:
        if form == "text":
            is_empty = writer.is_quiet and not found.changes
            return "" if is_empty else _findings(found, style) + text_plan(found)
        return json_plan(found) if form == "json" else markdown_plan(found)

    if out == STANDARD_OUTPUT:
        writer = writer.without_standard_output()
        click.echo(json_plan(found), nl=False)
    elif out is not None:
        from pathlib import Path

        Path(out).write_text(json_plan(found), encoding="utf-8")
    writer.write_each(render, prefix=planned.prefix)
    if _is_refused(found):
        return ExitCode.BROKEN
    if not found.entries and not prune:
        click.echo("There is no schema file here that counterfoil.yaml maps, so nothing was planned.", err=True)
        return ExitCode.CANNOT_SAY
    return ExitCode.PENDING if fail_on_changes and found.changes else ExitCode.OK


@click.command()
@click.argument("plan_file", metavar="[PLAN]", required=False)
@_plan_options
@as_json
def apply(
    plan_file: str | None,
    config: str | None,
    environment: str | None,
    registry: RegistryAccess,
    prune: bool,
    as_json: bool,
) -> ExitCode:
    """Make the changes that `counterfoil plan` prints, subject by subject, all of a subject's changes or none.

    With PLAN, a file that `counterfoil plan --out` wrote, nothing is changed unless the plan is still the same: neither
    the files nor the registry have changed. Running the command again changes nothing.

    Exit codes: 0 applied, 1 a level refuses a schema, 2 usage, 3 a file is an earlier version than the latest, 11
    registry unreachable, 12 registry refused, 13 PLAN is stale, or the registry changed meanwhile, 14 a file is
    missing.
    """
    from counterfoil.contracts.deploy.planning import apply_plan
    from counterfoil.contracts.deploy.plans import is_pruning, plan_document, text_plan
    from counterfoil.contracts.errors import PlanStale
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.texts import counted

    document = _read_plan(plan_file) if plan_file is not None else None
    is_pruned = prune or (document is not None and is_pruning(document))
    with _planned(config, registry, environment, prune=is_pruned) as planned:
        if document is not None and document != plan_document(planned.plan):
            raise PlanStale(
                f"{plan_file} is stale: the files or the registry have changed since it was written; make a new plan"
            )
        style = ReportWriter().style(planned.prefix)
        if not as_json:
            click.echo(_findings(planned.plan, style) + text_plan(planned.plan), nl=False)
        is_refused = _is_refused(planned.plan)
        made, left = 0, planned.plan.unmade
        try:
            for _ in () if is_refused else apply_plan(planned.plan, planned.registration, planned.registry):
                made += 1
        finally:
            if as_json:
                print_json({**plan_document(planned.plan), "made": made, "unmade": len(left)})
            else:
                click.echo("Nothing was changed." if is_refused else f"{counted(made, 'change')} made")
    if is_refused:
        return ExitCode.BROKEN
    if left and not as_json:
        click.echo(
            f"{counted(len(left), 'change')} not made, since registering does not make an old version the latest"
        )
    return ExitCode.PENDING if left else ExitCode.OK


@contextmanager
def _planned(config: str | None, access: RegistryAccess, environment: str | None, *, prune: bool) -> Iterator[_Planned]:
    """Yield the plan for the whole repository, with the client that it was made with."""
    from counterfoil.contracts.baselines.choose import ComparisonRequest, open_comparison
    from counterfoil.contracts.deploy.planning import Planning
    from counterfoil.contracts.errors import InputNotFound
    from counterfoil.contracts.project.subjects import notes_of

    found = open_comparison(
        ComparisonRequest(".", project=lambda top: chosen_project(config, top=top), is_to_register=True)
    )
    project, place = found.project, found.project_file
    if project is None or place is None:
        raise InputNotFound(
            "there is no counterfoil.yaml in this folder or above it, and it says what the registry should have; "
            "counterfoil init writes one"
        )
    folder = place.folder_below(found.scope.root)
    paths = [path for path in found.head.paths if not folder or path.startswith(f"{folder}/")]
    address = access.url or project.settings.registry
    if environment is not None:
        address = _address_in(environment, found, given=access.url)
    with access.at(address).open() as client, defects_on_stderr():
        planning = Planning(found.head, paths, project=project, registry=client)
        label = shown_address(address or "")
        notes = (*notes_of(project, found.head, found.undeclared, found.linked), *_changed_subjects(found, paths))
        with Waiting("planning"):
            made = planning.plan(label=label, prune=prune, notes=notes)
        yield _Planned(made, planning.registration, client, found.scope.prefix)


def _changed_subjects(found: ComparedSides, paths: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each file that had another subject before, as it does after it was moved."""
    from counterfoil.contracts.check.file import EarlierSubjects, FilesBefore
    from counterfoil.contracts.errors import ContractsError

    try:
        stands = FilesBefore(found.before, found.earlier_project)
    except ContractsError:  # no repository, or one without the base: nothing is known of earlier subjects
        return
    earlier = EarlierSubjects(lambda: stands)
    for path in paths:
        before = earlier.of(path)
        text = before.change_text(path, found.subjects.names(path)) if before is not None else ""
        if text:
            yield f"{path}: {text}"


def _address_in(environment: str, comparison: ComparedSides, *, given: str | None) -> str:
    """Return the address of the registry of an environment. Raises ``UsageError`` if another one is ``given``."""
    address = only_registry(environment, registries_of(environment, agreements_of(comparison)))
    if given is not None and given.rstrip("/") != address.rstrip("/"):
        shown = shown_address(given)
        raise click.UsageError(
            f"--environment {environment} is {address}, and the registry given is {shown}; give one of them"
        )
    return address


def _is_refused(plan: StatePlan) -> bool:
    return plan.report.is_broken(None)


def _findings(plan: StatePlan, style: TextStyle) -> str:
    """Return the report on the new schemas if a level refuses one of them."""
    if not _is_refused(plan):
        return ""
    from counterfoil.contracts.reports import text_report
    from counterfoil.schema.exit_codes import ExitCode

    return text_report(plan.report, exit_code=ExitCode.BROKEN, style=style)


def _read_plan(path: str) -> JsonObject:
    """Return the document in a file that ``counterfoil plan --out`` wrote."""
    import json
    from pathlib import Path

    from counterfoil.contracts.errors import PreconditionFailed

    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else f"it is not JSON: {error}"
        raise PreconditionFailed(f"{path} is not a plan that counterfoil plan --out wrote: {why}") from None
    if not isinstance(document, dict) or document.get("kind") != "plan":
        raise PreconditionFailed(f"{path} is not a plan that counterfoil plan --out wrote")
    return document
